//! `tcp-blackhole`: full TCP segments vanish, though packets of their size cross.

use super::super::text::count;
use super::super::{Finding, Severity};
use super::Side;
use model::path::TcpDirection;

/// A connection stalled with segments that are no larger than what crosses.
pub(in super::super) fn black_hole(side: Side<'_>) -> Option<Finding> {
    let tcp = side.one_way.tcp.as_ref().filter(|tcp| tcp.stalled)?;
    let (packet, crosses) = (side.full_segment()?, side.one_way.crosses()?);
    (packet <= crosses).then(|| finding(side, tcp, packet, crosses))
}

fn finding(side: Side<'_>, tcp: &TcpDirection, packet: u32, crosses: u32) -> Finding {
    let direction = side.direction;
    let again = match tcp.retransmits {
        Some(retransmits @ 1..) => format!(" after {}", count(retransmits, "retransmit")),
        _ => String::new(),
    };
    let smaller = tcp.smaller_mss.map(|mss| format!("; with an MSS of {mss} all of it crossed"));
    let title = format!(
        "TCP's full segments, packets of {packet} bytes, do not cross {direction}, though UDP packets of {crosses} bytes \
         do: the connection stalled{again}{}",
        smaller.unwrap_or_default()
    );
    let finding = Finding::new("tcp-blackhole", Severity::Problem, direction, title)
        .with("segment_packet_bytes", packet)
        .with("path_mtu_bytes", crosses)
        .with_known("smaller_mss_bytes", tcp.smaller_mss)
        .with_known("retransmits_count", tcp.retransmits);
    let finding = match (&tcp.flow, &side.one_way.flow) {
        (Some(tcp), Some(udp)) => {
            finding.with("stalled_flow", tcp.to_string()).with("working_flow", udp.to_string())
        }
        _ => finding,
    };
    finding.advise(advice(side, tcp))
}

fn advice(side: Side<'_>, tcp: &TcpDirection) -> String {
    let until = match tcp.smaller_mss {
        Some(mss) => format!(
            "; until then clamp its MSS at a router: `nft add rule inet filter forward tcp flags syn tcp option maxseg size \
             set {mss}`"
        ),
        None => "; `pathmeter throughput HOST -M 1200`, and smaller, shows what crosses".into(),
    };
    let legs = match side.one_way.other_flows.iter().map(|other| other.path_mtu).min() {
        Some(least) if side.one_way.crosses() > Some(least) => format!(
            " Other flows of UDP cross with {least} bytes alone (`paths-differ`): the connection most likely takes their path."
        ),
        _ => " It may also take another path than the UDP packets did (equal-cost routes): run again, which takes other \
              ports."
            .into(),
    };
    format!(
        "Look for a firewall, load balancer or tunnel on the path {}, or a rule of {} itself, that treats TCP otherwise than \
         UDP{until}.{legs}",
        side.direction,
        side.receiver()
    )
}
