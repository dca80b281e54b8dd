//! The tables of a lab report.

use super::sentences::{self, name};
use crate::document::{Cell, Table};
use crate::format::frames;
use model::distinct;
use model::framing::Network;
use model::lab::{
    Drops, Expectation, FrameSweep, LabReport, LabTest, Repetition, Series, SpeedBasis, Variant, Versus,
};
use model::plan::Direction;
use model::stats::compare::Judgement;
use model::units::{Nanos, change, count, grouped, percent, significant, whole_percent};

/// The tables of one topology.
pub(super) fn section_tables(report: &LabReport, variant: &Variant) -> Vec<Table> {
    let with = |keep: fn(&Series) -> bool| -> Vec<Series> {
        variant.series.iter().filter(|series| keep(series)).cloned().collect()
    };
    let sections = [
        Table::of_cells(
            "Throughput, Mbit/s: the median, and how far the repetitions scatter",
            &THROUGHPUT,
            &with(|one| one.goodput.is_some()),
        ),
        Table::of_cells("Limits of the rates", &LIMITS, &with(|one| one.set_by().is_some())),
        Table::of_cells("Round trips", &TRIPS, &with(|one| one.rtt.is_some())),
        Table::of_cells("Path MTU", &SIZES, &with(|one| one.path_mtu.is_some())),
        Table::of_cells("Packets dropped", &DROPPED, &dropped(variant)),
        Table::of_cells("Expected", &EXPECTED, &variant.expectations),
    ];
    sections.into_iter().flatten().map(|table| named(report, table)).chain(sweep_tables(variant)).collect()
}

/// The rates of one topology in frames of each size.
pub(super) fn sweep_tables(variant: &Variant) -> Vec<Table> {
    let table = |sweep: &FrameSweep| Table {
        title: format!("Frames of each size, {}", sweep.family),
        ..frames::table(&sweep.rows)
    };
    variant.sweeps.iter().filter(|sweep| !sweep.rows.is_empty()).map(table).collect()
}

const THROUGHPUT: [Cell<Series>; 11] = [
    Cell("what", false, |one| Some(what(one))),
    Cell("", false, |one| Some(one.family.to_string())),
    Cell("direction", false, |one| Some(one.direction?.to_string())),
    Cell("Mbit/s", true, |one| Some(mbits(one.goodput?.median))),
    Cell("±", true, |one| one.goodput.filter(|of| of.stddev > 0.0).map(|of| mbits(of.stddev))),
    Cell("kpps", true, |one| Some(significant(median(one, |run| Some(run.packets_per_second?.0))? / 1e3))),
    Cell(NIC, true, |one| one.share_of_nic.map(percent)),
    Cell(LIMIT, true, |one| one.share_of_limit.map(percent)),
    Cell("lost", true, |one| lost(one).map(percent)),
    Cell("CPU", true, |one| one.cpu.map(|cpu| whole_percent(cpu.busy))),
    Cell("softirq", true, |one| one.cpu.map(|cpu| whole_percent(cpu.softirq))),
];

const LIMITS: [Cell<Series>; 5] = [
    Cell("what", false, |one| Some(what(one))),
    Cell("", false, |one| Some(one.family.to_string())),
    Cell("direction", false, |one| Some(one.direction?.to_string())),
    Cell("set by", false, |one| insight::limit::where_and_what(one.set_by()?)),
    Cell("because", false, |one| one.set_by()?.cause.clone()),
];

const TRIPS: [Cell<Series>; 6] = [
    Cell("what", false, |one| Some(what(one))),
    Cell("", false, |one| Some(one.family.to_string())),
    Cell("least", true, |one| time(one, |run| run.rtt_min)),
    Cell("median", true, |one| time(one, |run| run.rtt_p50)),
    Cell("99 %", true, |one| time(one, |run| run.rtt_p99)),
    Cell("CPU", true, |one| one.cpu.map(|cpu| whole_percent(cpu.busy))),
];

const SIZES: [Cell<Series>; 3] = [
    Cell("", false, |one| Some(one.family.to_string())),
    Cell("direction", false, |one| Some(one.direction?.to_string())),
    Cell("bytes", true, |one| Some(one.path_mtu?.to_string())),
];

/// An interface that dropped packets, and the tests it did so in.
pub(super) type Dropper = (Drops, Vec<String>);

const DROPPED: [Cell<Dropper>; 4] = [
    Cell("interface", false, |(drops, _)| Some(format!("{}:{}", drops.node, drops.device))),
    Cell("coming in", true, |(drops, _)| (drops.received > 0).then(|| grouped(drops.received))),
    Cell("leaving", true, |(drops, _)| (drops.sent > 0).then(|| grouped(drops.sent))),
    Cell("during", false, |(_, tests)| match tests.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        [first, others @ ..] => Some(format!("{first}, and {}", count(others.len() as u64, "further test"))),
    }),
];

/// Every interface that dropped packets, in all tests, most first.
pub(super) fn dropped(variant: &Variant) -> Vec<Dropper> {
    let mut all: Vec<Dropper> = Vec::new();
    for series in &variant.series {
        for drops in series.drops() {
            match all.iter_mut().find(|(of, _)| (&of.node, &of.device) == (&drops.node, &drops.device)) {
                Some((of, tests)) => {
                    of.received += drops.received;
                    of.sent += drops.sent;
                    tests.push(name(series));
                }
                None => all.push((drops, vec![name(series)])),
            }
        }
    }
    all.sort_by_key(|(drops, _)| std::cmp::Reverse(drops.received + drops.sent));
    all
}

const EXPECTED: [Cell<Expectation>; 4] = [
    Cell("what", false, |one| Some(one.what.clone())),
    Cell("expected", true, |one| Some(one.expected.clone())),
    Cell("found", true, |one| Some(one.found.clone())),
    Cell("", false, |one| {
        Some(one.held.map_or("not measured", |held| if held { "held" } else { "BROKEN" }).into())
    }),
];

/// A table for each kind of measurement: a row for each topology, the two families side by side.
///
/// Of links without a speed the limit is what the first topology transferred: the heads of the columns name it.
pub(super) fn compared(report: &LabReport) -> Vec<Table> {
    if report.comparisons.is_empty() {
        return Vec::new();
    }
    kinds(report)
        .iter()
        .filter_map(|kind| {
            let rows: Vec<KindRow> =
                report.variants.iter().map(|variant| KindRow::from_report(report, variant, kind)).collect();
            Table::of_cells(&kind.title(), &COMPARED, &rows).map(|table| named(report, table))
        })
        .collect()
}

/// The reference of a comparison: the first topology, where no link of any has a speed of its own.
pub(super) fn reference(report: &LabReport) -> Option<&str> {
    let all = || report.variants.iter().flat_map(|variant| &variant.series);
    let mut speeds = all().filter_map(|series| series.speed).peekable();
    let is_first = speeds.peek().is_some() && speeds.all(|speed| speed.basis == SpeedBasis::First);
    report.variants.first().filter(|_| is_first).map(|first| first.name.as_str())
}

/// The table with what shares and changes are of in the heads of its columns.
fn named(report: &LabReport, mut table: Table) -> Table {
    let first = report.variants.first().map(|first| first.name.as_str()).unwrap_or_default();
    for column in &mut table.columns {
        match (column.heading.as_str(), reference(report)) {
            (LIMIT, Some(reference)) => column.heading = format!("of {reference}"),
            (NIC, Some(reference)) => column.heading = format!("frames of {reference}"),
            (VERSUS, _) => column.heading = format!("vs {first}"),
            _ => {}
        }
    }
    table
}

/// Columns that are renamed where a topology is what they are of.
pub(super) const LIMIT: &str = "of limit";
const NIC: &str = "of NIC";
const VERSUS: &str = "vs first";

/// A kind of measurement, whatever the family.
#[derive(Clone, PartialEq)]
pub(super) struct Kind {
    tool: String,
    pub(super) test: LabTest,
    pub(super) direction: Option<Direction>,
}

/// Every kind that has a figure, in the order measured.
pub(super) fn kinds(report: &LabReport) -> Vec<Kind> {
    let series = report.variants.iter().flat_map(|variant| &variant.series);
    let measured = series.filter(|series| series.goodput.is_some() || series.rtt.is_some());
    distinct(measured.map(|one| Kind { tool: one.tool.clone(), test: one.test, direction: one.direction }))
}

impl Kind {
    pub(super) fn title(&self) -> String {
        let what = sentences::what(&self.tool, self.test);
        let one_way = self.direction.map(|one_way| format!(" {one_way}")).unwrap_or_default();
        let unit = if self.test == LabTest::Latency { "ms" } else { "Mbit/s" };
        format!("{what}{one_way}, {unit}")
    }

    /// The series of this kind.
    pub(super) fn series_of<'a>(&self, variant: &'a Variant, family: Network) -> Option<&'a Series> {
        variant.series.iter().find(|one| {
            (&one.tool, one.test, one.direction, one.family)
                == (&self.tool, self.test, self.direction, family)
        })
    }
}

/// One topology in a table of one kind.
struct KindRow {
    name: String,
    sides: [Side; 2],
}

/// The result over one family.
#[derive(Default)]
struct Side {
    value: Option<String>,
    limit: Option<String>,
    change: Option<String>,
}

impl KindRow {
    fn from_report(report: &LabReport, variant: &Variant, kind: &Kind) -> KindRow {
        let sides = FAMILIES.map(|family| {
            let Some(series) = kind.series_of(variant, family) else { return Side::default() };
            let value = series.goodput.map(|of| mbits(of.median));
            let value = value.or_else(|| series.rtt.map(|of| significant(of.median / 1e6)));
            let found = report.comparisons.iter().find(|one| is_of(one, variant, series));
            Side { value, limit: series.share_of_limit.map(percent), change: found.and_then(changed) }
        });
        KindRow { name: variant.name.clone(), sides }
    }
}

fn is_of(one: &Versus, variant: &Variant, series: &Series) -> bool {
    one.variant == variant.name
        && (&one.tool, one.family, one.test, one.direction)
            == (&series.tool, series.family, series.test, series.direction)
}

/// `−12.3 % worse`; a difference that may be chance reports it.
fn changed(one: &Versus) -> Option<String> {
    let shift = one.comparison.shift?;
    let sure = match one.comparison.judgement {
        Judgement::Better | Judgement::Worse => "",
        Judgement::Same => " same",
        _ => " ?",
    };
    Some(format!("{}{sure}", change(shift.percent)))
}

const COMPARED: [Cell<KindRow>; 7] = [
    Cell("topology", false, |row| Some(row.name.clone())),
    Cell("IPv4", true, |row| row.sides[0].value.clone()),
    Cell(LIMIT, true, |row| row.sides[0].limit.clone()),
    Cell(VERSUS, true, |row| row.sides[0].change.clone()),
    Cell("IPv6", true, |row| row.sides[1].value.clone()),
    Cell(LIMIT, true, |row| row.sides[1].limit.clone()),
    Cell(VERSUS, true, |row| row.sides[1].change.clone()),
];

fn what(series: &Series) -> String {
    sentences::what(&series.tool, series.test)
}

pub(super) fn mbits(bits: f64) -> String {
    significant(bits / 1e6)
}

pub(super) fn time(series: &Series, of: fn(&Repetition) -> Option<Nanos>) -> Option<String> {
    let times: Vec<f64> = series.runs.iter().filter_map(of).map(|time| time.0 as f64).collect();
    model::stats::quantile::median(&times).map(|time| Nanos(time as u64).to_string())
}

fn median(series: &Series, of: fn(&Repetition) -> Option<u64>) -> Option<f64> {
    let values: Vec<f64> = series.runs.iter().filter_map(of).map(|value| value as f64).collect();
    model::stats::quantile::median(&values)
}

/// Share of all datagrams of all repetitions.
pub(super) fn lost(series: &Series) -> Option<f64> {
    let sent: u64 = series.runs.iter().filter_map(|run| run.sent).sum();
    let lost: u64 = series.runs.iter().filter_map(|run| run.lost).sum();
    (sent > 0).then(|| lost as f64 / sent as f64)
}

/// The two families, in the order of the tables.
pub(super) const FAMILIES: [Network; 2] = [Network::V4, Network::V6];
