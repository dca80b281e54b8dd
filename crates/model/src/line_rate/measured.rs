//! From a measured rate to the share of the link: what went over the wire, with the arithmetic in one line.

use crate::framing::{Framing, FramingError, Layout, Ratio};
use crate::units::{BitRate, Bytes, PacketRate};
use serde::Serialize;

/// The kind of measured rate.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// Payload of the transport.
    Goodput(BitRate),
    /// Packets.
    Packets(PacketRate),
}

/// A measured rate on the wire.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnTheWire {
    /// The packets it went in.
    #[serde(flatten)]
    pub layout: Layout,
    /// Payload of the transport, bits per second.
    pub goodput_bps: Ratio,
    /// Packets per second.
    pub packets_per_second: Ratio,
    /// Bits per second on the wire, preamble and gap included.
    pub wire_bps: Ratio,
    /// Packets per second that would fill the link.
    pub line_rate_pps: Ratio,
    /// The goodput that would fill the link.
    pub line_rate_goodput_bps: Ratio,
    /// Measured packets as a share of line rate, 1 at line rate.
    pub line_rate_share: Ratio,
    /// Derivation of the figures.
    pub arithmetic: String,
    /// Remark on an implausible figure.
    pub note: Option<String>,
}

impl OnTheWire {
    /// A rate that went in inner packets of this size.
    ///
    /// # Errors
    /// Packets that cannot be, and a payload of none.
    pub fn from_payload(
        framing: &Framing,
        packet: Bytes,
        link: BitRate,
        measured: Measured,
    ) -> Result<OnTheWire, FramingError> {
        let layout = framing.of_packet(packet)?;
        let rates = match measured {
            Measured::Goodput(goodput) => layout.at_goodput(goodput, Some(link))?,
            Measured::Packets(packets) => layout.at_packet_rate(packets.0, Some(link)),
        };
        let line = layout.at_line_rate(link);
        let share = rates.share.ok_or(FramingError::NoLink)?;
        let mut row = OnTheWire {
            layout,
            goodput_bps: rates.goodput,
            packets_per_second: rates.packets_per_second,
            wire_bps: rates.wire,
            line_rate_pps: line.packets_per_second,
            line_rate_goodput_bps: line.goodput,
            line_rate_share: share,
            arithmetic: String::new(),
            note: (share.floor() >= 1 && share.percent().rounded() > 100).then(|| TOO_MUCH.to_owned()),
        };
        row.arithmetic = arithmetic(&row, link, measured);
        Ok(row)
    }
}

fn arithmetic(row: &OnTheWire, link: BitRate, measured: Measured) -> String {
    let (payload, wire) = (row.layout.payload.0, row.layout.wire.0);
    let packets = PacketRate(row.packets_per_second.rounded());
    let line = PacketRate(row.line_rate_pps.rounded());
    let share = row.line_rate_share.percent();
    let given = match measured {
        Measured::Goodput(goodput) => format!("{goodput} / (8 × {payload} B) = {packets}"),
        Measured::Packets(_) => {
            format!("{packets} × 8 × {payload} B = {}", BitRate(row.goodput_bps.rounded()))
        }
    };
    format!("{given}; the link carries {link} / (8 × {wire} B) = {line}; that is {share:.1} % of line rate")
}

const TOO_MUCH: &str =
    "more than the link carries in such packets: check --link, the packet size and --encap";
