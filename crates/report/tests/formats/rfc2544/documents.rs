//! Reports of devices, made up: figures of a router of 1.07 Mpps, and of devices that cannot be measured well.

use model::dut::y1564::{Observed, Profile};
use model::dut::{
    BackToBackReport, DelayVariationReport, DelayVariationWay, DeviceReport, DutReport, Frames, HopDrops,
    LatencyReport, LatencyWay, LeftOut, LoadLimit, MrrReport, NamedGoal, Overload, PortFacts, RateReport,
    Rates, RecoveryReport, ResetReport, ResetTime, SCHEMA, ServiceReport, ServiceStep, Setup, SinkKind,
    SourceKind, Stream, StreamReport, Test, Tools, Tried, WayObservation, compare_devices, conclude,
};
use model::framing::{Imix, Network};
use model::host::Host;
use model::plan::{Direction, Directions};
use model::search::{BackToBackOutcome, Goal, Irregular, Load, LossStep, LossStepsOutcome, TrialResult};
use model::stats::histogram::Distribution;
use model::stats::rfc8219::{InterPacketVariation, OverRuns};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos, PacketRate};

const ALL: [Test; 9] = [
    Test::Throughput,
    Test::Latency,
    Test::FrameLoss,
    Test::BackToBack,
    Test::Recovery,
    Test::Reset,
    Test::Mrr,
    Test::DelayVariation,
    Test::Service,
];

/// Every test of a router, both ways at once, over a link of 10 Gbit/s.
pub(super) fn full() -> DutReport {
    let streams: Vec<Stream> =
        [64, 512, 1518].map(|size| stream(Network::V4, Frames::of(Bytes(size)), Directions::Both)).into();
    let mut setup = Setup::standard(&ALL, streams.clone());
    setup.link = Some(BitRate(10_000_000_000));
    setup.departures = vec!["no frames of 128, 256, 1024 and 1280 bytes (RFC 2544 section 9.1)".into()];
    setup.service = Some(profile());
    setup.goals = goals(&[("throughput", Goal::rfc2544()), ("ndr", Goal::ndr()), ("pdr", Goal::pdr())]);
    let mut router = device("router");
    router.title = Some("a router of two cores".into());
    router.rows = streams.iter().map(|stream| everything(stream, &setup)).collect();
    router.service = Some(service(&streams[1], &setup));
    router.hops = hops();
    router.shares_cpu = Some(false);
    finished(setup, vec![router])
}

/// A look at a device that cannot be measured well, over a link of unknown speed.
pub(super) fn quick() -> DutReport {
    let simple = |network| Frames::mix("imix", &Imix::simple(network));
    let frames = [
        (Network::V4, Frames::of(Bytes(64))),
        (Network::V4, simple(Network::V4)),
        (Network::V6, Frames::of(Bytes(78))),
        (Network::V6, simple(Network::V6)),
    ];
    let streams: Vec<Stream> =
        frames.into_iter().map(|(network, frames)| stream(network, frames, Directions::Up)).collect();
    let mut setup =
        Setup::quick(&[Test::Throughput, Test::FrameLoss, Test::Reset, Test::Mrr], streams.clone());
    setup.max = Some(PacketRate(5_000_000));
    setup.goals = goals(&[("throughput", Goal::tst009()), ("pdr", Goal::pdr())]);
    setup.departures = vec!["frames go one way".into(), "trials of 500 ms".into()];
    let mut bridge = device("eth1 - eth2");
    let words = [
        (Some(4.1e6), None, vec![Irregular::NoUpperBound]),
        (Some(1.2e6), Some(1.5e6), vec![Irregular::LossInversion, Irregular::Unfinished]),
        (None, Some(1e4), vec![Irregular::NoLowerBound]),
        (Some(9e5), Some(9.1e5), vec![Irregular::Duplicates]),
    ];
    for (stream, (lower, upper, irregular)) in streams.iter().zip(words) {
        let mut row = StreamReport::new(stream.clone());
        row.ceiling = Some(Load(4.1e6));
        row.most = Some(Load(4.1e6));
        row.limit = Some(LoadLimit::Generator);
        row.flood = vec![flood(Direction::Up, 1_000_000, 990_000, 5_000)];
        row.rates = ["throughput", "pdr"].map(|goal| rate(goal, lower, upper, &irregular)).into();
        row.left_out =
            vec![LeftOut { test: Test::Reset, why: "nothing says how this device is reset".into() }];
        bridge.rows.push(row);
    }
    bridge.rows[0].loss = Some(losses(4.1e6, &[2.5, 0.0, 0.0], &[Irregular::GeneratorLimited]));
    bridge.rows[0].mrr = Some(MrrReport {
        offered: Load(4.1e6),
        forwarded: rates(4e6, &[0.98, 1.0, 1.02]),
        loss_ratio: 0.024,
    });
    bridge.voided = 7;
    bridge.tools[0].tried.insert(0, refused());
    bridge.tools[0].source = SourceKind::XskCopy;
    bridge.tools[0].tried[1].source = SourceKind::XskCopy;
    bridge.notes = vec!["eth2 has no offloads that could be switched off.".into()];
    finished(setup, vec![bridge])
}

/// Three devices, one of them not on this host, compared.
pub(super) fn several() -> DutReport {
    let streams: Vec<Stream> =
        [64, 1518].map(|size| stream(Network::V4, Frames::of(Bytes(size)), Directions::Up)).into();
    let mut setup = Setup::standard(&[Test::Throughput, Test::Mrr], streams.clone());
    setup.link = Some(BitRate(10_000_000_000));
    setup.link_is_nominal = true;
    setup.goals = goals(&[("throughput", Goal::rfc2544())]);
    setup.departures = Vec::new();
    let tested = |name: &str, pps: f64, shares: Option<bool>| {
        let mut device = device(name);
        device.shares_cpu = shares;
        let of = |stream: &Stream| {
            let mut row = StreamReport::new(stream.clone());
            let line = line_rate(&setup, stream);
            row.line_rate = Some(line);
            row.most = Some(line);
            row.limit = Some(LoadLimit::LineRate);
            let lower = pps.min(line.0);
            let full = if lower >= line.0 { vec![Irregular::NoUpperBound] } else { Vec::new() };
            row.rates = vec![rate("throughput", Some(lower), Some(lower * 1.005), &full)];
            row.rates[0].repeats = Some(rates(lower, &[0.98, 1.0, 1.02]));
            row.mrr =
                Some(MrrReport { offered: line, forwarded: rates(lower, &[0.6, 0.62]), loss_ratio: 0.4 });
            row
        };
        device.rows = streams.iter().map(of).collect();
        device
    };
    let gone = DeviceReport {
        unavailable: Some("not on this kernel: needs WireGuard (CONFIG_WIREGUARD)".into()),
        name: "wireguard".into(),
        ..DeviceReport::default()
    };
    let devices = vec![tested("direct", 4.1e6, None), tested("forward", 1.07e6, Some(true)), gone];
    let mut report = finished(setup, devices);
    report.comparisons = compare_devices(&report);
    report.notes = vec!["Generator and devices share 2 CPUs.".into()];
    report
}

/// Concludes each device, as the command does.
fn finished(setup: Setup, mut devices: Vec<DeviceReport>) -> DutReport {
    devices.iter_mut().for_each(|device| conclude(device, &setup));
    DutReport {
        schema: SCHEMA.into(),
        id: "a1b2c3d4".into(),
        started: Some(WallTime(1_790_000_000_000_000_000)),
        finished: Some(WallTime(1_790_003_600_000_000_000)),
        host: Some(Host {
            name: "box".into(),
            version: "pathmeter 0.1.0".into(),
            kernel: "Linux 6.18.0 x86_64".into(),
            cpu: "Example CPU".into(),
            cpus: 2,
            ..Host::default()
        }),
        setup,
        devices,
        comparisons: Vec::new(),
        notes: Vec::new(),
    }
}

fn device(name: &str) -> DeviceReport {
    let port = |name: &str, host: u8| PortFacts {
        name: name.into(),
        driver: Some("veth".into()),
        link: None,
        mtu: 1500,
        addresses: vec![[198, 18, 0, host].into()],
        cpu: Some(0),
        tunnel: None,
    };
    let tried = Tried {
        source: SourceKind::LiveFrames,
        sink: SinkKind::Xdp,
        frame: Bytes(64),
        sent: 10_000,
        received: 10_000,
        time: Nanos::from_millis(2),
        ceiling_pps: Some(PacketRate(4_100_000)),
        refused: None,
    };
    let tools =
        |way| Tools { way, source: SourceKind::LiveFrames, sink: SinkKind::Xdp, tried: vec![tried.clone()] };
    DeviceReport {
        name: name.into(),
        ports: vec![port("a/eth0", 1), port("b/eth0", 2)],
        tools: vec![tools(Direction::Up), tools(Direction::Down)],
        ..DeviceReport::default()
    }
}

fn refused() -> Tried {
    Tried {
        source: SourceKind::LiveFrames,
        sink: SinkKind::Xdp,
        frame: Bytes(64),
        sent: 10_000,
        received: 0,
        time: Nanos::from_millis(2),
        ceiling_pps: None,
        refused: Some("none of 10000 frames arrived: the device's driver loses live frames".into()),
    }
}

fn goals(named: &[(&str, Goal)]) -> Vec<NamedGoal> {
    named.iter().map(|(name, goal)| NamedGoal { name: (*name).into(), goal: goal.clone() }).collect()
}

fn stream(network: Network, frames: Frames, ways: Directions) -> Stream {
    Stream { network, frames, ways }
}

fn rate(goal: &str, lower: Option<f64>, upper: Option<f64>, irregular: &[Irregular]) -> RateReport {
    RateReport {
        goal: goal.into(),
        lower: lower.map(Load),
        upper: upper.map(Load),
        conditional_throughput: lower.map(Load),
        repeats: None,
        irregular: irregular.to_vec(),
        trials: 23,
    }
}

fn flood(way: Direction, sent: u64, received: u64, reordered: u64) -> WayObservation {
    let duration = Nanos::from_millis(500);
    WayObservation {
        way,
        result: TrialResult { intended: sent, sent, received, duplicates: 0, duration },
        time: duration,
        reordered,
        delays: None,
        variation: None,
        last_lost: None,
        silence: None,
        resumed: true,
    }
}

/// A row with a result of each test; a router of 1.07 Mpps, all directions together, that nearly fills the link with
/// large frames.
fn everything(stream: &Stream, setup: &Setup) -> StreamReport {
    let line = line_rate(setup, stream);
    let found = (1.07e6 / 2.0_f64).min(line.0);
    let full = found >= line.0 * 0.6;
    let lower = if full { line.0 } else { found };
    let mut row = StreamReport::new(stream.clone());
    row.line_rate = Some(line);
    row.ceiling = Some(Load(4.1e6));
    let most = Load(line.0.min(4.1e6));
    row.most = Some(most);
    row.limit = Some(if line.0 < 4.1e6 { LoadLimit::LineRate } else { LoadLimit::Generator });
    row.reference = Some("throughput".into());
    row.flood = vec![flood(Direction::Up, 500_000, 310_000, 0), flood(Direction::Down, 500_000, 305_000, 0)];
    let irregular = if full { vec![Irregular::NoUpperBound] } else { Vec::new() };
    row.rates = [("throughput", 1.0), ("ndr", 1.01), ("pdr", 1.05)]
        .map(|(goal, by)| rate(goal, Some((lower * by).min(line.0)), Some(lower * by * 1.005), &irregular))
        .into();
    row.mrr = Some(MrrReport {
        offered: most,
        forwarded: rates(lower, if full { &[2.0, 2.0] } else { &[1.24, 1.26, 1.25] }),
        loss_ratio: if full { 0.0 } else { 0.38 },
    });
    row.latency = [(10, 21), (50, 34), (90, 88), (100, 2_100)]
        .map(|(percent, micros)| latency(percent, Load(lower * f64::from(percent) / 100.0), micros))
        .into();
    let lost: &[f64] = if full { &[0.0, 0.0] } else { &[31.2, 23.4, 12.6, 0.04, 0.0, 0.0] };
    row.loss = Some(losses(most.0, lost, &[]));
    row.back_to_back =
        Some(bursts(most, if full { LoadLimit::LineRate } else { LoadLimit::Generator }, Load(lower)));
    row.recovery = Overload::of(Load(lower), most).map(|loads| {
        let times = [12, 14, 13].map(Nanos::from_micros).to_vec();
        RecoveryReport {
            loads,
            over_runs: over_runs(&[12e3, 14e3, 13e3]),
            times,
            unrecovered: u32::from(!full),
        }
    });
    row.reset = (stream.frames.name == "64").then(|| ResetReport {
        how: "its interfaces were taken down and up again".into(),
        load: Load(lower),
        runs: vec![
            ResetTime { by_time: Some(Nanos::from_millis(310)), by_loss: Some(Nanos::from_millis(312)) },
            ResetTime { by_time: Some(Nanos::from_millis(290)), by_loss: Some(Nanos::from_millis(291)) },
            ResetTime { by_time: None, by_loss: None },
        ],
    });
    row.delay_variation = Some(DelayVariationReport { load: Load(lower), ways: ways(variation) });
    row
}

fn ways<T>(of: fn(Direction) -> T) -> Vec<T> {
    vec![of(Direction::Up), of(Direction::Down)]
}

fn variation(way: Direction) -> DelayVariationWay {
    let packet = over_runs(&[41e3, 42e3, 45e3]).expect("there are runs");
    let inter_packet = Some(InterPacketVariation { min_ns: -38_000, median_ns: 12, max_ns: 40_100 });
    DelayVariationWay { way, packet, inter_packet }
}

fn over_runs(values: &[f64]) -> Option<OverRuns> {
    OverRuns::of(values)
}

fn latency(percent: u32, load: Load, micros: u64) -> LatencyReport {
    let way = |way, more: u64| {
        let at = |tenths: u64| Nanos(((micros + more) * 1000) * tenths / 10);
        let (typical, worst) = (at(10).0 as f64, at(40).0 as f64);
        LatencyWay {
            way,
            delays: Distribution {
                count: 64_000,
                min: at(5),
                mean: at(11),
                stddev: at(3),
                p50: at(10),
                p90: at(18),
                p99: at(30),
                p999: at(40),
                p9999: at(60),
                max: at(90),
            },
            typical: over_runs(&[typical, typical * 0.98, typical * 1.03]),
            worst_case: over_runs(&[worst, worst * 1.1, worst * 1.4]),
            store_and_forward: Some(at(10) - Nanos(102)),
            bit_forwarding: Some(at(10) - Nanos(51)),
            lost: if percent == 100 { 3 } else { 0 },
        }
    };
    LatencyReport { percent, load, ways: vec![way(Direction::Up, 0), way(Direction::Down, 1)] }
}

fn losses(most: f64, percents: &[f64], irregular: &[Irregular]) -> LossStepsOutcome {
    let step = |(index, loss_percent): (usize, &f64)| {
        let offered_percent = 100.0 - 10.0 * index as f64;
        let sent = (most * offered_percent * 0.6) as u64;
        let received = sent - (sent as f64 * loss_percent / 100.0) as u64;
        LossStep {
            load: Load(most * offered_percent / 100.0),
            offered_percent,
            loss_percent: *loss_percent,
            result: TrialResult {
                intended: sent,
                sent,
                received,
                duplicates: 0,
                duration: Nanos::from_secs(60),
            },
        }
    };
    LossStepsOutcome { rows: percents.iter().enumerate().map(step).collect(), irregular: irregular.to_vec() }
}

fn bursts(rate: Load, limit: LoadLimit, throughput: Load) -> BackToBackReport {
    let outcome = BackToBackOutcome {
        bursts: vec![1_190, 1_200, 1_213],
        least: Some(1_190),
        mean: Some(1_201.0),
        most: Some(1_213),
        stddev: Some(11.53),
        irregular: if rate == throughput { vec![Irregular::NoUpperBound] } else { Vec::new() },
    };
    let buffer = outcome.buffer(rate, throughput);
    BackToBackReport { rate, limit, outcome, buffer }
}

/// Of trials that forward so many times a rate.
fn rates(rate: f64, factors: &[f64]) -> Rates {
    let trials: Vec<f64> = factors.iter().map(|factor| rate * factor).collect();
    Rates::of(&trials).expect("there are trials")
}

fn line_rate(setup: &Setup, stream: &Stream) -> Load {
    setup.line_rate(stream).expect("frames of Ethernet").expect("the link is known")
}

fn profile() -> Profile {
    Profile {
        committed: BitRate(200_000_000),
        excess: BitRate(50_000_000),
        loss: 0.001,
        delay: Nanos::from_millis(5),
        variation: Nanos::from_millis(1),
        policing_margin: 0.01,
        availability: 0.9999,
    }
}

/// The device polices at 230 instead of 250 Mbit/s, and its delay is too long at the committed rate.
fn service(stream: &Stream, setup: &Setup) -> ServiceReport {
    let profile = setup.service.expect("a service");
    let step = |step: &model::dut::y1564::Step| {
        let received = step.offered.min(BitRate(230_000_000));
        let observed = Observed {
            received,
            loss: 1.0 - received.0 as f64 / step.offered.0 as f64,
            delay: Some(Nanos::from_micros(step.offered.0 / 36_000)),
            variation: Some(Nanos::from_micros(310)),
        };
        ServiceStep { step: *step, observed, misses: profile.misses(step, &observed) }
    };
    let steps: Vec<ServiceStep> = profile.steps().iter().map(step).collect();
    ServiceReport {
        stream: stream.clone(),
        performance: steps.get(2).cloned(),
        steps,
        availability: Some(1.0),
        passed: false,
        notes: vec!["The performance test ran at three quarters of the committed rate.".into()],
    }
}

fn hops() -> Vec<HopDrops> {
    let hop = |node: &str, interface: &str, received, sent, drops: &[(&str, u64)]| HopDrops {
        node: node.into(),
        interface: interface.into(),
        frame: Bytes(64),
        received,
        sent,
        drops: drops.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    };
    vec![
        hop("a", "eth0", 305_000, 500_000, &[]),
        hop("router", "to-a", 320_000, 305_000, &[("rx_dropped", 180_000), ("softnet", 9_000)]),
        hop("router", "to-b", 500_000, 310_000, &[("tx_dropped", 1_000)]),
        hop("b", "eth0", 310_000, 500_000, &[]),
    ]
}
