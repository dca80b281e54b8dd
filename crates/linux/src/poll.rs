//! Waiting for several file descriptors up to a deadline, and waking a waiting thread from another one.

use crate::clock::{mono_now, timespec};
use crate::error::{Named, Result};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::time::MonoTime;

/// One file descriptor to wait for, and after [`wait`] what was found.
#[derive(Debug)]
#[repr(transparent)]
pub struct Interest<'fd>(PollFd<'fd>);

impl<'fd> Interest<'fd> {
    /// Waits for something to read: data, a connection to accept, the end of the stream.
    pub fn readable(fd: &'fd impl AsFd) -> Self {
        Self(PollFd::new(fd, PollFlags::IN))
    }

    /// Waits for room to write, or for a pending connection to complete.
    pub fn writable(fd: &'fd impl AsFd) -> Self {
        Self(PollFd::new(fd, PollFlags::OUT))
    }

    /// Waits for errors alone, which every wait reports too (such as a filled error queue).
    pub fn error(fd: &'fd impl AsFd) -> Self {
        Self(PollFd::new(fd, PollFlags::empty()))
    }

    /// The awaited event, an error or a hang-up came: the next call on the descriptor will not block.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.0.revents().is_empty()
    }

    /// An error is pending on the descriptor, or in its error queue.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.0.revents().contains(PollFlags::ERR)
    }
}

/// Waits until one of `fds` is ready or `deadline` passes (never, when `None`); returns how many are ready.
///
/// Zero means the deadline passed **or** a signal arrived: look at the clock and at the flags a signal handler sets.
///
/// # Errors
/// The errors of `ppoll(2)`.
pub fn wait(fds: &mut [Interest<'_>], deadline: Option<MonoTime>) -> io::Result<usize> {
    let timeout = deadline.map(|deadline| timespec(deadline.saturating_since(mono_now())));
    let entries: *mut [PollFd<'_>] = std::ptr::from_mut(fds) as *mut [PollFd<'_>];
    // SAFETY: `Interest` is a transparent `PollFd`, and nothing else uses `fds` while this borrow of it lives.
    match poll(unsafe { &mut *entries }, timeout.as_ref()) {
        Err(Errno::INTR) => {
            fds.iter_mut().for_each(|interest| interest.0.clear_revents());
            Ok(0)
        }
        outcome => Ok(outcome?),
    }
}

/// An event another thread can wait for among its sockets (an `eventfd(2)`).
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Creates one, not signalled.
    ///
    /// # Errors
    /// When the process is out of descriptors.
    pub fn new() -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        eventfd(0, flags).named("create", || "eventfd".into()).map(Self)
    }

    /// Signals: every wait on this waker returns until [`Waker::drain`].
    pub fn wake(&self) {
        // The only refusal is a full counter, and then it is signalled already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Takes the signal back; true when there was one.
    pub fn drain(&self) -> bool {
        rustix::io::read(&self.0, &mut [0_u8; 8]).is_ok()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use units::Nanos;

    #[test]
    fn a_deadline_ends_the_wait() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let deadline = mono_now() + Nanos::from_millis(2);
        assert_eq!(wait(&mut [Interest::readable(&socket)], Some(deadline)).unwrap(), 0);
        assert!(mono_now() >= deadline);
    }

    #[test]
    fn names_the_ready_one() {
        let (quiet, busy) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        quiet.send_to(b"x", busy.local_addr().unwrap()).unwrap();
        let mut fds = [Interest::readable(&quiet), Interest::readable(&busy)];
        assert_eq!(wait(&mut fds, Some(mono_now() + Nanos::from_secs(5))).unwrap(), 1);
        assert!(!fds[0].is_ready() && fds[1].is_ready() && !fds[1].is_error());
    }

    #[test]
    fn a_waker_wakes_another_thread() {
        let waker = Waker::new().unwrap();
        assert!(!waker.drain());
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake());
            let deadline = mono_now() + Nanos::from_secs(5);
            assert_eq!(wait(&mut [Interest::readable(&waker)], Some(deadline)).unwrap(), 1);
        });
        waker.wake();
        assert!(waker.drain());
        assert!(!waker.drain());
    }
}
