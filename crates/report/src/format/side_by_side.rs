//! Several runs side by side: a column for each, what was not the same, and their figures as bars.
//!
//! Whether two sets of runs differ is for `compare` to say: a column is one run, and two columns settle nothing.

use crate::document::{Block, Chart, Column, Csv, Document, Head, Table};
use crate::expect::{headlines, printed};
use crate::format::brief::provenance::date;
use crate::plot::{Bar, BarChart, BarRow};
use model::distinct;
use model::history::{Headline, Measured, facts};
use model::run::Run;
use model::units::count;
use serde_json::{Value, json};

/// Runs in the order of their columns.
#[derive(Clone, Copy, Debug)]
pub struct SideBySide<'a> {
    /// The runs, two at least.
    pub runs: &'a [Run],
}

impl SideBySide<'_> {
    /// The head of each column.
    fn names(&self) -> Vec<String> {
        (1..=self.runs.len()).map(|number| format!("Run {number}")).collect()
    }

    /// A row for each figure that a run has: its name and the value of each run.
    fn figures(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let all: Vec<Vec<Headline>> = self.runs.iter().map(|run| headlines(Measured::Run(run))).collect();
        let row = |name: &String| {
            let value_in = |run: &Vec<Headline>| Some(run.iter().find(|own| own.name == *name)?.value);
            (name.clone(), all.iter().map(value_in).collect())
        };
        distinct(all.iter().flatten().map(|figure| &figure.name)).into_iter().map(row).collect()
    }

    fn table(&self) -> Table {
        let heads = std::iter::once(Column::left("")).chain(self.names().into_iter().map(Column::right));
        let about = |name: &str, of: &dyn Fn(&Run) -> String| {
            [vec![name.to_owned()], self.runs.iter().map(of).collect()].concat()
        };
        let mut rows = vec![
            about("Verdict", &|run| run.verdict.status.word().to_uppercase()),
            about("What", &|run| run.kind.clone()),
            about("Began", &|run| run.started.map(date).unwrap_or_default()),
        ];
        for (name, values) in self.figures() {
            let cell =
                |value: &Option<f64>| value.map_or_else(|| "–".to_owned(), |value| printed(&name, value));
            let cells: Vec<String> = values.iter().map(cell).collect();
            rows.push([vec![name.clone()], cells].concat());
        }
        rows.push(about("Findings", &|run| count(run.findings.len() as u64, "finding")));
        Table::new(heads.collect(), rows)
    }

    /// Facts known of all runs beside their figures that differ between them.
    fn differences(&self) -> Table {
        let heads = std::iter::once("Not the same".to_owned()).chain(self.names()).map(Column::left);
        let all: Vec<_> = self.runs.iter().map(|run| facts(Measured::Run(run))).collect();
        let row = |name: &String| -> Option<Vec<String>> {
            let value = |known: &Vec<model::history::Fact>| {
                Some(known.iter().find(|fact| fact.name == *name)?.value.clone())
            };
            let values: Vec<String> = all.iter().map(value).collect::<Option<_>>()?;
            let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
            differ.then(|| [vec![name.clone()], values].concat())
        };
        let names = all.first().into_iter().flatten().map(|fact| &fact.name);
        Table::new(heads.collect(), names.filter_map(row).collect())
    }

    /// The figures of a unit as bars, a row for each run; none where fewer than two runs have one.
    fn chart(&self, title: &str, unit: &str, scale: f64, keys: &[&str]) -> Option<Block> {
        let figures = self.figures();
        let found: Vec<_> =
            figures.iter().filter(|(name, _)| keys.contains(&name.as_str())).take(SERIES).collect();
        let row = |(index, name): (usize, String)| BarRow {
            name,
            bars: found.iter().map(|(_, values)| bar(values[index], scale)).collect(),
            missing: "not measured".into(),
        };
        let rows: Vec<BarRow> = self.names().into_iter().enumerate().map(row).collect();
        let drawn = rows.iter().filter(|row| row.bars.iter().any(Option::is_some)).count();
        (drawn > 1).then(|| {
            Block::Chart(Chart::Bars(BarChart {
                title: title.into(),
                subtitle: "of each run".into(),
                unit: unit.into(),
                series: found.iter().map(|(name, _)| name.clone()).collect(),
                ..BarChart::of_rows(rows)
            }))
        })
    }
}

fn bar(value: Option<f64>, scale: f64) -> Option<Bar> {
    value.map(|value| Bar { value: value / scale, ..Bar::default() })
}

impl Document for SideBySide<'_> {
    fn head(&self) -> Head {
        let title = format!("{} side by side", count(self.runs.len() as u64, "run"));
        Head { kind: "runs".into(), title, depth: 3, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let titles = self.runs.iter().zip(self.names());
        let legend = titles.map(|(run, name)| (name, format!("{} (`{}`)", super::run::title(run), run.id)));
        let mut blocks = vec![Block::facts(legend), Block::Table(self.table())];
        blocks.extend(self.chart("TCP goodput", "Gbit/s", 1e9, &["tcp.up.goodput", "tcp.down.goodput"]));
        blocks.extend(self.chart("UDP goodput", "Gbit/s", 1e9, &["udp.up.goodput", "udp.down.goodput"]));
        blocks.extend(self.chart("Round trips", "µs", 1e3, &["rtt.p50", "rtt.p99"]));
        blocks.push(Block::Table(self.differences()));
        blocks
    }

    fn csv(&self) -> Csv {
        let rows = self.figures().into_iter().flat_map(|(name, values)| {
            let ids = self.runs.iter().map(|run| run.id.clone());
            let row = move |(id, value): (String, Option<f64>)| Some([id, name.clone(), value?.to_string()]);
            ids.zip(values).filter_map(row).collect::<Vec<_>>()
        });
        Csv::new(["run", "figure", "value"], rows)
    }

    fn value(&self) -> Value {
        let ids: Vec<&str> = self.runs.iter().map(|run| run.id.as_str()).collect();
        let figures =
            self.figures().into_iter().map(|(name, values)| json!({ "name": name, "values": values }));
        json!({ "runs": ids, "figures": figures.collect::<Vec<_>>() })
    }
}

/// Bars of a row that can be distinguished.
const SERIES: usize = 3;
