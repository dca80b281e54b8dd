//! Latency runs from events whose distributions are those of histograms: findings and verdict are those of the rules.

use crate::spread::{Shape, distribution};
use insight::run_of_events;
use model::event::{Event, Finished, Outcome};
use model::host::Host;
use model::latency::{
    Cause, ClockNote, Counted, EgressEnds, EgressPath, EgressResult, EgressSample, HostNoise, LatencyMode,
    LatencyPlan, LatencyProtocol, LatencyResult, LatencySample, LatencyStarted, Load, LoadPhase, LoadPoint,
    LoadResult, OneWayDelays, Outlier, SocketSetup, ToolBaseline, WaitMode, WireTimes,
};
use model::plan::{Directions, End, Target, Transport};
use model::run::Run;
use model::stats::batch_means::MeanInterval;
use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;
use model::stats::percentile::percentiles;
use model::stats::responsiveness::{Band, Confidence, Responsiveness};
use model::time::WallTime;
use model::units::{BitRate, Nanos, PacketRate};
use std::net::SocketAddr;

/// Every latency run, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("latency_lan", lan()),
        ("latency_five_paths", five_paths()),
        ("latency_fixed_rate", fixed_rate()),
        ("latency_silent_path", silent_path()),
        ("latency_one_way", one_way()),
        ("latency_loaded", loaded()),
        ("latency_failed", failed()),
    ]
}

/// 20 000 round trips of some 20 µs, with everything that a run between two pathmeters can have.
fn lan() -> Run {
    let histogram = body(20_000, &[(400_000, 3), (5_200_000, 1)]);
    let mut far = egress_result("far.example", &histogram);
    far.mad = Some(Nanos::from_nanos(600));
    far.iqr = Some(Nanos::from_nanos(1_300));
    far.percentiles = percentiles(&histogram, &[50.0, 90.0, 99.0, 99.9, 99.99]);
    far.mean = Some(MeanInterval {
        mean: histogram.mean().expect("there are values"),
        half_width: 120.0,
        level: 0.95,
        count: 20_004,
        effective_count: 7_000.0,
        batches: 600,
        batch_size: 32,
        lag1: 0.1,
        correlated: false,
    });
    far.histogram = Some(histogram.to_v2_base64());
    (far.warm_up, far.warm_up_count) = (Nanos::from_millis(12), 600);
    far.wire = Some(WireTimes { rtt: times(15, 19, 90), application: times(20, 25, 100), hardware: false });
    far.one_way = Some(OneWayDelays {
        up: Some(times(9, 14, 60)),
        down: Some(times(11, 15, 80)),
        error: Nanos::from_nanos(2_500),
        note: ClockNote::Trusted,
    });
    far.outliers = vec![
        outlier(1_410, 5_200, 5_150, Cause::Host),
        outlier(70, 400, 370, Cause::Host),
        outlier(900, 400, 2, Cause::Path),
        outlier(950, 400, 0, Cause::Unknown),
    ];
    far.ends.seen_as = Some(socket("203.0.113.9:61000"));
    // Those of the warm-up are counted, and are in no figure.
    let sent = histogram.count() + far.warm_up_count + 1;
    far.counted = Counted { sent, asked: sent, received: sent - 1, lost: 1, strays: 2, ..Counted::default() };
    let floor = ToolBaseline { rtt: times(12, 16, 200), wait: WaitMode::Spin };
    far.ends.far_wait = Some(WaitMode::Block);
    let noise = HostNoise {
        hiccups: 2,
        hiccup_total: Nanos::from_micros(5_500),
        hiccup_worst: Nanos::from_micros(5_150),
        ..HostNoise::default()
    };
    let plan = plan(&[&far], Transport::Udp, 64, 2);
    far.elapsed = Nanos::from_secs(2);
    far.sent_rate = PacketRate(sent / 2);
    let seconds = [(body(10_000, &[(400_000, 3)]), 0), (body(10_000, &[(5_200_000, 1)]), 1)];
    let rows = seconds.map(|(values, lost)| [(values.count() + lost, values.distribution(), lost)]);
    let samples = (0..).zip(&rows).map(|(second, row)| sample(second, row)).collect();
    run(
        plan,
        samples,
        LatencyResult { egress_paths: vec![far], floor: Some(floor), noise, cpu_share: 1.0 },
        None,
    )
}

/// The fixtures' five paths: what SockPerf printed, `sockperf-tcp-350-*.txt`.
fn five_paths() -> Run {
    let egress_paths: Vec<EgressResult> = FIXTURES.iter().map(|row| fixture(row)).collect();
    let plan = plan(&egress_paths.iter().collect::<Vec<_>>(), Transport::Tcp, 350, 101);
    let rows: Vec<_> = egress_paths.iter().map(|egress| (3, egress.rtt.and_then(first_three), 0)).collect();
    let result = LatencyResult { egress_paths, floor: None, noise: HostNoise::default(), cpu_share: 0.01 };
    run(plan, vec![sample(0, &rows)], result, None)
}

/// A fixed rate that the sender did not always keep, with losses and disorder; few round trips.
fn fixed_rate() -> Run {
    let histogram = body(300, &[]);
    let mut far = egress_result("far.example", &histogram);
    far.service = Some(times(18, 24, 60));
    far.histogram = Some(histogram.to_v2_base64());
    far.counted = Counted {
        sent: 330,
        asked: 330,
        received: 300,
        lost: 30,
        late: 2,
        duplicates: 4,
        reordered: 6,
        lost_up: Some(10),
        lost_down: Some(20),
        behind: 20,
        ..far.counted
    };
    far.sent_rate = PacketRate(33);
    far.one_way = Some(OneWayDelays {
        up: None,
        down: None,
        error: Nanos::from_micros(10),
        note: ClockNote::ErrorTooLarge,
    });
    let mut plan = plan(&[&far], Transport::Udp, 14, 10);
    (plan.mode, plan.rate, plan.wait) = (LatencyMode::UnderLoad, Some(PacketRate(33)), WaitMode::Hybrid);
    plan.wait_reason = "fewer than two idle CPUs".into();
    let noise = HostNoise { involuntary_switches: 2_000, steal_share: 0.08, ..HostNoise::default() };
    run(plan, Vec::new(), LatencyResult { egress_paths: vec![far], floor: None, noise, cpu_share: 0.4 }, None)
}

/// Two ways, one of which never answers.
fn silent_path() -> Run {
    let good = egress_result("direct", &body(2_000, &[]));
    let mut dead = egress_result("vpn", &Histogram::default());
    dead.counted = Counted { sent: 10, asked: 10, lost: 10, ..Counted::default() };
    let plan = plan(&[&good, &dead], Transport::Udp, 64, 10);
    let samples = vec![sample(0, &[(200, body(200, &[]).distribution(), 0), (1, None, 1)])];
    let result = LatencyResult {
        egress_paths: vec![good, dead],
        floor: None,
        noise: HostNoise::default(),
        cpu_share: 1.0,
    };
    run(plan, samples, result, None)
}

/// Messages one way, counted by the receiver.
fn one_way() -> Run {
    let mut far = egress_result("far.example", &Histogram::default());
    far.counted = Counted { sent: 12_000_000, far_received: Some(11_400_000), ..Counted::default() };
    (far.sent_rate, far.received_rate) = (PacketRate(1_200_000), Some(PacketRate(1_140_000)));
    let mut plan = plan(&[&far], Transport::Udp, 64, 10);
    plan.mode = LatencyMode::Throughput;
    run(
        plan,
        Vec::new(),
        LatencyResult { egress_paths: vec![far], floor: None, noise: HostNoise::default(), cpu_share: 1.0 },
        None,
    )
}

/// Idle, then a full uplink with 110 ms of queue, a full downlink with little, and both.
fn loaded() -> Run {
    let mut far = egress_result("far.example", &Histogram::default());
    far.rtt = Some(idle());
    far.counted = Counted { sent: 1_000, asked: 1_000, received: 1_000, ..Counted::default() };
    far.sent_rate = PacketRate(100);
    let phases = vec![
        phase(None, 10_000, None, None),
        phase(Some(Directions::Up), 120_000, Some(9_400_000), None),
        phase(Some(Directions::Down), 13_000, None, Some(94_000_000)),
        phase(Some(Directions::Both), 118_000, Some(9_100_000), Some(71_000_000)),
    ];
    let series = phases
        .iter()
        .enumerate()
        .flat_map(|(number, phase)| (0..8).map(move |step| moment(number as u64, step, phase)))
        .collect();
    let mut plan = plan(&[&far], Transport::Udp, 64, 10);
    plan.load = Some(Load {
        phases: vec![Directions::Up, Directions::Down, Directions::Both],
        time: Nanos::from_secs(10),
        streams: 4,
        congestion: None,
    });
    let result =
        LatencyResult { egress_paths: vec![far], floor: None, noise: HostNoise::default(), cpu_share: 0.1 };
    run(plan, Vec::new(), result, Some(LoadResult { phases, series }))
}

/// Broken off before anything came back.
fn failed() -> Run {
    let plan = plan(&[&egress_result("far.example", &Histogram::default())], Transport::Tcp, 64, 10);
    let result =
        LatencyResult { egress_paths: Vec::new(), floor: None, noise: HostNoise::default(), cpu_share: 0.0 };
    let mut run = run(plan, Vec::new(), result, None);
    let reason = "192.0.2.20:5210 closed the connection".to_owned();
    run.summary.outcome = Some(Outcome::Failed { reason });
    run.verdict = insight::finding::verdict(&run);
    run
}

fn run(
    plan: LatencyPlan,
    samples: Vec<LatencySample>,
    result: LatencyResult,
    load: Option<LoadResult>,
) -> Run {
    let begun = LatencyStarted {
        wall: WallTime(1_785_587_400_000_000_000),
        plan,
        ends: result.egress_paths.iter().map(|egress| egress.ends.clone()).collect(),
        host: Host { name: "near".into(), version: "pathmeter 0.1.0".into(), cpus: 8, ..Host::default() },
    };
    let mut events = vec![Event::LatencyStarted(Box::new(begun))];
    events.extend(samples.into_iter().map(Event::LatencySample));
    events.push(Event::Latency(Box::new(result)));
    events.extend(load.map(|load| Event::Load(Box::new(load))));
    events.push(Event::Finished(Finished {
        wall: WallTime(1_785_587_410_250_000_000),
        elapsed: Nanos::from_secs(10),
        outcome: Outcome::Completed,
    }));
    run_of_events("20260801-123000-ab12", "latency", &events)
}

/// The same run with this number everywhere.
pub(crate) fn of_size(mut run: Run, number: u64) -> Run {
    let time = Nanos(number);
    let same = Distribution {
        count: number,
        min: time,
        mean: time,
        stddev: time,
        p50: time,
        p90: time,
        p99: time,
        p999: time,
        p9999: time,
        max: time,
        ..Distribution::default()
    };
    for egress in &mut run.summary.egress_paths {
        egress.rtt = Some(same);
        (egress.mad, egress.iqr, egress.elapsed) = (Some(time), Some(time), time);
        let lost = Some(number);
        egress.counted = Counted {
            sent: number,
            asked: number,
            received: number,
            lost: number,
            in_flight: number,
            unsent: number,
            late: number,
            duplicates: number,
            reordered: number,
            strays: number,
            lost_up: lost,
            lost_down: lost,
            far_received: lost,
            behind: number,
        };
        egress.outliers = vec![Outlier { at: time, rtt: time, host: time, cause: Cause::Host }];
    }
    for phase in run.summary.loaded.iter_mut().flat_map(|loaded| &mut loaded.phases) {
        (phase.rtt, phase.sent, phase.lost, phase.up) = (Some(same), number, number, Some(BitRate(number)));
    }
    for point in run.summary.loaded.iter_mut().flat_map(|loaded| &mut loaded.series) {
        (point.rtt, point.at, point.lost, point.up) = (Some(same), time, number, Some(BitRate(number)));
    }
    run.summary.tool_floor = Some(same);
    run
}

fn plan(egress_paths: &[&EgressResult], transport: Transport, size: u32, seconds: u64) -> LatencyPlan {
    let egress = |egress: &&EgressResult| EgressPath {
        label: egress.label.clone(),
        target: Target { host: egress.host.clone(), address: egress.ends.remote },
        bind: None,
        port: None,
        device: None,
    };
    LatencyPlan {
        egress_paths: egress_paths.iter().map(egress).collect(),
        protocol: LatencyProtocol::Native,
        mode: LatencyMode::PingPong,
        transport,
        size,
        sizes: None,
        burst: 1,
        compare: false,
        rate: None,
        reply_every: 1,
        end: End::Time(Nanos::from_secs(seconds)),
        warm_up: None,
        timeout: None,
        interval: Nanos::from_secs(1),
        wait: WaitMode::Spin,
        wait_reason: "8 CPUs are idle; it takes one of them whole.".into(),
        tos: 0,
        busy_poll: None,
        socket: SocketSetup::default(),
        cpu: None,
        wire_times: false,
        multicast_ttl: None,
        connect_timeout: Nanos::from_secs(5),
        load: None,
        explain: Nanos::ZERO,
    }
}

fn egress_result(label: &str, histogram: &Histogram) -> EgressResult {
    let count = histogram.count();
    EgressResult {
        label: label.into(),
        host: "far.example".into(),
        ends: EgressEnds {
            local: socket("10.0.0.4:40000"),
            remote: socket("192.0.2.20:5210"),
            seen_as: None,
            peer: None,
            far_wait: None,
        },
        elapsed: Nanos::from_secs(10),
        counted: Counted { sent: count, asked: count, received: count, ..Counted::default() },
        warm_up: Nanos::ZERO,
        warm_up_count: 0,
        level: None,
        rtt: histogram.distribution(),
        service: None,
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
        sent_rate: PacketRate(count / 10),
        received_rate: None,
    }
}

fn fixture(row: &str) -> EgressResult {
    let mut remarks = row.split_whitespace();
    let (label, observed) = (remarks.next().expect("a label"), remarks.next().expect("an address"));
    let figures: Vec<u64> = remarks.map(|word| word.parse().expect("a number")).collect();
    let [count, min, p50, p90, p99, max, mean, stddev, mad, iqr] = figures.try_into().expect("ten figures");
    let [min, p50, p90, p99, max, mean, stddev] = [min, p50, p90, p99, max, mean, stddev].map(Nanos);
    let mut egress = egress_result(label, &Histogram::default());
    egress.rtt = Some(Distribution {
        count,
        min,
        mean,
        stddev,
        p50,
        p90,
        p99,
        p999: max,
        p9999: max,
        max,
        ..Distribution::default()
    });
    (egress.mad, egress.iqr) = (Some(Nanos(mad)), Some(Nanos(iqr)));
    egress.counted = Counted { sent: count, asked: count, received: count, ..Counted::default() };
    egress.elapsed = Nanos::from_secs(101);
    egress.sent_rate = PacketRate::from_count(count, egress.elapsed);
    egress.ends.seen_as = Some(socket(observed));
    egress
}

/// Three round trips of a second, of all that came.
fn first_three(rtt: Distribution) -> Option<Distribution> {
    let mut histogram = Histogram::default();
    [rtt.min, rtt.p50, rtt.p90].iter().for_each(|value| histogram.record(value.0));
    histogram.distribution()
}

/// A body of 18 to 27 µs, and what lies outside of it.
fn body(count: u64, far: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    for (step, share) in [(18, 5), (19, 20), (20, 35), (21, 20), (22, 10), (23, 5), (25, 4), (27, 1)] {
        histogram.record_n(step * 1_000, count * share / 100);
    }
    far.iter().for_each(|(value, times)| histogram.record_n(*value, *times));
    histogram
}

/// Of five thousand round trips: microseconds.
fn times(p50: u64, p99: u64, max: u64) -> Distribution {
    counted(5_000, p50, p99, max)
}

fn counted(count: u64, p50: u64, p99: u64, max: u64) -> Distribution {
    distribution(count, Shape { min: p50 - p50 / 10, p50, p90: p50 + p50 / 20, p99, max })
}

fn outlier(at_ms: u64, rtt_us: u64, host_us: u64, cause: Cause) -> Outlier {
    Outlier {
        at: Nanos::from_millis(at_ms),
        rtt: Nanos::from_micros(rtt_us),
        host: Nanos::from_micros(host_us),
        cause,
    }
}

fn sample(second: u64, egress_paths: &[(u64, Option<Distribution>, u64)]) -> LatencySample {
    let egress = |(sent, rtt, lost): &(u64, Option<Distribution>, u64)| EgressSample {
        sent: *sent,
        rtt: *rtt,
        lost: *lost,
    };
    LatencySample {
        start: Nanos::from_secs(second),
        end: Nanos::from_secs(second + 1),
        load: None,
        egress_paths: egress_paths.iter().map(egress).collect(),
    }
}

/// The thousand round trips before the load.
fn idle() -> Distribution {
    counted(1_000, 10_000, 12_000, 14_000)
}

fn phase(load: Option<Directions>, micros: u64, up: Option<u64>, down: Option<u64>) -> LoadPhase {
    let millis = micros / 1000;
    let lost = if up.is_some() { 3 } else { 0 };
    let rtt = match load {
        Some(_) => counted(1_000 - lost, micros, micros * 5 / 4, micros * 3 / 2),
        None => idle(),
    };
    LoadPhase {
        load,
        rtt: Some(rtt),
        sent: 1_000,
        lost,
        up: up.map(BitRate),
        down: down.map(BitRate),
        responsiveness: load.map(|_| responsiveness(millis)),
        mss: None,
        limit: None,
    }
}

fn responsiveness(millis: u64) -> Responsiveness {
    // New connections take a handshake and a request, as long as each other.
    let (tcp, http, loaded_http) = (millis, millis + 2, millis + 4);
    let (foreign, loaded) = (60_000.0 / (millis + 1) as f64, 60_000.0 / loaded_http as f64);
    let rpm = f64::midpoint(foreign, loaded);
    Responsiveness {
        rpm,
        band: Band::for_rpm(rpm),
        confidence: Confidence::High,
        foreign,
        loaded,
        tcp: Nanos::from_millis(tcp),
        tls: None,
        http: Nanos::from_millis(http),
        loaded_http: Nanos::from_millis(loaded_http),
        foreign_probes: 80,
        loaded_probes: 95,
        goodput: BitRate(9_400_000),
        saturation_intervals: 6,
        stability_intervals: 5,
    }
}

/// An eighth of a phase: the queue fills in the first half.
fn moment(number: u64, step: u64, phase: &LoadPhase) -> LoadPoint {
    let full = phase.rtt.map_or(0, |rtt| rtt.p50.0 / 1_000);
    let micros = 10_000 + full.saturating_sub(10_000) * step.min(4) / 4;
    LoadPoint {
        at: Nanos::from_millis((number * 8 + step + 1) * 1_250),
        load: phase.load,
        rtt: Some(counted(125, micros, micros + micros / 10, micros + micros / 5)).filter(|_| step != 6),
        lost: u64::from(step == 6) * phase.lost,
        up: phase.up,
        down: phase.down,
    }
}

fn socket(text: &str) -> SocketAddr {
    text.parse().expect("an address and port")
}

/// Label, the address that the far end saw (invented), count; nanoseconds of min, p50, p90, p99, max, mean, standard
/// deviation, median deviation, and the distance of the quartiles.
const FIXTURES: [&str; 5] = [
    "default-snat 203.0.113.1:1024 261 382767135 383300799 383977743 385171272 390394628 383460308 659343 318029 467482",
    "public-ip 203.0.113.2:40001 261 381988746 382525008 383291989 385135128 386769649 382677430 621476 347297 497532",
    "load-balancer-outbound 203.0.113.3:1030 259 385127088 385642328 386284741 387222430 392620433 385770944 593303 279072 389580",
    "nat-gateway 203.0.113.4:1026 260 384332180 384864144 385466217 386800495 398506853 385027305 976902 318453 429646",
    "azure-firewall-snat 203.0.113.5:2048 258 383961904 384849965 385879797 400546401 975994156 387909824 37282025 583452 881920",
];
