//! Text for people: the verdict and the answer on one screen, and with more detail what stands behind them; live rows.

mod blocks;
mod findings;
mod heading;
mod intervals;
pub(super) mod latency;
mod live;
mod measure;
pub(super) mod packets;
mod pairs;
pub(super) mod path;
pub(super) mod phrases;
pub(super) mod reach;
mod result;
pub(super) mod transfer;

pub(super) use blocks::{documents, titled};
pub(super) use findings::{conclusion, evidence};
pub(super) use heading::host_line;
pub(super) use intervals::{Gauges, gauges as interval_gauges, rate as interval_rate};
pub(super) use intervals::{rates as interval_rates, senders as interval_senders};
pub use live::LiveRows;
pub(super) use measure::path_facts;
pub(super) use pairs::{facts as pair_facts, table as pair_table};
pub(super) use result::{data_paths, ended, fact, stream_table};

use super::{Style, brief, frames};
use model::event::Started;
use model::hops::HopsSample;
use model::latency::{LatencyPlan, LatencySample, LatencyStarted};
use model::path::PathStarted;
use model::plan::Plan;
use model::run::Run;
use model::transfer::{Transfer, TransferPlan, TransferStarted};
use model::units::Nanos;

/// The text on a terminal when the streams are open: the heading and the head of the interval table.
pub fn live_header(started: &Started, plan: &Plan, style: &Style) -> String {
    let local = started.streams.first().map(|stream| stream.local.ip().to_canonical().to_string());
    let mut text = heading::of_plan(plan, local.as_deref(), style);
    if plan.local.interval > Nanos::ZERO {
        text.push('\n');
        text.push_str(&intervals::header(plan, style));
    }
    text
}

/// Values over time as bars side by side, the largest at full height.
pub fn sparkline(values: &[u64], width: usize) -> String {
    let bars: Vec<Option<u64>> = values.iter().copied().map(Some).collect();
    latency::bars_over_time(&bars, values.iter().copied().max().unwrap_or(0), width)
}

/// The text on a terminal when the paths of a latency run are open: the heading and the head of the interval table.
pub fn latency_live_header(begun: &LatencyStarted, style: &Style) -> String {
    let mut text = latency::started(begun, style);
    if begun.plan.interval > Nanos::ZERO {
        text.push('\n');
        text.push_str(&latency::header(&begun.plan, style));
    }
    text
}

/// The rows of an interval of a latency run as it ends, one for each path.
pub fn latency_live_row(sample: &LatencySample, plan: &LatencyPlan) -> String {
    latency::row(sample, plan)
}

/// How the hops of a path stand, as lines of a table that is drawn anew.
pub fn hops_live_table(sample: &HopsSample) -> Vec<String> {
    super::hops::live_table(sample)
}

/// The same as a row.
pub fn hops_live_row(sample: &HopsSample) -> String {
    super::hops::live_row(sample)
}

/// The text on a terminal when a run about packet sizes begins.
pub fn path_live_header(begun: &PathStarted, style: &Style) -> String {
    path::started(begun, style)
}

/// The text on a terminal when a run of transfers begins: the heading and the head of their lines.
pub fn transfer_live_header(begun: &TransferStarted, style: &Style) -> String {
    transfer::started(begun, style)
}

/// The line of a transfer as it ends.
pub fn transfer_live_row(done: &Transfer, plan: &TransferPlan) -> String {
    transfer::row(done, plan)
}

/// A run whose intervals were shown while it ran: the verdict, the answer, the findings; with `style.detail` the details.
pub fn result(run: &Run, style: &Style) -> String {
    with_details(run, style, result_details)
}

/// A run that was not shown while it ran: with `style.detail` its intervals are among the details.
pub fn document(run: &Run, style: &Style) -> String {
    with_details(run, style, all_details)
}

fn with_details(run: &Run, style: &Style, details: fn(&Run, &Style) -> String) -> String {
    let brief = brief::brief_text(run, style);
    match style.detail {
        true => format!("{brief}\n{}", details(run, style).trim_start_matches('\n')),
        false => brief,
    }
}

/// The text below the live rows: results, and how it ran.
fn result_details(run: &Run, style: &Style) -> String {
    if let Some(pairs) = run.summary.pairs.as_deref() {
        return pairs::pairs_text(run, pairs, style);
    }
    match run.tests.is_empty() {
        _ if latency::is_latency(run) => latency::latency_text(run, style),
        _ if run.is_path() => path::path_text(run, style),
        _ if transfer::is_transfer(run) => transfer::transfer_text(run, style),
        _ if run.is_frames() => frames::text(run, style),
        true => result::result_text(run, style),
        false => measure::measure_text(run, style),
    }
}

/// Heading, intervals, and what follows them.
fn all_details(run: &Run, style: &Style) -> String {
    if latency::is_latency(run) {
        return latency_document(run, style);
    }
    if run.is_path() {
        return path::of_run(run, style) + &result_details(run, style);
    }
    if transfer::is_transfer(run) {
        return transfer::of_run(run, style) + &result_details(run, style);
    }
    let mut text = heading::of_run(run, style);
    if let Some(plan) = run.plan.as_ref().filter(|_| !run.intervals.is_empty()) {
        text.push('\n');
        text.push_str(&intervals::header(plan, style));
        text.push_str(&intervals::rows(&run.intervals, plan, style));
    }
    text.push_str(&result_details(run, style));
    text
}

/// The tables of a run of transfers.
pub(super) fn transfer_body(run: &Run, style: &Style) -> String {
    transfer::transfer_text(run, style)
}

/// The tables of several sessions at once.
pub(super) fn pairs_body(run: &Run, style: &Style) -> String {
    run.summary.pairs.as_deref().map(|pairs| pairs::pairs_text(run, pairs, style)).unwrap_or_default()
}

fn latency_document(run: &Run, style: &Style) -> String {
    let mut text = latency::of_run(run, style);
    if let Some(plan) = run.latency.as_ref().filter(|_| !run.latency_intervals.is_empty()) {
        text.push('\n');
        text.push_str(&latency::header(plan, style));
        text.extend(run.latency_intervals.iter().map(|sample| latency::row(sample, plan)));
    }
    text + &result_details(run, style)
}
