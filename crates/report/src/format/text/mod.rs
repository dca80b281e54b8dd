//! Text for people: a heading, the intervals, a block per direction, the findings and the verdict.

mod findings;
mod heading;
mod intervals;
mod measure;
mod result;
pub(super) mod words;

pub(super) use findings::evidence;
pub(super) use measure::{path_facts, test_rows};

use super::Style;
use model::event::Started;
use model::plan::Plan;
use model::run::Run;
use model::sample::{IntervalSample, Side};
use model::units::Nanos;

/// What a terminal shows when the streams are open: the heading and the head of the interval table.
pub fn live_header(started: &Started, plan: &Plan, style: &Style) -> String {
    let local = started.streams.first().map(|stream| stream.local.ip().to_canonical().to_string());
    let mut text = heading::of_plan(plan, local.as_deref(), style);
    if plan.local.interval > Nanos::ZERO {
        text.push('\n');
        text.push_str(&intervals::header(plan, style));
    }
    text
}

/// The rows of an interval as it ends, one per direction; nothing of the other end's figures.
pub fn live_row(sample: &IntervalSample, plan: &Plan, style: &Style) -> String {
    match sample.side {
        Side::Local => intervals::rows(std::slice::from_ref(sample), plan, style),
        Side::Peer => String::new(),
    }
}

/// What follows the live rows: results, how it ran, findings, verdict.
pub fn result(run: &Run, style: &Style) -> String {
    let mut text = match run.tests.is_empty() {
        true => result::of(run, style),
        false => measure::of(run, style),
    };
    text.push_str(&findings::of(run, style));
    text
}

/// The whole run: heading, intervals, and what [`result`] says.
pub fn document(run: &Run, style: &Style) -> String {
    let mut text = heading::of_run(run, style);
    if let Some(plan) = run.plan.as_ref().filter(|_| !run.intervals.is_empty()) {
        text.push('\n');
        text.push_str(&intervals::header(plan, style));
        text.push_str(&intervals::rows(&run.intervals, plan, style));
    }
    text.push_str(&result(run, style));
    text
}
