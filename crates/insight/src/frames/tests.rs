//! Rows of runs.

use super::*;
use crate::run_of_events;
use model::event::{Connected, EndResult, Event};
use model::framing::{Encaps, Network};
use model::host::Host;
use model::plan::{Directions, End, LocalOptions, ProtocolName, Target, TestSpec};
use model::sample::{Role, Side, SideResult, StreamResult, TcpCounters, UdpCounters};
use model::time::WallTime;

fn asked(frame: u64, protocol: Transport, network: Network) -> FrameAsked {
    FrameAsked { frame: Bytes(frame), network, protocol, direction: Direction::Up, encaps: Encaps::NONE }
}

fn run(protocol: Transport, length: u32, mss: Option<u32>, streams: [StreamResult; 2]) -> Run {
    let target = Target { host: "far".into(), address: ([192, 0, 2, 1], 5210).into() };
    let spec = TestSpec {
        directions: Directions::Up,
        end: End::Time(Nanos::from_secs(2)),
        length,
        mss,
        ..TestSpec::new(protocol)
    };
    let plan = Plan { target, protocol: ProtocolName::Native, test: spec, local: LocalOptions::default() };
    let address = ([192, 0, 2, 1], 5210).into();
    let connected = Connected {
        wall: WallTime(0),
        plan,
        local: address,
        remote: address,
        session: String::new(),
        control_mss: None,
        host: Host::default(),
        peer: None,
    };
    let [sent, received] = streams;
    let end = |side, stream| {
        Event::Result(EndResult {
            side,
            result: SideResult { streams: vec![stream], ..SideResult::default() },
            output_text: None,
            output_json: None,
        })
    };
    run_of_events(
        "1",
        "throughput",
        &[Event::Connected(connected), end(Side::Local, sent), end(Side::Peer, received)],
    )
}

fn stream(role: Role, bytes: u64, tcp: Option<TcpCounters>, udp: Option<UdpCounters>) -> StreamResult {
    StreamResult {
        stream: 0,
        direction: Direction::Up,
        role,
        elapsed: Nanos::from_secs(2),
        bytes: Bytes(bytes),
        total_bytes: Bytes(bytes),
        tcp,
        udp,
    }
}

#[test]
fn packets_per_second_are_goodput_over_the_payload_that_crossed() {
    let segments = 3_884_669;
    let tcp = TcpCounters {
        send_mss: 1448,
        data_segments: segments,
        segment_bytes: Bytes(segments * 1448),
        timestamps: true,
        ..TcpCounters::default()
    };
    // 22.5 Gbit/s for two seconds.
    let ends =
        [Role::Sender, Role::Receiver].map(|role| stream(role, segments * 1448, Some(tcp.clone()), None));
    let run = run(Transport::Tcp, 0, Some(1460), ends);
    let link = Some(BitRate(25_000_000_000));
    let row = measured(&asked(1518, Transport::Tcp, Network::V4), &run, link, Some(("eth0".into(), 90_000)));
    assert_eq!(row.payload, Some(1448.0));
    assert_eq!(row.packets_per_second.map(|rate| rate.to_string()), Some("1.94 Mpps".into()));
    assert_eq!(row.line_rate_pps, Some(PacketRate(2_031_860)));
    assert_eq!(row.share.map(|share| format!("{share:.3}")), Some("0.956".into()));
    assert!(
        row.notes.iter().any(|note| note.contains("fewer frames") && note.contains("ethtool")),
        "{row:?}"
    );
    let tunnelled =
        FrameAsked { encaps: "ipip6".parse().unwrap(), ..asked(1518, Transport::Tcp, Network::V4) };
    let row = measured(&tunnelled, &run, link, None);
    // 1518 + 40 + 20 bytes on the wire.
    assert_eq!(row.line_rate_pps, Some(PacketRate(1_980_355)));
    assert_eq!(row.limited_by, ["at-line-rate"]);
}

#[test]
fn datagrams_that_the_interface_counted_too_need_no_note() {
    let udp = UdpCounters { datagrams: 1_000, ..UdpCounters::default() };
    let ends = [Role::Sender, Role::Receiver].map(|role| stream(role, 82_000, None, Some(udp.clone())));
    let run = run(Transport::Udp, 82, None, ends);
    let asked = asked(128, Transport::Udp, Network::V4);
    let row = measured(&asked, &run, None, Some(("eth0".into(), 1_010)));
    assert_eq!((row.packets_per_second, row.offered), (Some(PacketRate(500)), Some(PacketRate(500))));
    assert_eq!((row.line_rate_pps, row.share), (None, None));
    assert_eq!(row.notes, [""; 0]);
    let offloaded = measured(&asked, &run, None, Some(("eth0".into(), 20)));
    assert!(offloaded.notes[0].contains("--no-offload"), "{:?}", offloaded.notes);
    let shared = measured(&asked, &run, None, Some(("eth0".into(), 5_000)));
    assert!(shared.notes[0].contains("others use it"), "{:?}", shared.notes);
}
