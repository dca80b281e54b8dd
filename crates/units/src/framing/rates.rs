//! From sizes to rates: the most that a link carries, and the rate on the wire of a measured goodput.

use super::{FramingError, Layout, Ratio};
use crate::BitRate;
use serde::Serialize;

/// Rates of a stream of equal packets, each exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Packets, and so frames, per second.
    pub packets_per_second: Ratio,
    /// Payload, in bits per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: Ratio,
    /// Outer frames with FCS, in bits per second.
    #[serde(rename = "l2_bps")]
    pub l2: Ratio,
    /// Outer frames with preamble and gap, in bits per second: what a link's nominal speed counts.
    #[serde(rename = "wire_bps")]
    pub wire: Ratio,
    /// The share of the link's rate, 1 at line rate; absent when the link's rate is not known.
    #[serde(rename = "line_rate_share")]
    pub share: Option<Ratio>,
}

impl Layout {
    /// The most that a link of this rate carries: packets per second are `link / (8 × wire)`.
    #[must_use]
    pub fn at_line_rate(&self, link: BitRate) -> Rates {
        let per_wire = |bytes: u64| Ratio::new(u128::from(link.0) * u128::from(bytes), self.wire.0.into());
        Rates {
            packets_per_second: Ratio::new(link.0.into(), 8 * u128::from(self.wire.0)),
            goodput: per_wire(self.payload.0),
            l2: per_wire(self.outer_frame.0),
            wire: per_wire(self.wire.0),
            share: (link.0 > 0).then(|| Ratio::new(1, 1)),
        }
    }

    /// The rates on the wire of a measured goodput in such packets, and their share of `link`.
    ///
    /// # Errors
    /// When the packets carry no payload, or the link's rate is zero.
    pub fn at_goodput(&self, goodput: BitRate, link: Option<BitRate>) -> Result<Rates, FramingError> {
        let payload = u128::from(self.payload.0);
        if payload == 0 {
            return Err(FramingError::NoPayload);
        }
        let times = |bytes: u64| u128::from(goodput.0) * u128::from(bytes);
        let share = match link {
            Some(BitRate(0)) => return Err(FramingError::NoLink),
            Some(link) => Some(Ratio::new(times(self.wire.0), payload * u128::from(link.0))),
            None => None,
        };
        Ok(Rates {
            packets_per_second: Ratio::new(goodput.0.into(), 8 * payload),
            goodput: Ratio::new(goodput.0.into(), 1),
            l2: Ratio::new(times(self.outer_frame.0), payload),
            wire: Ratio::new(times(self.wire.0), payload),
            share,
        })
    }

    /// The rates on the wire of this many packets per second, and their share of `link` when its rate is known.
    #[must_use]
    pub fn at_packet_rate(&self, packets: u64, link: Option<BitRate>) -> Rates {
        let bits = |bytes: u64| u128::from(packets) * u128::from(bytes) * 8;
        let share = link.filter(|link| link.0 > 0);
        Rates {
            packets_per_second: Ratio::new(packets.into(), 1),
            goodput: Ratio::new(bits(self.payload.0), 1),
            l2: Ratio::new(bits(self.outer_frame.0), 1),
            wire: Ratio::new(bits(self.wire.0), 1),
            share: share.map(|link| Ratio::new(bits(self.wire.0), link.0.into())),
        }
    }

    /// Payload as a share of the wire: the goodput at line rate per bit of link.
    pub fn efficiency(&self) -> Ratio {
        Ratio::new(self.payload.0.into(), self.wire.0.into())
    }
}
