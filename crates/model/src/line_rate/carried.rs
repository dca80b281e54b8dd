//! From the link to the goodput: what each packet size gives at line rate.

use crate::framing::{Framing, FramingError, LINUX_MIN_MSS, Layout, Ratio, TcpReach, TcpSegment, Transport};
use crate::units::{BitRate, Bytes};
use serde::Serialize;

/// One packet size at line rate.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Carried {
    /// The packet as a frame of plain Ethernet, FCS included.
    pub frame: Bytes,
    /// The IP packet.
    pub mtu: Bytes,
    /// TCP payload without options; absent when the headers leave none.
    pub mss: Option<Bytes>,
    /// TCP payload with timestamps.
    pub mss_timestamps: Option<Bytes>,
    /// Requested payload of the transport; absent when the transport cannot make such packets.
    pub payload: Option<Bytes>,
    /// Packet in the link's frame, encapsulation included: to be compared with the link's MTU.
    pub outer_packet: Bytes,
    /// The frame on the link.
    pub outer_frame: Bytes,
    /// The frame with preamble and gap.
    pub wire: Bytes,
    /// Packets per second of this size that fill the link.
    pub packets_per_second: Ratio,
    /// Their payload, bits per second.
    pub goodput_bps: Option<Ratio>,
    /// Goodput as a share of the link's speed.
    pub share: Option<Ratio>,
    /// Why there is no goodput.
    pub note: Option<String>,
}

impl Carried {
    /// The row of an inner packet of this size.
    ///
    /// # Errors
    /// No frame holds such a packet.
    pub fn over_link(framing: &Framing, packet: Bytes, link: BitRate) -> Result<Carried, FramingError> {
        let raw = Framing { transport: Transport::Raw, ..framing.clone() };
        let outside = raw.of_packet(packet)?;
        let segment = TcpSegment::of_mtu(framing.network, packet);
        let inside = inside(framing, packet, &segment);
        let layout = inside.as_ref().ok();
        Ok(Carried {
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
