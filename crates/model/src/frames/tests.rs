//! Frame sizes and what they take.

use super::*;

fn requested(frame: u64, protocol: Transport, network: Network) -> FrameAsked {
    FrameAsked { frame: Bytes(frame), network, protocol, direction: Direction::Up, encaps: Encaps::NONE }
}

#[test]
fn each_size_has_its_mss_and_payload() {
    let setting = |frame, protocol, network| requested(frame, protocol, network).setting(9000);
    for (frame, mss) in [(1518, 1460), (512, 454), (146, 88), (9018, 8960)] {
        assert_eq!(setting(frame, Transport::Tcp, Network::V4), Ok(Setting::Mss(mss)), "{frame}");
    }
    assert_eq!(setting(1518, Transport::Tcp, Network::V6), Ok(Setting::Mss(1440)));
    for (frame, payload) in [(64, 18), (128, 82), (1518, 1472)] {
        assert_eq!(setting(frame, Transport::Udp, Network::V4), Ok(Setting::Payload(payload)), "{frame}");
    }
    assert_eq!(setting(82, Transport::Udp, Network::V6), Ok(Setting::Payload(16)));
}

#[test]
fn impossible_frames_are_refused() {
    let refused = |frame, protocol, network, part: &str| {
        let why = requested(frame, protocol, network).setting(1500).expect_err(part);
        assert!(why.contains(part), "{frame} {protocol}: {why}");
    };
    refused(64, Transport::Tcp, Network::V4, "MSS would be 6, and Linux takes 88 at least, frames of 146");
    refused(128, Transport::Tcp, Network::V4, "MSS would be 70");
    refused(64, Transport::Tcp, Network::V6, "headers alone");
    refused(64, Transport::Udp, Network::V6, "frames of 82 with IPv6");
    for (protocol, part) in [(Transport::Tcp, "32767 at most"), (Transport::Udp, "65507 bytes at most")] {
        assert!(requested(65_554, protocol, Network::V4).setting(65_536).expect_err(part).contains(part));
    }
    refused(63, Transport::Udp, Network::V4, "least frame has 64");
    refused(1522, Transport::Udp, Network::V4, "frames of 1518 bytes at most");
}
