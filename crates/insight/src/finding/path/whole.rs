//! `df-ignored`, `mtu-hole` and `route-mtu`: what crosses is not what it seems, or no larger packet ever leaves.

use super::super::{Finding, Severity};
use super::Side;
use model::path::{CutDespiteDf, RouteMtu, SizeHole};

/// Packets that forbid fragments arrive in pieces: a router clears or ignores the don't-fragment bit.
pub(in super::super) fn df_ignored(side: Side<'_>) -> Option<Finding> {
    Some(cut(side, side.one_way.cut_despite_df?))
}

/// Sizes that vanish though smaller and larger packets cross.
pub(in super::super) fn hole(side: Side<'_>) -> Option<Finding> {
    Some(vanish(side, *side.one_way.holes.first()?))
}

/// The sender's own route keeps its packets to a size below its interface's.
pub(in super::super) fn route_mtu(side: Side<'_>) -> Option<Finding> {
    let route = side.one_way.route_mtu.as_ref()?;
    let crosses = side.one_way.crosses()?;
    let below = side.one_way.interface_mtu.is_some_and(|own| route.mtu < own);
    (below && route.mtu <= crosses).then(|| held(side, route, crosses))
}

fn cut(side: Side<'_>, found: CutDespiteDf) -> Finding {
    let (direction, mtu) = (side.direction, side.one_way.path_mtu.unwrap_or(found.largest_piece));
    let payload = mtu.saturating_sub(side.one_way.headers());
    let title = format!(
        "A router on the path {direction} cuts packets of {} to {} bytes although they forbid it (DF): they arrive in pieces of at \
         most {} bytes",
        found.first, found.last, found.largest_piece
    );
    Finding::new("df-ignored", Severity::Warning, direction, title)
        .with("first_cut_bytes", found.first)
        .with("last_cut_bytes", found.last)
        .with("largest_piece_bytes", found.largest_piece)
        .with_known("path_mtu_bytes", side.one_way.path_mtu)
        .advise(format!(
            "Look for a rule that clears DF (`no-df`, `df-bit clear`, \"ignore DF\" of a tunnel or VPN gateway) and take it away, \
             so that senders learn the path MTU; until then keep to packets of {mtu} bytes, UDP payloads of {payload} (`-l \
             {payload}`): a lost piece loses the whole packet, and firewalls drop pieces."
        ))
}

fn vanish(side: Side<'_>, hole: SizeHole) -> Finding {
    let (direction, headers) = (side.direction, side.one_way.headers());
    let others = match side.one_way.holes.len() {
        1 => String::new(),
        count => format!(", and so do sizes in {} more such ranges", count - 1),
    };
    let title = format!(
        "Packets of {} to {} bytes vanish {direction}, though smaller and larger ones cross{others}: none of {} arrived",
        hole.first, hole.last, hole.sent
    );
    let fits = hole.first.saturating_sub(1);
    Finding::new("mtu-hole", Severity::Problem, direction, title)
        .with("first_lost_bytes", hole.first)
        .with("last_lost_bytes", hole.last)
        .with("first_lost_payload_bytes", hole.first.saturating_sub(headers))
        .with("last_lost_payload_bytes", hole.last.saturating_sub(headers))
        .with("sent_count", hole.sent)
        .advise(format!(
            "Look for what treats these sizes otherwise: a driver or an offload of a network card, a tunnel whose outer packet just \
             exceeds a link (it is cut, and the small second piece is dropped), a filter by length. Until then keep to packets of \
             {fits} bytes, UDP payloads of {}.",
            fits.saturating_sub(headers)
        ))
}

fn held(side: Side<'_>, route: &RouteMtu, crosses: u32) -> Finding {
    let (direction, sender) = (side.direction, side.sender());
    let place = place(route);
    let path = match side.one_way.black_hole {
        Some(hole) => format!(
            "; packets of {} to {} bytes, which so never leave, would vanish on the path",
            hole.first, hole.last
        ),
        None if crosses > route.mtu => format!(", and {crosses} bytes cross"),
        None => String::new(),
    };
    let title = format!(
        "The route of {sender} ({place}) is configured with an MTU of {}{}: no larger packet of TCP or UDP leaves it whole {direction}{path}",
        route.mtu,
        if route.is_locked { ", locked" } else { "" }
    );
    let advice = match crosses > route.mtu {
        true => format!(
            "Where it is not meant so, change it at {sender}, where whatever set up the network wrote it (a CNI, a VPN client): `ip \
             route change {place} mtu {crosses}`. `ip route flush cache` does not help: it is no cached value."
        ),
        false => "Nothing is broken: the route fits the path, and TCP's MSS follows it.".into(),
    };
    Finding::new("route-mtu", Severity::Info, direction, title)
        .with("route_mtu_bytes", route.mtu)
        .with("route_name", route.network.as_str())
        .with("path_mtu_bytes", crosses)
        .advise(advice)
}

/// The route in the format of `ip route`.
fn place(route: &RouteMtu) -> String {
    let gateway = route.gateway.map(|gateway| format!(" via {gateway}")).unwrap_or_default();
    let device = route.interface.as_ref().map(|name| format!(" dev {name}")).unwrap_or_default();
    format!("{}{gateway}{device}", route.network)
}
