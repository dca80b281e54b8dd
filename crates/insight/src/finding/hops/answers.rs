//! `answered-on-path`: something nearer than the far end answers in its stead.

use super::super::{Finding, Severity};
use super::{found, named_at};
use model::hops::HopProtocol;
use model::plan::Direction;
use model::run::Run;

/// Packets of another protocol are passed on where the probes were answered.
pub(in super::super) fn answered_on_path(run: &Run) -> Vec<Finding> {
    let Some(found) = found(run) else { return Vec::new() };
    let Some(beyond) = found.beyond else { return Vec::new() };
    let port = run.hops.as_ref().map(|plan| format!(" to port {}", plan.target.address.port()));
    let probes = match found.protocol {
        HopProtocol::Tcp => format!("TCP SYNs{}", port.unwrap_or_default()),
        HopProtocol::Udp => format!("UDP datagrams{}", port.unwrap_or_default()),
        HopProtocol::Icmp => "ICMP echo requests".into(),
    };
    let other = match beyond.protocol {
        HopProtocol::Udp => "UDP datagrams",
        HopProtocol::Icmp => "ICMP echo requests",
        HopProtocol::Tcp => "TCP SYNs",
    };
    let further = match beyond.reached_at {
        Some(ttl) => format!("reach it at hop {ttl}"),
        None => "go on behind it".into(),
    };
    let title = format!(
        "Something on the path answers for the far end: {probes} are answered at hop {}, where {} is a router for {other}, which {further}",
        beyond.ttl, beyond.router
    );
    vec![
        Finding::new("answered-on-path", Severity::Warning, Direction::Up, title)
            .everywhere()
            .with("answered_at_hops", beyond.ttl)
            .with("router_address", beyond.router.to_string())
            .with("far_end_hops", beyond.reached_at)
            .advise(format!(
                "A proxy, a load balancer or a firewall near {} accepts these connections: round trips and loss of this trace end \
                 there. Trace with --protocol udp or icmp, which go on to the far end.",
                named_at(found, beyond.ttl.saturating_sub(1).max(1))
            )),
    ]
}
