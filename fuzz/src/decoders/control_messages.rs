//! The control messages that the kernel attaches to a datagram: any bytes are walked through, and of what is built here
//! every figure is read: who refused a datagram and why, the TTL and address of one that came.

use linux::cmsg::ControlMessages;
use linux::errno::EMSGSIZE;
use linux::error_queue::{Origin, QueueEntry};
use linux::fuzzing::{message, queue_entry};
use linux::timestamp::packet_times;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let mut again = Vec::new();
    for note in ControlMessages::new(data) {
        let _ = (note.word(), packet_times(&note));
        again.extend(note_of(note.level, note.kind, note.data));
    }
    assert!(ControlMessages::new(&again).eq(ControlMessages::new(data)), "control messages changed");
    let to: SocketAddr = ([192, 0, 2, 1], 9).into();
    let entry = queue_entry(data, 7, Some(to));
    let whole =
        ControlMessages::new(data).any(|note| is_error(note.level, note.kind) && note.data.len() >= 16);
    match entry {
        QueueEntry::Error(error) => {
            assert!(whole && (error.quoted, error.destination) == (7, Some(to)));
            assert_eq!(error.path_mtu().is_some(), error.errno == EMSGSIZE && error.info > 0);
        }
        QueueEntry::Sent { .. } => assert!(whole),
        QueueEntry::Other => {}
    }
    let received = message(data, 9, Some(to));
    assert_eq!((received.len, received.from), (9, Some(to)));
    if let Some((built, rest)) = data.split_first_chunk() {
        build(built, rest);
    }
}

/// A refusal and a datagram's notes, made of these bytes and behind any others, are read as they were made.
fn build(bytes: &[u8; 20], other: &[u8]) {
    let [errno, origin, kind, code, ttl, a, b, c, d, v6, rest @ ..] = *bytes;
    let info = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]);
    let id = u32::from_ne_bytes([rest[4], rest[5], rest[6], rest[7]]);
    let mut error =
        [i32::from(errno).to_ne_bytes(), [origin, kind, code, 0], info.to_ne_bytes(), id.to_ne_bytes()]
            .concat();
    error.extend(2_u16.to_ne_bytes());
    error.extend([0, 0, a, b, c, d]);
    error.extend([0; 8]);
    let (level, number) = if v6 & 1 == 0 { (SOL_IP, IP_RECVERR) } else { (SOL_IPV6, IPV6_RECVERR) };
    // An unknown control message before it.
    let control = [note_of(9999, 1, &other[..other.len().min(64)]), note_of(level, number, &error)].concat();
    match queue_entry(&control, 0, None) {
        QueueEntry::Error(read) => {
            assert_eq!(
                (read.errno, read.icmp_type, read.icmp_code, read.info),
                (errno.into(), kind, code, info)
            );
            assert_eq!(read.offender, Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d))));
            let expected = match origin {
                1 => Origin::Local,
                2 => Origin::Icmp,
                3 => Origin::Icmp6,
                other => Origin::Other(other),
            };
            assert_eq!(read.origin, expected);
        }
        QueueEntry::Sent { id: read, .. } => assert_eq!((origin, read), (4, id)),
        QueueEntry::Other => assert_eq!(origin, 5),
    }
    let (ttl_note, local) = (u32::from(ttl).to_ne_bytes(), [0, 0, 0, 0, a, b, c, d, 0, 0, 0, 0]);
    let control = [note_of(SOL_IP, IP_TTL, &ttl_note), note_of(SOL_IP, IP_PKTINFO, &local)].concat();
    let read = message(&control, 1, None);
    assert_eq!((read.ttl, read.local), (Some(ttl), Some(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))));
}

/// A control message, padded.
fn note_of(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
    let mut note =
        [&(data.len() + 16).to_ne_bytes()[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), data].concat();
    note.resize(note.len().next_multiple_of(8), 0);
    note
}

fn is_error(level: i32, kind: i32) -> bool {
    matches!((level, kind), (SOL_IP, IP_RECVERR) | (SOL_IPV6, IPV6_RECVERR))
}

// linux/in.h, linux/in6.h
const SOL_IP: i32 = 0;
const SOL_IPV6: i32 = 41;
const IP_RECVERR: i32 = 11;
const IPV6_RECVERR: i32 = 25;
const IP_TTL: i32 = 2;
const IP_PKTINFO: i32 = 8;
