//! A lab report: as text with bars, JSON, CSV and Markdown, and as a chart.

mod bars;
mod chart;
mod csv;
mod sections;
mod sentences;
mod sweeps;

pub use chart::chart;
pub use csv::COLUMNS;
pub use sweeps::sweeps;

use super::table::{Section, markdown, plain};
use super::{Paint, Style};
use model::lab::{LabReport, Variant};

/// Tables, bars and sentences for people.
pub fn text(report: &LabReport, style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, &sentences::title(report)));
    text.push_str(&style.list(&[sentences::circumstances(report)], "  "));
    for variant in &report.variants {
        let title = format!("{}: {}", variant.name, variant.title);
        text.push_str(&format!("\n{}\n", style.paint(Paint::Bold, &title)));
        text.push_str(&tables(&sections::of(variant), style));
        text.push_str(&style.list(&sentences::of(variant), "  - "));
    }
    text.push_str(&tables(&sections::compared(report), style));
    text.push_str(&bars::of(report, style));
    if !report.notes.is_empty() {
        text.push_str(&format!("\n{}\n", style.paint(Paint::Bold, "Notes")));
        text.push_str(&style.list(&report.notes, "  - "));
    }
    text.push_str(&format!("\n{}\n", style.paint(paint(report), &sentences::verdict(report))));
    text
}

/// The document, indented, schema `pathmeter/lab/1`.
pub fn json(report: &LabReport) -> String {
    serde_json::to_string_pretty(report).expect("a report has string keys and plain values only") + "\n"
}

/// The document in a line.
pub fn ndjson(report: &LabReport) -> String {
    serde_json::to_string(report).expect("a report has string keys and plain values only") + "\n"
}

/// A row for each repetition, under one stable header.
pub fn csv(report: &LabReport) -> String {
    csv::document(report)
}

/// Tables to paste into a ticket.
pub fn to_markdown(report: &LabReport) -> String {
    let mut text = format!("# {}\n\n{}\n", sentences::title(report), sentences::circumstances(report));
    if !report.comparisons.is_empty() {
        text.push_str("\n## Compared\n");
        sections::compared(report).iter().for_each(|section| text.push_str(&table(section, "###")));
    }
    report.variants.iter().for_each(|variant| text.push_str(&part(variant)));
    if !report.notes.is_empty() {
        text.push_str("\n## Notes\n\n");
        report.notes.iter().for_each(|note| text.push_str(&format!("- {}\n", note.replace('*', "\\*"))));
    }
    text + &format!("\n**{}**\n", sentences::verdict(report))
}

fn part(variant: &Variant) -> String {
    let mut text = format!("\n## {}: {}\n", variant.name, variant.title);
    sections::of(variant).iter().for_each(|section| text.push_str(&table(section, "###")));
    let lines = sentences::of(variant);
    if !lines.is_empty() {
        text.push('\n');
    }
    lines.iter().for_each(|line| text.push_str(&format!("- {}\n", line.replace('*', "\\*"))));
    text
}

fn table(section: &Section, level: &str) -> String {
    format!("\n{level} {}\n\n{}", section.title, markdown(&section.columns, &section.rows))
}

fn tables(sections: &[Section], style: &Style) -> String {
    let table = |section: &Section| {
        let title = style.paint(Paint::Dim, &section.title);
        format!("\n  {title}\n{}", plain(&section.columns, &section.rows))
    };
    sections.iter().map(table).collect()
}

fn paint(report: &LabReport) -> Paint {
    match (report.is_void(), report.is_broken()) {
        (true, _) => Paint::Warning,
        (_, true) => Paint::Problem,
        _ => Paint::Good,
    }
}
