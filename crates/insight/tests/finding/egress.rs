//! Latency runs made from events, for the tests of findings and verdicts.

use model::event::{Event, Finished, Outcome};
use model::host::Host;
use model::latency::{
    Cause, Counted, EgressEnds, EgressPath, EgressResult, HostNoise, LatencyMode, LatencyPlan,
    LatencyProtocol, LatencyResult, LatencyStarted, LoadPhase, LoadResult, Outlier, SocketSetup,
    ToolBaseline, WaitMode,
};
use model::limit::LoadProbing;
use model::plan::{Directions, End, Target, Transport};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::time::WallTime;
use model::units::{BitRate, Nanos, PacketRate};
use pathmeter_insight::run_of_events;
use std::net::SocketAddr;

/// A latency run of ten seconds, to be bent in one place.
pub(crate) struct LatencyFixture {
    pub(crate) plan: LatencyPlan,
    pub(crate) egress_paths: Vec<EgressResult>,
    pub(crate) noise: HostNoise,
    pub(crate) floor: Option<ToolBaseline>,
    pub(crate) loaded: Option<LoadResult>,
    /// Observations of a load after the phases.
    pub(crate) load_probing: Option<LoadProbing>,
    pub(crate) outcome: Outcome,
}

impl LatencyFixture {
    /// A LAN: 200 000 round trips of 20 µs, and one of 400 µs as every host makes them.
    pub(crate) fn lan() -> LatencyFixture {
        let rtt = times([18, 20, 22, 30, 60, 150, 400], 200_000);
        LatencyFixture::with_egress_paths(vec![egress_result("far", rtt)])
    }

    pub(crate) fn with_egress_paths(egress_paths: Vec<EgressResult>) -> LatencyFixture {
        let plan = plan(&egress_paths);
        LatencyFixture {
            plan,
            egress_paths,
            noise: HostNoise::default(),
            floor: None,
            loaded: None,
            load_probing: None,
            outcome: Outcome::Completed,
        }
    }

    /// The five egress paths of the fixtures, `sockperf-tcp-350-*.txt`: nanoseconds of min, p50, p90, p99, max, mean, stddev.
    pub(crate) fn fixtures() -> LatencyFixture {
        let rows: [(&str, u64, [u64; 7]); 5] = [
            (
                "default-snat",
                261,
                [382_767_135, 383_300_799, 383_977_743, 385_171_272, 390_394_628, 383_460_308, 659_343],
            ),
            (
                "public-ip",
                261,
                [381_988_746, 382_525_008, 383_291_989, 385_135_128, 386_769_649, 382_677_430, 621_476],
            ),
            (
                "load-balancer-outbound",
                259,
                [385_127_088, 385_642_328, 386_284_741, 387_222_430, 392_620_433, 385_770_944, 593_303],
            ),
            (
                "nat-gateway",
                260,
                [384_332_180, 384_864_144, 385_466_217, 386_800_495, 398_506_853, 385_027_305, 976_902],
            ),
            (
                "azure-firewall-snat",
                258,
                [383_961_904, 384_849_965, 385_879_797, 400_546_401, 975_994_156, 387_909_824, 37_282_025],
            ),
        ];
        LatencyFixture::with_egress_paths(
            rows.map(|(label, count, figures)| egress_result(label, fixture(count, figures))).into(),
        )
    }

    pub(crate) fn with(mut self, bend: impl FnOnce(&mut LatencyFixture)) -> LatencyFixture {
        bend(&mut self);
        self
    }

    pub(crate) fn first(&mut self) -> &mut EgressResult {
        &mut self.egress_paths[0]
    }

    /// The longest round trip of the first egress path, and its cause.
    pub(crate) fn longest(mut self, rtt: Nanos, cause: Cause) -> LatencyFixture {
        let direction = self.first();
        direction.rtt.as_mut().expect("round trips").max = rtt;
        direction.outliers.push(Outlier { at: Nanos::ZERO, rtt, host: Nanos::ZERO, cause });
        self
    }

    /// Medians, in milliseconds, idle and under the load.
    pub(crate) fn load(mut self, load: Directions, idle: u64, under_load: u64) -> LatencyFixture {
        let milliseconds = |ms: u64| times([ms * 1000; 7], 100);
        let phase =
            |load, ms| LoadPhase { rtt: Some(milliseconds(ms)), up: Some(BitRate(9_400_000)), ..phase(load) };
        let phases = vec![phase(None, idle), phase(Some(load), under_load)];
        self.loaded = Some(LoadResult { phases, series: Vec::new() });
        self
    }

    pub(crate) fn run(self) -> Run {
        let begun = LatencyStarted {
            wall: WallTime(10_000_000_000),
            plan: self.plan,
            ends: self.egress_paths.iter().map(|egress| egress.ends.clone()).collect(),
            host: Host { name: "near".into(), ..Host::default() },
        };
        let result = LatencyResult {
            egress_paths: self.egress_paths,
            floor: self.floor,
            noise: self.noise,
            cpu_share: 1.0,
        };
        let mut events = vec![Event::LatencyStarted(Box::new(begun)), Event::Latency(Box::new(result))];
        events.extend(self.loaded.map(|load| Event::Load(Box::new(load))));
        events.extend(self.load_probing.map(|load| Event::LoadProbing(Box::new(load))));
        events.push(Event::Finished(Finished {
            wall: WallTime(20_000_000_000),
            elapsed: Nanos::from_secs(10),
            outcome: self.outcome,
        }));
        run_of_events("1", "latency", &events)
    }
}

/// A phase without figures.
pub(crate) fn phase(load: Option<Directions>) -> LoadPhase {
    serde_json::from_value(serde_json::json!({
        "load": load, "rtt_ns": null, "sent": 100, "lost": 0, "up_bps": null, "down_bps": null,
    }))
    .expect("a phase")
}

pub(crate) fn egress_result(label: &str, rtt: Distribution) -> EgressResult {
    let counted = Counted { sent: rtt.count, asked: rtt.count, received: rtt.count, ..Counted::default() };
    let remote: SocketAddr = ([192, 0, 2, 7], 5210).into();
    EgressResult {
        label: label.into(),
        host: "far.example".into(),
        ends: EgressEnds {
            local: ([192, 0, 2, 1], 40_000).into(),
            remote,
            seen_as: None,
            peer: None,
            far_wait: None,
        },
        elapsed: Nanos::from_secs(10),
        counted,
        warm_up: Nanos::ZERO,
        warm_up_count: 0,
        level: None,
        rtt: Some(rtt),
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
        sent_rate: PacketRate(rtt.count / 10),
        received_rate: None,
    }
}

/// Microseconds of min, p50, p90, p99, p99.9, p99.99 and max.
pub(crate) fn times(micros: [u64; 7], count: u64) -> Distribution {
    let [min, p50, p90, p99, p999, p9999, max] = micros.map(Nanos::from_micros);
    Distribution {
        count,
        min,
        mean: p50,
        stddev: Nanos::ZERO,
        p50,
        p90,
        p99,
        p999,
        p9999,
        max,
        ..Distribution::default()
    }
}

fn fixture(count: u64, figures: [u64; 7]) -> Distribution {
    let [min, p50, p90, p99, max, mean, stddev] = figures.map(Nanos);
    Distribution {
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
    }
}

fn plan(egress_paths: &[EgressResult]) -> LatencyPlan {
    let target = || Target { host: "far.example".into(), address: ([192, 0, 2, 7], 5210).into() };
    let planned = |egress: &EgressResult| EgressPath {
        label: egress.label.clone(),
        target: target(),
        bind: None,
        port: None,
        device: None,
    };
    LatencyPlan {
        egress_paths: egress_paths.iter().map(planned).collect(),
        protocol: LatencyProtocol::Native,
        mode: LatencyMode::PingPong,
        transport: Transport::Udp,
        size: 64,
        sizes: None,
        burst: 1,
        compare: false,
        rate: None,
        reply_every: 1,
        end: End::Time(Nanos::from_secs(10)),
        warm_up: None,
        timeout: None,
        interval: Nanos::from_secs(1),
        wait: WaitMode::Spin,
        wait_reason: String::new(),
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

/// A load up that was capped at 50 Mbit/s, with 60 ms of queue at the second link.
pub(crate) fn capped() -> LoadProbing {
    let step = |purpose: &str, size: u32, sent: u64, delivered: u64, queue_ms: u64| {
        let queue = queue_ms * 1_000_000;
        serde_json::json!({
            "purpose": purpose, "size": size, "sent_bps": sent, "delivered_bps": delivered, "datagrams": 400,
            "loss": 1.0 - delivered as f64 / sent as f64, "growth_ns": queue, "growth_p10_ns": queue, "growth_first_ns": queue,
            "spread_ns": 0, "growth_p98_ns": queue, "growth_max_ns": queue, "sparse": 0, "marked": 0.0, "stalled": 0.0,
        })
    };
    let hot = || step("hot", 1472, 106_500_000, 50_000_000, 60);
    serde_json::from_value(serde_json::json!({
        "direction": "up", "saturated": true, "host_drops": 0, "place": {"first": 2, "last": 2}, "elapsed_ns": 3_000_000_000_u64,
        "steps": [
            step("ladder", 1472, 62_500_000, 50_000_000, 60), hot(), hot(),
            step("lower", 1472, 65_000_000, 50_000_000, 60), step("higher", 1472, 155_000_000, 50_000_000, 60), hot(),
            step("four_flows", 1472, 106_500_000, 50_000_000, 60), step("small", 214, 17_000_000, 17_000_000, 0),
            step("idle", 26, 40_000, 40_000, 0),
        ],
    }))
    .expect("a load")
}
