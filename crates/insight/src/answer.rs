//! A run in one line: what was found, and what to do about it. The verdict's sentences say the same at length.

use crate::figure::{Figure, Key, fastest, stream_figure};
pub use crate::finding::first_sentence;
use crate::finding::{limit, rule_named, significant};
use model::event::Outcome;
use model::finding::{Finding, Severity, Status};
use model::latency::{EgressResult, LoadPhase};
use model::limit::Confidence;
use model::path::{Bound, PathDirection};
use model::plan::{Direction, Transport};
use model::run::{Run, Subject};
use model::stats::percentile::Standing;
use model::summary::{DirectionSummary, Summary};

/// The one-line answer of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The result, without a full stop.
    pub line: String,
    /// Advice where something is not as it should be; empty: none.
    pub action: String,
}

/// The answer: why the figures are void, what is wrong, or the figures.
#[must_use]
pub fn answer_of_run(run: &Run) -> Answer {
    if run.verdict.status == Status::Void {
        return Answer { line: one_sentence(&run.verdict.text), action: action(run) };
    }
    let line = match serious(run) {
        // A rest of a test does not show what set its rate.
        Some(finding) if finding.severity < Severity::Problem && has_failed(run) => figures(run),
        // Where it is, is the answer about hops.
        Some(finding) if run.subject() == Subject::Hops => {
            finding.title.split(": ").next().unwrap_or_default().to_owned()
        }
        // Under load the figures are the answer, and the finding explains them.
        Some(finding) => match loaded(run) {
            Some(figures) => format!("{}: {figures}", short(run, finding)),
            None => short(run, finding),
        },
        None => figures(run),
    };
    Answer { line: line + &ended(run), action: action(run) }
}

/// The finding that the answer names in a few words of its own.
#[must_use]
pub fn headline_of_run(run: &Run) -> Option<&Finding> {
    let serious = serious(run)?;
    let has_rule = rule_named(&serious.id).is_some();
    (has_rule && run.verdict.status != Status::Void && run.subject() != Subject::Hops).then_some(serious)
}

/// The worst finding, where it is more than a remark.
fn serious(run: &Run) -> Option<&Finding> {
    run.findings.iter().find(|finding| finding.severity > Severity::Info)
}

/// The advice of the worst finding, in its first sentence.
fn action(run: &Run) -> String {
    let is_of_it = |finding: &&Finding| finding.severity == Severity::Problem || !has_failed(run);
    serious(run).filter(is_of_it).map(|finding| first_sentence(&finding.advice)).unwrap_or_default()
}

fn one_sentence(text: &str) -> String {
    first_sentence(text).trim_end_matches('.').to_owned()
}

/// How it ended, when not as planned.
fn ended(run: &Run) -> String {
    let nested = run.tests.iter().filter_map(|test| test.summary.outcome.as_ref());
    let mut outcomes = run.summary.outcome.iter().chain(nested);
    let odd = |outcome: &&Outcome| !matches!(outcome, Outcome::Completed);
    match outcomes.find(odd) {
        Some(Outcome::Interrupted) => "; interrupted".into(),
        Some(Outcome::PeerStopped { reason }) => format!("; the peer ended it early ({reason})"),
        Some(Outcome::Failed { reason }) => format!("; then it broke off: {reason}"),
        Some(Outcome::Completed) | None => String::new(),
    }
}

/// The run broke off.
fn has_failed(run: &Run) -> bool {
    matches!(run.summary.outcome, Some(Outcome::Failed { .. }))
}

/// A finding in a few words, with its directions.
fn short(run: &Run, finding: &Finding) -> String {
    let twins = run.findings.iter().filter(|other| other.id == finding.id && other.egress == finding.egress);
    let mut directions: Vec<Direction> = twins.filter_map(|other| other.direction).collect();
    directions.sort_unstable();
    directions.dedup();
    let place = match (directions.as_slice(), &finding.egress) {
        ([Direction::Up, Direction::Down], _) => " in both directions".into(),
        ([one], _) => format!(" {one}"),
        (_, Some(egress)) if run.summary.egress_paths.len() > 1 => format!(" ({egress})"),
        _ => String::new(),
    };
    let rule = rule_named(&finding.id);
    rule.map_or_else(|| finding.title.clone(), |rule| format!("{}{place}", rule.short))
}

/// The headline figures by the kind of run.
fn figures(run: &Run) -> String {
    let rates = rates(run);
    match run.subject() {
        Subject::Latency => return latency(run),
        Subject::Path => return sizes(&run.summary).unwrap_or_else(|| one_sentence(&run.verdict.text)),
        Subject::Throughput | Subject::Hops if !rates.is_empty() => {}
        _ => return one_sentence(&run.verdict.text),
    }
    let rtt = Key::named("rtt.p50").and_then(|key| {
        let Figure { label, quantity, .. } = key.figure;
        Some(format!("{label} {}", quantity.print(key.measured(run)?)))
    });
    let parts = [Some(rates), rtt];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// `TCP 29.4 Gbit/s up, 26.9 Gbit/s down`: the first transport that was measured, in its best test in each direction, as the table of
/// figures has it.
fn rates(run: &Run) -> String {
    let sum = run.summary.pairs.as_ref().and_then(|pairs| pairs.together.as_ref());
    let is_measured = |of: &Transport| Direction::BOTH.iter().any(|one| fastest(run, *of, *one).is_some());
    let Some(transport) = [Transport::Tcp, Transport::Udp].into_iter().find(is_measured) else {
        return String::new();
    };
    let goodput = stream_figure("goodput");
    let rate = |direction: Direction| {
        let is_unknown = |streams: &&DirectionSummary| streams.receiver_unknown;
        if let Some(sent) = fastest(run, Transport::Udp, direction).filter(is_unknown) {
            let sent = stream_figure("offered").text_in(sent)?;
            return Some(format!("{sent} sent {direction}, what arrived is not known"));
        }
        let together = sum.and_then(|sum| if direction == Direction::Up { sum.up } else { sum.down });
        let together = together.map(|streams| goodput.quantity.print(streams.goodput.0 as f64));
        let best = fastest(run, transport, direction).and_then(|streams| goodput.text_in(streams));
        let rate = together.or(best)?;
        Some(match limit_of(run, direction).filter(|_| transport == Transport::Tcp && sum.is_none()) {
            Some((limit, Confidence::Low)) => format!("{rate} {direction}: perhaps {limit}"),
            Some((limit, _)) => format!("{rate} {direction}: {limit}"),
            None => format!("{rate} {direction}"),
        })
    };
    let rates: Vec<String> = Direction::BOTH.into_iter().filter_map(rate).collect();
    let between = if rates.iter().any(|rate| rate.contains(": ")) { "; " } else { ", " };
    format!("{transport} {}", rates.join(between))
}

/// The limit of one test counts; where several agree on a rate, that of TCP.
fn limit_of(run: &Run, direction: Direction) -> Option<(String, Confidence)> {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    let mut limits = tests.iter().filter_map(|test| test.summary.direction(direction)?.limit.as_deref());
    let found = limits.next_back()?;
    Some((limit::brief(found)?, found.confidence))
}

/// `path MTU 1500, UDP payload 1472`, both directions where they differ.
fn sizes(summary: &Summary) -> Option<String> {
    let path = summary.path.as_ref()?;
    let both = |of: fn(&PathDirection) -> Option<String>| {
        let one_way = |direction| path.in_direction(direction).and_then(of);
        match (one_way(Direction::Up), one_way(Direction::Down)) {
            (Some(up), Some(down)) if up == down => Some(up),
            (Some(up), Some(down)) => Some(format!("{up} up, {down} down")),
            (Some(up), None) => Some(format!("{up} up")),
            (None, Some(down)) => Some(format!("{down} down")),
            (None, None) => None,
        }
    };
    let mtu = both(path_mtu).map(|mtu| format!("path MTU {mtu}"));
    let payload = both(|one_way| one_way.max_udp_payload.map(|payload| payload.to_string()));
    let payload = payload.map(|payload| format!("UDP payload {payload}"));
    let parts: Vec<String> = [mtu, payload].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn path_mtu(one_way: &PathDirection) -> Option<String> {
    let mtu = one_way.path_mtu?;
    Some(match one_way.bound {
        Bound::AtLeast => format!("at least {mtu}"),
        Bound::AtMost => format!("at most {mtu}"),
        Bound::Exact | Bound::Unknown => mtu.to_string(),
    })
}

fn latency(run: &Run) -> String {
    if let Some(figures) = loaded(run) {
        return figures;
    }
    match run.summary.egress_paths.as_slice() {
        [egress] => egress_line(egress).unwrap_or_else(|| one_sentence(&run.verdict.text)),
        several => {
            let centres = || several.iter().filter_map(|egress| egress.rtt).map(|rtt| rtt.centre());
            let times = || centres().map(|centre| centre.time);
            let all_medians = centres().all(|centre| centre.name == "median");
            let names = if all_medians { "medians" } else { "medians or means" };
            match (times().min(), times().max()) {
                (Some(least), Some(most)) => {
                    format!("RTT {least} to {most} ({names} of {} paths)", several.len())
                }
                _ => one_sentence(&run.verdict.text),
            }
        }
    }
}

fn egress_line(egress: &EgressResult) -> Option<String> {
    let rtt = egress.rtt.filter(|rtt| rtt.count > 0)?;
    let p99 = match egress.standing(99.0) {
        Standing::Known => format!(", p99 {}", rtt.p99),
        Standing::AtLeast => format!(", p99 at least {}", rtt.p99),
        Standing::TooFew | Standing::Spoiled | Standing::NotGiven => String::new(),
    };
    let lost = egress.counted.lost;
    if let Some(median) = egress.median_from_send_call() {
        return Some(format!("RTT {median} median from the send call, {lost} lost"));
    }
    let centre = rtt.centre();
    Some(format!("RTT {} {}{p99}, {lost} lost", centre.time, centre.name))
}

/// `RTT 181 µs idle, loaded 2.08 ms up, 5.49 ms both; 9 230 RPM`: the responsiveness is that of the worst phase.
fn loaded(run: &Run) -> Option<String> {
    let phases = &run.summary.loaded.as_ref()?.phases;
    let median = |phase: &LoadPhase| phase.rtt.filter(|rtt| rtt.count > 0).map(|rtt| rtt.p50);
    let idle = phases.iter().find(|phase| phase.load.is_none()).and_then(median);
    let name = |phase: &LoadPhase| phase.direction().map_or("both", |one| one.choose("up", "down"));
    let loaded = phases.iter().filter(|phase| phase.load.is_some());
    let under_load: Vec<String> =
        loaded.filter_map(|phase| Some(format!("{} {}", median(phase)?, name(phase)))).collect();
    if under_load.is_empty() {
        return None;
    }
    let idle = idle.map(|idle| format!("{idle} idle, ")).unwrap_or_default();
    let rpm = phases.iter().filter_map(|phase| phase.responsiveness).map(|figure| figure.rpm);
    let rpm = rpm.reduce(f64::min).map(|rpm| format!("; {} RPM", significant(rpm))).unwrap_or_default();
    let limited = |phase: &LoadPhase| {
        Some(format!("; {}: {}", phase.direction()?, limit::where_and_what(phase.limit.as_deref()?)?))
    };
    let limits: String = phases.iter().filter_map(limited).collect();
    Some(format!("RTT {idle}loaded {}{rpm}{limits}", under_load.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_test_that_broke_off_a_limit_is_not_the_answer() {
        let mut run = crate::run_of_events("1", "measure", &[]);
        let window = Finding::new("window-limited", Severity::Warning, Direction::Up, "full".into());
        run.findings = vec![window.advise("Ask for a larger one.")];
        run.verdict.status = Status::Degraded;
        assert_eq!(answer_of_run(&run).action, "Ask for a larger one.");
        run.summary.outcome = Some(Outcome::Failed { reason: "the peer closed".into() });
        let Answer { line, action } = answer_of_run(&run);
        assert!(line.ends_with("; then it broke off: the peer closed") && !line.contains("window"), "{line}");
        assert_eq!(action, "");
    }

    #[test]
    fn a_finding_of_both_directions_is_reported_once() {
        let mut run = crate::run_of_events("1", "measure", &[]);
        let finding = |direction| {
            Finding::new("fragments-dropped", Severity::Problem, direction, "gone".into())
                .advise("Send less. Or allow fragments.")
        };
        run.findings = vec![finding(Direction::Up), finding(Direction::Down)];
        run.verdict.status = Status::Problem;
        let answer = answer_of_run(&run);
        assert_eq!(answer.line, "IP fragments are dropped in both directions");
        assert_eq!(answer.action, "Send less.");
        run.findings.pop();
        run.summary.outcome = Some(Outcome::Interrupted);
        assert_eq!(answer_of_run(&run).line, "IP fragments are dropped up; interrupted");
    }
}
