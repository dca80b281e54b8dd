//! The sentences of a lab report.

use crate::format::frames;
use crate::format::text::phrases;
use model::lab::{FrameSweep, LabReport, LabTest, Series, Variant, VariantFinding};
use model::units::{BitRate, count};

pub(super) fn title(report: &LabReport) -> String {
    let names: Vec<&str> = report.variants.iter().map(|variant| variant.name.as_str()).collect();
    format!("Lab: {}", names.join(", "))
}

/// The host, its kernel, when, and how often how long.
pub(super) fn circumstances(report: &LabReport) -> String {
    let mut parts =
        vec![format!("{} of {} each", count(report.repetitions, "repetition"), phrases::span(report.time))];
    if let Some(host) = &report.host {
        parts.push(format!("on {}, {}, {} ({})", host.name, host.kernel, host.cpu, count(host.cpus, "CPU")));
        parts.push(host.version.clone());
    }
    parts.extend(report.started.map(|time| time.to_string()));
    parts.join(", ")
}

/// Remarks on how it was measured: parts that could not be, and notes on frames.
pub(super) fn of_measuring(variant: &Variant) -> Vec<String> {
    let mut lines = not_measured(variant);
    for sweep in &variant.sweeps {
        lines.extend(
            frames::notes_of_rows(&sweep.rows).into_iter().map(|note| format!("{}, {note}", sweep.family)),
        );
    }
    lines
}

/// The parts that could not be measured, and why.
pub(super) fn not_measured(variant: &Variant) -> Vec<String> {
    let unavailable = variant.unavailable.iter().map(|why| format!("not measured: {why}"));
    let failed = |sweep: &FrameSweep| {
        sweep.error.as_ref().map(|why| format!("frames, {} failed: {why}", sweep.family))
    };
    unavailable.chain(failures(variant)).chain(variant.sweeps.iter().filter_map(failed)).collect()
}

/// A finding in a line.
pub(super) fn finding(one: &VariantFinding) -> String {
    let finding = &one.finding;
    let one_way = finding.direction.map(|one_way| format!(" {one_way}")).unwrap_or_default();
    let severity = phrases::severity(finding.severity);
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
        let runs = series.runs.len();
        lines
            .extend(reasons.first().map(|why| format!("{} failed, {failed} of {runs}: {why}", name(series))));
    }
    lines.dedup();
    lines
}

/// A series in words: `TCP up, IPv4`.
pub(super) fn name(series: &Series) -> String {
    let one_way = series.direction.map(|one_way| format!(" {one_way}")).unwrap_or_default();
    format!("{}{one_way}, {}", what(&series.tool, series.test), series.family)
}

/// The tool; of our own the test.
pub(super) fn what(tool: &str, test: LabTest) -> String {
    if tool == OWN { test.to_string() } else { tool.to_owned() }
}

/// The conclusion: what was expected and held, and of one topology how fast it was.
pub(super) fn verdict(report: &LabReport) -> String {
    if report.is_void() {
        return "Nothing was measured: no topology could be built here".into();
    }
    let measured: Vec<&Variant> =
        report.variants.iter().filter(|variant| variant.unavailable.is_none()).collect();
    let outcome = outcome(&measured);
    let interrupted = if report.is_interrupted() { "interrupted: " } else { "" };
    match measured.as_slice() {
        [one] => {
            let rates = rates(one).map(|rates| format!("; {rates}")).unwrap_or_default();
            format!("{interrupted}{}: {outcome}{rates}", one.name)
        }
        several => format!("{interrupted}{} topologies measured: {outcome}", several.len()),
    }
}

/// `1 expectation broken, 5 held, 2 not measured`
fn outcome(measured: &[&Variant]) -> String {
    let expected = |held: Option<bool>| {
        let all = measured.iter().flat_map(|variant| &variant.expectations);
        all.filter(|one| one.held == held).count() as u64
    };
    let parts = [(Some(false), "broken"), (Some(true), "held"), (None, "not measured")]
        .map(|(held, word)| (expected(held), word));
    let mut parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let Some((first, word)) = parts.next() else { return "nothing was expected".into() };
    let first = format!("{} {word}", count(first, "expectation"));
    let others = parts.map(|(count, word)| format!("{count} {word}"));
    std::iter::once(first).chain(others).collect::<Vec<_>>().join(", ")
}

/// `TCP 9.53 Gbit/s up, 9.43 Gbit/s down`: the first kind of test of throughput, over the first family.
fn rates(variant: &Variant) -> Option<String> {
    let first = variant.series.iter().find(|one| one.test.is_throughput() && one.goodput.is_some())?;
    let same = |one: &&Series| (&one.tool, one.test, one.family) == (&first.tool, first.test, first.family);
    let rate = |one: &Series| Some(format!("{} {}", BitRate(one.goodput?.median as u64), one.direction?));
    let rates: Vec<String> = variant.series.iter().filter(same).filter_map(rate).collect();
    Some(format!("{} {}", first.test, rates.join(", ")))
}

/// Our own name among the tools.
const OWN: &str = "pathmeter";
