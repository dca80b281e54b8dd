//! The CSV of a report: a row for each figure.

mod figures;

use crate::document::{Csv, field};
use crate::format::csv::Source;
use figures::Figure;
use model::dut::{DeviceReport, DutReport, Stream};
use serde::Serialize;

/// The device and the frames that a figure is of.
#[derive(Clone, Default, Serialize)]
struct Subject {
    device: String,
    network: String,
    frame: String,
    /// Sent at once: `up`, `down` or `both`.
    #[serde(rename = "ways")]
    directions: String,
}

impl Subject {
    fn of_stream(device: &DeviceReport, stream: &Stream) -> Subject {
        Subject {
            device: device.name.clone(),
            network: stream.network.to_string(),
            frame: stream.frames.name.clone(),
            directions: field(&stream.directions),
        }
    }
}

pub(super) fn rows(report: &DutReport) -> Csv {
    let mut source = Source::new("rfc2544", report.started, report.host.as_ref());
    report.id.clone_into(&mut source.run);
    let mut rows = Vec::new();
    for device in &report.devices {
        source.status = device.verdict.status.word();
        let mut add = |subject: Subject, figures: Vec<Figure>| {
            rows.extend(figures.into_iter().map(|figure| (source.clone(), subject.clone(), figure)));
        };
        for row in &device.rows {
            add(Subject::of_stream(device, &row.stream), figures::of_row(row));
        }
        if let Some(service) = &device.service {
            add(Subject::of_stream(device, &service.stream), figures::of_service(service));
        }
        for hop in &device.hops {
            let (device, frame) = (device.name.clone(), hop.frame.0.to_string());
            add(Subject { device, frame, ..Subject::default() }, figures::of_hop(hop));
        }
    }
    Csv::from_rows(rows)
}
