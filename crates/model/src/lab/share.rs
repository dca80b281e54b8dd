//! Share of its link that a series used, and share of the maximum that the framing allows.

use super::{LabReport, Series, Variant};
use crate::framing::{Encaps, Framing, Network, Transport};
use crate::scale;
use crate::units::{BitRate, Bytes, PacketRate};
use serde::{Deserialize, Serialize};

/// A packet of a series on the narrowest link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Packet {
    /// Encapsulations, from the wire inwards.
    pub encaps: Encaps,
    /// Payload, bytes.
    #[serde(rename = "payload_bytes")]
    pub payload: u32,
    /// The frame without FCS, as the kernel counts it, bytes.
    #[serde(rename = "frame_bytes")]
    pub frame: u32,
}

/// Line rate of a link: frames without FCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkSpeed {
    /// The rate.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// Where it comes from.
    pub basis: SpeedBasis,
}

/// Where a link's speed comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpeedBasis {
    /// The topology shapes the link to it.
    Shaped,
    /// The first topology carried it in the same test: virtual links have no speed of their own.
    First,
}

impl Packet {
    /// The packet that carries so much payload; `None` where no such packet is.
    #[must_use]
    pub fn new(network: Network, transport: Transport, encaps: Encaps, payload: u32) -> Option<Packet> {
        let framing = Framing { network, transport, encaps, link_mtu: None };
        let layout = framing.of_payload(Bytes(payload.into())).ok().filter(|_| payload > 0)?;
        let frame = u32::try_from(layout.outer_frame.0 - FCS).ok()?;
        Some(Packet { encaps: framing.encaps, payload, frame })
    }

    /// Frames that carry this goodput.
    fn frames(&self, goodput: BitRate) -> BitRate {
        BitRate(scale(goodput.0, self.frame.into(), self.payload.max(1).into()))
    }

    /// The goodput of frames that fill a link.
    fn goodput(&self, link: BitRate) -> BitRate {
        BitRate(scale(link.0, self.payload.into(), self.frame.max(1).into()))
    }
}

/// Computes everything that follows from the repetitions, the shares among it. `first`: virtual links are held against the
/// first topology.
pub fn conclude(report: &mut LabReport, first: bool) {
    for series in report.variants.iter_mut().flat_map(|variant| &mut variant.series) {
        series.on_the_wire();
        series.spread();
    }
    let base = report.variants.first().filter(|_| first).cloned();
    for (index, variant) in report.variants.iter_mut().enumerate() {
        let base = base.as_ref().filter(|_| index > 0);
        variant.series.iter_mut().for_each(|series| series.share(base));
    }
    if first {
        report.comparisons = super::versus(&report.variants);
    }
}

impl Series {
    /// Frames and packets of every repetition.
    fn on_the_wire(&mut self) {
        let Some(packet) = &self.packet else { return };
        for run in &mut self.runs {
            let Some(goodput) = run.goodput else { continue };
            run.frames = Some(packet.frames(goodput));
            run.packets_per_second = Some(PacketRate(goodput.0 / 8 / u64::from(packet.payload)));
        }
    }

    fn share(&mut self, base: Option<&Variant>) {
        let (Some(packet), Some(goodput)) = (self.packet.clone(), self.goodput) else { return };
        self.speed = self.speed.or_else(|| {
            let like = base?.like(self)?;
            let rate = like.packet.as_ref()?.frames(BitRate(like.goodput?.median as u64));
            (rate.0 > 0).then_some(LinkSpeed { rate, basis: SpeedBasis::First })
        });
        let Some(speed) = self.speed else { return };
        let limit = packet.goodput(speed.rate);
        self.limit = Some(limit);
        self.share_of_limit = ratio(goodput.median, limit);
        self.share_of_nic = ratio(packet.frames(BitRate(goodput.median as u64)).0 as f64, speed.rate);
    }
}

fn ratio(value: f64, of: BitRate) -> Option<f64> {
    (of.0 > 0).then(|| value / of.0 as f64)
}

/// The frame check sequence, which no software sees.
const FCS: u64 = 4;
