//! A mesh that was measured, as a document: what it comes to, then a matrix for each test, then each path that was not measured.

mod chart;
mod tables;

use super::gather::by_key;
use crate::document::{Block, Chart, Conclusion, Csv, Document, Expectation, Head, Judgement, Published};
use model::finding::Status;
use model::history::{Entry, Origin};
use model::mesh::{CellState, MeshCell, MeshReport};
use model::units::{Nanos, count};
use serde_json::Value;
use std::collections::BTreeSet;

impl Document for MeshReport {
    fn head(&self) -> Head {
        let is_named = !["", "mesh"].contains(&self.name.as_str());
        let title = if is_named { format!("Mesh {}", self.name) } else { "Mesh".into() };
        Head { kind: "mesh".into(), title, depth: 1, started: self.started, finished: self.finished }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![conclusion(self)];
        for group in groups(self) {
            let is_small = group.sites().len() <= MOST_SITES;
            let (matrix, sites) = (tables::matrix(&group), tables::sites(&group));
            let (shown, kept) = if is_small { (matrix, sites) } else { (sites, matrix) };
            blocks.push(Block::Table(shown));
            blocks.extend(chart::draw_chart(&group).map(Block::Chart));
            let details = vec![Block::Table(kept), Block::Table(tables::paths(&group))];
            blocks.push(Block::Details(format!("{}: every path", group.title()), details));
        }
        let more = self.findings.iter().skip(MOST_FINDINGS);
        blocks.push(Block::list(more.map(|found| sentence(&found.title))));
        blocks.push(Block::list(not_measured(self)));
        blocks.push(Block::list(self.notes.iter().cloned()));
        blocks
    }

    fn charts(&self) -> Vec<Chart> {
        groups(self).iter().filter_map(chart::draw_chart).collect()
    }

    /// An expectation for every path: that it was measured.
    fn expectations(&self) -> Vec<Expectation> {
        let expectation = |cell: &MeshCell| Expectation {
            of: cell.test.clone(),
            what: format!("{} is measured", cell.path()),
            expected: String::new(),
            found: cell.measured().map_or_else(|| cell_words(cell), |figure| figure.text.clone()),
            judgement: if cell.state == CellState::Done { Judgement::Held } else { Judgement::Broken },
        };
        self.cells.iter().map(expectation).collect()
    }

    /// A row for each cell.
    fn csv(&self) -> Csv {
        tables::csv(self)
    }

    /// Schema `pathmeter/mesh/1`.
    fn value(&self) -> Value {
        Published::new(self, self.started, self.finished).value()
    }

    /// A row for each cell that has a result, good or not.
    fn entries(&self) -> Vec<Entry> {
        let entry = |cell: &MeshCell| Entry {
            id: cell.run.clone(),
            kind: cell.test.clone(),
            target: cell.path(),
            label: self.label.clone(),
            origin: Origin::Measured,
            started: cell.started.or(self.started).unwrap_or_default(),
            finished: None,
            note: String::new(),
            running: false,
            status: Some(cell.measured().and(cell.status).unwrap_or(Status::Void).word().into()),
            verdict: cell.reason.clone(),
            figures: cell.measured().cloned().into_iter().collect(),
        };
        self.cells.iter().map(entry).collect()
    }
}

/// The cells of one test and one IP version.
struct Group<'a> {
    test: &'a str,
    family: Option<u8>,
    cells: Vec<&'a MeshCell>,
}

impl Group<'_> {
    /// `throughput, IPv6: tcp.up.goodput`.
    fn title(&self) -> String {
        let family = self.family.map(|family| format!(", IPv{family}")).unwrap_or_default();
        format!("{}{family}", self.test)
    }

    fn sites(&self) -> BTreeSet<&str> {
        self.cells.iter().flat_map(|cell| [cell.from.as_str(), cell.to.as_str()]).collect()
    }

    /// The values of cells that were measured and that `keep` keeps, in order.
    fn values(&self, keep: impl Fn(&MeshCell) -> bool) -> Vec<f64> {
        let kept = self.cells.iter().filter(|cell| keep(cell));
        let mut values: Vec<f64> = kept.filter_map(|cell| Some(cell.measured()?.value)).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    /// The name by which values are printed.
    fn figure(&self) -> Option<&str> {
        self.cells.iter().find_map(|cell| Some(cell.measured()?.name.as_str()))
    }

    /// Whether more of its figure is better.
    fn higher_is_better(&self) -> bool {
        self.figure().and_then(crate::expect::higher_is_better).unwrap_or(true)
    }
}

/// The cells by test and IP version, in the order in which those come.
fn groups(report: &MeshReport) -> Vec<Group<'_>> {
    let groups =
        by_key(report.cells.iter().map(|cell| ((cell.test.as_str(), cell.family), cell))).into_iter();
    groups.map(|((test, family), cells)| Group { test, family, cells }).collect()
}

fn status(report: &MeshReport) -> Status {
    let stands = |state| report.in_state(state).next().is_some();
    let is_incomplete =
        stands(CellState::Void) || stands(CellState::Missed) || report.older().next().is_some();
    match () {
        () if stands(CellState::Failed) => Status::Problem,
        () if report.is_void() => Status::Void,
        () if is_incomplete || !report.findings.is_empty() => Status::Degraded,
        () => Status::Ok,
    }
}

fn conclusion(report: &MeshReport) -> Block {
    let mut sentences: Vec<String> =
        report.findings.iter().take(MOST_FINDINGS).map(|found| sentence(&found.title)).collect();
    let more = report.findings.len().saturating_sub(MOST_FINDINGS) as u64;
    sentences.extend((more > 0).then(|| format!("{} more.", count(more, "finding"))));
    sentences.extend(missing(report));
    sentences.extend(older(report));
    sentences.extend(groups(report).iter().map(range));
    if report.cells.is_empty() {
        sentences.push("No path has a result yet.".into());
    }
    Block::Conclusion(Conclusion::new(status(report), sentences.join(" ")))
}

/// `2 of 12 paths failed, 1 missed.`
fn missing(report: &MeshReport) -> Option<String> {
    let states = [CellState::Failed, CellState::Missed, CellState::Void];
    let counts = states.map(|state| (state, report.in_state(state).count()));
    let counts: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(state, count)| format!("{count} {}", state.word()))
        .collect();
    let paths = count(report.cells.len() as u64, "path");
    (!counts.is_empty()).then(|| format!("Not measured of {paths}: {}.", counts.join(", ")))
}

/// `2 of 12 paths were not measured in the latest round: what is shown of them is up to 3 d older, as marked.`
fn older(report: &MeshReport) -> Option<String> {
    let oldest = report.older().map(|(_, age)| age).max()?;
    let paths = count(report.cells.len() as u64, "path");
    let count = report.older().count();
    Some(format!(
        "{count} of {paths} not measured in the latest round: what is shown of them is up to {} older, as marked.",
        span(oldest)
    ))
}

/// About how long: `3 d`.
fn span(of: Nanos) -> String {
    let minutes = of.0 / 60_000_000_000;
    match minutes {
        ..120 => format!("{minutes} min"),
        120..2_880 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}

/// The remark beside the figure of a cell of an earlier round.
fn age(cell: &MeshCell) -> String {
    cell.age_ns.map(|age| format!(" ({} older)", span(age))).unwrap_or_default()
}

/// `Throughput of 12 paths: median 9.4 Gbit/s, 8.9 Gbit/s to 9.4 Gbit/s.`
fn range(group: &Group<'_>) -> String {
    let values = group.values(|_| true);
    let (Some(name), Some(median)) = (group.figure(), model::stats::quantile::median(&values)) else {
        return sentence(&format!("{}: nothing was measured", group.title()));
    };
    let text =
        |value: Option<&f64>| value.map(|value| crate::expect::printed(name, *value)).unwrap_or_default();
    let paths = count(values.len() as u64, "path");
    let (least, most) = (text(values.first()), text(values.last()));
    let spread = if least == most { String::new() } else { format!(", {least} to {most}") };
    sentence(&format!("{} of {paths}: median {}{spread}", group.title(), text(Some(&median))))
}

/// With a large letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    format!("{}{}.", first.into_iter().collect::<String>(), letters.as_str())
}

/// The paths that have no result to trust, with the reason; of many the first.
fn not_measured(report: &MeshReport) -> Vec<String> {
    let without: Vec<&MeshCell> = report.cells.iter().filter(|cell| cell.state != CellState::Done).collect();
    let reason = |cell: &&MeshCell| format!("{} {}: {}", cell.test, cell.path(), cell_words(cell));
    let mut lines: Vec<String> = without.iter().take(MOST_REASONS).map(reason).collect();
    let more = without.len().saturating_sub(MOST_REASONS) as u64;
    lines.extend((more > 0).then(|| format!("{} more: see `-v`", count(more, "path"))));
    lines
}

fn cell_words(cell: &MeshCell) -> String {
    let reason = cell.reason.as_deref().unwrap_or("no reason is known");
    format!("{}{}: {reason}", cell.state.word(), age(cell))
}

/// Sites whose matrix fits a screen; of more there is a row for each site.
const MOST_SITES: usize = 8;
/// Findings that stand in the verdict.
const MOST_FINDINGS: usize = 2;
/// Reasons that are listed without details.
const MOST_REASONS: usize = 8;
