//! The verdict of documents other than runs, and evidence in a line.

use super::super::Style;
use crate::document::Conclusion;
use model::units::plain;
use serde_json::Value;
use std::collections::BTreeMap;

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
            Some(fraction) => plain(fraction),
            None => number.to_string(),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// `OK  sentences`, with the name of what it is of where a document has several.
pub(in crate::format) fn conclusion(conclusion: &Conclusion, style: &Style) -> String {
    if conclusion.text.is_empty() {
        return String::new();
    }
    let (word, paint) = conclusion.word();
    let subject = if conclusion.of.is_empty() { String::new() } else { format!("{}: ", conclusion.of) };
    let indent = word.chars().count() + 2;
    let style = &Style { width: style.width.min(100), ..*style };
    let lines = style.wrap(&(subject + &conclusion.text), indent);
    let lead = |index: usize| match index {
        0 => format!("{}  ", style.paint(paint, &word)),
        _ => " ".repeat(indent),
    };
    lines.iter().enumerate().map(|(index, line)| format!("{}{line}\n", lead(index))).collect()
}
