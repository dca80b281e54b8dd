//! The foremost figures of a run: those that a list shows, and those that two sets of runs are compared by.

use super::device;
use insight::figure::Key as Named;
use model::history::{Entry, Fact, Headline, Measured, Origin, Sample, facts, histograms};
use model::limit::Limit;
use model::plan::Direction;
use model::run::Run;
use model::stats::histogram::Histogram;
use model::units::BitRate;

/// A figure that runs are compared by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name, as an expectation names it.
    pub(crate) name: &'static str,
    /// Of two values the higher one is better.
    pub(crate) higher_is_better: bool,
}

pub(super) const fn key(name: &'static str, higher_is_better: bool) -> Key {
    Key { name, higher_is_better }
}

/// Every figure that runs are compared by, the foremost first.
pub(crate) const KEYS: [Key; 27] = [
    key("frames.goodput", true),
    key("frames.packets_per_second", true),
    key("tcp.up.goodput", true),
    key("tcp.down.goodput", true),
    key("udp.up.goodput", true),
    key("udp.down.goodput", true),
    key("pairs.up.goodput", true),
    key("pairs.down.goodput", true),
    key("udp.up.loss", false),
    key("udp.down.loss", false),
    key("rtt.p50", false),
    key("rtt.p99", false),
    key("up.path_mtu", true),
    key("down.path_mtu", true),
    key("transfer.rate", true),
    key("tcp.up.loaded_rtt", false),
    key("tcp.down.loaded_rtt", false),
    key("tcp.up.limit.rate", true),
    key("tcp.down.limit.rate", true),
    key("tcp.up.limit.queue", false),
    key("tcp.down.limit.queue", false),
    key("udp.up.jitter", false),
    key("udp.down.jitter", false),
    key("transfer.total", false),
    key("transfer.first_byte", false),
    key("hops.count", false),
    key("hops.rtt.p50", false),
];

/// What set the rate: a word, which lists show and no comparison orders.
const LIMITS: [&str; 2] = ["tcp.up.limit", "tcp.down.limit"];

/// The value of a figure is a word.
#[must_use]
pub(crate) fn is_word(name: &str) -> bool {
    Named::named(name).is_some_and(|key| key.figure.quantity.is_word())
}

/// Those of this document: of a run and of each of its ways where it has several, or of each row of a device's. Labs have none.
#[must_use]
pub fn headlines(measured: Measured<'_>) -> Vec<Headline> {
    match measured {
        Measured::Run(run) => of_run(run),
        Measured::Device(report) => device::headlines(report),
        Measured::Lab(_) => Vec::new(),
    }
}

/// The document as a row of a list: neither kept nor labelled.
pub(crate) fn entry(measured: Measured<'_>) -> Entry {
    let ((kind, target), [started, finished]) = (measured.origin(), measured.times());
    let verdict = measured.verdict();
    Entry {
        id: measured.id().into(),
        kind,
        target,
        label: String::new(),
        origin: Origin::Measured,
        started: started.unwrap_or_default(),
        finished,
        running: false,
        status: Some(verdict.status.word().into()),
        verdict: Some(verdict.text),
        figures: headlines(measured),
    }
}

fn of_run(run: &Run) -> Vec<Headline> {
    let egress_paths = run.summary.egress_paths.iter().filter(|_| run.summary.egress_paths.len() > 1);
    let of_ways =
        egress_paths.flat_map(|egress| ["p50", "p99"].map(|part| format!("way.{}.rtt.{part}", egress.label)));
    let limits = LIMITS.map(str::to_owned);
    let names = KEYS.iter().map(|key| key.name.to_owned()).chain(of_ways).chain(limits);
    names.filter_map(|name| headline(run, name)).collect()
}

fn headline(run: &Run, name: String) -> Option<Headline> {
    let key = Named::named(&name)?;
    let value = key.measured(run)?;
    Some(Headline { name, value, text: key.figure.quantity.print(value) })
}

/// What a comparison needs of a document.
#[must_use]
pub fn sample(measured: Measured<'_>) -> Sample {
    let read = |(label, text): (String, &str)| Some((label, Histogram::from_v2_base64(text).ok()?));
    let counted = match measured {
        Measured::Run(run) => histograms(run),
        Measured::Device(_) | Measured::Lab(_) => Vec::new(),
    };
    let Entry { id, kind, target, label, started, status, figures, .. } = entry(measured);
    Sample {
        id,
        kind,
        target,
        label,
        started,
        status,
        figures: figures
            .into_iter()
            .filter(|figure| !is_word(&figure.name))
            .map(|figure| (figure.name, figure.value))
            .collect(),
        facts: [facts(measured), limits(measured)].concat(),
        histograms: counted.into_iter().filter_map(read).collect(),
    }
}

/// What set the rate of each direction, as something in which two sets of runs differ. The rate has two digits: those of two runs
/// of the same path agree in no more.
fn limits(measured: Measured<'_>) -> Vec<Fact> {
    let Measured::Run(run) = measured else { return Vec::new() };
    let of = |direction: Direction| {
        let limit = tcp_limit(run, direction)?;
        let rate = limit.rate.filter(|_| limit.kind.is_of_the_path());
        let rate = rate.map(|rate| format!(" of {}", BitRate(two_digits(rate.0)))).unwrap_or_default();
        Some(Fact { name: format!("limit {direction}"), value: format!("{}{rate}", limit.kind.word()) })
    };
    [Direction::Up, Direction::Down].into_iter().filter_map(of).collect()
}

/// The limit of the run's TCP in a direction, or of the first of its tests that has one.
fn tcp_limit(run: &Run, direction: Direction) -> Option<&Limit> {
    let own = run.summary.direction(direction).and_then(|figures| figures.limit.as_deref());
    own.or_else(|| run.tests.iter().find_map(|test| tcp_limit(test, direction)))
}

fn two_digits(value: u64) -> u64 {
    let unit = 10_u64.pow(value.max(1).ilog10().saturating_sub(1));
    (value + unit / 2) / unit * unit
}

/// Whether more of a figure is better; `None` of one that runs are not compared by.
#[must_use]
pub fn higher_is_better(name: &str) -> Option<bool> {
    let key = KEYS.iter().find(|key| key.name == name).map(|key| key.higher_is_better);
    key.or_else(|| name.starts_with("way.").then_some(false)).or_else(|| device::higher_is_better(name))
}

/// A value of a figure with its unit.
#[must_use]
pub fn printed(name: &str, value: f64) -> String {
    let of_run = Named::named(name).map(|key| key.figure.quantity.print(value));
    of_run.or_else(|| device::printed(name, value)).unwrap_or_else(|| value.to_string())
}

/// The unit in which values of a figure up to this one are read with ease, and its size in the figure's own unit.
pub(crate) fn axis_unit(name: &str, most: f64) -> (&'static str, f64) {
    let of_run = Named::named(name).map(|key| key.figure.quantity);
    of_run.or_else(|| device::quantity(name)).map_or(("", 1.0), |quantity| quantity.axis_unit(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_a_figure() {
        for key in KEYS {
            assert!(Named::named(key.name).is_some(), "{}", key.name);
        }
    }
}
