//! Blocks of datagrams over loopback, sent and received by every method.

use super::*;
use crate::options::{self, MtuDiscovery, Opt};
use crate::timestamp::set_receive_time;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::UdpSocket;
use units::{Bytes, Nanos};

const TIMEOUT: Wait = Wait::Block(Nanos::from_secs(5));

fn pair(address: &str) -> (UdpSocket, UdpSocket) {
    let (sender, receiver) = (UdpSocket::bind(address).unwrap(), UdpSocket::bind(address).unwrap());
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    options::set_recv_buffer(&receiver, Bytes(4 << 20)).unwrap();
    (sender, receiver)
}

/// Receives until `count` datagrams have come; returns their numbers and the largest count joined in a message.
fn collect(receiver: &UdpSocket, count: usize, len: usize) -> (BTreeSet<u64>, usize) {
    let mut batch = BatchReceiver::new();
    let (mut numbers, mut joined) = (BTreeSet::new(), 0);
    while numbers.len() < count {
        let messages = batch.recv(receiver, TIMEOUT).unwrap();
        assert!(messages > 0, "{} of {count} came", numbers.len());
        for message in (0..messages).map(|index| batch.message(index)) {
            joined = joined.max(message.segment_count());
            assert_eq!(message.segments().count(), message.segment_count());
            assert!(!message.truncated);
            for segment in message.segments() {
                assert_eq!(segment.len(), len);
                assert!(numbers.insert(u64::from_le_bytes(segment[..8].try_into().unwrap())));
            }
        }
    }
    (numbers, joined)
}

fn number(sender: &mut GsoSender, first: u64) {
    for index in 0..sender.segments() {
        sender.segment_mut(index)[..8].copy_from_slice(&(first + index as u64).to_le_bytes());
    }
}

#[test]
fn joined_datagrams_arrive_whole_and_joined() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (socket, receiver) = pair(address);
        options::set_udp_gro(&receiver, true).unwrap();
        let mut sender = GsoSender::new(&socket, 1200, None).unwrap();
        assert_eq!(sender.segments(), 54);
        number(&mut sender, 0);
        assert_eq!(sender.send(usize::MAX).unwrap(), 54);
        let (numbers, joined) = collect(&receiver, 54, 1200);
        assert!(numbers.into_iter().eq(0..54));
        assert_eq!((joined, sender.fallback()), (54, None));
    }
}

#[test]
fn small_datagrams_go_out_in_the_largest_block_the_kernel_takes() {
    let (socket, receiver) = pair("127.0.0.1:0");
    let mut sender = GsoSender::new(&socket, 18, None).unwrap();
    number(&mut sender, 0);
    assert_eq!(sender.send(128).unwrap(), 128);
    match sender.fallback() {
        None => assert_eq!(sender.datagrams_per_call(), 128),
        fallback => assert_eq!((fallback, sender.datagrams_per_call()), (Some(GsoFallback::OlderLimit), 64)),
    }
    assert!(collect(&receiver, 128, 18).0.into_iter().eq(0..128));
}

#[test]
fn one_by_one_arrives_one_by_one() {
    let (socket, receiver) = pair("127.0.0.1:0");
    options::set_udp_gro(&receiver, true).unwrap();
    let mut sender = GsoSender::new(&socket, 1472, Some(1)).unwrap();
    assert_eq!((sender.segments(), sender.datagrams_per_call()), (1, 1));
    for first in 0..20 {
        number(&mut sender, first);
        assert_eq!(sender.send(1).unwrap(), 1);
    }
    assert_eq!(collect(&receiver, 20, 1472), ((0..20).collect(), 1));
    assert_eq!(sender.fallback(), None);
}

#[test]
fn every_length_of_payload_fits_a_block() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (socket, receiver) = pair(address);
        for len in [18, 511, 512, 1472, 9000, 21_836, 32_753, 32_754, 65_400] {
            let mut sender = GsoSender::new(&socket, len, None).unwrap();
            number(&mut sender, 0);
            let count = sender.segments();
            assert_eq!(sender.send(count).unwrap(), count, "{len} bytes on {address}");
            assert_eq!(collect(&receiver, count, len).0.len(), count);
        }
    }
}

#[test]
fn refused_joining_falls_back_without_loss() {
    for len in [18, 1200] {
        let (socket, receiver) = pair("127.0.0.1:0");
        // A socket that sends no checksums cannot send joined datagrams.
        options::set_int(&socket, Opt(libc::SOL_SOCKET, libc::SO_NO_CHECK, "SO_NO_CHECK"), 1).unwrap();
        let mut sender = GsoSender::new(&socket, len, None).unwrap();
        number(&mut sender, 0);
        let count = sender.segments();
        assert_eq!(sender.send(count).unwrap(), count);
        assert_eq!((sender.fallback(), sender.datagrams_per_call()), (Some(GsoFallback::Refused), 1));
        assert_eq!(collect(&receiver, count, len).0.len(), count);
    }
}

#[test]
fn refusals_from_the_network_are_reported_and_sending_goes_on() {
    let (socket, receiver) = pair("127.0.0.1:0");
    let address = receiver.local_addr().unwrap();
    drop(receiver);
    let mut sender = GsoSender::new(&socket, 100, Some(2)).unwrap();
    assert_eq!(sender.send(2).unwrap(), 2);
    assert_eq!(sender.send(2).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let reopened = UdpSocket::bind(address).unwrap();
    assert_eq!(sender.send(2).unwrap(), 2);
    assert_eq!(reopened.recv(&mut [0; 100]).unwrap(), 100);
}

#[test]
fn a_datagram_that_must_not_be_fragmented_and_cannot_be_sent_is_refused() {
    let (socket, _receiver) = pair("127.0.0.1:0");
    options::set_mtu_discovery(&socket, MtuDiscovery::Do).unwrap();
    let error = GsoSender::new(&socket, 65_508, None).unwrap_err();
    assert!(error.to_string().starts_with("send datagrams of 65508 bytes on udp 127.0.0.1:"), "{error}");
    assert_eq!(error.errno(), Some(libc::EMSGSIZE));
    assert!(GsoSender::new(&socket, 0, None).is_err());
    let lonely = UdpSocket::bind("127.0.0.1:0").unwrap();
    assert_eq!(GsoSender::new(&lonely, 100, None).unwrap_err().errno(), Some(libc::ENOTCONN));
}

#[test]
fn nothing_arriving_is_no_error() {
    let (_sender, receiver) = pair("127.0.0.1:0");
    let mut batch = BatchReceiver::default();
    assert_eq!(batch.recv(&receiver, Wait::Spin).unwrap(), 0);
    assert_eq!(batch.recv(&receiver, Wait::Block(Nanos::from_millis(1))).unwrap(), 0);
}

#[test]
fn an_empty_datagram_is_one_datagram() {
    let (sender, receiver) = pair("127.0.0.1:0");
    sender.send(&[]).unwrap();
    let mut batch = BatchReceiver::new();
    assert_eq!(batch.recv(&receiver, TIMEOUT).unwrap(), 1);
    let segments: Vec<&[u8]> = batch.message(0).segments().collect();
    assert_eq!(segments, [b""]);
    assert_eq!(batch.message(0).segment_count(), 1);
}

#[test]
fn the_kernels_time_comes_with_the_message() {
    let (sender, receiver) = pair("127.0.0.1:0");
    set_receive_time(&receiver, true).unwrap();
    let before = crate::clock::wall_now();
    sender.send(&[0; 1400]).unwrap();
    let mut batch = BatchReceiver::new();
    assert!(batch.recv(&receiver, TIMEOUT).unwrap() > 0);
    let after = crate::clock::wall_now();
    let time = batch.message(0).kernel_time.expect("asked for");
    assert!(before <= time && time <= after, "{before:?} {time:?} {after:?}");
}
