//! What a lab report says in sentences.

use crate::format::frames;
use crate::format::text::words;
use model::lab::{LabReport, Series, Variant, VariantFinding};

pub(super) fn title(report: &LabReport) -> String {
    let names: Vec<&str> = report.variants.iter().map(|variant| variant.name.as_str()).collect();
    format!("Lab: {}", names.join(", "))
}

/// The host, its kernel, when, and how often how long.
pub(super) fn circumstances(report: &LabReport) -> String {
    let mut parts = vec![format!(
        "{} of {} each",
        words::count(report.repetitions.into(), "repetition"),
        words::span(report.time)
    )];
    if let Some(host) = &report.host {
        parts.push(format!(
            "on {}, {}, {} ({})",
            host.name,
            host.kernel,
            host.cpu,
            words::count(host.cpus.into(), "CPU")
        ));
        parts.push(host.version.clone());
    }
    parts.extend(report.started.map(|time| time.to_string()));
    parts.join(", ")
}

/// Everything of a topology that is no table.
pub(super) fn sentences_of(variant: &Variant) -> Vec<String> {
    let mut lines = of_measuring(variant);
    lines.extend(variant.findings.iter().map(finding));
    lines.extend(variant.notes.iter().cloned());
    lines
}

/// What there is to say of how it was measured: what could not be, and notes on frames.
pub(super) fn of_measuring(variant: &Variant) -> Vec<String> {
    let mut lines: Vec<String> =
        variant.unavailable.iter().map(|why| format!("not measured: {why}")).collect();
    lines.extend(failures(variant));
    for sweep in &variant.sweeps {
        lines.extend(sweep.error.iter().map(|why| format!("frames, {} failed: {why}", sweep.family)));
        lines.extend(
            frames::notes_of_rows(&sweep.rows).into_iter().map(|note| format!("{}, {note}", sweep.family)),
        );
    }
    lines
}

/// A finding in a line.
pub(super) fn finding(one: &VariantFinding) -> String {
    let finding = &one.finding;
    let one_way = finding.direction.map(|one_way| format!(" {one_way}")).unwrap_or_default();
    let severity = words::severity(finding.severity);
    let title = finding.title.trim_end_matches('.');
    format!("{} ({severity}, {}{one_way}): {title}", finding.id, one.family)
}

/// Tests that gave nothing, each reason once.
fn failures(variant: &Variant) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for series in &variant.series {
        let mut reasons: Vec<&str> = series.runs.iter().filter_map(|run| run.error.as_deref()).collect();
        let failed = reasons.len();
        reasons.dedup();
        let of = series.runs.len();
        lines.extend(reasons.first().map(|why| format!("{} failed, {failed} of {of}: {why}", name(series))));
    }
    lines.dedup();
    lines
}

/// A series in words: `TCP up, IPv4`.
pub(super) fn name(series: &Series) -> String {
    let tool = if series.tool == OWN { series.test.to_string() } else { series.tool.clone() };
    let one_way = series.direction.map(|one_way| format!(" {one_way}")).unwrap_or_default();
    format!("{tool}{one_way}, {}", series.family)
}

/// The conclusion.
pub(super) fn verdict(report: &LabReport) -> String {
    if report.is_void() {
        return "Nothing was measured: no topology could be built here".into();
    }
    let all = || report.variants.iter().flat_map(|variant| &variant.expectations);
    let (held, broken) = (count(all(), true), count(all(), false));
    let measured = report.variants.iter().filter(|variant| variant.unavailable.is_none()).count();
    let measured = words::count(measured as u64, "topology").replace("topologys", "topologies");
    match (held, broken) {
        (0, 0) => format!("{measured} measured; nothing was expected of them"),
        (_, 0) => format!("{measured} measured; {} held", words::count(held, "expectation")),
        _ => format!("{measured} measured; {} broken, {held} held", words::count(broken, "expectation")),
    }
}

fn count<'a>(of: impl Iterator<Item = &'a model::lab::Expectation>, held: bool) -> u64 {
    of.filter(|one| one.held == Some(held)).count() as u64
}

/// Our own name among the tools.
pub(super) const OWN: &str = "pathmeter";
