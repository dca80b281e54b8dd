//! The chart of sweeps over frame sizes: a line for each topology and family.

use super::sentences::{circumstances, title};
use crate::format::frames::{goodput, goodput_limit, packets, packets_limit};
use crate::plot::{Line, LineChart, LinePanel};
use model::frames::FrameRow;
use model::lab::{FrameSweep, LabReport, Variant};
use model::plan::Transport;

/// Goodput of TCP and packets of UDP over frame size, for every topology; absent where nothing was swept.
#[must_use]
pub fn sweeps(report: &LabReport) -> Option<LineChart> {
    let swept: Vec<(&Variant, &FrameSweep)> = report
        .variants
        .iter()
        .flat_map(|variant| variant.sweeps.iter().map(move |sweep| (variant, sweep)))
        .filter(|(_, sweep)| !sweep.rows.is_empty())
        .collect();
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
        across: "Ethernet frame with FCS, bytes".into(),
        sizes: sizes.iter().map(u32::to_string).collect(),
        limit: rows().any(|row| row.line_rate_pps.is_some()).then(|| "line rate".into()),
        panels,
    })
}

struct Panel {
    title: &'static str,
    unit: &'static str,
    protocol: Transport,
    value: fn(&FrameRow) -> Option<f64>,
    limit: fn(&FrameRow) -> Option<f64>,
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
    fn draw(&self, swept: &[(&Variant, &FrameSweep)], sizes: &[u32]) -> LinePanel {
        let lines = swept.iter().map(|(variant, sweep)| {
            let over = |value: fn(&FrameRow) -> Option<f64>| {
                let row = |size: &u32| {
                    sweep.rows.iter().find(|row| row.frame == *size && row.protocol == self.protocol)
                };
                sizes.iter().map(|size| row(size).and_then(value)).collect()
            };
            Line {
                name: format!("{}, {}", variant.name, sweep.family),
                values: over(self.value),
                limit: over(self.limit),
            }
        });
        LinePanel {
            title: self.title.into(),
            unit: self.unit.into(),
            lines: lines.collect(),
            ..LinePanel::default()
        }
    }
}
