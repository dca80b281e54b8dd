//! Tables of what was measured, and which goals are reached.

use super::Report;
use super::cases::{Case, Figure, Goal, Work};
use super::common::table::{extremes, markdown, mebibytes, middle_of, ratio, row, value};
use super::run::Run;
use super::tools::Toolbox;
use serde_json::{Value, json};

/// One case: every contender with median and range, and ours over it.
pub(crate) fn table(report: &Report) -> String {
    let Report { case, runs } = report;
    let figure = main_figure(case);
    let mut rows = vec![row([
        "contender",
        unit(figure),
        "min to max",
        "ours / it",
        "ms CPU per GB",
        "lost",
        "MiB",
        "runs",
    ])];
    let ours = runs.first().and_then(|runs| median(runs, figure));
    for (contender, runs) in case.contenders.iter().zip(runs) {
        let Some(middle) = median(runs, figure) else {
            rows.push(row([contender.label, "-", "-", "-", "-", "-", "-", "0"]));
            continue;
        };
        let (low, high) = range(runs, figure);
        let cpu = median(runs, Figure::Cpu).unwrap_or(0.0) * 1e3;
        let loss = middle_of(runs.iter().map(|r| r.reading.loss)).unwrap_or(0.0);
        let memory = |end: fn(&Run) -> f64| runs.iter().map(end).fold(0.0, f64::max);
        let disturbed = runs.iter().filter(|r| r.is_disturbed()).count();
        let ratio = ours.map_or("-".into(), |ours| ratio(ours / middle));
        let (is_udp, is_paced) = (matches!(case.work, Work::Udp { .. }), figure == Figure::Pacing);
        rows.push(row([
            contender.label,
            &value(middle),
            &format!("{} to {}", value(low), value(high)),
            &ratio,
            &if is_paced { "-".into() } else { format!("{cpu:.0}") },
            &if is_udp { format!("{:.3} %", loss * 100.0) } else { "-".into() },
            &format!("{:.1} + {:.1}", memory(|r| mebibytes(r.memory.0)), memory(|r| mebibytes(r.memory.1))),
            &if disturbed > 0 {
                format!("{}, {disturbed} disturbed", runs.len())
            } else {
                runs.len().to_string()
            },
        ]));
    }
    format!("### {}\n\n{}", case.name, markdown(rows))
}

/// Every goal of the cases measured.
pub(crate) fn goals(reports: &[Report]) -> String {
    let mut rows = vec![row([
        "case",
        "figure",
        "ours",
        "over",
        "measured",
        "turn by turn",
        "at least",
        "aim",
        "reached",
    ])];
    for report in reports {
        rows.extend(report.case.goals.iter().filter_map(|goal| judge(report, goal)));
    }
    format!("### Goals\n\n{}", markdown(rows))
}

/// Everything, for other programs.
pub(crate) fn json(reports: &[Report], toolbox: &Toolbox) -> String {
    let run = |run: &Run| {
        json!({
            "goodput_bps": run.reading.goodput,
            "bytes": run.reading.bytes,
            "loss": run.reading.loss,
            "congestion": run.reading.congestion,
            "cpu_ns": run.cpu.0,
            "peak_memory_client": run.memory.0.0,
            "peak_memory_server": run.memory.1.0,
            "pacing_error_ns": run.pacing,
            "foreign_cpu": run.foreign,
        })
    };
    let contenders = |report: &Report| -> Vec<Value> {
        let rows = report.case.contenders.iter().zip(&report.runs);
        rows.map(|(c, runs)| json!({ "label": c.label, "runs": runs.iter().map(run).collect::<Vec<_>>() }))
            .collect()
    };
    let cases: Vec<Value> =
        reports.iter().map(|r| json!({ "case": r.case.name, "contenders": contenders(r) })).collect();
    format!("{:#}\n", json!({ "tools": toolbox.describe(), "cases": cases }))
}

fn judge(report: &Report, goal: &Goal) -> Option<[String; 9]> {
    let runs_of = |label: &str| {
        let index = report.case.contenders.iter().position(|c| c.label == label)?;
        Some(&report.runs[index])
    };
    let ours = runs_of(goal.ours)?;
    let (measured, turns) = if goal.figure == Figure::Memory {
        let all: Vec<f64> = ours.iter().map(|r| figure_of(r, goal.figure)).collect();
        (all.iter().copied().fold(0.0, f64::max), all)
    } else {
        let peer = runs_of(goal.peer)?;
        let pairs = ours.iter().zip(peer);
        let turns = pairs.map(|(a, b)| figure_of(a, goal.figure) / figure_of(b, goal.figure)).collect();
        (median(ours, goal.figure)? / median(peer, goal.figure)?, turns)
    };
    let holds =
        |wanted: f64| if goal.figure == Figure::Goodput { measured >= wanted } else { measured <= wanted };
    let lossless = ours.iter().filter(|r| r.reading.loss < LOSS_LIMIT).count() * 2 > ours.len();
    let verdict = match (goal.figure, holds(goal.aim), holds(goal.at_least)) {
        (Figure::Goodput, ..) if !lossless && goal.ours == "pathmeter" => "no: loss",
        (_, true, _) => "aim",
        (_, false, true) => "at least",
        (_, false, false) => "no",
    };
    let (low, high) = extremes(turns.into_iter());
    Some(row([
        report.case.name,
        name(goal.figure),
        goal.ours,
        goal.peer,
        &ratio(measured),
        &format!("{} to {}", ratio(low), ratio(high)),
        &ratio(goal.at_least),
        &ratio(goal.aim),
        verdict,
    ]))
}

fn main_figure(case: &Case) -> Figure {
    if matches!(case.work, Work::Paced { .. }) { Figure::Pacing } else { Figure::Goodput }
}

fn figure_of(run: &Run, figure: Figure) -> f64 {
    match figure {
        Figure::Goodput => run.reading.goodput / 1e9,
        Figure::Cpu => run.cpu_per_gigabyte(),
        Figure::Pacing => run.pacing.unwrap_or(f64::NAN) / 1e3,
        Figure::Memory => mebibytes(run.memory.0).max(mebibytes(run.memory.1)),
    }
}

fn unit(figure: Figure) -> &'static str {
    match figure {
        Figure::Goodput => "Gbit/s",
        Figure::Cpu => "CPU s/GB",
        Figure::Pacing => "us gap error",
        Figure::Memory => "MiB",
    }
}

fn name(figure: Figure) -> &'static str {
    match figure {
        Figure::Goodput => "goodput",
        Figure::Cpu => "CPU per GB",
        Figure::Pacing => "pacing error",
        Figure::Memory => "memory, MiB",
    }
}

fn median(runs: &[Run], figure: Figure) -> Option<f64> {
    middle_of(runs.iter().map(|r| figure_of(r, figure)))
}

fn range(runs: &[Run], figure: Figure) -> (f64, f64) {
    extremes(runs.iter().map(|r| figure_of(r, figure)))
}

const LOSS_LIMIT: f64 = 0.001;
