//! Several pairs at once: a row for each, and their sum.

use crate::document::{Block, Column, Part, Table};
use model::pairs::{Pairs, PairsDirection};
use model::plan::Direction;
use model::run::Run;
use model::units::percent;

/// The table and the sum.
pub(in crate::format) fn parts(run: &Run) -> Vec<Part> {
    let sum = run.summary.pairs.as_deref().map(facts).unwrap_or_default();
    let blocks = [Block::Table(table(run)), Block::Heading("Sum of the pairs".into()), Block::facts(sum)];
    blocks.map(Part::from).into()
}

/// A row for each pair.
fn table(run: &Run) -> Table {
    let columns = [
        Column::left("Pair"),
        Column::left("To"),
        Column::right("Up"),
        Column::right("Down"),
        Column::right("Began"),
        Column::right("Ran"),
    ];
    Table::new(columns.into(), rows(run))
}

/// The sum by name: over which time, how much, and what was tried.
fn facts(pairs: &Pairs) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(sum) = &pairs.together {
        let directions = [("up", sum.up), ("down", sum.down)];
        facts.extend(
            directions.into_iter().filter_map(|(name, direction)| Some((name, carried(&direction?)))),
        );
        facts
            .push(("all ran", format!("{}, {} of {}", sum.overlap, percent(pairs.overlap_share), sum.whole)));
    }
    if let Some(start) = &pairs.common_start {
        facts.push(("start", format!("{}, skew {} \u{b1} {}", start.at, start.skew, start.skew_error)));
    }
    if !pairs.steps.is_empty() {
        let steps = pairs.steps.iter().map(|step| format!("{}: {}", step.pairs, step.goodput));
        facts.push(("tried", steps.collect::<Vec<_>>().join(", ")));
    }
    facts.extend(pairs.stopped.iter().map(|why| ("stopped", why.clone())));
    facts
}

fn carried(direction: &PairsDirection) -> String {
    let mut parts = vec![direction.goodput.to_string()];
    parts.extend(direction.wire.map(|wire| format!("{wire} on the wire")));
    parts.extend(direction.packets_per_second.map(|rate| rate.to_string()));
    parts.extend(direction.line_rate_share.map(|share| format!("{} of line rate", percent(share))));
    parts.join(", ")
}

/// Between which hosts a pair of several hosts is.
fn member(run: &Run, test: &Run) -> Option<String> {
    let members = &run.summary.pairs.as_ref()?.common_start.as_ref()?.members;
    let member = members.iter().find(|member| member.run.as_ref() == Some(&test.id))?;
    Some(format!("{} -> {}", member.from, member.to))
}

fn rows(run: &Run) -> Vec<Vec<String>> {
    let first = run.tests.iter().filter_map(|test| test.started).min();
    let row = |(index, test): (usize, &Run)| {
        let goodput = |direction: Direction| {
            test.summary
                .direction(direction)
                .map_or_else(|| "-".into(), |one_way| one_way.goodput.to_string())
        };
        let directions = [test.summary.up.as_ref(), test.summary.down.as_ref()];
        let elapsed =
            directions.into_iter().flatten().map(|one_way| one_way.elapsed).max().unwrap_or_default();
        let began = test.started.zip(first).map(|(began, first)| began - first).unwrap_or_default();
        vec![
            (index + 1).to_string(),
            member(run, test).unwrap_or_else(|| {
                test.throughput().map(|plan| plan.target.address.to_string()).unwrap_or_default()
            }),
            goodput(Direction::Up),
            goodput(Direction::Down),
            format!("+{began}"),
            elapsed.to_string(),
        ]
    };
    run.tests.iter().enumerate().map(row).collect()
}
