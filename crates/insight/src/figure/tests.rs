//! Every figure of the table held against the value that one run has for it and for nothing else.

mod run;

use super::{Figure, Key, Source, numbers, run_figures};
use model::plan::Transport;
use model::units::{Nanos, grouped, percent};
use std::collections::BTreeMap;

/// A figure's value: a number of this unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Mbits(u32),
    Kpps(u32),
    /// Thousandths.
    Share(u32),
    Count(u32),
    Bytes(u32),
    Micros(u32),
    Word(&'static str),
}

use Value::{Bytes, Count, Kpps, Mbits, Micros, Share, Word};

impl Value {
    /// The text that a user writes, and the one that is shown.
    fn texts(self) -> (String, String) {
        match self {
            Mbits(n) => (format!("{n}Mbit/s"), format!("{n} Mbit/s")),
            Kpps(n) => (format!("{n}kpps"), format!("{n} kpps")),
            Share(n) => (format!("0.{n:03}"), percent(f64::from(n) / 1000.0)),
            Count(n) => (n.to_string(), grouped(n)),
            Bytes(n) => (n.to_string(), format!("{n} bytes")),
            Word(word) => (word.into(), word.into()),
            Micros(n) => (format!("{n}us"), format!("{n} µs")),
        }
    }
}

/// Those of a direction whose numbers begin at `at`.
fn of_a_direction(at: u32) -> Vec<(&'static str, Value)> {
    vec![
        ("goodput", Mbits(at + 1)),
        ("offered", Mbits(at + 49)),
        ("wire", Mbits(at + 2)),
        ("packets_per_second", Kpps(at + 3)),
        ("line_rate_share", Share(at + 4)),
        ("bytes", Bytes(at + 5)),
        ("loss", Share(at + 6)),
        ("loss.path", Count(at + 7)),
        ("loss.receiver", Count(at + 8)),
        ("loss.sender", Count(at + 9)),
        ("reordered", Count(at + 10)),
        ("duplicates", Count(at + 11)),
        ("late", Count(at + 12)),
        ("ecn_marks", Count(at + 45)),
        ("jitter", Micros(at + 13)),
        ("jitter.p50", Micros(at + 17)),
        ("jitter.p99", Micros(at + 19)),
        ("jitter.max", Micros(at + 22)),
        ("one_way.min", Micros(at + 23)),
        ("one_way.mean", Micros(at + 24)),
        ("one_way.max", Micros(at + 25)),
        ("one_way.error", Micros(at + 26)),
        ("segments.sent", Count(at + 46)),
        ("segments.received", Count(at + 47)),
        ("segments.payload", Bytes(at + 48)),
        ("retransmits.spurious", Count(at + 43)),
        ("stream.min", Mbits(at + 16)),
        ("stream.max", Mbits(at + 18)),
        ("cpu.sender.thread", Share(at + 20)),
        ("cpu.receiver.thread", Share(at + 21)),
        ("cpu.sender.softirq", Share(at + 33)),
        ("cpu.receiver.softirq", Share(at + 44)),
        ("retransmits", Count(at + 27)),
        ("loaded_rtt", Micros(at + 28)),
        ("mss", Bytes(at + 29)),
        ("cpu.sender", Share(at + 30)),
        ("cpu.receiver", Share(at + 31)),
        ("path_mtu", Bytes(at + 34)),
        ("max_udp_payload", Bytes(at + 35)),
        ("interface_mtu", Bytes(at + 36)),
        ("cached_mtu", Bytes(at + 37)),
        ("black_hole.first", Bytes(at + 38)),
        ("black_hole.last", Bytes(at + 39)),
        ("mss_sent", Bytes(at + 40)),
        ("mss_received", Bytes(at + 41)),
        ("largest_segment", Bytes(at + 42)),
    ]
}

/// Those of the run as a whole.
fn of_the_run() -> Vec<(&'static str, Value)> {
    vec![
        ("rtt.min", Micros(201)),
        ("rtt.mean", Micros(202)),
        ("rtt.stddev", Micros(203)),
        ("rtt.p50", Micros(204)),
        ("rtt.p90", Micros(205)),
        ("rtt.p99", Micros(206)),
        ("rtt.p999", Micros(207)),
        ("rtt.p9999", Micros(208)),
        ("rtt.max", Micros(209)),
        // Over in both directions.
        ("lost", Count(2 * 311 + 2 * 361)),
        ("late", Count(313 + 363)),
        ("reordered", Count(314 + 364)),
        ("duplicates", Count(315 + 365)),
        ("problems", Count(3)),
        ("warnings", Count(5)),
        ("hops.count", Count(17)),
        ("hops.loss", Share(218)),
        ("hops.rtt.p50", Micros(219)),
        ("hops.rtt.p90", Micros(220)),
        ("findings", Count(15)),
        ("verdict", Word("degraded")),
        ("pairs.up.goodput", Mbits(211)),
        ("pairs.down.goodput", Mbits(212)),
        ("pairs.overlap", Share(213)),
        ("tool_floor.min", Micros(221)),
        ("tool_floor.p50", Micros(224)),
        ("tool_floor.p99", Micros(226)),
        ("one_way.up.min", Micros(231)),
        ("one_way.up.p50", Micros(234)),
        ("one_way.up.max", Micros(239)),
        ("one_way.down.min", Micros(241)),
        ("one_way.down.p50", Micros(244)),
        ("one_way.down.max", Micros(249)),
        ("one_way.error", Micros(251)),
        ("steal", Share(252)),
        ("service.max_payload", Bytes(253)),
        ("path.packets", Count(254)),
        ("path.elapsed", Micros(255)),
        // The worse of two rows.
        ("transfer.rate", Mbits(263)),
        ("transfer.rate.min", Mbits(262)),
        ("transfer.total", Micros(273)),
        ("transfer.total.max", Micros(274)),
        ("transfer.first_byte", Micros(283)),
        ("transfer.failed", Count(2 + 5)),
        ("transfer.retransmits", Count(291 + 292)),
        ("frames.goodput", Mbits(294)),
        ("frames.packets_per_second", Kpps(295)),
        ("frames.share", Share(296)),
    ]
}

/// Those of a path of a latency run.
fn of_a_label(at: u32) -> Vec<(&'static str, Value)> {
    vec![
        ("rtt.min", Micros(at + 1)),
        ("rtt.mean", Micros(at + 2)),
        ("rtt.stddev", Micros(at + 3)),
        ("rtt.p50", Micros(at + 4)),
        ("rtt.p90", Micros(at + 5)),
        ("rtt.p99", Micros(at + 6)),
        ("rtt.p999", Micros(at + 7)),
        ("rtt.p9999", Micros(at + 8)),
        ("rtt.max", Micros(at + 9)),
        ("sent", Count(at + 10)),
        ("lost", Count(2 * (at + 11))),
        // Shares of two thousand requested datagrams.
        ("loss", Share(at + 11)),
        ("late", Count(at + 13)),
        ("reordered", Count(at + 14)),
        ("duplicates", Count(at + 15)),
        ("received_rate", Kpps(at + 16)),
    ]
}

/// Those of a phase under load.
fn of_a_phase(at: u32) -> Vec<(&'static str, Value)> {
    vec![
        ("rtt.min", Micros(at + 1)),
        ("rtt.mean", Micros(at + 2)),
        ("rtt.p50", Micros(at + 4)),
        ("rtt.p90", Micros(at + 5)),
        ("rtt.p99", Micros(at + 6)),
        ("rtt.max", Micros(at + 9)),
        ("rpm", Count(at + 10)),
        // Shares of three thousand sent messages.
        ("lost", Count(3 * (at + 11))),
        ("loss", Share(at + 11)),
        ("up", Mbits(at + 12)),
        ("down", Mbits(at + 13)),
    ]
}

/// The prefixes of a figure's name, and the values of each such place.
fn places(source: Source) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    match source {
        Source::Direction(_) | Source::Path(_) => {
            vec![("up.", of_a_direction(run::UP)), ("down.", of_a_direction(run::DOWN))]
        }
        Source::Run(_) => vec![("", of_the_run())],
        // The number of findings has tests among the expectations, as devices have.
        Source::Finding | Source::Row(_) | Source::Device(_) => Vec::new(),
        Source::Labelled(_) => {
            vec![("way.nat.gateway.", of_a_label(run::GATEWAY)), ("way.other.", of_a_label(run::OTHER))]
        }
        Source::Loaded(_) => vec![
            ("loaded.idle.", of_a_phase(run::IDLE)),
            ("loaded.up.", of_a_phase(run::LOADED_UP)),
            ("loaded.down.", of_a_phase(run::LOADED_DOWN)),
            ("loaded.both.", of_a_phase(run::BOTH)),
        ],
    }
}

/// A figure by its full names, each with its value.
fn named(figure: &Figure) -> Vec<(String, Value)> {
    let known = |(prefix, values): (&str, Vec<(&str, Value)>)| {
        let value = values.iter().find(|(name, _)| *name == figure.name);
        let key = format!("{prefix}{}", figure.name);
        let value = value.unwrap_or_else(|| panic!("{key} needs a value here, and a place in the run")).1;
        (key, value)
    };
    places(figure.source).into_iter().map(known).collect()
}

#[test]
fn every_figure_is_the_one_of_its_name() {
    let run = run::of_different_figures();
    let mut values = BTreeMap::new();
    for (key, value) in figures_of_numbers().flat_map(named) {
        let (typed, shown) = value.texts();
        let named = Key::named(&key).unwrap_or_else(|| panic!("{key}"));
        let measured = named.measured(&run).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(named.figure.quantity.print(measured), shown, "{key}");
        assert_eq!(named.figure.quantity.read(&typed), Some(measured), "{key} is not exactly {typed}");
        assert_eq!(named.to_string(), key);
        // Two figures of one value could be taken for each other.
        let other = values.insert(measured.to_bits(), key.clone());
        assert_eq!(other, None, "{key} has the same value");
    }
    assert!(values.len() > figures_of_numbers().count());
}

#[test]
fn a_number_is_the_figure_in_its_base_unit_under_each_of_its_names() {
    let mut run = run::of_different_figures();
    run.findings[0].id = "host-noise".into();
    let numbers = numbers(&run);
    for (key, value) in figures_of_numbers().flat_map(named) {
        let number = match value {
            Mbits(n) => f64::from(n) * 1e6,
            Kpps(n) => f64::from(n) * 1e3,
            Share(n) => f64::from(n) / 1e3,
            Count(n) | Bytes(n) => f64::from(n),
            Micros(n) => f64::from(n * 1_000) / 1e9,
            Word(_) => {
                assert_eq!(numbers.get(&key), None, "{key} is a word");
                continue;
            }
        };
        assert_eq!(numbers.get(&key), Some(&number), "{key}");
    }
    for (name, number) in &numbers {
        let key = Key::named(name).unwrap_or_else(|| panic!("{name} is no public name"));
        let (_, units) = key.figure.quantity.base_unit();
        assert_eq!(key.measured(&run).map(|value| value / units), Some(*number), "{name}");
    }
    // The run is of UDP in each direction.
    assert_eq!(numbers.get("udp.up.goodput"), numbers.get("up.goodput"));
    assert_eq!((numbers.get("tcp.up.goodput"), numbers.get("up.retransmits")), (None, Some(&127.0)));
    assert_eq!(numbers.get("finding.host-noise"), Some(&1.0));
}

/// A percentile that messages without a reply reach is known by a bound alone.
#[test]
fn a_bound_is_no_number() {
    use model::event::{Event, Probe};
    use model::stats::distribution::Distribution;
    let run = |missing: u64| {
        let (p50, p90) = (Nanos::from_micros(50), Nanos::from_micros(90));
        let rtt = Distribution { count: 100, missing, p50, p90, ..Distribution::default() };
        let probe = Probe::IdleRtt { transport: Transport::Udp, rtt, lost: missing };
        crate::run_of_events("id", "measure", &[Event::Probe(probe)])
    };
    let whole = numbers(&run(0));
    assert_eq!((whole.get("rtt.p50"), whole.get("rtt.p90")), (Some(&5e-5), Some(&9e-5)));
    let lossy = run(30);
    let known = numbers(&lossy);
    assert_eq!((known.get("rtt.p50"), known.get("rtt.p90")), (Some(&5e-5), None), "{known:?}");
    assert_eq!(Key::named("rtt.p90").unwrap().least(&lossy), Some(9e4));
}

#[test]
fn no_value_is_known_of_a_figure_that_is_not_there() {
    let keys: Vec<String> = figures_of_numbers().flat_map(named).map(|(key, _)| key).collect();
    for (prefix, values) in figures_of_numbers().flat_map(|figure| places(figure.source)) {
        for (name, _) in values {
            assert!(keys.contains(&format!("{prefix}{name}")), "{prefix}{name}");
        }
    }
}

/// All but those of a limit, whose words are few: they have a test of their own.
fn figures_of_numbers() -> impl Iterator<Item = &'static Figure> {
    run_figures().filter(|figure| !figure.name.starts_with("limit"))
}

#[test]
fn a_limit_is_named_by_its_word_and_figures() {
    use model::limit::{Confidence, Limit, LimitKind, LimitPlace};
    use model::units::{BitRate, PacketRate};
    let mut run = run::of_different_figures();
    let limit = Limit {
        kind: LimitKind::LineRate,
        rate: Some(BitRate(50_000_000)),
        packets: Some(PacketRate(7_000)),
        queue: Some(Nanos::from_millis(100)),
        burst: Some(model::units::Bytes(64_000)),
        place: Some(LimitPlace { first: 2, last: 2 }),
        per_flow: Some(true),
        confidence: Confidence::High,
        ..Limit::default()
    };
    let holds = |run: &model::run::Run, text: &str| {
        let (name, value) = text.split_once("==").unwrap();
        let key = Key::named(name).unwrap();
        let wanted = key.figure.quantity.read(value).unwrap();
        key.measured(run) == Some(wanted)
    };
    assert!(!holds(&run, "up.limit==line-rate"), "there is none");
    run.summary.up.as_mut().unwrap().limit = Some(Box::new(limit));
    for text in [
        "limit==line-rate",
        "limit.kind==line-rate",
        "limit.rate==50Mbit/s",
        "limit.packets==7kpps",
        "limit.queue==100ms",
        "limit.burst==64000",
        "limit.hop==2",
        "limit.per_flow==1",
        "limit.confidence==high",
    ] {
        assert!(holds(&run, &format!("up.{text}")), "{text}");
    }
    assert_eq!(Key::named("up.limit").unwrap().figure.quantity.read("slow"), None);
}
