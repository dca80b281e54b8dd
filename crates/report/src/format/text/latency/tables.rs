//! The histogram of a single path, and its slowest round trips.

use super::chart;
use crate::document::{Column, Table};
use model::latency::{Cause, EgressResult, Outlier};
use model::stats::histogram::Histogram;
use model::units::Nanos;

/// From and to, the count and its share of the largest, for each row of the histogram; in short in seven rows, the last of which is
/// the tail beyond p99.
pub(in crate::format) fn histogram_rows(
    egress: &EgressResult,
    is_short: bool,
) -> Vec<(Nanos, Nanos, u64, f64)> {
    let decoded = egress.histogram.as_ref().and_then(|text| Histogram::from_v2_base64(text).ok());
    let rows = if is_short { chart::brief } else { chart::histogram };
    decoded.map(|decoded| rows(&decoded)).unwrap_or_default()
}

/// The slowest round trips and their causes.
pub(in crate::format) fn slowest(egress: &EgressResult) -> Option<Table> {
    let rtt = egress.rtt?;
    let far: Vec<&Outlier> = egress.outliers.iter().filter(|one| one.rtt.0 / FAR >= rtt.p50.0).collect();
    let columns =
        [Column::right("At"), Column::right("Round trip"), Column::right("Host held"), Column::left("Cause")];
    let row = |one: &&Outlier| {
        let held = if one.cause == Cause::Unknown { "-".into() } else { one.host.to_string() };
        vec![format!("{:.3} s", one.at.as_secs_f64()), one.rtt.to_string(), held, cause(one.cause).into()]
    };
    let count = |wanted: Cause| far.iter().filter(|one| one.cause == wanted).count();
    let causes = [Cause::Host, Cause::Path, Cause::Unknown].map(|wanted| (count(wanted), cause(wanted)));
    let causes = causes.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
    let title = format!("The slowest round trips: {}", causes.collect::<Vec<_>>().join(", "));
    let rows = far.iter().take(SHOWN).map(row).collect();
    (!far.is_empty()).then(|| Table { title, ..Table::new(columns.into(), rows) })
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "this host",
        Cause::Path => "path or far end",
        Cause::Unknown => "not known",
    }
}

/// The table has no more rows; all of them are in --json.
const SHOWN: usize = 5;
/// Medians from which on a round trip is listed as far.
const FAR: u64 = 2;
