//! Options of TCP, and the amount of written data that is still in flight or unsent.

use super::describe;
use super::{Opt, get_int, get_raw, named, set_int};
use crate::error::{Named, Result, check};
use rustix::net::sockopt;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use units::{Bytes, Nanos};

/// The congestion control of this socket (`TCP_CONGESTION`): `cubic`, `bbr`, ….
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn congestion(fd: &impl AsFd) -> Result<String> {
    named("read TCP_CONGESTION of", fd, sockopt::tcp_congestion(fd))
}

/// Chooses the congestion control.
///
/// # Errors
/// `ENOENT` when the kernel has none of that name, `EPERM` when it is not allowed without privilege.
pub fn set_congestion(fd: &impl AsFd, name: &str) -> Result<()> {
    named("set TCP_CONGESTION on", fd, sockopt::set_tcp_congestion(fd, name))
}

/// The congestion controls the kernel has loaded; others may be loaded on demand.
///
/// # Errors
/// When procfs is not there to be read.
pub fn available_congestion_controls() -> Result<Vec<String>> {
    let text = read(AVAILABLE_CONGESTION)?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The congestion control of sockets that do not choose.
///
/// # Errors
/// When procfs is not there to be read.
pub fn default_congestion() -> Result<String> {
    read(DEFAULT_CONGESTION).map(|text| text.trim().to_owned())
}

/// The maximum segment size (`TCP_MAXSEG`): once connected, the payload of a full segment at this moment.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn mss(fd: &impl AsFd) -> Result<Bytes> {
    get_int(fd, TCP_MAXSEG).map(|mss| Bytes(mss.into()))
}

/// Announces a smaller maximum segment size; to be set before connecting or listening.
///
/// # Errors
/// `EINVAL` outside of 88 to 32767 bytes.
pub fn set_mss(fd: &impl AsFd, mss: Bytes) -> Result<()> {
    set_int(fd, TCP_MAXSEG, saturate(mss.0))
}

/// Did both ends agree on Multipath TCP? Such a socket may also have fallen back to plain TCP (RFC 8684, section 3.7).
#[must_use]
pub fn is_multipath(fd: &impl AsFd) -> bool {
    let mut info = [0; MPTCP_FLAGS_END];
    // Once it has fallen back, the option is TCP's, which has none.
    get_raw(fd, MPTCP_INFO, &mut info)
        .is_ok_and(|len| len == info.len() && info[MPTCP_FLAGS_END - 4] & 1 == 0)
}

/// Lets no more than this lie in the send buffer unsent: a write waits for as long (`TCP_NOTSENT_LOWAT`).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_unsent_limit(fd: &impl AsFd, limit: Bytes) -> Result<()> {
    set_int(fd, TCP_NOTSENT_LOWAT, saturate(limit.0))
}

/// Sends small writes at once instead of joining them (`TCP_NODELAY`, Nagle's algorithm off).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_nodelay(fd: &impl AsFd, on: bool) -> Result<()> {
    named("set TCP_NODELAY on", fd, sockopt::set_tcp_nodelay(fd, on))
}

/// Gives the connection up when sent data stays unacknowledged for `span`, cut to milliseconds
/// (`TCP_USER_TIMEOUT`); zero restores the system's rule.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_user_timeout(fd: &impl AsFd, span: Nanos) -> Result<()> {
    let span = saturate(span.0 / 1_000_000);
    named("set TCP_USER_TIMEOUT on", fd, sockopt::set_tcp_user_timeout(fd, span))
}

/// The longest time between two retransmissions of the same data (`TCP_RTO_MAX_MS`), from one second on.
///
/// # Errors
/// The errors of `setsockopt(2)`: the option is Linux 6.15's.
pub fn set_longest_retransmission(fd: &impl AsFd, span: Nanos) -> Result<()> {
    set_int(fd, TCP_RTO_MAX_MS, saturate(span.0 / 1_000_000))
}

/// The shortest retransmission timeout (`TCP_RTO_MIN_US`), from 8 ms on; the kernel's own is 200 ms.
///
/// # Errors
/// The errors of `setsockopt(2)`: the option is Linux 6.15's.
pub fn set_shortest_retransmission(fd: &impl AsFd, span: Nanos) -> Result<()> {
    set_int(fd, TCP_RTO_MIN_US, saturate(span.0 / 1000))
}

/// Waits as long as before when data of which little is in flight is lost again, and not twice as long
/// (`TCP_THIN_LINEAR_TIMEOUTS`).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_linear_timeouts(fd: &impl AsFd, on: bool) -> Result<()> {
    set_int(fd, TCP_THIN_LINEAR_TIMEOUTS, u32::from(on))
}

/// Probes a silent connection: first after `idle`, then every `interval` (both cut to seconds, at least one), and
/// gives it up after `count` unanswered probes.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_keepalive(fd: &impl AsFd, idle: Nanos, interval: Nanos, count: u8) -> Result<()> {
    let seconds = |span: Nanos| Duration::from_secs((span.0 / 1_000_000_000).clamp(1, 32767));
    named("set SO_KEEPALIVE on", fd, sockopt::set_socket_keepalive(fd, true))?;
    named("set TCP_KEEPIDLE on", fd, sockopt::set_tcp_keepidle(fd, seconds(idle)))?;
    named("set TCP_KEEPINTVL on", fd, sockopt::set_tcp_keepintvl(fd, seconds(interval)))?;
    named("set TCP_KEEPCNT on", fd, sockopt::set_tcp_keepcnt(fd, count.clamp(1, 127).into()))
}

/// Makes closing the socket drop unsent data and reset the connection (`SO_LINGER` of zero), so that neither end
/// keeps a closing connection.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_reset_on_close(fd: &impl AsFd) -> Result<()> {
    named("set SO_LINGER on", fd, sockopt::set_socket_linger(fd, Some(Duration::ZERO)))
}

/// Keeps the headers of arriving SYN segments (`TCP_SAVE_SYN`); to be set on the listener.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_save_syn(fd: &impl AsFd) -> Result<()> {
    set_int(fd, TCP_SAVE_SYN, 1)
}

/// IP and TCP headers of the peer's SYN as they arrived (`TCP_SAVED_SYN`), once; empty when they were not kept.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn saved_syn(fd: &impl AsFd) -> Result<Vec<u8>> {
    let mut headers = [0_u8; 256];
    let len = get_raw(fd, TCP_SAVED_SYN, &mut headers)?;
    Ok(headers[..len].to_vec())
}

/// Bytes written that the peer has not acknowledged (`SIOCOUTQ`, tcp(7)): sent or not.
/// On UDP: bytes not yet handed to the device.
///
/// # Errors
/// The errors of `ioctl(2)`.
pub fn unacknowledged(fd: &impl AsFd) -> Result<Bytes> {
    let fd = fd.as_fd();
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, which is ours.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) })
        .named("read SIOCOUTQ of", || describe(&fd))?;
    Ok(Bytes(u64::try_from(bytes).unwrap_or(0)))
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).named("read", || path.into())
}

/// Socket options are signed.
fn saturate(value: u64) -> u32 {
    u32::try_from(value.min(i32::MAX as u64)).expect("just limited")
}

/// `SOL_MPTCP` and `MPTCP_INFO` of linux/mptcp.h: six counters of a byte, and from byte 8 on flags, of which the lowest bit is
/// set when it fell back.
const MPTCP_INFO: Opt = Opt(284, 1, "MPTCP_INFO");
const TCP_NOTSENT_LOWAT: Opt = Opt(libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, "TCP_NOTSENT_LOWAT");
const MPTCP_FLAGS_END: usize = 12;
const TCP_MAXSEG: Opt = Opt(libc::IPPROTO_TCP, libc::TCP_MAXSEG, "TCP_MAXSEG");
/// `linux/tcp.h`.
const TCP_RTO_MIN_US: Opt = Opt(libc::IPPROTO_TCP, 45, "TCP_RTO_MIN_US");
const TCP_THIN_LINEAR_TIMEOUTS: Opt =
    Opt(libc::IPPROTO_TCP, libc::TCP_THIN_LINEAR_TIMEOUTS, "TCP_THIN_LINEAR_TIMEOUTS");
const TCP_RTO_MAX_MS: Opt = Opt(libc::IPPROTO_TCP, 44, "TCP_RTO_MAX_MS");
const TCP_SAVE_SYN: Opt = Opt(libc::IPPROTO_TCP, libc::TCP_SAVE_SYN, "TCP_SAVE_SYN");
const TCP_SAVED_SYN: Opt = Opt(libc::IPPROTO_TCP, libc::TCP_SAVED_SYN, "TCP_SAVED_SYN");
const AVAILABLE_CONGESTION: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
const DEFAULT_CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn congestion_control_is_one_of_the_available() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let available = available_congestion_controls().unwrap();
        assert!(available.contains(&default_congestion().unwrap()));
        set_congestion(&socket, "reno").unwrap();
        assert_eq!(congestion(&socket).unwrap(), "reno");
        assert_eq!(set_congestion(&socket, "no-such").unwrap_err().errno(), Some(libc::ENOENT));
    }

    #[test]
    fn the_peers_syn_shows_the_announced_mss() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_save_syn(&listener).unwrap();
        set_mss(&listener, Bytes(1000)).unwrap();
        let (client, server) = pair(&listener);
        let syn = saved_syn(&server).unwrap();
        assert_eq!((syn[0], syn[9]), (0x45, 6), "IPv4 without options, TCP");
        assert_eq!(syn[40..42], [2, 4], "the MSS option leads");
        assert!(mss(&client).unwrap() <= Bytes(1000));
    }

    #[test]
    fn queues_count_what_the_peer_did_not_take() {
        let (mut client, server) = pair(&TcpListener::bind("127.0.0.1:0").unwrap());
        client.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(len) = client.write(&[0; 65536]) {
            written += len as u64;
        }
        let unacknowledged = unacknowledged(&client).unwrap();
        assert!(Bytes(written) >= unacknowledged && unacknowledged > Bytes(0));
        drop(server);
    }

    #[test]
    fn closing_with_reset_reaches_the_peer() {
        let (mut client, server) = pair(&TcpListener::bind("127.0.0.1:0").unwrap());
        set_reset_on_close(&server).unwrap();
        drop(server);
        assert_eq!(client.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn timers_are_taken() {
        let socket = TcpListener::bind("[::1]:0").unwrap();
        set_keepalive(&socket, Nanos::from_secs(7), Nanos::from_secs(3), 4).unwrap();
        set_user_timeout(&socket, Nanos::from_millis(2500)).unwrap();
        set_nodelay(&socket, true).unwrap();
        assert_eq!(sockopt::tcp_keepidle(&socket).unwrap(), Duration::from_secs(7));
        assert_eq!(sockopt::tcp_keepcnt(&socket).unwrap(), 4);
        assert_eq!(sockopt::tcp_user_timeout(&socket).unwrap(), 2500);
    }
}
