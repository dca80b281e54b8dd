//! An analysis of several runs: as text, JSON, CSV and Markdown.

mod csv;
mod sections;

pub use csv::COLUMNS;

use super::table::{Section, markdown, plain};
use super::text::words;
use super::{Paint, Style};
use insight::analysis::{Analysis, RunFinding};

/// Tables, and what follows from them, for people.
pub fn text(analysis: &Analysis, style: &Style) -> String {
    let mut text = format!("{}\n", style.paint(Paint::Bold, &title(analysis)));
    for Section { title, columns, rows } in sections::of(analysis) {
        text.push_str(&format!("\n{}\n{}", style.paint(Paint::Bold, &title), plain(&columns, &rows)));
    }
    text.push_str(&list("Conclusions", &analysis.conclusions, style));
    let findings: Vec<String> = analysis.findings.iter().map(finding).collect();
    text + &list("Findings", &findings, style)
}

/// The document, indented, schema `pathmeter/analysis/1`.
pub fn json(analysis: &Analysis) -> String {
    let text =
        serde_json::to_string_pretty(analysis).expect("an analysis has string keys and plain values only");
    text + "\n"
}

/// The document in a line.
pub fn ndjson(analysis: &Analysis) -> String {
    let text = serde_json::to_string(analysis).expect("an analysis has string keys and plain values only");
    text + "\n"
}

/// A row for each direction and way of each run, under one stable header.
pub fn csv(analysis: &Analysis) -> String {
    csv::document(analysis)
}

/// Tables to paste into a ticket.
pub fn to_markdown(analysis: &Analysis) -> String {
    let mut text = format!("# {}\n", title(analysis));
    for Section { title, columns, rows } in sections::of(analysis) {
        text.push_str(&format!("\n## {title}\n\n{}", markdown(&columns, &rows)));
    }
    let findings: Vec<String> = analysis.findings.iter().map(finding).collect();
    for (title, lines) in [("Conclusions", &analysis.conclusions), ("Findings", &findings)] {
        if !lines.is_empty() {
            let lines: String =
                lines.iter().map(|line| format!("- {}\n", line.replace('*', "\\*"))).collect();
            text.push_str(&format!("\n## {title}\n\n{lines}"));
        }
    }
    text
}

fn title(analysis: &Analysis) -> String {
    format!("Analysis of {}", words::count(analysis.runs, "run"))
}

fn finding(one: &RunFinding) -> String {
    let severity = words::severity(one.finding.severity);
    let advice =
        if one.finding.advice.is_empty() { String::new() } else { format!(" → {}", one.finding.advice) };
    format!(
        "{} ({severity}, {}): {}.{advice}",
        one.run,
        one.finding.id,
        one.finding.title.trim_end_matches('.')
    )
}

fn list(title: &str, lines: &[String], style: &Style) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style.paint(Paint::Bold, title));
    for line in lines {
        for (index, part) in style.wrap(line, 4).iter().enumerate() {
            text.push_str(&format!("  {} {part}\n", if index == 0 { "-" } else { " " }));
        }
    }
    text
}
