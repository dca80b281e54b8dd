//! The hypothesis that packets of some sizes do not cross: each direction is searched for what does, and why not more.

use super::{Case, Probed, Result};
use crate::work::path;
use model::event::Event;
use model::path::{PathDirection, PathMethod, PathPlan, PathResult};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::summary::DirectionSummary;

/// Raised where packet sizes are the reason.
pub(super) const FINDINGS: &[&str] = &[
    "mtu-black-hole",
    "tcp-blackhole",
    "mtu-discovery-wrong",
    "paths-differ",
    "fragments-dropped",
    "udp-fragmented",
    "size-dependent-loss",
];

/// Nearly nothing arrived, or something was lost that no rate explains, and the sizes are not known yet.
pub(super) fn suspects(case: &Case<'_>, direction: Direction) -> bool {
    let known = case.run.summary.path.as_ref().and_then(|path| path.in_direction(direction));
    known.is_none()
        && case.run.summary.direction(direction).is_some_and(|one_way| is_odd(case, one_way, direction))
}

fn is_odd(case: &Case<'_>, one_way: &DirectionSummary, direction: Direction) -> bool {
    match one_way.transport {
        Transport::Tcp => one_way.received.bytes.0 == 0 || case.finding(direction, &["outage", "path-loss"]),
        Transport::Udp => {
            let nothing = one_way.received.datagrams.saturating_mul(NEARLY_NOTHING) <= one_way.sent.datagrams;
            let fragments = one_way.wire.frames_per_packet.is_some_and(|frames| frames > 1);
            !one_way.receiver_unknown && one_way.sent.datagrams > 0 && (nothing || fragments)
        }
    }
}

/// Searches the direction: with the pathmeter at the far end, or by what the host itself answers.
pub(super) fn probe(case: &mut Case<'_>, direction: Direction) -> Result<Probed> {
    let found = if case.subject.is_native { by_peer(case, direction)? } else { by_answers(case)? };
    let one_way = found.in_direction(direction);
    let mut probed = Probed { packets: found.packets, ..Probed::default() };
    if let Some(mtu) = one_way.and_then(|one_way| one_way.path_mtu) {
        probed.evidence.insert("path_mtu_bytes".into(), mtu.into());
    }
    if let Some(hole) = one_way.and_then(|one_way| one_way.black_hole) {
        probed.evidence.insert("first_lost_bytes".into(), hole.first.into());
        probed.evidence.insert("last_lost_bytes".into(), hole.last.into());
    }
    probed.events.push(Event::Path(Box::new(found)));
    Ok(probed)
}

fn by_peer(case: &mut Case<'_>, direction: Direction) -> Result<PathResult> {
    let mut found = path::measure_directions(case.prober()?, &[direction])?;
    if let Some(one_way) = found.way_mut(direction) {
        note_stall(&case.run, direction, one_way);
    }
    Ok(found)
}

/// Both directions at once: a second look would find the same.
fn by_answers(case: &Case<'_>) -> Result<PathResult> {
    let plan = PathPlan {
        target: case.subject.target.clone(),
        method: PathMethod::Auto,
        largest: None,
        service: None,
        encap: None,
        local: case.subject.local.clone(),
    };
    let mut found = path::ask_host(&plan, &case.options.stop)?;
    for direction in [Direction::Up, Direction::Down] {
        if let Some(one_way) = found.way_mut(direction) {
            note_stall(&case.run, direction, one_way);
        }
    }
    Ok(found)
}

/// The test itself was the test of TCP: a connection on which nothing came in the end.
fn note_stall(run: &Run, direction: Direction, one_way: &mut PathDirection) {
    let Some(figures) = run.summary.direction(direction).filter(|of| of.transport == Transport::Tcp) else {
        return;
    };
    let tcp = one_way.tcp.get_or_insert_default();
    tcp.retransmits = figures.retransmits;
    tcp.segments = figures.segments.and_then(|segments| segments.sent);
}

/// One datagram in so many is nearly nothing.
const NEARLY_NOTHING: u64 = 20;
