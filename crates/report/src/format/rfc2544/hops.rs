//! Where frames were dropped, hop by hop, as NFVbench shows it.

use crate::document::{Cell, Table};
use model::dut::{DeviceReport, HopDrops};
use model::units::grouped;

/// Every interface that was observed, in the order of the path.
pub(super) fn drops(device: &DeviceReport) -> Option<Table> {
    let table = Table::of_cells("Frames at each hop, in the trial at the most load", &HOPS, &device.hops)?;
    let note = worst(device).unwrap_or_else(|| "No interface counted a drop.".into());
    Some(table.with_notes(vec![note]))
}

/// Where most frames were lost.
pub(super) fn worst(device: &DeviceReport) -> Option<String> {
    let hop = device.hops.iter().max_by_key(|hop| dropped(hop)).filter(|hop| dropped(hop) > 0)?;
    let (lost, counters) = (dropped(hop), counters(hop));
    Some(format!("Most frames are lost at {}:{}: {lost} ({counters}).", hop.node, hop.interface))
}

const HOPS: [Cell<HopDrops>; 6] = [
    Cell("Interface", false, |hop| Some(format!("{}:{}", hop.node, hop.interface))),
    Cell("Frame", true, |hop| Some(hop.frame.0.to_string())),
    Cell("received", true, |hop| Some(grouped(hop.received))),
    Cell("sent", true, |hop| Some(grouped(hop.sent))),
    Cell("dropped", true, |hop| Some(grouped(dropped(hop)))),
    Cell("counters", false, |hop| Some(counters(hop)).filter(|text| !text.is_empty())),
];

fn dropped(hop: &HopDrops) -> u64 {
    hop.drops.values().fold(0, |sum, count| sum.saturating_add(*count))
}

fn counters(hop: &HopDrops) -> String {
    hop.drops.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
