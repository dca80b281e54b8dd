//! `mss-clamped`: TCP is held to smaller segments than its hosts agreed on.

use super::super::measured::{MeasuredDirection, measured_directions};
use super::super::text::percent;
use super::super::{Finding, Severity};
use super::{Side, each_side};
use model::path::{TcpDirection, usual_least};
use model::plan::Direction;
use model::run::Run;

/// A SYN arrived with another MSS than it left with, or segments stay smaller than MSS and path allow.
///
/// The direction is that of the SYN, or that of the segments.
pub(in super::super) fn clamped(run: &Run) -> Vec<Finding> {
    let by_probes = each_side(run, |side| {
        let tcp = side.one_way.tcp.as_ref()?;
        match (tcp.mss_sent, tcp.mss_received) {
            // A SYN that arrived without the option, or a sender that went by the default (RFC 9293 section 3.7.1).
            (Some(sent), None) if tcp.syn.is_some() => Some(removed(side, sent)),
            (Some(sent), Some(received))
                if received == default_mss(side) && sent > received && tcp.syn.is_none() =>
            {
                Some(removed(side, sent))
            }
            // Without the SYN itself the MSS is known from the segments, which a window may hold smaller.
            (Some(sent), Some(received))
                if sent > received && received > HALF_A_WINDOW && tcp.syn.is_none() =>
            {
                None
            }
            (Some(sent), Some(received)) if sent != received => Some(changed(side, sent, received)),
            _ => small(side, tcp),
        }
    });
    let by_test =
        measured_directions(run).filter_map(|one_way| defaulted(&one_way).or_else(|| tiny(&one_way)));
    // An MSS that the SYNs show themselves needs no guess from segments.
    let found = |other: &Finding| by_probes.iter().any(|one| one.direction == other.direction);
    let by_test: Vec<Finding> = by_test.filter(|one| !found(one)).collect();
    by_probes.into_iter().chain(by_test).collect()
}

/// A test of throughput whose segments have the size of a peer that announced no MSS, though the kernel believes in a larger path.
fn defaulted(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let ipv6 = one_way.plan.target.address.is_ipv6();
    let (default, headers) = if ipv6 { (1220, 60) } else { (536, 40) };
    let packet = one_way.full_packet().filter(|_| !one_way.udp() && one_way.plan.test.mss.is_none())?;
    let believed = one_way.tcp_rows().map(|tcp| tcp.path_mtu).min()?;
    // 1280 bytes are the least MTU of IPv6, which an interface may well have.
    if ipv6 || packet != default + headers || believed <= packet {
        return None;
    }
    let from = one_way.direction.reversed();
    let title = format!(
        "TCP's segments {} have {default} bytes, the default of a SYN without an MSS option, though the kernel believes in a path \
         of {believed}: a box on the path {from} removes the option, or sets it to {default}",
        one_way.direction
    );
    let finding = Finding::new("mss-clamped", Severity::Warning, from, title)
        .with("mss_received_bytes", default)
        .with("believed_mtu_bytes", believed);
    Some(finding.advise(REMOVED))
}

/// A test of throughput whose segments are smaller than any path needs, though the kernel believes in a larger one.
fn tiny(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let ipv6 = one_way.plan.target.address.is_ipv6();
    let (least, headers) = (usual_least(ipv6), if ipv6 { 60 } else { 40 });
    let packet = one_way.full_packet().filter(|_| !one_way.udp() && one_way.plan.test.mss.is_none())?;
    let rows = || one_way.tcp_rows();
    let believed = rows().map(|tcp| tcp.path_mtu).min()?;
    // Linux keeps segments to half of a small window, and halves them where a connection stalls (`tcp_mtu_probing`).
    let by_window = rows().any(|tcp| tcp.max_send_window.0 < u64::from(tcp.send_mss).saturating_mul(4));
    let moves = one_way.figures.received.bytes.0 > 0 && !one_way.is_crippled();
    if packet >= least || believed < least || by_window || !moves {
        return None;
    }
    let (from, mss) = (one_way.direction.reversed(), packet.saturating_sub(headers));
    let receiver = if from == Direction::Up { "this host" } else { "the far host" };
    let title = format!(
        "TCP's segments {} have at most {mss} bytes (packets of {packet}), though the kernel believes in a path of {believed}: the MSS \
         in the SYN {from} is that small, by a box on the path or by the route of {receiver}",
        one_way.direction
    );
    let finding = Finding::new("mss-clamped", Severity::Warning, from, title)
        .with("mss_received_bytes", mss)
        .with("believed_mtu_bytes", believed);
    Some(finding.advise(format!(
        "`pathmeter mtu` shows the MSS as it left and as it arrived. Look for a clamp on the path (`tcp option maxseg size set`, \
         `-j TCPMSS --set-mss`) and for `advmss` of the route at {receiver} (`ip route get`): every path takes packets of {least} bytes, and such \
         small ones cost packets, CPU and header bytes."
    )))
}

/// A box on the path wrote another MSS into the SYN, which limits the segments of the other direction.
fn changed(side: Side<'_>, sent: u32, received: u32) -> Finding {
    let limited = side.direction.reversed();
    let headers = side.tcp_headers();
    let packet = received.saturating_add(headers);
    let path = side.other.and_then(|one_way| one_way.crosses()).or_else(|| side.one_way.crosses());
    let (severity, fits) = match path {
        None => (Severity::Info, String::new()),
        Some(mtu) if packet == mtu => (Severity::Info, format!(", which fits the path's {mtu} exactly")),
        Some(mtu) if packet < mtu => {
            let costs = gain(mtu.saturating_sub(headers), received, headers) >= COSTLY;
            (if costs { Severity::Warning } else { Severity::Info }, format!(", though {mtu} cross"))
        }
        Some(mtu) => (Severity::Warning, format!(", and no more than {mtu} cross")),
    };
    let title = format!(
        "A box on the path {} changes the MSS of TCP's SYN from {sent} to {received}: packets {limited} have at most {packet} bytes{fits}",
        side.direction
    );
    let largest = side.other.and_then(|one_way| one_way.tcp.as_ref()).and_then(|tcp| tcp.largest_segment);
    let finding = Finding::new("mss-clamped", severity, side.direction, title)
        .with("mss_sent_bytes", sent)
        .with("mss_received_bytes", received)
        .with_known("path_mtu_bytes", path)
        .with_known("largest_segment_bytes", largest);
    let best = path.map(|mtu| mtu.saturating_sub(headers));
    let setting = |mss: u32| format!("`nft … tcp option maxseg size set {mss}` (or `rt mtu`)");
    finding.advise(match best {
        Some(best) if best == received => {
            "Nothing to fix: the clamp keeps TCP's packets whole.".to_owned()
        }
        Some(best) if best < received => format!(
            "The clamp does not go far enough: set it to {best} at the router that writes it, {}.",
            setting(best)
        ),
        Some(best) => format!(
            "Where the router that writes it can be reached, {best} is what fits this path: {}. It would give {} more goodput on a full link.",
            setting(best),
            percent(gain(best, received, headers))
        ),
        None => "Look at the path MTU before changing it: clamps are there for tunnels that are not known here.".to_owned(),
    })
}

/// The MSS of a peer that announced none.
fn default_mss(side: Side<'_>) -> u32 {
    if side.one_way.ipv6 { 1220 } else { 536 }
}

fn removed(side: Side<'_>, sent: u32) -> Finding {
    let (direction, limited, default) = (side.direction, side.direction.reversed(), default_mss(side));
    let is_shown = side.one_way.tcp.as_ref().is_some_and(|tcp| tcp.syn.is_some());
    // The SYN itself shows that the option is missing; segments show the size alone.
    let or_sets = if is_shown { String::new() } else { format!(", or sets it to {default}") };
    let title = format!(
        "A box on the path {direction} removes the MSS option ({sent}) from TCP's SYN{or_sets}: segments {limited} have at most {default} \
         bytes, which is the default without it"
    );
    Finding::new("mss-clamped", Severity::Warning, direction, title)
        .with("mss_sent_bytes", sent)
        .with("mss_received_bytes", default)
        .with_known("path_mtu_bytes", side.other.and_then(|one_way| one_way.crosses()))
        .advise(REMOVED)
}

/// Segments smaller than anything known explains.
fn small(side: Side<'_>, tcp: &TcpDirection) -> Option<Finding> {
    let (largest, segments) = (tcp.largest_segment?, tcp.segments?);
    let mss = side.other?.tcp.as_ref()?.mss_received?;
    let mtu = side.one_way.crosses()?;
    let options = if tcp.timestamps { TIMESTAMPS } else { 0 };
    let allowed = mss.min(mtu.checked_sub(side.tcp_headers())?).checked_sub(options)?;
    let believed = side.one_way.cached_mtu.is_some_and(|cached| cached < mtu);
    // Routers reported a smaller path to the connection: no middlebox cut it short.
    let reported = tcp.path_mtu.is_some_and(|own| own < mtu);
    let explained =
        believed || reported || tcp.stalled || tcp.mtu_probing == Some(2) || allowed > HALF_A_WINDOW;
    if explained || largest >= allowed || segments < ENOUGH {
        return None;
    }
    let title = format!(
        "TCP's segments {} carried up to {largest} bytes, though MSS and path allow {allowed}",
        side.direction
    );
    let finding = Finding::new("mss-clamped", Severity::Info, side.direction, title)
        .with("largest_segment_bytes", largest)
        .with("allowed_segment_bytes", allowed)
        .with("mss_received_bytes", mss)
        .with("segments_count", segments);
    Some(finding.advise(format!(
        "Look for a proxy on the path that ends TCP and begins it anew, or for an `advmss` of the route at {} (`ip route get`).",
        side.sender()
    )))
}

/// The gain of larger segments on the same link: the share of payload in a frame, against that of smaller ones.
fn gain(best: u32, now: u32, headers: u32) -> f64 {
    let share = |mss: u32| f64::from(mss) / (f64::from(mss) + f64::from(headers) + ETHERNET);
    if now == 0 { 0.0 } else { share(best) / share(now) - 1.0 }
}

const REMOVED: &str = "Look for a firewall, proxy or load balancer that rewrites TCP options (\"normalisation\", \"scrub\", `reset tcp \
                       option maxseg`) and let the MSS option pass, or set it to what the path carries: small segments cost \
                       packets, CPU and header bytes.";
/// A smaller loss is the margin that a careful operator leaves.
const COSTLY: f64 = 0.002;
/// Addresses, type and FCS, preamble and gap of a frame.
const ETHERNET: f64 = 38.0;
/// Timestamps in every segment, padded (RFC 7323).
const TIMESTAMPS: u32 = 12;
/// Linux keeps segments to half of the first window (`tcp_bound_to_half_wnd`): loopback and the largest jumbo frames.
const HALF_A_WINDOW: u32 = 16_384;
/// With fewer segments, possibly none was full.
const ENOUGH: u64 = 20;
