//! Every rule: a device of which it must be raised, and one, close to it, of which it must not.

use super::*;
use model::dut::y1564::{Kind, Miss, Observed, Step};
use model::dut::{
    DirectionObservation, Frames, LatencyDirection, LatencyReport, LeftOut, LoadLimit, MrrReport, RateReport,
    Rates, ServiceReport, ServiceStep, Stream, Test,
};
use model::finding::{Severity, Status, Verdict};
use model::framing::Network;
use model::limit::LimitKind;
use model::plan::{Direction, Directions};
use model::search::{Irregular, Load, LossStep, LossStepsOutcome, TrialResult};
use model::stats::distribution::Distribution;
use model::units::{BitRate, Bytes, Nanos};

struct Scenario {
    id: &'static str,
    name: &'static str,
    change: fn(&mut DeviceReport),
    raised: bool,
}

const fn raises(id: &'static str, name: &'static str, change: fn(&mut DeviceReport)) -> Scenario {
    Scenario { id, name, change, raised: true }
}

const fn spares(id: &'static str, name: &'static str, change: fn(&mut DeviceReport)) -> Scenario {
    Scenario { id, name, change, raised: false }
}

const SCENARIOS: &[Scenario] = &[
    raises("no-forwarding", "nothing came in the flood down", |d| d.rows[0].flood[1].result.received = 0),
    spares("no-forwarding", "one frame came", |d| d.rows[0].flood[1].result.received = 1),
    spares("no-forwarding", "nothing was sent", |d| {
        d.rows[0].flood[1].result = TrialResult { received: 0, sent: 0, ..d.rows[0].flood[1].result };
    }),
    raises("device-loses-at-low-rate", "the least load failed", |d| no_rate(d, Irregular::NoLowerBound)),
    spares("device-loses-at-low-rate", "nothing crosses at all", |d| {
        no_rate(d, Irregular::NoLowerBound);
        d.rows[0].flood.iter_mut().for_each(|one_way| one_way.result.received = 0);
        d.rows[0].mrr = None;
    }),
    spares("device-loses-at-low-rate", "it failed for frames that came twice", |d| {
        no_rate(d, Irregular::NoLowerBound);
        d.rows[0].rates[0].irregular.push(Irregular::Duplicates);
    }),
    raises("random-loss", "one of 2000 at every load", |d| {
        stepped(d, [50, 51, 48, 52, 49, 50, 47, 53, 50, 50])
    }),
    spares("random-loss", "loss grows with the load", |d| {
        stepped(d, [0, 0, 0, 0, 0, 0, 50, 500, 5_000, 9_000])
    }),
    spares("random-loss", "a load in between loses more", |d| {
        stepped(d, [50, 51, 300, 52, 49, 50, 47, 53, 50, 50])
    }),
    spares("random-loss", "the test of frame loss was not made", |d| irregular(d, Irregular::NoUpperBound)),
    raises("service-failed", "too little came at the committed rate", |d| d.service = Some(service(90))),
    spares("service-failed", "all of it came", |d| d.service = Some(service(100))),
    raises("host-noise", "a fifth of the trials", |d| d.voided = 6),
    spares("host-noise", "two trials", |d| d.voided = 2),
    spares("device-loses-at-low-rate", "the host spoilt most trials", |d| {
        no_rate(d, Irregular::NoLowerBound);
        d.voided = 60;
    }),
    spares("host-noise", "a few of very many", |d| {
        d.voided = 6;
        d.kept = 200;
    }),
    raises("shares-cpu", "the same CPU", |d| d.shares_cpu = Some(true)),
    spares("shares-cpu", "another CPU", |d| d.shares_cpu = Some(false)),
    spares("shares-cpu", "no rate was found", |d| {
        d.shares_cpu = Some(true);
        no_rate(d, Irregular::Unfinished);
        d.rows[0].mrr = None;
    }),
    raises("generator-bound", "the most that the generator has passed", |d| {
        irregular(d, Irregular::NoUpperBound)
    }),
    raises("generator-bound", "the generator fell short below line rate", |d| {
        d.rows[0].limit = Some(LoadLimit::LineRate);
        irregular(d, Irregular::GeneratorLimited);
    }),
    spares("generator-bound", "the link is full", full),
    spares("generator-bound", "no more was asked for", |d| {
        d.rows[0].limit = Some(LoadLimit::Asked);
        irregular(d, Irregular::NoUpperBound);
    }),
    spares("generator-bound", "the device holds it back on its CPU", |d| {
        d.shares_cpu = Some(true);
        irregular(d, Irregular::NoUpperBound);
    }),
    raises("search-unfinished", "the time ran out", |d| irregular(d, Irregular::Unfinished)),
    spares("search-unfinished", "the bounds are close", |_| {}),
    raises("overload-collapse", "half of the rate", |d| forwarded(d, &[0.5e6, 0.51e6])),
    spares("overload-collapse", "five percent less", |d| forwarded(d, &[0.95e6, 0.95e6])),
    spares("overload-collapse", "as much within the scatter", |d| forwarded(d, &[0.5e6, 1.1e6])),
    spares("overload-collapse", "the generator offered no more", |d| {
        forwarded(d, &[0.5e6, 0.51e6]);
        d.rows[0].mrr.as_mut().expect("just made").loss_ratio = 0.0;
    }),
    spares("overload-collapse", "both directions count together", |d| {
        d.rows[0].stream.directions = Directions::Both;
        forwarded(d, &[1.95e6, 1.96e6]);
    }),
    raises("overload-collapse", "one of both directions is lost", |d| {
        d.rows[0].stream.directions = Directions::Both;
        forwarded(d, &[1.1e6, 1.12e6]);
    }),
    raises("loss-inversion", "a higher load passes", |d| irregular(d, Irregular::LossInversion)),
    spares("loss-inversion", "it does not", |_| {}),
    raises("duplicates", "in the search", |d| irregular(d, Irregular::Duplicates)),
    raises("duplicates", "in the flood", |d| d.rows[0].flood[0].result.duplicates = 9),
    spares("duplicates", "each frame once", |d| d.rows[0].flood[0].result.received = 1_000_000),
    raises("reordering", "one in a hundred", |d| d.rows[0].flood[0].reordered = 10_000),
    spares("reordering", "one in ten thousand", |d| d.rows[0].flood[0].reordered = 60),
    raises("direction-asymmetric", "half of it down", |d| d.rows[0].flood[1].result.received = 300_000),
    spares("direction-asymmetric", "nearly as much", |d| d.rows[0].flood[1].result.received = 550_000),
    spares("direction-asymmetric", "the generator is the slower one", |d| {
        d.rows[0].flood[1].result =
            TrialResult { sent: 300_000, received: 300_000, ..d.rows[0].flood[1].result };
    }),
    raises("latency-cliff", "hundred times the idle median", |d| d.rows[0].latency = latency(20, 2_000)),
    spares("latency-cliff", "three times", |d| d.rows[0].latency = latency(2_000, 6_000)),
    spares("latency-cliff", "twenty times of nearly nothing", |d| d.rows[0].latency = latency(2, 40)),
    raises("at-line-rate", "the rate of the link", full),
    spares("at-line-rate", "a tenth below", |d| d.rows[0].line_rate = Some(Load(1.12e6))),
    spares("at-line-rate", "a link of unknown speed", |d| d.rows[0].line_rate = None),
];

#[test]
fn each_rule_raises_and_spares() {
    for scenario in SCENARIOS {
        let device = concluded(scenario.change);
        let found = device.findings.iter().filter(|finding| finding.id == scenario.id);
        let count = found.clone().count();
        assert_eq!(count > 0, scenario.raised, "{} of {}: {:?}", scenario.id, scenario.name, device.findings);
        for finding in found {
            assert!(!finding.title.ends_with('.') && !finding.evidence.is_empty(), "{finding:?}");
            assert!(finding.title.chars().next().is_some_and(|c| c.is_uppercase() || c.is_numeric()));
        }
    }
    for rule in RULES {
        for raised in [true, false] {
            let has = SCENARIOS.iter().any(|one| one.id == rule.id && one.raised == raised);
            assert!(has, "{} lacks a scenario that {}", rule.id, if raised { "raises" } else { "spares" });
        }
    }
}

#[test]
fn a_clean_device_has_no_finding() {
    let device = concluded(|_| {});
    assert_eq!(device.findings, []);
    let text = "Throughput 1.00 Mpps of 64-byte frames (6.72 % of line rate).";
    assert_eq!(device.verdict, Verdict { status: Status::Ok, text: text.into() });
}

#[test]
fn the_worst_comes_first_and_leads_the_verdict() {
    let device = concluded(|d| {
        d.shares_cpu = Some(true);
        d.service = Some(service(90));
        full(d);
    });
    let ids: Vec<&str> = device.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["service-failed", "shares-cpu", "at-line-rate"]);
    assert_eq!(device.findings[0].severity, Severity::Problem);
    assert_eq!(device.verdict.status, Status::Problem);
    assert!(
        device
            .verdict
            .text
            .contains("The service breaks its promises within its committed rate, at 100 Mbit/s.")
    );
}

#[test]
fn what_was_not_measured_is_void() {
    let unavailable = concluded(|d| {
        d.rows.clear();
        d.unavailable = Some("no such interface.".into());
    });
    let dead = concluded(|d| {
        no_rate(d, Irregular::NoLowerBound);
        d.rows[0].mrr = None;
        d.rows[0].latency.clear();
        d.rows[0].flood.iter_mut().for_each(|direction| direction.result.received = 0);
    });
    let left = concluded(|d| {
        d.rows = vec![StreamReport { stream: d.rows[0].stream.clone(), ..StreamReport::default() }];
        d.rows[0].left_out =
            vec![LeftOut { test: Test::Throughput, why: "The generator sent no frame".into() }];
    });
    let nothing = concluded(|d| d.rows.clear());
    for (device, text) in [
        (unavailable, "The device was not tested: no such interface."),
        (dead, "Nothing was measured: the device forwarded none of the 64-byte frames up."),
        (left, "Nothing was measured: the generator sent no frame."),
        (nothing, "Nothing was measured: no trial was finished."),
    ] {
        assert_eq!((device.verdict.status, device.verdict.text.as_str()), (Status::Void, text));
    }
}

#[test]
fn figures_that_the_host_spoilt_are_void() {
    let spoilt = |voided| {
        concluded(move |d| {
            (d.voided, d.kept) = (voided, 55);
            no_rate(d, Irregular::NoLowerBound);
        })
    };
    let device = spoilt(92);
    assert_eq!(device.verdict.status, Status::Void);
    assert!(device.verdict.text.contains("this host spoilt 92 trials (62.6 %)"), "{}", device.verdict.text);
    assert!(device.findings.iter().all(|finding| finding.id == "host-noise"), "{:?}", device.findings);
    assert_eq!(
        spoilt(20).verdict.status,
        Status::Problem,
        "a quarter is a warning beside the device's fault"
    );
    let found = concluded(|d| (d.voided, d.kept) = (92, 55));
    assert_eq!(
        found.verdict.status,
        Status::Degraded,
        "a rate that was found stands: {}",
        found.verdict.text
    );
    let few = concluded(|d| (d.voided, d.kept) = (9, 9));
    assert_ne!(few.verdict.status, Status::Void, "half of a few trials were repeated, and stand");
}

#[test]
fn a_stream_without_a_figure_is_reported_beside_the_others() {
    let device = concluded(|d| {
        let mut other = StreamReport { stream: d.rows[0].stream.clone(), ..StreamReport::default() };
        other.stream.network = Network::V6;
        other.left_out = vec![LeftOut { test: Test::Throughput, why: "none came out of the device".into() }];
        d.rows.push(other);
    });
    assert_eq!(device.verdict.status, Status::Degraded);
    let text = &device.verdict.text;
    assert!(text.ends_with("Nothing was measured of IPv6 64: none came out of the device."), "{text}");
}

#[test]
fn frames_are_named_with_their_ip_version_where_both_were_tested() {
    let device = concluded(|d| {
        let mut other = d.rows[0].clone();
        other.stream.network = Network::V6;
        other.stream.frames.name = "imix".into();
        d.rows.push(other);
        d.rows.iter_mut().for_each(|row| row.rates[0].irregular = vec![Irregular::NoUpperBound]);
    });
    let finding = &device.findings[0];
    let title = "The generator, not the device, set the limit for 64-byte frames of IPv4 and imix frames of IPv6: the device \
                 forwards 1.00 Mpps or more";
    assert_eq!((finding.id.as_str(), finding.title.as_str()), ("generator-bound", title));
    assert_eq!(finding.evidence["ipv4_64_pps"], 1_000_000);
    assert_eq!(finding.evidence["ipv6_imix_pps"], 1_000_000);
    assert!(device.verdict.text.starts_with("Throughput at least 1.00 Mpps of 64-byte frames"));
}

/// A router of a million frames per second over 10 Gbit/s, with the change, concluded.
fn concluded(change: impl FnOnce(&mut DeviceReport)) -> DeviceReport {
    let stream =
        Stream { network: Network::V4, frames: Frames::for_payload(Bytes(64)), directions: Directions::Up };
    let setup = Setup::standard(&[Test::Throughput], vec![stream.clone()]);
    let mut row = StreamReport { stream, ..StreamReport::default() };
    row.line_rate = Some(Load(14_880_952.0));
    row.most = Some(Load(4e6));
    row.limit = Some(LoadLimit::Generator);
    row.flood = vec![flood(Direction::Up), flood(Direction::Down)];
    row.rates = vec![RateReport {
        goal: "throughput".into(),
        lower: Some(Load(1e6)),
        upper: Some(Load(1.005e6)),
        conditional_throughput: Some(Load(1e6)),
        repeats: None,
        irregular: Vec::new(),
        trials: 23,
    }];
    row.latency = latency(20, 60);
    let mut device =
        DeviceReport { name: "router".into(), rows: vec![row], kept: 23, ..DeviceReport::default() };
    forwarded(&mut device, &[1.1e6, 1.12e6]);
    change(&mut device);
    conclude(&mut device, &setup);
    device
}

fn flood(direction: Direction) -> DirectionObservation {
    let duration = Nanos::from_millis(500);
    let result =
        TrialResult { intended: 1_000_000, sent: 1_000_000, received: 600_000, duplicates: 0, duration };
    DirectionObservation {
        direction,
        result,
        time: duration,
        reordered: 0,
        delays: None,
        variation: None,
        last_lost: None,
        silence: None,
        resumed: true,
    }
}

/// The frames lost of 100,000 at 10 %, 20 % and so on of the highest load.
fn stepped(device: &mut DeviceReport, lost: [u64; 10]) {
    let step = |(index, lost): (usize, &u64)| LossStep {
        load: Load(1e5 * (index + 1) as f64),
        offered_percent: 10.0 * (index + 1) as f64,
        loss_percent: *lost as f64 / 1000.0,
        result: TrialResult {
            intended: 100_000,
            sent: 100_000,
            received: 100_000 - lost,
            duplicates: 0,
            duration: Nanos::from_secs(1),
        },
    };
    let rows = lost.iter().enumerate().map(step).rev().collect();
    device.rows[0].loss = Some(LossStepsOutcome { rows, irregular: Vec::new() });
}

#[test]
fn a_device_that_loses_at_every_rate_has_no_rate_without_loss() {
    let device = concluded(|d| {
        stepped(d, [50; 10]);
        d.rows[0].rates[0].irregular = vec![Irregular::Unfinished, Irregular::GeneratorLimited];
        let pdr = RateReport {
            goal: "pdr".into(),
            lower: Some(Load(9e5)),
            irregular: Vec::new(),
            ..d.rows[0].rates[0].clone()
        };
        d.rows[0].rates.push(pdr);
    });
    let ids: Vec<&str> = device.findings.iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(ids, ["random-loss"]);
    let text = "Pdr 900 kpps of 64-byte frames";
    assert!(device.verdict.text.to_lowercase().starts_with(&text.to_lowercase()), "{}", device.verdict.text);
    assert!(
        device.verdict.text.contains("no rate without loss exists; PDR 900 kpps"),
        "{}",
        device.verdict.text
    );
}

#[test]
fn an_unfinished_search_gives_the_least_rate_that_anything_showed() {
    let least = |lower: f64| {
        let device = concluded(|d| {
            stepped(d, [50; 10]);
            d.rows[0].rates[0].irregular = vec![Irregular::Unfinished];
            let pdr = RateReport {
                goal: "pdr".into(),
                lower: Some(Load(lower)),
                irregular: vec![Irregular::Unfinished],
                ..d.rows[0].rates[0].clone()
            };
            d.rows[0].rates.push(pdr);
        });
        device.verdict.text
    };
    // Every step up to 1 Mpps lost less than the goal allows.
    let text = least(15e3);
    assert!(text.starts_with("PDR at least 1.00 Mpps of 64-byte frames"), "{text}");
    assert!(text.contains("no rate without loss exists; PDR at least 1.00 Mpps"), "{text}");
    assert!(least(2e6).starts_with("PDR at least 2.00 Mpps"));
}

fn irregular(device: &mut DeviceReport, word: Irregular) {
    device.rows[0].rates[0].irregular = vec![word];
}

fn no_rate(device: &mut DeviceReport, word: Irregular) {
    irregular(device, word);
    device.rows[0].rates[0].lower = None;
}

/// The link carries no more than what was found.
fn full(device: &mut DeviceReport) {
    device.rows[0].line_rate = Some(Load(1e6));
    device.rows[0].limit = Some(LoadLimit::LineRate);
    irregular(device, Irregular::NoUpperBound);
}

fn forwarded(device: &mut DeviceReport, trials: &[f64]) {
    device.rows[0].mrr = Rates::from_frames_per_second(trials).map(|forwarded| MrrReport {
        offered: Load(4e6),
        forwarded,
        loss_ratio: 0.7,
    });
}

/// Medians in microseconds at 10 and at 100 % of the throughput.
fn latency(idle: u64, full: u64) -> Vec<LatencyReport> {
    let at = |percent, micros| {
        let delays = Distribution { count: 1000, p50: Nanos::from_micros(micros), ..Distribution::default() };
        let direction = LatencyDirection {
            direction: Direction::Up,
            delays,
            typical: None,
            worst_case: None,
            store_and_forward: None,
            bit_forwarding: None,
            lost: 0,
        };
        LatencyReport { percent, load: Load(1e4 * f64::from(percent)), directions: vec![direction] }
    };
    vec![at(10, idle), at(100, full)]
}

/// A service of 100 Mbit/s of which so many came.
fn service(megabits: u64) -> ServiceReport {
    let committed = BitRate(100_000_000);
    let received = BitRate(megabits * 1_000_000);
    let observed = Observed { received, loss: 0.0, delay: None, variation: None };
    let misses = if received < committed { vec![Miss::RateBelow(committed)] } else { Vec::new() };
    ServiceReport {
        stream: Stream {
            network: Network::V4,
            frames: Frames::for_payload(Bytes(512)),
            directions: Directions::Up,
        },
        passed: misses.is_empty(),
        steps: vec![ServiceStep {
            step: Step { kind: Kind::Committed, offered: committed },
            observed,
            misses,
        }],
        performance: None,
        availability: None,
        notes: Vec::new(),
    }
}

#[test]
fn without_a_search_the_most_that_was_received_is_the_answer() {
    let device = concluded(|device| {
        device.rows[0].rates.clear();
        forwarded(device, &[1e6]);
    });
    let text = device.verdict.text;
    assert!(text.starts_with("MRR 1.00 Mpps of 64-byte frames (70.0 % lost)."), "{text}");
}

/// A row of frames of this size whose rate the device sets.
fn row_of(device: &DeviceReport, size: u64, rate: f64) -> StreamReport {
    let mut row = device.rows[0].clone();
    row.stream = Stream { frames: Frames::for_payload(Bytes(size)), ..row.stream };
    row.line_rate = None;
    row.rates[0].lower = Some(Load(rate));
    row
}

#[test]
fn rows_of_several_sizes_show_what_the_device_counts() {
    let limits = |rates: [(u64, f64); 3]| {
        let device = concluded(|device| {
            device.rows = rates.map(|(size, rate)| row_of(device, size, rate)).into();
        });
        device.rows.iter().map(|row| (**row.set_by.as_ref().expect("a limit")).clone()).collect::<Vec<_>>()
    };
    for limit in limits([(64, 1e6), (512, 0.97e6), (1518, 0.93e6)]) {
        assert_eq!(limit.kind, LimitKind::PacketRate);
        assert!(limit.packets.is_some());
    }
    // 100 Mbit/s of frames whatever their size.
    for limit in limits([(64, 195_312.0), (512, 24_414.0), (1518, 8_235.0)]) {
        assert_eq!(limit.kind, LimitKind::NotKnown);
        assert!(
            limit.ruled_out[0].starts_with("the device forwards 100 Mbit/s whatever the size"),
            "{limit:?}"
        );
    }
    for limit in limits([(64, 1e6), (512, 0.5e6), (1518, 0.4e6)]) {
        assert_eq!(limit.kind, LimitKind::NotKnown);
    }
    let alone = concluded(|_| {});
    assert_eq!(alone.rows[0].set_by.as_ref().map(|limit| limit.kind), Some(LimitKind::NotKnown));
    let bound = concluded(|device| irregular(device, Irregular::NoUpperBound));
    assert_eq!(bound.rows[0].set_by.as_ref().map(|limit| limit.kind), Some(LimitKind::SenderCpu));
    let lossy = concluded(|device| stepped(device, [50; 10]));
    let limit = lossy.rows[0].set_by.as_ref().expect("a limit");
    assert_eq!((limit.kind, limit.share.map(|share| (share * 1e4).round())), (LimitKind::Loss, Some(5.0)));
}
