//! Reports of devices: a simulated router of 1.7 Mpps, and devices that cannot be measured well.

use super::tester::Bench;
use insight::device::conclude;
use model::dut::y1564::{Observed, Profile};
use model::dut::{
    Alone, DeviceReport, DirectionObservation, DutReport, Frames, HopDrops, LeftOut, LoadLimit, MrrReport,
    NamedGoal, PortFacts, RateReport, Rates, ResetTime, SCHEMA, ServiceReport, ServiceStep, Setup, SinkKind,
    SourceKind, Stream, StreamReport, Test, Tools, Tried, compare_devices,
};
use model::framing::{Imix, Network};
use model::host::Host;
use model::plan::{Direction, Directions};
use model::search::{Goal, Irregular, Load, LossStep, LossStepsOutcome, TrialResult};
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

/// Every test of a router, both directions at once, over a link of 10 Gbit/s.
pub(super) fn full() -> DutReport {
    let streams: Vec<Stream> = [64, 512, 1518]
        .map(|size| stream(Network::V4, Frames::for_payload(Bytes(size)), Directions::Both))
        .into();
    let mut setup = Setup::standard(&ALL, streams.clone());
    setup.link = Some(BitRate(10_000_000_000));
    setup.service = Some(profile());
    setup.goals = goals(&[("throughput", Goal::rfc2544()), ("ndr", Goal::ndr()), ("pdr", Goal::pdr())]);
    let bench =
        Bench { queue: 1_200, collapse: 0.6, recovery: Nanos::from_micros(2_200), ..Bench::new(1.7e6) };
    let mut router = device("router");
    router.title = Some("a router of two cores".into());
    router.rows = bench.run(&without_service(&setup)).0;
    router.rows.iter_mut().for_each(reset_by_interfaces);
    router.service = Some(service(&streams[1], &setup));
    router.hops = hops(&bench.flood(&streams[0], Nanos::from_millis(100)));
    router.shares_cpu = Some(false);
    finished(setup, vec![router])
}

/// The others are not policed.
fn without_service(setup: &Setup) -> Setup {
    let tests = ALL.into_iter().filter(|test| *test != Test::Service).collect();
    Setup { tests, service: None, ..setup.clone() }
}

/// As the command names what it did.
fn reset_by_interfaces(row: &mut StreamReport) {
    if let Some(reset) = &mut row.reset {
        reset.how = "its interfaces were taken down and up again".into();
        // One of the runs never ended.
        if let Some(last) = reset.runs.last_mut() {
            *last = ResetTime { by_time: None, by_loss: None };
        }
    }
}

/// A look at a device that cannot be measured well, over a link of unknown speed.
pub(super) fn quick() -> DutReport {
    let simple = |network| Frames::mix("imix", &Imix::simple(network));
    let frames = [
        (Network::V4, Frames::for_payload(Bytes(64))),
        (Network::V4, simple(Network::V4)),
        (Network::V6, Frames::for_payload(Bytes(78))),
        (Network::V6, simple(Network::V6)),
    ];
    let streams: Vec<Stream> =
        frames.into_iter().map(|(network, frames)| stream(network, frames, Directions::Up)).collect();
    let mut setup =
        Setup::quick(&[Test::Throughput, Test::FrameLoss, Test::Reset, Test::Mrr], streams.clone());
    setup.max = Some(PacketRate(5_000_000));
    let verified = Goal { exceed_ratio: 0.5, duration_sum: Nanos::from_secs(120), ..Goal::rfc2544() };
    setup.goals = goals(&[("throughput", verified), ("pdr", Goal::pdr())]);
    let mut bridge = device("eth1 - eth2");
    let remarks = [
        (Some(4.1e6), None, vec![Irregular::NoUpperBound]),
        (Some(1.2e6), Some(1.5e6), vec![Irregular::LossInversion, Irregular::Unfinished]),
        (None, Some(1e4), vec![Irregular::NoLowerBound]),
        (Some(9e5), Some(9.1e5), vec![Irregular::Duplicates]),
    ];
    for (stream, (lower, upper, irregular)) in streams.iter().zip(remarks) {
        let mut row = StreamReport { stream: stream.clone(), ..StreamReport::default() };
        row.ceiling = Some(Load(4.1e6));
        row.most = Some(Load(4.1e6));
        row.limit = Some(LoadLimit::Generator);
        row.flood = vec![flood(Direction::Up, 1_000_000, 990_000, 5_000)];
        row.rates = ["throughput", "pdr"].map(|goal| rate(goal, lower, upper, &irregular)).into();
        row.left_out =
            vec![LeftOut { test: Test::Reset, why: "nothing reports how this device is reset".into() }];
        bridge.rows.push(row);
    }
    bridge.rows[0].loss = Some(losses(4.1e6, &[2.5, 0.0, 0.0], &[Irregular::GeneratorLimited]));
    bridge.rows[0].mrr = Some(MrrReport {
        offered: Load(4.1e6),
        forwarded: rates(4.1e6, &[0.98, 0.97, 0.975]),
        loss_ratio: 0.025,
    });
    (bridge.voided, bridge.kept) = (7, 56);
    bridge.tools[0].tried.insert(0, refused());
    bridge.tools[0].source = SourceKind::XskCopy;
    bridge.tools[0].tried[1].source = SourceKind::XskCopy;
    bridge.notes = vec!["eth2 has no offloads that could be switched off.".into()];
    finished(setup, vec![bridge])
}

/// Three devices, one of them not on this host, compared.
pub(super) fn several() -> DutReport {
    let streams: Vec<Stream> =
        [64, 1518].map(|size| stream(Network::V4, Frames::for_payload(Bytes(size)), Directions::Up)).into();
    let mut setup = Setup::standard(&[Test::Throughput, Test::Mrr], streams.clone());
    setup.link = Some(BitRate(10_000_000_000));
    setup.link_is_nominal = true;
    setup.goals = goals(&[("throughput", Goal::rfc2544())]);
    let tested = |name: &str, capacity: f64, shares: Option<bool>| {
        let mut device = device(name);
        device.shares_cpu = shares;
        device.rows = Bench::new(capacity).run(&setup).0;
        device
    };
    let gone = DeviceReport {
        unavailable: Some("not on this kernel: needs WireGuard (CONFIG_WIREGUARD)".into()),
        name: "wireguard".into(),
        ..DeviceReport::default()
    };
    let devices = vec![tested("direct", 20e6, None), tested("forward", 1.07e6, Some(true)), gone];
    let mut report = finished(setup, devices);
    report.comparisons = compare_devices(&report);
    report.notes = vec!["Generator and devices share 2 CPUs.".into()];
    report
}

/// Concludes each device, as the command does.
fn finished(mut setup: Setup, mut devices: Vec<DeviceReport>) -> DutReport {
    setup.departures = setup.find_departures();
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
        expectations: Vec::new(),
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
    let tools = |direction| Tools {
        direction,
        source: SourceKind::LiveFrames,
        sink: SinkKind::Xdp,
        tried: vec![tried.clone()],
        alone: (direction == Direction::Up).then_some(Alone {
            frame: Bytes(64),
            same: PacketRate(7_100_000),
            one_flow: PacketRate(8_600_000),
        }),
    };
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

fn stream(network: Network, frames: Frames, directions: Directions) -> Stream {
    Stream { network, frames, directions }
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

fn flood(direction: Direction, sent: u64, received: u64, reordered: u64) -> DirectionObservation {
    let duration = Nanos::from_millis(500);
    DirectionObservation {
        direction,
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

/// Of trials that forward so many times a rate.
fn rates(rate: f64, factors: &[f64]) -> Rates {
    let trials: Vec<f64> = factors.iter().map(|factor| rate * factor).collect();
    Rates::from_frames_per_second(&trials).expect("there are trials")
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

/// Where the frames of a flood were counted: most upwards are lost where they come in, downwards all but a few.
fn hops(flood: &[DirectionObservation]) -> Vec<HopDrops> {
    let hop = |node: &str, interface: &str, received, sent, drops: &[(&str, u64)]| HopDrops {
        node: node.into(),
        interface: interface.into(),
        frame: Bytes(64),
        received,
        sent,
        drops: drops.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
    };
    let [up, down] = [flood[0].result, flood[1].result];
    let (softnet, queue) = (9_000, 1_000);
    let in_ring = |direction: TrialResult| direction.sent - direction.received - softnet - queue;
    let ring = |direction: TrialResult| {
        [("rx_dropped", in_ring(direction)), ("softnet", softnet), ("tx_dropped", queue)]
    };
    vec![
        hop("a", "eth0", down.received, up.sent, &[]),
        hop("router", "to-a", up.sent - in_ring(up), down.received, &ring(up)),
        hop("router", "to-b", down.sent - in_ring(down), up.received, &ring(down)),
        hop("b", "eth0", up.received, down.sent, &[]),
    ]
}
