//! Findings in one to three lines each, what was expected, and what the engine had to say.

use super::super::text::evidence;
use super::super::{Paint, Style};
use super::plain;
use insight::answer::first_sentence;
use model::finding::{Finding, Severity};
use model::plan::Direction;
use model::run::Run;
use std::collections::BTreeSet;

/// The findings, worst first, one of both directions once; then warnings of the engine.
pub(super) fn of(run: &Run, style: &Style) -> String {
    let mut text = list(&run.findings, insight::answer::of(run).action, style);
    let nested = run.tests.iter().flat_map(|test| &test.summary.warnings);
    let mut seen = BTreeSet::new();
    for warning in run.summary.warnings.iter().chain(nested) {
        if seen.insert(&warning.text) {
            let mark = style.paint(Paint::Dim, &format!("{:<8}", "note"));
            text.push_str(&hanging(&mark, &format!("{}: {}", warning.id, plain(&warning.text)), None, style));
        }
    }
    text
}

/// Findings, one of both directions once. `said`: the advice that stands above already.
pub(in crate::format) fn list(findings: &[Finding], said: String, style: &Style) -> String {
    let mut text = String::new();
    let mut said = BTreeSet::from([said]);
    for (index, finding) in findings.iter().enumerate() {
        let twin = |other: &Finding| {
            let opposite = finding.direction.map(Direction::reversed);
            other.id == finding.id
                && other.way == finding.way
                && opposite.is_some()
                && other.direction == opposite
        };
        let before = findings[..index].iter().any(twin);
        let advice = Some(&finding.advice).filter(|advice| is_new(advice, &mut said));
        text.push_str(&one(finding, before, advice, style));
    }
    text
}

/// Advice that was not given yet, in its first sentence.
fn is_new(advice: &str, said: &mut BTreeSet<String>) -> bool {
    !advice.is_empty() && !said.contains(first_sentence(advice).as_str()) && said.insert(advice.to_owned())
}

/// The advice, or of a long one the first sentence.
fn brief(advice: &str) -> String {
    if advice.chars().count() <= WHOLE { advice.to_owned() } else { first_sentence(advice) }
}

fn one(finding: &Finding, before: bool, advice: Option<&String>, style: &Style) -> String {
    let (word, paint) = match finding.severity {
        Severity::Info => ("note", Paint::Dim),
        Severity::Warning => ("warning", Paint::Warning),
        Severity::Problem => ("problem", Paint::Problem),
    };
    let mark = style.paint(paint, &format!("{word:<8}"));
    let direction = finding.direction.map(|direction| format!("{direction}: ")).unwrap_or_default();
    let direction = if before { direction } else { String::new() };
    let title = format!("{}: {direction}{}", finding.id, plain(&finding.title));
    let mut text = hanging(&mark, &title, None, style);
    // A remark is to be known; what is to be done about it, if anything, is a command.
    let wanted = |advice: &&String| finding.severity > Severity::Info || advice.contains('`');
    if let Some(advice) = advice.filter(wanted) {
        let fix = plain(&brief(advice));
        text.push_str(&hanging(&" ".repeat(8), &format!("fix: {fix}"), None, style));
    }
    if style.detail {
        let evidence = evidence(&finding.evidence);
        text.push_str(&hanging(&" ".repeat(8), &evidence, Some(Paint::Dim), style));
    }
    text
}

/// What was expected, and whether it held.
pub(super) fn expectations(run: &Run, style: &Style) -> String {
    let line = |expected: &model::expectation::Checked| {
        let (word, paint) = if expected.held { ("held", Paint::Good) } else { ("broken", Paint::Problem) };
        let mark = style.paint(paint, &format!("{word:<8}"));
        hanging(&mark, &format!("{}: {}", expected.expectation, expected.found()), None, style)
    };
    run.expectations.iter().map(line).collect()
}

/// A mark of eight columns and the text beside it.
fn hanging(mark: &str, sentence: &str, paint: Option<Paint>, style: &Style) -> String {
    let mut text = String::new();
    for (index, line) in style.wrap(sentence, INDENT).iter().enumerate() {
        let line = paint.map_or_else(|| line.clone(), |paint| style.paint(paint, line));
        let mark = if index == 0 { mark.to_owned() } else { " ".repeat(8) };
        text.push_str(&format!("  {mark} {line}\n"));
    }
    text
}

/// Columns before the text.
const INDENT: usize = 11;
/// Advice of more characters takes more than three lines.
const WHOLE: usize = 200;
