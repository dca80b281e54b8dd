use super::*;
use crate::clock::{mono_now, wall_now};
use std::net::UdpSocket;
use units::Nanos;

fn capture(peer: &str) -> Option<Captor> {
    let peer = peer.parse().unwrap();
    let interface = Capture::interface_toward(peer).unwrap();
    match (Capture { interface, peer, snap: 96, memory: Bytes(1 << 20) }).start() {
        Ok(captor) => Some(captor),
        Err(error) => {
            assert_eq!(error.errno(), Some(libc::EPERM), "{error}");
            None
        }
    }
}

/// Everything that comes until `enough`, or for five seconds.
fn take(captor: &mut Captor, mut enough: impl FnMut(&Frame<'_>) -> bool) -> usize {
    let deadline = mono_now() + Nanos::from_secs(5);
    let (mut observed, mut done) = (0, false);
    while !done && mono_now() < deadline {
        let count = |frame: &Frame<'_>| {
            observed += 1;
            done |= enough(frame);
        };
        captor.frames(deadline, &mut { count }).unwrap();
    }
    assert!(done, "the frame did not come");
    observed
}

#[test]
fn a_datagram_over_loopback_is_captured_once_and_cut_at_the_snap_length() {
    for (host, header) in [("127.0.0.53", 28), ("::1", 48)] {
        let Some(mut captor) = capture(host) else { return };
        assert_eq!(captor.layer(), LinkLayer::Loopback);
        let receiver = UdpSocket::bind((host, 0)).unwrap();
        let sender = UdpSocket::bind((host, 0)).unwrap();
        let (from, to) = (sender.local_addr().unwrap().port(), receiver.local_addr().unwrap().port());
        let before = wall_now();
        sender.send_to(&[7; 500], receiver.local_addr().unwrap()).unwrap();
        sender.send_to(b"end", receiver.local_addr().unwrap()).unwrap();
        let mut found = 0;
        take(&mut captor, |frame| {
            let ports = &frame.bytes[frame.network + header - 8..][..4];
            if ports != [from.to_be_bytes(), to.to_be_bytes()].concat() {
                return false;
            }
            found += 1;
            assert_eq!((frame.network, frame.offload.segmentation), (14, 0));
            assert!(frame.time >= before && frame.time <= wall_now());
            if found == 1 {
                assert_eq!((frame.length as usize, frame.bytes.len()), (14 + header + 500, 96));
            }
            found == 2
        });
        assert_eq!(found, 2);
        let statistics = captor.statistics().unwrap();
        assert!(statistics.frames >= 2 && statistics.dropped == 0, "{statistics:?}");
    }
}

#[test]
fn others_are_filtered_out_and_icmp_errors_about_the_peer_are_not() {
    let Some(mut captor) = capture("127.0.0.54") else { return };
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    sender.send_to(b"to another host", ("127.0.0.55", closed)).unwrap();
    sender.send_to(b"to the peer", ("127.0.0.54", closed)).unwrap();
    let mut icmp = 0;
    let observed = take(&mut captor, |frame| {
        let ip = &frame.bytes[frame.network..];
        assert!(ip[16..20] == [127, 0, 0, 54] || ip[12..16] == [127, 0, 0, 54], "{ip:?}");
        icmp += u32::from(ip[9] == 1);
        icmp == 1
    });
    assert_eq!(observed, 2);
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let capture = Capture {
        interface: "nosuch0".into(),
        peer: IpAddr::from([10, 0, 0, 1]),
        snap: 96,
        memory: Bytes(0),
    };
    let error = capture.start().unwrap_err().to_string();
    assert!(error.contains("nosuch0") || error.contains("packet socket"), "{error}");
}
