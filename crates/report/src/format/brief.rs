//! A run on one screen: the verdict and the answer first, then one table, the findings, and whence it comes.

pub(super) mod findings;
mod latency;
mod path;
pub(super) mod provenance;
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

/// The whole of it. With `style.detail` the evidence stands with the findings.
pub(super) fn brief_text(run: &Run, style: &Style) -> String {
    let style = &style.prose();
    let parts = [
        first(run, style),
        body(run, style),
        findings::findings_text(run, style),
        findings::expectations(run, style),
        provenance::provenance_line(run, style),
    ];
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

/// The word, the answer and the two ends; below it what to do.
fn first(run: &Run, style: &Style) -> String {
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
    for line in style.wrap(&plain(&action), indent.len()) {
        text.push_str(&format!("{indent}{line}\n"));
    }
    text
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

/// What was measured.
fn body(run: &Run, style: &Style) -> String {
    let own = match run.subject() {
        Subject::Latency => latency::body(run, style),
        Subject::Path => path::body(run, style),
        Subject::Hops => super::hops::body(run, style),
        Subject::Transfer => transfer::transfer_text(run, style),
        Subject::Frames => super::frames::text(run, style),
        Subject::Throughput if run.summary.pairs.is_some() => text::pairs_text(run, style),
        Subject::Throughput => throughput::body(run, style),
    };
    let packets = run.summary.packets.iter().map(|packets| text::packets::packets_text(packets, style));
    own.trim_start_matches('\n').to_owned() + &packets.collect::<String>()
}

/// Backticks mark code where letters can look otherwise.
pub(super) fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Columns between the word and the answer.
const GAP: usize = 2;
