//! Text for people: the verdict and the answer on one screen, and with more detail what stands behind them; live rows.

mod bars;
mod blocks;
mod findings;
mod heading;
mod intervals;
pub(super) mod latency;
mod live;
pub(super) mod packets;
mod pairs;
pub(super) mod path;
pub(super) mod phrases;
pub(super) mod reach;
pub(super) mod transfer;

pub(super) use blocks::{documents, fact, titled};
pub(super) use findings::{conclusion, evidence};
pub(super) use heading::host_line;
pub(super) use intervals::{Gauges, gauges as interval_gauges, rate as interval_rate};
pub(super) use intervals::{rates as interval_rates, senders as interval_senders, whole as whole_intervals};
pub use live::LiveRows;
pub(super) use pairs::{facts as pair_facts, pairs_text, table as pair_table};

use super::{Paint, Style, brief, run};
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

/// A run whose intervals were shown while it ran: the verdict, the answer, the findings; with `style.detail` what stands behind them.
pub fn result(run: &Run, style: &Style) -> String {
    let brief = brief::brief_text(run, style);
    match style.detail {
        true => brief + &details(run, style),
        false => brief,
    }
}

/// A run that was not shown while it ran: with `style.detail` its title and intervals stand before the details.
pub fn document(run: &Run, style: &Style) -> String {
    let brief = brief::brief_text(run, style);
    if !style.detail {
        return brief;
    }
    let title = style.wrap(&blocks::without_marks(&run::title(run)), 0);
    let title: String = title.iter().map(|line| style.paint(Paint::Bold, line) + "\n").collect();
    format!("{brief}\n{title}{}{}", rows(run, style), details(run, style))
}

/// What stands behind the first screen.
fn details(run: &Run, style: &Style) -> String {
    blocks::blocks(&run::behind(run), style) + &path::advice_text(&run.advice, style)
}

/// The rows that a terminal shows while it runs.
fn rows(run: &Run, style: &Style) -> String {
    if let Some(plan) = run.latency.as_ref().filter(|_| !run.latency_intervals.is_empty()) {
        let rows = run.latency_intervals.iter().map(|sample| latency::row(sample, plan));
        return format!("\n{}{}", latency::header(plan, style), rows.collect::<String>());
    }
    if let Some((plan, result)) = run.transfer.as_ref().zip(run.summary.transfer.as_ref()) {
        return transfer::head(plan)
            + &result.transfers.iter().map(|one| transfer::row(one, plan)).collect::<String>();
    }
    match run.plan.as_ref().filter(|_| !run.intervals.is_empty()) {
        Some(plan) => {
            format!("\n{}{}", intervals::header(plan, style), intervals::rows(&run.intervals, plan, style))
        }
        None => String::new(),
    }
}
