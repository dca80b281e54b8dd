//! What one way gave.

use super::EgressEnds;
use super::noise::Outlier;
use crate::sample::Silence;
use crate::stats::batch_means::MeanInterval;
use crate::stats::histogram::Distribution;
use crate::stats::percentile::Percentile;
use crate::stats::steady::Level;
use crate::units::{Nanos, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The figures of one egress path. Counters cover the whole run; the distributions leave the warm-up out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EgressResult {
    /// Its name in tables.
    pub label: String,
    /// The host as the user typed it.
    pub host: String,
    /// Its two ends.
    pub ends: EgressEnds,
    /// Counted time.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Messages, replies, and what became of the rest.
    pub counted: Counted,
    /// Leading time that was cut, until the round trips were steady.
    #[serde(rename = "warm_up_ns")]
    pub warm_up: Nanos,
    /// Round trips in it.
    pub warm_up_count: u64,
    /// Whether the round trips behind the warm-up are on one level; absent where the user set the warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Application RTT: from before the send call (ping-pong) or from the moment the message was due (under-load,
    /// playback) until the reply was in this program's hands.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// The same from the send call, where `rtt` counts from another moment: without the wait in this sender. Of the whole
    /// run, the warm-up too.
    #[serde(rename = "service_ns")]
    pub service: Option<Distribution>,
    /// Median absolute deviation from the median.
    #[serde(rename = "mad_ns")]
    pub mad: Option<Nanos>,
    /// Distance of the quartiles.
    #[serde(rename = "iqr_ns")]
    pub iqr: Option<Nanos>,
    /// Percentiles of `rtt` with the bounds within which the true ones lie at 95 %; those that so few round trips
    /// cannot carry are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
    /// The mean of `rtt`, in nanoseconds, and how far off it may be, successive round trips being alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<MeanInterval>,
    /// The histogram of `rtt` in HdrHistogram's V2 form: compressed, base64, nanoseconds.
    pub histogram: Option<String>,
    /// The same round trips timed by the kernel or the NIC.
    pub wire: Option<WireTimes>,
    /// One-way delays.
    pub one_way: Option<OneWayDelays>,
    /// The slowest round trips and whose fault they are, farthest first, at most 16.
    pub outliers: Vec<Outlier>,
    /// The longest time without a reply in which messages were lost, where it is worth a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// Messages a second that were sent.
    #[serde(rename = "sent_pps")]
    pub sent_rate: PacketRate,
    /// Messages a second that the far end says it received (throughput mode).
    #[serde(rename = "received_pps")]
    pub received_rate: Option<PacketRate>,
}

/// What became of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counted {
    /// Messages sent.
    pub sent: u64,
    /// Of these, asked for a reply.
    pub asked: u64,
    /// Replies in time: the round trips.
    pub received: u64,
    /// No reply came, before the timeout or after.
    pub lost: u64,
    /// The reply came after the timeout.
    pub late: u64,
    /// Replies that had come before.
    pub duplicates: u64,
    /// Replies that came after one to a later message.
    pub reordered: u64,
    /// Messages received that were no replies of this run.
    pub strays: u64,
    /// Lost between this host and the far one, where the far end counts.
    pub lost_up: Option<u64>,
    /// Lost on the return path, likewise.
    pub lost_down: Option<u64>,
    /// Messages that the far end says it received (throughput mode).
    pub far_received: Option<u64>,
    /// Messages that were due and not sent in time, because this sender could not keep up.
    pub behind: u64,
}

/// Round trips on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireTimes {
    /// From the moment the kernel or NIC sent the request until it received the reply.
    #[serde(rename = "rtt_ns")]
    pub rtt: Distribution,
    /// Application RTT of the very same round trips.
    #[serde(rename = "application_ns")]
    pub application: Distribution,
    /// The NIC took the times, not the kernel.
    pub hardware: bool,
}

/// One-way delays, by the far end's clock as fitted to ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayDelays {
    /// To the far end; absent when not to be trusted, as when the error is as large as the median.
    #[serde(rename = "up_ns")]
    pub up: Option<Distribution>,
    /// From it, likewise. Beside a load one direction is often known and the other not.
    #[serde(rename = "down_ns")]
    pub down: Option<Distribution>,
    /// Bound of the clock's error, either way: half the shortest round trip at best.
    #[serde(rename = "error_ns")]
    pub error: Nanos,
    /// What is to be known of the clocks.
    pub note: ClockNote,
}

/// Why one-way delays are given or withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockNote {
    /// The error is below the values.
    Trusted,
    /// The error is as large as the values: withheld.
    ErrorTooLarge,
    /// One of the clocks stepped during the test: withheld.
    Stepped,
    /// Too few replies told the far end's times: withheld.
    TooFew,
}
