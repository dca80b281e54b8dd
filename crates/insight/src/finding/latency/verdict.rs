//! The conclusion of a latency run.

use super::super::status;
use super::super::text::{grouped, lower, percent, significant};
use super::super::verdict::ending;
use super::super::{Status, Verdict};
use super::{one_way, share, silence};
use model::event::Outcome;
use model::latency::{EgressResult, LoadPhase};
use model::run::Run;
use model::stats::percentile::Standing;

/// Void when no egress path got a reply, or the figures contradict each other; else the round trips of each path, the worst reason, and
/// how it ended.
pub(in super::super) fn verdict_of_run(run: &Run) -> Verdict {
    let egress_paths = &run.summary.egress_paths;
    if let Some(finding) = run.findings.iter().find(|finding| finding.id == "contradictory-figures") {
        return Verdict { status: Status::Void, text: format!("{}.", finding.title) };
    }
    let measured = egress_paths.iter().any(|egress| crossed(run, egress)) || phases(run).next().is_some();
    if !measured && let Some(text) = void(run) {
        return Verdict { status: Status::Void, text };
    }
    let silent = |egress: &&EgressResult| silence::silent(run, egress);
    let mut sentences: Vec<String> = match egress_paths.as_slice() {
        [] => Vec::new(),
        [egress] => vec![format!("The {} to {} {}.", subject(run), egress.host, takes(run, egress))],
        several => several
            .iter()
            .filter(|egress| !silent(egress))
            .take(MOST)
            .map(|egress| of_several(run, egress))
            .collect(),
    };
    sentences.extend(phases(run).filter_map(|phase| loaded(run, phase)));
    let reported = run.findings.iter().filter(|finding| finding.severity == worst(run));
    sentences.extend(reported.take(MOST_REPORTED).map(|finding| format!("{}.", finding.title)));
    let (ended, least) = ending(run);
    if let Some(ended) = ended.strip_prefix("; ") {
        sentences.push(format!("{}.", super::super::text::capital(ended)));
    }
    let least = if lacks_its_load(run) {
        sentences.push("The path was measured idle alone: no load ran beside the round trips.".into());
        least.max(Status::Degraded)
    } else {
        least
    };
    Verdict { status: status(&run.findings).max(least), text: sentences.join(" ") }
}

/// A load was requested, and none ran.
fn lacks_its_load(run: &Run) -> bool {
    let is_wanted = run.latency().is_some_and(|plan| plan.load.is_some());
    is_wanted
        && !matches!(run.summary.outcome, Some(Outcome::Interrupted))
        && !phases(run).any(|phase| phase.load.is_some())
}

/// Why nothing is known; `None` when the user ended it before anything could be.
fn void(run: &Run) -> Option<String> {
    let reason = match &run.summary.outcome {
        Some(Outcome::Failed { reason }) => reason.clone(),
        Some(Outcome::PeerStopped { reason }) => format!("the peer ended the test ({reason})"),
        _ => match run.findings.iter().find(|finding| finding.id == "no-reply") {
            Some(finding) => lower(&finding.title),
            None => "no round trip was completed".into(),
        },
    };
    Some(format!("Nothing was measured: {}.", reason.trim_end_matches('.')))
}

/// Something came back, or arrived at the far end.
fn crossed(run: &Run, egress: &EgressResult) -> bool {
    egress.rtt.is_some_and(|rtt| rtt.count > 0)
        || is_untimed(run, egress)
        || (one_way(run) && egress.counted.far_received.is_some_and(|n| n > 0))
}

/// Replies came whose times the output does not give.
fn is_untimed(run: &Run, egress: &EgressResult) -> bool {
    let is_warned = run.summary.warnings.iter().any(|warning| warning.id == "untimed-replies");
    is_warned && egress.rtt.is_none() && egress.counted.received > 0
}

fn subject(run: &Run) -> &'static str {
    if one_way(run) { "way" } else { "round trip" }
}

fn of_several(run: &Run, egress: &EgressResult) -> String {
    format!("{} {}.", egress.label, takes(run, egress))
}

fn takes(run: &Run, egress: &EgressResult) -> String {
    let counted = &egress.counted;
    if let (true, Some(rate)) = (one_way(run), egress.received_rate) {
        return format!(
            "transferred {rate} ({} of {} messages arrived)",
            grouped(counted.far_received.unwrap_or_default()),
            grouped(counted.sent)
        );
    }
    let Some(rtt) = egress.rtt else {
        let (received, asked) = (grouped(counted.received), grouped(counted.asked));
        return match is_untimed(run, egress) {
            true => format!("has no time: {received} of {asked} messages were answered"),
            false => "gave no round trip".into(),
        };
    };
    let lost = match counted.lost {
        0 => String::new(),
        lost => format!("; {} lost", percent(share(lost, counted.asked))),
    };
    let within = match egress.standing(99.0) {
        Standing::Known => format!("; 99 % within {}", rtt.p99),
        _ => String::new(),
    };
    if let Some(median) = egress.median_from_send_call() {
        return format!("takes {median} from the send call (median of {}{lost})", grouped(rtt.count));
    }
    let centre = rtt.centre();
    format!("takes {} ({} of {}{within}{lost})", centre.time, centre.name, grouped(rtt.count))
}

fn phases(run: &Run) -> impl Iterator<Item = &LoadPhase> {
    let phases = run.summary.loaded.iter().flat_map(|loaded| &loaded.phases);
    phases.filter(|phase| phase.rtt.is_some_and(|rtt| rtt.count > 0))
}

/// The figures of a phase under load, unless a finding has them.
fn loaded(run: &Run, phase: &LoadPhase) -> Option<String> {
    phase.load?;
    let (rtt, direction) = (phase.rtt?, phase.direction());
    let reported = |id: &str| {
        run.findings.iter().any(|f| f.id == id && f.direction == direction && f.severity == worst(run))
    };
    let name = direction.map_or("in both directions", |one| one.choose("up", "down"));
    let rpm =
        phase.responsiveness.map(|figure| format!(", {} round trips per minute", significant(figure.rpm)));
    let rpm = rpm.unwrap_or_default();
    (!reported("bufferbloat")).then(|| format!("Under load {name} it takes {}{rpm}.", rtt.p50))
}

/// The worst severity of the findings that are more than a remark.
fn worst(run: &Run) -> super::super::Severity {
    let severities = run.findings.iter().map(|finding| finding.severity);
    severities.max().unwrap_or(super::super::Severity::Info).max(super::super::Severity::Warning)
}

/// More egress paths do not fit a sentence each; the table has them all.
const MOST: usize = 6;
/// More findings are not repeated.
const MOST_REPORTED: usize = 3;
