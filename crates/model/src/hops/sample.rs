//! State of the hops of a path while they are traced.

use super::{Counted, Hop, HopsEnd, HopsResult, Missing};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// State of the hops while they are traced: for each hop the router that answers most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopsSample {
    /// Since the first probe.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// End of the path, as far as it is known.
    pub end: HopsEnd,
    /// The hops, nearest first.
    pub hops: Vec<HopSample>,
}

/// One hop while it is traced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopSample {
    /// Distance from the sender, in hops.
    pub ttl: u8,
    /// The router that answers most; absent: none does.
    pub address: Option<IpAddr>,
    /// More routers that answer at this hop.
    pub more_routers: u32,
    /// Probes and answers so far, or of those that are kept while it is watched.
    #[serde(flatten)]
    pub counted: Counted,
    /// Reason why answers are missing, as far as it is known.
    pub missing: Missing,
    /// Shortest round trip.
    #[serde(rename = "rtt_min_ns")]
    pub rtt_min: Option<Nanos>,
    /// Median round trip.
    #[serde(rename = "rtt_p50_ns")]
    pub rtt_p50: Option<Nanos>,
    /// Longest round trip.
    #[serde(rename = "rtt_max_ns")]
    pub rtt_max: Option<Nanos>,
}

impl HopsSample {
    /// The essence of a result that is still growing.
    #[must_use]
    pub fn from_result(found: &HopsResult, at: Nanos) -> HopsSample {
        let row = |hop: &Hop| HopSample {
            ttl: hop.ttl,
            address: hop.routers.first().map(|router| router.address),
            more_routers: u32::try_from(hop.routers.len().saturating_sub(1)).unwrap_or(u32::MAX),
            counted: hop.counted,
            missing: hop.missing,
            rtt_min: hop.rtt.map(|rtt| rtt.min),
            rtt_p50: hop.rtt.map(|rtt| rtt.p50),
            rtt_max: hop.rtt.map(|rtt| rtt.max),
        };
        HopsSample { at, end: found.end, hops: found.hops.iter().map(row).collect() }
    }
}
