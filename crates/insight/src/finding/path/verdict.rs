//! The conclusion of a run about packet sizes: what crosses, what limits, what to set.

use super::super::status;
use super::super::text::{capital, lower};
use super::super::verdict::{ending, first_sentence};
use super::super::{Finding, Severity, Status, Verdict};
use model::event::Outcome;
use model::path::{Bound, FragmentDelivery, PathDirection, PathResult, ServiceLimit};
use model::plan::Direction;
use model::run::Run;

/// Void when nothing could be found out; else one to three sentences, and how it ended.
pub(in super::super) fn verdict_of_run(run: &Run) -> Verdict {
    let path = run.summary.path.as_ref();
    let Some(known) = path.and_then(known) else {
        return Verdict { status: Status::Void, text: nothing(run) };
    };
    let worst = run.findings.first().filter(|finding| finding.severity > Severity::Info);
    let reason = worst.or_else(|| run.findings.iter().find(|finding| finding.id == REDUCED));
    let clean = || path.and_then(clean).filter(|_| run.findings.is_empty());
    let why = reason.map(|finding| sentence(run, finding)).or_else(clean);
    let cure = match worst {
        // The size of one direction may be too large for the other.
        Some(finding) if finding.id == FRAGMENTS => path
            .and_then(least_payload)
            .map(|least| format!("Keep datagrams to {least} bytes of payload, which cross: `-l {least}`.")),
        Some(finding) => Some(first_sentence(&finding.advice)),
        None => path.and_then(payload),
    };
    let (ended, least) = ending(run);
    let ended = ended.strip_prefix("; ").map(|ended| format!("{}.", capital(ended)));
    let sentences = [known, why, cure, ended];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Verdict { status: status(&run.findings).max(least), text }
}

/// A finding in a sentence, with its twin of the other direction when that has the same figures.
fn sentence(run: &Run, finding: &Finding) -> String {
    let figures = |finding: &Finding| {
        let of_a_direction = |name: &str| OF_A_DIRECTION.contains(&name) || name.ends_with("_count");
        let own = finding.evidence.iter().filter(|(name, _)| !of_a_direction(name));
        own.map(|(name, value)| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    let other = finding.direction.map(Direction::reversed);
    let twin =
        |one: &Finding| one.id == finding.id && one.direction == other && figures(one) == figures(finding);
    let same = other.filter(|_| run.findings.iter().any(twin));
    let same = same.map(|other| format!("; the same holds {other}")).unwrap_or_default();
    // The size that crosses is in the text already.
    let title = match finding.title.split_once(": ") {
        Some((_, limit)) if finding.id == REDUCED => capital(&of_direction(limit, finding, same.is_empty())),
        _ => finding.title.clone(),
    };
    format!("{title}{same}.")
}

/// Names the direction that a hop limits, where the other has another limit.
fn of_direction(limit: &str, finding: &Finding, alone: bool) -> String {
    match finding.direction.filter(|_| alone) {
        Some(direction) => limit.replacen(" limits it", &format!(" limits the direction {direction}"), 1),
        None => limit.to_owned(),
    }
}

/// The size that crosses, or that the service answers, unless a finding has it; `None` when neither is known.
fn known(path: &PathResult) -> Option<Option<String>> {
    match &path.service {
        Some(service) => answers(service),
        None => crosses(path).map(Some),
    }
}

fn answers(service: &ServiceLimit) -> Option<Option<String>> {
    let payload = service.payload?;
    let port = service.port;
    let all =
        || format!("UDP port {port} answers payloads of up to {payload} bytes; no larger ones were tried.");
    Some(service.silent.is_none().then(all))
}

fn crosses(path: &PathResult) -> Option<String> {
    let up = path.up.as_ref().and_then(size);
    let down = path.down.as_ref().and_then(size);
    Some(match (up, down) {
        (Some(up), Some(down)) if up == down => {
            format!("Packets of {} cross in each direction, UDP payloads of {}.", up.packet, up.payload)
        }
        (Some(up), Some(down)) => format!(
            "Packets of {} cross up (UDP payloads of {}), of {} down ({}).",
            up.packet, up.payload, down.packet, down.payload
        ),
        (Some(up), None) => one_way(&up, Direction::Up),
        (None, Some(down)) => one_way(&down, Direction::Down),
        (None, None) => return None,
    })
}

fn one_way(size: &Size, direction: Direction) -> String {
    let other = direction.reversed();
    format!(
        "Packets of {} cross {direction} (UDP payloads of {}); the direction {other} is not known.",
        size.packet, size.payload
    )
}

/// The sizes of a direction, in words.
#[derive(PartialEq)]
struct Size {
    packet: String,
    payload: u32,
}

fn size(one_way: &PathDirection) -> Option<Size> {
    let mtu = one_way.path_mtu?;
    let packet = match one_way.bound {
        Bound::Unknown => return None,
        Bound::Exact => format!("up to {mtu} bytes"),
        Bound::AtLeast => format!("{mtu} bytes and perhaps more"),
        Bound::AtMost => format!("{mtu} bytes at most"),
    };
    Some(Size {
        packet,
        payload: one_way.max_udp_payload.unwrap_or_else(|| mtu.saturating_sub(one_way.headers())),
    })
}

/// Nothing was found: the path carries what the interfaces send.
fn clean(path: &PathResult) -> Option<String> {
    if path.service.is_some() {
        return None;
    }
    let directions: Vec<&PathDirection> = [&path.up, &path.down].into_iter().flatten().collect();
    let full =
        |one_way: &&PathDirection| one_way.bound == Bound::Exact && one_way.path_mtu == one_way.interface_mtu;
    let pass = |one_way: &&PathDirection| one_way.fragments.delivery == FragmentDelivery::Pass;
    let fragments = if directions.iter().all(pass) { "; larger datagrams cross in fragments" } else { "" };
    directions
        .iter()
        .all(full)
        .then(|| format!("Nothing on the path takes less than the interfaces send{fragments}."))
}

/// The payload to keep to, where it is less than the interfaces suggest.
fn payload(path: &PathResult) -> Option<String> {
    let reduced =
        [&path.up, &path.down].into_iter().flatten().any(|one_way| one_way.crosses() < one_way.interface_mtu);
    let least = least_payload(path).filter(|_| reduced)?;
    Some(format!("Keep datagrams to {least} bytes of payload (`-l {least}`); TCP adapts by itself."))
}

/// The largest payload that is known to cross in every examined direction.
fn least_payload(path: &PathResult) -> Option<u32> {
    let directions = [&path.up, &path.down].into_iter().flatten();
    directions.filter_map(|one_way| one_way.crosses_in_every_flow()?.checked_sub(one_way.headers())).min()
}

/// Why nothing is known.
fn nothing(run: &Run) -> String {
    let path = run.summary.path.as_ref();
    let finding = run.findings.iter().find(|finding| finding.severity == Severity::Problem);
    let reason = match &run.summary.outcome {
        Some(Outcome::Failed { reason }) => reason.clone(),
        Some(Outcome::PeerStopped { reason }) => format!("the peer ended the test ({reason})"),
        Some(Outcome::Interrupted) => "the test was interrupted".into(),
        _ => match (finding, path.and_then(|path| path.unknown.first())) {
            (Some(finding), _) => lower(&finding.title),
            (None, Some(unknown)) => unknown.why.clone(),
            (None, None) => "no probe was answered".into(),
        },
    };
    format!("Nothing was found out: {}.", reason.trim_end_matches('.'))
}

const REDUCED: &str = "mtu-reduced";
const FRAGMENTS: &str = "fragments-dropped";
/// Each direction has its own hops, and the sizes that tests of fragments happen to have.
const OF_A_DIRECTION: [&str; 5] = [
    "hop_address",
    "distance_hops",
    "fragmented_payload_bytes",
    "whole_payload_bytes",
    "working_payload_bytes",
];
