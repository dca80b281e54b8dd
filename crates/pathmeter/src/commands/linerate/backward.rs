//! From a measured rate to the share of the link: what went over the wire, with the arithmetic in one line.

use super::refused;
use cli::LinerateArgs;
use engine::error::Failure;
use model::framing::{Framing, Layout, Ratio};
use model::units::{BitRate, Bytes, PacketRate};
use serde::Serialize;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measured {
    Goodput(BitRate),
    Packets(PacketRate),
}

/// A measured rate, seen on the wire.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Row {
    /// The packets it went in.
    #[serde(flatten)]
    pub(super) layout: Layout,
    pub(super) goodput_bps: Ratio,
    pub(super) packets_per_second: Ratio,
    pub(super) wire_bps: Ratio,
    /// Packets a second that would fill the link.
    pub(super) line_rate_pps: Ratio,
    /// The goodput that would fill the link.
    pub(super) line_rate_goodput_bps: Ratio,
    /// Measured packets as a share of line rate, 1 at line rate.
    pub(super) line_rate_share: Ratio,
    /// How the figures follow from one another.
    pub(super) arithmetic: String,
    /// What is odd about them.
    pub(super) note: Option<String>,
}

impl Measured {
    /// The measured rate of the command line, if there is one.
    pub(super) fn of(args: &LinerateArgs) -> Option<Measured> {
        args.goodput.map(Measured::Goodput).or(args.pps.map(Measured::Packets))
    }
}

/// The row of a rate that went in inner packets of this size.
pub(super) fn row(
    framing: &Framing,
    packet: Bytes,
    link: BitRate,
    measured: Measured,
) -> Result<Row, Failure> {
    let layout = framing.of_packet(packet).map_err(refused)?;
    let rates = match measured {
        Measured::Goodput(goodput) => layout.at_goodput(goodput, Some(link)).map_err(refused)?,
        Measured::Packets(packets) => layout.at_packet_rate(packets.0, Some(link)),
    };
    let line = layout.at_line_rate(link);
    let share = rates.share.ok_or_else(|| refused(model::framing::FramingError::NoLink))?;
    let mut row = Row {
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

fn arithmetic(row: &Row, link: BitRate, measured: Measured) -> String {
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
