//! The chart of a lab report: rates of every topology and family, and what their framing would let through.

use super::sections::{FAMILIES, Kind, kinds, reference};
use super::sentences::{circumstances, title};
use crate::format::gather::by_key;
use crate::plot::{Bar, BarChart, BarPanel, BarRow, Labels};
use insight::figure::Quantity;
use model::lab::{LabReport, LabTest, Series, Variant};

/// Makes the chart: a panel for each direction of TCP and UDP.
#[must_use]
pub fn chart(report: &LabReport) -> BarChart {
    let kinds: Vec<Kind> = kinds(report).into_iter().filter(|kind| is_drawn(kind.test)).collect();
    let repeated = report.variants.iter().flat_map(|v| &v.series).any(|series| series.runs.len() > 1);
    let limits = report.variants.iter().flat_map(|v| &v.series).any(|series| series.limit.is_some());
    let (title, subtitle) = match report.variants.as_slice() {
        [one] => (format!("Throughput of {}", one.name), one.title.clone()),
        [first, ..] => {
            ("Throughput by kind of path".into(), format!("{}; compared with {}", title(report), first.name))
        }
        [] => (title(report), String::new()),
    };
    let series = report.variants.iter().flat_map(|variant| &variant.series);
    let (unit, scale) = Quantity::Rate.axis(series.filter_map(|series| Some(series.goodput?.max)));
    let mut notes = vec![format!("{}.", circumstances(report))];
    notes.extend(report.notes.iter().cloned());
    notes.extend(remarks(report));
    BarChart {
        title,
        subtitle,
        unit: unit.into(),
        labels: Labels::Rate(scale),
        series: FAMILIES.map(|family| family.to_string()).into(),
        mark: limits.then(|| limit_name(report)),
        is_reference: reference(report).is_some(),
        whiskers: repeated.then(|| "min and max of the repetitions; the bar is their median".into()),
        panels: kinds.iter().map(|kind| panel(report, kind, scale)).collect(),
        notes,
        ..BarChart::default()
    }
}

/// The name of the limits: for links without a speed the rate that the first topology transferred.
fn limit_name(report: &LabReport) -> String {
    match reference(report) {
        Some(first) => format!("what the frames of {first} carry in this framing, and the share of it"),
        None => "limit: what the framing lets through, with the share used".into(),
    }
}

/// Remarks on single topologies, each once with the names of those it is about.
fn remarks(report: &LabReport) -> Vec<String> {
    let variants = report.variants.iter();
    let noted = variants.flat_map(|one| one.notes.iter().map(|note| (note, one.name.as_str())));
    by_key(noted).into_iter().map(|(note, names)| format!("{}: {note}", names.join(", "))).collect()
}

fn is_drawn(test: LabTest) -> bool {
    test.is_throughput() || test == LabTest::Tool
}

fn panel(report: &LabReport, kind: &Kind, scale: f64) -> BarPanel {
    let title = kind.title().trim_end_matches(", Mbit/s").to_owned();
    BarPanel { title, rows: report.variants.iter().map(|variant| row(variant, kind, scale)).collect() }
}

fn row(variant: &Variant, kind: &Kind, scale: f64) -> BarRow {
    BarRow {
        name: variant.name.clone(),
        bars: FAMILIES.into_iter().map(|family| bar(kind.series_of(variant, family)?, scale)).collect(),
        missing: match variant.unavailable {
            Some(_) => "not on this host".into(),
            None => "not measured".into(),
        },
    }
}

fn bar(series: &Series, scale: f64) -> Option<Bar> {
    let rates = series.goodput?;
    Some(Bar {
        value: rates.median / scale,
        whisker: (series.runs.len() > 1).then_some([rates.min / scale, rates.max / scale]),
        mark: series.limit.map(|limit| limit.0 as f64 / scale),
    })
}
