//! Runs made by hand: every figure is invented, round enough to be checked by eye.

use crate::paths;
use model::event::{Outcome, Warning};
use model::finding::{Finding, Severity, Status, Verdict};
use model::host::{Host, Nic};
use model::plan::{
    Direction, Directions, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport, Wait,
};
use model::run::{Run, SCHEMA};
use model::sample::{
    CpuUse, DataPath, IntervalSample, OneWayDelay, Role, Side, SideResult, StreamSample, TcpCounters,
    UdpCounters,
};
use model::stats::histogram::Distribution;
use model::summary::{
    Amount, ClockOffset, CpuPair, DirectionSummary, Jitter, Link, Loss, Segments, StreamSummary, Summary,
};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use model::wire_rate::WireRate;
use serde_json::json;

/// Every run, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("tcp_up", tcp_up()),
        ("udp_down", udp_down()),
        ("bidir", bidir()),
        ("interrupted", interrupted()),
        ("failed", failed()),
        ("measure", measure()),
    ]
}

fn tcp_up() -> Run {
    let mut run = run("throughput", TestSpec::new(Transport::Tcp));
    run.intervals =
        vec![tcp_interval(Side::Local, 0, 1_170_000_000, 3), tcp_interval(Side::Local, 1, 1_180_000_000, 0)];
    let mut up = direction(Transport::Tcp, 9_400_000_000);
    up.retransmits = Some(3);
    up.loaded_rtt = Some(Nanos::from_micros(1_250));
    up.mss = Some(1448);
    up.segments =
        Some(Segments { sent: Some(8_115_006), received: Some(8_115_003), mean_payload: Some(1447.9) });
    up.congestion = Some("cubic".into());
    run.summary.up = Some(up);
    run.summary.link = Some(link());
    run.summary.local = Some(side(DataPath {
        congestion: Some("cubic".into()),
        zero_copy: true,
        send_buffer: Bytes(4 << 20),
        ..DataPath::default()
    }));
    run.summary.peer = Some(side(DataPath {
        receiver: Some("io_uring".into()),
        receive_buffer: Bytes(6 << 20),
        ..DataPath::default()
    }));
    run.findings = vec![Finding {
        id: "at-line-rate".into(),
        severity: Severity::Info,
        direction: Some(Direction::Up),
        way: None,
        title: "TCP up runs at line rate: 99.8 % of what a 10 Gbit/s link can carry in frames of 1518 bytes."
            .into(),
        evidence: [("line_rate_share".to_owned(), json!(0.998_012_345))].into(),
        advice: "Nothing to mend; only a faster link or larger frames would give more.".into(),
    }];
    run.verdict = verdict(Status::Ok, "TCP fills the link: 9.40 Gbit/s up is all that it carries.");
    run
}

fn udp_down() -> Run {
    let mut test = TestSpec::new(Transport::Udp);
    test.directions = Directions::Down;
    test.streams = 2;
    test.length = 1472;
    test.bitrate = Some(BitRate(500_000_000));
    test.omit = Nanos::from_secs(1);
    let mut run = run("throughput", test);
    run.intervals = vec![udp_interval(0, true), udp_interval(0, false), udp_interval(1, false)];
    let mut down = direction(Transport::Udp, 940_000_000);
    down.received = Amount { bytes: Bytes(1_175_000_000), datagrams: 798_233 };
    down.loss = Some(Loss { path: 120, receiver: 48_000, sender: 4, share: 0.056_8 });
    down.reordered = 12;
    down.duplicates = 1;
    down.jitter =
        Some(Jitter { rfc3550: Nanos::from_micros(12), distribution: Some(percentiles(9, 40, 310)) });
    down.one_way = Some(OneWayDelay {
        min: Nanos::from_micros(140),
        mean: Nanos::from_micros(180),
        max: Nanos::from_micros(2_300),
        error: Nanos::from_micros(25),
    });
    down.streams =
        vec![stream(0, 450_000_000, None, Some(30_000)), stream(1, 490_000_000, None, Some(18_124))];
    run.summary.down = Some(down);
    run.summary.link = Some(link());
    run.summary.clock =
        Some(ClockOffset { offset_ns: -1_500_000, error: Nanos::from_micros(25), exchanges: 200 });
    run.summary.peer =
        Some(side(DataPath { gso_segments: 44, send_buffer: Bytes(4 << 20), ..DataPath::default() }));
    run.summary.local = Some(side(DataPath {
        gro: true,
        receiver: Some("recvmmsg".into()),
        wait: Some(Wait::Block),
        receive_buffer: Bytes(212_992),
        ..DataPath::default()
    }));
    run.summary.warnings = vec![Warning::new(
        "receive-buffer-capped",
        "The kernel gave a receive buffer of 208 KiB where 8 MiB were asked for; raise net.core.rmem_max.",
    )];
    run.findings = vec![lost_in_socket()];
    run.verdict =
        verdict(Status::Degraded, "5.7 % of the datagrams were lost, nearly all in the receiving socket.");
    run
}

fn bidir() -> Run {
    let mut test = TestSpec::new(Transport::Tcp);
    test.directions = Directions::Both;
    test.streams = 2;
    let mut run = run("throughput", test);
    let mut both = tcp_interval(Side::Local, 0, 500_000_000, 1);
    both.streams.push(stream_sample(1, Direction::Up, Role::Sender, 400_000_000, 2));
    both.streams.push(stream_sample(2, Direction::Down, Role::Receiver, 300_000_000, 0));
    both.streams.push(stream_sample(3, Direction::Down, Role::Receiver, 200_000_000, 0));
    run.intervals = vec![both];
    let mut up = direction(Transport::Tcp, 7_200_000_000);
    up.streams = vec![stream(0, 4_000_000_000, Some(1), None), stream(1, 3_200_000_000, Some(2), None)];
    up.retransmits = Some(3);
    let mut down = direction(Transport::Tcp, 4_000_000_000);
    down.streams = vec![stream(2, 2_400_000_000, Some(0), None), stream(3, 1_600_000_000, Some(7), None)];
    down.retransmits = Some(7);
    run.summary.up = Some(up);
    run.summary.down = Some(down);
    run.verdict = verdict(Status::Ok, "TCP carries 7.20 Gbit/s up and 4.00 Gbit/s down at once.");
    run
}

fn interrupted() -> Run {
    let mut run = run("throughput", TestSpec::new(Transport::Tcp));
    run.intervals = vec![tcp_interval(Side::Local, 0, 1_000_000, 0)];
    let mut up = direction(Transport::Tcp, 8_000_000);
    up.receiver_unknown = true;
    up.cpu = CpuPair::default();
    run.summary.up = Some(up);
    run.summary.outcome = Some(Outcome::Interrupted);
    run
}

fn failed() -> Run {
    let mut run = run("throughput", TestSpec::new(Transport::Udp));
    run.host = None;
    run.peer = None;
    let reason = "the control connection to 192.0.2.20:5210 closed before the test began".to_owned();
    run.summary.outcome = Some(Outcome::Failed { reason });
    run.verdict = verdict(Status::Void, "Nothing was measured.");
    run
}

fn measure() -> Run {
    let mut udp = udp_down();
    udp.summary.warnings.clear();
    let mut tcp_down =
        run("throughput", TestSpec { directions: Directions::Down, ..TestSpec::new(Transport::Tcp) });
    tcp_down.summary.down = Some(direction(Transport::Tcp, 5_000_000_000));
    let mut run = run("measure", TestSpec::new(Transport::Tcp));
    run.plan = None;
    run.summary.rtt = Some(percentiles(180, 260, 900));
    run.summary.lost = 1;
    run.summary.path = Some(paths::measured());
    run.summary.link = Some(link());
    run.tests = vec![tcp_up(), tcp_down, udp];
    run.findings = vec![
        Finding {
            id: "fragments-dropped".into(),
            severity: Severity::Problem,
            direction: Some(Direction::Up),
            way: None,
            title: "Fragments do not cross the path up: none of 10 datagrams of 4000 bytes arrived".into(),
            evidence: [("payload_that_works".to_owned(), json!(1472)), ("received".to_owned(), json!(0))]
                .into(),
            advice: "Send datagrams of at most 1472 bytes, or let the router between pass fragments.".into(),
        },
        lost_in_socket(),
    ];
    let text = "The host answers in 180 µs. TCP carries 9.40 Gbit/s up and 5.00 Gbit/s down. UDP loses 5.7 % down, \
                in the receiving socket. Fragments do not cross upwards.";
    run.verdict = verdict(Status::Problem, text);
    run
}

fn run(kind: &str, test: TestSpec) -> Run {
    let target = Target { host: "far.example".into(), address: ([192, 0, 2, 20], 5210).into() };
    let local = LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() };
    Run {
        schema: SCHEMA.into(),
        id: "20260801-123000-ab12".into(),
        kind: kind.into(),
        started: Some(WallTime(1_785_587_400_000_000_000)),
        finished: Some(WallTime(1_785_587_410_250_000_000)),
        latency: None,
        latency_intervals: Vec::new(),
        path: None,
        transfer: None,
        advice: Vec::new(),
        plan: Some(Plan { target, protocol: ProtocolName::Native, test, local }),
        host: Some(host("near", false)),
        peer: Some(host("far", true)),
        intervals: Vec::new(),
        summary: outcome(Outcome::Completed),
        tests: Vec::new(),
        findings: Vec::new(),
        verdict: Verdict::default(),
    }
}

fn outcome(outcome: Outcome) -> Summary {
    let mut summary = Summary::default();
    summary.outcome = Some(outcome);
    summary
}

fn host(name: &str, is_virtual: bool) -> Host {
    Host {
        name: name.into(),
        version: "pathmeter 0.1.0".into(),
        kernel: "Linux 6.18.0 x86_64".into(),
        cpu: "Example CPU".into(),
        cpus: 8,
        clock_source: "tsc".into(),
        congestion: "cubic".into(),
        nic: Some(Nic {
            name: "eth0".into(),
            driver: Some("example".into()),
            mtu: 1500,
            link_bps: (!is_virtual).then_some(BitRate(10_000_000_000)),
            offloads: vec!["tso".into(), "gro".into()],
            is_virtual,
            addresses: Vec::new(),
        }),
    }
}

/// Ten seconds of this goodput.
fn direction(transport: Transport, bits: u64) -> DirectionSummary {
    let amount = Amount { bytes: Bytes(bits / 8 * 10), datagrams: 0 };
    let packets = bits / 8 / 1448;
    DirectionSummary {
        transport,
        sent: amount,
        received: amount,
        elapsed: Nanos::from_secs(10),
        goodput: BitRate(bits),
        receiver_unknown: false,
        wire: WireRate {
            rate: Some(BitRate(packets * 1538 * 8)),
            packets_per_second: Some(PacketRate(packets)),
            frame: Some(1518),
            frames_per_packet: Some(1),
            line_rate_share: Some((packets * 1538 * 8) as f64 / 1e10),
            ..WireRate::default()
        },
        loss: None,
        reordered: 0,
        duplicates: 0,
        late: 0,
        jitter: None,
        one_way: None,
        retransmits: None,
        segments: None,
        mss: None,
        loaded_rtt: None,
        congestion: None,
        streams: vec![stream(0, bits, None, None)],
        cpu: CpuPair { sender: Some(cpu(0.42)), receiver: Some(cpu(0.87)) },
    }
}

fn stream(stream: u32, bits: u64, retransmits: Option<u64>, lost: Option<u64>) -> StreamSummary {
    StreamSummary { stream, bytes: Bytes(bits / 8 * 10), goodput: BitRate(bits), retransmits, lost }
}

fn cpu(process: f64) -> CpuUse {
    CpuUse { process, busiest_thread: process - 0.02, softirq: 0.25, cpus: 8, ..CpuUse::default() }
}

fn side(datapath: DataPath) -> SideResult {
    SideResult { datapath, ..SideResult::default() }
}

fn link() -> Link {
    Link { rate: BitRate(10_000_000_000), source: "eth0".into() }
}

fn percentiles(p50: u64, p99: u64, max: u64) -> Distribution {
    Distribution {
        stddev: Nanos(p99.saturating_sub(p50)),
        p9999: Nanos(max),
        count: 99,
        min: Nanos::from_micros(p50 / 2),
        p50: Nanos::from_micros(p50),
        p90: Nanos::from_micros((p50 + p99) / 2),
        p99: Nanos::from_micros(p99),
        p999: Nanos::from_micros(max),
        max: Nanos::from_micros(max),
        mean: Nanos::from_micros(p50 + 2),
    }
}

fn tcp_interval(side: Side, second: u64, bytes: u64, retransmits: u64) -> IntervalSample {
    IntervalSample {
        side,
        start: Nanos::from_secs(second),
        end: Nanos::from_secs(second + 1),
        omitted: false,
        streams: vec![stream_sample(0, Direction::Up, Role::Sender, bytes, retransmits)],
    }
}

fn stream_sample(
    stream: u32,
    direction: Direction,
    role: Role,
    bytes: u64,
    retransmits: u64,
) -> StreamSample {
    let tcp = TcpCounters {
        retransmits,
        acknowledged: Bytes(bytes - 1_000_000),
        cwnd: Bytes(1_200_000),
        rtt: Nanos::from_micros(1_200),
        ..TcpCounters::default()
    };
    StreamSample { stream, direction, role, bytes: Bytes(bytes), tcp: Some(tcp), udp: None }
}

fn udp_interval(second: u64, omitted: bool) -> IntervalSample {
    let stream = |stream, lost| StreamSample {
        stream,
        direction: Direction::Down,
        role: Role::Receiver,
        bytes: Bytes(58_880_000),
        tcp: None,
        udp: Some(UdpCounters {
            datagrams: 40_000,
            lost,
            jitter: Nanos::from_micros(11),
            ..UdpCounters::default()
        }),
    };
    IntervalSample {
        side: Side::Local,
        start: Nanos::from_secs(second),
        end: Nanos::from_secs(second + 1),
        omitted,
        streams: vec![stream(0, 1_500), stream(1, 900)],
    }
}

fn lost_in_socket() -> Finding {
    Finding {
        id: "receiver-buffer-loss".into(),
        severity: Severity::Warning,
        direction: Some(Direction::Down),
        way: None,
        title: "The receiver's socket, not the path, dropped 48000 datagrams down".into(),
        evidence: [
            ("socket_drops".to_owned(), json!(48_000)),
            ("receive_buffer_bytes".to_owned(), json!(212_992)),
        ]
        .into(),
        advice: "Raise net.core.rmem_max at the receiver: sysctl -w net.core.rmem_max=16777216".into(),
    }
}

fn verdict(status: Status, text: &str) -> Verdict {
    Verdict { status, text: text.into() }
}
