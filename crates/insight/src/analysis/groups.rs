//! Groups of runs compared, each against the first: a run is one value.

use super::Subject;
use model::plan::Direction;
use model::run::Run;
use model::stats::compare::{Case, Comparison, Rules, table};

/// A figure that every run of a group may have: what it is called, whether more is better, and how it is read.
type Figure = (&'static str, bool, fn(&Run) -> Option<f64>);

const FIGURES: [Figure; 3] = [
    ("goodput up", true, |run| goodput(run, Direction::Up)),
    ("goodput down", true, |run| goodput(run, Direction::Down)),
    ("median round trip", false, |run| run.summary.rtt.map(|rtt| rtt.p50.0 as f64)),
];

fn goodput(run: &Run, direction: Direction) -> Option<f64> {
    run.summary.direction(direction).map(|summary| summary.goodput.0 as f64)
}

/// A row for each group but the first, and each figure that both have.
pub(super) fn group_comparisons(subjects: &[Subject<'_>]) -> Vec<Comparison> {
    let mut names: Vec<&str> = Vec::new();
    for group in subjects.iter().filter_map(|subject| subject.group) {
        if !names.contains(&group) {
            names.push(group);
        }
    }
    let Some((first, others)) = names.split_first() else { return Vec::new() };
    let values = |group: &str, read: fn(&Run) -> Option<f64>| -> Vec<f64> {
        subjects.iter().filter(|one| one.group == Some(group)).filter_map(|one| read(one.run)).collect()
    };
    let mut rows = Vec::new();
    for other in others {
        for (what, higher, read) in FIGURES {
            let (base, values) = (values(first, read), values(other, read));
            if !base.is_empty() && !values.is_empty() {
                rows.push((format!("{other} against {first}: {what}"), higher, base, values));
            }
        }
    }
    let cases: Vec<Case<'_>> = rows
        .iter()
        .map(|(name, higher, base, other)| Case { name, base, other, rules: Rules::new(*higher) })
        .collect();
    // Rates and times are neither negative nor endless, which is all that cannot be compared.
    table(&cases).unwrap_or_default()
}
