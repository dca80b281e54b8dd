//! Waiting for several file descriptors up to a deadline, and waking a waiting thread from another one.

use crate::clock::{mono_now, timespec};
use crate::error::{Named, Result, check, check_len};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use units::time::MonoTime;

/// One file descriptor to wait for, and after [`wait`] what was found.
#[derive(Debug)]
#[repr(transparent)]
pub struct Interest<'fd> {
    entry: libc::pollfd,
    fd: PhantomData<BorrowedFd<'fd>>,
}

impl<'fd> Interest<'fd> {
    /// Waits for something to read: data, a connection to accept, the end of the stream.
    pub fn readable(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, libc::POLLIN)
    }

    /// Waits for room to write, or for a pending connection to complete.
    pub fn writable(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, libc::POLLOUT)
    }

    /// Waits for errors alone, which every wait reports too (such as a filled error queue).
    pub fn error(fd: &'fd impl AsFd) -> Self {
        Self::new(fd, 0)
    }

    fn new(fd: &'fd impl AsFd, events: libc::c_short) -> Self {
        let fd = fd.as_fd().as_raw_fd();
        Self { entry: libc::pollfd { fd, events, revents: 0 }, fd: PhantomData }
    }

    /// The awaited event, an error or a hang-up came: the next call on the descriptor will not block.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.entry.revents != 0
    }

    /// An error is pending on the descriptor, or in its error queue.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.entry.revents & libc::POLLERR != 0
    }
}

/// Waits until one of `fds` is ready or `deadline` passes (never, when `None`); returns how many are ready.
///
/// Zero means the deadline passed **or** a signal arrived: look at the clock and at the flags a signal handler sets.
///
/// # Errors
/// What `ppoll(2)` gives.
pub fn wait(fds: &mut [Interest<'_>], deadline: Option<MonoTime>) -> io::Result<usize> {
    let timeout = deadline.map(|deadline| timespec(deadline.saturating_since(mono_now())));
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = libc::nfds_t::try_from(fds.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: `Interest` is a transparent `pollfd`, `count` of them are ours, and `timeout` is null or outlives the call.
    let ready = unsafe { libc::ppoll(fds.as_mut_ptr().cast(), count, timeout, std::ptr::null()) };
    match check(ready) {
        Ok(ready) => Ok(usize::try_from(ready).unwrap_or(0)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            fds.iter_mut().for_each(|interest| interest.entry.revents = 0);
            Ok(0)
        }
        Err(error) => Err(error),
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
        // SAFETY: takes and returns integers alone.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
            .named("create", || "eventfd".into())?;
        // SAFETY: the call above gave us this descriptor, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Signals: every wait on this waker returns until [`Waker::drain`].
    pub fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight readable bytes. The only refusal is a full counter, and then it is signalled already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Takes the signal back; true when there was one.
    pub fn drain(&self) -> bool {
        let mut count = [0_u8; 8];
        // SAFETY: eight writable bytes.
        check_len(unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) }).is_ok()
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
