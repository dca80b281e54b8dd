//! Tables of what was measured, and which goals are reached.

use super::Report;
use super::cases::{Comparison, Figure, Goal};
use super::common::machine::is_disturbed;
use super::common::table::{extremes, markdown, middle_of, ratio, row, value};
use super::run::Run;
use super::tools::Toolbox;
use serde_json::{Value, json};

/// One case: every contender with medians of the runs and their range, in microseconds, and ours over its median.
pub(crate) fn table(report: &Report) -> String {
    let Report { case, runs } = report;
    let mut rows = vec![row([
        "contender",
        "p50, us",
        "ours / it",
        "p99, us",
        "p99.9, us",
        "client CPU, us",
        "server CPU, us",
        "round trips",
        "runs",
    ])];
    let ours = runs.first().and_then(|runs| median(runs, Figure::P50));
    for (contender, runs) in case.contenders.iter().zip(runs) {
        let share = ours.zip(median(runs, Figure::P50)).map_or("-".into(), |(a, b)| ratio(a / b));
        let disturbed = runs.iter().filter(|r| is_disturbed(r.foreign)).count();
        let count = middle_of(runs.iter().map(|r| r.reading.count)).unwrap_or(0.0);
        rows.push(row([
            contender.label,
            &spread(runs, Figure::P50),
            &share,
            &spread(runs, Figure::P99),
            &spread(runs, Figure::P999),
            &spread(runs, Figure::ClientCpu),
            &spread(runs, Figure::ServerCpu),
            &format!("{count:.0}"),
            &if disturbed > 0 {
                format!("{}, {disturbed} disturbed", runs.len())
            } else {
                runs.len().to_string()
            },
        ]));
    }
    format!("### {}\n\n{}", case.name(), markdown(rows))
}

/// Every goal of the cases measured.
pub(crate) fn goals(reports: &[Report]) -> String {
    let mut rows =
        vec![row(["case", "figure", "ours", "against", "measured", "turn by turn", "at most", "reached"])];
    for report in reports {
        rows.extend(report.case.goals.iter().filter_map(|goal| judge(report, goal)));
    }
    format!("### Goals\n\n{}", markdown(rows))
}

/// Everything, for other programs.
pub(crate) fn json(reports: &[Report], toolbox: &Toolbox) -> String {
    let run = |run: &Run| {
        json!({
            "count": run.reading.count,
            "interval_us": run.reading.interval,
            "p50_us": run.reading.p50,
            "p99_us": run.reading.p99,
            "p999_us": run.reading.p999,
            "client_cpu_us": run.cpu.0,
            "server_cpu_us": run.cpu.1,
            "foreign_cpu": run.foreign,
        })
    };
    let contenders = |report: &Report| -> Vec<Value> {
        let rows = report.case.contenders.iter().zip(&report.runs);
        rows.map(|(c, runs)| json!({ "label": c.label, "runs": runs.iter().map(run).collect::<Vec<_>>() }))
            .collect()
    };
    let cases: Vec<Value> =
        reports.iter().map(|r| json!({ "case": r.case.name(), "contenders": contenders(r) })).collect();
    format!("{:#}\n", json!({ "tools": toolbox.describe(), "cases": cases }))
}

fn judge(report: &Report, goal: &Goal) -> Option<[String; 8]> {
    let runs_of = |label: &str| {
        let index = report.case.contenders.iter().position(|c| c.label == label)?;
        Some(&report.runs[index])
    };
    let (ours, peer) = (runs_of(goal.ours)?, runs_of(goal.peer)?);
    let compare = |ours: f64, peer: f64| match goal.comparison {
        Comparison::Ratio => ours / peer,
        Comparison::Difference => ours - peer,
    };
    let measured = compare(median(ours, goal.figure)?, median(peer, goal.figure)?);
    let turns = ours.iter().filter_map(|run| {
        let beside = peer.iter().find(|other| other.turn == run.turn)?;
        Some(compare(run.figure(goal.figure), beside.figure(goal.figure)))
    });
    let (low, high) = extremes(turns);
    let (unit, print): (_, fn(f64) -> String) = match goal.comparison {
        Comparison::Ratio => ("ratio", ratio),
        Comparison::Difference => ("difference, us", value),
    };
    Some(row([
        &report.case.name(),
        &format!("{}, {unit}", name(goal.figure)),
        goal.ours,
        goal.peer,
        &print(measured),
        &format!("{} to {}", print(low), print(high)),
        &print(goal.at_most),
        if measured <= goal.at_most { "yes" } else { "no" },
    ]))
}

fn name(figure: Figure) -> &'static str {
    match figure {
        Figure::P50 => "p50",
        Figure::P99 => "p99",
        Figure::P999 => "p99.9",
        Figure::ClientCpu => "client CPU",
        Figure::ServerCpu => "server CPU",
    }
}

fn median(runs: &[Run], figure: Figure) -> Option<f64> {
    middle_of(runs.iter().map(|r| r.figure(figure)))
}

fn spread(runs: &[Run], figure: Figure) -> String {
    let Some(middle) = median(runs, figure) else { return "-".into() };
    let (low, high) = extremes(runs.iter().map(|r| r.figure(figure)));
    format!("{} ({} to {})", value(middle), value(low), value(high))
}
