//! `answered-on-path`, `ttl-rewritten` and `quotes-untranslated`: boxes on the path that answer for others, or change what they pass on.

use super::super::text::count;
use super::super::{Finding, Severity};
use super::{found, named_at};
use model::hops::{HopProtocol, HopsResult, TtlRewritten};
use model::plan::Direction;
use model::run::Run;

/// Packets of another protocol are passed on where the probes were answered.
pub(in super::super) fn answered_on_path(run: &Run) -> Option<Finding> {
    let found = found(run)?;
    let beyond = found.beyond?;
    let port = run.hops().map(|plan| format!(" to port {}", plan.target.address.port()));
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
    Some(
        Finding::new("answered-on-path", Severity::Warning, None, title)
            .with("answered_at_hops", beyond.ttl)
            .with("router_address", beyond.router.to_string())
            .with("far_end_hops", beyond.reached_at)
            .advise(format!(
                "A proxy, a load balancer or a firewall near {} accepts these connections: round trips and loss of this trace end \
                 there. Trace with --protocol udp or icmp, which go on to the far end.",
                named_at(found, beyond.ttl.saturating_sub(1).max(1))
            )),
    )
}

/// The TTL of packets is set on the path: in a trace, and in a look at packet sizes.
pub(in super::super) fn ttl_rewritten(run: &Run) -> Vec<Finding> {
    let traced = found(run).and_then(|found| Some(rewritten(found, found.ttl_rewritten?)));
    let path = run.summary.path.as_ref();
    let sizes = [Direction::Up, Direction::Down].into_iter().filter_map(|direction| {
        let carried = path?.in_direction(direction).filter(|carried| carried.ttl_rewritten)?;
        let last = carried.hops.iter().filter(|hop| hop.address.is_some()).max_by_key(|hop| hop.ttl);
        let behind = last.and_then(|hop| Some(format!(" behind hop {} ({})", hop.ttl, hop.address?)));
        let behind = behind.unwrap_or_default();
        let mtu = carried.path_mtu?;
        let title = format!(
            "A router sets the TTL of packets {direction}, so that a trace does not show which hop{behind} limits them to {mtu} bytes"
        );
        let finding = Finding::new("ttl-rewritten", Severity::Info, direction, title).advise(FIXED_TTL);
        Some(finding.with("path_mtu_bytes", mtu).with_known("distance_hops", last.map(|hop| hop.ttl)))
    });
    traced.into_iter().chain(sizes).collect()
}

fn rewritten(found: &HopsResult, what: TtlRewritten) -> Finding {
    let hop = named_at(found, what.behind);
    let (severity, title) = match what.ttl_quoted {
        Some(quoted) => (
            Severity::Warning,
            format!(
                "A router at {hop} or behind it sets the TTL of packets: a probe that was to end there had {quoted} hops left. The far \
                 end is further away than its probes show, and the hops before it are hidden"
            ),
        ),
        None => (
            Severity::Info,
            format!(
                "Answers of the far end come back over {} hops, those of {hop} over {}: the far end's return path is longer, or a \
                 router there sets the TTL of packets and hides hops",
                what.hops_back.unwrap_or_default(),
                what.behind
            ),
        ),
    };
    Finding::new("ttl-rewritten", severity, None, title)
        .with("distance_hops", what.behind)
        .with_known("quoted_ttl_hops", what.ttl_quoted)
        .with_known("return_hops", what.hops_back)
        .advise(FIXED_TTL)
}

/// A NAT hands on ICMP errors with the packet that they quote as the outer side saw it.
pub(in super::super) fn quotes_untranslated(run: &Run) -> Option<Finding> {
    let path = run.summary.path.as_ref();
    let of_sizes = Direction::BOTH.into_iter().filter_map(|direction| path?.in_direction(direction));
    let untranslated = found(run).map_or(0, |found| found.untranslated)
        + of_sizes.map(|one_way| one_way.untranslated).sum::<u64>();
    if untranslated == 0 {
        return None;
    }
    let title = format!(
        "A NAT on the path does not translate what ICMP errors quote: {} quoted another sender than this host",
        count(untranslated, "answer")
    );
    Some(
        Finding::new("quotes-untranslated", Severity::Warning, None, title)
            .with("untranslated_count", untranslated)
            .advise(
                "Sockets are not given such errors, so that path MTU discovery fails behind this NAT and traces of other programs end \
                 there. Update or replace it (RFC 5508 section 4.2 has it translate them); until then clamp TCP's MSS to what \
                 `pathmeter mtu` finds.",
            ),
    )
}

const FIXED_TTL: &str = "Mobile routers and firewalls set it to hide what is behind them (`ip ttl set` of nftables, the target TTL of iptables): where that is yours, take \
     the rule out while you trace. Hops that are hidden cannot be measured from here.";
