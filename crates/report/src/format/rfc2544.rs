//! The report of a device under test as a document, and as a chart.

mod brief;
mod bursts;
mod chart;
mod compared;
mod csv;
mod head;
mod hops;
mod latency;
mod loss;
mod rates;
mod read;
mod sentences;
mod service;

pub use chart::chart;

pub use read::{ReadError, read};

use crate::document::{
    Block, Chart, Conclusion, Csv, Document, Expectation, Head, Judgement, Part, Published, Table, json_line,
    parts_of_blocks,
};
use crate::expect::entry;
use model::dut::{DeviceReport, DutReport, Setup, StreamReport};
use model::history::{Entry, Measured};
use serde::Serialize;
use serde_json::Value;

impl Document for DutReport {
    fn head(&self) -> Head {
        let (title, started, finished) = (sentences::title(self), self.started, self.finished);
        Head { kind: "rfc2544".into(), title, depth: 1, started, finished }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks =
            vec![Block::Sentences(sentences::tested(self)), Block::list(self.notes.iter().cloned())];
        let drawn = chart(self);
        if !drawn.panels.is_empty() {
            blocks.push(Block::Chart(Chart::Lines(drawn)));
        }
        blocks.extend(self.devices.iter().flat_map(|device| part(device, self)));
        let compared = self.comparisons.iter().filter_map(compared::table);
        blocks.extend(compared.map(|table| Block::Table(Table { apart: true, ..table })));
        let method = Block::Sentences(sentences::circumstances(self));
        let ports = self.devices.iter().map(|device| Block::Sentences(sentences::sentences_of(device)));
        blocks.push(Block::Details(
            "Method, ports and tools".into(),
            [method].into_iter().chain(ports).collect(),
        ));
        blocks
    }

    /// One screen; the details are its blocks.
    fn parts(&self, detail: bool) -> Vec<Part> {
        if detail { parts_of_blocks(&self.head().title, self.blocks()) } else { brief::parts(self) }
    }

    fn provenance(&self) -> String {
        format!("{}. {}", sentences::title(self), sentences::tested(self).join(" "))
    }

    fn expectations(&self) -> Vec<Expectation> {
        let promised = self.devices.iter().filter_map(promise);
        super::run::expectations(&self.expectations).into_iter().chain(promised).collect()
    }

    fn entries(&self) -> Vec<Entry> {
        vec![entry(Measured::Device(self))]
    }

    fn csv(&self) -> Csv {
        csv::rows(self)
    }

    fn value(&self) -> Value {
        Published::of_devices(self).value()
    }

    /// A line for each stream of each device, `"event":"stream"`, and the document in the last line.
    fn ndjson(&self) -> String {
        let devices = self.devices.iter();
        let streams = devices.flat_map(|device| device.rows.iter().map(|row| line(&device.name, row)));
        streams.chain([json_line(&self.value())]).collect()
    }
}

/// Every table of a device that has rows.
fn tables(device: &DeviceReport, setup: &Setup) -> impl Iterator<Item = Table> {
    let first = [
        rates::throughput(device),
        rates::csit(device),
        latency::over_load(device),
        latency::at_throughput(device),
        latency::variation(device),
    ];
    let last = [
        bursts::back_to_back(device),
        bursts::recovery(device),
        bursts::reset(device),
        service::steps(device, setup),
        hops::drops(device),
    ];
    first.into_iter().flatten().chain(loss::steps(device)).chain(last.into_iter().flatten())
}

/// A device: sentences, tables, findings and verdict.
fn part(device: &DeviceReport, report: &DutReport) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(sentences::name(device))];
    blocks.extend(tables(device, &report.setup).map(Block::Table));
    let latency = chart::every_latency(device).map(|drawn| Block::Chart(Chart::Lines(drawn)));
    blocks.extend(latency.map(|drawn| Block::Details("Latency of every frame size".into(), vec![drawn])));
    blocks.push(Block::list(sentences::remarks(device)));
    blocks.push(Block::Findings(device.findings.clone()));
    blocks.push(conclusion(device, report));
    blocks
}

/// The verdict, with the name of the device where there are several.
fn conclusion(device: &DeviceReport, report: &DutReport) -> Block {
    let device_name = if report.devices.len() > 1 { device.name.clone() } else { String::new() };
    Block::Conclusion(Conclusion {
        of: device_name,
        ..Conclusion::new(device.verdict.status, &device.verdict.text)
    })
}

/// The promises of the provider of a service, as the exit code judges them.
fn promise(device: &DeviceReport) -> Option<Expectation> {
    let kept = device.service.as_ref()?.passed;
    Some(Expectation {
        of: device.name.clone(),
        what: "the promise of the service".into(),
        expected: "kept".into(),
        found: if kept { "kept" } else { "not kept" }.into(),
        judgement: if kept { Judgement::Held } else { Judgement::Broken },
    })
}

/// One stream of a device as a line of JSON, also while others are still tested.
pub fn line(device: &str, row: &StreamReport) -> String {
    json_line(&StreamLine { event: "stream", device: device.to_owned(), row })
}

/// The result of a stream, as soon as it is there.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Stream"))]
pub struct StreamLine<T = StreamReport> {
    /// Always `stream`.
    event: &'static str,
    /// The device.
    device: String,
    #[serde(flatten)]
    row: T,
}
