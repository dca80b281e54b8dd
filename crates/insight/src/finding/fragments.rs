//! Datagrams larger than the path: cut into fragments, and lost with them.

mod delivery;

use super::measured::{MeasuredDirection, measured_directions};
use super::text::{grouped, percent};
use super::{Finding, Severity, receiver};
use model::plan::Direction;
use model::run::Run;

/// Fragments do not cross: shown by tests of fragments, or by a test that lost nearly everything.
pub(super) fn fragments_dropped(run: &Run) -> Vec<Finding> {
    [Direction::Up, Direction::Down].into_iter().filter_map(|d| dropped(run, d)).collect()
}

/// Fragments do not cross in this direction.
pub(super) fn dropped(run: &Run, direction: Direction) -> Option<Finding> {
    let one_way = measured_directions(run).find(|one_way| one_way.direction == direction);
    // All pieces came: the receiver's kernel did not put them together.
    if one_way.as_ref().is_some_and(receiver::is_reassembly_failing) {
        return None;
    }
    let path = run.summary.path.as_ref().and_then(|path| path.in_direction(direction));
    let (finding, cause) = match path.filter(|path| delivery::tested(path)) {
        Some(path) => {
            let (finding, cause) = delivery::finding(run, direction, path)?;
            (beside_test(finding, one_way.as_ref()), cause)
        }
        None => (by_test(&one_way?)?, LET_THROUGH),
    };
    let probed = run.summary.max_udp_payload(direction);
    let works = probed.or_else(|| one_way.and_then(|one_way| one_way.figures.wire.path_udp_payload));
    let kernel = one_way.and_then(|one_way| one_way.receiver).map(|end| &end.kernel);
    let finding = finding
        .with_known("receiver_fragments_received_count", kernel.map(|kernel| kernel.fragments_received))
        .with_known("receiver_reassembly_failures_count", kernel.map(|kernel| kernel.reassembly_failures));
    Some(match works {
        Some(payload) => finding.with("working_payload_bytes", payload).advise(send_at_most(
            payload,
            probed.is_some(),
            cause,
        )),
        None => finding.advise(format!("Send smaller datagrams, e.g. `-l {SAFE_PAYLOAD}`. {cause}")),
    })
}

/// Limits the finding where the test's own fragments arrived: the probes are only a part then.
fn beside_test(finding: Finding, one_way: Option<&MeasuredDirection<'_>>) -> Finding {
    let arrived = one_way.filter(|one_way| one_way.figures.wire.frames_per_packet.is_some_and(|n| n > 1));
    let share = arrived.map_or(0.0, |one_way| {
        one_way.figures.received.datagrams as f64 / one_way.figures.sent.datagrams.max(1) as f64
    });
    if share < MOSTLY {
        return finding;
    }
    let payload = one_way.and_then(|one_way| one_way.figures.mss).unwrap_or_default();
    let title = format!(
        "{}; those of this test, of datagrams of {payload} bytes, crossed ({}), so that it depends on their size",
        finding.title,
        percent(share)
    );
    let severity = finding.severity.min(Severity::Warning);
    Finding { title, severity, ..finding }.with("test_received_share", share)
}

/// The test's own datagrams did not fit the path.
pub(super) fn udp_fragmented(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let wire = one_way.figures.wire;
    let fragments =
        wire.frames_per_packet.filter(|n| *n > 1 && one_way.udp() && !one_way.plan.test.dont_fragment)?;
    // They were sent whole, and vanished.
    if one_way.is_lost_by_size() {
        return None;
    }
    let (payload, fits) = (one_way.figures.mss?, wire.path_udp_payload?);
    let severity = if one_way.loss().share >= HARMLESS { Severity::Warning } else { Severity::Info };
    let title = format!(
        "Datagrams of {payload} bytes sent {} do not fit the path, which takes {fits} bytes unfragmented: each goes as {fragments} fragments, and losing one loses all",
        one_way.direction
    );
    let finding = Finding::new("udp-fragmented", severity, one_way.direction, title)
        .with("payload_bytes", payload)
        .with("fragments_per_datagram_count", fragments)
        .with("path_payload_bytes", fits)
        .with("lost_share", one_way.loss().share);
    Some(finding.advise(format!("Send datagrams of at most {fits} bytes: `-l {fits}`.")))
}

/// Without tests of fragments (a peer that cannot): the small datagrams that opened the stream crossed, or there were
/// no figures.
fn by_test(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let fragments = one_way.figures.wire.frames_per_packet.filter(|n| *n > 1 && one_way.udp())?;
    // The pieces that the sender makes are as large as packets that vanish whole.
    if one_way.loses_full_pieces() {
        return None;
    }
    let (sent, received) = (one_way.figures.sent.datagrams, one_way.figures.received.datagrams);
    let share = received as f64 / sent.max(1) as f64;
    let reassembled = one_way.receiver.map_or(0, |end| end.kernel.reassembled);
    let crossed = share > NEARLY_NOTHING || reassembled as f64 > sent as f64 * NEARLY_NOTHING;
    if one_way.figures.receiver_unknown || sent < ENOUGH_DATAGRAMS || crossed {
        return None;
    }
    let payload = one_way.figures.mss?;
    let arrived = match received {
        0 => format!("none of {}", grouped(sent)),
        some => format!("{} of {} ({})", grouped(some), grouped(sent), percent(share)),
    };
    let title = format!(
        "Fragments most likely do not cross the path {}: {arrived} datagrams of {payload} bytes arrived, each sent as {fragments} fragments, while the small ones that opened the stream did",
        one_way.direction
    );
    let finding = Finding::new("fragments-dropped", Severity::Problem, one_way.direction, title)
        .with("payload_bytes", payload)
        .with("fragments_per_datagram_count", fragments)
        .with("sent_count", sent)
        .with("received_count", received);
    Some(finding)
}

fn send_at_most(payload: u32, probed: bool, cause: &str) -> String {
    let why = match probed {
        true => "which cross",
        false => "which go unfragmented by the MTU this host knows (no probe has confirmed it)",
    };
    format!("Send datagrams of at most {payload} bytes, {why}: `-l {payload}`. {cause}")
}

const LET_THROUGH: &str = "For programs that must send larger ones, let IP fragments through at the firewall or router that drops them.";
/// Half of the datagrams.
const MOSTLY: f64 = 0.5;
/// Below this loss fragments did no harm in this test.
const HARMLESS: f64 = 0.001;
/// A path that drops fragments may pass one by chance (reordered first fragments, state just made).
const NEARLY_NOTHING: f64 = 0.05;
/// Fewer datagrams may all die in one short outage.
const ENOUGH_DATAGRAMS: u64 = 20;
/// Crosses every IPv6 link (RFC 8200 section 5: 1280 bytes) and nearly every tunnel.
const SAFE_PAYLOAD: u32 = 1232;
