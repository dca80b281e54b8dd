//! The hypothesis that packets of some sizes do not cross: each direction is searched for what does, and why not more.

use super::{Case, Probed, Result};
use crate::work::path;
use model::event::Event;
use model::path::{PathDirection, PathMethod, PathPlan, PathResult};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::Role;
use model::summary::DirectionSummary;

/// Raised where packet sizes are the reason.
pub(super) const FINDINGS: &[&str] = &[
    "mtu-black-hole",
    "tcp-blackhole",
    "mtu-hole",
    "df-ignored",
    "mtu-discovery-wrong",
    "paths-differ",
    "fragments-dropped",
    "udp-fragmented",
    "size-dependent-loss",
];

/// Nearly nothing arrived, or something was lost that no rate explains, and the sizes are not known yet.
pub(super) fn suspects(case: &Case<'_>, direction: Direction) -> bool {
    let known = case.run.summary.path.as_ref().and_then(|path| path.in_direction(direction));
    let of_test = || {
        let one_way = case.run.summary.direction(direction);
        one_way.is_some_and(|one_way| is_odd(case, one_way, direction))
    };
    known.is_none() && (of_test() || is_silent(case, direction) || is_stalled(case))
}

/// Messages of round trips, of more than every path carries, were lost.
fn is_silent(case: &Case<'_>, direction: Direction) -> bool {
    let large = case.run.latency().is_some_and(|plan| plan.size > SMALL_MESSAGE);
    large && case.finding(direction, &["no-reply", "path-loss", "outage"])
}

/// A transfer reached its server and then stood still.
fn is_stalled(case: &Case<'_>) -> bool {
    let transfers = case.run.summary.transfer.iter().flat_map(|found| &found.transfers);
    // A server that refuses a request does so with a status and at once.
    let mut failed = transfers.filter(|one| one.error.is_some() && one.times.connect.is_some());
    failed.any(|one| one.status.is_none_or(|status| (200..300).contains(&status)) || one.bytes.0 > 0)
}

fn is_odd(case: &Case<'_>, one_way: &DirectionSummary, direction: Direction) -> bool {
    match one_way.transport {
        Transport::Tcp => {
            one_way.received.bytes.0 == 0
                || case.finding(direction, &["outage", "path-loss", "tcp-crippled"])
                || is_held_tiny(case, direction)
        }
        Transport::Udp => {
            let nothing = one_way.received.datagrams.saturating_mul(NEARLY_NOTHING) <= one_way.sent.datagrams;
            let fragments = one_way.wire.frames_per_packet.is_some_and(|frames| frames > 1);
            let lost = case.finding(direction, &["path-loss"]) && !is_unlimited(case);
            let odd = nothing || fragments || lost || is_cut(case, one_way, direction);
            !one_way.receiver_unknown && one_way.sent.datagrams > 0 && odd
        }
    }
}

/// The sender's kernel believes in a path that is smaller than any in use: a router reported a size that is too small, or none.
fn is_held_tiny(case: &Case<'_>, direction: Direction) -> bool {
    let summary = &case.run.summary;
    let (sender, host) = direction.choose((&summary.local, &case.run.host), (&summary.peer, &case.run.peer));
    let rows = sender.iter().flat_map(|end| &end.streams).filter(|row| row.role == Role::Sender);
    let believed =
        rows.filter_map(|row| row.tcp.as_ref()).map(|tcp| tcp.path_mtu).filter(|mtu| *mtu > 0).min();
    let own = host.as_ref().and_then(|host| Some(host.nic.as_ref()?.mtu));
    believed.zip(own).is_some_and(|(believed, own)| believed < TINY && believed < own)
}

/// Loss is what comes of sending as fast as possible.
fn is_unlimited(case: &Case<'_>) -> bool {
    case.subject.plan.as_ref().is_some_and(|plan| plan.test.bitrate.is_none())
}

/// The receiver's kernel put together what was sent whole.
fn is_cut(case: &Case<'_>, one_way: &DirectionSummary, direction: Direction) -> bool {
    let summary = &case.run.summary;
    let receiver = if direction == Direction::Up { &summary.peer } else { &summary.local };
    let reassembled = receiver.as_ref().map_or(0, |end| end.kernel.reassembled);
    reassembled.saturating_mul(2) > one_way.received.datagrams
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
    let message = case.run.latency().map(|plan| plan.size);
    let headers = model::path::headers(case.subject.target.address.is_ipv6());
    let sizes: Vec<u32> = insight::finding::packet_of_test(&case.run, direction)
        .or(message.map(|size| size.saturating_add(headers)))
        .into_iter()
        .collect();
    let mut found = path::measure_directions(case.prober()?, &[direction], &sizes)?;
    if let Some(one_way) = found.direction_mut(direction) {
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
        if let Some(one_way) = found.direction_mut(direction) {
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

/// Payload of messages that every path carries (RFC 791: packets of 576 bytes).
const SMALL_MESSAGE: u32 = 500;
/// Every host takes packets of 576 bytes (RFC 791); Linux goes down to 552 where a router names no size.
const TINY: u32 = 576;
/// One datagram in so many is nearly nothing.
const NEARLY_NOTHING: u64 = 20;
