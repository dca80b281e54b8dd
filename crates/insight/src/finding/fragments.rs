//! Datagrams larger than the path: cut into fragments, and lost with them.

mod fate;

use super::text::{grouped, percent};
use super::way::{MeasuredDirection, measured_directions};
use super::{Finding, Severity};
use model::plan::Direction;
use model::run::Run;

/// The test's own datagrams did not fit the path.
pub(super) fn udp_fragmented(run: &Run) -> Vec<Finding> {
    measured_directions(run).filter_map(|way| fragmented(&way)).collect()
}

/// Fragments do not cross: shown by tests of fragments, or by a test that lost nearly everything.
pub(super) fn fragments_dropped(run: &Run) -> Vec<Finding> {
    [Direction::Up, Direction::Down].into_iter().filter_map(|d| dropped(run, d)).collect()
}

/// Fragments do not cross in this direction.
pub(super) fn dropped(run: &Run, direction: Direction) -> Option<Finding> {
    let way = measured_directions(run).find(|way| way.direction == direction);
    let path = run.summary.path.as_ref().and_then(|path| path.way(direction));
    let (finding, cause) = match path.filter(|path| fate::tested(path)) {
        Some(path) => fate::finding(run, direction, path)?,
        None => (by_test(&way?)?, LET_THROUGH),
    };
    let probed = run.summary.max_udp_payload(direction);
    let works = probed.or_else(|| way.and_then(|way| way.figures.wire.path_udp_payload));
    let kernel = way.and_then(|way| way.receiver).map(|end| &end.kernel);
    let finding = match kernel {
        Some(kernel) => finding
            .with("receiver_fragments_received_count", kernel.fragments_received)
            .with("receiver_reassembly_failures_count", kernel.reassembly_failures),
        None => finding,
    };
    Some(match works {
        Some(payload) => finding.with("working_payload_bytes", payload).advise(send_at_most(
            payload,
            probed.is_some(),
            cause,
        )),
        None => finding.advise(format!("Send smaller datagrams, e.g. `-l {SAFE_PAYLOAD}`. {cause}")),
    })
}

fn fragmented(way: &MeasuredDirection<'_>) -> Option<Finding> {
    let wire = way.figures.wire;
    let fragments = wire.frames_per_packet.filter(|n| *n > 1 && way.udp() && !way.plan.test.dont_fragment)?;
    let (payload, fits) = (way.figures.mss?, wire.path_udp_payload?);
    let severity = if way.loss().share >= HARMLESS { Severity::Warning } else { Severity::Info };
    let title = format!(
        "Datagrams of {payload} bytes sent {} do not fit the path, which takes {fits} bytes in one piece: each goes as {fragments} fragments, and losing one loses all",
        way.direction
    );
    let finding = Finding::new("udp-fragmented", severity, way.direction, title)
        .with("payload_bytes", payload)
        .with("fragments_per_datagram_count", fragments)
        .with("path_payload_bytes", fits)
        .with("lost_share", way.loss().share);
    Some(finding.advise(format!("Send datagrams of at most {fits} bytes: `-l {fits}`.")))
}

/// Without tests of fragments (a peer that cannot): the small datagrams that opened the stream crossed, or there were
/// no figures.
fn by_test(way: &MeasuredDirection<'_>) -> Option<Finding> {
    let fragments = way.figures.wire.frames_per_packet.filter(|n| *n > 1 && way.udp())?;
    let (sent, received) = (way.figures.sent.datagrams, way.figures.received.datagrams);
    let share = received as f64 / sent.max(1) as f64;
    let reassembled = way.receiver.map_or(0, |end| end.kernel.reassembled);
    let crossed = share > NEARLY_NOTHING || reassembled as f64 > sent as f64 * NEARLY_NOTHING;
    if way.figures.receiver_unknown || sent < ENOUGH_DATAGRAMS || crossed {
        return None;
    }
    let payload = way.figures.mss?;
    let arrived = match received {
        0 => format!("none of {}", grouped(sent)),
        some => format!("{} of {} ({})", grouped(some), grouped(sent), percent(share)),
    };
    let title = format!(
        "Fragments most likely do not cross the path {}: {arrived} datagrams of {payload} bytes arrived, each sent as {fragments} fragments, while the small ones that opened the stream did",
        way.direction
    );
    let finding = Finding::new("fragments-dropped", Severity::Problem, way.direction, title)
        .with("payload_bytes", payload)
        .with("fragments_per_datagram_count", fragments)
        .with("sent_count", sent)
        .with("received_count", received);
    Some(finding)
}

fn send_at_most(payload: u32, probed: bool, cause: &str) -> String {
    let why = match probed {
        true => "which cross",
        false => "which go in one piece by the MTU this host knows (no probe has confirmed it)",
    };
    format!("Send datagrams of at most {payload} bytes, {why}: `-l {payload}`. {cause}")
}

const LET_THROUGH: &str = "For programs that must send larger ones, let IP fragments through at the firewall or router that drops them.";
/// Below this loss fragments did no harm in this test.
const HARMLESS: f64 = 0.001;
/// A path that drops fragments may let one through by chance (reordered first fragments, state just made).
const NEARLY_NOTHING: f64 = 0.05;
/// Fewer datagrams may all die in one short outage.
const ENOUGH_DATAGRAMS: u64 = 20;
/// Crosses every IPv6 link (RFC 8200 section 5: 1280 bytes) and nearly every tunnel.
const SAFE_PAYLOAD: u32 = 1232;
