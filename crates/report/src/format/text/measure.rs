//! The tables of a `measure` run: what the probes found, and every test up and down.

use super::super::table::plain;
use super::super::{Paint, Style};
use super::phrases;
use super::result::fact;
use crate::document::Column;
use model::run::Run;
use model::summary::DirectionSummary;
use model::units::{grouped, percent};

/// Everything between the heading and the findings.
pub(super) fn measure_text(run: &Run, style: &Style) -> String {
    let mut text = path(run, style);
    let columns = [Column::left("Test"), Column::right("Up"), Column::right("Down")];
    text.push('\n');
    text.push_str(&plain(&columns, &test_rows(run), style));
    text
}

fn path(run: &Run, style: &Style) -> String {
    let lines: String = path_facts(run).iter().map(|(name, value)| fact(name, value, style)).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{}\n{lines}", style.paint(Paint::Bold, "The path")),
    }
}

/// What the probes found, by name.
pub(in crate::format) fn path_facts(run: &Run) -> Vec<(&'static str, String)> {
    let summary = &run.summary;
    let mut facts = Vec::new();
    if let Some(rtt) = &summary.rtt {
        let lost = match summary.lost {
            0 => String::new(),
            lost => format!("; {lost} of {} probes without an answer", rtt.count + lost),
        };
        facts.push(("idle RTT", phrases::distribution(rtt) + &lost));
    }
    facts.extend(summary.path.iter().flat_map(super::path::facts));
    facts.extend(summary.reach.iter().flat_map(|reach| super::reach::facts(reach)));
    if let Some(link) = &summary.link {
        facts.push(("link", format!("{} ({})", link.rate, link.source)));
    }
    facts
}

/// One row per test, its ways side by side, and what matters below it.
pub(in crate::format) fn test_rows(run: &Run) -> Vec<Vec<String>> {
    let mut groups: Vec<(String, [Option<&DirectionSummary>; 2])> = Vec::new();
    for test in &run.tests {
        let label = label(test);
        let position =
            groups.iter().position(|(name, directions)| *name == label && !overlaps(directions, test));
        let index = position.unwrap_or_else(|| {
            groups.push((label, [None, None]));
            groups.len() - 1
        });
        let directions = &mut groups[index].1;
        directions[0] = directions[0].or(test.summary.up.as_ref());
        directions[1] = directions[1].or(test.summary.down.as_ref());
    }
    groups.into_iter().flat_map(|(label, directions)| group_rows(label, directions)).collect()
}

/// A second test of the same kind and way has a row of its own.
fn overlaps(directions: &[Option<&DirectionSummary>; 2], test: &Run) -> bool {
    (directions[0].is_some() && test.summary.up.is_some())
        || (directions[1].is_some() && test.summary.down.is_some())
}

fn label(test: &Run) -> String {
    let Some(plan) = &test.plan else { return test.kind.clone() };
    let spec = &plan.test;
    let streams = if spec.streams > 1 { format!(", {} streams", spec.streams) } else { String::new() };
    let both = if spec.directions == model::plan::Directions::Both { ", both at once" } else { "" };
    let rate = spec.bitrate.map(|rate| format!(", {rate}")).unwrap_or_default();
    format!("{}{streams}{both}{rate}", spec.transport)
}

fn group_rows(label: String, directions: [Option<&DirectionSummary>; 2]) -> Vec<Vec<String>> {
    type Cell = fn(&DirectionSummary) -> Option<String>;
    let details: [(&str, Cell); 6] = [
        ("share of line rate", |direction| direction.wire.line_rate_share.map(percent)),
        ("lost", |direction| direction.loss.map(|loss| percent(loss.share))),
        ("retransmits", |direction| direction.retransmits.map(grouped)),
        ("jitter", |direction| direction.jitter.map(|jitter| jitter.rfc3550.to_string())),
        ("RTT under load", |direction| direction.loaded_rtt.map(|rtt| rtt.to_string())),
        ("one-way delay", |direction| {
            direction.one_way.map(|delay| format!("{} ± {}", delay.mean, delay.error))
        }),
    ];
    let mut rows = vec![row(
        label,
        directions.map(|direction| direction.map(|direction| direction.goodput.to_string())),
    )];
    for (name, cell) in details {
        let cells = directions.map(|direction| direction.and_then(cell));
        if cells.iter().any(Option::is_some) {
            rows.push(row(format!("  {name}"), cells));
        }
    }
    rows
}

fn row(name: String, cells: [Option<String>; 2]) -> Vec<String> {
    let [up, down] = cells.map(|cell| cell.unwrap_or_else(|| "-".into()));
    vec![name, up, down]
}
