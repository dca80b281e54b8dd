//! Details behind the figures of a run: the streams, the ends, how it ran, and deviations from the plan.

use super::{datapath, method};
use crate::document::{Block, Column, Table};
use crate::format::fingerprint;
use crate::format::text::heading::host_line;
use crate::format::text::{latency, path, transfer};
use model::event::Outcome;
use model::plan::{Direction, Transport};
use model::run::{Run, Subject};
use model::stats::spread::jain_fairness;
use model::summary::{DirectionSummary, Summary};
use model::units::{grouped, percent, significant};

/// Every part that there is something to say in.
pub(super) fn detail_blocks(run: &Run) -> Vec<Block> {
    let ended = ended(&run.summary).into_iter();
    // Those of transfers stand beside their table.
    let warnings =
        run.summary.warnings.iter().filter(|_| !matches!(run.subject(), Subject::Transfer | Subject::Frames));
    let notes = Block::list(ended.chain(warnings.map(|warning| warning.text.clone())));
    let fingerprint = fingerprint::table(run).into_iter().map(Block::Table);
    let mut parts = streams(run);
    parts.extend([
        ("How it ran".into(), vec![Block::facts(how_it_ran(run))]),
        ("What went otherwise than planned".into(), vec![notes]),
        ("Method".into(), method::method_blocks(run)),
        ("The ends".into(), vec![Block::facts(ends(run))]),
        ("Fingerprint".into(), fingerprint.collect()),
    ]);
    let parts = parts.into_iter().map(|(title, blocks)| Block::Details(title, blocks));
    parts.filter(|part| !part.is_empty()).collect()
}

/// The streams of each direction of a single test.
fn streams(run: &Run) -> Vec<(String, Vec<Block>)> {
    let known = Direction::BOTH.into_iter().filter_map(|direction| {
        let one_way = run.summary.direction(direction).filter(|_| run.tests.is_empty())?;
        Some((format!("Streams {direction}"), stream_blocks(one_way)))
    });
    known.collect()
}

/// The first streams of a direction, when there are several, and how equal all of them are.
fn stream_blocks(summary: &DirectionSummary) -> Vec<Block> {
    let rows = &summary.streams;
    if rows.len() < 2 {
        return Vec::new();
    }
    let last = if summary.transport == Transport::Tcp { "Retransmits" } else { "Lost" };
    let columns =
        [Column::left("Stream"), Column::right("Goodput"), Column::right("Share"), Column::right(last)];
    let rates: Vec<f64> = rows.iter().map(|row| row.goodput.0 as f64).collect();
    let total: f64 = rates.iter().sum();
    let cells = rows.iter().zip(&rates).take(MOST_STREAMS).map(|(row, rate)| {
        let share = if total > 0.0 { rate / total } else { 0.0 };
        let last = row.retransmits.or(row.lost).map_or("-".into(), grouped);
        vec![row.stream.to_string(), row.goodput.to_string(), percent(share), last]
    });
    let hidden = rows.len().saturating_sub(MOST_STREAMS);
    let more = (hidden > 0).then(|| format!("… and {hidden} more, all of them in --json"));
    let table = Table::new(columns.into(), cells.collect()).with_notes(more.into_iter().collect());
    let fairness = jain_fairness(&rates).map(|index| ("fairness", format!("{} of 1", significant(index))));
    vec![Block::Table(table), Block::facts(fairness)]
}

/// How the ends moved bytes, waited, or repeated.
fn how_it_ran(run: &Run) -> Vec<(&'static str, String)> {
    let mut facts = run.throughput().map(|plan| datapath::data_paths(run, plan)).unwrap_or_default();
    facts.extend(run.latency().map(|plan| ("this end", latency::waits(plan))));
    facts.extend(run.transfer().map(|plan| ("transfers", transfer::manner(plan))));
    facts.extend(run.summary.path.as_ref().and_then(path::effort).map(|effort| ("effort", effort)));
    facts
}

/// Why it ended, when not as planned.
fn ended(summary: &Summary) -> Option<String> {
    match &summary.outcome {
        Some(Outcome::Completed) | None => None,
        Some(Outcome::Interrupted) => Some("Interrupted: the figures are those until then.".to_owned()),
        Some(Outcome::PeerStopped { reason }) => Some(format!("The far end stopped the test: {reason}")),
        Some(Outcome::Failed { reason }) => Some(format!("The test failed: {reason}")),
    }
}

fn ends(run: &Run) -> Vec<(String, String)> {
    let plan = run.first_throughput();
    let to = plan.map(|plan| format!("{}, {} protocol", plan.target.address, plan.protocol));
    let sizes = run.path().map(|plan| {
        let method = run.summary.path.as_ref().map_or(plan.method, |found| found.method);
        path::route(plan, method)
    });
    let mut facts: Vec<(String, String)> =
        [to, sizes].into_iter().flatten().map(|to| ("to".into(), to)).collect();
    let paths = run.summary.egress_paths.iter();
    facts.extend(paths.map(|egress| (egress.label.clone(), latency::ends_line(&egress.ends))));
    facts.extend(run.latency().map(|plan| ("protocol".into(), plan.protocol.to_string())));
    facts.extend(run.host.as_ref().map(|host| ("this end".into(), host_line(host))));
    facts.extend(run.peer.as_ref().map(|host| ("far end".into(), host_line(host))));
    facts
}

/// A table of more streams is too long to read.
const MOST_STREAMS: usize = 16;
