//! Socket options by name: the requested value, the effective value, and the kernel's counters.
//!
//! An option without a function in rustix is a number ([`Opt`]) and goes through libc. Every error names the option and the
//! socket: `set TCP_MAXSEG on tcp 10.0.0.1:0: Invalid argument`.

mod ip;
mod tcp;
mod udp;

use crate::error::{Named, Result, check};
use crate::sockaddr;
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use units::{BitRate, Bytes, Nanos};

pub(crate) use ip::{
    IP_RECVERR, IP_RECVFRAGSIZE, IPV6_RECVERR, IPV6_RECVFRAGSIZE, is_v6, set_family_mtu_discovery,
};
pub use ip::{
    MtuDiscovery, lease_flow_label, path_mtu, set_fragment_mtu, set_hops, set_mtu_discovery,
    set_multicast_interface, set_receive_errors, set_receive_extensions, set_receive_fragment_size, set_tos,
    set_v6_only, tos,
};
pub use tcp::{
    available_congestion_controls, congestion, default_congestion, is_multipath, mss, saved_syn,
    set_congestion, set_keepalive, set_linear_timeouts, set_longest_retransmission, set_mss, set_nodelay,
    set_reset_on_close, set_save_syn, set_shortest_retransmission, set_unsent_limit, set_user_timeout,
    unacknowledged,
};
pub use udp::{set_udp_gro, set_udp_segment, udp_gro};

/// The receive buffer (`SO_RCVBUF`) as the kernel states it: twice the requested payload, the other half being its own overhead
/// (socket(7)).
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn recv_buffer(fd: &impl AsFd) -> Result<Bytes> {
    named("read SO_RCVBUF of", fd, sockopt::socket_recv_buffer_size(fd)).map(|bytes| Bytes(bytes as u64))
}

/// The send buffer (`SO_SNDBUF`), counted like [`recv_buffer`].
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn send_buffer(fd: &impl AsFd) -> Result<Bytes> {
    named("read SO_SNDBUF of", fd, sockopt::socket_send_buffer_size(fd)).map(|bytes| Bytes(bytes as u64))
}

/// Asks for a receive buffer of `size`: beyond `rmem_max` with `CAP_NET_ADMIN` (`SO_RCVBUFFORCE`), else up to it.
/// Returns [`recv_buffer`]: less than twice `size` means the kernel's limit cut it.
///
/// # Errors
/// The errors of `setsockopt(2)`; being cut by a limit is no error.
pub fn set_recv_buffer(fd: &impl AsFd, size: Bytes) -> Result<Bytes> {
    let size = within(size);
    match sockopt::set_socket_recv_buffer_size_force(fd, size) {
        Err(Errno::PERM) => set_recv_buffer_within_limit(fd, size),
        outcome => named("set SO_RCVBUFFORCE on", fd, outcome),
    }?;
    recv_buffer(fd)
}

/// Asks for a send buffer of `size`, like [`set_recv_buffer`]; returns [`send_buffer`].
///
/// # Errors
/// The errors of `setsockopt(2)`; being cut by a limit is no error.
pub fn set_send_buffer(fd: &impl AsFd, size: Bytes) -> Result<Bytes> {
    let size = within(size);
    match sockopt::set_socket_send_buffer_size_force(fd, size) {
        Err(Errno::PERM) => set_send_buffer_within_limit(fd, size),
        outcome => named("set SO_SNDBUFFORCE on", fd, outcome),
    }?;
    send_buffer(fd)
}

/// Asks for buffers of `size` in both directions, up to the kernel's limits also where this process could go beyond them:
/// for a size that somebody else has chosen.
///
/// # Errors
/// The errors of `setsockopt(2)`; being cut by a limit is no error.
pub fn set_buffers_within_limits(fd: &impl AsFd, size: Bytes) -> Result<()> {
    set_send_buffer_within_limit(fd, within(size))?;
    set_recv_buffer_within_limit(fd, within(size))
}

fn set_recv_buffer_within_limit(fd: &impl AsFd, size: usize) -> Result<()> {
    named("set SO_RCVBUF on", fd, sockopt::set_socket_recv_buffer_size(fd, size))
}

fn set_send_buffer_within_limit(fd: &impl AsFd, size: usize) -> Result<()> {
    named("set SO_SNDBUF on", fd, sockopt::set_socket_send_buffer_size(fd, size))
}

fn within(size: Bytes) -> usize {
    usize::try_from(size.0).unwrap_or(LARGEST_BUFFER).min(LARGEST_BUFFER)
}

/// Binds the socket to one network device (`SO_BINDTODEVICE`).
///
/// # Errors
/// `ENODEV` for an unknown device, `EPERM` when another device is already set.
pub fn set_device(fd: &impl AsFd, device: &str) -> Result<()> {
    set_raw(fd, SO_BINDTODEVICE, device.as_bytes())
}

/// Lets the address be bound while another socket, or a connection that is closing, holds it (`SO_REUSEADDR`).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_reuse_address(fd: &impl AsFd, on: bool) -> Result<()> {
    named("set SO_REUSEADDR on", fd, sockopt::set_socket_reuseaddr(fd, on))
}

/// Limits the rate the kernel's pacing lets this socket send at (`SO_MAX_PACING_RATE`).
///
/// TCP paces by itself; UDP is paced only by the `fq` queueing discipline and is otherwise **not limited at all**.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_max_pacing_rate(fd: &impl AsFd, rate: BitRate) -> Result<()> {
    set_raw(fd, SO_MAX_PACING_RATE, &(rate.0 / 8).max(1).to_ne_bytes())
}

/// Lets receive calls poll the device's queue for `span`, cut to microseconds, before they sleep (`SO_BUSY_POLL`).
///
/// # Errors
/// `EPERM` without `CAP_NET_ADMIN` when the span is raised.
pub fn set_busy_poll(fd: &impl AsFd, span: Nanos) -> Result<()> {
    set_int(fd, SO_BUSY_POLL, u32::try_from(span.0 / 1000).unwrap_or(u32::MAX).min(LARGEST_BUFFER as u32))
}

/// The CPU that took the last packet of this socket from its interface (`SO_INCOMING_CPU`); `None`: none came.
#[must_use]
pub fn incoming_cpu(fd: &impl AsFd) -> Option<usize> {
    const INCOMING_CPU: Opt = Opt(libc::SOL_SOCKET, libc::SO_INCOMING_CPU, "SO_INCOMING_CPU");
    // The kernel returns -1 for a socket that received nothing.
    get_int(fd, INCOMING_CPU).ok().filter(|cpu| *cpu != u32::MAX).and_then(|cpu| usize::try_from(cpu).ok())
}

/// Packets this socket dropped since it was opened (`SO_MEMINFO`): buffer full or checksum wrong. Wraps at 2³².
///
/// # Errors
/// The errors of `getsockopt(2)`; `ENOPROTOOPT` before Linux 4.12.
pub fn drops(fd: &impl AsFd) -> Result<u32> {
    let mut counters = [0_u8; 9 * 4];
    get_raw(fd, SO_MEMINFO, &mut counters)?;
    Ok(sockaddr::array(&counters, SK_MEMINFO_DROPS * 4).map_or(0, u32::from_ne_bytes))
}

/// Takes the error pending on the socket (`SO_ERROR`), such as the outcome of a non-blocking connect.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn take_error(fd: &impl AsFd) -> Result<Option<io::Error>> {
    let pending = named("read SO_ERROR of", fd, sockopt::socket_error(fd))?;
    Ok(pending.err().map(io::Error::from))
}

/// A socket option: level, number, and the name the man pages give it.
#[derive(Clone, Copy)]
pub struct Opt(pub libc::c_int, pub libc::c_int, pub &'static str);

/// Sets an option that is a number.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_int(fd: &impl AsFd, opt: Opt, value: u32) -> Result<()> {
    set_raw(fd, opt, &value.to_ne_bytes())
}

/// Sets an option of IPv4 on a socket of either family. A raw socket of IPv6 has no use for it, and refuses.
pub(crate) fn set_v4_int(fd: &impl AsFd, opt: Opt, value: u32) -> Result<()> {
    match set_int(fd, opt, value) {
        Err(error) if error.errno() == Some(libc::ENOPROTOOPT) && is_v6(fd) => Ok(()),
        outcome => outcome,
    }
}

/// Reads an option that is a number.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn get_int(fd: &impl AsFd, opt: Opt) -> Result<u32> {
    let mut value = [0_u8; 4];
    get_raw(fd, opt, &mut value)?;
    Ok(u32::from_ne_bytes(value))
}

/// Sets an option to these bytes, which must be what the kernel reads there.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_raw(fd: &impl AsFd, opt: Opt, value: &[u8]) -> Result<()> {
    let fd = fd.as_fd();
    setsockopt(fd, opt, value).named(&format!("set {} on", opt.2), || describe(&fd))
}

/// Fills `value` and returns how much of it the kernel wrote.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn get_raw(fd: &impl AsFd, opt: Opt, value: &mut [u8]) -> Result<usize> {
    let fd = fd.as_fd();
    getsockopt(fd, opt, value).named(&format!("read {} of", opt.2), || describe(&fd))
}

/// Names the operation of an outcome of rustix.
pub(crate) fn named<T>(operation: &str, fd: &impl AsFd, outcome: rustix::io::Result<T>) -> Result<T> {
    outcome.named(operation, || describe(fd))
}

pub(crate) fn setsockopt(fd: BorrowedFd<'_>, opt: Opt, value: &[u8]) -> io::Result<()> {
    let len = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: `value` is `len` readable bytes; the kernel checks the length against the option.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), opt.0, opt.1, value.as_ptr().cast(), len) }).map(drop)
}

pub(crate) fn getsockopt(fd: BorrowedFd<'_>, opt: Opt, value: &mut [u8]) -> io::Result<usize> {
    let mut len = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: `value` is `len` writable bytes; the kernel writes no more than that and returns the length.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), opt.0, opt.1, value.as_mut_ptr().cast(), &mut len) })?;
    Ok(usize::try_from(len).unwrap_or(0).min(value.len()))
}

const SO_BINDTODEVICE: Opt = Opt(libc::SOL_SOCKET, libc::SO_BINDTODEVICE, "SO_BINDTODEVICE");
const SO_MAX_PACING_RATE: Opt = Opt(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, "SO_MAX_PACING_RATE");
const SO_BUSY_POLL: Opt = Opt(libc::SOL_SOCKET, libc::SO_BUSY_POLL, "SO_BUSY_POLL");
const SO_MEMINFO: Opt = Opt(libc::SOL_SOCKET, libc::SO_MEMINFO, "SO_MEMINFO");
/// The index of the drop count in `SO_MEMINFO` (linux/sock_diag.h).
const SK_MEMINFO_DROPS: usize = 8;
/// The kernel doubles a buffer size in a signed 32-bit integer.
const LARGEST_BUFFER: usize = (i32::MAX / 2) as usize;

/// The socket in words, for errors: `udp 10.0.0.2:5210`, `tcp 10.0.0.1:40112 to 10.0.0.2:5201`.
pub fn describe(fd: &impl AsFd) -> String {
    let fd = fd.as_fd();
    let kind = match sockopt::socket_type(fd) {
        Ok(SocketType::STREAM) => "tcp",
        Ok(SocketType::DGRAM) => "udp",
        Ok(_) => "socket",
        Err(_) => return format!("descriptor {}", fd.as_raw_fd()),
    };
    match (sockaddr::local(fd), sockaddr::peer(fd)) {
        (Ok(local), Ok(peer)) => format!("{kind} {local} to {peer}"),
        (Ok(local), Err(_)) => format!("{kind} {local}"),
        _ => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, UdpSocket};

    #[test]
    fn what_others_choose_stays_within_the_limits() {
        let limit = |name| std::fs::read_to_string(format!("/proc/sys/net/core/{name}")).unwrap();
        let limit = |name| Bytes(2 * limit(name).trim().parse::<u64>().unwrap());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_buffers_within_limits(&socket, Bytes(u64::MAX)).unwrap();
        assert_eq!(recv_buffer(&socket).unwrap(), limit("rmem_max"));
        assert_eq!(send_buffer(&socket).unwrap(), limit("wmem_max"));
        set_buffers_within_limits(&socket, Bytes(64_000)).unwrap();
        assert_eq!(send_buffer(&socket).unwrap(), Bytes(128_000));
    }

    #[test]
    fn buffers_report_what_the_kernel_gave() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(set_recv_buffer(&socket, Bytes(100_000)).unwrap(), Bytes(200_000));
        assert_eq!(set_send_buffer(&socket, Bytes(64_000)).unwrap(), Bytes(128_000));
        assert_eq!(send_buffer(&socket).unwrap(), Bytes(128_000));
        assert!(set_recv_buffer(&socket, Bytes(u64::MAX)).unwrap() > Bytes(200_000));
    }

    #[test]
    fn an_error_names_option_and_socket() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = set_device(&socket, "no-such-device").unwrap_err();
        let address = socket.local_addr().unwrap();
        assert!(error.to_string().starts_with(&format!("set SO_BINDTODEVICE on udp {address}: ")), "{error}");
    }

    #[test]
    fn pacing_limit_comes_back() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        set_max_pacing_rate(&socket, BitRate(80_000_000_000)).unwrap();
        let mut bytes = [0_u8; 8];
        get_raw(&socket, SO_MAX_PACING_RATE, &mut bytes).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 10_000_000_000);
    }

    #[test]
    fn overflowing_a_small_buffer_counts_as_drops() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_recv_buffer(&receiver, Bytes(4096)).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        assert_eq!(drops(&receiver).unwrap(), 0);
        for _ in 0..50 {
            sender.send(&[0; 1400]).unwrap();
        }
        assert!(drops(&receiver).unwrap() > 0);
    }

    #[test]
    fn a_refusal_is_pending_once() {
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(closed).unwrap();
        sender.send(b"x").unwrap();
        let error = take_error(&sender).unwrap().expect("loopback answers at once");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(take_error(&sender).unwrap().is_none());
    }

    #[test]
    fn switches_are_taken() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_reuse_address(&socket, true).unwrap();
        set_device(&socket, "lo").unwrap();
        set_busy_poll(&socket, Nanos::ZERO).unwrap();
        assert_eq!(get_int(&socket, SO_BUSY_POLL).unwrap(), 0);
    }
}
