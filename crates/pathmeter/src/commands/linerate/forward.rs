//! From the link to the goodput: what each packet size gives at line rate.

use super::refused;
use engine::error::Failure;
use model::framing::{Framing, LINUX_MIN_MSS, Layout, Ratio, TcpReach, TcpSegment, Transport};
use model::units::{BitRate, Bytes};
use serde::Serialize;

/// One packet size at line rate.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// The packet as a frame of plain Ethernet, FCS included.
    pub(super) frame: Bytes,
    /// The IP packet.
    pub(super) mtu: Bytes,
    /// TCP payload without options; absent when the headers leave none.
    pub(super) mss: Option<Bytes>,
    /// TCP payload with timestamps.
    pub(super) mss_timestamps: Option<Bytes>,
    /// Payload of the transport asked for; absent when it cannot make such packets.
    pub(super) payload: Option<Bytes>,
    /// What the link's frame carries, encapsulation included: to be compared with the link's MTU.
    pub(super) outer_packet: Bytes,
    /// The frame on the link.
    pub(super) outer_frame: Bytes,
    /// The frame with preamble and gap.
    pub(super) wire: Bytes,
    pub(super) packets_per_second: Ratio,
    pub(super) goodput_bps: Option<Ratio>,
    /// Goodput as a share of the link's speed.
    pub(super) share: Option<Ratio>,
    /// Why there is no goodput.
    pub(super) note: Option<String>,
}

/// The row of an inner packet of this size.
pub(super) fn row(framing: &Framing, packet: Bytes, link: BitRate) -> Result<Row, Failure> {
    let raw = Framing { transport: Transport::Raw, ..framing.clone() };
    let outside = raw.of_packet(packet).map_err(refused)?;
    let segment = TcpSegment::of_mtu(framing.network, packet);
    let inside = inside(framing, packet, &segment);
    let layout = inside.as_ref().ok();
    Ok(Row {
        frame: outside.inner_frame,
        mtu: packet,
        mss: segment.mss.bytes(),
        mss_timestamps: segment.mss_timestamps.bytes(),
        payload: layout.map(|layout| layout.payload),
        outer_packet: outside.outer_packet,
        outer_frame: outside.outer_frame,
        wire: outside.wire,
        packets_per_second: outside.at_line_rate(link).packets_per_second,
        goodput_bps: layout.map(|layout| layout.at_line_rate(link).goodput),
        share: layout.map(Layout::efficiency),
        note: inside.err(),
    })
}

/// The packet with its payload, or why there is none.
fn inside(framing: &Framing, packet: Bytes, segment: &TcpSegment) -> Result<Layout, String> {
    if framing.transport == Transport::Udp {
        return framing.of_packet(packet).map_err(|_| {
            format!("no room for UDP: the headers take {} bytes of {}", framing.headers().0, packet.0)
        });
    }
    let no_room = || "no room for TCP: the headers leave no payload; use --udp".to_owned();
    match segment.reach {
        TcpReach::Reachable => framing.of_packet(packet).map_err(|_| no_room()),
        TcpReach::BelowLinuxMinimum => {
            Err(format!("no TCP: MSS {} is under Linux's least, {}; use --udp", segment.mss, LINUX_MIN_MSS.0))
        }
        TcpReach::NoRoom => Err(no_room()),
    }
}
