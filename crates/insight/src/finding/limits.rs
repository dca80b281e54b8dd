//! Limits of the path that cost packets, and what to do about each. A shaper, a line rate and an application are no fault.

use super::limit::{brief, place};
use super::measured::MeasuredDirection;
use super::text::{capital, option, percent};
use super::{Finding, Severity};
use model::limit::{Confidence, Limit, LimitKind};
use model::units::BitRate;

/// Packets above a rate are dropped, and TCP retransmits them.
pub(super) fn policer(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let (limit, finding) = of_kind(one_way, "policer", LimitKind::Policer)?;
    let below = limit.rate.map_or_else(|| "95M".into(), |rate| option(BitRate(rate.0 / 100 * 95)));
    Some(finding.advise(format!(
        "Send no faster than it lets through: shape at the sender, `tc qdisc replace dev INTERFACE root tbf rate {}bit burst 32k latency 50ms`, or have a larger burst configured.",
        below.to_lowercase()
    )))
}

/// Packets are lost at any rate, and TCP slows down for each.
pub(super) fn random_loss(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let (_, finding) = of_kind(one_way, "random-loss", LimitKind::Loss)?;
    let errors = "Look for errors on the line: a cable, an optic, a radio link (`ip -s link`, `ethtool -S`).";
    Some(finding.advise(match one_way.udp() {
        true => errors.into(),
        false => format!("{errors} `--congestion bbr` bears random loss better."),
    }))
}

/// The path takes so many packets per second and no more.
pub(super) fn packet_rate(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let (_, finding) = of_kind(one_way, "packet-rate", LimitKind::PacketRate)?;
    Some(finding.advise(
        "Send larger packets (a larger MTU), or look for the box on the path that handles each packet slowly: a firewall, a virtual router, a tunnel.",
    ))
}

/// A fact of a host sets the rate: its queue, its link, its bus, what it drops or spoils.
pub(super) fn host_limited(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let limit = one_way.figures.limit.as_deref()?;
    let (cause, fix) = (limit.cause.as_deref()?, limit.fix.as_deref()?);
    if !OF_HOSTS.contains(&limit.kind) || limit.confidence == Confidence::Low {
        return None;
    }
    let (transport, goodput) = (one_way.figures.transport, one_way.figures.goodput);
    let title = format!(
        "{} sets the rate {}: {cause}, {transport} {goodput}",
        capital(&brief(limit)?),
        one_way.direction
    );
    let finding = Finding::new("host-limited", Severity::Warning, one_way.direction, title)
        .with("goodput_bps", goodput.0)
        .with("limit_name", limit.kind.to_string())
        .with("confidence_name", limit.confidence.to_string());
    Some(finding.advise(format!("{}.", capital(fix))))
}

/// Kinds that a fact of a host names; CPUs, windows and sizes of packets have findings of their own.
const OF_HOSTS: [LimitKind; 9] = [
    LimitKind::ForwarderCpu,
    LimitKind::HostQueue,
    LimitKind::HostDrop,
    LimitKind::Link,
    LimitKind::Pause,
    LimitKind::Bus,
    LimitKind::Tunnel,
    LimitKind::Offload,
    LimitKind::Wifi,
];

/// The limit of a direction where it is of this kind, and the finding without its advice.
fn of_kind<'a>(one_way: &MeasuredDirection<'a>, id: &str, kind: LimitKind) -> Option<(&'a Limit, Finding)> {
    let limit = one_way.figures.limit.as_deref()?;
    // A limit that is not sure is among the figures, and no reason to warn.
    let is_sure = limit.kind == kind && limit.confidence != Confidence::Low;
    is_sure.then(|| (limit, finding(one_way, id, limit)))
}

fn finding(one_way: &MeasuredDirection<'_>, id: &str, limit: &Limit) -> Finding {
    let what = brief(limit).unwrap_or_default();
    let at = limit.place.map(|at| format!(" {}", place(at))).unwrap_or_default();
    let segments = one_way.tcp_rows().map(|tcp| tcp.data_segments).fold(0, u64::saturating_add);
    let (name, share, lost) = match one_way.udp() {
        true => ("lost_share", one_way.share_of_sent(one_way.loss().path), "datagrams lost"),
        false => {
            let retransmits = one_way.figures.retransmits.unwrap_or(0);
            ("retransmits_share", retransmits as f64 / segments.max(1) as f64, "segments retransmitted")
        }
    };
    let title = format!(
        "The path limits {} {} by {what}{at}: {} transferred, {} of the {lost}",
        one_way.figures.transport,
        one_way.direction,
        one_way.figures.goodput,
        percent(share.min(1.0)),
    );
    Finding::new(id, Severity::Warning, one_way.direction, title)
        .with("goodput_bps", one_way.figures.goodput.0)
        .with(name, share.min(1.0))
        .with("confidence_name", limit.confidence.to_string())
        .with_known("limit_bps", limit.rate.map(|rate| rate.0))
}
