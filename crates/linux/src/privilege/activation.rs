//! Listening sockets handed over by a service manager (socket activation).
//!
//! The protocol of `sd_listen_fds(3)`: descriptors from 3 on, their number in `LISTEN_FDS`, for us when `LISTEN_PID` is
//! our process. The given descriptors are mere numbers, which rustix does not take: libc asks whether they are open.

use crate::error::{Named, OsError, Result, check};
use rustix::net::ipproto::TCP;
use rustix::net::sockopt::{socket_acceptconn, socket_protocol};
use std::env;
use std::io;
use std::net::TcpListener;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::process;

/// The TCP listeners the service manager opened for this process; empty when it was started otherwise.
///
/// Each call gives descriptors of its own for the same sockets.
///
/// # Errors
/// When a descriptor promised is not open, or is not a listening TCP socket: the unit is written wrongly.
pub fn listeners() -> Result<Vec<TcpListener>> {
    let [owner, count] = ["LISTEN_PID", "LISTEN_FDS"].map(|name| env::var(name).ok());
    promised(owner.as_deref(), count.as_deref(), process::id()).map(listener).collect()
}

/// The descriptors promised in the two variables to the process of this number.
fn promised(owner: Option<&str>, count: Option<&str>, own: u32) -> std::ops::Range<RawFd> {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
    let count = number(count).filter(|_| number(owner) == Some(own)).unwrap_or(0);
    FIRST..FIRST.saturating_add_unsigned(count)
}

fn listener(given: RawFd) -> Result<TcpListener> {
    let named =
        |reason| OsError::new("take over", format!("descriptor {given} from the service manager"), reason);
    // SAFETY: takes numbers and touches no memory of ours.
    let own = check(unsafe { libc::fcntl(given, libc::F_DUPFD_CLOEXEC, 0) }).map_err(named)?;
    // SAFETY: the kernel has just given us this descriptor; it has no other owner.
    let own = unsafe { OwnedFd::from_raw_fd(own) };
    // The given one stays open as long as we run, but is not for the programs we start.
    // SAFETY: takes numbers and touches no memory of ours.
    check(unsafe { libc::fcntl(given, libc::F_SETFD, libc::FD_CLOEXEC) }).map_err(named)?;
    let listener = TcpListener::from(own);
    let is_listening = socket_acceptconn(&listener).map_err(|error| named(error.into()))?;
    if !is_listening || socket_protocol(&listener).map_err(|error| named(error.into()))? != Some(TCP) {
        return Err(named(io::Error::new(io::ErrorKind::InvalidInput, "it is not a listening TCP socket")));
    }
    listener.local_addr().named("ask the address of", || format!("descriptor {given}"))?;
    Ok(listener)
}

const FIRST: RawFd = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    #[test]
    fn only_what_was_promised_to_us_is_taken() {
        assert_eq!(promised(Some("7"), Some("2"), 7), 3..5);
        assert_eq!(promised(Some("8"), Some("2"), 7), 3..3);
        assert_eq!(promised(None, Some("2"), 7), 3..3);
        assert_eq!(promised(Some("7"), None, 7), 3..3);
        assert_eq!(promised(Some("7"), Some("-1"), 7), 3..3);
        assert_eq!(promised(Some("7"), Some("4294967295"), 7), 3..RawFd::MAX);
        assert!(listeners().expect("nothing was promised").is_empty());
    }

    #[test]
    fn a_listener_is_taken_over_and_accepts() {
        let given = TcpListener::bind("127.0.0.1:0").expect("loopback binds");
        let taken = listener(given.as_raw_fd()).expect("it listens");
        let address = given.local_addr().expect("it is bound");
        assert_eq!(taken.local_addr().expect("it is bound"), address);
        let client = std::net::TcpStream::connect(address).expect("it listens");
        assert_eq!(taken.accept().expect("a client waits").1, client.local_addr().expect("it is connected"));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        let udp = UdpSocket::bind("127.0.0.1:0").expect("loopback binds");
        let error = listener(udp.as_raw_fd()).expect_err("UDP does not listen");
        assert!(error.to_string().ends_with("it is not a listening TCP socket"), "{error}");
        let error = listener(RawFd::MAX).expect_err("no such descriptor is open");
        assert_eq!(error.errno(), Some(libc::EBADF), "{error}");
    }
}
