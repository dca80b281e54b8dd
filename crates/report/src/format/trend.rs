//! How the figures of a path went over time, as a document.

use crate::document::{Block, Chart, Column, Csv, Document, Head, Table, json_value};
use crate::expect::{axis_unit, higher_is_better, printed};
use crate::plot::{Across, Line, LineChart, LinePanel};
use insight::figure::Key;
use model::distinct;
use model::history::Sample;
use model::stats::compare::Rules;
use model::stats::quantile::median;
use model::stats::trend::{Change, ChangeKind, Trend};
use model::time::WallTime;
use model::units::{change, count};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The trend document, schema `pathmeter/trend/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trends {
    /// Always `pathmeter/trend/1`.
    pub schema: String,
    /// The far end, as runs name it.
    pub target: String,
    /// Known changes: before the last one of them nothing is compared with.
    pub marks: Vec<KnownChange>,
    /// Each command and figure of the path, the foremost first.
    pub series: Vec<Series>,
    /// The conclusion.
    pub conclusion: String,
}

/// A known change of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnownChange {
    /// When, RFC 3339.
    pub at: String,
    /// The change.
    pub note: String,
}

/// One figure over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// The command that measured it.
    pub kind: String,
    /// Its name, as an expectation names it.
    pub figure: String,
    /// Every run that has it, the earliest first.
    pub points: Vec<Point>,
    /// The changes of its level, in order.
    pub changes: Vec<Turn>,
    /// Whether it is worse than it was, and not back.
    pub is_worse: bool,
    /// The newest run is so bad that two more like it would be a change.
    pub is_suspicious: bool,
}

/// One run of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The run.
    pub run: String,
    /// When it began, RFC 3339.
    pub at: String,
    /// Its value, in the figure's unit.
    pub value: f64,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// When the first run on the new level began, RFC 3339.
    pub at: String,
    /// The first run on the new level.
    pub run: String,
    /// The run that confirmed it, the third at the earliest.
    pub confirmed_by: String,
    /// The median before.
    pub before: f64,
    /// The median of the runs that confirmed it.
    pub after: f64,
    /// How far that lies from before, in percent; absent from a level of zero.
    pub percent: Option<f64>,
    /// The meaning.
    pub kind: ChangeKind,
    /// Other facts that are not as before, by name.
    pub with: Vec<String>,
}

impl Trends {
    /// The trends of a path. `samples`: its runs, in any order; `marks`: known changes, in order.
    #[must_use]
    pub fn from_samples(
        target: &str,
        samples: &[Sample],
        marks: &[(WallTime, String)],
        rules: Rules,
    ) -> Trends {
        let since = marks.last().map_or(WallTime(0), |(at, _)| *at);
        let counts =
            |sample: &&Sample| sample.status.is_some() && !sample.is_void() && sample.started >= since;
        let mut runs: Vec<&Sample> = samples.iter().filter(counts).collect();
        runs.sort_by_key(|sample| (sample.started, sample.id.clone()));
        let series = |(kind, figure)| Series::from_runs(kind, figure, &runs, rules);
        let known = |(at, note): &(WallTime, String)| KnownChange { at: at.to_string(), note: note.clone() };
        let mut trends = Trends {
            schema: "pathmeter/trend/1".into(),
            target: target.into(),
            marks: marks.iter().map(known).collect(),
            series: names(&runs).into_iter().filter_map(series).collect(),
            conclusion: String::new(),
        };
        trends.conclusion = trends.concluded(samples.len());
        trends
    }

    /// A figure is worse than it was, and not back.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.series.iter().any(|series| series.is_worse)
    }

    fn concluded(&self, given: usize) -> String {
        let worse: Vec<String> =
            self.series.iter().filter(|series| series.is_worse).map(Series::last_change).collect();
        let changed = self.series.iter().filter(|series| !series.changes.is_empty()).count();
        let runs = self.series.iter().map(|series| series.points.len()).max().unwrap_or_default();
        match (worse.is_empty(), changed, runs) {
            (_, _, 0) if given == 0 => {
                format!("No run to {} is kept: `pathmeter history` shows the targets.", self.target)
            }
            (_, _, 0) => format!(
                "No trend: none of the {given} kept runs to {} has a figure (void, not ended, or before the last known change).",
                self.target
            ),
            (true, ..) if runs < ENOUGH => {
                format!(
                    "The longest series of {} has {runs} {}: from {ENOUGH} on a change can be found.",
                    self.target,
                    if runs == 1 { "run" } else { "runs" }
                )
            }
            (true, 0, _) => format!("{} is steady over {runs} runs.", self.target),
            (true, ..) => format!("{} is as good as it was.", self.target),
            (false, ..) => format!("{} is worse: {}.", self.target, worse.join("; ")),
        }
    }
}

impl Series {
    fn from_runs(kind: &str, figure: &str, runs: &[&Sample], rules: Rules) -> Option<Series> {
        let rules = Rules { higher_is_better: higher_is_better(figure)?, ..rules };
        let having: Vec<(&Sample, f64)> = runs
            .iter()
            .filter(|sample| sample.kind == kind)
            .filter_map(|sample| Some((*sample, sample.figure(figure)?)))
            .collect();
        let values: Vec<f64> = having.iter().map(|(_, value)| *value).collect();
        let trend = Trend::from_values(&values, &rules);
        let point = |(sample, value): &(&Sample, f64)| Point {
            run: sample.id.clone(),
            at: sample.started.to_string(),
            value: *value,
        };
        let turn = |change: &Change| {
            let sample = having[change.begin].0;
            Turn {
                at: sample.started.to_string(),
                run: sample.id.clone(),
                confirmed_by: having[change.confirmed].0.id.clone(),
                before: change.before,
                after: change.after,
                percent: change.percent,
                kind: change.kind,
                with: change
                    .begin
                    .checked_sub(1)
                    .map(|at| differing(having[at].0, sample))
                    .unwrap_or_default(),
            }
        };
        Some(Series {
            kind: kind.into(),
            figure: figure.into(),
            points: having.iter().map(point).collect(),
            changes: trend.changes.iter().map(turn).collect(),
            is_worse: trend.is_worse(),
            is_suspicious: trend.is_suspicious,
        })
    }

    /// The last change in words.
    fn last_change(&self) -> String {
        let Some(turn) = self.changes.last() else { return self.figure.clone() };
        let value = |value| printed(&self.figure, value);
        format!(
            "{} {} since {}, before {}",
            self.figure,
            value(turn.after),
            day(&turn.at),
            value(turn.before)
        )
    }
}

/// Facts that are known of both runs, and differ.
fn differing(before: &Sample, after: &Sample) -> Vec<String> {
    let of_before = |name: &str| before.facts.iter().find(|fact| fact.name == name);
    let differs = after.facts.iter().filter(|fact| of_before(&fact.name).is_some_and(|other| other != *fact));
    differs.map(|fact| fact.name.clone()).collect()
}

/// Each command and figure that runs have, the foremost figures first.
fn names<'a>(runs: &[&'a Sample]) -> Vec<(&'a str, &'a str)> {
    let foremost: Vec<String> = Key::foremost().iter().map(Key::to_string).collect();
    let place = |name: &str| foremost.iter().position(|known| known == name).unwrap_or(foremost.len());
    let of_run =
        |run: &&'a Sample| run.figures.iter().map(|(figure, _)| (run.kind.as_str(), figure.as_str()));
    let mut names = distinct(runs.iter().flat_map(of_run));
    names.sort_by_key(|(_, figure)| place(figure));
    names
}

/// The date of a time.
fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// Hours and minutes of it.
fn clock(time: &str) -> &str {
    time.split('T').nth(1).and_then(|time| time.get(..5)).unwrap_or(time)
}

impl Trends {
    fn table(&self) -> Table {
        let heads = ["figure", "of", "runs", "median", "latest", "change", "since"];
        let columns = heads.iter().map(|head| match *head {
            "figure" | "of" | "since" => Column::left(*head),
            head => Column::right(head),
        });
        let row = |series: &Series| {
            let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
            let shown =
                |value: Option<f64>| value.map(|value| printed(&series.figure, value)).unwrap_or_default();
            let last = series.changes.last();
            let change = |turn: &Turn| {
                let percent = turn.percent.map(|percent| format!(" {}", change(percent))).unwrap_or_default();
                format!("{}{percent}", turn.kind.word())
            };
            vec![
                series.figure.clone(),
                series.kind.clone(),
                values.len().to_string(),
                shown(median(&values)),
                shown(values.last().copied()),
                last.map(change).unwrap_or_default(),
                last.map(|turn| day(&turn.at).to_owned()).unwrap_or_default(),
            ]
        };
        Table::new(columns.collect(), self.series.iter().map(row).collect())
    }

    fn changes(&self) -> Vec<String> {
        let reported = |series: &Series, turn: &Turn| {
            let value = |value| printed(&series.figure, value);
            let with = if turn.with.is_empty() {
                String::new()
            } else {
                format!("; also changed: {}", turn.with.join(", "))
            };
            let (word, figure, at) = (turn.kind.word(), &series.figure, &turn.at);
            format!(
                "{at} {figure} {word}: {} to {} (run {}){with}",
                value(turn.before),
                value(turn.after),
                turn.run
            )
        };
        self.series
            .iter()
            .flat_map(|series| series.changes.iter().map(|turn| reported(series, turn)))
            .collect()
    }

    fn chart(&self) -> Option<Chart> {
        let panels: Vec<LinePanel> =
            self.series.iter().filter(|series| series.points.len() > 1).map(panel).collect();
        let chart = LineChart {
            title: format!("{} over time", self.target),
            subtitle: "a point for each run".into(),
            limit: self.series.iter().any(|series| !series.changes.is_empty()).then(|| "level".into()),
            panels,
            ..LineChart::default()
        };
        (!chart.panels.is_empty()).then_some(Chart::Lines(chart))
    }
}

fn panel(series: &Series) -> LinePanel {
    let days = || series.points.iter().map(|point| day(&point.at));
    // Within one day the time distinguishes runs.
    let one_day = days().all(|other| Some(other) == days().next());
    let place = |point: &Point| if one_day { clock(&point.at) } else { day(&point.at) }.to_owned();
    let across = match days().next().filter(|_| one_day) {
        Some(day) => format!("Begin of the run, {day} UTC"),
        None => "Begin of the run".to_owned(),
    };
    let most = series.points.iter().map(|point| point.value).fold(0.0, f64::max);
    let (unit, size) = axis_unit(&series.figure, most);
    let line = Line {
        name: series.kind.clone(),
        values: series.points.iter().map(|point| Some(point.value / size)).collect(),
        limit: levels(series).into_iter().map(|level| Some(level / size)).collect(),
    };
    let mut places: Vec<String> = series.points.iter().map(place).collect();
    // Runs of the same minute have one label.
    for index in (1..places.len()).rev() {
        if places[index] == places[index - 1] {
            places[index].clear();
        }
    }
    LinePanel {
        title: series.figure.clone(),
        unit: unit.into(),
        lines: vec![line],
        across: Some(Across::names(across, places)),
        ..LinePanel::default()
    }
}

/// The median that each run is held against, where the level has changed.
fn levels(series: &Series) -> Vec<f64> {
    let Some(first) = series.changes.first() else { return Vec::new() };
    let level = |point: &Point| {
        let turn = series.changes.iter().rev().find(|turn| turn.at <= point.at);
        turn.map_or(first.before, |turn| turn.after)
    };
    series.points.iter().map(level).collect()
}

impl Document for Trends {
    fn head(&self) -> Head {
        Head { kind: "trend".into(), title: format!("Trend of {}", self.target), depth: 1, ..Head::default() }
    }

    fn provenance(&self) -> String {
        let runs: BTreeMap<&str, &str> = self
            .series
            .iter()
            .flat_map(|series| &series.points)
            .map(|point| (point.at.as_str(), point.run.as_str()))
            .collect();
        let span = runs.keys().next().zip(runs.keys().last());
        let span = span.map(|(first, last)| format!(", from {first} to {last}")).unwrap_or_default();
        format!("Trend of {}: {}{span}", self.target, count(runs.len() as u64, "run"))
    }

    fn blocks(&self) -> Vec<Block> {
        let marks =
            self.marks.iter().map(|mark| format!("{} known change: {}", mark.at, mark.note)).collect();
        let mut blocks = vec![
            Block::Paragraph(self.conclusion.clone()),
            Block::Sentences(marks),
            Block::Table(self.table()),
            Block::Sentences(self.changes()),
        ];
        blocks.extend(self.chart().map(Block::Chart));
        blocks
    }

    fn csv(&self) -> Csv {
        let rows = self.series.iter().flat_map(|series| {
            series.points.iter().map(|point| {
                [
                    self.target.clone(),
                    series.kind.clone(),
                    series.figure.clone(),
                    point.run.clone(),
                    point.at.clone(),
                    point.value.to_string(),
                ]
            })
        });
        Csv::new(["target", "kind", "figure", "run", "at", "value"], rows)
    }

    /// Schema `pathmeter/trend/1`.
    fn value(&self) -> Value {
        json_value(self)
    }
}

/// Runs from which on a change can be found.
const ENOUGH: usize = 11;

#[cfg(test)]
mod tests {
    use super::*;
    use model::history::Fact;

    fn run(number: u64, value: f64, kernel: &str) -> Sample {
        Sample {
            id: format!("run-{number}"),
            kind: "throughput".into(),
            started: WallTime(number * 900_000_000_000),
            status: Some("ok".into()),
            figures: vec![("tcp.up.goodput".into(), value)],
            facts: vec![Fact { name: "kernel here".into(), value: kernel.into() }],
            ..Sample::default()
        }
    }

    fn dropped() -> Vec<Sample> {
        let before = (0..12).map(|number| run(number, 1e9 + number as f64 * 1e6, "6.1"));
        before.chain((12..16).map(|number| run(number, 5e8, "6.2"))).rev().collect()
    }

    #[test]
    fn a_drop_is_reported_with_the_runs_and_what_else_changed() {
        let trends = Trends::from_samples("far", &dropped(), &[], Rules::new(true));
        let series = &trends.series[0];
        let turn = &series.changes[0];
        assert_eq!((turn.run.as_str(), turn.confirmed_by.as_str()), ("run-12", "run-14"));
        assert_eq!((turn.kind, turn.with.as_slice()), (ChangeKind::Worse, &["kernel here".to_owned()][..]));
        assert!(
            trends.is_worse()
                && trends.conclusion.starts_with("far is worse: tcp.up.goodput 500 Mbit/s since"),
            "{}",
            trends.conclusion
        );
    }

    #[test]
    fn the_picture_has_units_and_labels_with_room() {
        let trends = Trends::from_samples("far", &dropped(), &[], Rules::new(true));
        let Some(Chart::Lines(chart)) = trends.chart() else { panic!("runs are drawn as lines") };
        let panel = &chart.panels[0];
        assert_eq!((panel.unit.as_str(), panel.lines[0].values[0]), ("Gbit/s", Some(1.0)));
        // 16 runs of one day, a quarter of an hour apart.
        let across = panel.across.as_ref().unwrap();
        assert_eq!(
            (across.title.as_str(), across.names[1].as_str()),
            ("Begin of the run, 1970-01-01 UTC", "00:15")
        );
        let many = Trends::from_samples(
            "far",
            &(0..60).map(|number| run(number * 96, 1e9, "6.1")).collect::<Vec<_>>(),
            &[],
            Rules::new(true),
        );
        let Some(Chart::Lines(chart)) = many.chart() else { panic!("runs are drawn as lines") };
        let shown = chart.drawing().svg().matches(">1970-").count();
        assert!((3..20).contains(&shown), "{shown} days of 60 have room");
        // The first run of a day has its label, and runs without a label take no room.
        let daily: Vec<Sample> = (0..60).map(|number| run(number * 16, 1e9, "6.1")).collect();
        let daily = Trends::from_samples("far", &daily, &[], Rules::new(true));
        let Some(Chart::Lines(chart)) = daily.chart() else { panic!("runs are drawn as lines") };
        let shown = chart.drawing().svg().matches(">1970-").count();
        assert!((3..=10).contains(&shown), "{shown} days of 10 are named");
    }

    #[test]
    fn a_known_change_begins_anew() {
        let mark = [(WallTime(12 * 900_000_000_000), "new line".to_owned())];
        let trends = Trends::from_samples("far", &dropped(), &mark, Rules::new(true));
        assert_eq!((trends.series[0].points.len(), trends.is_worse()), (4, false));
        assert!(trends.conclusion.contains("4 runs: from 11 on"), "{}", trends.conclusion);
        let single = Trends::from_samples("far", &dropped()[..1], &[], Rules::new(true));
        assert!(single.conclusion.contains("1 run: from 11 on"), "{}", single.conclusion);
    }

    #[test]
    fn void_runs_and_runs_that_have_not_ended_do_not_count() {
        let mut samples = dropped();
        samples.iter_mut().take(2).for_each(|sample| sample.status = Some("void".into()));
        samples[2].status = None;
        assert_eq!(Trends::from_samples("far", &samples, &[], Rules::new(true)).series[0].points.len(), 13);
        assert_eq!(
            Trends::from_samples("far", &[], &[], Rules::new(true)).conclusion,
            "No run to far is kept: `pathmeter history` shows the targets."
        );
        // Runs that are kept, and measured nothing.
        let void = Trends::from_samples("far", &samples[..2], &[], Rules::new(true)).conclusion;
        assert!(void.starts_with("No trend: none of the 2 kept runs to far has a figure"), "{void}");
    }
}
