//! Packet sizes of a path: the findings from `summary.path`.

mod black_hole;
mod discovery;
mod flows;
mod mss;
mod reduced;
mod service;
mod tcp;
mod verdict;
mod whole;

pub(super) use black_hole::{black_hole, echo_filtered};
pub(super) use discovery::{stale, wrong};
pub(super) use flows::differ as paths_differ;
pub(super) use mss::clamped;
pub(super) use reduced::{asymmetric, changed, reduced, size_dependent_loss};
pub(super) use service::service_limit;
pub(super) use tcp::black_hole as tcp_black_hole;
pub(super) use verdict::verdict_of_run as verdict;
pub(super) use whole::{df_ignored, hole, route_mtu};

use super::Finding;
use model::path::{EchoHole, HopSource, LimitingHop, PathDirection, PathResult, least_mtu};
use model::plan::Direction;
use model::run::Run;

/// One direction of a path, with what lies around it.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    run: &'a Run,
    direction: Direction,
    one_way: &'a PathDirection,
    /// The other direction, where it is known.
    other: Option<&'a PathDirection>,
}

/// Packets of this size vanish in a direction: a finding about sizes names them, and what is lost with them is not counted again.
pub(super) fn loses(run: &Run, direction: Direction, packet: u32) -> bool {
    let Some(path) = &run.summary.path else { return false };
    let hole = path.echo_hole.filter(|hole| !hole.is_likely_filter());
    path.in_direction(direction).is_some_and(|one_way| one_way.loses(packet))
        // Echo does not always show the direction: the one that lost packets of these sizes does.
        || hole.is_some_and(|hole| (hole.first..=hole.last).contains(&packet) && may_lose(hole, direction))
}

/// The sizes that stayed without a reply may have vanished in this direction.
fn may_lose(hole: EchoHole, direction: Direction) -> bool {
    direction == Direction::Down || !hole.requests_arrive
}

/// Asks every direction whose packet sizes are known, up first.
pub(super) fn each_side(run: &Run, judge: fn(Side<'_>) -> Option<Finding>) -> Vec<Finding> {
    let Some(path) = &run.summary.path else { return Vec::new() };
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter_map(|each| judge(Side::from_run(run, path, each)?))
        .collect()
}

impl<'a> Side<'a> {
    fn from_run(run: &'a Run, path: &'a PathResult, direction: Direction) -> Option<Side<'a>> {
        Some(Side {
            run,
            direction,
            one_way: path.in_direction(direction)?,
            other: path.in_direction(direction.reversed()),
        })
    }

    /// The end that sends, in words.
    fn sender(&self) -> &'static str {
        self.direction.choose("this host", "the far host")
    }

    /// The sender's interface.
    fn interface(&self) -> &'a str {
        let host = self.direction.choose(&self.run.host, &self.run.peer);
        host.as_ref().and_then(|host| host.nic.as_ref()).map_or("INTERFACE", |nic| nic.name.as_str())
    }

    /// The end that receives, in words.
    fn receiver(&self) -> &'static str {
        self.direction.choose("the far host", "this host")
    }

    /// The receiver's own interface and its MTU, where that is what packets are too large for: it carries what crosses, give or
    /// take a VLAN tag, and the hop that limits is the last one.
    fn smaller_receiver(&self) -> Option<(&'a str, u32)> {
        let (crosses, sent) = (self.one_way.path_mtu?, self.one_way.interface_mtu?);
        let own = self.other?.interface_mtu?;
        let last = self.one_way.hops.iter().map(|hop| hop.ttl).max().unwrap_or(0);
        let limit = self.one_way.limiting_hop.as_ref().filter(|hop| hop.found_by == HopSource::Trace)?;
        let is_own = (own..=own.saturating_add(VLAN_TAG)).contains(&crosses) && own < sent;
        let host = self.direction.choose(&self.run.peer, &self.run.host);
        let device =
            host.as_ref().and_then(|host| host.nic.as_ref()).map_or("INTERFACE", |nic| nic.name.as_str());
        (is_own && limit.ttl == Some(last)).then_some((device, own))
    }

    /// Headers of IP and TCP without options.
    fn tcp_headers(&self) -> u32 {
        if self.one_way.ipv6 { 60 } else { 40 }
    }

    /// The largest packet that TCP's segments make in this direction, as the MSS, the sender's path MTU and its interface
    /// allow.
    fn full_segment(&self) -> Option<u32> {
        let mss = self.other.and_then(|other| other.tcp.as_ref()).and_then(|tcp| tcp.mss_received);
        let packet = mss.map(|mss| mss.saturating_add(self.tcp_headers()));
        let believed = self.one_way.tcp.as_ref().and_then(|tcp| tcp.path_mtu);
        [packet, believed, self.one_way.interface_mtu].into_iter().flatten().min()
    }

    /// The hop that limits, in words: `hop 2 (10.0.0.1)`.
    fn hop(&self) -> Option<String> {
        self.one_way.limiting_hop.as_ref().and_then(hop)
    }
}

fn hop(hop: &LimitingHop) -> Option<String> {
    match (hop.ttl, hop.address) {
        _ if hop.found_by == HopSource::Sender => None,
        (Some(ttl), Some(address)) => Some(format!("hop {ttl} ({address})")),
        (Some(ttl), None) => Some(format!("hop {ttl}")),
        (None, Some(address)) => Some(address.to_string()),
        (None, None) => None,
    }
}

/// Devices take it beyond their MTU (IEEE 802.1Q).
const VLAN_TAG: u32 = 4;

/// A further effect of an interface MTU of this size.
fn without_ipv6(mtu: u32) -> &'static str {
    if mtu < least_mtu(true) { " (which takes IPv6 from it: that needs 1280)" } else { "" }
}

/// Adds the hop that limits, as far as it is known.
fn with_hop(finding: Finding, one_way: &PathDirection) -> Finding {
    let Some(hop) = &one_way.limiting_hop else { return finding };
    let address = hop.address.map(|address| address.to_string());
    finding.with_known("hop_address", address).with_known("distance_hops", hop.ttl)
}
