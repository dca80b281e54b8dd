//! Findings in one to three lines each, what was expected, and what the engine had to say.

use super::super::text::evidence;
use super::super::{Paint, Style};
use super::plain;
use super::screen::{INDENT, Remark, in_one_line};
use insight::answer::first_sentence;
use insight::finding::rule_named;
use model::finding::{Finding, Severity};
use model::plan::Direction;
use model::run::Run;
use std::collections::BTreeSet;

/// The findings, worst first, one of both directions once; then warnings of the engine.
pub(super) fn remarks(run: &Run, style: &Style) -> Vec<Remark> {
    let action = insight::answer::answer_of_run(run).action;
    let mut remarks = match headline(run).filter(|_| !style.detail) {
        Some(first) => {
            let others: Vec<Finding> =
                run.findings.iter().filter(|other| other.id != first.id).cloned().collect();
            let full = see_above(run, first, style);
            let above = Remark { id: first.id.clone(), full, line: String::new() };
            [above].into_iter().chain(found(&others, action, style)).collect()
        }
        None => found(&run.findings, action, style),
    };
    let nested = run.tests.iter().flat_map(|test| &test.summary.warnings);
    let mut observed = BTreeSet::new();
    for warning in run.summary.warnings.iter().chain(nested) {
        if observed.insert(&warning.text) {
            let mark = style.paint(Paint::Dim, &format!("{:<8}", "note"));
            let text = plain(&warning.text);
            remarks.push(Remark {
                id: warning.id.clone(),
                line: one_line(&mark, &warning.id, &text, style),
                full: hanging(&mark, &format!("{}: {text}", warning.id), None, style),
            });
        }
    }
    remarks
}

/// The finding of the first line, whose figures are in the table of a run of several tests: to be repeated nowhere.
fn headline(run: &Run) -> Option<&Finding> {
    let first = insight::answer::headline_of_run(run)?;
    (!run.tests.is_empty() && rule_named(&first.id).is_some_and(|rule| rule.is_in_table)).then_some(first)
}

/// `fragments-dropped: up, down: see above`.
fn see_above(run: &Run, first: &Finding, style: &Style) -> String {
    let is_in = |direction: &Direction| {
        run.findings.iter().any(|other| other.id == first.id && other.direction == Some(*direction))
    };
    let directions = Direction::BOTH.into_iter().filter(is_in);
    let directions: Vec<String> = directions.map(|direction| direction.to_string()).collect();
    let place = if directions.is_empty() { String::new() } else { format!("{}: ", directions.join(", ")) };
    hanging(&mark(first.severity, style), &format!("{}: {place}see above", first.id), None, style)
}

/// Findings in full, one of both directions once. `said`: the advice that stands above already.
pub(in crate::format) fn list(findings: &[Finding], said: String, style: &Style) -> String {
    found(findings, said, style).into_iter().map(|remark| remark.full).collect()
}

fn found(findings: &[Finding], said: String, style: &Style) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut said = BTreeSet::from([said]);
    for (index, finding) in findings.iter().enumerate() {
        let before = findings[..index].iter().any(|other| is_twin(finding, other));
        let after = findings[index + 1..].iter().find(|other| is_twin(finding, other));
        // The figures of the other direction are in the table.
        if before && !style.detail {
            continue;
        }
        let twin = after.and_then(|twin| twin.direction).filter(|_| !style.detail);
        let advice = Some(&finding.advice).filter(|advice| is_new(advice, &mut said));
        remarks.push(Remark {
            id: finding.id.clone(),
            full: finding_lines(finding, Place { before, twin }, advice, style),
            line: finding_line(finding, twin, style),
        });
    }
    remarks
}

/// A finding in one line: its title, or clauses of it; of one that is more than a remark the few words of its rule.
fn finding_line(finding: &Finding, twin: Option<Direction>, style: &Style) -> String {
    let title = plain(&finding.title);
    let too = twin.map(|twin| format!("; {twin}, too")).unwrap_or_default();
    let mark = mark(finding.severity, style);
    let room = room_beside(&format!("{}: ", finding.id), style);
    let whole = format!("{title}{too}");
    let clause = in_one_line(&title, room);
    let rule = rule_named(&finding.id).filter(|_| finding.severity > Severity::Info);
    let text = match rule {
        _ if whole.chars().count() <= room => whole,
        Some(rule) if clause.ends_with('…') => {
            let directions: Vec<String> =
                finding.direction.into_iter().chain(twin).map(|one| format!(" {one}")).collect();
            format!("{}{}", rule.short, directions.join(" and"))
        }
        _ => clause,
    };
    one_line(&mark, &finding.id, &text, style)
}

/// The same is found in the opposite direction, with other figures at most.
fn is_twin(finding: &Finding, other: &Finding) -> bool {
    let opposite = finding.direction.map(Direction::reversed);
    let same = (&other.id, &other.egress, other.severity) == (&finding.id, &finding.egress, finding.severity);
    same && opposite.is_some()
        && other.direction == opposite
        && without_figures(&finding.title) == without_figures(&other.title)
}

/// The words of a sentence, without numbers, their units and directions.
fn without_figures(title: &str) -> Vec<&str> {
    let is_figure = |word: &&str| word.contains(|letter: char| letter.is_ascii_digit());
    let is_said =
        |word: &&str| !is_figure(word) && !["up", "down", "up:", "down:"].contains(word) && word.len() > 3;
    title.split_whitespace().filter(is_said).collect()
}

/// Where a finding stands beside that of the other direction.
struct Place {
    /// Whether it follows that one.
    before: bool,
    /// The other direction, where it stands for that too.
    twin: Option<Direction>,
}

/// Advice that was not given yet, in its first sentence.
fn is_new(advice: &str, said: &mut BTreeSet<String>) -> bool {
    !advice.is_empty() && !said.contains(first_sentence(advice).as_str()) && said.insert(advice.to_owned())
}

/// The advice, or of a long one the first sentence.
fn brief(advice: &str) -> String {
    if advice.chars().count() <= WHOLE { advice.to_owned() } else { first_sentence(advice) }
}

fn finding_lines(finding: &Finding, place: Place, advice: Option<&String>, style: &Style) -> String {
    let mark = mark(finding.severity, style);
    let direction = finding.direction.map(|direction| format!("{direction}: ")).unwrap_or_default();
    let direction = if place.before { direction } else { String::new() };
    let too = place.twin.map(|twin| format!("; {twin}, too")).unwrap_or_default();
    let title = format!("{}: {direction}{}{too}", finding.id, plain(&finding.title));
    let mut text = hanging(&mark, &title, None, style);
    // A remark is to be known; what is to be done about it, if anything, is a command.
    let wanted = |advice: &&String| finding.severity > Severity::Info || advice.contains('`');
    if let Some(advice) = advice.filter(wanted) {
        let fix = plain(&if style.detail { advice.clone() } else { brief(advice) });
        text.push_str(&hanging(&" ".repeat(8), &format!("fix: {fix}"), None, style));
    }
    if style.detail {
        let evidence = evidence(&finding.evidence);
        text.push_str(&hanging(&" ".repeat(8), &evidence, Some(Paint::Dim), style));
    }
    text
}

/// The word of a severity, as wide as all of them.
pub(in crate::format) fn mark(severity: Severity, style: &Style) -> String {
    let (word, paint) = match severity {
        Severity::Info => ("note", Paint::Dim),
        Severity::Warning => ("warning", Paint::Warning),
        Severity::Problem => ("problem", Paint::Problem),
    };
    style.paint(paint, &format!("{word:<8}"))
}

/// The expectations, and whether each held.
pub(super) fn expectations(run: &Run, style: &Style) -> String {
    let line = |expected: &model::expectation::Checked| {
        let (word, paint) = if expected.held { ("held", Paint::Good) } else { ("broken", Paint::Problem) };
        let mark = style.paint(paint, &format!("{word:<8}"));
        hanging(&mark, &format!("{}: {}", expected.expectation, expected.found()), None, style)
    };
    run.expectations.iter().map(line).collect()
}

/// A mark of eight columns and the text beside it.
pub(in crate::format) fn hanging(mark: &str, sentence: &str, paint: Option<Paint>, style: &Style) -> String {
    let mut text = String::new();
    for (index, line) in style.wrap(sentence, INDENT).iter().enumerate() {
        let line = paint.map_or_else(|| line.clone(), |paint| style.paint(paint, line));
        let mark = if index == 0 { mark.to_owned() } else { " ".repeat(8) };
        text.push_str(&format!("  {mark} {line}\n"));
    }
    text
}

/// A mark of eight columns, an id and as much of the text beside it as the line has room for.
pub(super) fn one_line(mark: &str, id: &str, text: &str, style: &Style) -> String {
    let lead = format!("{id}: ");
    format!("  {mark} {lead}{}\n", in_one_line(text, room_beside(&lead, style)))
}

/// Columns for the text of a finding in one line.
fn room_beside(lead: &str, style: &Style) -> usize {
    style.width.saturating_sub(INDENT + lead.chars().count())
}

/// Advice of more characters takes more than three lines.
const WHOLE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(direction: Direction, title: &str) -> Finding {
        Finding::new("path-loss", Severity::Warning, direction, title.into())
    }

    #[test]
    fn what_differs_in_figures_alone_is_said_once_and_in_full_with_the_details() {
        let up = finding(Direction::Up, "The path lost 12 datagrams (1.4 % of those sent) up at 10.0 Gbit/s");
        let same =
            finding(Direction::Down, "The path lost 7 datagrams (0.9 % of those sent) down at 9.50 Gbit/s");
        let other = finding(Direction::Down, "The path lost every second datagram down");
        let text = |second: &Finding, detail| {
            let style = Style { width: 200, detail, ..Style::default() };
            list(&[up.clone(), second.clone()], String::new(), &style)
        };
        let brief = text(&same, false);
        assert_eq!(brief.lines().count(), 1, "{brief}");
        assert!(brief.ends_with("up at 10.0 Gbit/s; down, too\n"), "{brief}");
        assert_eq!(text(&other, false).lines().count(), 2);
        assert!(text(&same, true).contains("down: The path lost 7 datagrams"));
    }
}
