//! The limits of the rows of a sweep over frame sizes: the path's, where a load after the sweep met it and the row reached it; else
//! what the row's own test shows of its hosts.

use super::{evidence_of_rows, limit_of_path, set};
use crate::finding::{findings_of_run, verdict};
use crate::frames::limited_by;
use model::frames::FrameRow;
use model::limit::{Confidence, Limit, LimitKind};
use model::run::Run;
use model::units::BitRate;
use model::wire_rate::{IMPOSSIBLE_SHARE, LINE_RATE};

/// Fills in the limit of every row that was measured, and of its test, whose findings follow from it.
pub(super) fn fill(run: &mut Run) {
    let path = evidence_of_rows(run)
        .filter(|evidence| evidence.load.is_some())
        .map(|evidence| limit_of_path(&evidence));
    let path = path.filter(|limit| limit.kind.is_of_the_path() && limit.confidence > Confidence::Low);
    let measured = run.summary.rows.iter_mut().filter(|row| row.is_measured());
    for (row, test) in measured.zip(&mut run.tests) {
        let limit = path.as_ref().filter(|limit| reaches(row, test, limit)).cloned();
        let limit = at_line_rate(row).or(limit);
        if let Some(limit) = &limit {
            let nested = test.tests.iter_mut();
            nested.for_each(|pair| name(pair, row, limit));
            name(test, row, limit);
        }
        row.limited_by = limited_by(test, row.direction, row.share);
        row.limit = limit.or_else(|| of_hosts(row, test)).map(Box::new);
    }
}

/// The test of a row with this limit: its findings are those of a test that has it.
fn name(test: &mut Run, row: &FrameRow, limit: &Limit) {
    set(test, row.direction, Some(limit.clone()));
    test.findings = findings_of_run(test);
    test.verdict = verdict(test);
}

fn at_line_rate(row: &FrameRow) -> Option<Limit> {
    let is_full = row.share.is_some_and(|share| (LINE_RATE..IMPOSSIBLE_SHARE).contains(&share));
    is_full.then(|| Limit { kind: LimitKind::LineRate, confidence: Confidence::High, ..Limit::default() })
}

/// The row got what the path gives, nearly or, as long as a bucket was full, more.
fn reaches(row: &FrameRow, test: &Run, limit: &Limit) -> bool {
    let plan = test.first_throughput();
    let streams = plan.map_or(1, |plan| u64::from(plan.test.streams.max(1))) * row.pairs.max(1);
    let flows = if limit.per_flow == Some(true) { streams as f64 } else { 1.0 };
    match (limit.packets, limit.rate) {
        (Some(packets), _) => {
            let got = row.packets_per_second.map_or(0.0, |rate| rate.0 as f64);
            got >= REACHED * packets.0 as f64 * flows
        }
        (None, Some(BitRate(rate))) => row.rate_in_frames() >= REACHED * rate as f64 * flows,
        (None, None) => false,
    }
}

/// The limit that the test itself shows: TCP by its counters, else a finding about a host.
fn of_hosts(row: &FrameRow, test: &Run) -> Option<Limit> {
    let own = test.summary.direction(row.direction).and_then(|figures| figures.limit.as_deref());
    let own = own.filter(|limit| limit.kind != LimitKind::NotKnown && !limit.kind.is_of_the_path());
    own.cloned().or_else(|| {
        let kind = row.limited_by.iter().find_map(|id| match id.as_str() {
            "receiver-limited" => Some(LimitKind::ReceiverCpu),
            "receiver-buffer-loss" => Some(LimitKind::HostDrop),
            "sender-limited" => Some(LimitKind::SenderCpu),
            _ => None,
        })?;
        Some(Limit { kind, confidence: Confidence::Medium, ..Limit::default() })
    })
}

/// A share of what the path gives.
const REACHED: f64 = 0.85;
