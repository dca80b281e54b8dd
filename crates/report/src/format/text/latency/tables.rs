//! The tables of a single way: percentiles, the histogram, the slowest round trips.

use super::super::super::table::{plain, whole};
use super::super::super::{Paint, Style};
use super::super::result::fact;
use super::percentiles::{given, missing, reservation};
use super::{chart, title};
use crate::document::Column;
use model::latency::{Cause, EgressResult, Outlier};
use model::stats::histogram::Histogram;
use model::units::{Nanos, grouped};

/// The percentiles and their bounds.
pub(super) fn percentiles(egress: &EgressResult) -> String {
    let given = given(egress);
    if given.is_empty() {
        return String::new();
    }
    let sure = given.iter().any(|one| one.bounds.is_some());
    let mut columns = vec![Column::left("Percentile"), Column::right("Round trip")];
    if sure {
        columns.push(Column::left("Truly (95 %)"));
    }
    let rows: Vec<Vec<String>> = given
        .iter()
        .map(|one| {
            let mut row = vec![format!("p{}", one.percent), one.text()];
            if sure {
                row.push(one.bounds.map_or_else(String::new, |(low, high)| format!("{low} to {high}")));
            }
            row
        })
        .collect();
    whole(&columns, &rows)
}

/// Which percentiles are missing and what they take, and which are bounds.
pub(super) fn not_given(egress: &EgressResult, style: &Style) -> String {
    let missing = missing(egress);
    let reserved = reservation(egress).map(|text| fact("percentiles", &text, style)).unwrap_or_default();
    if missing.is_empty() || egress.rtt.is_none() {
        return reserved;
    }
    let part = |(percent, more): &(f64, u64)| format!("p{percent} takes {} more round trips", grouped(*more));
    let parts: Vec<String> = missing.iter().map(part).collect();
    reserved + &fact("not given", &parts.join(", "), style)
}

/// How long they took, as bars.
pub(super) fn histogram(egress: &EgressResult, style: &Style) -> String {
    let rows = histogram_rows(egress, style.width.clamp(60, 120) - BESIDE);
    if rows.is_empty() {
        return String::new();
    }
    let line = |(low, high, count, bar): &(Nanos, Nanos, u64, String)| {
        let bar = if bar.is_empty() { String::new() } else { format!("  {}", style.paint(Paint::Good, bar)) };
        format!("  {:<22}{count:>9}{bar}\n", format!("{low} to {high}"))
    };
    let lines: String = rows.iter().map(line).collect();
    title("How long they took", style) + &lines
}

/// From and to, the count and a bar of so many columns, for each row of the histogram.
pub(in crate::format) fn histogram_rows(
    egress: &EgressResult,
    width: usize,
) -> Vec<(Nanos, Nanos, u64, String)> {
    let decoded = egress.histogram.as_ref().and_then(|text| Histogram::from_v2_base64(text).ok());
    decoded.map(|decoded| chart::histogram(&decoded, width)).unwrap_or_default()
}

/// The same in seven rows, the last of which is the tail beyond p99.
pub(in crate::format) fn brief_histogram(
    egress: &EgressResult,
    width: usize,
) -> Vec<(Nanos, Nanos, u64, String)> {
    let decoded = egress.histogram.as_ref().and_then(|text| Histogram::from_v2_base64(text).ok());
    decoded.map(|decoded| chart::brief(&decoded, width)).unwrap_or_default()
}

/// The slowest round trips and whose fault they are.
pub(super) fn outliers(egress: &EgressResult, style: &Style) -> String {
    let Some(rtt) = egress.rtt else { return String::new() };
    let far: Vec<&Outlier> = egress.outliers.iter().filter(|one| one.rtt.0 / FAR >= rtt.p50.0).collect();
    if far.is_empty() {
        return String::new();
    }
    let columns =
        [Column::right("At"), Column::right("Round trip"), Column::right("Host held"), Column::left("Cause")];
    let rows: Vec<Vec<String>> = far
        .iter()
        .take(SHOWN)
        .map(|one| {
            let held = if one.cause == Cause::Unknown { "-".into() } else { one.host.to_string() };
            vec![format!("{:.3} s", one.at.as_secs_f64()), one.rtt.to_string(), held, cause(one.cause).into()]
        })
        .collect();
    let of = |wanted: Cause| far.iter().filter(|one| one.cause == wanted).count();
    let causes = [Cause::Host, Cause::Path, Cause::Unknown].map(|wanted| (of(wanted), cause(wanted)));
    let causes: Vec<String> = causes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let heading = format!("The slowest round trips: {}", causes.join(", "));
    title(&heading, style) + &plain(&columns, &rows, style)
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "this host",
        Cause::Path => "path or far end",
        Cause::Unknown => "not known",
    }
}

/// Columns beside the bars of a histogram.
const BESIDE: usize = 36;
/// More rows nobody reads; all of them are in --json.
const SHOWN: usize = 5;
/// Medians from which on a round trip is listed as far.
const FAR: u64 = 2;
