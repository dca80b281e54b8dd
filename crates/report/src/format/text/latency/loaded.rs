//! Round trips idle and under load: a table of the phases, and both on one time axis.

use super::super::phrases;
use super::counts::share;
use crate::document::{Block, Column, Part, Spark, Table};
use model::latency::{LoadPhase, LoadPoint, LoadResult};
use model::stats::percentile::Standing;
use model::stats::responsiveness::{Band, Confidence, Responsiveness};
use model::units::{BitRate, Nanos, count, grouped, percent, significant};

/// The phases, and their round trips on one time axis.
pub(in crate::format) fn sections(loaded: &LoadResult) -> Vec<Vec<Part>> {
    let table = Block::Table(Table::new(columns(), rows(loaded)));
    let over_time =
        vec![Part::Brief(vec![over_time(loaded, false)]), Part::Full(vec![over_time(loaded, true)])];
    vec![vec![table.into()], over_time]
}

/// The limit of the load in each direction, in a sentence under the name of the load: its queue is there.
pub(in crate::format) fn limits(loaded: &LoadResult) -> Vec<(&'static str, String)> {
    let named = |phase: &LoadPhase| {
        Some((phrases::load(phase.load), insight::limit::sentence(phase.limit.as_deref()?)))
    };
    loaded.phases.iter().filter_map(named).collect()
}

/// The responsiveness of each phase with its parts, under the name of the load.
pub(in crate::format) fn responsiveness(loaded: &LoadResult) -> Vec<(&'static str, String)> {
    let reported = |phase: &LoadPhase| Some((phrases::load(phase.load), responsive(&phase.responsiveness?)));
    loaded.phases.iter().filter_map(reported).collect()
}

/// The figure, its meaning, how sure it is, and what it is made of.
fn responsive(figure: &Responsiveness) -> String {
    let band = match figure.band {
        Band::Poor => "poor",
        Band::Fair => "fair",
        Band::Good => "good",
        Band::Excellent => "excellent",
    };
    let confidence = match figure.confidence {
        Confidence::Low => "low, surer with -t 40s",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    let tls = figure.tls.map(|time| format!(", TLS {time}")).unwrap_or_default();
    format!(
        "{} round trips per minute ({band}; confidence {confidence}): new connections {} (TCP {}{tls}, request \
         {}; {}), loaded connections {} (RTT {}; {})",
        grouped(figure.rpm.round() as u64),
        grouped(figure.foreign.round() as u64),
        figure.tcp,
        figure.http,
        count(figure.foreign_probes, "probe"),
        grouped(figure.loaded.round() as u64),
        figure.loaded_http,
        count(figure.loaded_probes, "probe"),
    )
}

/// The columns of the phases.
fn columns() -> Vec<Column> {
    let mut columns = vec![Column::left("Load")];
    columns.extend(["p50", "p99", "Added", "Lost", "Up", "Down", "RPM"].map(Column::right));
    columns
}

/// A row for each phase.
fn rows(loaded: &LoadResult) -> Vec<Vec<String>> {
    let idle = loaded.phases.iter().find(|phase| phase.load.is_none()).and_then(|phase| phase.rtt);
    let row = |phase: &LoadPhase| {
        let rtt = phase.rtt.filter(|rtt| rtt.count > 0);
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let p50 = rtt.map(|rtt| rtt.p50);
        let added = p50.zip(idle).filter(|_| phase.load.is_some());
        vec![
            phrases::load(phase.load).into(),
            or_dash(rtt.map(|rtt| match rtt.standing(50.0) {
                Standing::AtLeast => format!("≥ {}", rtt.p50),
                _ => rtt.p50.to_string(),
            })),
            or_dash(rtt.and_then(|rtt| phrases::percentile(rtt.standing(99.0), &rtt.p99.to_string()))),
            or_dash(added.map(|(p50, idle)| added_text(p50, idle.p50))),
            percent(share(phase.lost, phase.sent)),
            or_dash(phase.up.map(|rate| rate.to_string())),
            or_dash(phase.down.map(|rate| rate.to_string())),
            or_dash(phase.responsiveness.map(|figure| significant(figure.rpm))),
        ]
    };
    loaded.phases.iter().map(row).collect()
}

fn added_text(loaded: Nanos, idle: Nanos) -> String {
    match loaded >= idle {
        true => loaded.saturating_sub(idle).to_string(),
        false => format!("-{}", idle.saturating_sub(loaded)),
    }
}

/// A line of bars for RTT, losses and, with the details, rates of each phase, all of the same scale.
fn over_time(loaded: &LoadResult, is_detail: bool) -> Part {
    let series = &loaded.series;
    let longest = series.iter().filter_map(median).max().unwrap_or_default();
    let fastest = series.iter().flat_map(|at| [at.up, at.down]).flatten().max().unwrap_or_default();
    let most_lost = series.iter().map(|at| at.lost).max().unwrap_or_default();
    let losses = if most_lost > 0 { format!(", {most_lost} lost") } else { String::new() };
    let rates_too = if is_detail { format!(", {fastest}") } else { String::new() };
    let scale = format!("Over time: full height is a median of {}{losses}{rates_too}", Nanos(longest));
    let some = |count: u64| Some(count).filter(|count| *count > 0);
    let lines = |phase: &[LoadPoint]| {
        let load = phrases::load(phase.first().and_then(|at| at.load));
        let mut lines = vec![
            ("RTT", phase.iter().map(median).collect(), longest),
            ("lost", phase.iter().map(|at| some(at.lost)).collect(), most_lost),
        ];
        if is_detail {
            lines.push(("rate up", rates(phase, |at| at.up), fastest.0));
            lines.push(("rate down", rates(phase, |at| at.down), fastest.0));
        }
        let line = |(what, values, most)| Spark {
            name: format!("{load}: {what}"),
            values,
            most,
            ..Spark::default()
        };
        lines.into_iter().map(line).collect::<Vec<_>>()
    };
    let phases = series.chunk_by(|one, next| one.load == next.load).filter(|_| longest > 0);
    Part::OverTime(scale, phases.flat_map(lines).collect())
}

fn median(at: &LoadPoint) -> Option<u64> {
    at.rtt.filter(|rtt| rtt.count > 0).map(|rtt| rtt.p50.0)
}

fn rates(phase: &[LoadPoint], of: fn(&LoadPoint) -> Option<BitRate>) -> Vec<Option<u64>> {
    phase.iter().map(|at| of(at).map(|rate| rate.0)).collect()
}
