//! The report of a device under test: as text, JSON, CSV and Markdown, and as a chart.

mod chart;
mod csv;
mod rates;
mod read;
mod sections;
mod sentences;

pub use chart::chart;
pub use csv::COLUMNS;
pub use read::{ReadError, read};

use super::table::{Section, markdown, plain};
use super::text::findings_and_verdict;
use super::{Paint, Style};
use model::dut::{DeviceReport, DutReport, StreamReport};
use serde::Serialize;

/// Tables and sentences for people.
pub fn text(report: &DutReport, style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, &sentences::title(report)));
    text.push_str(&lines(&sentences::circumstances(report), "  ", style));
    text.push_str(&lines(&report.notes, "  - ", style));
    for device in &report.devices {
        text.push_str(&part(device, report, style));
    }
    for (title, section) in sections::compared(report) {
        text.push_str(&format!("\n{}\n{}", style.paint(Paint::Bold, &title), table(&section, style)));
    }
    text
}

fn part(device: &DeviceReport, report: &DutReport, style: &Style) -> String {
    let mut text = format!("\n{}\n", style.paint(Paint::Bold, &sentences::name(device)));
    text.push_str(&lines(&sentences::of(device), "  ", style));
    for section in sections::of(device, &report.setup) {
        text.push_str(&format!("\n{}", table(&section, style)));
        text.push_str(&lines(&sections::below(&section, device), "  ", style));
    }
    let remarks = sentences::remarks(device);
    if !remarks.is_empty() {
        text.push_str(&format!("\n{}", lines(&remarks, "  - ", style)));
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
        for section in sections::of(device, &report.setup) {
            text.push_str(&markdown_table(&section.title, &section));
            let below = list(&sections::below(&section, device));
            text.push_str(&if below.is_empty() { below } else { format!("\n{below}") });
        }
        let remarks = list(&sentences::remarks(device));
        text.push_str(&if remarks.is_empty() { remarks } else { format!("\n{remarks}") });
        text.push_str(&super::markdown::findings_and_verdict(&device.findings, &device.verdict));
    }
    for (title, section) in sections::compared(report) {
        text.push_str(&format!("\n## {title}\n{}", markdown_table(&section.title, &section)));
    }
    text
}

fn table(section: &Section, style: &Style) -> String {
    format!("  {}\n{}", style.paint(Paint::Dim, &section.title), plain(&section.columns, &section.rows))
}

fn markdown_table(title: &str, section: &Section) -> String {
    format!("\n### {title}\n\n{}", markdown(&section.columns, &section.rows))
}

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {}\n", line.replace('*', "\\*"))).collect()
}

/// Each as lines that fit, the first after a mark and the others below its text.
fn lines(of: &[String], mark: &str, style: &Style) -> String {
    let mut text = String::new();
    for one in of.iter().filter(|one| !one.is_empty()) {
        for (index, line) in style.wrap(one, mark.len()).iter().enumerate() {
            let lead = if index == 0 { mark.into() } else { " ".repeat(mark.len()) };
            text.push_str(&format!("{lead}{line}\n"));
        }
    }
    text
}
