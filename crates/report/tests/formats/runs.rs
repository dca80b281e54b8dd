//! Runs of throughput from the raw counters of their intervals: every figure, finding and verdict is the model's own.

use crate::paths;
use crate::spread::{Shape, distribution};
use crate::throughput::{Throughput, link, spec, tcp_received, tcp_sent, udp};
use insight::{run_of_events, run_of_tests};
use model::event::{Event, Outcome, Probe, Warning};
use model::plan::{Direction, Directions, End, TestSpec, Transport, Wait};
use model::run::Run;
use model::sample::{DataPath, Role, StreamSample, Transit, UdpCounters};
use model::units::{BitRate, Bytes, Nanos};

/// Every run, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("tcp_up", tcp_up()),
        ("udp_down", udp_down()),
        ("bidir", bidir()),
        ("interrupted", interrupted()),
        ("failed", failed()),
        ("measure", measure(Vec::new())),
    ]
}

pub(crate) fn run_of_test(test: Throughput) -> Run {
    run_of_events(ID, "throughput", &test.events(Vec::new()))
}

/// A link of 10 Gbit/s that TCP fills.
pub(crate) fn tcp_up() -> Run {
    let seconds = [(1_170_000_000, 3), (1_180_000_000, 0)];
    let up = Direction::Up;
    let sent = seconds.map(|(bytes, retransmits)| vec![tcp_sent(0, up, bytes, retransmits)]);
    let received = seconds.map(|(bytes, _)| vec![tcp_received(0, up, bytes)]);
    let spec = spec(Transport::Tcp, Directions::Up, 1);
    let test = Throughput::new(spec, sent.into(), received.into()).over_a_link().with(|test| {
        // Its receiver has the last byte when that has crossed the path.
        test.peer_mut().streams[0].elapsed = Nanos::from_micros(2_000_600);
        test.local_end.datapath = DataPath {
            congestion: Some("cubic".into()),
            zero_copy: true,
            send_buffer: Bytes(4 << 20),
            ..DataPath::default()
        };
        test.peer_mut().datapath = DataPath {
            receiver: Some("io_uring".into()),
            receive_buffer: Bytes(6 << 20),
            ..DataPath::default()
        };
    });
    run_of_test(test)
}

/// What the receiver of a stream counts in a second, of 42,459 datagrams sent.
fn udp_second(lost: u64, socket_drops: u64, reordered: u64, duplicates: u64) -> UdpCounters {
    let jitter = Nanos::from_micros(11);
    let datagrams = DATAGRAMS - lost;
    UdpCounters { datagrams, lost, socket_drops, reordered, duplicates, jitter, ..UdpCounters::default() }
}

/// Two streams, the first of which overruns its socket; a few datagrams are lost on the path, and four never left.
pub(crate) fn udp_down() -> Run {
    let test = TestSpec {
        length: Some(1472),
        bitrate: Some(BitRate(500_000_000)),
        omit: Nanos::from_secs(1),
        ..spec(Transport::Udp, Directions::Down, 2)
    };
    let second = |first, second| {
        vec![
            udp((0, Direction::Down), Role::Receiver, 1472, first),
            udp((1, Direction::Down), Role::Receiver, 1472, second),
        ]
    };
    let received = vec![
        second(udp_second(1_500, 1_460, 3, 0), udp_second(900, 880, 0, 0)),
        second(udp_second(1_560, 1_500, 5, 1), udp_second(912, 870, 2, 0)),
        second(udp_second(1_498, 1_470, 1, 0), udp_second(921, 905, 4, 0)),
    ];
    let sender = |stream| {
        let send_drops = if stream == 0 { 1 } else { 0 };
        let counters = UdpCounters { datagrams: DATAGRAMS, send_drops, ..UdpCounters::default() };
        udp((stream, Direction::Down), Role::Sender, 1472, counters)
    };
    let sent = vec![vec![sender(0), sender(1)]; 3];
    let test = Throughput::new(test, received, sent).over_a_link().with(|test| {
        test.probes.push(Probe::ClockOffset {
            offset_ns: -1_500_000,
            error: Nanos::from_micros(25),
            exchanges: 200,
        });
        for (row, transits) in test.local_end.streams.iter_mut().zip([(1_640, 1_682, 3_800), (1_641, 1_678, 3_100)]) {
            let udp = row.udp.as_mut().expect("a UDP stream");
            let [min_ns, mean_ns, max_ns] = [transits.0, transits.1, transits.2].map(|micros: i64| micros * 1_000);
            udp.transit = Some(Transit { min_ns, mean_ns, max_ns });
            udp.jitter_distribution =
                Some(distribution(udp.datagrams - 1, Shape { min: 2, p50: 9, p90: 24, p99: 40, max: 310 }));
        }
        test.local_end.kernel.udp_receive_buffer_errors = 4_745;
        test.local_end.datapath = DataPath {
            gro: true,
            receiver: Some("recvmmsg".into()),
            wait: Some(Wait::Block),
            receive_buffer: Bytes(212_992),
            ..DataPath::default()
        };
        test.peer_mut().datapath =
            DataPath { gso_segments: 44, send_buffer: Bytes(4 << 20), ..DataPath::default() };
        test.warnings.push(Warning::new(
            "receive-buffer-capped",
            "The kernel gave a receive buffer of 208 KiB where 8 MiB were asked for; raise net.core.rmem_max.",
        ));
    });
    run_of_test(test)
}

fn bidir() -> Run {
    let (up, down) = (Direction::Up, Direction::Down);
    let near: Vec<StreamSample> = vec![
        tcp_sent(0, up, 500_000_000, 1),
        tcp_sent(1, up, 400_000_000, 2),
        tcp_received(2, down, 300_000_000),
        tcp_received(3, down, 200_000_000),
    ];
    let far = vec![
        tcp_received(0, up, 500_000_000),
        tcp_received(1, up, 400_000_000),
        tcp_sent(2, down, 300_000_000, 0),
        tcp_sent(3, down, 200_000_000, 7),
    ];
    run_of_test(Throughput::new(spec(Transport::Tcp, Directions::Both, 2), vec![near], vec![far]))
}

/// Stopped in its first second, and the peer's result never came.
fn interrupted() -> Run {
    let sent = vec![vec![tcp_sent(0, Direction::Up, 1_000_000, 0)]];
    let test = Throughput::new(spec(Transport::Tcp, Directions::Up, 1), sent, vec![Vec::new()]);
    run_of_test(test.with(|test| {
        (test.peer_end, test.outcome) = (None, Outcome::Interrupted);
        test.test.end = End::Time(Nanos::from_secs(10));
    }))
}

/// Closed before the streams were open.
fn failed() -> Run {
    let reason = "the control connection to 192.0.2.20:5210 closed before the test began".to_owned();
    let test = TestSpec { length: Some(1472), ..spec(Transport::Udp, Directions::Up, 1) };
    let test = Throughput::new(test, Vec::new(), Vec::new());
    let mut events = test.with(|test| test.outcome = Outcome::Failed { reason }).events(Vec::new());
    events.retain(|event| matches!(event, Event::Connected(_) | Event::Finished(_)));
    run_of_events(ID, "throughput", &events)
}

/// Several tests of a path that drops fragments upwards; `more` of the whole run.
pub(crate) fn measure(more: Vec<Event>) -> Run {
    let down = Direction::Down;
    let tcp_down = Throughput::new(
        spec(Transport::Tcp, Directions::Down, 1),
        vec![vec![tcp_received(0, down, 625_000_000)]; 2],
        vec![vec![tcp_sent(0, down, 625_000_000, 0)]; 2],
    );
    let rtt = distribution(99, Shape { min: 290, p50: 320, p90: 360, p99: 410, max: 900 });
    let probes = [
        Event::Probe(Probe::IdleRtt { transport: Transport::Udp, rtt, lost: 1 }),
        Event::Path(Box::new(paths::measured())),
        Event::Probe(link()),
    ];
    let events: Vec<Event> = probes.into_iter().chain(more).collect();
    run_of_tests(ID, "measure", &events, vec![tcp_up(), run_of_test(tcp_down.over_a_link()), udp_down()])
}

const ID: &str = "20260801-123000-ab12";
/// Of each stream in a second, at 500 Mbit/s.
const DATAGRAMS: u64 = 42_459;
