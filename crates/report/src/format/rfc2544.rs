//! The report of a device under test: as text, JSON, CSV and Markdown, and as a chart.

mod bursts;
mod chart;
mod compared;
mod csv;
mod hops;
mod latency;
mod loss;
mod rates;
mod read;
mod sections;
mod sentences;
mod service;

pub use chart::chart;
pub use csv::COLUMNS;
pub use read::{ReadError, read};

use super::table::{markdown, plain};
use super::text::findings_and_verdict;
use super::{Paint, Style};
use model::dut::{DeviceReport, DutReport, StreamReport};
use sections::Part;
use serde::Serialize;

/// Tables and sentences for people.
pub fn text(report: &DutReport, style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, &sentences::title(report)));
    text.push_str(&style.list(&sentences::circumstances(report), "  "));
    text.push_str(&style.list(&report.notes, "  - "));
    for device in &report.devices {
        text.push_str(&part(device, report, style));
    }
    text.extend(sections::comparisons(report).iter().map(|part| table(part, style)));
    text
}

fn part(device: &DeviceReport, report: &DutReport, style: &Style) -> String {
    let mut text = format!("\n{}\n", style.paint(Paint::Bold, &sentences::name(device)));
    text.push_str(&style.list(&sentences::of(device), "  "));
    text.extend(sections::of(device, &report.setup).iter().map(|part| table(part, style)));
    let remarks = sentences::remarks(device);
    if !remarks.is_empty() {
        text.push_str(&format!("\n{}", style.list(&remarks, "  - ")));
    }
    text + &findings_and_verdict(&device.findings, &device.verdict, style)
}

/// The document, indented, schema `pathmeter/rfc2544/1`.
pub fn json(report: &DutReport) -> String {
    serde_json::to_string_pretty(report).expect("a report has string keys and plain values only") + "\n"
}

/// A line for each stream of each device, `"event":"stream"`, and the document in the last line.
pub fn ndjson(report: &DutReport) -> String {
    let streams =
        report.devices.iter().flat_map(|device| device.rows.iter().map(|row| line(&device.name, row)));
    let whole = serde_json::to_string(report).expect("a report has string keys and plain values only");
    streams.chain([whole + "\n"]).collect()
}

/// One stream of a device as a line of [`ndjson`], also while others are still tested.
pub fn line(device: &str, row: &StreamReport) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        event: &'static str,
        device: &'a str,
        #[serde(flatten)]
        row: &'a StreamReport,
    }
    let line = Line { event: "stream", device, row };
    serde_json::to_string(&line).expect("a stream has string keys and plain values only") + "\n"
}

/// A row for each figure, under one stable header.
pub fn csv(report: &DutReport) -> String {
    csv::document(report)
}

/// Tables to paste into a ticket.
pub fn to_markdown(report: &DutReport) -> String {
    let mut text = format!("# {}\n\n", sentences::title(report));
    text.push_str(&list(&sentences::circumstances(report)));
    text.push_str(&list(&report.notes));
    for device in &report.devices {
        text.push_str(&format!("\n## {}\n\n{}", sentences::name(device), list(&sentences::of(device))));
        text.extend(sections::of(device, &report.setup).iter().map(|part| markdown_table(part, "###")));
        let remarks = list(&sentences::remarks(device));
        text.push_str(&if remarks.is_empty() { remarks } else { format!("\n{remarks}") });
        let concluded = super::markdown::findings_and_verdict(&device.findings, &device.verdict);
        text.push_str(&if concluded.is_empty() { concluded } else { format!("\n{concluded}") });
    }
    text.extend(sections::comparisons(report).iter().map(|part| markdown_table(part, "##")));
    text
}

fn table(part: &Part, style: &Style) -> String {
    let Part { section, notes } = part;
    let title = style.paint(Paint::Dim, &section.title);
    let notes: String = style.list(notes, "  ");
    format!("\n  {title}\n{}{notes}", plain(&section.columns, &section.rows))
}

fn markdown_table(part: &Part, level: &str) -> String {
    let Part { section, notes } = part;
    let notes = if notes.is_empty() { String::new() } else { format!("\n{}", list(notes)) };
    format!("\n{level} {}\n\n{}{notes}", section.title, markdown(&section.columns, &section.rows))
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}\n", line.replace('*', "\\*"))).collect()
}
