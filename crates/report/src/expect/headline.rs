//! The foremost figures of a run: those that a list shows, and those that two sets of runs are compared by.

use insight::figure::{Key, device_headlines, figure_named};
use model::history::{Entry, Fact, Headline, Measured, Origin, Sample, facts, histograms};
use model::limit::Limit;
use model::plan::Direction;
use model::run::Run;
use model::stats::histogram::Histogram;
use model::units::BitRate;

/// Those of this document: of a run and of each of its paths where it has several, or of each row of a device's. Labs have none.
#[must_use]
pub fn headlines(measured: Measured<'_>) -> Vec<Headline> {
    match measured {
        Measured::Run(run) => of_run(run),
        Measured::Device(report) => device_headlines(report),
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
        note: String::new(),
        running: false,
        status: Some(verdict.status.word().into()),
        verdict: Some(verdict.text),
        figures: headlines(measured),
    }
}

fn of_run(run: &Run) -> Vec<Headline> {
    let headline = |key: &Key| {
        let value = key.measured(run)?;
        Some(Headline { name: key.to_string(), value, text: key.figure.quantity.print(value) })
    };
    Key::listed(run).iter().filter_map(headline).collect()
}

/// The sample that a comparison needs of a document.
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

/// The limit of each direction's rate, as a fact in which two sets of runs differ. The rate has two digits: those of two runs
/// of the same path agree in no more.
fn limits(measured: Measured<'_>) -> Vec<Fact> {
    let Measured::Run(run) = measured else { return Vec::new() };
    let limit_of = |direction: Direction| {
        let limit = tcp_limit(run, direction)?;
        let rate = limit.rate.filter(|_| limit.kind.is_of_the_path());
        let rate = rate.map(|rate| format!(" of {}", BitRate(two_digits(rate.0)))).unwrap_or_default();
        Some(Fact { name: format!("limit {direction}"), value: format!("{}{rate}", limit.kind) })
    };
    Direction::BOTH.into_iter().filter_map(limit_of).collect()
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

/// Whether the higher of two values of a figure is better; `None`: neither is, or there is no such figure.
#[must_use]
pub fn higher_is_better(name: &str) -> Option<bool> {
    figure_named(name).and_then(|figure| figure.better.is_higher())
}

/// The value of a figure is a word.
#[must_use]
pub(crate) fn is_word(name: &str) -> bool {
    figure_named(name).is_some_and(|figure| figure.quantity.is_word())
}

/// A value of a figure with its unit.
#[must_use]
pub fn printed(name: &str, value: f64) -> String {
    figure_named(name).map_or_else(|| value.to_string(), |figure| figure.quantity.print(value))
}

/// The unit in which values of a figure up to this one are read with ease, and its size in the figure's own unit.
pub(crate) fn axis_unit(name: &str, most: f64) -> (&'static str, f64) {
    figure_named(name).map_or(("", 1.0), |figure| figure.quantity.axis_unit(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_may_have_the_sign_of_a_comparison() {
        assert_eq!(printed("way.a=b.rtt.p50", 1.5e6), "1.50 ms");
        assert_eq!(higher_is_better("way.a>b.rtt.p50"), Some(false));
        assert_eq!(printed("64.ndr", 2e5), "200 kpps");
        assert_eq!((printed("colour", 2.0), higher_is_better("colour")), ("2".to_owned(), None));
    }
}
