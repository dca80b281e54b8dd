//! Two sets of runs compared, as a document.
//!
//! A run is one value of each figure; the method is in `docs/methods/comparison.md`. What differs between the two sets
//! beside the figures (kernel, network card, streams, …) stands first: it may be the reason.

use crate::document::{Block, Chart, Column, Csv, CsvCell, Document, Head, Table, json_value, or_empty};
use crate::expect::{higher_is_better, printed};
use crate::format::analysis::sections;
use crate::format::gather::by_key;
use crate::plot::{Bar, BarChart, BarRow};
use insight::figure::Key;
use model::history::Sample;
use model::stats::compare::{Case, Comparison, Group, Judgement, MOST_RUNS, Rules, table};
use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;
use model::units::{count, grouped};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// The comparison document, schema `pathmeter/comparison/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compared {
    /// Always `pathmeter/comparison/1`.
    pub schema: String,
    /// The set compared with.
    pub base: SetOfRuns,
    /// The set compared.
    pub other: SetOfRuns,
    /// Facts that differ between the two, beside the figures.
    pub differences: Vec<Difference>,
    /// A row for each figure that both sets have, the worst first.
    pub figures: Vec<Comparison>,
    /// The round trips of all runs of a set together, where both sets have their histograms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub round_trips: Vec<RoundTrips>,
    /// The conclusion.
    pub conclusion: String,
}

/// A set of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetOfRuns {
    /// The name that it was requested by: a label, a run, a file.
    pub name: String,
    /// Runs in it that count.
    pub runs: u64,
    /// Runs left out, as their results are void.
    pub void: u64,
}

/// Something that is not the same in both sets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The fact.
    pub what: String,
    /// Its values in the set compared with.
    pub base: Vec<String>,
    /// Its values in the set compared.
    pub other: Vec<String>,
}

/// The round trips of an egress path, of all runs together: percentiles of merged histograms, never means of percentiles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTrips {
    /// The label of the egress path.
    #[serde(rename = "way")]
    pub egress: String,
    /// Those of the set compared with.
    #[serde(rename = "base_ns")]
    pub base: Distribution,
    /// Those of the set compared.
    #[serde(rename = "other_ns")]
    pub other: Distribution,
}

impl Compared {
    /// Compares two sets, each a name and its runs. `rules`: when a difference counts; which direction is better depends on
    /// the figure.
    #[must_use]
    pub fn of_samples(base: (&str, &[Sample]), other: (&str, &[Sample]), rules: Rules) -> Compared {
        let counted = |runs: &'_ [Sample]| -> Vec<Sample> {
            runs.iter().filter(|run| !run.is_void()).cloned().collect()
        };
        let (first, second) = (counted(base.1), counted(other.1));
        let set = |(name, all): (&str, &[Sample]), counted: &[Sample]| SetOfRuns {
            name: name.into(),
            runs: counted.len() as u64,
            void: (all.len() - counted.len()) as u64,
        };
        let mut compared = Compared {
            schema: "pathmeter/comparison/1".into(),
            base: set(base, &first),
            other: set(other, &second),
            differences: differences(&first, &second),
            figures: figures(&first, &second, rules),
            round_trips: round_trips(&first, &second),
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
        let mut sentences = Vec::new();
        if !worse.is_empty() {
            sentences.push(format!("{other} is worse than {base} in {}", worse.join(", ")));
        }
        if !better.is_empty() {
            sentences.push(format!(
                "{} {other} is better in {}",
                if sentences.is_empty() { "" } else { "and" },
                better.join(", ")
            ));
        }
        let open = self.figures.len() - worse.len() - better.len() - same.len();
        let rest = match (sentences.is_empty(), open) {
            (true, 0) => {
                format!("{other} is the same as {base} in all {}.", count(same.len() as u64, "figure"))
            }
            (true, _) => format!(
                "A difference of {other} from {base} can be neither shown nor excluded for {}{}.",
                count(open as u64, "figure"),
                more(&self.figures)
            ),
            (false, 0) => ".".to_owned(),
            (false, _) => format!(
                "; for {} a difference can be neither shown nor excluded{}.",
                count(open as u64, "figure"),
                more(&self.figures)
            ),
        };
        (sentences.join(" ").trim().to_owned() + &rest).trim().to_owned()
    }
}

/// How many runs it would take, where that is known of all that are open.
fn more(figures: &[Comparison]) -> String {
    let wanted = figures.iter().filter_map(|row| match row.judgement {
        Judgement::CannotTell { more_runs } => Some(more_runs),
        Judgement::TooFew { needed } => Some(needed.saturating_sub(row.base.runs.min(row.other.runs))),
        _ => None,
    });
    match wanted.max() {
        None => String::new(),
        Some(runs) if runs >= MOST_RUNS => {
            format!(": even {MOST_RUNS} more runs on each side would hardly be enough")
        }
        Some(runs) => format!(": about {} more on each side are needed", count(runs, "run")),
    }
}

/// A row for each figure of both, the worst first.
fn figures(base: &[Sample], other: &[Sample], rules: Rules) -> Vec<Comparison> {
    let values = |runs: &[Sample], name: &str| -> Vec<f64> {
        runs.iter().filter_map(|run| run.figure(name)).collect()
    };
    let mut rows: Vec<(String, Rules, Vec<f64>, Vec<f64>)> = Vec::new();
    for name in names(base) {
        let Some(higher_is_better) = higher_is_better(&name) else { continue };
        let (first, second) = (values(base, &name), values(other, &name));
        if !first.is_empty() && !second.is_empty() {
            rows.push((name, Rules { higher_is_better, ..rules }, first, second));
        }
    }
    let cases: Vec<Case<'_>> =
        rows.iter().map(|(name, rules, base, other)| Case { name, base, other, rules: *rules }).collect();
    // Rates, times and shares are neither negative nor endless, which is all that cannot be compared.
    let mut compared = table(&cases).unwrap_or_default();
    compared.sort_by_key(|row| rank(row.judgement));
    compared
}

/// The figures of these runs, the foremost first.
fn names(runs: &[Sample]) -> Vec<String> {
    let mut names: Vec<String> = Key::foremost().iter().map(Key::to_string).collect();
    let mut known: HashSet<String> = names.iter().cloned().collect();
    for (name, _) in runs.iter().flat_map(|run| &run.figures) {
        if known.insert(name.clone()) {
            names.push(name.clone());
        }
    }
    names
}

/// The round trips of every path of both.
fn round_trips(base: &[Sample], other: &[Sample]) -> Vec<RoundTrips> {
    let (first, second) = (merged(base), merged(other));
    let of_both = |(egress, counted): &(String, Histogram)| {
        let (_, other) = second.iter().find(|(named, _)| named == egress)?;
        let (base, other) = (counted.distribution()?, other.distribution()?);
        Some(RoundTrips { egress: egress.clone(), base, other })
    };
    first.iter().filter_map(of_both).collect()
}

/// All round trips of each direction. One of another precision cannot be merged, and is left out.
fn merged(runs: &[Sample]) -> Vec<(String, Histogram)> {
    let mut all: Vec<(String, Histogram)> = Vec::new();
    for (egress, counted) in runs.iter().flat_map(|run| &run.histograms) {
        match all.iter_mut().find(|(named, _)| named == egress) {
            Some((_, sum)) => drop(sum.merge(counted)),
            None => all.push((egress.clone(), counted.clone())),
        }
    }
    all
}

fn rank(judgement: Judgement) -> u8 {
    match judgement {
        Judgement::Worse => 0,
        Judgement::Better => 1,
        Judgement::CannotTell { .. } | Judgement::TooFew { .. } | Judgement::NoPercentage => 2,
        Judgement::Same => 3,
    }
}

/// Facts that both sets know, and that differ.
fn differences(base: &[Sample], other: &[Sample]) -> Vec<Difference> {
    let (first, second) = (facts(base), facts(other));
    let differs = |(what, base): &(String, Vec<String>)| {
        let other = &second.iter().find(|(name, _)| name == what)?.1;
        (base != other).then(|| Difference { what: what.clone(), base: base.clone(), other: other.clone() })
    };
    first.iter().filter_map(differs).collect()
}

/// The facts known of these runs, and every value of each, in order.
fn facts(runs: &[Sample]) -> Vec<(String, Vec<String>)> {
    let all = runs.iter().flat_map(|run| &run.facts).map(|fact| (fact.name.clone(), fact.value.clone()));
    let mut all = by_key(all);
    for (_, values) in &mut all {
        values.sort();
        values.dedup();
    }
    all
}

impl Compared {
    fn table(&self) -> Table {
        let (base, other) = (&self.base.name, &self.other.name);
        let row = |row: &Comparison| {
            let median = |group: &Group| Some(printed(&row.name, group.median?));
            vec![
                row.name.clone(),
                sections::runs(row),
                median(&row.base).unwrap_or_default(),
                median(&row.other).unwrap_or_default(),
                sections::shift(row).unwrap_or_default(),
                sections::bounds(row).unwrap_or_default(),
                sections::judged(row),
            ]
        };
        let right =
            ["runs".into(), base.clone(), other.clone(), "shift".into(), "at 95 %".into()].map(Column::right);
        let columns =
            std::iter::once(Column::left("median of")).chain(right).chain([Column::left("verdict")]);
        let table = Table::new(columns.collect(), self.figures.iter().map(row).collect());
        table.with_spare(&["runs", "at 95 %"])
    }

    /// Every figure in the same unit: the medians of one set as shares of the other's. Those that have grown far are apart,
    /// since nothing could be observed of the others beside them.
    fn charts(&self) -> Vec<Chart> {
        let rows = self.figures.iter().filter_map(share_row).take(MOST_BARS);
        let (far, near): (Vec<BarRow>, Vec<BarRow>) = rows.partition(|row| {
            row.bars
                .iter()
                .flatten()
                .any(|bar| bar.value > FAR || bar.whisker.is_some_and(|ends| ends[1] > FAR))
        });
        [near, far].into_iter().filter(|rows| !rows.is_empty()).map(|rows| self.chart(rows)).collect()
    }

    fn chart(&self, rows: Vec<BarRow>) -> Chart {
        let (base, other) = (&self.base.name, &self.other.name);
        let runs = |set: &SetOfRuns| count(set.runs, "run");
        Chart::Bars(BarChart {
            title: match rows.as_slice() {
                [row] => format!("{other} against {base}: {}", row.name),
                _ => format!("{other} against {base}"),
            },
            subtitle: format!(
                "medians of {} and of {}; 100 % is the median of {base}",
                runs(&self.base),
                runs(&self.other)
            ),
            unit: "%".into(),
            series: vec![base.clone(), other.clone()],
            whiskers: Some("95 % confidence interval of the median".into()),
            ..BarChart::of_rows(rows)
        })
    }

    fn round_trip_table(&self) -> Table {
        let columns = ["round trips", "set"].map(Column::left).into_iter();
        let right = ["count", "median", "99 %", "99.9 %", "longest"].map(Column::right);
        let row = |egress: &str, set: &SetOfRuns, all: &Distribution| {
            let time = |time: model::units::Nanos| time.to_string();
            let known = |percent, of: fn(&Distribution) -> model::units::Nanos| {
                all.known(percent, of).map_or_else(|| "-".into(), time)
            };
            let p99: String = known(99.0, |all: &Distribution| all.p99);
            let p999: String = known(99.9, |all: &Distribution| all.p999);
            let given = |figure: Option<model::units::Nanos>| figure.map_or_else(|| "-".into(), time);
            let figures = [given(all.median()), p99, p999, given(all.longest())];
            [vec![egress.to_owned(), set.name.clone(), grouped(all.count)], figures.into()].concat()
        };
        let rows = self.round_trips.iter().flat_map(|one| {
            [row(&one.egress, &self.base, &one.base), row(&one.egress, &self.other, &one.other)]
        });
        Table::new(columns.chain(right).collect(), rows.collect()).with_spare(&["99.9 %", "count"])
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
            let runs = count(set.void, "run");
            (set.void > 0).then(|| format!("{runs} of {} left out: void.", set.name))
        };
        blocks.push(Block::Sentences([&self.base, &self.other].into_iter().filter_map(void).collect()));
        if !self.differences.is_empty() {
            let list = |values: &[String]| values.join(" / ");
            let row = |one: &Difference| vec![one.what.clone(), list(&one.base), list(&one.other)];
            let columns =
                ["not the same", self.base.name.as_str(), self.other.name.as_str()].map(Column::left);
            blocks.push(Block::Table(Table::new(columns.into(), self.differences.iter().map(row).collect())));
        }
        blocks.push(Block::Table(self.table()));
        blocks.extend(self.charts().into_iter().map(Block::Chart));
        blocks.push(Block::Table(self.round_trip_table()));
        blocks
    }

    fn csv(&self) -> Csv {
        Csv::of_cells(&CSV, &self.figures)
    }

    /// Schema `pathmeter/comparison/1`.
    fn value(&self) -> Value {
        json_value(self)
    }
}

/// A figure as shares of the first set's median; absent where that is not a share.
fn share_row(row: &Comparison) -> Option<BarRow> {
    let base = row.base.median.filter(|median| *median > 0.0)?;
    let share = |value: f64| 100.0 * value / base;
    let bar =
        |group: &Group, whisker| group.median.map(|median| Bar { value: share(median), whisker, mark: None });
    let own = row.base.median_bounds.map(|bounds| bounds.map(share));
    // A whisker below nothing would be drawn over the names.
    let shift = row.shift.and_then(|shift| Some([shift.low?, shift.high?].map(|end| (100.0 + end).max(0.0))));
    let bars = vec![bar(&row.base, own), bar(&row.other, shift)];
    Some(BarRow { name: row.name.clone(), bars, missing: String::new() })
}

/// Shares beyond this, percent, are drawn apart.
const FAR: f64 = 300.0;
/// Figures that are drawn, the worst first.
const MOST_BARS: usize = 20;

const CSV: [CsvCell<Comparison>; 11] = [
    CsvCell("figure", |row| row.name.clone()),
    CsvCell("base_runs", |row| row.base.runs.to_string()),
    CsvCell("other_runs", |row| row.other.runs.to_string()),
    CsvCell("base_median", |row| or_empty(row.base.median)),
    CsvCell("other_median", |row| or_empty(row.other.median)),
    CsvCell("shift_percent", |row| or_empty(row.shift.map(|shift| shift.percent))),
    CsvCell("shift_low_percent", |row| or_empty(row.shift.and_then(|shift| shift.low))),
    CsvCell("shift_high_percent", |row| or_empty(row.shift.and_then(|shift| shift.high))),
    CsvCell("p", |row| or_empty(row.p)),
    CsvCell("q", |row| or_empty(row.q)),
    CsvCell("judgement", |row| row.judgement.to_string()),
];

#[cfg(test)]
mod tests {
    use super::*;
    use model::history::Fact;

    fn runs(medians: &[u64], kernel: &str) -> Vec<Sample> {
        let run = |median: &u64| {
            let mut counted = Histogram::default();
            counted.record_n(*median, 1000);
            Sample {
                status: Some("ok".into()),
                figures: vec![("rtt.p50".into(), *median as f64)],
                facts: vec![Fact { name: "kernel here".into(), value: kernel.into() }],
                histograms: vec![("far".into(), counted)],
                ..Sample::default()
            }
        };
        medians.iter().map(run).collect()
    }

    fn compared(base: (&str, &[Sample]), other: (&str, &[Sample])) -> Compared {
        Compared::of_samples(base, other, Rules::new(true))
    }

    fn row<'a>(compared: &'a Compared, name: &str) -> &'a Comparison {
        compared.figures.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name}: {compared:?}"))
    }

    #[test]
    fn a_longer_round_trip_is_worse_and_a_shorter_one_better() {
        let (short, long) = (
            runs(&[1000, 1010, 1020, 990, 1005, 1015, 995], "6.1"),
            runs(&[1200, 1210, 1190, 1205, 1215, 1195, 1202], "6.2"),
        );
        let there = compared(("before", &short), ("after", &long));
        assert_eq!(row(&there, "rtt.p50").judgement, Judgement::Worse);
        assert!(there.is_worse());
        assert!(
            there.conclusion.starts_with("after is worse than before in rtt.p50"),
            "{}",
            there.conclusion
        );
        assert_eq!(there.differences[0].what, "kernel here");
        let back = compared(("after", &long), ("before", &short));
        assert_eq!(row(&back, "rtt.p50").judgement, Judgement::Better);
        assert!(!back.is_worse());
        // Which difference counts is asked for.
        let coarse = Rules { noise_floor_percent: 50.0, ..Rules::new(true) };
        let coarse = Compared::of_samples(("before", &short), ("after", &long), coarse);
        assert_eq!(row(&coarse, "rtt.p50").judgement, Judgement::Same);
    }

    #[test]
    fn void_runs_do_not_count_and_few_runs_settle_nothing() {
        let (base, mut other) = (runs(&[1000, 1001], "6.1"), runs(&[1000, 1002, 5000], "6.1"));
        other[2].status = Some("void".into());
        let compared = compared(("a", &base), ("b", &other));
        assert_eq!((compared.other.runs, compared.other.void), (2, 1));
        assert_eq!(row(&compared, "rtt.p50").other.runs, 2);
        assert!(compared.differences.is_empty());
        assert!(compared.conclusion.contains("can be neither shown nor excluded"), "{}", compared.conclusion);
        assert_eq!(compared.round_trips[0].other.max.0, 1002, "the void run's are left out");
    }

    #[test]
    fn percentiles_are_those_of_all_round_trips_together() {
        // Nine quick runs and a slow one: a tenth of all round trips is slow, and the mean of the ten p99 is none of them.
        let slow_tenth = runs(&[100, 100, 100, 100, 100, 100, 100, 100, 100, 1900], "6.1");
        let compared = compared(("a", &slow_tenth), ("b", &slow_tenth));
        let all = compared.round_trips[0].base;
        assert_eq!((all.count, all.p50.0, all.p90.0, all.p99.0), (10_000, 100, 100, 1900));
    }

    #[test]
    fn the_picture_has_every_figure_as_a_share_of_the_first_set() {
        let (short, long) = (runs(&[1000, 1010, 1020, 1030, 990, 1000], "6.1"), runs(&[2000; 6], "6.1"));
        let drawn = compared(("before", &short), ("after", &long)).charts();
        let [Chart::Bars(chart)] = &drawn[..] else { panic!("{drawn:?}") };
        let row = &chart.panels[0].rows[0];
        let [Some(before), Some(after)] = row.bars[..] else { panic!("{row:?}") };
        assert_eq!(before.value, 100.0, "{row:?}");
        assert!(after.value > 190.0 && after.value < 200.5, "{row:?}");
        let [low, high] = after.whisker.unwrap();
        assert!(low <= after.value + 1.0 && after.value <= high + 1.0, "{row:?}");
        assert!(compared(("before", &[]), ("after", &long)).charts().is_empty());
        let far = runs(&[9000; 6], "6.1");
        assert_eq!(compared(("before", &short), ("after", &far)).charts().len(), 1);
    }
}
