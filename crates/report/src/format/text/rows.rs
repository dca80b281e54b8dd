//! The rows that a terminal shows while a test runs, from a stored run.

use super::{intervals, latency, transfer};
use crate::document::{Line, Part};
use model::run::Run;

/// The rows that a terminal shows while it runs.
pub(in crate::format) fn rows(run: &Run) -> Part {
    let latency = run.latency().filter(|_| !run.latency_intervals.is_empty());
    let transfer = run.transfer().zip(run.summary.transfer.as_ref());
    let streams = run.throughput().filter(|_| !run.intervals.is_empty());
    let mut lines = Vec::new();
    if let Some(plan) = latency {
        lines.extend([Line::default(), latency::header(plan)]);
        lines.extend(run.latency_intervals.iter().flat_map(|sample| latency::row(sample, plan)));
    } else if let Some((plan, result)) = transfer {
        lines.extend(transfer::head(plan));
        let rows: String = result.transfers.iter().map(|one| transfer::row(one, plan)).collect();
        lines.extend(rows.lines().map(|row| Line::new(Default::default(), row)));
    } else if let Some(plan) = streams {
        lines.extend([Line::default(), intervals::header(plan)]);
        lines.extend(intervals::rows(&run.intervals, plan));
    }
    Part::Lines(lines)
}
