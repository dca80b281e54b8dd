//! A run on one screen: the verdict and the answer first, then one table, the findings, and whence it comes.

mod latency;
mod path;
pub(super) mod provenance;
mod throughput;

pub(super) use path::table as path_table;
pub(super) use provenance::line as provenance;
pub(super) use throughput::{limits, observed, table as throughput_table};

use super::text::{packets, pairs, transfer};
use super::{frames, hops};
use crate::document::{Paint, Remark, Screen};
use insight::answer::{self, Answer};
use insight::finding::rule_named;
use model::event::Warning;
use model::finding::Status;
use model::run::{Run, Subject};
use model::units::count;
use std::collections::BTreeSet;

/// All that the first screen can show, with figures for those who look for details where these are asked for.
pub(super) fn screen(run: &Run, detail: bool) -> Screen {
    let Answer { line, action } = answer(run);
    let mut screen = Screen {
        status: run.verdict.status,
        line,
        action,
        ends: between(run),
        limits: if has_streams(run) { throughput::remarks(run) } else { latency::limits(run) },
        findings: run.findings.clone(),
        above: headline(run),
        notes: warnings(run),
        expected: run.expectations.iter().map(expected).collect(),
        foot: provenance(run),
        ..Screen::default()
    };
    match run.subject() {
        Subject::Latency => screen.sections = latency::sections(run),
        Subject::Path => (screen.table, screen.sections) = path::body(run),
        Subject::Hops => screen.sections = vec![hops::parts(run)],
        Subject::Transfer => screen.sections = transfer::sections(run),
        Subject::Frames => screen.sections = vec![frames::parts(run)],
        Subject::Throughput if has_streams(run) => screen.table = throughput::table(run, detail),
        Subject::Throughput => screen.sections = vec![pairs::parts(run)],
    }
    screen.sections.extend(run.summary.packets.iter().flat_map(|observed| packets::sections(observed)));
    screen
}

/// Whether its table is that of streams.
fn has_streams(run: &Run) -> bool {
    run.subject() == Subject::Throughput && run.summary.pairs.is_none()
}

/// The finding of the first line, whose figures are in the table of a run of several tests: to be repeated nowhere.
fn headline(run: &Run) -> Option<String> {
    let first = answer::headline_of_run(run)?;
    let is_in_table = rule_named(&first.id).is_some_and(|rule| rule.is_in_table);
    (!run.tests.is_empty() && is_in_table).then(|| first.id.clone())
}

/// Warnings of the engine of which no finding was made, each once.
fn warnings(run: &Run) -> Vec<Remark> {
    let is_found = |warning: &Warning| run.findings.iter().any(|finding| finding.id == warning.id);
    let nested = run.tests.iter().flat_map(|test| &test.summary.warnings);
    let mut texts = BTreeSet::new();
    let all = run.summary.warnings.iter().chain(nested);
    let all = all.filter(|warning| !is_found(warning) && texts.insert(&warning.text));
    all.map(|warning| Remark::new((Paint::Dim, "note"), &warning.id, &warning.text)).collect()
}

fn expected(expected: &model::expectation::Checked) -> Remark {
    let mark = if expected.held { (Paint::Good, "held") } else { (Paint::Problem, "broken") };
    Remark::new(mark, &expected.expectation, expected.found())
}

/// The answer of a run; of one whose figures stand, and are not as expected, that.
fn answer(run: &Run) -> Answer {
    let answer = answer::answer_of_run(run);
    let broken = run.expectations.iter().filter(|expected| !expected.held).count();
    if run.verdict.status != Status::Broken {
        return answer;
    }
    let all = count(run.expectations.len() as u64, "expectation");
    Answer { line: format!("{broken} of {all} broken: {}", answer.line), ..answer }
}

/// `client -> 10.0.0.2`.
fn between(run: &Run) -> String {
    let plan = run.first_throughput();
    let mut hosts: Vec<&str> = run
        .latency()
        .into_iter()
        .flat_map(|plan| &plan.egress_paths)
        .map(|egress| egress.target.host.as_str())
        .collect();
    hosts.extend(run.path().map(|plan| plan.target.host.as_str()));
    hosts.extend(run.hops().map(|plan| plan.target.host.as_str()));
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
