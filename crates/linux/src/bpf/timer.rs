//! A timer that interrupts system calls of the calling thread from some instant on, again and again until it is dropped.
//!
//! Once would not do: a signal that comes just before the call is spent, and the call would not end.

use crate::clock::timespec;
use crate::error::{Named, Result, check};
use model::time::MonoTime;
use model::units::Nanos;
use std::io;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The timer; it must be dropped by the thread that made it.
#[derive(Debug)]
pub(super) struct Interrupts {
    timer: libc::timer_t,
}

impl Interrupts {
    /// Interrupts the calling thread at `due` and every 2 ms after it.
    pub(super) fn from(due: MonoTime) -> Result<Interrupts> {
        handler().named("handle", || "the signal of a timer".into())?;
        // SAFETY: all zeroes are a valid sigevent, and plain data.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        // SAFETY: takes nothing and touches no memory of ours.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer = std::ptr::null_mut();
        // SAFETY: both are ours, and the kernel writes the timer's identity.
        let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) };
        check(made).named("make", || "a timer".into())?;
        let interrupts = Interrupts { timer };
        let when = libc::itimerspec { it_interval: timespec(EVERY), it_value: timespec(Nanos(due.0.max(1))) };
        // SAFETY: the timer exists, `when` is ours and only read.
        let set = unsafe {
            libc::timer_settime(interrupts.timer, libc::TIMER_ABSTIME, &when, std::ptr::null_mut())
        };
        check(set).named("set", || "a timer".into())?;
        Ok(interrupts)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and is not used again.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// Sees to it once for the process that the signal does nothing: without a handler it would end the process.
fn handler() -> io::Result<()> {
    static DONE: OnceLock<Option<i32>> = OnceLock::new();
    let refused = DONE.get_or_init(|| {
        extern "C" fn nothing(_: libc::c_int) {}
        // SAFETY: all zeroes are a valid sigaction, and plain data.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        // Without SA_RESTART, so that the call ends.
        action.sa_sigaction = nothing as *const () as usize;
        // SAFETY: the handler does nothing and so is safe in a signal; `action` is ours.
        let set = unsafe { libc::sigaction(signal(), &action, std::ptr::null_mut()) };
        check(set).err().and_then(|error| error.raw_os_error())
    });
    refused.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
}

/// A real-time signal that nothing else here uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 7
}

const EVERY: Nanos = Nanos(2_000_000);
