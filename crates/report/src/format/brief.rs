//! A run on one screen: the verdict and the answer first, then one table, the findings, and whence it comes.

pub(super) mod findings;
mod latency;
mod path;
pub(super) mod provenance;
mod screen;
pub(super) mod table;
mod throughput;

pub(super) use provenance::line as provenance;
pub(super) use throughput::{limits, observed, table as throughput_table};

use super::text::transfer;
use super::{Paint, Style, text};
use crate::document::Conclusion;
use insight::answer::{self, Answer};
use model::finding::Status;
use model::run::{Run, Subject};
use model::units::count;
pub(super) use model::units::grouped;
use screen::{Body, LINES, count_lines, least_lines, remarks_within, shortened};

/// The whole of it, in the lines of a screen. With `style.detail` nothing is left out, and the evidence stands with the findings.
pub(super) fn brief_text(run: &Run, style: &Style) -> String {
    let style = &style.prose();
    let lines = if style.detail { usize::MAX } else { LINES };
    let text = fitted(run, usize::MAX, lines, style);
    if count_lines(&text) <= lines { text } else { fitted(run, LEAST_ACTION, lines, style) }
}

/// The text with at most so many lines of what to do, in `lines` lines as far as its parts can be left out.
fn fitted(run: &Run, action: usize, lines: usize, style: &Style) -> String {
    let head = first(run, action, style);
    let foot = provenance::provenance_line(run, style);
    let expected = findings::expectations(run, style);
    let mut body = body(run, style);
    let mut remarks = std::mem::take(&mut body.remarks);
    remarks.extend(findings::remarks(run, style));
    let fixed = count_lines(&head) + count_lines(&foot) + count_lines(&expected) + GAPS;
    let room = lines.saturating_sub(fixed);
    let body = body.text(room.saturating_sub(least_lines(&remarks)), style);
    let remarks = remarks_within(&remarks, room.saturating_sub(count_lines(&body)), style);
    let parts = [head, body, remarks + &expected, foot];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The answer of a run; of one whose figures stand, and are not as expected, that.
pub(super) fn answer(run: &Run) -> Answer {
    let answer = answer::answer_of_run(run);
    let broken = run.expectations.iter().filter(|expected| !expected.held).count();
    if run.verdict.status != Status::Broken {
        return answer;
    }
    let all = count(run.expectations.len() as u64, "expectation");
    Answer { line: format!("{broken} of {all} broken: {}", answer.line), ..answer }
}

/// The word, the answer and the two ends; below it what to do, in at most `most` lines.
fn first(run: &Run, most: usize, style: &Style) -> String {
    let conclusion = Conclusion::of_run(run);
    let (word, paint) = conclusion.word();
    let Answer { line, action } = answer(run);
    let indent = " ".repeat(word.chars().count() + GAP);
    let mut lines = style.wrap(&line, indent.len());
    let ends = between(run);
    if let Some(first) = lines.first_mut() {
        let used = indent.len() + first.chars().count();
        let room = style.width.saturating_sub(used);
        let width = ends.chars().count();
        if width > 0 && room >= width + GAP {
            let gap = " ".repeat(room - width);
            *first = format!("{first}{gap}{}", style.paint(Paint::Dim, &ends));
        } else if width > 0 {
            lines.push(style.paint(Paint::Dim, &ends));
        }
    }
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let lead = if index == 0 { style.paint(paint, &word) + &" ".repeat(GAP) } else { indent.clone() };
        text.push_str(&format!("{lead}{line}\n"));
    }
    for line in action_lines(&plain(&action), indent.len(), most, style) {
        text.push_str(&format!("{indent}{line}\n"));
    }
    text
}

/// The action, in at most `most` lines; of a long advice the first clause.
fn action_lines(action: &str, indent: usize, most: usize, style: &Style) -> Vec<String> {
    let lines = style.wrap(action, indent);
    let mut lines = match action.split_once("; ").filter(|_| !style.detail && lines.len() > LEAST_ACTION) {
        Some((clause, _)) => style.wrap(&format!("{clause}."), indent),
        None => lines,
    };
    if lines.len() > most {
        lines.truncate(most);
        let room = style.width.saturating_sub(indent);
        lines.iter_mut().skip(most - 1).for_each(|last| *last = shortened(last, room));
    }
    lines
}

/// `client -> 10.0.0.2`.
fn between(run: &Run) -> String {
    let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
    let mut hosts: Vec<&str> = run
        .latency
        .iter()
        .flat_map(|plan| &plan.egress_paths)
        .map(|egress| egress.target.host.as_str())
        .collect();
    hosts.extend(run.path.iter().map(|plan| plan.target.host.as_str()));
    hosts.extend(run.hops.iter().map(|plan| plan.target.host.as_str()));
    hosts.extend(plan.map(|plan| plan.target.host.as_str()));
    hosts.dedup();
    let here = run.host.as_ref().map(|host| host.name.as_str()).filter(|name| !name.is_empty());
    match (here, hosts.as_slice()) {
        (_, []) => String::new(),
        (Some(here), [one]) => format!("{here} -> {one}"),
        (Some(here), several) => format!("{here} -> {} hosts", several.len()),
        (None, [one, ..]) => (*one).to_owned(),
    }
}

/// The figures.
fn body(run: &Run, style: &Style) -> Body {
    let mut body = match run.subject() {
        Subject::Latency => latency::body(run, style),
        Subject::Path => path::body(run, style),
        Subject::Hops => Body::whole(&super::hops::body(run, style)),
        Subject::Transfer => Body::of_sections(&transfer::transfer_text(run, style)),
        Subject::Frames => Body::whole(&super::frames::text(run, style)),
        Subject::Throughput if run.summary.pairs.is_some() => Body::whole(&text::pairs_text(run, style)),
        Subject::Throughput => {
            let remarks = throughput::remarks(run, style);
            let table = if style.bars { throughput::table_over_time(run) } else { throughput::table(run) };
            Body { table, remarks, ..Body::default() }
        }
    };
    let packets = run.summary.packets.iter().map(|packets| text::packets::packets_text(packets, style));
    body.sections.extend(packets.flat_map(|packets| Body::of_sections(&packets).sections));
    body
}

/// Backticks mark code where letters can look otherwise.
pub(super) fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Columns between the word and the answer.
const GAP: usize = 2;
/// Empty lines between the parts.
const GAPS: usize = 3;
/// Lines that what to do may take in any case.
const LEAST_ACTION: usize = 2;
