//! A lab report on one screen: the verdict, for each topology a table with a column for each direction, what is otherwise than
//! expected, the findings. The full tables are behind `-v`.

use super::sections::{self, LIMIT};
use super::sentences;
use super::sweeps;
use crate::document::{Block, FigureRow, FigureTable, Judgement, Paint, Part, Remark, Table};
use crate::format::brief::provenance::{date, kernel};
use crate::format::text::phrases;
use model::distinct;
use model::finding::Severity;
use model::framing::Network;
use model::lab::{Expectation, LabReport, LabTest, Series, Variant, VariantFinding};
use model::plan::Direction;
use model::stats::compare::Judgement as Compared;
use model::units::{BitRate, Nanos, count, grouped, percent};
use std::cmp::Reverse;

/// The report without details.
pub(super) fn parts(report: &LabReport) -> Vec<Part> {
    let swept = sweeps::compared(report);
    let compared: Vec<Table> = sections::compared(report).into_iter().chain(swept).collect();
    // Where topologies are compared, a line for each metric has it, but of one that is otherwise than expected.
    let shown = |variant: &&Variant| compared.is_empty() || !super::is_not_broken(variant);
    let is_alone = compared.is_empty();
    let limit = sections::reference(report).map_or(LIMIT.to_owned(), |first| format!("of {first}"));
    let mut parts = vec![super::conclusion(report).into()];
    parts.extend(report.variants.iter().filter(shown).flat_map(|one| topology(one, &limit, is_alone)));
    let is_open = |table: &Table| table.rows.iter().flatten().any(|cell| cell.ends_with(" ?"));
    let open = compared.iter().any(is_open).then(|| format!("?: {}", why_open(report)));
    let not_run = sweeps::not_run(report).filter(|_| !is_alone);
    parts.extend(compared.into_iter().flat_map(|table| [Part::gap(), headed(table)]));
    let lines: Vec<String> = open.into_iter().chain(not_run).collect();
    if !lines.is_empty() {
        parts.extend([Part::gap(), Block::Sentences(lines).into()]);
    }
    let (whence, more) = provenance(report);
    parts.push(Part::Foot(whence, more));
    parts
}

/// The table with its title as the head of the first column, a line less, for a screen that has room for that.
fn headed(table: Table) -> Part {
    let mut headed = table.clone();
    if let Some(first) = headed.columns.first_mut() {
        first.heading = std::mem::take(&mut headed.title);
    }
    Part::Fitting(vec![vec![Block::Table(headed)], vec![Block::Table(table)]])
}

/// Why a difference is not sure.
fn why_open(report: &LabReport) -> String {
    let judgements = || report.comparisons.iter().map(|one| one.comparison.judgement);
    let needed = judgements().find_map(|one| match one {
        Compared::TooFew { needed } => Some(needed),
        _ => None,
    });
    let few = needed.map(|needed| {
        let runs = count(report.repetitions, "repetition");
        let verb = if report.repetitions == 1 { "is" } else { "are" };
        format!("{runs} {verb} too few to be sure (--runs {needed} or more)")
    });
    let scatter = judgements().any(|one| matches!(one, Compared::CannotTell { .. }));
    let scatter = scatter.then(|| "the repetitions differ as much among themselves".to_owned());
    let reasons: Vec<String> = [few, scatter].into_iter().flatten().collect();
    if reasons.is_empty() { "there is no percentage of nothing".into() } else { reasons.join("; ") }
}

/// One topology: its table, the delivery of the packets, and the reasons. `is_alone`: no table beside it has its sweeps.
fn topology(variant: &Variant, limit: &str, is_alone: bool) -> Vec<Part> {
    // Both families side by side, or one below the other on a narrow screen.
    let table = |families: &[Network]| Block::Figures(table(variant, limit, families));
    let families =
        [vec![table(&sections::FAMILIES)], sections::FAMILIES.map(|family| table(&[family])).into()];
    let swept = if is_alone { sections::sweep_tables(variant) } else { Vec::new() };
    let heading = Block::Heading(format!("{}: {}", variant.name, variant.title));
    let mut parts = vec![heading.into(), Part::Fitting(families.into())];
    parts.extend(swept.into_iter().map(|table| Block::Table(table).into()));
    parts.push(Block::Sentences(causes(variant).into_iter().chain(dropped(variant)).collect()).into());
    parts
        .push(Part::Remarks([expectations(variant), findings(variant), remarks(variant, is_alone)].concat()));
    parts
}

/// A column: the family, and the direction of the data where any test has one.
type LabColumn = (Network, Option<Direction>);

fn table(variant: &Variant, limit: &str, families: &[Network]) -> FigureTable {
    let has = |place: &LabColumn| variant.series.iter().any(|one| (one.family, one.direction) == *place);
    let family = |family| {
        let directions = Direction::BOTH.map(|one_way| (family, Some(one_way))).into_iter();
        let directions: Vec<LabColumn> = directions.filter(has).collect();
        if directions.is_empty() {
            Some((family, None)).filter(has).into_iter().collect()
        } else {
            directions
        }
    };
    let places: Vec<LabColumn> = families.iter().copied().flat_map(family).collect();
    let head = |place: &LabColumn| match place.1 {
        Some(one_way) => format!("{} {one_way}", place.0),
        None => place.0.to_string(),
    };
    let mut table = FigureTable { heads: places.iter().map(head).collect(), rows: Vec::new() };
    for (tool, test) in tests(variant) {
        let series_of = |family, one_way| {
            let same = |one: &&Series| (one.tool.as_str(), one.test) == (tool, test);
            variant.series.iter().filter(same).find(|one| (one.family, one.direction) == (family, one_way))
        };
        let name = sentences::what(tool, test);
        let directed = |cell: fn(&Series) -> Option<String>| {
            places
                .iter()
                .map(move |(family, one_way)| series_of(*family, *one_way).and_then(cell))
                .collect::<Vec<_>>()
        };
        // A round trip has no direction: it stands in the first column of its family.
        let trips = |cell: fn(&Series) -> Option<String>| {
            let first = |index: usize| index == 0 || places[index - 1].0 != places[index].0;
            let value = |(index, place): (usize, &LabColumn)| match first(index) {
                true => series_of(place.0, None).and_then(cell),
                false => Some(String::new()),
            };
            places.iter().enumerate().map(value).collect::<Vec<_>>()
        };
        let rows = match test {
            LabTest::Latency => {
                vec![
                    FigureRow::new("RTT", trips(|one| Some(Nanos(one.rtt?.median as u64).to_string()))),
                    FigureRow::new("p99", trips(p99)).below(),
                ]
            }
            LabTest::Mtu => vec![FigureRow::new("path MTU", directed(|one| Some(one.path_mtu?.to_string())))],
            LabTest::Loss => vec![FigureRow::new("loss, paced", directed(lost))],
            _ => vec![
                FigureRow::new(&name, directed(|one| Some(BitRate(one.goodput?.median as u64).to_string()))),
                FigureRow::new(limit, directed(|one| one.share_of_limit.map(percent))).below(),
                FigureRow::new("lost", directed(lost)).below(),
                FigureRow::new("set by", directed(|one| Some(one.set_by()?.kind.to_string()))).below(),
            ],
        };
        rows.into_iter().filter(has_figure).for_each(|row| table.push(row));
    }
    table
}

/// Every kind of test of every tool, in the order measured.
fn tests(variant: &Variant) -> Vec<(&str, LabTest)> {
    distinct(variant.series.iter().map(|one| (one.tool.as_str(), one.test)))
}

fn has_figure(row: &FigureRow) -> bool {
    row.cells.iter().any(|cell| !cell.is_empty() && cell != "-")
}

fn lost(series: &Series) -> Option<String> {
    sections::lost(series).map(percent)
}

fn p99(series: &Series) -> Option<String> {
    sections::time(series, |run| run.rtt_p99)
}

/// The causes of limits that counters of hosts and nodes show, each once.
fn causes(variant: &Variant) -> Vec<String> {
    distinct(variant.series.iter().filter_map(|one| one.set_by()?.cause.clone()))
}

/// Where packets were dropped, the most first.
fn dropped(variant: &Variant) -> Option<String> {
    let all = sections::dropped(variant);
    let place = |(drops, _): &sections::Dropper| {
        format!("{} at {}:{}", grouped(drops.received + drops.sent), drops.node, drops.device)
    };
    let named: Vec<String> = all.iter().take(DROPPERS).map(place).collect();
    let others = all.len().saturating_sub(DROPPERS);
    let others = if others > 0 { format!(", others at {others} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("dropped: {}{others}", named.join(", ")))
}

/// Expectations that did not hold, or were not measured; of the others their number.
fn expectations(variant: &Variant) -> Vec<Remark> {
    let judged = |one: &Expectation| super::expectation(variant, one).judgement;
    let judged_as = |judgement| variant.expectations.iter().filter(move |one| judged(one) == judgement);
    let broken = judged_as(Judgement::Broken).map(|one| {
        let text = format!("{}, expected: {}", one.found, one.expected);
        Remark::new((Paint::Problem, "broken"), &one.what, text)
    });
    let open: Vec<&str> =
        judged_as(Judgement::Open).map(|one| one.what.trim_start_matches("finding ")).collect();
    let open = (!open.is_empty()).then(|| Remark::new((Paint::Dim, "open"), "not measured", open.join(", ")));
    broken.chain(open).collect()
}

/// Findings, one of several families and directions once.
fn findings(variant: &Variant) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    let mut worst_first: Vec<&VariantFinding> = variant.findings.iter().collect();
    worst_first.sort_by_key(|one| Reverse(one.finding.severity));
    for finding in worst_first.into_iter().map(|one| &one.finding) {
        let lead = format!("{} ({})", finding.id, places(variant, &finding.id));
        if remarks.iter().all(|other| other.lead != lead) {
            remarks.push(Remark::new(Remark::severity(finding.severity), lead, &finding.title));
        }
    }
    remarks
}

/// Where a finding is: `IPv4 up, down; IPv6 up`. Of one that the topology is made to show, that too.
fn places(variant: &Variant, id: &str) -> String {
    let family = |family: Network| {
        let found =
            || variant.findings.iter().filter(move |one| one.family == family && one.finding.id == id);
        let is_in = |one_way: &Direction| found().any(|one| one.finding.direction == Some(*one_way));
        let directions = Direction::BOTH.into_iter().filter(is_in).map(|one_way| one_way.to_string());
        let directions = directions.collect::<Vec<_>>().join(", ");
        found().next().map(|_| format!("{family} {directions}").trim_end().to_owned())
    };
    let places: Vec<String> = sections::FAMILIES.into_iter().filter_map(family).collect();
    let what = format!("finding {id}");
    let is_expected = variant.expectations.iter().any(|one| one.what == what && one.held == Some(true));
    let expected = if is_expected { "; as expected" } else { "" };
    format!("{}{expected}", places.join("; "))
}

/// Parts that could not be measured, and remarks on this topology.
fn remarks(variant: &Variant, is_alone: bool) -> Vec<Remark> {
    let all = if is_alone { sentences::of_measuring(variant) } else { sentences::not_measured(variant) };
    let all = all.into_iter().chain(variant.notes.iter().cloned());
    all.map(|line| Remark::new(Remark::severity(Severity::Info), "", line)).collect()
}

/// `1 repetition of 3 s each, pathmeter 0.1.0, Linux 6.18, 2 CPUs, 2026-11-22 06:01 UTC.` and `Details and 3 notes on the figures: -v`.
fn provenance(report: &LabReport) -> (String, String) {
    let host = report.host.as_ref();
    let parts = [
        Some(format!("{} of {} each", count(report.repetitions, "repetition"), phrases::span(report.time))),
        host.map(|host| host.version.clone()),
        host.map(|host| kernel(&host.kernel)),
        host.map(|host| count(host.cpus, "CPU")),
        report.started.map(date),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let notes = match report.notes.len() {
        0 => String::new(),
        notes => format!(" and {} on the figures", count(notes as u64, "note")),
    };
    (format!("{}.", parts.join(", ")), format!("Details{notes}: -v"))
}

/// Interfaces that are named in the line of drops.
const DROPPERS: usize = 3;
