//! Rows of runs.

use super::*;
use crate::run_of_events;
use model::event::{Connected, EndResult, Event};
use model::framing::{Encaps, Network};
use model::host::Host;
use model::limit::{LimitKind, LoadProbing, LoadStep, Purpose};
use model::plan::{Directions, End, LocalOptions, ProtocolName, Target, TestSpec};
use model::sample::{Role, Side, SideResult, StreamResult, TcpCounters, UdpCounters};
use model::time::WallTime;

fn requested(frame: u64, protocol: Transport, network: Network) -> FrameAsked {
    FrameAsked { frame: Bytes(frame), network, protocol, direction: Direction::Up, encaps: Encaps::NONE }
}

fn run(protocol: Transport, length: u32, mss: Option<u32>, streams: [StreamResult; 2]) -> Run {
    let target = Target { host: "far".into(), address: ([192, 0, 2, 1], 5210).into() };
    let spec = TestSpec {
        directions: Directions::Up,
        end: End::Time(Nanos::from_secs(2)),
        length: Some(length).filter(|length| *length > 0),
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
    let row =
        measured(&requested(1518, Transport::Tcp, Network::V4), &run, link, Some(("eth0".into(), 90_000)));
    assert_eq!(row.payload, Some(1448.0));
    assert_eq!(row.packets_per_second.map(|rate| rate.to_string()), Some("1.94 Mpps".into()));
    assert_eq!(row.line_rate_pps, Some(PacketRate(2_031_860)));
    assert_eq!(row.share.map(|share| format!("{share:.3}")), Some("0.956".into()));
    assert!(
        row.notes.iter().any(|note| note.contains("fewer frames") && note.contains("ethtool")),
        "{row:?}"
    );
    let tunnelled =
        FrameAsked { encaps: "ipip6".parse().unwrap(), ..requested(1518, Transport::Tcp, Network::V4) };
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
    let frame_request = requested(128, Transport::Udp, Network::V4);
    let row = measured(&frame_request, &run, None, Some(("eth0".into(), 1_010)));
    assert_eq!((row.packets_per_second, row.offered), (Some(PacketRate(500)), Some(PacketRate(500))));
    assert_eq!((row.line_rate_pps, row.share), (None, None));
    assert_eq!(row.notes, [""; 0]);
    let offloaded = measured(&frame_request, &run, None, Some(("eth0".into(), 20)));
    assert!(offloaded.notes[0].contains("--no-offload"), "{:?}", offloaded.notes);
    let shared = measured(&frame_request, &run, None, Some(("eth0".into(), 5_000)));
    assert!(shared.notes[0].contains("others use it"), "{:?}", shared.notes);
}

/// A load after the sweep that was capped at 50 Mbit/s, with 60 ms of queue.
fn capped() -> LoadProbing {
    let step = |purpose, size, sent: u64, delivered: u64, growth: Nanos| LoadStep {
        purpose,
        size,
        sent: BitRate(sent),
        delivered: BitRate(delivered),
        datagrams: 400,
        loss: 1.0 - delivered as f64 / sent as f64,
        growth,
        growth_p10: growth,
        growth_first: growth,
        spread: Nanos::ZERO,
        growth_p98: growth,
        growth_max: growth,
        growth_at_loss: None,
        other_growth: None,
        drift: None,
        sparse_loss: None,
        sparse: 0,
        ahead: Bytes(0),
        marked: 0.0,
        reordered: 0.0,
        stalled: 0.0,
        links: None,
    };
    let queue = Nanos::from_millis(60);
    let hot = || step(Purpose::Hot, 1472, 106_500_000, 50_000_000, queue);
    let steps = vec![hot(), hot(), hot(), step(Purpose::Small, 214, 17_000_000, 17_000_000, Nanos::ZERO)];
    LoadProbing { steps, saturated: true, note: None, ..LoadProbing::without(Direction::Up, "") }
}

/// TCP to a receiver whose thread uses a whole CPU: so many bytes in two seconds, in segments of this size.
fn to_a_busy_receiver(bytes: u64, mss: u32) -> Run {
    let tcp = TcpCounters {
        send_mss: mss,
        data_segments: bytes / u64::from(mss),
        segment_bytes: Bytes(bytes),
        timestamps: true,
        ..TcpCounters::default()
    };
    let ends = [Role::Sender, Role::Receiver].map(|role| stream(role, bytes, Some(tcp.clone()), None));
    let mut run = run(Transport::Tcp, 0, Some(mss + 12), ends);
    run.summary.peer.as_mut().expect("its result").cpu.threads = vec![0.99];
    crate::run::judge(run)
}

#[test]
fn a_row_that_fills_a_shaper_does_not_name_the_receiver() {
    let tests = || vec![to_a_busy_receiver(1_800_000, 88), to_a_busy_receiver(12_000_000, 1448)];
    let rows = |tests: &[Run]| {
        let row = |frame, test| measured(&requested(frame, Transport::Tcp, Network::V4), test, None, None);
        vec![row(146 + 12, &tests[0]), row(1518, &tests[1])]
    };
    let swept = |load: Option<LoadProbing>| {
        let (tests, load) = (tests(), load.map(|load| Event::LoadProbing(Box::new(load))));
        let rows = rows(&tests);
        crate::run_of_frames("1", load.as_slice(), tests, rows)
    };
    let kinds = |run: &Run| {
        run.summary.rows.iter().map(|row| row.limit.as_ref().map(|limit| limit.kind)).collect::<Vec<_>>()
    };
    let alone = swept(None);
    assert_eq!(kinds(&alone), [Some(LimitKind::ReceiverCpu); 2], "nothing else is known");
    assert_eq!(alone.summary.rows[1].limited_by, ["receiver-limited"]);
    let run = swept(Some(capped()));
    assert_eq!(
        kinds(&run),
        [Some(LimitKind::ReceiverCpu), Some(LimitKind::Shaper)],
        "small frames do not fill it"
    );
    assert_eq!(run.summary.rows[1].limited_by, [""; 0]);
    assert_eq!(run.tests[1].findings.iter().filter(|finding| finding.id == "receiver-limited").count(), 0);
    // A document that is read again is judged alike.
    assert_eq!(crate::run::judge(run.clone()), run);
}

#[test]
fn a_row_that_reaches_a_limit_of_packets_has_it() {
    let mut load = capped();
    // Small frames are capped at the 4128 per second that fill 50 Mbit/s with full ones.
    let packets = 50_000_000 / (1514 * 8);
    *load.steps.last_mut().expect("a step") = LoadStep {
        sent: BitRate(17_000_000),
        delivered: BitRate(packets * 256 * 8),
        loss: 0.5,
        ..load.steps[3]
    };
    let test = to_a_busy_receiver(2 * 4_100 * 88, 88);
    let row = measured(&requested(158, Transport::Tcp, Network::V4), &test, None, None);
    let full = to_a_busy_receiver(2 * 4_100 * 1448, 1448);
    let full_row = measured(&requested(1518, Transport::Tcp, Network::V4), &full, None, None);
    let run = crate::run_of_frames(
        "1",
        &[Event::LoadProbing(Box::new(load))],
        vec![test, full],
        vec![row, full_row],
    );
    for row in &run.summary.rows {
        let limit = row.limit.as_ref().expect("a limit");
        assert_eq!(
            (limit.kind, limit.packets),
            (LimitKind::PacketRate, Some(PacketRate(4128))),
            "{}",
            row.frame
        );
        assert_eq!(row.limited_by, ["packet-rate"]);
    }
}
