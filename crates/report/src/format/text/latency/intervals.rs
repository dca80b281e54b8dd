//! The interval table of a latency run: the same rows live and from a stored run.

use super::super::phrases;
use crate::document::{Line, Paint};
use model::latency::{EgressSample, LatencyPlan, LatencySample};
use model::plan::End;
use model::stats::distribution::Distribution;
use model::units::{Nanos, grouped};

/// The head of the table.
pub(in super::super) fn header(plan: &LatencyPlan) -> Line {
    let names = ["Sent", "Round trips", "p50", "p99", "Longest", "Lost"].map(String::from);
    let line = match plan.egress_paths.len() {
        2.. => line("Time", Some("Path"), &names),
        _ if plan.load.is_some() => line_of_load("Time", "Load", &names),
        _ => line("Time", None, &names),
    };
    Line::new(Paint::Bold, line)
}

/// One line for each path.
pub(in super::super) fn row(sample: &LatencySample, plan: &LatencyPlan) -> Vec<Line> {
    let time = phrases::interval(sample.start, sample.end);
    let several = plan.egress_paths.len() > 1;
    let load = match sample.load {
        None if is_between(sample, plan) => "-",
        load => phrases::load(load),
    };
    let rows = sample.egress_paths.iter().enumerate().map(|(index, egress)| {
        let label = plan.egress_paths.get(index).map_or("?", |egress| egress.label.as_str());
        let time = if index == 0 { time.as_str() } else { "" };
        let is_of_load = plan.load.is_some() && !several;
        let text = match is_of_load {
            true => line_of_load(time, load, &cells(egress)),
            false => line(time, several.then_some(label), &cells(egress)),
        };
        Line::new(Paint::Plain, text)
    });
    rows.collect()
}

/// Connections of one load close and those of the next open: the path is not idle.
fn is_between(sample: &LatencySample, plan: &LatencyPlan) -> bool {
    let is_after = |idle: Nanos| Nanos(sample.start.0.midpoint(sample.end.0)) > idle;
    plan.load.is_some() && matches!(plan.end, End::Time(idle) if is_after(idle))
}

fn cells(egress: &EgressSample) -> [String; 6] {
    let rtt = egress.rtt.filter(|rtt| rtt.count > 0);
    let shown = |percent: f64, time: fn(&Distribution) -> Nanos| {
        let known = rtt.filter(|rtt| percent < 99.0 || rtt.known(percent, time).is_some());
        known.map_or_else(|| "-".into(), |rtt| time(&rtt).to_string())
    };
    [
        grouped(egress.sent),
        grouped(rtt.map_or(0, |rtt| rtt.count)),
        shown(50.0, |rtt| rtt.p50),
        shown(99.0, |rtt| rtt.p99),
        shown(0.0, |rtt| rtt.max),
        grouped(egress.lost),
    ]
}

fn line(time: &str, label: Option<&str>, cells: &[String; 6]) -> String {
    let [sent, count, p50, p99, max, lost] = cells;
    match label {
        Some(label) => {
            let label = phrases::cut(label, LABEL);
            format!("  {time:<14}{label:<17}{count:>12}{p50:>9}{p99:>9}{max:>9}{lost:>7}")
        }
        None => format!("  {time:<16}{sent:>10}{count:>13}{p50:>10}{p99:>10}{max:>10}{lost:>7}"),
    }
}

/// The load stands before the figures, so that a narrow screen has it, too.
fn line_of_load(time: &str, load: &str, [sent, count, p50, p99, max, lost]: &[String; 6]) -> String {
    format!("  {time:<16}{load:<5}{sent:>8}{count:>12}{p50:>9}{p99:>10}{max:>10}{lost:>7}")
}

/// Letters of a label.
const LABEL: usize = 16;
