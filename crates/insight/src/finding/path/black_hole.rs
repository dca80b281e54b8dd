//! `mtu-black-hole`: a band of packet sizes that vanishes without a message.

use super::super::measured::{MeasuredDirection, measured_directions};
use super::super::text::capital;
use super::super::{Finding, Severity};
use super::{Side, VLAN_TAG, each_side, with_hop, without_ipv6};
use model::path::{
    BlackHole, BlackHoleCause, Bound, Discovery, EchoHole, FragmentDelivery, HopSource, TooBig, least_mtu,
};
use model::plan::Direction;
use model::run::Run;

/// Packets above a size are lost without a message to their sender.
pub(in super::super) fn black_hole(run: &Run) -> Vec<Finding> {
    let echo = echo_hole(run).filter(|hole| !is_filter(run, *hole));
    let echo = echo.map(|hole| by_data(run, hole).unwrap_or_else(|| by_echo(hole)));
    let directions = each_side(run, |side| {
        let hole = side.one_way.black_hole.or_else(|| not_believed(side))?;
        // Packets that the sender's own route keeps small never meet it: `route-mtu` names it.
        (!side.one_way.is_held_by_route()).then(|| finding(side, hole))
    });
    directions.into_iter().chain(echo).collect()
}

/// Large echo requests are not answered, though packets of their size arrive, and a path of that size is unlikely.
pub(in super::super) fn echo_filtered(run: &Run) -> Option<Finding> {
    let named = |hole| Finding { id: "echo-filtered".into(), severity: Severity::Info, ..by_echo(hole) };
    echo_hole(run).filter(|hole| is_filter(run, *hole)).map(named)
}

fn echo_hole(run: &Run) -> Option<EchoHole> {
    run.summary.path.as_ref().and_then(|path| path.echo_hole)
}

/// Other packets as large cross up.
fn is_filter(run: &Run, hole: EchoHole) -> bool {
    let up = run.summary.path.as_ref().and_then(|path| path.in_direction(Direction::Up));
    let crosses = up.and_then(|one_way| one_way.crosses()) >= Some(hole.last);
    hole.requests_arrive && hole.is_likely_filter() && crosses
}

/// Routers report a size that IPv6's hosts do not believe: one below its least MTU (RFC 8201 section 4).
fn not_believed(side: Side<'_>) -> Option<BlackHole> {
    let (mtu, interface) = (side.one_way.path_mtu?, side.one_way.interface_mtu?);
    let below =
        side.one_way.ipv6 && mtu < least_mtu(true) && mtu < interface && side.one_way.bound == Bound::Exact;
    below.then_some(BlackHole { first: mtu + 1, last: interface, cause: BlackHoleCause::Unknown })
}

/// The evidence of echo alone: sizes without a reply, and not always in which direction they vanish.
fn by_echo(hole: EchoHole) -> Finding {
    let (first, last) = (hole.first, hole.last);
    let fits = first.saturating_sub(1);
    let title = match hole.requests_arrive {
        true => format!(
            "Echo replies of {first} to {last} bytes never come, though packets of these sizes reach the far host: they \
             vanish down, or the far host answers no echo requests so large"
        ),
        false => format!(
            "Echo requests of {first} to {last} bytes stay without a reply and without a message of a router: packets of these \
             sizes vanish up or down, or a firewall drops large echo alone; echo does not show which"
        ),
    };
    let direction = hole.requests_arrive.then_some(Direction::Down);
    let finding = Finding::new("mtu-black-hole", Severity::Warning, direction, title);
    let until_then = match hole.is_likely_filter() {
        true => format!(
            "hardly a path carries no more than {fits} bytes, so that a filter of large echo requests is likely"
        ),
        false => format!("until then keep to packets of {fits} bytes in both directions"),
    };
    finding.with("first_lost_bytes", first).with("last_lost_bytes", last).advise(format!(
        "Run `pathmeter serve` at the far host and look again, which shows the direction and the cause; {until_then}."
    ))
}

/// The evidence of echo, and of a test whose packets of these sizes did not arrive.
fn by_data(run: &Run, hole: EchoHole) -> Option<Finding> {
    let lost =
        |one_way: &MeasuredDirection<'_>| one_way.is_lost_by_size() && one_way.figures.received.bytes.0 == 0;
    let one_way = measured_directions(run).find(lost)?;
    let (packet, direction) = (one_way.full_packet()?, one_way.direction);
    let (first, last, fits) = (hole.first, hole.last, hole.first.saturating_sub(1));
    let title = format!(
        "Packets of {first} to {last} bytes vanish {direction} without a message: nothing of the test arrived, which sent packets of \
         {packet} bytes, and ICMP echo of these sizes stays unanswered too"
    );
    let finding = Finding::new("mtu-black-hole", Severity::Problem, direction, title);
    Some(finding.with("first_lost_bytes", first).with("last_lost_bytes", last).advise(format!(
        "Let ICMP's messages about packets that are too big through at the firewalls on the path, or set the same MTU at both ends of \
         the link that limits it; until then keep to packets of {fits} bytes. `pathmeter serve` at the far host finds the link and \
         the cause."
    )))
}

fn finding(side: Side<'_>, hole: BlackHole) -> Finding {
    let headers = side.one_way.headers();
    let payload = |size: u32| size.saturating_sub(headers);
    let title = format!(
        "Packets of {} to {} bytes (UDP payloads of {} to {}) vanish {} without a message: {}",
        hole.first,
        hole.last,
        payload(hole.first),
        payload(hole.last),
        side.direction,
        reason(side, hole),
    );
    let finding = Finding::new("mtu-black-hole", Severity::Problem, side.direction, title)
        .with("first_lost_bytes", hole.first)
        .with("last_lost_bytes", hole.last)
        .with("first_lost_payload_bytes", payload(hole.first))
        .with("last_lost_payload_bytes", payload(hole.last))
        .with("black_hole_cause", serde_json::to_value(hole.cause).unwrap_or_default())
        .with_known("path_mtu_bytes", side.one_way.path_mtu);
    let probing = side.one_way.tcp.as_ref().and_then(|tcp| tcp.mtu_probing);
    let finding = with_hop(finding, side.one_way).with_known("tcp_mtu_probing_mode", probing);
    let cure = too_small_for_ipv6(side, hole).unwrap_or_else(|| cure(side, hole));
    let sentences = [Some(cure), nearer(side), slack(side, hole), larger(side, hole), Some(tcp(side, hole))];
    finding.advise(sentences.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn reason(side: Side<'_>, hole: BlackHole) -> String {
    let named = side.hop().filter(|_| side.one_way.limiting_hop.as_ref().and_then(|hop| hop.ttl) != Some(0));
    let router = named.unwrap_or_else(|| "a router on the path".into());
    let link = link(side).unwrap_or_else(|| "a link".into());
    if let Some((_, mtu)) = side.smaller_receiver() {
        return format!(
            "the interface of {} has an MTU of {mtu} and drops what its network sends larger",
            side.receiver()
        );
    }
    match hole.cause {
        BlackHoleCause::IcmpFiltered | BlackHoleCause::Unknown if side.one_way.untranslated > 0 => {
            format!(
                "{router} cannot pass them on, and a NAT hands its ICMP messages to {} with the packet that they quote untranslated",
                side.sender()
            )
        }
        BlackHoleCause::IcmpFiltered => {
            format!("{router} cannot pass them on, and its ICMP messages do not reach {}", side.sender())
        }
        BlackHoleCause::LinkMismatch => {
            format!(
                "they are dropped even where they may be cut, so that the two ends of {link} disagree about its MTU"
            )
        }
        BlackHoleCause::ReceiverFilter => {
            format!(
                "they reach {}, whose own kernel drops them, as a rule of its firewall does",
                side.receiver()
            )
        }
        BlackHoleCause::Unknown if is_below_ipv6(side, hole) => {
            format!("{link} takes less than the {} bytes that IPv6 needs (RFC 8200)", least_mtu(true))
        }
        BlackHoleCause::Unknown => format!(
            "{router} cannot pass them on and its ICMP messages are filtered, or the two ends of a link there disagree about its MTU"
        ),
    }
}

fn is_below_ipv6(side: Side<'_>, hole: BlackHole) -> bool {
    side.one_way.ipv6 && hole.first <= least_mtu(true) && hole.cause != BlackHoleCause::ReceiverFilter
}

/// The fix of a path that is too small for IPv6, whose hosts send packets of 1280 bytes despite any message.
fn too_small_for_ipv6(side: Side<'_>, hole: BlackHole) -> Option<String> {
    let fits = hole.first.saturating_sub(1);
    let behind = side.hop().map(|hop| format!(" behind {hop}")).unwrap_or_default();
    let (payload, mss) =
        (fits.saturating_sub(side.one_way.headers()), fits.saturating_sub(side.tcp_headers()));
    is_below_ipv6(side, hole).then(|| {
        format!(
            "Give the link{behind} an MTU of {} at least, or have it cut and join packets itself, as RFC 8200 section 5 \
             demands; until then keep UDP payloads to {payload} (`-l {payload}`) and clamp TCP's MSS to {mss}. No message of \
             a router helps, as hosts do not believe sizes below {0}, and no smaller interface MTU, which takes IPv6 from \
             the interface.",
            least_mtu(true)
        )
    })
}

/// A hop before the one that limits reports its own, larger limit.
fn nearer(side: Side<'_>) -> Option<String> {
    let reported: Option<&TooBig> = side.one_way.too_big.iter().min_by_key(|reply| reply.mtu);
    let reported = reported.filter(|_| side.one_way.discovery == Discovery::Partial)?;
    let from = reported.from.map_or_else(|| "A hop before it".into(), |from| from.to_string());
    Some(format!(
        "{from} limits too, to {} bytes, and reports it: the smaller limit behind it is the one that no router reports.",
        reported.mtu
    ))
}

/// The link at which larger packets end.
fn link(side: Side<'_>) -> Option<String> {
    let hop = side.one_way.limiting_hop.as_ref()?;
    match (hop.found_by, hop.ttl) {
        (HopSource::Trace, Some(0)) => Some(format!("the link of {} to its first router", side.sender())),
        _ => side.hop().map(|hop| format!("the link behind {hop}")),
    }
}

/// The fix, and the number that works until then.
fn cure(side: Side<'_>, hole: BlackHole) -> String {
    let fits = hole.first.saturating_sub(1);
    if let Some((device, mtu)) = side.smaller_receiver() {
        let own = side.one_way.interface_mtu.unwrap_or(hole.last);
        return format!(
            "Give the interface of {} the MTU of its network: `ip link set dev {device} mtu {own}` there. Or set {mtu} at the \
             router before it, which then informs senders; until then keep to UDP payloads of {} (`-l {0}`).",
            side.receiver(),
            mtu.saturating_sub(side.one_way.headers())
        );
    }
    let message = match side.one_way.ipv6 {
        true => "ICMPv6 type 2 (packet too big)",
        false => "ICMP type 3 code 4 (fragmentation needed)",
    };
    let let_through =
        format!("let {message} through at the firewalls on the path, so that it reaches {}", side.sender());
    let same =
        format!("set the same MTU at both ends of {}", link(side).unwrap_or_else(|| "the link".into()));
    let fix = match hole.cause {
        BlackHoleCause::IcmpFiltered | BlackHoleCause::Unknown if side.one_way.untranslated > 0 => format!(
            "have the NAT translate what ICMP errors quote (RFC 5508 section 4.2), with an update or another one, so that they are of use to {}",
            side.sender()
        ),
        BlackHoleCause::IcmpFiltered => let_through,
        BlackHoleCause::LinkMismatch => same,
        BlackHoleCause::ReceiverFilter => format!(
            "at {} find the rule that drops them by their length (`nft list ruleset`, `iptables-save`) and take it away",
            side.receiver()
        ),
        BlackHoleCause::Unknown => format!("{let_through}, or {same}"),
    };
    let payload = fits.saturating_sub(side.one_way.headers());
    format!(
        "{}; until then keep to packets of {fits} bytes: `ip link set dev {} mtu {fits}` at {}{}, UDP payloads of {payload} (`-l {payload}`).",
        capital(&fix),
        side.interface(),
        side.sender(),
        without_ipv6(fits),
    )
}

/// Where two ends disagree, what crosses is not quite what one of them is set to.
fn slack(side: Side<'_>, hole: BlackHole) -> Option<String> {
    if side.smaller_receiver().is_some() {
        return None;
    }
    let set = hole.first.checked_sub(1 + VLAN_TAG)?;
    (hole.cause == BlackHoleCause::LinkMismatch).then(|| {
        format!(
            "The smaller end is set to {} or to {set}: devices take {VLAN_TAG} bytes more, for a VLAN tag.",
            hole.first - 1
        )
    })
}

/// Larger datagrams hide the fault: their fragments may be cut again.
fn larger(side: Side<'_>, hole: BlackHole) -> Option<String> {
    let lost = matches!(
        side.one_way.fragments.delivery,
        FragmentDelivery::AllDropped
            | FragmentDelivery::NonFirstDropped
            | FragmentDelivery::FirstDropped
            | FragmentDelivery::Dropped
    );
    let whole = side.one_way.discovery != Discovery::Partial;
    (hole.cause == BlackHoleCause::IcmpFiltered && !side.one_way.ipv6 && !lost && whole).then(|| {
        format!(
            "Datagrams of more than {} bytes cross nevertheless, as {}'s kernel cuts them itself and lets routers cut them further: a test with large datagrams does not show this fault.",
            hole.last.saturating_sub(side.one_way.headers()),
            side.sender(),
        )
    })
}

/// The effect on a TCP connection by default.
fn tcp(side: Side<'_>, hole: BlackHole) -> String {
    let mss = side.other.and_then(|other| other.tcp.as_ref()).and_then(|tcp| tcp.mss_received);
    let headers = side.tcp_headers();
    let stalled = side.one_way.tcp.as_ref().is_some_and(|tcp| tcp.stalled);
    if let Some(mss) = mss.filter(|mss| !stalled && mss.saturating_add(headers) < hole.first) {
        return format!(
            "TCP is not hit: its MSS of {mss} keeps its packets to {} bytes.",
            mss.saturating_add(headers)
        );
    }
    let tcp = side.one_way.tcp.as_ref();
    let largest = tcp.and_then(|tcp| tcp.largest_segment).filter(|_| !stalled);
    if let Some(largest) = largest.filter(|largest| largest.saturating_add(headers) >= hole.first) {
        return format!(
            "TCP crossed in this test with segments of {largest} bytes: devices without hardware hand on many of them as one packet and ask for no MTU."
        );
    }
    let sender = side.sender();
    let stalls = if stalled { "stalls (it did in this test)" } else { "stalls" };
    match tcp.and_then(|tcp| tcp.mtu_probing) {
        Some(2) => format!("TCP of {sender} finds the size by itself (`net.ipv4.tcp_mtu_probing` is 2)."),
        Some(1) => format!(
            "TCP of {sender} {stalls} for some seconds and then finds the size by itself (`net.ipv4.tcp_mtu_probing` is 1)."
        ),
        Some(_) => format!(
            "TCP of {sender} {stalls} as soon as it fills a packet; `sysctl -w net.ipv4.tcp_mtu_probing=1` there lets it find the size after some seconds."
        ),
        None => format!(
            "TCP of {sender} {stalls} as soon as it fills a packet, unless `net.ipv4.tcp_mtu_probing` is 1 or 2 there."
        ),
    }
}
