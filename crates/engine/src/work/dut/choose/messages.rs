//! Messages on tools that do not work, and on frames that do not arrive.

use super::share;
use crate::error::Failure;
use crate::work::dut::port::{Port, Traffic};
use frames::FrameSpec;
use model::distinct;
use model::dut::{PortFacts, SinkKind, SourceKind, Tried};
use model::units::Bytes;

/// Refuses frames that are longer than an interface takes.
pub(super) fn check_size(port: &dyn Port, spec: &FrameSpec) -> Result<(), Failure> {
    let PortFacts { name, mtu, .. } = port.facts();
    let headers = FRAMING + if spec.vlan.is_some() { TAG } else { 0 };
    let longest = spec.whole_sizes().max().unwrap_or(Bytes(0));
    let needed = longest.0.saturating_sub(headers);
    if needed <= mtu.into() {
        return Ok(());
    }
    let tunnel = if spec.outer.is_some() { ", the tunnel's header included," } else { "" };
    let what =
        format!("frames of {} bytes{tunnel} need an MTU of {needed}, and that of {name} is {mtu}", longest.0);
    let advice = format!(
        "`ip link set dev INTERFACE mtu {needed}` at both ports and on the device, or shorter frames"
    );
    Err(Failure::usage(what, advice))
}

/// Explains for each pair that was tried and not taken why, where the results of others show it.
pub(super) fn explain(tried: &mut [Tried], from: &str, sink: SinkKind) {
    let most = tried.iter().filter(|row| row.sink == sink).map(share).fold(0.0, f64::max);
    for row in tried.iter_mut().filter(|row| row.refused.is_none()) {
        let (sent, received) = (row.sent, row.received);
        row.refused = match (row.sink == sink, received) {
            _ if share(row) >= most * super::ALMOST => None,
            (true, 0) if row.source == SourceKind::LiveFrames => Some(format!(
                "of {sent} frames none arrived, and those of another source do: the driver at the far end of {from}'s cable \
                 drops frames of this kind while it has neither an XDP program nor GRO: `ethtool -K INTERFACE gro on` on \
                 the device repairs that"
            )),
            (true, _) => Some(format!("of {sent} frames {received} arrived, of another source's more")),
            (false, _) => {
                Some(format!("of {sent} frames it saw {received}, and another counter counts more"))
            }
        };
    }
}

/// Why no pair works.
pub(super) fn failure(tried: &[Tried], from: &PortFacts, to: &PortFacts, traffic: &Traffic) -> Failure {
    let spec = &traffic.sent;
    let (out, into) = (&from.name, &to.name);
    let sent = tried.iter().map(|row| row.sent).max().unwrap_or(0);
    if sent > 0 {
        let what = format!(
            "{sent} frames to {} (next hop {}) were sent out of {out}, and none came out of the device at {into}",
            spec.destination,
            mac(spec.destination_mac)
        );
        let in_tunnel = spec.outer.is_some() || traffic.arrives_in.is_some();
        let advice = if in_tunnel { format!("{LOOK_AT}; {LOOK_AT_TUNNEL}") } else { LOOK_AT.to_owned() };
        return Failure::unreachable(what, advice);
    }
    let refusal =
        |row: &Tried| row.refused.clone().unwrap_or_else(|| format!("{}: no frame was sent", row.source));
    let refusals = distinct(tried.iter().map(refusal));
    let what = match refusals.is_empty() {
        true => format!("no method can send out of {out} or to count on {into}"),
        false => format!("nothing can be sent out of {out} and counted on {into}: {}", refusals.join("; ")),
    };
    Failure::unreachable(what, "run it as root; `pathmeter doctor` shows what this host lets it do")
}

fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

const LOOK_AT: &str = "look whether the device forwards between these two interfaces (both up, forwarding on, a route to the \
                       destination's network, no filter), whether it knows the far port (ARP, neighbour discovery), and \
                       whether the two ports are swapped";
const LOOK_AT_TUNNEL: &str = "whether its tunnel has the two ends that were given, and no option behind its header (`encaplimit \
                              none`)";
/// Ethernet's header and the FCS.
const FRAMING: u64 = 18;
const TAG: u64 = 4;
