//! `mtu-black-hole`: a band of packet sizes that vanishes without a word.

use super::super::text::capital;
use super::super::{Finding, Severity};
use super::{Side, each_way, with_hop};
use model::path::{BlackHole, BlackHoleCause, FragmentFate};
use model::run::Run;

/// Packets above a size are lost and their sender is not told.
pub(in super::super) fn black_hole(run: &Run) -> Vec<Finding> {
    each_way(run, |side| Some(finding(side, side.way.black_hole?)))
}

fn finding(side: Side<'_>, hole: BlackHole) -> Finding {
    let headers = side.way.headers();
    let payload = |size: u32| size.saturating_sub(headers);
    let title = format!(
        "Packets of {} to {} bytes (UDP payloads of {} to {}) vanish {} without a word: {}",
        hole.first,
        hole.last,
        payload(hole.first),
        payload(hole.last),
        side.direction,
        reason(side, hole.cause),
    );
    let finding = Finding::new("mtu-black-hole", Severity::Problem, side.direction, title)
        .with("first_lost_bytes", hole.first)
        .with("last_lost_bytes", hole.last)
        .with("first_lost_payload_bytes", payload(hole.first))
        .with("last_lost_payload_bytes", payload(hole.last))
        .with("black_hole_cause", name(hole.cause))
        .with_known("path_mtu_bytes", side.way.path_mtu);
    let probing = side.way.tcp.as_ref().and_then(|tcp| tcp.mtu_probing);
    let finding = with_hop(finding, side.way).with_known("tcp_mtu_probing_mode", probing.map(u32::from));
    let sentences = [Some(cure(side, hole)), slack(hole), larger(side, hole), Some(tcp(side, hole))];
    finding.advise(sentences.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

fn reason(side: Side<'_>, cause: BlackHoleCause) -> String {
    let router = side.hop().unwrap_or_else(|| "a router on the way".into());
    let link = side.hop().map_or_else(|| "a link".into(), |hop| format!("the link behind {hop}"));
    match cause {
        BlackHoleCause::IcmpFiltered => {
            format!("{router} cannot pass them on, and its ICMP messages do not reach {}", side.sender())
        }
        BlackHoleCause::LinkMismatch => {
            format!(
                "they are dropped even where they may be cut, so that the two ends of {link} disagree about its MTU"
            )
        }
        BlackHoleCause::Unknown => format!(
            "{router} cannot pass them on and its ICMP messages are filtered, or the two ends of a link there disagree about its MTU"
        ),
    }
}

/// What mends it, and the number that works until then.
fn cure(side: Side<'_>, hole: BlackHole) -> String {
    let fits = hole.first.saturating_sub(1);
    let message = match side.way.ipv6 {
        true => "ICMPv6 type 2 (packet too big)",
        false => "ICMP type 3 code 4 (fragmentation needed)",
    };
    let let_through =
        format!("let {message} through at the firewalls on the way, so that it reaches {}", side.sender());
    let behind = side.hop().map(|hop| format!(" behind {hop}")).unwrap_or_default();
    let same = format!("set the same MTU at both ends of the link{behind}");
    let mend = match hole.cause {
        BlackHoleCause::IcmpFiltered => let_through,
        BlackHoleCause::LinkMismatch => same,
        BlackHoleCause::Unknown => format!("{let_through}, or {same}"),
    };
    let payload = fits.saturating_sub(side.way.headers());
    format!(
        "{}; until then keep to packets of {fits} bytes: `ip link set dev {} mtu {fits}` at {}, UDP payloads of {payload} (`-l {payload}`).",
        capital(&mend),
        side.interface(),
        side.sender(),
    )
}

/// Where two ends disagree, what crosses is not quite what one of them is set to.
fn slack(hole: BlackHole) -> Option<String> {
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
        side.way.fragments.fate,
        FragmentFate::AllDropped
            | FragmentFate::NonFirstDropped
            | FragmentFate::FirstDropped
            | FragmentFate::Dropped
    );
    (hole.cause == BlackHoleCause::IcmpFiltered && !side.way.ipv6 && !lost).then(|| {
        format!(
            "Datagrams of more than {} bytes cross nevertheless, as {}'s kernel cuts them itself and lets routers cut them further: a test with large datagrams does not show this fault.",
            hole.last.saturating_sub(side.way.headers()),
            side.sender(),
        )
    })
}

/// What becomes of a TCP connection as it is by default.
fn tcp(side: Side<'_>, hole: BlackHole) -> String {
    let mss = side.other.and_then(|other| other.tcp.as_ref()).and_then(|tcp| tcp.mss_received);
    let headers = side.tcp_headers();
    let stalled = side.way.tcp.as_ref().is_some_and(|tcp| tcp.stalled);
    if let Some(mss) = mss.filter(|mss| !stalled && mss.saturating_add(headers) < hole.first) {
        return format!(
            "TCP is not hit: its MSS of {mss} keeps its packets to {} bytes.",
            mss.saturating_add(headers)
        );
    }
    let tcp = side.way.tcp.as_ref();
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

/// As in documents.
fn name(cause: BlackHoleCause) -> &'static str {
    match cause {
        BlackHoleCause::IcmpFiltered => "icmp_filtered",
        BlackHoleCause::LinkMismatch => "link_mismatch",
        BlackHoleCause::Unknown => "unknown",
    }
}

/// IEEE 802.1Q.
const VLAN_TAG: u32 = 4;
