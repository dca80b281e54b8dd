//! Two sets of runs compared, as a document.
//!
//! A run is one value of each figure; the method is in `docs/methods/comparison.md`. What differs between the two sets
//! beside the figures (kernel, network card, streams, …) stands first: it may be the reason.

use crate::document::{Block, Column, Csv, Document, Head, Table, indented_json, json_line};
use crate::expect::{Expectation, KEYS, named};
use crate::format::analysis::sections;
use crate::format::text::words;
use model::finding::Status;
use model::host::Host;
use model::run::Run;
use model::stats::compare::{Case, Comparison, Group, Judgement, Rules, table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The comparison document, schema `pathmeter/comparison/1`. Only ever extended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Always `pathmeter/comparison/1`.
    pub schema: String,
    /// The set compared with.
    pub base: SetOfRuns,
    /// The set compared.
    pub other: SetOfRuns,
    /// What is not the same in both, beside the figures.
    pub differences: Vec<Difference>,
    /// A row for each figure that both sets have, the worst first.
    pub figures: Vec<Comparison>,
    /// What it comes to.
    pub conclusion: String,
}

/// A set of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetOfRuns {
    /// What it was asked for by: a label, a run, a file.
    pub name: String,
    /// Runs in it that count.
    pub runs: u64,
    /// Runs left out, as their results are void.
    pub void: u64,
}

/// Something that is not the same in both sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// Its values in the set compared with.
    pub base: Vec<String>,
    /// Its values in the set compared.
    pub other: Vec<String>,
}

impl Compared {
    /// Compares two sets, each a name and its runs.
    #[must_use]
    pub fn of(base: (&str, &[Run]), other: (&str, &[Run])) -> Compared {
        let counted = |runs: &'_ [Run]| -> Vec<Run> {
            runs.iter().filter(|run| run.verdict.status != Status::Void).cloned().collect()
        };
        let (first, second) = (counted(base.1), counted(other.1));
        let set = |(name, all): (&str, &[Run]), counted: &[Run]| SetOfRuns {
            name: name.into(),
            runs: counted.len() as u64,
            void: (all.len() - counted.len()) as u64,
        };
        let mut compared = Compared {
            schema: "pathmeter/comparison/1".into(),
            base: set(base, &first),
            other: set(other, &second),
            differences: differences(&first, &second),
            figures: figures(&first, &second),
            conclusion: String::new(),
        };
        compared.conclusion = compared.concluded();
        compared
    }

    /// A figure is surely worse than in the set compared with.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.figures.iter().any(|row| row.judgement == Judgement::Worse)
    }

    fn concluded(&self) -> String {
        let (base, other) = (&self.base.name, &self.other.name);
        let named = |wanted: Judgement| -> Vec<&str> {
            self.figures.iter().filter(|row| row.judgement == wanted).map(|row| row.name.as_str()).collect()
        };
        let (worse, better, same) =
            (named(Judgement::Worse), named(Judgement::Better), named(Judgement::Same));
        if self.figures.is_empty() {
            return format!("{other} and {base} have no figure in common.");
        }
        let mut said = Vec::new();
        if !worse.is_empty() {
            said.push(format!("{other} is worse than {base} in {}", worse.join(", ")));
        }
        if !better.is_empty() {
            said.push(format!(
                "{} {other} is better in {}",
                if said.is_empty() { "" } else { "and" },
                better.join(", ")
            ));
        }
        let open = self.figures.len() - worse.len() - better.len() - same.len();
        let rest = match (said.is_empty(), open) {
            (true, 0) => {
                format!("{other} is the same as {base} in all {}.", words::count(same.len() as u64, "figure"))
            }
            (true, _) => format!(
                "Whether {other} differs from {base} cannot be told of {}{}.",
                words::count(open as u64, "figure"),
                more(&self.figures)
            ),
            (false, 0) => ".".to_owned(),
            (false, _) => format!(
                "; of {} it cannot be told{}.",
                words::count(open as u64, "figure"),
                more(&self.figures)
            ),
        };
        (said.join(" ").trim().to_owned() + &rest).trim().to_owned()
    }
}

/// How many runs it would take, where that is known of all that are open.
fn more(figures: &[Comparison]) -> String {
    let wanted = figures.iter().filter_map(|row| match row.judgement {
        Judgement::CannotTell { more_runs } => Some(more_runs),
        Judgement::TooFew { needed } => Some(needed.saturating_sub(row.base.runs.min(row.other.runs))),
        _ => None,
    });
    wanted
        .max()
        .map(|runs| format!(": about {} more on each side would", words::count(runs, "run")))
        .unwrap_or_default()
}

/// A row for each figure of both, the worst first.
fn figures(base: &[Run], other: &[Run]) -> Vec<Comparison> {
    let values = |runs: &[Run], figure: &Expectation| -> Vec<f64> {
        runs.iter().filter_map(|run| figure.measured(run)).collect()
    };
    let mut rows: Vec<(String, bool, Vec<f64>, Vec<f64>)> = Vec::new();
    let ways = labels(base).into_iter().filter(|label| labels(other).contains(label));
    let of_ways =
        ways.flat_map(|label| ["p50", "p99"].map(|part| (format!("way.{label}.rtt.{part}"), false)));
    for (name, higher) in KEYS.iter().map(|key| (key.name.to_owned(), key.higher_is_better)).chain(of_ways) {
        let Some(figure) = named(&name) else { continue };
        let (first, second) = (values(base, &figure), values(other, &figure));
        if !first.is_empty() && !second.is_empty() {
            rows.push((name, higher, first, second));
        }
    }
    let cases: Vec<Case<'_>> = rows
        .iter()
        .map(|(name, higher, base, other)| Case { name, base, other, rules: Rules::new(*higher) })
        .collect();
    // Rates, times and shares are neither negative nor endless, which is all that cannot be compared.
    let mut compared = table(&cases).unwrap_or_default();
    compared.sort_by_key(|row| rank(row.judgement));
    compared
}

/// The labels of ways, where a run has several.
fn labels(runs: &[Run]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for way in runs.iter().filter(|run| run.summary.ways.len() > 1).flat_map(|run| &run.summary.ways) {
        if !labels.contains(&way.label) {
            labels.push(way.label.clone());
        }
    }
    labels
}

fn rank(judgement: Judgement) -> u8 {
    match judgement {
        Judgement::Worse => 0,
        Judgement::Better => 1,
        Judgement::CannotTell { .. } | Judgement::TooFew { .. } | Judgement::NoPercentage => 2,
        Judgement::Same => 3,
    }
}

/// What is known of a run beside its figures: names and values.
fn circumstances(run: &Run) -> Vec<(&'static str, String)> {
    // The tests of a run share hosts; plans stand in the tests.
    let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
    let mut known = Vec::new();
    for (host, names) in [(&run.host, &HERE), (&run.peer, &THERE)] {
        let values = host.as_ref().map(facts).unwrap_or_default();
        known.extend(names.iter().copied().zip(values));
    }
    if let Some(plan) = plan {
        known.push(("far end", plan.target.address.ip().to_string()));
        known.push(("streams", plan.test.streams.to_string()));
        known.push(("length", plan.test.length.to_string()));
        known.push((
            "rate asked for",
            plan.test.bitrate.map_or_else(|| "none".into(), |rate| rate.to_string()),
        ));
        known.push(("protocol", plan.protocol.to_string()));
    }
    known
}

const HERE: [&str; 8] = [
    "host",
    "pathmeter here",
    "kernel here",
    "CPU here",
    "congestion control here",
    "interface here",
    "MTU here",
    "offloads here",
];
const THERE: [&str; 8] = [
    "far host",
    "pathmeter there",
    "kernel there",
    "CPU there",
    "congestion control there",
    "interface there",
    "MTU there",
    "offloads there",
];

fn facts(host: &Host) -> Vec<String> {
    let nic = host.nic.as_ref();
    let card = nic
        .map(|nic| format!("{} {}", nic.name, nic.driver.as_deref().unwrap_or_default()).trim().to_owned());
    vec![
        host.name.clone(),
        host.version.clone(),
        host.kernel.clone(),
        host.cpu.clone(),
        host.congestion.clone(),
        card.unwrap_or_default(),
        nic.map(|nic| nic.mtu.to_string()).unwrap_or_default(),
        nic.map(|nic| nic.offloads.join(" ")).unwrap_or_default(),
    ]
}

/// What all of these runs know, and not alike: a value for each run.
pub(super) fn differing(runs: &[Run]) -> Vec<(&'static str, Vec<String>)> {
    let all: Vec<Vec<(&'static str, String)>> = runs.iter().map(circumstances).collect();
    let mut rows = Vec::new();
    for (what, _) in all.first().into_iter().flatten() {
        let value =
            |known: &Vec<(&'static str, String)>| known.iter().find(|(name, _)| name == what).cloned();
        let values: Option<Vec<String>> = all.iter().map(|known| Some(value(known)?.1)).collect();
        rows.extend(
            values.filter(|all| all.windows(2).any(|pair| pair[0] != pair[1])).map(|all| (*what, all)),
        );
    }
    rows
}

/// What both sets know, and not alike.
fn differences(base: &[Run], other: &[Run]) -> Vec<Difference> {
    let (first, second) = (values(base), values(other));
    let differs = |(what, base): &(&'static str, Vec<String>)| {
        let other = &second.iter().find(|(name, _)| name == what)?.1;
        (base != other).then(|| Difference { what: (*what).into(), base: base.clone(), other: other.clone() })
    };
    first.iter().filter_map(differs).collect()
}

fn values(runs: &[Run]) -> Vec<(&'static str, Vec<String>)> {
    let mut all: Vec<(&'static str, Vec<String>)> = Vec::new();
    for (what, value) in runs.iter().flat_map(circumstances) {
        match all.iter_mut().find(|(name, _)| *name == what) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => all.push((what, vec![value])),
        }
    }
    all.iter_mut().for_each(|(_, values)| values.sort());
    all
}

impl Compared {
    fn table(&self) -> Table {
        let (base, other) = (&self.base.name, &self.other.name);
        let row = |row: &Comparison| {
            let figure = named(&row.name);
            let median = |group: &Group| Some(figure.as_ref()?.print(group.median?));
            vec![
                row.name.clone(),
                sections::runs(row),
                median(&row.base).unwrap_or_default(),
                median(&row.other).unwrap_or_default(),
                sections::change(row).unwrap_or_default(),
                sections::bounds(row).unwrap_or_default(),
                row.judgement.to_string(),
            ]
        };
        let right =
            ["runs".into(), base.clone(), other.clone(), "shift".into(), "at 95 %".into()].map(Column::right);
        let columns =
            std::iter::once(Column::left("median of")).chain(right).chain([Column::left("verdict")]);
        Table::of(columns.collect(), self.figures.iter().map(row).collect())
    }
}

impl Document for Compared {
    fn head(&self) -> Head {
        let title = format!("{} against {}", self.other.name, self.base.name);
        Head { kind: "comparison".into(), title, depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Paragraph(self.conclusion.clone())];
        let void = |set: &SetOfRuns| {
            let runs = words::count(set.void, "run");
            (set.void > 0).then(|| format!("{runs} of {} left out: void.", set.name))
        };
        blocks.push(Block::Sentences([&self.base, &self.other].into_iter().filter_map(void).collect()));
        if !self.differences.is_empty() {
            let list = |values: &[String]| values.join(" / ");
            let row = |one: &Difference| vec![one.what.clone(), list(&one.base), list(&one.other)];
            let columns =
                ["not the same", self.base.name.as_str(), self.other.name.as_str()].map(Column::left);
            blocks.push(Block::Table(Table::of(columns.into(), self.differences.iter().map(row).collect())));
        }
        blocks.push(Block::Table(self.table()));
        blocks
    }

    fn csv(&self) -> Csv {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let row = |row: &Comparison| {
            [
                row.name.clone(),
                row.base.runs.to_string(),
                row.other.runs.to_string(),
                number(row.base.median),
                number(row.other.median),
                number(row.shift.map(|shift| shift.percent)),
                number(row.shift.and_then(|shift| shift.low)),
                number(row.shift.and_then(|shift| shift.high)),
                number(row.p),
                number(row.q),
                row.judgement.to_string(),
            ]
        };
        Csv::new(&CSV, self.figures.iter().map(row))
    }

    /// Schema `pathmeter/comparison/1`.
    fn json(&self) -> String {
        indented_json(self)
    }

    fn ndjson(&self) -> String {
        json_line(self)
    }
}

const CSV: [&str; 11] = [
    "figure",
    "base_runs",
    "other_runs",
    "base_median",
    "other_median",
    "shift_percent",
    "shift_low_percent",
    "shift_high_percent",
    "p",
    "q",
    "judgement",
];

#[cfg(test)]
mod tests {
    use super::*;
    use insight::run_of_events;
    use model::finding::Verdict;
    use model::stats::histogram::Distribution;

    fn runs(medians: &[u64], kernel: &str) -> Vec<Run> {
        let run = |median: &u64| {
            let mut run = run_of_events("id", "latency", &[]);
            let p50 = model::units::Nanos(*median);
            run.summary.rtt = Some(Distribution { count: 1000, p50, ..Distribution::default() });
            run.verdict.status = Status::Ok;
            run.host = Some(Host { kernel: kernel.into(), ..Host::default() });
            run
        };
        medians.iter().map(run).collect()
    }

    fn row<'a>(compared: &'a Compared, name: &str) -> &'a Comparison {
        compared.figures.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}: {compared:?}"))
    }

    #[test]
    fn a_longer_round_trip_is_worse_and_the_other_way_round_better() {
        let (short, long) = (
            runs(&[1000, 1010, 1020, 990, 1005, 1015, 995], "6.1"),
            runs(&[1200, 1210, 1190, 1205, 1215, 1195, 1202], "6.2"),
        );
        let compared = Compared::of(("before", &short), ("after", &long));
        assert_eq!(row(&compared, "rtt.p50").judgement, Judgement::Worse);
        assert!(compared.is_worse());
        assert!(
            compared.conclusion.starts_with("after is worse than before in rtt.p50"),
            "{}",
            compared.conclusion
        );
        assert_eq!(compared.differences[0].what, "kernel here");
        let back = Compared::of(("after", &long), ("before", &short));
        assert_eq!(row(&back, "rtt.p50").judgement, Judgement::Better);
        assert!(!back.is_worse());
    }

    #[test]
    fn void_runs_do_not_count_and_few_runs_settle_nothing() {
        let (base, mut other) = (runs(&[1000, 1001], "6.1"), runs(&[1000, 1002, 5000], "6.1"));
        other[2].verdict = Verdict { status: Status::Void, text: String::new() };
        let compared = Compared::of(("a", &base), ("b", &other));
        assert_eq!((compared.other.runs, compared.other.void), (2, 1));
        assert_eq!(row(&compared, "rtt.p50").other.runs, 2);
        assert!(compared.differences.is_empty());
        assert!(compared.conclusion.contains("cannot be told"), "{}", compared.conclusion);
    }
}
