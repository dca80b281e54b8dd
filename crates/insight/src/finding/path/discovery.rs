//! Path MTU of senders: packet-too-big messages with a wrong size, and a path MTU cached too long.

use super::super::{Finding, Severity};
use super::{Side, without_ipv6};
use model::path::{Discovery, TooBig};

/// ICMP packet-too-big messages report another size than the one that crosses.
pub(in super::super) fn wrong(side: Side<'_>) -> Option<Finding> {
    let (mtu, reported) = (side.one_way.path_mtu?, worst(&side)?);
    (side.one_way.discovery == Discovery::Lies).then(|| lie(side, mtu, reported))
}

/// The kernel of the sender remembers a path MTU below what crosses.
pub(in super::super) fn stale(side: Side<'_>) -> Option<Finding> {
    let (cached, crosses) = (side.one_way.cached_mtu?, side.one_way.crosses()?);
    // Sizes in the messages of this very test may have been learnt from it.
    let claimed = side.one_way.discovery == Discovery::Lies
        && side.one_way.too_big.iter().any(|reported| reported.mtu == cached);
    let configured = side.one_way.route_mtu.as_ref().is_some_and(|route| route.mtu == cached);
    (cached < crosses && !claimed && !configured).then(|| remembered(side, cached, crosses))
}

/// The message that cannot be right and has the largest size that does not cross; else one without a size, or the smallest. A
/// hop that reports its own limit is not the cause of another's silence.
fn worst(side: &Side<'_>) -> Option<TooBig> {
    let (one_way, mtu) = (side.one_way, side.one_way.path_mtu?);
    let others = || one_way.too_big.iter().filter(move |reported| reported.mtu != mtu);
    let provable: Vec<&TooBig> = others()
        .filter(|reported| reported.is_wrong(mtu, one_way.limiting_hop.as_ref(), &one_way.hops))
        .collect();
    let wrong = if provable.is_empty() { others().collect() } else { provable };
    let above = wrong.iter().filter(|reported| reported.mtu > mtu).max_by_key(|reported| reported.mtu);
    above.or_else(|| wrong.iter().min_by_key(|reported| reported.mtu)).map(|reported| **reported)
}

fn lie(side: Side<'_>, mtu: u32, reported: TooBig) -> Finding {
    let direction = side.direction;
    let from = reported.from.map_or_else(|| "A router on the path".into(), |from| from.to_string());
    let (severity, title) = match reported.mtu {
        0 => (
            Severity::Warning,
            format!(
                "{from} reports that packets are too big {direction} and not which size crosses, which is {mtu} bytes"
            ),
        ),
        high if high > mtu => (
            Severity::Problem,
            format!(
                "{from} reports that packets of {high} bytes cross {direction}, and {mtu} is the largest that does"
            ),
        ),
        low => (
            Severity::Warning,
            format!(
                "{from} reports that no more than {low} bytes cross {direction}, though packets of {mtu} do"
            ),
        ),
    };
    let finding = Finding::new("mtu-discovery-wrong", severity, direction, title)
        .with("told_mtu_bytes", reported.mtu)
        .with("path_mtu_bytes", mtu)
        .with("messages_count", reported.count)
        .with_known("told_by_address", reported.from.map(|from| from.to_string()));
    if side.one_way.interface_mtu.is_some_and(|own| mtu >= own) {
        return finding.advise(whole(side));
    }
    finding.advise(format!(
        "Look at the MTU of that router's interfaces, routes and tunnels. Until it reports the right size, set it by hand: `ip link set dev {} mtu {mtu}` at {}{}, UDP payloads of at most {} bytes.",
        side.interface(),
        side.sender(),
        without_ipv6(mtu),
        mtu.saturating_sub(side.one_way.headers()),
    ))
}

/// The path carries all that the interface sends: the messages do nothing but harm.
fn whole(side: Side<'_>) -> String {
    let (sender, family) = (side.sender(), if side.one_way.ipv6 { "-6 " } else { "" });
    format!(
        "Find out who sends them: a router with a wrong MTU on an interface, route or tunnel, or somebody who forges its \
         address (a capture shows their TTL and link address). TCP and most programs of {sender} keep to the smaller size \
         for up to 10 minutes after each; `ip {family}route flush cache` there makes it forget."
    )
}

fn remembered(side: Side<'_>, cached: u32, crosses: u32) -> Finding {
    let sender = side.sender();
    let title = format!(
        "The kernel of {sender} still believes that packets of at most {cached} bytes cross {}, and {crosses} bytes do",
        side.direction
    );
    let flush = if side.one_way.ipv6 { "ip -6 route flush cache" } else { "ip route flush cache" };
    Finding::new("stale-path-mtu", Severity::Warning, side.direction, title)
        .with("cached_mtu_bytes", cached)
        .with("path_mtu_bytes", crosses)
        .advise(format!(
            "TCP and most UDP programs of {sender} use it for up to 10 minutes after the ICMP message that set it: `{flush}` there ends it (and `ip tcp_metrics flush`). If it comes back, a route has an `mtu` of its own (`ip route get`), or something keeps reporting it."
        ))
}
