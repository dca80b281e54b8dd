//! A run in which every figure has a number of its own.

use crate::run_of_events;
use model::finding::{Finding, Severity, Status};
use model::frames::{FrameAsked, FrameRow};
use model::framing::{Encaps, Network};
use model::hops::{Counted as HopCounted, Hop, HopFlow, HopProtocol, HopsResult};
use model::latency::{
    ClockNote, Counted, EgressEnds, EgressResult, HostNoise, LoadPhase, LoadResult, OneWayDelays,
};
use model::pairs::{Pairs, PairsDirection, Together};
use model::path::{BlackHole, BlackHoleCause, Bound, PathDirection, PathResult, ServiceLimit, TcpDirection};
use model::plan::{Direction, Directions, Transport};
use model::run::Run;
use model::sample::{CpuUse, OneWayDelay};
use model::stats::distribution::Distribution;
use model::stats::responsiveness::{Band, Confidence, Responsiveness};
use model::summary::{Amount, CpuPair, DirectionSummary, Jitter, Loss, Segments, StreamSummary};
use model::transfer::{Spread, TransferResult, TransferRow};
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use model::wire_rate::WireRate;

/// The first numbers of each place.
pub(super) const UP: u32 = 100;
pub(super) const DOWN: u32 = 150;
pub(super) const GATEWAY: u32 = 300;
pub(super) const OTHER: u32 = 350;
pub(super) const IDLE: u32 = 400;
pub(super) const LOADED_UP: u32 = 420;
pub(super) const LOADED_DOWN: u32 = 440;
pub(super) const BOTH: u32 = 460;

pub(super) fn of_different_figures() -> Run {
    let mut run = run_of_events("id", "throughput", &[]);
    let summary = &mut run.summary;
    (summary.up, summary.down) = (Some(direction(UP)), Some(direction(DOWN)));
    summary.path = Some(path());
    // Those of a run of one way; the paths count here.
    (summary.rtt, summary.lost) = (Some(distribution(201)), 1_001);
    (summary.late, summary.duplicates, summary.reordered) = (1_002, 1_003, 1_004);
    summary.tool_floor = Some(distribution(221));
    summary.one_way_delays = Some(OneWayDelays {
        up: Some(distribution(231)),
        down: Some(distribution(241)),
        error: micros(251),
        note: ClockNote::Trusted,
    });
    summary.noise = Some(HostNoise { steal_share: 0.252, ..HostNoise::default() });
    summary.egress_paths = vec![egress_result("nat.gateway", GATEWAY), egress_result("other", OTHER)];
    let loads = [
        (IDLE, None),
        (LOADED_UP, Some(Directions::Up)),
        (LOADED_DOWN, Some(Directions::Down)),
        (BOTH, Some(Directions::Both)),
    ];
    let phases = loads.map(|(at, load)| phase(load, at)).into();
    summary.loaded = Some(LoadResult { phases, series: Vec::new() });
    summary.hops = Some(Box::new(hops()));
    summary.pairs = Some(Box::new(pairs()));
    summary.transfer = Some(transfers());
    summary.rows = vec![frames()];
    let findings = [(Severity::Problem, 3), (Severity::Warning, 5), (Severity::Info, 7)];
    run.findings =
        findings.into_iter().flat_map(|(severity, count)| vec![finding(severity); count]).collect();
    run.verdict.status = Status::Degraded;
    run
}

fn direction(at: u32) -> DirectionSummary {
    let cpu = |process, thread, softirq| {
        let [process, busiest_thread, softirq] = [process, thread, softirq].map(|n| share(at + n));
        Some(CpuUse { process, busiest_thread, softirq, ..CpuUse::default() })
    };
    let stream = |n| StreamSummary {
        stream: n,
        bytes: Bytes(1),
        goodput: megabits(at + n),
        retransmits: None,
        lost: None,
    };
    DirectionSummary {
        transport: Transport::Udp,
        sent: Amount { bytes: Bytes(u64::from(at + 49) * 1_250_000), datagrams: 1 },
        received: Amount { bytes: Bytes(count(at + 5)), datagrams: 1 },
        elapsed: Nanos::from_secs(10),
        goodput: megabits(at + 1),
        receiver_unknown: false,
        wire: WireRate {
            rate: Some(megabits(at + 2)),
            packets_per_second: Some(kilopackets(at + 3)),
            frame: Some(at + 45),
            line_rate_share: Some(share(at + 4)),
            ..WireRate::default()
        },
        loss: Some(Loss {
            share: share(at + 6),
            path: count(at + 7),
            receiver: count(at + 8),
            sender: count(at + 9),
        }),
        reordered: Some(count(at + 10)),
        duplicates: Some(count(at + 11)),
        late: Some(count(at + 12)),
        jitter: Some(Jitter { rfc3550: micros(at + 13), distribution: Some(distribution(at + 14)) }),
        one_way: Some(OneWayDelay {
            min: micros(at + 23),
            mean: micros(at + 24),
            max: micros(at + 25),
            error: micros(at + 26),
        }),
        ecn_marks: Some(count(at + 45)),
        spurious_retransmits: Some(count(at + 43)),
        retransmits: Some(count(at + 27)),
        segments: Some(Segments {
            sent: Some(count(at + 46)),
            received: Some(count(at + 47)),
            mean_payload: Some(f64::from(at + 48)),
        }),
        mss: Some(at + 29),
        limit: None,
        loaded_rtt: Some(micros(at + 28)),
        congestion: None,
        streams: vec![stream(16), stream(18)],
        cpu: CpuPair { sender: cpu(30, 20, 33), receiver: cpu(31, 21, 44) },
    }
}

fn path() -> PathResult {
    let egress = |at| PathDirection {
        path_mtu: Some(at + 34),
        bound: Bound::Exact,
        max_udp_payload: Some(at + 35),
        interface_mtu: Some(at + 36),
        cached_mtu: Some(at + 37),
        black_hole: Some(BlackHole { first: at + 38, last: at + 39, cause: BlackHoleCause::Unknown }),
        tcp: Some(TcpDirection {
            mss_sent: Some(at + 40),
            mss_received: Some(at + 41),
            largest_segment: Some(at + 42),
            ..TcpDirection::default()
        }),
        ..PathDirection::default()
    };
    let service = ServiceLimit {
        port: 53,
        payload: Some(253),
        silent: Some(1_005),
        fragmented_from: 1_006,
        refused: None,
        sizes: Vec::new(),
    };
    PathResult {
        up: Some(egress(UP)),
        down: Some(egress(DOWN)),
        service: Some(service),
        packets: 254,
        elapsed: micros(255),
        ..PathResult::default()
    }
}

fn egress_result(label: &str, at: u32) -> EgressResult {
    let address = ([192, 0, 2, 1], 5210).into();
    EgressResult {
        label: label.into(),
        host: "far".into(),
        ends: EgressEnds { local: address, remote: address, seen_as: None, peer: None, far_wait: None },
        elapsed: Nanos::from_secs(10),
        counted: Counted {
            sent: count(at + 10),
            asked: 2_000,
            lost: 2 * count(at + 11),
            received: count(at + 12),
            late: count(at + 13),
            reordered: count(at + 14),
            duplicates: count(at + 15),
            ..Counted::default()
        },
        warm_up: Nanos::ZERO,
        warm_up_count: 0,
        level: None,
        rtt: Some(distribution(at + 1)),
        service: Some(distribution(at + 20)),
        mad: None,
        iqr: None,
        percentiles: Vec::new(),
        mean: None,
        histogram: None,
        wire: None,
        one_way: None,
        outliers: Vec::new(),
        silence: None,
        outages: Vec::new(),
        shifts: Vec::new(),
        spoiled_from_percent: None,
        sent_rate: kilopackets(at + 17),
        received_rate: Some(kilopackets(at + 16)),
    }
}

fn phase(load: Option<Directions>, at: u32) -> LoadPhase {
    let responsiveness = Responsiveness {
        rpm: f64::from(at + 10),
        band: Band::Fair,
        confidence: Confidence::High,
        foreign: f64::from(at + 14),
        loaded: f64::from(at + 15),
        tcp: micros(at + 16),
        tls: None,
        http: micros(at + 17),
        loaded_http: micros(at + 18),
        foreign_probes: 80,
        loaded_probes: 90,
        goodput: megabits(at + 19),
        saturation_intervals: 6,
        stability_intervals: 5,
    };
    LoadPhase {
        load,
        rtt: Some(distribution(at + 1)),
        sent: 3_000,
        lost: 3 * count(at + 11),
        up: Some(megabits(at + 12)),
        down: Some(megabits(at + 13)),
        responsiveness: Some(responsiveness),
        mss: None,
        limit: None,
    }
}

/// The far end is the seventeenth hop; of a thousand echo requests to it 218 are lost.
fn hops() -> HopsResult {
    let counted = HopCounted { sent: 1_000, answered: 782 };
    let rtt = Distribution { p50: micros(219), p90: micros(220), ..Distribution::default() };
    let hop = Hop { ttl: 17, far_end: true, counted, rtt: Some(rtt), flows: vec![counted], ..Hop::default() };
    let flow = HopFlow { flow: None, reached_at: Some(17), far_end: None, again: None };
    HopsResult { protocol: HopProtocol::Icmp, hops: vec![hop], flows: vec![flow], ..HopsResult::default() }
}

fn pairs() -> Pairs {
    let egress = |goodput| Some(PairsDirection { goodput: megabits(goodput), ..PairsDirection::default() });
    Pairs {
        asked: 4,
        together: Some(Together {
            runs: 4,
            overlap: micros(1_007),
            whole: micros(1_008),
            clocked: true,
            up: egress(211),
            down: egress(212),
        }),
        overlap_share: share(213),
        broken: Vec::new(),
        steps: Vec::new(),
        stopped: None,
        common_start: None,
    }
}

/// One size.
fn frames() -> FrameRow {
    let frame_request = FrameAsked {
        frame: Bytes(512),
        network: Network::V4,
        protocol: Transport::Udp,
        direction: Direction::Up,
        encaps: Encaps::default(),
    };
    FrameRow {
        goodput: megabits(294),
        packets_per_second: Some(kilopackets(295)),
        share: Some(share(296)),
        ..frame_request.row()
    }
}

/// Two rows; the worse of each figure has the numbers that are expected, not always in the same row.
fn transfers() -> TransferResult {
    let megabits = |min, median, max| Some(spread(1e6, min, median, max));
    let micros = |min, median, max| Some(spread(1e3, min, median, max));
    let first = TransferRow {
        failed: 2,
        retransmits: 291,
        rate: megabits(262, 264, 268),
        total: micros(269, 273, 270),
        first_byte: micros(280, 282, 289),
        ..TransferRow::default()
    };
    let second = TransferRow {
        failed: 5,
        retransmits: 292,
        rate: megabits(265, 263, 267),
        total: micros(271, 272, 274),
        first_byte: micros(281, 283, 287),
        ..TransferRow::default()
    };
    TransferResult { rows: vec![first, second], transfers: Vec::new() }
}

fn spread(unit: f64, min: u32, median: u32, max: u32) -> Spread {
    let value = |n: u32| f64::from(n) * unit;
    Spread {
        mean: value(1_009),
        stddev: value(1_010),
        min: value(min),
        median: value(median),
        max: value(max),
    }
}

fn finding(severity: Severity) -> Finding {
    Finding {
        id: "id".into(),
        severity,
        direction: None,
        egress: None,
        title: String::new(),
        evidence: [].into(),
        advice: String::new(),
    }
}

/// A distribution of enough values for every percentile; each time its own, whatever their order.
fn distribution(first: u32) -> Distribution {
    Distribution {
        count: 40_000,
        min: micros(first),
        mean: micros(first + 1),
        stddev: micros(first + 2),
        p50: micros(first + 3),
        p90: micros(first + 4),
        p99: micros(first + 5),
        p999: micros(first + 6),
        p9999: micros(first + 7),
        max: micros(first + 8),
        ..Distribution::default()
    }
}

fn micros(n: u32) -> Nanos {
    Nanos::from_micros(count(n))
}

fn megabits(n: u32) -> BitRate {
    BitRate(count(n) * 1_000_000)
}

fn kilopackets(n: u32) -> PacketRate {
    PacketRate(count(n) * 1_000)
}

fn share(n: u32) -> f64 {
    f64::from(n) / 1_000.0
}

fn count(n: u32) -> u64 {
    n.into()
}
