//! Findings in one to three lines each, and other remarks: limits, expectations, what the engine had to say.

use super::super::{Paint, Style};
use super::findings::evidence;
use super::lines::without_marks;
use crate::document::{Remark, Screen};
use insight::answer::first_sentence;
use insight::finding::rule_named;
use model::finding::{Finding, Severity};
use model::plan::Direction;
use std::collections::BTreeSet;

/// A remark below the figures: what limits, what was found, a warning.
pub(super) struct Shown {
    /// The id of the finding or warning; of a limit its word.
    pub(super) id: String,
    /// All of it.
    pub(super) full: String,
    /// The same in one line; empty where the answer states it above.
    pub(super) line: String,
}

impl Shown {
    pub(super) fn more_lines(&self) -> usize {
        count_lines(&self.full).saturating_sub(count_lines(&self.line))
    }
}

/// Limits, the findings, one of both directions once, and warnings of the engine.
pub(super) fn of_screen(screen: &Screen, style: &Style) -> Vec<Shown> {
    let limits = screen.limits.iter().map(|limit| Shown { id: limit.mark.1.into(), ..shown(limit, style) });
    let above = screen.above.as_ref().filter(|_| !style.detail);
    let (first, others): (Vec<Finding>, Vec<Finding>) =
        screen.findings.iter().cloned().partition(|finding| Some(&finding.id) == above);
    let above = first.first().map(|finding| Shown {
        id: finding.id.clone(),
        full: see_above(finding, &first, style),
        line: String::new(),
    });
    let found = found(&others, screen.action.clone(), style);
    let notes = screen.notes.iter().map(|note| shown(note, style));
    limits.chain(above).chain(found).chain(notes).collect()
}

/// A remark in full and in one line.
fn shown(remark: &Remark, style: &Style) -> Shown {
    let line = one_line(&mark(remark.mark, style), &remark.lead, &without_marks(&remark.text), style);
    Shown { id: remark.lead.clone(), full: hanging(remark, style), line }
}

/// `fragments-dropped: up, down: see above`.
fn see_above(first: &Finding, all: &[Finding], style: &Style) -> String {
    let is_in = |direction: &Direction| all.iter().any(|other| other.direction == Some(*direction));
    let directions: Vec<String> =
        Direction::BOTH.into_iter().filter(is_in).map(|direction| direction.to_string()).collect();
    let place = if directions.is_empty() { String::new() } else { format!("{}: ", directions.join(", ")) };
    hanging(&Remark::new(Remark::severity(first.severity), &first.id, format!("{place}see above")), style)
}

/// Findings in full, one of both directions once.
pub(super) fn list(findings: &[Finding], style: &Style) -> String {
    found(findings, String::new(), style).into_iter().map(|remark| remark.full).collect()
}

/// `given`: the advice that stands above already.
fn found(findings: &[Finding], given: String, style: &Style) -> Vec<Shown> {
    let mut remarks = Vec::new();
    let mut given = BTreeSet::from([given]);
    for (index, finding) in findings.iter().enumerate() {
        let before = findings[..index].iter().any(|other| is_twin(finding, other));
        let after = findings[index + 1..].iter().find(|other| is_twin(finding, other));
        // The figures of the other direction are in the table.
        if before && !style.detail {
            continue;
        }
        let twin = after.and_then(|twin| twin.direction).filter(|_| !style.detail);
        let advice = Some(&finding.advice).filter(|advice| is_new(advice, &mut given));
        remarks.push(Shown {
            id: finding.id.clone(),
            full: finding_lines(finding, FindingPosition { before, twin }, advice, style),
            line: finding_line(finding, twin, style),
        });
    }
    remarks
}

/// A finding in one line: its title, or clauses of it; where not even one fits, the few words of its rule.
fn finding_line(finding: &Finding, twin: Option<Direction>, style: &Style) -> String {
    let title = without_marks(&finding.title);
    let too = twin.map(|twin| format!("; {twin}, too")).unwrap_or_default();
    let mark = mark(Remark::severity(finding.severity), style);
    let room = room_beside(&format!("{}: ", finding.id), style);
    let whole = format!("{title}{too}");
    let clause = in_one_line(&title, room);
    let rule = rule_named(&finding.id);
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
    let counts =
        |word: &&str| !is_figure(word) && !["up", "down", "up:", "down:"].contains(word) && word.len() > 3;
    title.split_whitespace().filter(counts).collect()
}

/// Where a finding stands beside that of the other direction.
struct FindingPosition {
    /// Whether it follows that one.
    before: bool,
    /// The other direction, where it stands for that too.
    twin: Option<Direction>,
}

/// Advice that was not given yet, in its first sentence.
fn is_new(advice: &str, given: &mut BTreeSet<String>) -> bool {
    !advice.is_empty() && !given.contains(first_sentence(advice).as_str()) && given.insert(advice.to_owned())
}

/// The advice, or of a long one the first sentence.
fn brief(advice: &str) -> String {
    if advice.chars().count() <= WHOLE { advice.to_owned() } else { first_sentence(advice) }
}

fn finding_lines(
    finding: &Finding,
    place: FindingPosition,
    advice: Option<&String>,
    style: &Style,
) -> String {
    let direction = finding.direction.map(|direction| format!("{direction}: ")).unwrap_or_default();
    let direction = if place.before { direction } else { String::new() };
    let too = place.twin.map(|twin| format!("; {twin}, too")).unwrap_or_default();
    let title = format!("{direction}{}{too}", finding.title);
    let mut text = hanging(&Remark::new(Remark::severity(finding.severity), &finding.id, title), style);
    // A remark is to be known; what is to be done about it, if anything, is a command.
    let wanted = |advice: &&String| finding.severity > Severity::Info || advice.contains('`');
    if let Some(advice) = advice.filter(wanted) {
        let fix = without_marks(&if style.detail { advice.clone() } else { brief(advice) });
        text.push_str(&beside("", &format!("fix: {fix}"), Paint::Plain, style));
    }
    if style.detail {
        text.push_str(&beside("", &evidence(&finding.evidence), Paint::Dim, style));
    }
    text
}

/// A remark and its sentence beside it.
pub(super) fn hanging(remark: &Remark, style: &Style) -> String {
    beside(&mark(remark.mark, style), &without_marks(&remark.sentence()), Paint::Plain, style)
}

/// A word as wide as all of them.
fn mark((paint, word): (Paint, &str), style: &Style) -> String {
    style.paint(paint, &format!("{word:<8}"))
}

/// A mark of eight columns or none, and the text beside it.
fn beside(mark: &str, sentence: &str, paint: Paint, style: &Style) -> String {
    let mut text = String::new();
    for (index, line) in style.wrap(sentence, INDENT).iter().enumerate() {
        let lead = if index == 0 && !mark.is_empty() { mark.to_owned() } else { " ".repeat(8) };
        text.push_str(&format!("  {lead} {}\n", style.paint(paint, line)));
    }
    text
}

/// A mark of eight columns, an id and as much of the text beside it as the line has room for.
fn one_line(mark: &str, id: &str, text: &str, style: &Style) -> String {
    let lead = format!("{id}: ");
    format!("  {mark} {lead}{}\n", in_one_line(text, room_beside(&lead, style)))
}

/// A text in one line of `room` characters: whole, or its clauses that fill a third of it, or its first words and an ellipsis.
fn in_one_line(text: &str, room: usize) -> String {
    if length(text) <= room {
        return text.to_owned();
    }
    let clauses =
        text.match_indices([':', ';']).map(|(at, _)| at).filter(|at| text[at + 1..].starts_with(' '));
    clauses
        .map(|at| &text[..at])
        .rfind(|clause| (room / 3..=room).contains(&length(clause)))
        .map_or_else(|| cut(text, room), str::to_owned)
}

/// The first words of a text, with an ellipsis where it is longer than `room`.
pub(super) fn cut(text: &str, room: usize) -> String {
    if length(text) <= room { text.to_owned() } else { shortened(text, room) }
}

/// Returns as many first words of a text as fit into `room` with an ellipsis behind them.
pub(super) fn shortened(text: &str, room: usize) -> String {
    let mut cut = String::new();
    for word in text.split(' ') {
        if length(&cut) + length(word) + "…".chars().count() > room {
            break;
        }
        cut.push_str(word);
        cut.push(' ');
    }
    format!("{}…", cut.trim_end_matches([' ', ',', ':', ';', '(']))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text.
pub(super) fn count_lines(text: &str) -> usize {
    text.lines().count()
}

/// Columns for the text of a finding in one line.
fn room_beside(lead: &str, style: &Style) -> usize {
    style.width.saturating_sub(INDENT + lead.chars().count())
}

/// Columns before the text of a remark: two, a mark of eight, and a space.
pub(super) const INDENT: usize = 11;
/// Where there is more.
pub(super) const DETAILS: &str = "Details: -v";
/// Advice of more characters takes more than three lines.
const WHOLE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(direction: Direction, title: &str) -> Finding {
        Finding::new("path-loss", Severity::Warning, direction, title.into())
    }

    #[test]
    fn a_line_has_whole_clauses_or_states_that_it_goes_on() {
        assert_eq!(in_one_line("short: enough", 20), "short: enough");
        assert_eq!(
            in_one_line("TCP up runs at line rate: 9.40 Gbit/s of 9.41", 30),
            "TCP up runs at line rate"
        );
        assert_eq!(in_one_line("a b: c d; e f g h i j k", 10), "a b: c d");
        assert_eq!(in_one_line("not known: the path took no more", 30), "not known: the path took no…");
        assert_eq!(in_one_line("one two three, four five", 16), "one two three…");
        assert_eq!(in_one_line("unbreakable-word-of-some-length", 10), "…");
    }

    #[test]
    fn what_differs_in_figures_alone_is_reported_once_and_in_full_with_the_details() {
        let up = finding(Direction::Up, "The path lost 12 datagrams (1.4 % of those sent) up at 10.0 Gbit/s");
        let same =
            finding(Direction::Down, "The path lost 7 datagrams (0.9 % of those sent) down at 9.50 Gbit/s");
        let other = finding(Direction::Down, "The path lost every second datagram down");
        let text = |second: &Finding, detail| {
            let style = Style { width: 200, detail, ..Style::default() };
            list(&[up.clone(), second.clone()], &style)
        };
        let brief = text(&same, false);
        assert_eq!(brief.lines().count(), 1, "{brief}");
        assert!(brief.ends_with("up at 10.0 Gbit/s; down, too\n"), "{brief}");
        assert_eq!(text(&other, false).lines().count(), 2);
        assert!(text(&same, true).contains("down: The path lost 7 datagrams"));
    }
}
