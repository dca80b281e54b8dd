//! Time until a device forwards again: after an overload (RFC 2544 section 26.5), after a reset (section 26.6, RFC 6201).

use crate::search::{Load, Trial};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The two loads of the test for system recovery.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overload {
    /// First, for 60 seconds or more: 110 % of the throughput or what the link carries, in frames per second.
    #[serde(rename = "overload_pps")]
    pub overload: Load,
    /// Then: half of it.
    #[serde(rename = "relief_pps")]
    pub relief: Load,
    /// The link carries no more than the throughput, so that nothing is overloaded and no recovery can be observed.
    pub no_overload: bool,
}

impl Overload {
    /// The overload for a throughput and the most that the link carries; `None` when either is zero.
    #[must_use]
    pub fn from_throughput(throughput: Load, link: Load) -> Option<Overload> {
        if throughput.0 <= 0.0 || link.0 <= 0.0 {
            return None;
        }
        let overload = Load((throughput.0 * 1.1).min(link.0));
        Some(Overload { overload, relief: Load(overload.0 / 2.0), no_overload: overload <= throughput })
    }
}

/// From the fall of the load to the sending of the last frame that was lost; none when no frame was lost after the fall.
/// Frames are numbered through both loads, `last_lost` is the highest number that did not arrive.
pub fn recovery_time(overload: &Trial, relief: &Trial, last_lost: Option<u64>) -> Nanos {
    let after = last_lost.and_then(|number| number.checked_sub(overload.frames));
    after.map_or(Nanos::ZERO, |number| relief.load.time_for(number))
}

/// For how long a reset interrupts forwarding, by both methods of RFC 6201.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResetTime {
    /// From the last frame received before to the first one after, in nanoseconds; the time between two frames is part of it.
    #[serde(rename = "by_time_ns")]
    pub by_time: Option<Nanos>,
    /// Frames lost divided by the load, in nanoseconds; it also counts what the device held and lost.
    #[serde(rename = "by_loss_ns")]
    pub by_loss: Option<Nanos>,
}

impl ResetTime {
    /// `silence`: from the last frame before to the first one after it; `None` when forwarding never resumed: neither method has a
    /// result then.
    #[must_use]
    pub fn from_silence(silence: Option<Nanos>, lost: u64, load: Load) -> ResetTime {
        let by_loss = silence.filter(|_| load.0 > 0.0).map(|_| load.time_for(lost));
        ResetTime { by_time: silence, by_loss }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overload_is_bounded_by_the_link() {
        let plan = Overload::from_throughput(Load(1000.0), Load(10_000.0)).unwrap();
        assert!((plan.overload.0 - 1100.0).abs() < 1e-9 && (plan.relief.0 - 550.0).abs() < 1e-9);
        assert!(!plan.no_overload);
        let tight = Overload::from_throughput(Load(1000.0), Load(1050.0)).unwrap();
        assert_eq!((tight.overload, tight.no_overload), (Load(1050.0), false));
        assert!(Overload::from_throughput(Load(1000.0), Load(1000.0)).unwrap().no_overload);
        assert_eq!(Overload::from_throughput(Load(0.0), Load(1000.0)), None);
    }

    #[test]
    fn recovery_ends_with_the_last_loss() {
        let trial = |load, seconds| Trial::new(Load(load), Nanos::from_secs(seconds));
        let time = |last_lost| recovery_time(&trial(1000.0, 60), &trial(500.0, 60), last_lost);
        assert_eq!(time(Some(60_000 + 250)), Nanos::from_millis(500));
        assert_eq!(
            (time(Some(60_000)), time(Some(59_999)), time(None)),
            (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO)
        );
    }

    #[test]
    fn reset_by_time_and_by_loss() {
        let reset = ResetTime::from_silence(Some(Nanos::from_millis(2500)), 2500, Load(1000.0));
        assert_eq!(reset.by_time, Some(Nanos::from_millis(2500)));
        assert_eq!(reset.by_loss, Some(Nanos::from_millis(2500)));
        let dead = ResetTime::from_silence(None, 2500, Load(1000.0));
        assert_eq!((dead.by_time, dead.by_loss), (None, None));
    }
}
