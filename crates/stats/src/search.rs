//! Searches for rates and bursts that a device under test forwards: the next trial to run, and the conclusions from the results.
//!
//! A search knows nothing of how trials are run: it requests frames at a load for a duration and receives the counts of sent and
//! received frames. It has no clock and no randomness, so the same results give the same trials. Definitions and sources are in
//! `docs/methods/rate-search.md`.

mod back_to_back;
mod binary;
mod loss_steps;
mod mlr;

pub use back_to_back::{BackToBack, BackToBackConfig, BackToBackOutcome, BufferTime};
pub use binary::{Binary, BinaryConfig, BinaryOutcome};
pub use loss_steps::{LossStep, LossSteps, LossStepsConfig, LossStepsOutcome};
pub use mlr::{Goal, GoalOutcome, LowerBound, Mlr, MlrConfig};

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use thiserror::Error;
use units::{Nanos, PacketRate};

/// A rate offered to a device: frames per second, on each interface and in each direction. The number need not be whole, since a
/// search goes in steps of equal ratio.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Load(pub f64);

impl Load {
    /// The whole frames sent at this load in `duration`.
    #[must_use]
    pub fn frames_in(self, duration: Nanos) -> u64 {
        (self.0 * duration.as_secs_f64()) as u64
    }

    /// The time that `frames` take at this load, rounded up to a nanosecond.
    pub fn time_for(self, frames: u64) -> Nanos {
        Nanos((frames as f64 / self.0 * 1e9).ceil() as u64)
    }

    /// The nearest whole number of frames per second.
    pub fn rounded(self) -> PacketRate {
        PacketRate(self.0.round() as u64)
    }
}

impl From<PacketRate> for Load {
    fn from(rate: PacketRate) -> Load {
        Load(rate.0 as f64)
    }
}

impl Display for Load {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.rounded().fmt(f)
    }
}

/// The frames to offer in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The rate, in frames per second on each interface and direction.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// Its duration, in nanoseconds.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
    /// Number of frames, on each interface and direction.
    pub frames: u64,
}

impl Trial {
    /// A trial at this load for this long.
    #[must_use]
    pub fn new(load: Load, duration: Nanos) -> Trial {
        Trial { load, duration, frames: load.frames_in(duration) }
    }
}

/// The outcome of a trial, summed over interfaces and directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialResult {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that came back out of the device, duplicates included.
    pub received: u64,
    /// Those among them that had arrived before; 0 where the counter cannot detect them, and then the surplus of received over
    /// sent frames counts as such.
    pub duplicates: u64,
    /// Duration that the trial counts for, in nanoseconds: its own, or with its overhead (RFC 9971's effective duration).
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
}

impl TrialResult {
    /// The loss ratio by which a search judges, 0 to 1 and above: frames lost, duplicated and never sent, as a share of those
    /// intended or sent, whichever are more. Frames that a generator fails to send must not pass for forwarded. 1 when no frame
    /// was intended.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        let bad = self.bad().saturating_add(self.intended.abs_diff(self.sent));
        share(bad, self.sent.max(self.intended))
    }

    /// The same for the frames that were sent: the device's share. 1 when none was.
    #[must_use]
    pub fn device_loss_ratio(&self) -> f64 {
        share(self.bad(), self.sent)
    }

    /// RFC 2544's frame loss rate (section 26.3) as a share: `(sent - received) / sent`, without duplicates; never below zero,
    /// and 1 when nothing was sent.
    #[must_use]
    pub fn frame_loss_rate(&self) -> f64 {
        share(self.sent.saturating_sub(self.distinct()), self.sent)
    }

    /// Every frame was sent and came back once.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.sent > 0 && self.sent == self.intended && self.bad() == 0
    }

    /// More frames came back than were sent.
    #[must_use]
    pub fn has_duplicates(&self) -> bool {
        self.duplicates > 0 || self.received > self.sent
    }

    /// Frames that came back, each counted once.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.received.saturating_sub(self.duplicates)
    }

    /// Frames that the device lost or duplicated: one must not compensate the other.
    fn bad(&self) -> u64 {
        self.sent.abs_diff(self.distinct()).saturating_add(self.duplicates)
    }
}

/// A search: it names a trial, and takes its result.
pub trait Search {
    /// The trial to run now; `None` when the search is over. The same until its result is taken.
    fn trial(&self) -> Option<Trial>;

    /// Takes the result of that trial. Without effect when the search is over.
    fn take(&mut self, result: &TrialResult);
}

/// The least and the most load of a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// No trial offers less.
    #[serde(rename = "min_pps")]
    pub min: Load,
    /// No trial offers more: the line rate, or the rate that the generator reaches.
    #[serde(rename = "max_pps")]
    pub max: Load,
}

impl Limits {
    fn check(&self) -> Result<(), SearchError> {
        let finite = self.min.0.is_finite() && self.max.0.is_finite();
        if finite && 0.0 < self.min.0 && self.min.0 < self.max.0 {
            Ok(())
        } else {
            Err(SearchError::Limits { min: self.min.0, max: self.max.0 })
        }
    }
}

/// Reasons why a result is not a plain pair of bounds (RFC 9971 section 4.6.2 and our own).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Irregular {
    /// The most load (or the longest burst) passed too: the true figure is this or more.
    NoUpperBound,
    /// The least load failed too: no figure at all.
    NoLowerBound,
    /// The time ran out before the bounds were close enough.
    Unfinished,
    /// The upper bound is where the generator fell short, not where the device lost frames: the true figure is the lower bound or
    /// more.
    GeneratorLimited,
    /// A load above the upper bound would pass: loss does not grow with load.
    LossInversion,
    /// The device sent more frames than it received.
    Duplicates,
}

/// Why a search cannot begin.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SearchError {
    /// The limits are not an interval.
    #[error("search: the least load ({min} frames/s) must be above 0 and below the most ({max} frames/s)")]
    Limits {
        /// The least load.
        min: f64,
        /// The most load.
        max: f64,
    },
    /// A share or ratio that is out of range.
    #[error("search: {name} is {value}, it must be {accepted}")]
    Value {
        /// The name of the value.
        name: &'static str,
        /// The value.
        value: f64,
        /// The accepted values.
        accepted: &'static str,
    },
    /// Durations that contradict one another.
    #[error("search: {0}")]
    Durations(&'static str),
    /// A search needs a goal.
    #[error("search: no goal is given, or the same goal twice")]
    Goals,
    /// The shortest trial would send nothing at the least load.
    #[error(
        "search: at the least load ({min} frames/s) a trial of {duration} sends no frame; raise one of them"
    )]
    EmptyTrial {
        /// The least load.
        min: f64,
        /// The shortest trial.
        duration: Nanos,
    },
}

/// Checks that a value is valid; NaN never is.
fn accept(ok: bool, name: &'static str, value: f64, accepted: &'static str) -> Result<(), SearchError> {
    if ok { Ok(()) } else { Err(SearchError::Value { name, value, accepted }) }
}

/// Checks that the shortest trial at the least load has a frame.
fn not_empty(min: Load, duration: Nanos) -> Result<(), SearchError> {
    if min.frames_in(duration) > 0 { Ok(()) } else { Err(SearchError::EmptyTrial { min: min.0, duration }) }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(intended: u64, sent: u64, received: u64) -> TrialResult {
        TrialResult { intended, sent, received, duplicates: 0, duration: Nanos::from_secs(1) }
    }

    #[test]
    fn frames_never_sent_and_doubled_ones_count_as_lost() {
        assert_eq!(result(1000, 1000, 990).loss_ratio(), 0.01);
        assert_eq!(result(1000, 900, 900).loss_ratio(), 0.1);
        assert_eq!(result(1000, 1000, 1010).loss_ratio(), 0.01);
        assert_eq!(result(1000, 1250, 1250).loss_ratio(), 0.2);
        assert_eq!(result(0, 0, 0).loss_ratio(), 1.0);
        assert_eq!(result(1000, 900, 891).device_loss_ratio(), 0.01);
        let both = TrialResult { duplicates: 10, ..result(1000, 1000, 1000) };
        assert_eq!((both.loss_ratio(), both.frame_loss_rate()), (0.02, 0.01));
        assert!(both.has_duplicates() && !both.is_lossless());
        assert!(result(10, 10, 10).is_lossless());
        assert!(!result(10, 9, 9).is_lossless() && !result(10, 10, 11).is_lossless());
    }

    #[test]
    fn the_frame_loss_rate_is_of_frames_sent() {
        assert_eq!(result(1000, 800, 600).frame_loss_rate(), 0.25);
        assert_eq!(result(1000, 800, 900).frame_loss_rate(), 0.0);
        assert!(result(1000, 800, 900).has_duplicates());
    }

    #[test]
    fn loads_and_frames() {
        let trial = Trial::new(Load(1_488_095.5), Nanos::from_secs(2));
        assert_eq!(trial.frames, 2_976_191);
        assert_eq!(Load(1000.0).time_for(3), Nanos::from_millis(3));
        assert_eq!(Load::from(PacketRate(1_940_000)).to_string(), "1.94 Mpps");
    }
}
