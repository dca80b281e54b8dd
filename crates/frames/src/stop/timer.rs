//! A timer that interrupts system calls of the calling thread from some time on, repeatedly until it is dropped.
//!
//! A single signal is not enough: one that arrives just before the call is lost, and the call would not end.

use super::Stop;
use linux::clock::timespec;
use linux::error::{Named, Result, check};
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};
use units::Nanos;
use units::time::MonoTime;

/// Interrupts system calls of the thread that created it, until it is dropped.
#[derive(Debug)]
pub(crate) struct Interrupts<'a> {
    timer: Arc<Timer>,
    stop: &'a Stop,
}

impl Interrupts<'_> {
    /// Interrupts the calling thread at `due` and every 2 ms after it, and from the time at which `stop` is raised. The flag may
    /// have been raised already: check it after this call.
    pub(crate) fn from(due: MonoTime, stop: &Stop) -> Result<Interrupts<'_>> {
        let timer = Arc::new(Timer::new()?);
        // In this order: otherwise the due time could replace the stop's.
        check(timer.set(libc::TIMER_ABSTIME, Nanos(due.0.max(1)))).named("set", || "a timer".into())?;
        stop.interrupt(Arc::clone(&timer));
        Ok(Interrupts { timer, stop })
    }

    /// Interrupts it from now on.
    pub(crate) fn begin(&self) {
        self.timer.interrupt_now();
    }
}

impl Drop for Interrupts<'_> {
    fn drop(&mut self) {
        self.stop.forget(&self.timer);
    }
}

/// A timer of the kernel, which sends a signal to the thread that made it.
#[derive(Debug)]
pub(crate) struct Timer {
    id: libc::timer_t,
}

// SAFETY: the kernel's name of a timer is valid in the whole process, and is not a pointer into memory that is read here.
unsafe impl Send for Timer {}
// SAFETY: as above; the kernel's calls on a timer may be made by several threads at once.
unsafe impl Sync for Timer {}

impl Timer {
    /// A timer of the calling thread; not set yet.
    fn new() -> Result<Timer> {
        handler().named("handle", || "the signal of a timer".into())?;
        // SAFETY: all zeroes are a valid sigevent, and plain data.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        // SAFETY: takes nothing and touches no memory of ours.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut id = std::ptr::null_mut();
        // SAFETY: both are ours, and the kernel writes the timer's identity.
        let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut id) };
        check(made).named("make", || "a timer".into())?;
        Ok(Timer { id })
    }

    /// Interrupts the thread now, and every 2 ms from now on.
    pub(crate) fn interrupt_now(&self) {
        let set = self.set(0, Nanos::from_nanos(1));
        debug_assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }

    fn set(&self, flags: libc::c_int, due: Nanos) -> libc::c_int {
        let when = libc::itimerspec { it_interval: moment(EVERY), it_value: moment(due) };
        // SAFETY: the timer exists as long as `self`, `when` is ours and only read.
        unsafe { libc::timer_settime(self.id, flags, &when, std::ptr::null_mut()) }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and is not used again.
        unsafe { libc::timer_delete(self.id) };
    }
}

/// Installs a signal handler that does nothing, once for the process: without it the signal would end the process.
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

fn moment(span: Nanos) -> libc::timespec {
    let span = timespec(span);
    libc::timespec { tv_sec: span.tv_sec, tv_nsec: span.tv_nsec }
}

const EVERY: Nanos = Nanos::from_millis(2);
