//! A socket's error queue: which router or host refused a datagram and why, and the times of sent packets.

use crate::cmsg::{Control, ControlMessage, ControlMessages, receive};
use crate::message::Received;
use crate::sockaddr::{self, array};
use crate::timestamp::PacketTimes;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use units::Bytes;

/// One entry of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueEntry {
    /// A datagram was refused ([`crate::options::set_receive_errors`]).
    Error(NetworkError),
    /// A packet left ([`crate::timestamp::set_timestamping`]).
    Sent {
        /// Which one: the number of the send call (UDP) or the offset of its last byte (TCP); wraps at 2³².
        id: u32,
        /// When.
        times: PacketTimes,
    },
    /// Something else, such as the end of a zero-copy send.
    Other,
}

/// Why a datagram was refused (`struct sock_extended_err`, ip(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkError {
    /// The error number: `EMSGSIZE`, `ECONNREFUSED`, `EHOSTUNREACH`, ….
    pub errno: i32,
    /// The origin of the error.
    pub origin: Origin,
    /// The ICMP type.
    pub icmp_type: u8,
    /// The ICMP code.
    pub icmp_code: u8,
    /// The next hop's MTU for `EMSGSIZE`; otherwise without meaning.
    pub info: u32,
    /// The router or host that sent the ICMP message.
    pub offender: Option<IpAddr>,
    /// Where the refused datagram was going.
    pub destination: Option<SocketAddr>,
    /// How many bytes of the refused datagram's payload came back.
    pub quoted: usize,
    /// Where among these the extensions of the ICMP message begin (RFC 4884), when it has some
    /// ([`crate::options::set_receive_extensions`]).
    pub extensions: Option<usize>,
    /// TTL or hop limit that the ICMP message arrived with ([`crate::message::set_receive_notes`]).
    pub ttl: Option<u8>,
}

/// The host or layer that detected the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This host's own stack.
    Local,
    /// An ICMP message.
    Icmp,
    /// An ICMPv6 message.
    Icmp6,
    /// A number this program does not know.
    Other(u8),
}

impl NetworkError {
    /// The MTU that the next hop allows, when the datagram was too long for it.
    #[must_use]
    pub fn path_mtu(&self) -> Option<Bytes> {
        (self.errno == libc::EMSGSIZE && self.info > 0).then(|| Bytes(self.info.into()))
    }
}

/// Takes the oldest entry; `None` when the queue is empty. Never blocks.
///
/// The beginning of the refused datagram's payload is copied to `quote`, as far as the message carried it.
///
/// # Errors
/// The errors of `recvmsg(2)`.
pub fn take(fd: &impl AsFd, quote: &mut [u8]) -> io::Result<Option<QueueEntry>> {
    let mut control = Control([0; 512]);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    match receive(fd.as_fd(), quote, &mut control, flags) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        outcome => outcome.map(|(length, notes, destination)| Some(read(notes, length, destination))),
    }
}

/// Empties the queue and shows each entry; returns how many there were. Stops at 10,000, lest a flood hold it for ever.
///
/// # Errors
/// The errors of `recvmsg(2)`.
pub fn clear(fd: &impl AsFd, mut look: impl FnMut(QueueEntry)) -> io::Result<usize> {
    for count in 0..CLEAR_LIMIT {
        let Some(entry) = take(fd, &mut [])? else { return Ok(count) };
        look(entry);
    }
    Ok(CLEAR_LIMIT)
}

pub(crate) fn read(notes: ControlMessages<'_>, quoted: usize, destination: Option<SocketAddr>) -> QueueEntry {
    let Received { times, ttl, .. } = Received::read(notes.clone(), quoted, destination);
    match notes.filter(is_error).find_map(|note| entry(note.data, times)) {
        Some(QueueEntry::Error(error)) => {
            QueueEntry::Error(NetworkError { destination, quoted, ttl, ..error })
        }
        other => other.unwrap_or(QueueEntry::Other),
    }
}

fn is_error(note: &ControlMessage<'_>) -> bool {
    matches!((note.level, note.kind), (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR))
}

/// Reads `struct sock_extended_err` of linux/errqueue.h, and the address that follows it; `times`: those of the message.
fn entry(bytes: &[u8], times: PacketTimes) -> Option<QueueEntry> {
    let (errno, info) = (i32::from_ne_bytes(array(bytes, 0)?), u32::from_ne_bytes(array(bytes, 8)?));
    let (icmp_type, icmp_code) = (*bytes.get(5)?, *bytes.get(6)?);
    let data = array(bytes, 12)?;
    let origin = match *bytes.get(4)? {
        SO_EE_ORIGIN_LOCAL => Origin::Local,
        SO_EE_ORIGIN_ICMP => Origin::Icmp,
        SO_EE_ORIGIN_ICMP6 => Origin::Icmp6,
        SO_EE_ORIGIN_TIMESTAMPING => return Some(QueueEntry::Sent { id: u32::from_ne_bytes(data), times }),
        SO_EE_ORIGIN_ZEROCOPY => return Some(QueueEntry::Other),
        other => Origin::Other(other),
    };
    Some(QueueEntry::Error(NetworkError {
        errno,
        origin,
        icmp_type,
        icmp_code,
        info,
        offender: bytes.get(16..).and_then(sockaddr::parse).map(|address| address.ip()),
        destination: None,
        quoted: 0,
        extensions: extensions(data),
        ttl: None,
    }))
}

/// `struct sock_ee_data_rfc4884`: where they begin, and whether they are valid.
fn extensions([low, high, flags, _]: [u8; 4]) -> Option<usize> {
    let at = u16::from_ne_bytes([low, high]);
    (at > 0 && flags & INVALID_EXTENSIONS == 0).then_some(at.into())
}

const SO_EE_ORIGIN_LOCAL: u8 = 1;
const SO_EE_ORIGIN_ICMP: u8 = 2;
const SO_EE_ORIGIN_ICMP6: u8 = 3;
const SO_EE_ORIGIN_TIMESTAMPING: u8 = 4;
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
/// `SO_EE_RFC4884_FLAG_INVALID`.
const INVALID_EXTENSIONS: u8 = 1;
const CLEAR_LIMIT: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{mono_now, wall_now};
    use crate::message::set_receive_notes;
    use crate::options::{MtuDiscovery, set_mtu_discovery, set_receive_errors, set_receive_extensions};
    use crate::poll::{Interest, wait};
    use crate::timestamp::{Timestamping, set_timestamping};
    use std::net::UdpSocket;
    use units::Nanos;

    /// A socket connected to a port without a listener.
    fn refused(host: &str) -> UdpSocket {
        let closed = UdpSocket::bind((host, 0)).unwrap().local_addr().unwrap();
        let socket = UdpSocket::bind((host, 0)).unwrap();
        set_receive_errors(&socket, true).unwrap();
        set_receive_notes(&socket).unwrap();
        set_receive_extensions(&socket).unwrap();
        socket.connect(closed).unwrap();
        socket
    }

    #[test]
    fn a_closed_port_is_reported_with_the_quoted_payload() {
        let cases = [("127.0.0.1", Origin::Icmp, 3, 3), ("::1", Origin::Icmp6, 1, 4)];
        for (host, origin, icmp_type, icmp_code) in cases {
            let socket = refused(host);
            socket.send(b"probe 17").unwrap();
            let mut quote = [0; 64];
            let entry = take(&socket, &mut quote).unwrap().expect("loopback answers at once");
            let expected = NetworkError {
                errno: libc::ECONNREFUSED,
                origin,
                icmp_type,
                icmp_code,
                info: 0,
                offender: Some(host.parse().unwrap()),
                destination: Some(socket.peer_addr().unwrap()),
                quoted: 8,
                extensions: None,
                ttl: Some(64),
            };
            assert_eq!(entry, QueueEntry::Error(expected));
            assert_eq!(&quote[..8], b"probe 17");
            assert_eq!(take(&socket, &mut quote).unwrap(), None);
        }
    }

    #[test]
    fn a_datagram_too_long_for_the_interface_is_reported_with_its_mtu() {
        let socket = refused("::1");
        let mtu: u64 = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        set_mtu_discovery(&socket, MtuDiscovery::Do).unwrap();
        let too_long = vec![0; usize::try_from(mtu).unwrap() - 47];
        let longest_payload = 65_527;
        if too_long.len() > longest_payload {
            assert!(socket.send(&too_long).is_err());
            return;
        }
        assert_eq!(socket.send(&too_long).unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
        let Some(QueueEntry::Error(error)) = take(&socket, &mut []).unwrap() else { panic!("no entry") };
        assert_eq!((error.origin, error.path_mtu()), (Origin::Local, Some(Bytes(mtu))));
    }

    #[test]
    fn clearing_counts_and_empties() {
        let socket = refused("127.0.0.1");
        for _ in 0..3 {
            // Every other call reports the refusal of the one before instead of sending.
            let _ = socket.send(b"x");
        }
        assert!(clear(&socket, |_| {}).unwrap() > 0);
        assert_eq!(clear(&socket, |_| {}).unwrap(), 0);
    }

    #[test]
    fn the_time_a_datagram_left_comes_with_its_number() {
        let (receiver, sender) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        set_timestamping(&sender, Timestamping { transmit: true, receive: false }).unwrap();
        let before = wall_now();
        for id in 0..3 {
            sender.send_to(b"x", receiver.local_addr().unwrap()).unwrap();
            wait(&mut [Interest::error(&sender)], Some(mono_now() + Nanos::from_secs(5))).unwrap();
            let Some(QueueEntry::Sent { id: found, times }) = take(&sender, &mut []).unwrap() else {
                panic!("no time of sending")
            };
            assert_eq!(found, id);
            let time = times.kernel.expect("loopback takes the time in software");
            assert!(before <= time && time <= wall_now());
        }
    }

    #[test]
    fn entries_cut_short_are_no_errors() {
        for len in 0..16 {
            assert!(entry(&vec![0; len], PacketTimes::default()).is_none());
        }
        assert_eq!(read(ControlMessages::new(&[]), 0, None), QueueEntry::Other);
    }
}
