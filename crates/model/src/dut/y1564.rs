//! Activation of an Ethernet service (ITU-T Y.1564): the steps of its configuration test, pass or fail against the
//! service's profile, and the availability of a long test.
//!
//! Information rates count frames from destination address to FCS.

use crate::scale;
use crate::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// Commitments of a service.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Committed information rate, in bits per second.
    #[serde(rename = "committed_bps")]
    pub committed: BitRate,
    /// Excess information rate beyond that, without promise, in bits per second; 0 for none.
    #[serde(rename = "excess_bps")]
    pub excess: BitRate,
    /// Frame loss ratio of the committed rate at most, 0 to 1.
    pub loss: f64,
    /// Frame transfer delay at most, in nanoseconds.
    #[serde(rename = "delay_ns")]
    pub delay: Nanos,
    /// Frame delay variation at most, in nanoseconds.
    #[serde(rename = "variation_ns")]
    pub variation: Nanos,
    /// By what share a policer may let through more than both rates, 0 to 1: for its burst.
    pub policing_margin: f64,
    /// Availability of a long test at least, 0 to 1.
    pub availability: f64,
}

/// Purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Within the committed rate: all promises hold.
    Committed,
    /// The committed and the excess rate: the committed rate comes through at least.
    Excess,
    /// Above both: no more than both comes through.
    Policing,
}

/// One step of the configuration test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The purpose.
    pub kind: Kind,
    /// The rate to offer, in bits per second.
    #[serde(rename = "offered_bps")]
    pub offered: BitRate,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Information rate received, in bits per second.
    #[serde(rename = "received_bps")]
    pub received: BitRate,
    /// Frames lost of those sent, 0 to 1.
    pub loss: f64,
    /// Frame transfer delay, in nanoseconds; absent when nothing came.
    #[serde(rename = "delay_ns")]
    pub delay: Option<Nanos>,
    /// Frame delay variation, in nanoseconds; absent when nothing came.
    #[serde(rename = "variation_ns")]
    pub variation: Option<Nanos>,
}

/// A promise that was not kept.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Miss {
    /// Less came through than this, in bits per second.
    RateBelow(BitRate),
    /// More came through than this, in bits per second.
    RateAbove(BitRate),
    /// More frames were lost than this share.
    LossAbove(f64),
    /// Frames took longer than this, in nanoseconds, or none came.
    DelayAbove(Nanos),
    /// The delay varied by more than this, in nanoseconds, or no frame came.
    VariationAbove(Nanos),
}

impl Profile {
    /// The burst of a policer, in a step of some seconds.
    pub const USUAL_POLICING_MARGIN: f64 = 0.01;
    /// Five nines less one: what carriers promise at the least.
    pub const USUAL_AVAILABILITY: f64 = 0.9999;

    /// The steps of the configuration test: 25, 50, 75 and 100 % of the committed rate; both rates; the committed and 125 % of
    /// the excess rate. Without an excess rate, 125 % of the committed one is policed.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let part = |rate: BitRate, percent: u64| BitRate(scale(rate.0, percent, 100));
        let committed = |percent| Step { kind: Kind::Committed, offered: part(self.committed, percent) };
        let mut steps: Vec<Step> = [25, 50, 75, 100].map(committed).to_vec();
        let policed = if self.excess == BitRate(0) {
            part(self.committed, 125)
        } else {
            steps.push(Step { kind: Kind::Excess, offered: self.both() });
            self.committed.saturating_add(part(self.excess, 125))
        };
        steps.push(Step { kind: Kind::Policing, offered: policed });
        steps
    }

    /// The promises that a step broke; it passed when there are none.
    #[must_use]
    pub fn misses(&self, step: &Step, observed: &Observed) -> Vec<Miss> {
        let promised = match step.kind {
            Kind::Committed => step.offered,
            Kind::Excess | Kind::Policing => self.committed,
        };
        let least = BitRate(share(promised, 1.0 - self.loss));
        let most = match step.kind {
            Kind::Policing => BitRate(share(self.both(), 1.0 + self.policing_margin)),
            // Only a device that duplicates frames can deliver more than the load offered.
            Kind::Committed | Kind::Excess => step.offered,
        };
        let promises = step.kind == Kind::Committed;
        let exceeds = |value: Option<Nanos>, limit| promises && value.is_none_or(|value| value > limit);
        [
            (observed.received < least).then_some(Miss::RateBelow(least)),
            (observed.received > most).then_some(Miss::RateAbove(most)),
            (promises && !(0.0..=self.loss).contains(&observed.loss)).then_some(Miss::LossAbove(self.loss)),
            exceeds(observed.delay, self.delay).then_some(Miss::DelayAbove(self.delay)),
            exceeds(observed.variation, self.variation).then_some(Miss::VariationAbove(self.variation)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn both(&self) -> BitRate {
        self.committed.saturating_add(self.excess)
    }
}

/// The share of seconds in which a service was available (ITU-T Y.1563), of the loss ratio of each second. It is not from
/// the first of ten seconds in a row that lose more than half of their frames, until the first of ten that do not. `None` of
/// no seconds.
#[must_use]
pub fn availability(loss_of_seconds: &[f64]) -> Option<f64> {
    let severe: Vec<bool> = loss_of_seconds.iter().map(|loss| *loss > SEVERE_LOSS).collect();
    let (mut available, mut unavailable_seconds) = (true, 0_usize);
    for start in 0..severe.len() {
        let window = severe.get(start..start + WINDOW);
        if window.is_some_and(|window| window.iter().all(|severe| *severe == available)) {
            available = !available;
        }
        unavailable_seconds += usize::from(!available);
    }
    (!severe.is_empty()).then(|| 1.0 - unavailable_seconds as f64 / severe.len() as f64)
}

/// Rounded down: a rate that is short of a bit per second has not failed.
fn share(rate: BitRate, share: f64) -> u64 {
    (rate.0 as f64 * share) as u64
}

/// A second with more loss is severely errored.
const SEVERE_LOSS: f64 = 0.5;
/// Seconds in a row that begin and end unavailable time.
const WINDOW: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(excess: u64) -> Profile {
        Profile {
            committed: BitRate(100_000_000),
            excess: BitRate(excess),
            loss: 0.001,
            delay: Nanos::from_millis(10),
            variation: Nanos::from_millis(2),
            policing_margin: 0.01,
            availability: 0.9999,
        }
    }

    fn observed(received: u64) -> Observed {
        let (delay, variation) = (Some(Nanos::from_millis(3)), Some(Nanos::from_millis(1)));
        Observed { received: BitRate(received), loss: 0.0, delay, variation }
    }

    #[test]
    fn steps_with_and_without_an_excess_rate() {
        let rates = |excess| profile(excess).steps().iter().map(|step| step.offered.0).collect::<Vec<_>>();
        let quarters = [25_000_000, 50_000_000, 75_000_000, 100_000_000];
        assert_eq!(rates(40_000_000), [&quarters[..], &[140_000_000, 150_000_000]].concat());
        assert_eq!(rates(0), [&quarters[..], &[125_000_000]].concat());
        assert_eq!(profile(0).steps()[4].kind, Kind::Policing);
    }

    #[test]
    fn within_the_committed_rate_all_promises_hold() {
        let step = Step { kind: Kind::Committed, offered: BitRate(50_000_000) };
        let misses = |observed: Observed| profile(0).misses(&step, &observed);
        assert_eq!(misses(observed(50_000_000)), []);
        assert_eq!(misses(observed(49_950_000)), []);
        assert_eq!(misses(observed(49_949_999)), [Miss::RateBelow(BitRate(49_950_000))]);
        assert_eq!(misses(observed(51_000_000)), [Miss::RateAbove(BitRate(50_000_000))]);
        let bad = Observed {
            loss: f64::NAN,
            delay: Some(Nanos::from_millis(11)),
            variation: None,
            ..observed(50_000_000)
        };
        let (delay, variation) = (Nanos::from_millis(10), Nanos::from_millis(2));
        assert_eq!(
            misses(bad),
            [Miss::LossAbove(0.001), Miss::DelayAbove(delay), Miss::VariationAbove(variation)]
        );
    }

    #[test]
    fn a_policer_holds_both_rates() {
        let step = Step { kind: Kind::Policing, offered: BitRate(150_000_000) };
        let misses = |received| profile(40_000_000).misses(&step, &observed(received));
        assert_eq!(misses(141_400_000), []);
        assert_eq!(misses(141_400_001), [Miss::RateAbove(BitRate(141_400_000))]);
        assert_eq!(misses(99_000_000), [Miss::RateBelow(BitRate(99_900_000))]);
        let excess = Step { kind: Kind::Excess, offered: BitRate(140_000_000) };
        let lossy = Observed { loss: 0.28, ..observed(100_000_000) };
        assert_eq!(profile(40_000_000).misses(&excess, &lossy), []);
    }

    #[test]
    fn ten_seconds_in_a_row_begin_and_end_unavailability() {
        let seconds = |parts: &[(usize, f64)]| -> Vec<f64> {
            parts.iter().flat_map(|(count, loss)| vec![*loss; *count]).collect()
        };
        assert_eq!(availability(&seconds(&[(40, 0.0), (9, 1.0), (51, 0.0)])), Some(1.0));
        assert_eq!(availability(&seconds(&[(40, 0.5), (10, 0.6), (50, 0.0)])), Some(0.9));
        // Five good seconds between do not end it.
        assert_eq!(availability(&seconds(&[(40, 0.0), (10, 1.0), (5, 0.0), (5, 1.0), (40, 0.0)])), Some(0.8));
        assert_eq!(availability(&[1.0; 10]), Some(0.0));
        assert_eq!(availability(&[]), None);
    }
}
