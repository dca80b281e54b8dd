//! The chart of sweeps over frame sizes: a line for each topology and family.

use super::sections::FAMILIES;
use super::sentences::{circumstances, title};
use crate::document::{Column, Table};
use crate::format::frames::{Value, goodput, goodput_limit, over, packets, packets_limit};
use crate::plot::{Across, Line, LineChart, LinePanel};
use model::frames::FrameRow;
use model::framing::Network;
use model::lab::{FrameSweep, LabReport, Variant};
use model::plan::Transport;
use model::units::significant;
use std::collections::BTreeSet;

/// Goodput of TCP and packets of UDP over frame size, for every topology; absent where nothing was swept.
#[must_use]
pub fn sweeps(report: &LabReport) -> Option<LineChart> {
    let swept: Vec<(&Variant, &FrameSweep)> =
        all_sweeps(report).filter(|(_, sweep)| !sweep.rows.is_empty()).collect();
    let rows = || swept.iter().flat_map(|(_, sweep)| &sweep.rows);
    let mut sizes: Vec<u32> = rows().map(|row| row.frame).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let has = |protocol| rows().any(|row| row.protocol == protocol && row.skipped.is_none());
    let panels = PANELS.iter().filter(|panel| has(panel.protocol));
    let panels: Vec<LinePanel> = panels.map(|panel| panel.draw(&swept, &sizes)).collect();
    (!panels.is_empty()).then(|| LineChart {
        title: format!("{}: frames of each size", title(report)),
        subtitle: circumstances(report),
        across: Across::sizes("Ethernet frame with FCS, bytes", sizes.iter().map(u32::to_string).collect()),
        limit: rows().any(|row| row.line_rate_pps.is_some()).then(|| "line rate".into()),
        panels,
    })
}

/// Every sweep, with its topology.
fn all_sweeps(report: &LabReport) -> impl Iterator<Item = (&Variant, &FrameSweep)> {
    report.variants.iter().flat_map(|variant| variant.sweeps.iter().map(move |sweep| (variant, sweep)))
}

/// Sweeps of several topologies: for each transport a row for each topology and a column for each size that has a figure.
pub(super) fn compared(report: &LabReport) -> Vec<Table> {
    if report.variants.len() < 2 {
        return Vec::new();
    }
    PANELS.iter().flat_map(|panel| FAMILIES.map(|family| panel.table(report, family))).flatten().collect()
}

/// Sizes that no topology was swept with, by transport; why is among the details.
pub(super) fn not_run(report: &LabReport) -> Option<String> {
    let rows = || all_sweeps(report).flat_map(|(_, sweep)| &sweep.rows);
    let sizes = |panel: &Panel| {
        let own = || rows().filter(|row| row.protocol == panel.protocol);
        let was_run = |size: u32| own().any(|row| row.frame == size && row.skipped.is_none());
        let skipped: BTreeSet<u32> = own().map(|row| row.frame).filter(|size| !was_run(*size)).collect();
        let skipped: Vec<String> = skipped.iter().map(u32::to_string).collect();
        (!skipped.is_empty()).then(|| format!("{} {}", panel.protocol, skipped.join(", ")))
    };
    let parts: Vec<String> = PANELS.iter().filter_map(sizes).collect();
    (!parts.is_empty()).then(|| format!("Not run: {} bytes; -v shows why.", parts.join("; ")))
}

struct Panel {
    title: &'static str,
    unit: &'static str,
    protocol: Transport,
    value: Value,
    limit: Value,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "TCP, goodput",
        unit: "Gbit/s",
        protocol: Transport::Tcp,
        value: goodput,
        limit: goodput_limit,
    },
    Panel {
        title: "UDP, packets",
        unit: "Mpps",
        protocol: Transport::Udp,
        value: packets,
        limit: packets_limit,
    },
];

impl Panel {
    fn table(&self, report: &LabReport, family: Network) -> Option<Table> {
        let swept: Vec<(&Variant, &FrameSweep)> =
            all_sweeps(report).filter(|(_, sweep)| sweep.family == family).collect();
        let measured = |row: &&FrameRow| {
            row.protocol == self.protocol && row.skipped.is_none() && (self.value)(row).is_some()
        };
        let all = swept.iter().flat_map(|(_, sweep)| &sweep.rows);
        let sizes: BTreeSet<u32> = all.filter(measured).map(|row| row.frame).collect();
        let cell = |sweep: &FrameSweep, size: u32| {
            let value = sweep.rows.iter().filter(measured).find(|row| row.frame == size).and_then(self.value);
            value.map_or_else(|| "-".into(), significant)
        };
        let row = |(variant, sweep): &(&Variant, &FrameSweep)| {
            let cells = sizes.iter().map(|size| cell(sweep, *size));
            std::iter::once(variant.name.clone()).chain(cells).collect::<Vec<String>>()
        };
        let heads = sizes.iter().map(|size| Column::right(size.to_string()));
        let columns = std::iter::once(Column::left("topology")).chain(heads).collect();
        (!sizes.is_empty()).then(|| Table {
            title: format!("{}, {}, by bytes of the frame, {family}", self.title, self.unit),
            ..Table::new(columns, swept.iter().map(row).collect())
        })
    }

    fn draw(&self, swept: &[(&Variant, &FrameSweep)], sizes: &[u32]) -> LinePanel {
        let lines = swept.iter().map(|(variant, sweep)| Line {
            name: format!("{}, {}", variant.name, sweep.family),
            values: over(&sweep.rows, sizes, self.protocol, self.value),
            limit: over(&sweep.rows, sizes, self.protocol, self.limit),
        });
        LinePanel::new(self.title, self.unit, lines.collect())
    }
}
