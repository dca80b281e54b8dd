//! Published figures that the arithmetic must reproduce, and its properties.

use super::*;
use crate::BitRate;
use proptest::prelude::*;

fn plain(network: Network, transport: Transport) -> Framing {
    carried(network, transport, "")
}

fn carried(network: Network, transport: Transport, encaps: &str) -> Framing {
    let encaps = encaps.parse().unwrap_or_else(|error| panic!("{error}"));
    Framing { network, transport, encaps, link_mtu: None }
}

fn gigabits(rate: &str) -> BitRate {
    format!("{rate}G").parse().unwrap()
}

fn line_rate(link: &str, frame: u64) -> Ratio {
    let layout = plain(Network::V4, Transport::Raw).of_frame(Bytes(frame)).unwrap();
    layout.at_line_rate(gigabits(link)).packets_per_second
}

/// packet-rate.md 1.1: frames per second, rounded.
#[test]
fn line_rate_of_every_link_and_frame() {
    const SIZES: [u64; 13] = [64, 78, 84, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 9018, 9216];
    const RATES: &str = "\
1 1488095 1275510 1201923 844595 452899 234962 158629 119732 96154 81274 81064 13830 13534
2.5 3720238 3188776 3004808 2111486 1132246 587406 396574 299330 240385 203186 202659 34576 33835
10 14880952 12755102 12019231 8445946 4528986 2349624 1586294 1197318 961538 812744 810636 138305 135340
25 37202381 31887755 30048077 21114865 11322464 5874060 3965736 2993295 2403846 2031860 2026589 345762 338350
40 59523810 51020408 48076923 33783784 18115942 9398496 6345178 4789272 3846154 3250975 3242542 553220 541360
100 148809524 127551020 120192308 84459459 45289855 23496241 15862944 11973180 9615385 8127438 8106355 1383049 1353400
200 297619048 255102041 240384615 168918919 90579710 46992481 31725888 23946360 19230769 16254876 16212711 2766099 2706799
400 595238095 510204082 480769231 337837838 181159420 93984962 63451777 47892720 38461538 32509753 32425422 5532197 5413599";
    for row in RATES.lines() {
        let mut cells = row.split(' ');
        let link = cells.next().unwrap();
        for (size, expected) in SIZES.iter().zip(cells) {
            assert_eq!(line_rate(link, *size).rounded().to_string(), expected, "{link}G at {size}");
        }
    }
    assert_eq!(line_rate("10", 64).floor(), 14_880_952);
    assert_eq!(line_rate("25", 64).floor(), 37_202_380);
}

/// packet-rate.md 1.2, and the fixtures' line rates and payloads: frame, Mpps exact and short, IP, MSS, with timestamps.
#[test]
fn tcp_segments_of_frames_at_25_gigabits() {
    for (frame, exact, short, ip, mss, timestamps) in [
        (1518, "2.031860", "2.03", 1500, 1460, "1448"),
        (1280, "2.403846", "2.40", 1262, 1222, "1210"),
        (1024, "2.993295", "2.99", 1006, 966, "954"),
        (512, "5.874060", "5.87", 494, 454, "442"),
        (256, "11.322464", "11.32", 238, 198, "186"),
        (146, "18.825301", "18.83", 128, 88, "76"),
        (128, "21.114865", "21.11", 110, 70, "58"),
        (64, "37.202381", "37.20", 46, 6, "-6"),
    ] {
        let rate = line_rate("25", frame);
        let megapackets = Ratio::reduced(rate.rounded(), 1_000_000).unwrap();
        assert_eq!(format!("{megapackets:.6}"), exact);
        assert_eq!(format!("{megapackets:.2}"), short);
        let segment = TcpSegment::of_frame(Network::V4, Bytes(frame)).unwrap();
        assert_eq!(segment.mtu, Bytes(ip));
        assert_eq!(segment.mss, Room::Fits(Bytes(mss)));
        assert_eq!(segment.mss_timestamps.to_string(), timestamps);
        let reach = if frame >= 146 { TcpReach::Reachable } else { TcpReach::BelowLinuxMinimum };
        assert_eq!(segment.reach, reach, "{frame}");
    }
    let six = TcpSegment::of_frame(Network::V6, Bytes(64)).unwrap();
    assert_eq!((six.mss, six.reach), (Room::Missing(Bytes(14)), TcpReach::NoRoom));
}

/// packet-rate.md 1.2: the smallest segment with timestamps is 71 bytes, the acknowledgement alone 70.
#[test]
fn the_least_segment_with_timestamps() {
    let tcp = plain(Network::V4, Transport::TCP_TIMESTAMPS);
    assert_eq!(tcp.of_payload(Bytes(1)).unwrap().outer_frame, Bytes(71));
    let acknowledgement = tcp.of_payload(Bytes(0)).unwrap();
    assert_eq!((acknowledgement.outer_frame, acknowledgement.wire), (Bytes(70), Bytes(90)));
    assert_eq!(acknowledgement.at_line_rate(gigabits("25")).packets_per_second.rounded(), 34_722_222);
}

/// packet-rate.md 1.1: the least frames of UDP.
#[test]
fn the_least_frames_of_udp() {
    let udp = plain(Network::V4, Transport::Udp);
    assert_eq!(udp.of_payload(Bytes(0)).unwrap().outer_frame, Bytes(64));
    assert_eq!(udp.of_payload(Bytes(18)).unwrap().outer_frame, Bytes(64));
    assert_eq!(udp.of_payload(Bytes(19)).unwrap().outer_frame, Bytes(65));
    assert_eq!(udp.of_frame(Bytes(64)).unwrap().payload, Bytes(18));
    assert_eq!(plain(Network::V6, Transport::Udp).of_payload(Bytes(0)).unwrap().outer_frame, Bytes(66));
    assert_eq!(
        carried(Network::V4, Transport::Udp, "vlan").of_payload(Bytes(0)).unwrap().outer_frame,
        Bytes(64)
    );
    assert_eq!(
        carried(Network::V4, Transport::Udp, "vlan").of_frame(Bytes(64)).unwrap().outer_frame,
        Bytes(68)
    );
}

/// packet-rate.md 1.3: overhead and inner MTU at an outer MTU of 1500.
#[test]
fn overhead_of_every_encapsulation() {
    use Network::{V4, V6};
    for (encaps, inner, overhead, inner_mtu) in [
        ("vlan", V4, 0, 1500),
        ("qinq", V4, 0, 1500),
        ("pppoe", V4, 8, 1492),
        ("ipip", V4, 20, 1480),
        ("ipip6", V4, 40, 1460),
        ("ipip6:encaplimit", V4, 48, 1452),
        ("sit", V6, 20, 1480),
        ("ip6ip6", V6, 40, 1460),
        ("ip6ip6:encaplimit", V6, 48, 1452),
        ("gre", V4, 24, 1476),
        ("gre:key", V4, 28, 1472),
        ("gre:key:csum", V4, 32, 1468),
        ("gre:key:csum:seq", V4, 36, 1464),
        ("gre6", V4, 44, 1456),
        ("gre6:encaplimit", V4, 52, 1448),
        ("gretap", V4, 38, 1462),
        ("gretap6", V4, 58, 1442),
        ("vxlan", V4, 50, 1450),
        ("vxlan6", V4, 70, 1430),
        ("geneve", V4, 50, 1450),
        ("geneve6", V6, 70, 1430),
        ("geneve:252", V4, 302, 1198),
        ("wireguard", V4, 60, 1440),
        ("wireguard6", V4, 80, 1420),
        ("esp-gcm", V4, 54, 1446),
        ("esp-cbc", V4, 58, 1438),
        ("mpls", V4, 4, 1496),
        ("mpls:3", V6, 12, 1488),
        ("srv6", V4, 64, 1436),
        ("srv6:3", V4, 96, 1404),
        ("srv6:1:reduced", V4, 40, 1460),
        ("vlan,vxlan,vlan", V4, 54, 1446),
    ] {
        let mtu = Bytes(inner_mtu);
        let framing = Framing { link_mtu: Some(Bytes(1500)), ..carried(inner, Transport::Udp, encaps) };
        assert_eq!(framing.encaps.inner_mtu(Bytes(1500)), Some(mtu), "{encaps}");
        let full = framing.of_packet(mtu).unwrap();
        assert_eq!(full.outer_packet, mtu + Bytes(overhead), "{encaps}");
        assert_eq!(full.over_mtu, Bytes(0), "{encaps}");
        assert!(framing.of_packet(mtu + Bytes(1)).unwrap().over_mtu > Bytes(0), "{encaps}");
    }
}

#[test]
fn every_named_encapsulation_is_read_and_written_as_named() {
    for name in ENCAPSULATIONS {
        let read: Encaps = name.parse().unwrap();
        assert!(read.to_string().starts_with(name), "{name} is written {read}");
    }
}

/// packet-rate.md 1.3: the largest tagged frames, IPsec's alignment, NAT traversal, outer IPv6, baby jumbo frames.
#[test]
fn notes_on_encapsulations() {
    let frame = |encaps: &str| carried(Network::V4, Transport::Udp, encaps).of_packet(Bytes(1500)).unwrap();
    assert_eq!(frame("vlan").outer_frame, Bytes(1522));
    assert_eq!(frame("qinq").outer_frame, Bytes(1526));
    assert_eq!("pppoe".parse::<Encaps>().unwrap().inner_mtu(Bytes(1508)), Some(Bytes(1500)));
    let outer = |encaps: &str, inner: u64| {
        carried(Network::V4, Transport::Udp, encaps).of_packet(Bytes(inner)).unwrap().outer_packet.0
    };
    assert_eq!(
        [98, 99, 102, 103].map(|inner| outer("esp-gcm", inner)),
        [98, 102, 102, 106].map(|padded| padded + 54)
    );
    assert_eq!(
        [94, 95, 110, 111].map(|inner| outer("esp-cbc", inner)),
        [94, 110, 110, 126].map(|padded| padded + 58)
    );
    assert_eq!(outer("esp-gcm:natt", 98), outer("esp-gcm", 98) + 8);
    assert_eq!(outer("esp6-cbc", 94), outer("esp-cbc", 94) + 20);
}

/// packet-rate.md 1.3: an encapsulated line rate, at 10 Gbit/s through ipip6.
#[test]
fn line_rate_through_a_tunnel() {
    let tunnel = carried(Network::V4, Transport::Udp, "ipip6");
    for (inner, megapackets) in
        [(64, "10.081"), (128, "6.649"), (512, "2.185"), (1280, "0.933"), (1478, "0.813")]
    {
        let layout = tunnel.of_frame(Bytes(inner)).unwrap();
        assert_eq!((layout.inner_frame, layout.outer_frame), (Bytes(inner), Bytes(inner + 40)));
        let rate = layout.at_line_rate(gigabits("10")).packets_per_second.rounded();
        assert_eq!(format!("{:.3}", Ratio::reduced(rate, 1_000_000).unwrap()), megapackets);
    }
}

const HEADERS: [(Network, Transport); 6] = [
    (Network::V4, Transport::TCP),
    (Network::V4, Transport::TCP_TIMESTAMPS),
    (Network::V6, Transport::TCP),
    (Network::V6, Transport::TCP_TIMESTAMPS),
    (Network::V4, Transport::Udp),
    (Network::V6, Transport::Udp),
];

/// packet-rate.md 1.4: payload as a share of the wire, in percent.
#[test]
fn goodput_of_every_mtu_and_header() {
    const SHARES: &str = "\
1280 94.0819 93.1715 92.5645 91.6540 94.9924 93.4750
1420 94.6502 93.8272 93.2785 92.4554 95.4733 94.1015
1460 94.7931 93.9920 93.4579 92.6569 95.5941 94.2590
1492 94.9020 94.1176 93.5948 92.8105 95.6863 94.3791
1500 94.9285 94.1482 93.6281 92.8479 95.7087 94.4083
9000 99.1370 99.0042 98.9157 98.7829 99.2697 99.0485";
    for row in SHARES.lines() {
        let mut cells = row.split(' ');
        let mtu = Bytes(cells.next().unwrap().parse().unwrap());
        for ((network, transport), expected) in HEADERS.into_iter().zip(cells) {
            let layout = plain(network, transport).of_mtu(mtu).unwrap();
            assert_eq!(
                format!("{:.4}", layout.efficiency().percent()),
                expected,
                "{mtu} {network} {transport:?}"
            );
        }
    }
}

/// packet-rate.md 1.4: the same in Gbit/s at 25 Gbit/s, and the bytes of headers and tags.
#[test]
fn goodput_at_25_gigabits() {
    for (mtu, expected) in [
        (1500, ["23.732", "23.537", "23.407", "23.212", "23.927", "23.602"]),
        (9000, ["24.784", "24.751", "24.729", "24.696", "24.817", "24.762"]),
    ] {
        for ((network, transport), expected) in HEADERS.into_iter().zip(expected) {
            let layout = plain(network, transport).of_mtu(Bytes(mtu)).unwrap();
            let goodput = BitRate(layout.at_line_rate(gigabits("25")).goodput.rounded());
            assert_eq!(
                format!("{goodput:.3}"),
                format!("{expected} Gbit/s"),
                "{mtu} {network} {transport:?}"
            );
        }
    }
    assert_eq!(
        HEADERS.map(|(network, transport)| plain(network, transport).headers().0),
        [40, 52, 60, 72, 28, 48]
    );
    for (encaps, wire) in [("vlan", 1542), ("qinq", 1546)] {
        assert_eq!(
            carried(Network::V4, Transport::TCP, encaps).of_mtu(Bytes(1500)).unwrap().wire,
            Bytes(wire)
        );
    }
}

/// packet-rate.md 1.4: through ipip6 the outer frame counts, (1460 − 52) / 1538.
#[test]
fn goodput_through_a_tunnel() {
    let layout = carried(Network::V4, Transport::TCP_TIMESTAMPS, "ipip6").of_mtu(Bytes(1500)).unwrap();
    assert_eq!((layout.payload, layout.wire), (Bytes(1408), Bytes(1538)));
    assert_eq!(format!("{:.2}", layout.efficiency().percent()), "91.55");
}

/// fixtures README: 22.5 Gbit/s at MSS 1448 is 1.94 Mpps of 2.03, 95.6 %; 23.5 Gbit/s is line rate (23.54).
#[test]
fn measured_goodput_as_a_share_of_line_rate() {
    let layout = plain(Network::V4, Transport::TCP_TIMESTAMPS).of_payload(Bytes(1448)).unwrap();
    let link = gigabits("25");
    let measured = layout.at_goodput(gigabits("22.5"), Some(link)).unwrap();
    assert_eq!(layout.outer_frame, Bytes(1518));
    assert_eq!(measured.packets_per_second.rounded(), 1_942_334);
    assert_eq!(format!("{:.1}", measured.share.unwrap().percent()), "95.6");
    assert_eq!(format!("{:.2}", BitRate(layout.at_line_rate(link).goodput.rounded())), "23.54 Gbit/s");
    let full = layout.at_goodput(gigabits("23.5"), Some(link)).unwrap();
    assert_eq!(format!("{:.1}", full.share.unwrap().percent()), "99.8");
}

/// fixtures README: 1472 bytes of UDP payload make frames of 1518 bytes; MTU 1430 and 1500 let 1402 and 1472 pass.
#[test]
fn datagrams_of_the_fixtures() {
    let udp = plain(Network::V4, Transport::Udp);
    assert_eq!(udp.of_payload(Bytes(1472)).unwrap().outer_frame, Bytes(1518));
    assert_eq!(udp.of_mtu(Bytes(1500)).unwrap().payload, Bytes(1472));
    assert_eq!(udp.of_mtu(Bytes(1430)).unwrap().payload, Bytes(1402));
}

#[test]
fn wireguard_pads_to_16_but_not_beyond_its_mtu() {
    let outer = |link_mtu: Option<u64>, inner: u64| {
        let link_mtu = link_mtu.map(Bytes);
        let framing = Framing { link_mtu, ..carried(Network::V4, Transport::Raw, "wireguard") };
        framing.of_packet(Bytes(inner)).unwrap().outer_packet.0
    };
    assert_eq!(outer(None, 1420), 1424 + 60);
    assert_eq!(outer(Some(1500), 1420), 1424 + 60);
    assert_eq!(outer(Some(1480), 1420), 1420 + 60);
    assert_eq!(outer(Some(1481), 1420), 1421 + 60);
    assert_eq!(outer(Some(1500), 1450), 1450 + 60);
    assert_eq!(outer(None, 32), 32 + 60);
    assert_eq!(outer(None, 33), 48 + 60);
}

#[test]
fn every_layer_reads_back_as_it_prints() {
    for text in [
        "vlan",
        "qinq",
        "pppoe",
        "ipip",
        "ipip6",
        "ipip6:encaplimit",
        "sit",
        "ip6ip6",
        "ip6ip6:encaplimit",
        "gre",
        "gre6:key:csum:seq:encaplimit",
        "gretap",
        "gretap6:key",
        "vxlan",
        "vxlan6",
        "geneve",
        "geneve6:8",
        "wireguard",
        "wireguard6",
        "esp-gcm",
        "esp6-cbc:natt",
        "mpls:2",
        "srv6:3",
        "srv6:1:reduced",
    ] {
        assert_eq!(text.parse::<Encap>().unwrap_or_else(|error| panic!("{error}")).to_string(), text);
    }
    for (alias, canonical) in
        [("4in6", "ipip6"), ("6in4", "sit"), ("wg6", "wireguard6"), ("esp", "esp-gcm"), ("vxlan4", "vxlan")]
    {
        assert_eq!(alias.parse::<Encap>().unwrap().to_string(), canonical);
    }
    let stack: Encaps = serde_json::from_str("\"vlan, vxlan,qinq\"").unwrap();
    assert_eq!(serde_json::to_string(&stack).unwrap(), "\"vlan,vxlan,qinq\"");
    assert_eq!("".parse(), Ok(Encaps::NONE));
}

#[test]
fn what_cannot_be_stacked_is_refused() {
    let error = |text: &str| text.parse::<Encaps>().unwrap_err();
    assert!(matches!(error("nvgre"), FramingError::UnknownEncap(_)));
    assert!(matches!(error("vlan,"), FramingError::UnknownEncap(_)));
    assert!(matches!(error("esp-des"), FramingError::UnknownEncap(_)));
    for text in [
        "vlan:3",
        "geneve:7",
        "geneve:256",
        "mpls:0",
        "mpls:17",
        "srv6:0",
        "srv6:128",
        "gre:encaplimit",
        "mpls:1:2",
    ] {
        assert!(matches!(error(text), FramingError::Parameter { .. }), "{text}");
    }
    assert!(matches!(error("ipip6,vlan"), FramingError::NeedsEthernet(_)));
    assert!(matches!(error("wireguard,pppoe"), FramingError::NeedsEthernet(_)));
    assert!(matches!(error("ipip6,vxlan6"), FramingError::Family { .. }));
    assert!(matches!(error("sit,mpls"), FramingError::Family { .. }));
    assert!(matches!(error(&["vlan"; 17].join(",")), FramingError::TooManyLayers(17)));
    let wrong = carried(Network::V6, Transport::Udp, "ipip6").of_payload(Bytes(1));
    assert!(matches!(wrong, Err(FramingError::Family { .. })));
    assert!(carried(Network::V6, Transport::Udp, "ipip6,vxlan,vlan").of_payload(Bytes(1)).is_ok());
}

#[test]
fn what_has_no_answer_is_an_error() {
    let udp = plain(Network::V6, Transport::Udp);
    assert_eq!(udp.of_frame(Bytes(63)), Err(FramingError::FrameTooSmall { frame: Bytes(63) }));
    assert_eq!(udp.of_frame(Bytes(64)), Err(FramingError::NoRoom { packet: Bytes(46), needs: Bytes(48) }));
    assert!(matches!(udp.of_payload(Bytes(u64::MAX)), Err(FramingError::TooLarge { .. })));
    assert!(matches!(udp.of_mtu(Bytes(0)), Err(FramingError::NoRoom { .. })));
    assert!(matches!(
        carried(Network::V4, Transport::Udp, "vxlan").of_mtu(Bytes(49)),
        Err(FramingError::NoRoom { .. })
    ));
    let options = plain(Network::V4, Transport::Tcp { timestamps: true, options: 29 });
    assert_eq!(options.of_payload(Bytes(9)), Err(FramingError::TcpOptions(44)));
    let empty = udp.of_payload(Bytes(0)).unwrap();
    assert_eq!(empty.at_goodput(BitRate(1), None), Err(FramingError::NoPayload));
    let some = udp.of_payload(Bytes(1)).unwrap();
    assert_eq!(some.at_goodput(BitRate(1), Some(BitRate(0))), Err(FramingError::NoLink));
    assert_eq!(some.at_line_rate(BitRate(0)).share, None);
}

#[test]
fn the_extremes_do_not_overflow() {
    let most = plain(Network::V6, Transport::Raw).of_payload(Bytes(65_535)).unwrap();
    let rates = most.at_goodput(BitRate(u64::MAX), Some(BitRate(u64::MAX))).unwrap();
    assert!(rates.share.unwrap() > Ratio::reduced(1, 1).unwrap());
    assert!(most.at_line_rate(BitRate(u64::MAX)).goodput < rates.goodput);
    assert!(most.at_packet_rate(u64::MAX, Some(BitRate(1))).share.unwrap().percent().floor() == u64::MAX);
}

fn any_encaps() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "vlan",
        "qinq",
        "pppoe",
        "ipip",
        "ipip6",
        "ipip6:encaplimit",
        "gre:key",
        "gretap6",
        "vxlan",
        "vxlan,vlan",
        "geneve:12",
        "wireguard",
        "wireguard6",
        "esp-gcm",
        "esp-cbc:natt",
        "mpls:2",
        "srv6:2",
        "vlan,esp6-cbc,wireguard,vxlan",
    ])
}

proptest! {
    #[test]
    fn forward_and_backward_agree(encaps in any_encaps(), payload in 1_u64..9000, link in 1_u64..=400_000_000_000) {
        let layout = carried(Network::V4, Transport::Udp, encaps).of_payload(Bytes(payload)).unwrap();
        let link = BitRate(link);
        let forward = layout.at_line_rate(link);
        let backward = layout.at_goodput(BitRate(forward.goodput.floor()), Some(link)).unwrap();
        let whole = Ratio::reduced(1, 1).unwrap();
        prop_assert!(backward.share.unwrap() <= whole);
        let above = layout.at_goodput(BitRate(forward.goodput.floor() + 1), Some(link)).unwrap();
        prop_assert!(above.share.unwrap() > whole);
        prop_assert!(backward.packets_per_second <= forward.packets_per_second);
        prop_assert!(above.packets_per_second > forward.packets_per_second);
    }

    #[test]
    fn a_longer_packet_is_never_shorter_on_the_wire(encaps in any_encaps(), packet in 28_u64..9000, mtu in prop::option::of(600_u64..9000)) {
        let framing = Framing { link_mtu: mtu.map(Bytes), ..carried(Network::V4, Transport::Udp, encaps) };
        let (shorter, longer) = (framing.of_packet(Bytes(packet)).unwrap(), framing.of_packet(Bytes(packet + 1)).unwrap());
        prop_assert!(shorter.outer_packet <= longer.outer_packet && shorter.wire <= longer.wire);
        prop_assert!(shorter.outer_frame >= shorter.inner_packet + Bytes(18));
    }

    #[test]
    fn the_inner_mtu_is_the_largest_that_fits(encaps in any_encaps(), mtu in 600_u64..9500) {
        let framing = Framing { link_mtu: Some(Bytes(mtu)), ..carried(Network::V4, Transport::Udp, encaps) };
        let inner = framing.encaps.inner_mtu(Bytes(mtu)).unwrap();
        prop_assert_eq!(framing.of_packet(inner).unwrap().over_mtu, Bytes(0));
        prop_assert!(framing.of_packet(inner + Bytes(1)).unwrap().over_mtu > Bytes(0));
    }

    #[test]
    fn any_text_is_an_answer_and_no_panic(text in "[a-z0-9:,-]*|\\PC*") {
        if let Ok(encaps) = text.parse::<Encaps>() {
            prop_assert_eq!(encaps.to_string().parse(), Ok(encaps));
        }
    }
}
