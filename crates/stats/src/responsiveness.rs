//! Responsiveness under working conditions, in round trips per minute (draft-ietf-ippm-responsiveness-09).
//!
//! Load is added until goodput no longer grows, then probes are sent until their figure no longer changes. This file holds the
//! arithmetic and the two stages; connections, clocks and sockets are the engine's.

mod meter;

pub use meter::{DISTANCE, LONGEST_STAGE, Next, ResponsivenessMeter};

use super::quantile::rank;
use serde::{Deserialize, Serialize};
use units::{BitRate, Nanos};

/// A probe over a connection of its own, which measures the waiting time of a new flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProbe {
    /// The TCP handshake: from SYN to SYN-ACK.
    pub tcp: Nanos,
    /// One round trip of the TLS handshake: its time divided by its round trips. `None` over plain TCP.
    pub tls: Option<Nanos>,
    /// The request: from sending it until its one-byte response was complete.
    pub http: Nanos,
}

/// Responsiveness and its components.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Responsiveness {
    /// Round trips per minute: the mean of `foreign` and `loaded`.
    pub rpm: f64,
    /// The meaning of the figure for a user.
    pub band: Band,
    /// The reliability of the figure.
    pub confidence: Confidence,
    /// Round trips per minute of probes over connections of their own.
    pub foreign: f64,
    /// Round trips per minute of probes over the connections that carry the load.
    pub loaded: f64,
    /// Trimmed mean of the TCP handshakes, in nanoseconds.
    #[serde(rename = "tcp_ns")]
    pub tcp: Nanos,
    /// Trimmed mean of a round trip of the TLS handshakes, in nanoseconds; absent over plain TCP.
    #[serde(rename = "tls_ns")]
    pub tls: Option<Nanos>,
    /// Trimmed mean of the requests over connections of their own, in nanoseconds.
    #[serde(rename = "http_ns")]
    pub http: Nanos,
    /// Trimmed mean of the requests over the connections that carry the load, in nanoseconds.
    #[serde(rename = "loaded_ns")]
    pub loaded_http: Nanos,
    /// Probes over connections of their own behind the figure.
    pub foreign_probes: u64,
    /// Probes over the connections that carry the load behind the figure.
    pub loaded_probes: u64,
    /// Goodput at which the path was saturated: the mean of the last intervals before probes counted.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// Number of intervals until the path was saturated.
    pub saturation_intervals: u32,
    /// Intervals of probes.
    pub stability_intervals: u32,
}

/// The meaning of a number of round trips per minute for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Band {
    /// Below 300: calls and games break while something loads.
    Poor,
    /// From 300: calls and games suffer.
    Fair,
    /// From 1000: calls and games are hardly affected.
    Good,
    /// Above 6000: calls and games are not affected.
    Excellent,
}

/// The reliability of the figure: that of the worse stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A stage had too few intervals to decide whether it was stable.
    Low,
    /// A stage had enough intervals and was not stable.
    Medium,
    /// Both stages became stable.
    High,
}

impl Band {
    /// The band of a figure.
    #[must_use]
    pub fn for_rpm(rpm: f64) -> Band {
        match rpm {
            rpm if rpm > 6000.0 => Band::Excellent,
            rpm if rpm >= 1000.0 => Band::Good,
            rpm if rpm >= 300.0 => Band::Fair,
            _ => Band::Poor,
        }
    }
}

/// The mean of the lowest 95 % of times, at least of one (TMP of the draft; by nearest rank, so nothing is cut from fewer than
/// 20). `None` without times.
#[must_use]
pub fn trimmed_mean(times: &[Nanos]) -> Option<f64> {
    let kept = rank(KEPT, times.len() as u64)? as usize;
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let sum: u128 = sorted[..kept].iter().map(|time| u128::from(time.0)).sum();
    Some(sum as f64 / kept as f64)
}

/// The two partial figures and their components.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Components {
    rpm: f64,
    foreign: f64,
    loaded: f64,
    tcp: f64,
    tls: Option<f64>,
    http: f64,
    loaded_http: f64,
}

impl Components {
    /// `None` when either kind of probe is missing. TLS counts when every probe has it.
    fn from_probes(foreign: &[ForeignProbe], loaded: &[Nanos]) -> Option<Components> {
        let mean =
            |part: fn(&ForeignProbe) -> Nanos| trimmed_mean(&foreign.iter().map(part).collect::<Vec<_>>());
        let (tcp, http) = (mean(|probe| probe.tcp)?, mean(|probe| probe.http)?);
        let handshakes: Option<Vec<Nanos>> = foreign.iter().map(|probe| probe.tls).collect();
        let tls = handshakes.and_then(|times| trimmed_mean(&times));
        let foreign = per_minute(match tls {
            Some(tls) => (tcp + tls + http) / 3.0,
            None => f64::midpoint(tcp, http),
        });
        let loaded_http = trimmed_mean(loaded)?;
        let loaded = per_minute(loaded_http);
        Some(Components { rpm: f64::midpoint(foreign, loaded), foreign, loaded, tcp, tls, http, loaded_http })
    }
}

/// Number of such durations in a minute; less than one nanosecond counts as one.
fn per_minute(nanos: f64) -> f64 {
    60e9 / nanos.max(1.0)
}

const KEPT: f64 = 0.95;

#[cfg(test)]
mod tests;
