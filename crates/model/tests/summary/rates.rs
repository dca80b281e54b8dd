//! Amounts, times, rates on the wire, TCP's counters and CPU.

use crate::test::{Counted, Test};
use pathmeter_model::plan::{Direction, Directions, Transport};
use pathmeter_model::sample::{CpuUse, Role, TcpCounters};
use pathmeter_model::summary::{Amount, Segments};
use pathmeter_model::units::{BitRate, Bytes, Nanos, PacketRate};

/// Three streams that ended at different times, `sender_millis` the longest of the senders'.
fn three(sender_millis: u64) -> Test {
    let mss = TcpCounters { send_mss: 1448, timestamps: true, ..TcpCounters::default() };
    Test::new(Transport::Tcp, Directions::Up)
        .stream(
            Direction::Up,
            Counted::bytes(1_100_000_000, 9_000).tcp(mss.clone()),
            Counted::bytes(1_000_000_000, 8_000),
        )
        .stream(
            Direction::Up,
            Counted::bytes(2_000_000_000, sender_millis).tcp(mss.clone()),
            Counted::bytes(1_936_800_000, 10_250),
        )
        .stream(
            Direction::Up,
            Counted::bytes(3_050_000_000, 10_000).tcp(mss),
            Counted::bytes(3_000_000_000, 10_000),
        )
}

#[test]
fn goodput_is_all_streams_received_bytes_over_the_longest_time() {
    let up = three(10_000).direction(Direction::Up);
    assert_eq!(up.sent, Amount { bytes: Bytes(6_150_000_000), datagrams: 0 });
    assert_eq!(up.received, Amount { bytes: Bytes(5_936_800_000), datagrams: 0 });
    assert_eq!(up.elapsed, Nanos::from_millis(10_250));
    // 5,936,800,000 × 8 / 10.25
    assert_eq!(up.goodput, BitRate(4_633_600_000));
    assert!(!up.receiver_unknown);
    let streams: Vec<_> = up.streams.iter().map(|s| (s.stream, s.bytes.0, s.goodput.0)).collect();
    let expected = [
        (0, 1_000_000_000, 1_000_000_000),
        (1, 1_936_800_000, 1_511_648_780),
        (2, 3_000_000_000, 2_400_000_000),
    ];
    assert_eq!(streams, expected);
}

#[test]
fn a_sender_that_took_longer_lengthens_the_receivers_time() {
    let up = three(12_800).direction(Direction::Up);
    assert_eq!(up.elapsed, Nanos::from_millis(12_800));
    // 5,936,800,000 × 8 / 12.8
    assert_eq!(up.goodput, BitRate(3_710_500_000));
}

#[test]
fn without_a_receiver_the_acknowledged_bytes_over_the_senders_time_stand_for_it() {
    let mut test = three(12_800);
    test.peer = None;
    for (row, acknowledged) in test.local.streams.iter_mut().zip([900_000_000, 1_900_000_000, 2_960_000_000])
    {
        row.tcp.as_mut().unwrap().acknowledged = Bytes(acknowledged);
    }
    let up = test.direction(Direction::Up);
    assert!(up.receiver_unknown);
    assert_eq!((up.received.bytes, up.elapsed), (Bytes(5_760_000_000), Nanos::from_millis(12_800)));
    assert_eq!(up.goodput, BitRate(3_600_000_000));
}

#[test]
fn tcp_on_the_wire_is_frames_of_the_mss_with_headers_preamble_and_gap() {
    let up = three(10_000).link(10_000_000_000).direction(Direction::Up);
    // 4,633,600,000 / (8 × 1448) frames, each of 1448 + 12 + 20 + 20 + 18 bytes and 20 of preamble and gap.
    assert_eq!(up.wire.packets_per_second, Some(PacketRate(400_000)));
    assert_eq!((up.wire.frame, up.wire.frames_per_packet), (Some(1518), Some(1)));
    assert_eq!(up.wire.rate, Some(BitRate(400_000 * 1538 * 8)));
    assert_eq!(up.wire.line_rate_share, Some(0.492_16));
    assert_eq!((up.mss, up.wire.path_udp_payload), (Some(1448), None));
    // Without timestamps the same payload takes 12 bytes less.
    let mut plain = three(10_000);
    plain.local.streams.iter_mut().for_each(|row| row.tcp.as_mut().unwrap().timestamps = false);
    let up = plain.direction(Direction::Up);
    assert_eq!((up.wire.frame, up.wire.rate), (Some(1506), Some(BitRate(400_000 * 1526 * 8))));
    assert_eq!(up.wire.line_rate_share, None);
}

/// 40,000 datagrams of this many bytes in ten seconds.
fn datagrams(length: u32, address: &'static str, path_mtu: Option<u32>) -> Test {
    let bytes = || Counted::bytes(40_000 * u64::from(length), 10_000);
    let mut test = Test::new(Transport::Udp, Directions::Down)
        .stream(Direction::Down, bytes(), bytes())
        .link(1_000_000_000);
    (test.spec.length, test.address, test.path_mtu) = (Some(length), address, path_mtu);
    test
}

#[test]
fn udp_on_the_wire_is_the_frames_that_its_datagrams_take() {
    let down = datagrams(1472, "192.0.2.7:5210", Some(1500)).direction(Direction::Down);
    assert_eq!((down.goodput, down.mss), (BitRate(47_104_000), Some(1472)));
    assert_eq!(down.wire.packets_per_second, Some(PacketRate(4_000)));
    assert_eq!((down.wire.frame, down.wire.frames_per_packet), (Some(1518), Some(1)));
    assert_eq!(down.wire.rate, Some(BitRate(4_000 * 1538 * 8)));
    assert_eq!(down.wire.line_rate_share, Some(0.049_216));
    // Fragments: five of 1480 bytes and one of 800, each with 58 of headers, FCS, preamble and gap.
    let down = datagrams(8192, "192.0.2.7:5210", Some(1500)).direction(Direction::Down);
    assert_eq!((down.wire.frames_per_packet, down.wire.path_udp_payload), (Some(6), Some(1472)));
    assert_eq!(down.wire.packets_per_second, Some(PacketRate(24_000)));
    assert_eq!(down.wire.rate, Some(BitRate(4_000 * (5 * 1538 + 858) * 8)));
    // IPv6: 20 bytes more of header, 20 less of payload.
    let down = datagrams(1452, "[2001:db8::7]:5210", Some(1500)).direction(Direction::Down);
    assert_eq!((down.wire.frame, down.wire.frames_per_packet), (Some(1518), Some(1)));
    assert_eq!((down.wire.rate, down.wire.path_udp_payload), (Some(BitRate(4_000 * 1538 * 8)), Some(1452)));
}

#[test]
fn tcps_counters_are_the_senders() {
    let counters = |retransmits, rtt, segments, bytes| TcpCounters {
        retransmits,
        mean_rtt: Nanos::from_micros(rtt),
        data_segments: segments,
        segment_bytes: Bytes(bytes),
        ..TcpCounters::default()
    };
    let ends = |sender: TcpCounters, receiver: TcpCounters| {
        (Counted::bytes(1_000, 1_000).tcp(sender), Counted::bytes(1_000, 1_000).tcp(receiver))
    };
    let (first, second) = (
        ends(counters(3, 1_000, 100, 140_000), counters(700, 9_000, 97, 135_000)),
        ends(counters(5, 2_500, 60, 84_000), counters(800, 9_500, 55, 77_000)),
    );
    let mut test = Test::new(Transport::Tcp, Directions::Up).stream(Direction::Up, first.0, first.1).stream(
        Direction::Up,
        second.0,
        second.1,
    );
    test.local.datapath.congestion = Some("bbr".into());
    test.peer_mut().datapath.congestion = Some("cubic".into());
    let up = test.direction(Direction::Up);
    assert_eq!((up.retransmits, up.loaded_rtt), (Some(8), Some(Nanos::from_micros(1_750))));
    assert_eq!(up.congestion.as_deref(), Some("bbr"));
    let segments = Segments { sent: Some(160), received: Some(152), mean_payload: Some(1_400.0) };
    assert_eq!(up.segments, Some(segments));
    assert_eq!(up.streams.iter().map(|s| s.retransmits).collect::<Vec<_>>(), [Some(3), Some(5)]);
    assert_eq!((up.loss, up.jitter, up.streams[0].lost), (None, None, None));
}

#[test]
fn each_direction_has_its_own_rows_and_its_own_ends_cpu() {
    let mut test = Test::new(Transport::Tcp, Directions::Both)
        .stream(Direction::Up, Counted::bytes(5_000, 1_000), Counted::bytes(4_000, 1_000))
        .stream(Direction::Down, Counted::bytes(3_000, 2_000), Counted::bytes(2_000, 2_000));
    test.local.cpu = CpuUse { process: 0.25, softirq: 0.5, ..CpuUse::default() };
    test.peer_mut().cpu = CpuUse { process: 0.75, softirq: 1.5, ..CpuUse::default() };
    let summary = test.summary();
    let figures = |direction| {
        let one_way = summary.direction(direction).unwrap();
        let share = |end: &Option<CpuUse>| end.as_ref().map(|cpu| (cpu.process, cpu.softirq));
        let cpu = (share(&one_way.cpu.sender), share(&one_way.cpu.receiver));
        (one_way.sent.bytes.0, one_way.received.bytes.0, one_way.goodput.0, one_way.streams[0].stream, cpu)
    };
    let (near, far) = (Some((0.25, 0.5)), Some((0.75, 1.5)));
    assert_eq!(figures(Direction::Up), (5_000, 4_000, 32_000, 0, (near, far)));
    assert_eq!(figures(Direction::Down), (3_000, 2_000, 8_000, 1, (far, near)));
}

#[test]
fn a_peer_that_claims_the_other_role_is_no_receiver() {
    let mut test = three(12_800);
    test.peer_mut().streams.iter_mut().for_each(|row| row.role = Role::Sender);
    let up = test.direction(Direction::Up);
    assert!(up.receiver_unknown);
    assert_eq!((up.received.bytes, up.sent.bytes), (Bytes(0), Bytes(6_150_000_000)));
}
