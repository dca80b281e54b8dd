//! Expectations: `down.goodput>=9.4Gbit/s` held against a run, `64.ndr>=1Mpps` against a benchmarked device.

mod device;
mod headline;
mod yields;

pub use device::{DeviceExpectation, known_device_keys};
pub(crate) use headline::{axis_unit, entry, is_word};
pub use headline::{headlines, higher_is_better, printed, sample};
pub use insight::figure::full_names as names;
pub use model::expectation::Checked;
pub use yields::{NeverMeasured, Yields};

use insight::figure::{Figure, Key, Quantity, Scope, Source, names_like, run_figures};
use model::run::Run;
use std::str::FromStr;
use thiserror::Error;

/// One expectation: a figure of a run, a comparison and a value.
///
/// Reads `[tcp.|udp.][up.|down.]NAME OP VALUE`, e.g. `down.goodput>=9.4Gbit/s`, `up.loss<0.1%`, `rtt.p99<5ms`,
/// `udp.up.line_rate_share>=0.9`. In a run of several tests the first test that has the figure answers, or the first
/// of the transport asked for. Figures of a latency run: `rtt.p999<=500us`, of a path `way.LABEL.rtt.p50<1ms`, of a phase
/// `loaded.up.rtt.p99<80ms` (idle, up, down, both). Of packet sizes: `up.path_mtu>=1500`, `service.max_payload>=1472`. Of what
/// was found: `verdict==ok`, `verdict<=degraded`, `findings==0`, `finding.host-noise==0`.
#[derive(Clone, Debug)]
pub struct Expectation {
    text: String,
    key: Key,
    comparison: Comparison,
    wanted: f64,
}

/// Why a text is no expectation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpectError {
    /// No comparison in it.
    #[error(
        "read expectation `{0}`: write a figure, one of >= <= > < == and a value, such as down.goodput>=9.4Gbit/s"
    )]
    NoComparison(String),
    /// No figure has this name.
    #[error("read expectation `{text}`: there is no figure `{key}`{known}")]
    UnknownKey {
        /// The text as it was given.
        text: String,
        /// The text before the comparison.
        key: String,
        /// The one that was meant, as it seems, or every figure.
        known: String,
    },
    /// The value does not fit the figure.
    #[error("read expectation `{text}`: the value of {key} is {what}, such as {example}: {value}")]
    Value {
        /// The text as it was given.
        text: String,
        /// The figure.
        key: String,
        /// The kind of value that was wanted.
        what: &'static str,
        /// Such a value.
        example: &'static str,
        /// The text behind the comparison.
        value: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

impl FromStr for Expectation {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<Expectation, ExpectError> {
        let (key, comparison, value) = split(text)?;
        let named = Key::named(key).ok_or_else(|| ExpectError::UnknownKey {
            text: text.into(),
            key: key.into(),
            known: likely(key, names_like(key).into_iter(), known_keys),
        })?;
        let wanted = read_value(named.figure.quantity, text, key, value)?;
        Ok(Expectation { text: text.trim().into(), key: named, comparison, wanted })
    }
}

impl Expectation {
    /// Holds it against a run.
    pub fn check(&self, run: &Run) -> Checked {
        let print = |value| self.key.figure.quantity.print(value);
        let measured = self.key.measured(run);
        let broken =
            self.key.least(run).filter(|least| measured.is_none() && self.is_broken_by_least(*least));
        let bound = broken.map(|least| format!("at least {}", print(least)));
        Checked {
            expectation: self.text.clone(),
            measured: measured.map(print).or(bound),
            held: measured.is_some_and(|value| self.comparison.holds(value, self.wanted)),
        }
    }

    fn is_broken_by_least(&self, least: f64) -> bool {
        match self.comparison {
            Comparison::AtMost | Comparison::Equal => least > self.wanted,
            Comparison::Below => least >= self.wanted,
            Comparison::AtLeast | Comparison::Above => false,
        }
    }
}

impl Comparison {
    fn holds(self, value: f64, wanted: f64) -> bool {
        match self {
            Comparison::AtLeast => value >= wanted,
            Comparison::AtMost => value <= wanted,
            Comparison::Above => value > wanted,
            Comparison::Below => value < wanted,
            Comparison::Equal => value == wanted,
        }
    }
}

/// Every figure an expectation can name, for help and errors.
pub fn known_keys() -> String {
    let names = |wanted: fn(&Figure) -> bool| {
        let names = run_figures().filter(|figure| wanted(figure)).map(|figure| figure.name);
        names.collect::<Vec<_>>().join(", ")
    };
    format!(
        "{}, finding.ID; and, after up. or down.: {}; after way.LABEL.: {}; after loaded.idle., loaded.up., loaded.down. or \
         loaded.both.: {}",
        names(|figure| matches!(figure.source, Source::Run(_))),
        names(Figure::is_directed),
        names(|figure| figure.scope == Scope::Egress),
        names(|figure| figure.scope == Scope::Load)
    )
}

/// `: did you mean …?`, with the name most like this one and the few of its kind; where none could be meant, all of them.
fn likely(key: &str, names: impl Iterator<Item = String>, all: impl FnOnce() -> String) -> String {
    let names: Vec<String> = names.collect();
    let rated = names.iter().map(|name| (strsim::jaro_winkler(key, name), name));
    let best = rated.filter(|(likeness, _)| *likeness > LIKE).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, best)) = best else { return format!("; the figures are {}", all()) };
    let kind = key.split_once('.').map(|(kind, _)| format!("{kind}."));
    let is_akin = |name: &&String| kind.as_ref().is_some_and(|kind| name.starts_with(kind));
    let akin: Vec<&str> = names.iter().filter(is_akin).map(String::as_str).collect();
    let others = match akin.len() {
        2..=FEW => format!(" Of its kind are {}", akin.join(", ")),
        _ => String::new(),
    };
    format!(": did you mean `{best}`?{others}")
}

/// More figures of a kind are in the help.
const FEW: usize = 8;
/// From here on two names are taken for the same, mistyped (Jaro and Winkler's likeness, 0 to 1).
const LIKE: f64 = 0.8;

/// The text before the comparison, the comparison, and the text behind it.
fn split(text: &str) -> Result<(&str, Comparison, &str), ExpectError> {
    parts(text).ok_or_else(|| ExpectError::NoComparison(text.into()))
}

fn parts(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.find(['>', '<', '='])?;
    let (key, rest) = text.split_at(at);
    // `=>` is neither of the two that it may stand for.
    if rest.starts_with("=>") || rest.starts_with("=<") {
        return None;
    }
    // The longer sign first: `>` also begins `>=`.
    let (sign, comparison) = COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign))?;
    let value = rest[sign.len()..].trim();
    (!key.trim().is_empty() && !value.is_empty()).then_some((key.trim(), *comparison, value))
}

/// The value of the figure `key` in the expectation `text`.
fn read_value(quantity: Quantity, text: &str, key: &str, value: &str) -> Result<f64, ExpectError> {
    quantity.read(value).ok_or_else(|| ExpectError::Value {
        text: text.into(),
        key: key.into(),
        what: quantity.what(),
        example: quantity.example(),
        value: value.into(),
    })
}

const COMPARISONS: [(&str, Comparison); 6] = [
    (">=", Comparison::AtLeast),
    ("<=", Comparison::AtMost),
    ("==", Comparison::Equal),
    (">", Comparison::Above),
    ("<", Comparison::Below),
    ("=", Comparison::Equal),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_that_was_meant_is_named() {
        for (text, meant) in [
            ("down.goodputt>=1Mbit/s", "did you mean `down.goodput`?"),
            ("goodput>=1Mbit/s", "did you mean `down.goodput`?"),
            ("rtt.p98<=1ms", "did you mean `rtt.p9"),
            ("colour==ok", "the figures are"),
            ("verdikt==ok", "did you mean `verdict`?"),
        ] {
            let message = text.parse::<Expectation>().expect_err(text).to_string();
            assert!(message.contains(meant), "{text}: {message}");
            // A user who mistyped one name does not want to read a hundred.
            assert!(!meant.starts_with("did you mean") || message.len() < 250, "{message}");
        }
        let message = "transfer.speed>=9".parse::<Expectation>().expect_err("no figure").to_string();
        assert!(
            message.contains("transfer.rate, "),
            "the nearest by its letters need not be the one: {message}"
        );
        let message = "64.througput>=1Mpps".parse::<DeviceExpectation>().expect_err("mistyped").to_string();
        assert!(message.contains("did you mean `64.throughput`?"), "{message}");
    }
    use insight::{run_of_events, run_of_tests};
    use model::event::Event;
    use model::finding::Finding;
    use model::latency::LoadPhase;
    use model::plan::{Direction, Transport};
    use model::stats::distribution::Distribution;
    use model::units::Nanos;

    /// An idle RTT of 180 µs and nothing else.
    fn probed() -> Run {
        let rtt = Distribution { count: 9, p99: Nanos::from_micros(180), ..Distribution::default() };
        let probe = model::event::Probe::IdleRtt { transport: Transport::Udp, rtt, lost: 2 };
        run_of_events("id", "measure", &[Event::Probe(probe)])
    }

    fn check(text: &str, run: &Run) -> Checked {
        text.parse::<Expectation>().unwrap().check(run)
    }

    #[test]
    fn held_and_broken_with_the_measured_value() {
        let run = probed();
        for (text, held) in [
            ("rtt.p99<5ms", true),
            ("rtt.p99 <= 180us", true),
            ("rtt.p99=180us", true),
            ("rtt.p99<180us", false),
            ("rtt.p99>0.2ms", false),
            ("lost==2", true),
            ("lost<1", false),
        ] {
            assert_eq!(check(text, &run).held, held, "{text}");
        }
        let broken = check("rtt.p99 < 100us", &run).to_string();
        assert_eq!(broken, "broken: rtt.p99 < 100us (measured 180 µs)");
    }

    #[test]
    fn the_verdict_and_the_findings_can_be_expected() {
        let mut run = probed();
        assert!(check("verdict==ok", &run).held && check("findings==0", &run).held);
        let noise =
            Finding::new("host-noise", model::finding::Severity::Warning, Direction::Up, "busy".into());
        run.findings = vec![noise];
        run.verdict.status = model::finding::Status::Degraded;
        for (text, held) in [
            ("verdict==ok", false),
            ("verdict<=degraded", true),
            ("verdict<problem", true),
            ("findings==0", false),
            ("finding.host-noise==0", false),
            ("finding.host-noise==1", true),
            ("finding.path-loss==0", true),
        ] {
            assert_eq!(check(text, &run).held, held, "{text}");
        }
        assert_eq!(check("verdict==ok", &run).to_string(), "broken: verdict==ok (measured degraded)");
        assert!("finding.no-such==0".parse::<Expectation>().is_err());
        assert!("verdict==fine".parse::<Expectation>().is_err());
    }

    #[test]
    fn what_was_not_measured_is_broken() {
        let checked = check("down.goodput>=1M", &probed());
        assert_eq!(checked.to_string(), "broken: down.goodput>=1M (not measured in this run)");
        assert!(!check("up.max_udp_payload>=1", &probed()).held);
    }

    #[test]
    fn packet_sizes_are_of_a_direction() {
        let direction = |mtu, bound| {
            Some(model::path::PathDirection { path_mtu: Some(mtu), bound, ..Default::default() })
        };
        let (up, down) =
            (direction(1400, model::path::Bound::Exact), direction(1300, model::path::Bound::AtMost));
        let found = model::path::PathResult { up, down, packets: 90, ..Default::default() };
        let run = run_of_events("id", "mtu", &[Event::Path(Box::new(found))]);
        assert!(check("up.path_mtu>=1400", &run).held);
        assert_eq!(
            check("up.path_mtu>=1500", &run).to_string(),
            "broken: up.path_mtu>=1500 (measured 1400 bytes)"
        );
        assert_eq!(check("down.path_mtu>=1", &run).measured, None);
        assert!(check("path.packets<=200", &run).held);
        assert!("path_mtu>=1".parse::<Expectation>().is_err());
    }

    #[test]
    fn a_run_of_tests_answers_with_the_first_that_knows() {
        let outer = run_of_tests("id", "measure", &[], vec![run_of_events("a", "throughput", &[]), probed()]);
        assert_eq!(check("rtt.p99<5ms", &outer).measured.as_deref(), Some("180 µs"));
    }

    #[test]
    fn every_figure_can_be_written_with_its_own_example() {
        for figure in run_figures() {
            let prefix = match figure.source {
                Source::Direction(_) | Source::Path(_) => "tcp.up.",
                Source::Run(_) => "",
                Source::Labelled(_) => "way.nat.gateway.",
                Source::Loaded(_) => "loaded.idle.",
                _ => continue,
            };
            let value = figure.quantity.example().split(' ').next().unwrap();
            let text = format!("{prefix}{}>={value}", figure.name);
            let read: Expectation = text.parse().unwrap();
            assert!(std::ptr::eq(read.key.figure, figure), "{text}");
            assert!(known_keys().contains(figure.name), "{text}");
        }
    }

    /// A path of ten round trips, one lost, and a phase under load.
    fn latency() -> Run {
        let rtt = Distribution { count: 10, p50: Nanos::from_micros(180), ..Distribution::default() };
        let phase = |load| LoadPhase {
            load,
            rtt: Some(rtt),
            sent: 10,
            lost: 0,
            up: None,
            down: None,
            responsiveness: None,
            mss: None,
            limit: None,
        };
        let load = model::latency::LoadResult {
            phases: vec![phase(None), phase(Some(model::plan::Directions::Up))],
            series: Vec::new(),
        };
        let mut run = run_of_events("id", "latency", &[Event::Load(Box::new(load))]);
        let egress = |label: &str| {
            serde_json::json!({
                "label": label, "host": "far", "ends": {"local": "10.0.0.1:1", "remote": "10.0.0.2:2"}, "elapsed_ns": 1,
                "counted": {"sent": 11, "asked": 11, "received": 10, "lost": 1}, "warm_up_ns": 0, "warm_up_count": 0,
                "rtt_ns": rtt, "outliers": [], "sent_pps": 1,
            })
        };
        run.summary.egress_paths =
            ["a.b", "c"].map(|label| serde_json::from_value(egress(label)).unwrap()).into();
        run
    }

    #[test]
    fn paths_and_phases_have_names() {
        let run = latency();
        for (text, held) in [
            ("way.a.b.rtt.p50<=180us", true),
            ("way.c.rtt.p50<180us", false),
            ("way.c.loss<10%", true),
            ("lost<=2", true),
            ("lost<=1", false),
            ("loaded.up.rtt.p50<=180us", true),
            ("loaded.idle.lost<=0", true),
        ] {
            assert_eq!(check(text, &run).held, held, "{text}");
        }
        // Ten round trips have no p99, and there is no measurement of `x` or of the return path.
        for text in ["way.c.rtt.p99<1s", "way.c.rtt.p99.9<1s", "way.x.rtt.p50<1s", "loaded.down.rtt.p50<1s"] {
            assert_eq!(check(text, &run).measured, None, "{text}");
        }
        for text in ["way.c.p50<1s", "way.rtt.p50<1s", "loaded.rtt.p50<1s", "loaded.up.sent<1"] {
            assert!(text.parse::<Expectation>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_expectation_states_why() {
        for (text, part) in [
            ("down.goodput", "write a figure"),
            ("down.goodput>=", "write a figure"),
            (">=5", "write a figure"),
            ("", "write a figure"),
            ("down.godput>=5G", "no figure `down.godput`: did you mean `down.goodput`?"),
            ("colour==5", "no figure `colour`; the figures are rtt.min"),
            ("goodput>=5G", "no figure `goodput`"),
            ("up.rtt.p99<5ms", "no figure `up.rtt.p99`"),
            ("down.goodput>=fast", "is a rate with its unit, such as 9.4Gbit/s: fast"),
            ("down.goodput>=9", "is a rate with its unit, such as 9.4Gbit/s: 9"),
            ("rtt.p99<5", "is a time with its unit, such as 5ms: 5"),
            ("up.loss<few", "is a share, such as 0.1% or 0.001: few"),
            ("up.loss<inf", "is a share"),
            ("up.retransmits<1.5", "is a whole number"),
        ] {
            let error = text.parse::<Expectation>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
