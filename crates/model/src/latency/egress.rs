//! The results of one path.

use super::EgressEnds;
use super::noise::Outlier;
use crate::sample::Silence;
use crate::stats::batch_means::MeanInterval;
use crate::stats::distribution::Distribution;
use crate::stats::percentile::Percentile;
use crate::stats::percentile::Standing;
use crate::stats::shift::LevelShift;
use crate::stats::steady::Level;
use crate::units::{Nanos, PacketRate};
use serde::{Deserialize, Serialize};

/// The figures of one egress path. Counters cover the whole run; the distributions leave the warm-up out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Messages, replies, and the outcome of the others.
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
    /// playback, ping-pong at a rate that the path allows) until the reply was in this program's hands.
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
    /// The mean of `rtt`, in nanoseconds, and its confidence interval, which takes the correlation of successive round trips into
    /// account.
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
    /// The longest of `outages`; of older results the only one that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// Times in which messages in a row were lost, from when the first of them was due until the next one that was answered:
    /// the longest ones, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Silence>,
    /// When the round trips went from one level to another, and stayed there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<LevelShift>,
    /// From this percentile on the times are this host's own, which held the measuring thread or sent late; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoiled_from_percent: Option<f64>,
    /// Messages sent per second.
    #[serde(rename = "sent_pps")]
    pub sent_rate: PacketRate,
    /// Messages per second that the far end reports as received (throughput mode).
    #[serde(rename = "received_pps")]
    pub received_rate: Option<PacketRate>,
}

impl EgressResult {
    /// The standing of a percentile of its round trips.
    #[must_use]
    pub fn standing(&self, percent: f64) -> Standing {
        match self.rtt {
            Some(_) if self.spoiled_from_percent.is_some_and(|from| percent >= from) => Standing::Spoiled,
            Some(rtt) => rtt.standing(percent),
            None => Standing::TooFew,
        }
    }

    /// The percentile from which on the wait of the messages in this sender, and not the path, makes the round trips.
    #[must_use]
    pub fn late_from_percent(&self) -> Option<f64> {
        late_from_percent(self.rtt.as_ref()?, self.service.as_ref()?)
    }

    /// Its median from the send call, where the one from when messages were due is this sender's and not the path's.
    #[must_use]
    pub fn median_from_send_call(&self) -> Option<Nanos> {
        let service = self.service.filter(|_| self.standing(50.0) == Standing::Spoiled)?;
        service.known(50.0, |times| times.p50)
    }
}

/// From which percentile on round trips that count from when messages were due (`due`) are a tenth and 100 µs longer than those
/// from the send call (`sent`): the difference is the wait in the sender.
#[must_use]
pub fn late_from_percent(due: &Distribution, sent: &Distribution) -> Option<f64> {
    let is_moved =
        |due: Nanos, sent: Nanos| due.saturating_sub(sent) >= NOTICEABLE.max(Nanos(sent.0 / TENTH));
    let times: [(f64, TimeOf); 3] =
        [(50.0, |times| times.p50), (90.0, |times| times.p90), (99.0, |times| times.p99)];
    let known = times.into_iter().filter(|(percent, _)| due.standing(*percent) == Standing::Known);
    known.into_iter().find(|(_, of)| is_moved(of(due), of(sent))).map(|(percent, _)| percent)
}

type TimeOf = fn(&Distribution) -> Nanos;

/// A figure that is a tenth longer …
const TENTH: u64 = 10;
/// … and longer by a sender's usual lateness.
const NOTICEABLE: Nanos = Nanos::from_micros(100);

/// Outcome of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counted {
    /// Messages sent.
    pub sent: u64,
    /// Those of them that requested a reply.
    pub asked: u64,
    /// Replies, however late: the round trips.
    pub received: u64,
    /// No reply came.
    pub lost: u64,
    /// Still in flight when the run ended: neither lost nor measured.
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub in_flight: u64,
    /// The reply came so late that nothing was known of its message any more, and was not measured.
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
    /// Messages that the far end reports as received (throughput mode).
    pub far_received: Option<u64>,
    /// Messages sent more than 100 µs after they were due.
    pub behind: u64,
    /// Messages that were due by the requested rate and never sent: ping-pong waited for the replies to others.
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub unsent: u64,
}

/// Round trips on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWayDelays {
    /// To the far end; absent when not to be trusted, as when the error is as large as the median.
    #[serde(rename = "up_ns")]
    pub up: Option<Distribution>,
    /// From it, likewise. Beside a load one direction is often known and the other not.
    #[serde(rename = "down_ns")]
    pub down: Option<Distribution>,
    /// Bound of the clock's error, in either direction: half the shortest round trip at best.
    #[serde(rename = "error_ns")]
    pub error: Nanos,
    /// Remark on the clocks.
    pub note: ClockNote,
}

/// Why one-way delays are given or withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockNote {
    /// The error is below the values.
    Trusted,
    /// The error is as large as the values: withheld.
    ErrorTooLarge,
    /// One of the clocks stepped during the test: withheld.
    Stepped,
    /// Too few replies contained the far end's times: withheld.
    TooFew,
}
