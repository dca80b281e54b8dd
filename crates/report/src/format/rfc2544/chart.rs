//! The chart of a report.

use super::sentences;
use crate::plot::{Line, LineChart, LinePanel};
use model::dut::DutReport;

/// Rates over frame size, with what the link's rate allows above.
#[must_use]
pub fn chart(report: &DutReport) -> LineChart {
    let rows = || report.devices.iter().flat_map(|device| &device.rows);
    let mut sizes: Vec<String> = Vec::new();
    for row in rows() {
        let name = row.stream.frames.name.clone();
        if !sizes.contains(&name) {
            sizes.push(name);
        }
    }
    let lines = report.devices.iter().map(|device| {
        let of = |size: &String| device.rows.iter().find(|row| row.stream.frames.name == *size);
        let value = |size: &String| Some(of(size)?.headline()?.lower?.0 / 1e6);
        let limit = |size: &String| Some(of(size)?.line_rate?.0 / 1e6);
        Line {
            name: device.name.clone(),
            values: sizes.iter().map(value).collect(),
            limit: sizes.iter().map(limit).collect(),
        }
    });
    let lines: Vec<Line> = lines.collect();
    LineChart {
        title: sentences::title(report),
        subtitle: String::new(),
        across: "Ethernet frame with FCS, bytes".into(),
        limit: rows().any(|row| row.line_rate.is_some()).then(|| "line rate".into()),
        panels: vec![LinePanel { title: "Throughput, Mpps".into(), lines, ..LinePanel::default() }],
        sizes,
    }
}
