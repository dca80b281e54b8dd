//! The charts of a run: rates over time, round trips, frame sizes, rates of transfers.

mod latency;
mod over_time;
mod path;
mod time;
mod transfer;

pub(super) use latency::{loaded, round_trips};
pub(super) use over_time::round_trips_over_time;
pub(super) use path::packet_sizes;
pub(super) use time::{rates, totals};
pub(super) use transfer::transfers;

use crate::document::{Block, Chart};
use crate::format::frames as sweep;
use model::run::Run;

/// The sweep's own chart.
pub(super) fn frames(run: &Run) -> Block {
    Block::Chart(Chart::Lines(sweep::chart(run)))
}
