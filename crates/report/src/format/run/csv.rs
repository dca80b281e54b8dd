//! The rows of a run: one per interval and stream, and one per direction at the end; with the columns of what was measured.
//!
//! A file here has the columns of one group of rows. A run has the groups that it measured, and columns of the
//! same name in several groups are one.

mod frames;
mod hops;
mod latency;
mod packets;
mod path;
mod reach;
mod throughput;
mod transfer;

use crate::document::{Csv, CsvCell};
use crate::format::csv::Source;
use model::event::Outcome;
use model::plan::Direction;
use model::run::{Run, Subject};
use model::units::Nanos;
use serde::Serialize;

/// The whole run.
pub(super) fn rows(run: &Run) -> Csv {
    let mut parts = Vec::new();
    let whole = CsvPart { source: Source::of_run(run), test: None };
    if run.subject() == Subject::Frames {
        parts.push(frames::rows(run, &whole));
    }
    if !run.tests.is_empty() {
        parts.extend(around(run, &whole));
    }
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    for (number, test) in tests.iter().enumerate() {
        parts.extend(of_test(test, &CsvPart { test: Some(number), ..whole.clone() }));
    }
    // A run that failed before it measured anything has a header all the same.
    parts.push(Csv::from_rows(Vec::<Start>::new()));
    Csv::joined(parts)
}

/// Findings beside a test.
fn around(test: &Run, place: &CsvPart) -> Vec<Csv> {
    let known = [
        test.summary.path.as_ref().map(|path| path::rows(path, place)),
        test.summary.packets.as_ref().map(|packets| packets::rows(packets, place)),
        test.summary.reach.as_ref().map(|reach| reach::rows(reach, place)),
    ];
    known.into_iter().flatten().collect()
}

fn of_test(test: &Run, place: &CsvPart) -> Vec<Csv> {
    let mut parts = Vec::new();
    let has_streams = test.summary.up.is_some() || test.summary.down.is_some();
    if has_streams
        || !test.intervals.is_empty()
        || (test.throughput().is_some() && test.subject() != Subject::Frames)
    {
        parts.push(throughput::rows(test, place));
    }
    if test.latency().is_some() || !test.summary.egress_paths.is_empty() || test.summary.loaded.is_some() {
        parts.push(latency::rows(test, place));
    }
    parts.extend(around(test, place));
    parts.extend(test.summary.hops.as_ref().map(|hops| hops::rows(hops, place)));
    parts.extend(test.summary.transfer.as_ref().map(|result| transfer::rows(test, result, place)));
    parts
}

/// The run and the part of it that rows are of.
#[derive(Clone, Debug)]
struct CsvPart {
    source: Source,
    /// The number of the part; absent: the whole run.
    test: Option<usize>,
}

impl CsvPart {
    /// A row of this name for each thing.
    fn table<T>(
        &self,
        row: &'static str,
        direction: Option<Direction>,
        cells: &[CsvCell<T>],
        of: &[T],
    ) -> Csv {
        Csv::from_rows(of.iter().map(|_| self.start(row, direction))).beside(Csv::of_cells(cells, of))
    }

    /// The first columns of a row.
    fn start(&self, row: &'static str, direction: impl Into<Option<Direction>>) -> Start {
        (self.source.clone(), CsvRow { test: self.test, row, direction: direction.into() })
    }
}

/// The columns that every row has.
type Start = (Source, CsvRow);

#[derive(Clone, Debug, Default, Serialize)]
struct CsvRow {
    test: Option<usize>,
    row: &'static str,
    direction: Option<Direction>,
}

fn outcome(test: &Run) -> Option<&'static str> {
    test.summary.outcome.as_ref().map(|outcome| match outcome {
        Outcome::Completed => "completed",
        Outcome::Interrupted => "interrupted",
        Outcome::PeerStopped { .. } => "peer_stopped",
        Outcome::Failed { .. } => "failed",
    })
}

fn seconds(time: Nanos) -> String {
    format!("{:.6}", time.as_secs_f64())
}

/// A share of one or a mean, with no more digits than are known.
fn rounded(value: f64, digits: usize) -> String {
    format!("{value:.digits$}")
}
