//! The charts of a run: rates over time, round trips, frame sizes, rates of transfers.

mod latency;
mod over_time;
mod time;
mod transfer;

pub(super) use latency::{loaded, round_trips};
pub(super) use over_time::round_trips_over_time;
pub(super) use time::{rates, totals};
pub(super) use transfer::transfers;

use crate::document::{Block, Chart};
use crate::format::frames as sweep;
use crate::plot::{Line, LineChart, LinePanel};
use model::path::{PathDirection, PathResult, SizeProbe};
use model::plan::Direction;
use model::run::Run;

/// The sizes that were tried in each direction, and how many packets of each crossed: where a line falls is the path MTU.
pub(super) fn ladder(found: &PathResult) -> Option<Block> {
    let directions = [Direction::Up, Direction::Down]
        .into_iter()
        .filter_map(|one_way| Some((one_way, found.in_direction(one_way)?)));
    let panels: Vec<LinePanel> = directions
        .filter(|(_, one_way)| one_way.sizes.len() > 1)
        .map(|(direction, one_way)| steps(direction, one_way))
        .collect();
    (!panels.is_empty()).then(|| {
        Block::Chart(Chart::Lines(LineChart {
            title: "Packets that crossed, by size".into(),
            subtitle: "each size that was tried, fragments forbidden".into(),
            panels,
            ..LineChart::default()
        }))
    })
}

fn steps(direction: Direction, one_way: &PathDirection) -> LinePanel {
    let crossed = |probe: &SizeProbe| match probe.sent {
        0 => None,
        sent => Some(f64::from(probe.received) / f64::from(sent) * 100.0),
    };
    let mtu = one_way.path_mtu.map_or_else(|| "path MTU not found".into(), |mtu| format!("path MTU {mtu}"));
    let values = one_way.sizes.iter().map(crossed).collect();
    LinePanel {
        title: format!("Arrived {direction}"),
        unit: "%".into(),
        lines: vec![Line { name: mtu, values, limit: Vec::new() }],
        across: Some((
            "IP packet, bytes".into(),
            one_way.sizes.iter().map(|probe| probe.size.to_string()).collect(),
        )),
        ..LinePanel::default()
    }
}

/// The sweep's own chart.
pub(super) fn frames(run: &Run) -> Block {
    Block::Chart(Chart::Lines(sweep::chart(run)))
}
