//! The conclusion of a run in plain sentences.

use super::measured::{MeasuredDirection, measured_directions};
use super::text::{capital, lower, percent};
use super::{
    Finding, Severity, Status, Verdict, frames, hops, latency, outage, path, rule_named, status, transfer,
};
use model::event::Outcome;
use model::plan::{Direction, Plan, Transport};
use model::run::{Run, Subject};
use model::sample::Role;
use model::stats::percentile::Standing;
use model::summary::{DirectionSummary, Summary};
use model::units::BitRate;

/// The conclusion of one test, or of a run of several.
pub(super) fn verdict_of_run(run: &Run) -> Verdict {
    match run.subject() {
        Subject::Latency => latency::verdict(run),
        Subject::Path => path::verdict(run),
        Subject::Hops => hops::verdict(run),
        Subject::Transfer => transfer::verdict(run),
        Subject::Frames => frames::verdict(run),
        Subject::Throughput => of_streams(run),
    }
}

/// The conclusion about throughput.
fn of_streams(run: &Run) -> Verdict {
    if let Some(text) = apart(run) {
        return Verdict { status: Status::Void, text };
    }
    match (run.throughput(), run.tests.is_empty()) {
        (_, false) => of_tests(run),
        (Some(plan), true) => void(run, plan).unwrap_or_else(|| of_test(run)),
        (None, true) => of_probes(run),
    }
}

/// Why the sum of pairs of several hosts must not be used, if so.
fn apart(run: &Run) -> Option<String> {
    let why = run.summary.pairs.as_ref()?.common_start.as_ref()?.void.as_ref()?;
    Some(format!("The pairs are no one measurement: {why}."))
}

/// Why the figures of a test must not be used, if so.
fn void(run: &Run, plan: &Plan) -> Option<Verdict> {
    let problem = |text: String| {
        let text = [Some(text), gone(run)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        Some(Verdict { status: Status::Void, text })
    };
    if let Some(lie) = run.findings.iter().find(|finding| finding.id == "contradictory-figures") {
        return problem(format!("{}.", lie.title));
    }
    let measured = measured_directions(run).any(|one_way| one_way.figures.received.bytes.0 > 0);
    match &run.summary.outcome {
        Some(Outcome::Failed { reason }) if !measured => {
            return problem(format!("Nothing was measured: {reason}."));
        }
        Some(Outcome::PeerStopped { reason }) if !measured => {
            return problem(format!("Nothing was measured: the peer ended the test ({reason})."));
        }
        Some(Outcome::Interrupted) => return None,
        _ => {}
    }
    plan.test.directions.each().find_map(|direction| silent(run, plan, direction)).and_then(problem)
}

/// Nothing arrived in this direction, or the amount is not known, and no finding has the reason.
fn silent(run: &Run, plan: &Plan, direction: Direction) -> Option<String> {
    let explained =
        |f: &Finding| f.severity == Severity::Problem && f.direction.is_none_or(|d| d == direction);
    let Some(one_way) = MeasuredDirection::from_run(run, plan, direction) else {
        let why = match run.summary.outcome {
            None => "the run has no end, as its program was killed or still runs",
            Some(_) => "the peer sent no result",
        };
        return Some(format!("There are no figures {direction}: {why}."));
    };
    if one_way.udp() && one_way.figures.receiver_unknown {
        return (!is_sender_alone(run)).then(|| {
            let sent = BitRate::from_bytes(one_way.figures.sent.bytes, one_way.figures.elapsed);
            format!("What arrived {direction} of {sent} sent is not known: the receiver sent no result.")
        });
    }
    if one_way.figures.received.bytes.0 > 0 || run.findings.iter().any(explained) {
        return None;
    }
    if one_way.rows(Role::Sender).next().is_none() {
        return Some(format!(
            "Nothing arrived {direction}; what was sent is not known: the sender's figures are missing."
        ));
    }
    if one_way.figures.sent.bytes.0 == 0 {
        return Some(format!(
            "Nothing was sent {direction}: the sending host did not get to it in the time of the test. Measure for longer, with less \
             other work there."
        ));
    }
    Some(format!(
        "Nothing arrived {direction} of {} sent, and nothing measured shows why: look for a firewall that lets the connection open and drops its data{}.",
        one_way.figures.sent.bytes,
        // Full-sized packets alone vanish where the small ones of the handshake cross.
        if one_way.udp() { "" } else { ", or for a path MTU that no router reports (`pathmeter mtu`)" }
    ))
}

/// The output is one of a tool that counts at the sender alone.
fn is_sender_alone(run: &Run) -> bool {
    run.summary.warnings.iter().any(|warning| warning.id == "sender-alone")
}

/// A first hop that went away explains whatever else went wrong.
fn gone(run: &Run) -> Option<String> {
    let failed = run.findings.iter().find(|finding| finding.id == "neighbour-failed")?;
    Some(format!("{}.", failed.title))
}

fn of_test(run: &Run) -> Verdict {
    let rates: Vec<String> = measured_directions(run).map(|direction| rate(&direction)).collect();
    let mut text = if rates.is_empty() { "Nothing was measured yet".into() } else { rates.join(", ") };
    if let Some(finding) = run.findings.first() {
        text = format!("{text}: {}", lower(&finding.title));
    }
    let (ended, least) = ending(run);
    text.push_str(&ended);
    text.push('.');
    Verdict { status: status(&run.findings).max(least), text: capital(&text) }
}

fn rate(one_way: &MeasuredDirection<'_>) -> String {
    let figures = one_way.figures;
    if one_way.udp() && figures.receiver_unknown {
        let sent = BitRate::from_bytes(figures.sent.bytes, figures.elapsed);
        return format!("{} {} sent {sent}, what arrived is not known", figures.transport, one_way.direction);
    }
    if let Some((rate, until)) = outage::rate_until(one_way) {
        return format!(
            "{} {} transferred {rate} until {until}, and nothing after",
            figures.transport, one_way.direction
        );
    }
    let lost =
        figures.loss.filter(|loss| loss.share > 0.0).map(|loss| format!(" ({} lost)", percent(loss.share)));
    format!(
        "{} {} transferred {}{}",
        figures.transport,
        one_way.direction,
        figures.goodput,
        lost.unwrap_or_default()
    )
}

/// How the test ended, when not as planned, and the least status that follows.
pub(super) fn ending(run: &Run) -> (String, Status) {
    match &run.summary.outcome {
        Some(Outcome::Completed) | None => (String::new(), Status::Ok),
        Some(Outcome::Interrupted) => ("; the test was interrupted".into(), Status::Ok),
        Some(Outcome::PeerStopped { reason }) => {
            (format!("; the peer ended it early ({reason})"), Status::Degraded)
        }
        Some(Outcome::Failed { reason }) => (format!("; then it broke off: {reason}"), Status::Degraded),
    }
}

/// A run that only probed.
fn of_probes(run: &Run) -> Verdict {
    let mut sentences: Vec<String> =
        [round_trip(&run.summary), payloads(&run.summary)].into_iter().flatten().collect();
    let failed = match &run.summary.outcome {
        Some(Outcome::Failed { reason }) => format!("Nothing was measured: {reason}."),
        _ => "Nothing was measured.".into(),
    };
    if sentences.is_empty() {
        return Verdict { status: Status::Void, text: failed };
    }
    sentences.extend(run.findings.first().map(|finding| format!("{}.", finding.title)));
    sentences.extend(cut(run));
    let least = cut(run).map_or(Status::Ok, |_| Status::Degraded);
    Verdict { status: status(&run.findings).max(least), text: sentences.join(" ") }
}

/// Three to six sentences: rates, RTT, largest payload, what sets the limit, what is wrong, what to do.
fn of_tests(run: &Run) -> Verdict {
    let void = |test: &&Run| test.verdict.status == Status::Void;
    if run.tests.iter().all(|test| void(&test)) {
        let text = run.tests.first().map(|test| test.verdict.text.clone()).unwrap_or_default();
        let text = [Some("No test gave figures to be used.".into()), gone(run), Some(text)];
        let text = text.into_iter().flatten().collect::<Vec<_>>().join(" ");
        return Verdict { status: Status::Void, text };
    }
    let limit = run.findings.iter().find(|finding| names_the_limit(finding));
    let is_wrong = |finding: &&Finding| finding.severity > Severity::Info && !names_the_limit(finding);
    let wrong = run.findings.iter().find(is_wrong);
    let failed = run.tests.iter().find(void).map(|test| test.verdict.text.clone());
    let why = limit.map_or_else(|| Some(no_limit(run)), |finding| Some(sentence(run, finding)));
    let first_advice = run.findings.first().filter(|finding| finding.severity > Severity::Info);
    let sentences = [
        Some(carried(run)),
        round_trip(&run.summary),
        payloads(&run.summary),
        why,
        gone(run).or(failed).or_else(|| wrong.map(|finding| sentence(run, finding))),
        first_advice.map(|finding| first_sentence(&finding.advice)),
        cut(run),
    ];
    let of_tests = run.tests.iter().map(|test| test.verdict.status.min(Status::Problem)).max();
    let least = of_tests.max(cut(run).map(|_| Status::Degraded)).unwrap_or_default();
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Verdict { status: status(&run.findings).max(least), text }
}

/// The user ended it before all of it was done.
fn cut(run: &Run) -> Option<String> {
    let is_cut = run.summary.outcome == Some(Outcome::Interrupted);
    is_cut.then(|| "It was interrupted: what has no figures was not measured.".into())
}

/// A finding in a sentence, with its twin of the other direction.
fn sentence(run: &Run, finding: &Finding) -> String {
    let other = finding.direction.map(Direction::reversed);
    let twin = run.findings.iter().any(|f| f.id == finding.id && other.is_some() && f.direction == other);
    match other.filter(|_| twin) {
        Some(other) => format!("{}; the same holds {other}.", finding.title),
        None => format!("{}.", finding.title),
    }
}

/// The first of several sentences; the text itself where it is one.
#[must_use]
pub fn first_sentence(text: &str) -> String {
    text.split_once(". ").map_or_else(|| text.into(), |(first, _)| format!("{first}."))
}

/// The best goodput of each transport, in each direction.
fn carried(run: &Run) -> String {
    let directions = [Direction::Up, Direction::Down].into_iter().filter_map(|direction| {
        let best_of =
            |transport| best(run, transport, direction).map(|rate| format!("{rate} of {transport}"));
        let rates: Vec<String> =
            [best_of(Transport::Tcp), best_of(Transport::Udp)].into_iter().flatten().collect();
        (!rates.is_empty()).then(|| format!("{direction} {}", rates.join(" and ")))
    });
    format!("The path transferred {}.", directions.collect::<Vec<_>>().join(", "))
}

/// The goodput; of pairs that ran at once their sum counts.
fn best(run: &Run, transport: Transport, direction: Direction) -> Option<BitRate> {
    if let Some(sum) = run.summary.pairs.as_ref().and_then(|pairs| pairs.together.as_ref()) {
        let one_way = if direction == Direction::Up { sum.up } else { sum.down };
        let same = run.throughput().is_none_or(|plan| plan.test.transport == transport);
        return one_way.filter(|_| same).map(|one_way| one_way.goodput);
    }
    let figures = run.tests.iter().filter(|test| test.verdict.status != Status::Void);
    let figures = figures.filter_map(|test| test.summary.direction(direction));
    figures.filter(|f: &&DirectionSummary| f.transport == transport).map(|f| f.goodput).max()
}

fn round_trip(summary: &Summary) -> Option<String> {
    let rtt = summary.rtt.filter(|rtt| rtt.count > 0)?;
    let lost = match summary.lost {
        0 => String::new(),
        lost => format!("; {lost} of {} probes had no answer", rtt.count.saturating_add(lost)),
    };
    let within = match rtt.standing(99.0) == Standing::Known {
        true => format!("99 % within {}", rtt.p99),
        false => format!("{} for the slowest of {}", rtt.max, rtt.count),
    };
    let centre = rtt.centre();
    Some(format!("The idle round trip takes {} ({}; {within}){lost}.", centre.time, centre.name))
}

fn payloads(summary: &Summary) -> Option<String> {
    let [up, down] = [Direction::Up, Direction::Down].map(|direction| summary.max_udp_payload(direction));
    let text = match (up, down) {
        (Some(up), Some(down)) if up == down => format!("{up} bytes in each direction"),
        (Some(up), Some(down)) => format!("{up} bytes up and {down} bytes down"),
        (Some(up), None) => format!("{up} bytes up; down none was found"),
        (None, Some(down)) => format!("{down} bytes down; up none was found"),
        (None, None) => return None,
    };
    Some(format!("The largest UDP payload that crosses unfragmented is {text}."))
}

fn no_limit(run: &Run) -> String {
    let links = run.tests.iter().filter_map(|test| test.summary.link.as_ref());
    match links.chain(&run.summary.link).next() {
        Some(link) => format!("Neither end nor the link's {} set the limit: the path between did.", link.rate),
        None => "Neither end set the limit: the path between did, or the link, whose speed is not known (`--link 10G`).".into(),
    }
}

/// Does it say what sets the rate? It is no fault by itself then.
fn names_the_limit(finding: &Finding) -> bool {
    let from = rule_named(&finding.id).and_then(|rule| rule.limits);
    from.is_some_and(|from| finding.severity >= from)
}
