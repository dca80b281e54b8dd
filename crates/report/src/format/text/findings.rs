//! The findings with their evidence and advice, and the verdict.

use super::super::{Paint, Style};
use super::words;
use crate::document::Conclusion;
use model::expectation::Checked;
use model::finding::{Finding, Severity, Status};
use model::plan::Direction;
use model::run::Run;
use serde_json::Value;
use std::collections::BTreeMap;

/// Findings, if any, what was expected, and the verdict.
pub(super) fn of(run: &Run, style: &Style) -> String {
    without_verdict(run, style) + &conclusion(&Conclusion::of_run(run), style)
}

/// The same where the verdict stands elsewhere.
pub(super) fn without_verdict(run: &Run, style: &Style) -> String {
    list(&run.findings, style) + &expectations(&run.expectations, style)
}

/// What was expected, under its heading, if anything was.
fn expectations(expected: &[Checked], style: &Style) -> String {
    let mut text = String::new();
    if !expected.is_empty() {
        text.push_str(&format!("\n{}\n", style.paint(Paint::Bold, "Expectations")));
    }
    for one in expected {
        let (word, paint) = if one.held { ("held", Paint::Good) } else { ("broken", Paint::Problem) };
        let mark = style.paint(paint, &format!("{word:<9}"));
        text.push_str(&hanging(&mark, &format!("{}: {}", one.expectation, one.found()), None, style));
    }
    text
}

/// The findings under their heading, if any.
pub(super) fn list(findings: &[Finding], style: &Style) -> String {
    let mut text = String::new();
    if !findings.is_empty() {
        text.push_str(&format!("\n{}\n", style.paint(Paint::Bold, "Findings")));
    }
    for (index, finding) in findings.iter().enumerate() {
        let twin = findings[..index].iter().find(|other| is_twin(other, finding));
        text.push_str(&one(finding, twin, style));
    }
    text
}

/// The same in the other direction.
fn is_twin(other: &Finding, finding: &Finding) -> bool {
    let opposite = finding.direction.map(Direction::reversed);
    other.id == finding.id && other.way == finding.way && opposite.is_some() && other.direction == opposite
}

/// One finding; of a twin that was shown before only what is not said there.
fn one(finding: &Finding, twin: Option<&Finding>, style: &Style) -> String {
    let paint = match finding.severity {
        Severity::Info => Paint::Good,
        Severity::Warning => Paint::Warning,
        Severity::Problem => Paint::Problem,
    };
    let mark = format!("{:<9}", words::severity(finding.severity));
    let mut text = hanging(&style.paint(paint, &mark), &finding.title, None, style);
    let known = |name: &str, value: &Value| twin.is_some_and(|twin| twin.evidence.get(name) == Some(value));
    let new = finding.evidence.iter().filter(|(name, value)| !known(name, value));
    let evidence = evidence(&new.map(|(name, value)| (name.clone(), value.clone())).collect());
    let blank = " ".repeat(9);
    if !evidence.is_empty() {
        let line = format!("{}: {evidence}", finding.id);
        text.push_str(&hanging(&blank, &line, Some(Paint::Dim), style));
    }
    if !finding.advice.is_empty() && twin.is_none_or(|twin| twin.advice != finding.advice) {
        text.push_str(&hanging(&blank, &format!("→ {}", finding.advice), None, style));
    }
    text
}

/// A mark of nine columns, and the text beside it.
fn hanging(mark: &str, sentence: &str, paint: Option<Paint>, style: &Style) -> String {
    let mut text = String::new();
    for (index, line) in style.wrap(sentence, 11).iter().enumerate() {
        let line = paint.map_or_else(|| line.clone(), |paint| style.paint(paint, line));
        let mark = if index == 0 { mark.to_owned() } else { " ".repeat(9) };
        text.push_str(&format!("  {mark}{line}\n"));
    }
    text
}

/// `name value, name value`; fractions with three significant digits.
pub(in crate::format) fn evidence(evidence: &BTreeMap<String, Value>) -> String {
    let parts: Vec<String> =
        evidence.iter().map(|(name, value)| format!("{name} {}", evidence_value(value))).collect();
    parts.join(", ")
}

fn evidence_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(fraction) => words::significant(fraction),
            None => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// `Verdict: ok.` and the sentences.
pub(super) fn conclusion(conclusion: &Conclusion, style: &Style) -> String {
    if conclusion.text.is_empty() {
        return String::new();
    }
    let paint = match conclusion.status {
        Status::Ok if !conclusion.broken => Paint::Good,
        Status::Degraded if !conclusion.broken => Paint::Warning,
        _ => Paint::Problem,
    };
    let mark = format!("Verdict: {}.", words::conclusion(conclusion));
    let mut lines = style.wrap(&format!("{mark} {}", conclusion.text), 0);
    if let Some(first) = lines.first_mut()
        && let Some(rest) = first.strip_prefix(&mark)
    {
        *first = format!("{}{rest}", style.paint(paint, &mark));
    }
    lines.iter().fold(String::from("\n"), |text, line| text + line + "\n")
}
