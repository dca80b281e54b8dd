//! Text for people: the verdict and the answer on one screen, and with more detail what stands behind them; live rows.

pub(super) mod bars;
mod blocks;
mod entries;
mod figures;
pub(super) mod findings;
pub(super) mod heading;
pub(super) mod intervals;
pub(super) mod latency;
mod lines;
mod live;
pub(super) mod packets;
pub(super) mod pairs;
mod parts;
pub(super) mod path;
pub(super) mod phrases;
pub(super) mod reach;
mod remarks;
pub(super) mod rows;
mod screen;
pub(super) mod transfer;

pub use bars::sparkline;
pub use live::LiveRows;
pub(super) use parts::documents;
pub use path::started as path_live_header;
pub use transfer::{row as transfer_live_row, started as transfer_live_header};

pub use super::hops::{live_row as hops_live_row, live_table as hops_live_table};

use super::Style;
use super::run::RunDocument;
use crate::document::{Document, Line};
use model::event::Started;
use model::latency::{LatencyPlan, LatencySample, LatencyStarted};
use model::plan::Plan;
use model::run::Run;
use model::units::Nanos;

/// The text on a terminal when the streams are open: the heading and the head of the interval table.
pub fn live_header(started: &Started, plan: &Plan, style: &Style) -> String {
    let local = started.streams.first().map(|stream| stream.local.ip().to_canonical().to_string());
    let heading = heading::of_plan(plan, local.as_deref(), style);
    above_rows(heading, plan.local.interval, intervals::header(plan), style)
}

/// The text on a terminal when the paths of a latency run are open: the heading and the head of the interval table.
pub fn latency_live_header(begun: &LatencyStarted, style: &Style) -> String {
    above_rows(latency::started(begun, style), begun.plan.interval, latency::header(&begun.plan), style)
}

/// A heading, and the head of the interval table where there are intervals.
fn above_rows(heading: String, interval: Nanos, head: Line, style: &Style) -> String {
    match interval {
        Nanos::ZERO => heading,
        _ => format!("{heading}\n{}", lines::lines(&[head], style)),
    }
}

/// The rows of an interval of a latency run as it ends, one for each path.
pub fn latency_live_row(sample: &LatencySample, plan: &LatencyPlan) -> String {
    lines::lines(&latency::row(sample, plan), &Style::default())
}

/// A run whose intervals were shown while it ran: the verdict, the answer, the findings; with `style.detail` what stands behind them.
pub fn result(run: &Run, style: &Style) -> String {
    let document = RunDocument { shown: true, ..RunDocument::from_run(run) };
    parts::parts(&document.parts(style.detail), style)
}

/// A run that was not shown while it ran: with `style.detail` its title and intervals stand before the details.
pub fn document(run: &Run, style: &Style) -> String {
    parts::parts(&RunDocument::from_run(run).parts(style.detail), style)
}
