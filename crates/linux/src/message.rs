//! One message with what the kernel knows of it: its sender, the local address it came to, its TTL, its times; and a
//! reply from that very address.
//!
//! Through libc, as all messages with control messages of kinds that rustix does not have.

use crate::cmsg::{self, Control, ControlMessage, ControlMessages, empty_header};
use crate::error::{Result, check_len};
use crate::options::{Opt, is_v6, set_int, set_v4_int};
use crate::sockaddr::{RawAddress, array};
use crate::timestamp::{PacketTimes, packet_times};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// A message that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its bytes, cut to the buffer's length.
    pub len: usize,
    /// Its sender; of a stream unknown.
    pub from: Option<SocketAddr>,
    /// The address of this host that it came to ([`set_receive_notes`]).
    pub local: Option<IpAddr>,
    /// TTL or hop limit of its IP header ([`set_receive_notes`]).
    pub ttl: Option<u8>,
    /// Its traffic class: DSCP and ECN ([`set_receive_notes`]).
    pub class: Option<u8>,
    /// The largest IP fragment it came in, bytes with header ([`crate::options::set_receive_fragment_size`]); `None` when it
    /// was not fragmented.
    pub fragment: Option<u32>,
    /// When it came ([`crate::timestamp::set_timestamping`]).
    pub times: PacketTimes,
}

/// Adds to every received datagram its TTL, its traffic class and the local address it came to (`IP_RECVTTL`, `IP_RECVTOS`,
/// `IP_PKTINFO`, ip(7); `IPV6_RECVHOPLIMIT`, `IPV6_RECVTCLASS`, `IPV6_RECVPKTINFO`, RFC 3542).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_receive_notes(fd: &impl AsFd) -> Result<()> {
    if is_v6(fd) {
        set_int(fd, IPV6_RECVPKTINFO, 1)?;
        set_int(fd, IPV6_RECVHOPLIMIT, 1)?;
        set_int(fd, IPV6_RECVTCLASS, 1)?;
    } else {
        set_int(fd, IP_PKTINFO, 1)?;
    }
    // On a socket of both families these apply to IPv4 datagrams too.
    set_v4_int(fd, IP_RECVTOS, 1)?;
    set_v4_int(fd, IP_RECVTTL, 1)
}

/// Receives one message with its notes (`recvmsg(2)`). Never blocks.
///
/// # Errors
/// The errors of `recvmsg(2)`: `WouldBlock` when nothing is there.
pub fn receive(fd: &impl AsFd, buf: &mut [u8]) -> io::Result<Received> {
    let mut control = Control([0; 256]);
    let (length, notes, from) = cmsg::receive(fd.as_fd(), buf, &mut control, libc::MSG_DONTWAIT)?;
    Ok(Received::read(notes, length, from))
}

/// Sends a datagram to an address from one of this host's own, where it is given, and with this traffic class (`sendmsg(2)`
/// with a pktinfo, `IP_TOS`, `IPV6_TCLASS`; class 0: the socket's own). Never blocks.
///
/// # Errors
/// The errors of `sendmsg(2)`.
pub fn send_from(
    socket: &UdpSocket,
    bytes: &[u8],
    to: SocketAddr,
    local: Option<IpAddr>,
    class: u8,
) -> io::Result<usize> {
    let mut control = Control([0; 256]);
    let mut control_len = local.map_or(0, |local| pktinfo(local, to.is_ipv6(), &mut control.0));
    if class > 0 {
        let kinds = [libc::IP_TOS, libc::IPV6_TCLASS];
        control_len += write_byte(to.ip(), kinds, class, &mut control.0[control_len..]);
    }
    send(socket, bytes, Some(&RawAddress::new(to)), &mut control.0[..control_len])
}

/// Sends one datagram on a connected socket with this TTL or hop limit, whatever the socket's own is, and whole, whatever
/// `UDP_SEGMENT` of the socket is (`sendmsg(2)` with `IP_TTL`, `IPV6_HOPLIMIT` and `UDP_SEGMENT`). Never blocks.
///
/// # Errors
/// The errors of `sendmsg(2)`.
pub fn send_whole(socket: &UdpSocket, bytes: &[u8], hops: u8) -> io::Result<usize> {
    let kinds = [libc::IP_TTL, libc::IPV6_HOPLIMIT];
    let mut control = Control([0; 256]);
    let mut control_len = write_byte(socket.peer_addr()?.ip(), kinds, hops, &mut control.0);
    let rest = &mut control.0[control_len..];
    control_len += write_note(libc::SOL_UDP, libc::UDP_SEGMENT, &0_u16.to_ne_bytes(), rest);
    send(socket, bytes, None, &mut control.0[..control_len])
}

/// Sends a datagram with these control messages; without an address, where the socket is connected to.
fn send(socket: &UdpSocket, bytes: &[u8], to: Option<&RawAddress>, control: &mut [u8]) -> io::Result<usize> {
    let mut iov = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut header = empty_header();
    if let Some(to) = to {
        let (name, name_len) = to.as_parts();
        header.msg_name = name.cast_mut().cast();
        header.msg_namelen = name_len;
    }
    header.msg_iov = &mut iov;
    header.msg_iovlen = 1;
    if !control.is_empty() {
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = control.len() as _;
    }
    // SAFETY: `header` points at `to`, `iov` with `bytes`, and `control`, which outlive the call and are only read.
    check_len(unsafe { libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_DONTWAIT) })
}

impl Received {
    /// A message of `len` bytes, with what its notes say.
    pub(crate) fn read(notes: ControlMessages<'_>, len: usize, from: Option<SocketAddr>) -> Received {
        let times = PacketTimes::default();
        let mut message = Received { len, from, local: None, ttl: None, class: None, fragment: None, times };
        notes.for_each(|note| message.take(&note));
        message
    }

    fn take(&mut self, note: &ControlMessage<'_>) {
        match (note.level, note.kind) {
            (libc::SOL_IP, libc::IP_TTL) | (libc::SOL_IPV6, libc::IPV6_HOPLIMIT) => {
                self.ttl = note.word().and_then(|ttl| u8::try_from(ttl).ok());
            }
            // One byte of IPv4, a word of IPv6.
            (libc::SOL_IP, libc::IP_TOS) | (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                self.class = note.data.first().copied();
            }
            (libc::SOL_IP, IP_FRAGMENT) | (libc::SOL_IPV6, IPV6_FRAGMENT) => {
                self.fragment = note.word().filter(|size| *size > 0);
            }
            // struct in_pktinfo: interface, local address, address of the header.
            (libc::SOL_IP, libc::IP_PKTINFO) => {
                self.local = array::<4>(note.data, 4).map(|ip| IpAddr::V4(Ipv4Addr::from(ip)));
            }
            // struct in6_pktinfo: address, interface.
            (libc::SOL_IPV6, libc::IPV6_PKTINFO) => {
                self.local = array::<16>(note.data, 0).map(|ip| IpAddr::V6(Ipv6Addr::from(ip)));
            }
            _ => {
                if let Some(times) = packet_times(note) {
                    self.times = times;
                }
            }
        }
    }
}

/// Writes a control message that names the source address; its length with padding.
fn pktinfo(local: IpAddr, v6: bool, control: &mut [u8]) -> usize {
    let (level, kind, content) = match (local, v6) {
        (IpAddr::V4(ip), false) => {
            // Interface 0: the route's. The source goes into ipi_spec_dst.
            (libc::SOL_IP, libc::IP_PKTINFO, [&[0; 4][..], &ip.octets(), &[0; 4]].concat())
        }
        (ip, _) => {
            let ip = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            (libc::SOL_IPV6, libc::IPV6_PKTINFO, [&ip.octets()[..], &[0; 4]].concat())
        }
    };
    write_note(level, kind, &content, control)
}

/// Writes a control message of one number for packets to this address, of the kind that IPv4 or IPv6 has for it; its length with
/// padding.
fn write_byte(to: IpAddr, [v4, v6]: [i32; 2], value: u8, control: &mut [u8]) -> usize {
    // IPv4 mapped into IPv6 is IPv4 to the kernel.
    let (level, kind) = match to.to_canonical() {
        IpAddr::V4(_) => (libc::SOL_IP, v4),
        IpAddr::V6(_) => (libc::SOL_IPV6, v6),
    };
    write_note(level, kind, &i32::from(value).to_ne_bytes(), control)
}

/// Writes a control message; its length with padding (cmsg(3)).
fn write_note(level: i32, kind: i32, content: &[u8], control: &mut [u8]) -> usize {
    let header = size_of::<libc::cmsghdr>();
    let len = header + content.len();
    control[..8].copy_from_slice(&len.to_ne_bytes());
    control[8..12].copy_from_slice(&level.to_ne_bytes());
    control[12..16].copy_from_slice(&kind.to_ne_bytes());
    control[header..len].copy_from_slice(content);
    len.next_multiple_of(size_of::<usize>())
}

/// The control messages of `IP_RECVFRAGSIZE` and `IPV6_RECVFRAGSIZE` (linux/in.h, linux/in6.h).
pub(crate) const IP_FRAGMENT: i32 = 25;
pub(crate) const IPV6_FRAGMENT: i32 = 77;
const IP_PKTINFO: Opt = Opt(libc::SOL_IP, libc::IP_PKTINFO, "IP_PKTINFO");
const IP_RECVTTL: Opt = Opt(libc::SOL_IP, libc::IP_RECVTTL, "IP_RECVTTL");
const IP_RECVTOS: Opt = Opt(libc::SOL_IP, libc::IP_RECVTOS, "IP_RECVTOS");
const IPV6_RECVTCLASS: Opt = Opt(libc::SOL_IPV6, libc::IPV6_RECVTCLASS, "IPV6_RECVTCLASS");
const IPV6_RECVPKTINFO: Opt = Opt(libc::SOL_IPV6, libc::IPV6_RECVPKTINFO, "IPV6_RECVPKTINFO");
const IPV6_RECVHOPLIMIT: Opt = Opt(libc::SOL_IPV6, libc::IPV6_RECVHOPLIMIT, "IPV6_RECVHOPLIMIT");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{Interest, wait};

    /// A message to `to` on a socket bound to `bind`, and the reply to it.
    fn exchange(bind: &str, to: &str) -> (Received, SocketAddr) {
        let server = UdpSocket::bind(bind).unwrap();
        set_receive_notes(&server).unwrap();
        let port = server.local_addr().unwrap().port();
        let to: SocketAddr = format!("{to}:{port}").parse().unwrap();
        let client = UdpSocket::bind(if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" }).unwrap();
        // Before it is sent: what a datagram does not have when it comes, it never has.
        set_receive_notes(&client).unwrap();
        crate::options::set_tos(&client, 0x28).unwrap();
        client.send_to(b"ping", to).unwrap();
        wait(&mut [Interest::readable(&server)], None).unwrap();
        let mut buf = [0; 64];
        let received = receive(&server, &mut buf).unwrap();
        assert_eq!(&buf[..received.len], b"ping");
        send_from(&server, b"pong", received.from.unwrap(), received.local, 0xb8).unwrap();
        wait(&mut [Interest::readable(&client)], None).unwrap();
        let answer = receive(&client, &mut buf).unwrap();
        assert_eq!((&buf[..answer.len], answer.class), (&b"pong"[..], Some(0xb8)), "{bind} {to}");
        (received, answer.from.unwrap())
    }

    #[test]
    fn the_reply_comes_from_the_address_that_was_asked() {
        for (bind, to) in [
            ("0.0.0.0:0", "127.0.0.2"),
            ("[::]:0", "127.0.0.3"),
            ("[::]:0", "[::1]"),
            ("127.0.0.4:0", "127.0.0.4"),
        ] {
            let (received, from) = exchange(bind, to);
            let address = to.trim_matches(['[', ']']);
            assert_eq!(from.ip().to_string(), address, "{bind}");
            assert_eq!(
                received.local.map(|ip| ip.to_canonical().to_string()).as_deref(),
                Some(address),
                "{bind}"
            );
            assert_eq!((received.ttl, received.class), (Some(64), Some(0x28)), "{bind} {to}");
        }
    }

    #[test]
    fn a_datagram_in_fragments_reports_the_largest() {
        let server = UdpSocket::bind("[::1]:0").unwrap();
        crate::options::set_receive_fragment_size(&server, true).unwrap();
        let client = UdpSocket::bind("[::1]:0").unwrap();
        crate::options::set_fragment_mtu(&client, 1280).unwrap();
        for (length, fragment) in [(1233, None), (65_500, Some(1280))] {
            client.send_to(&vec![0; length], server.local_addr().unwrap()).unwrap();
            wait(&mut [Interest::readable(&server)], None).unwrap();
            assert_eq!(receive(&server, &mut [0; 1 << 16]).unwrap().fragment, fragment);
        }
    }

    #[test]
    fn a_datagram_goes_whole_and_as_far_as_asked() {
        for (bind, to) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "[::ffff:127.0.0.1]"), ("[::1]:0", "[::1]")]
        {
            let server = UdpSocket::bind(bind).unwrap();
            set_receive_notes(&server).unwrap();
            let client =
                UdpSocket::bind(if bind.starts_with('[') { "[::]:0" } else { "127.0.0.1:0" }).unwrap();
            let port = server.local_addr().unwrap().port();
            client.connect(format!("{to}:{port}")).unwrap();
            crate::options::set_hops(&client, 1).unwrap();
            crate::options::set_udp_segment(&client, 8).unwrap();
            assert_eq!(send_whole(&client, &[7; 100], 33).unwrap(), 100);
            wait(&mut [Interest::readable(&server)], None).unwrap();
            let received = receive(&server, &mut [0; 200]).unwrap();
            assert_eq!((received.len, received.ttl), (100, Some(33)), "{to}");
        }
    }

    #[test]
    fn nothing_there_is_reported_at_once() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = receive(&server, &mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}
