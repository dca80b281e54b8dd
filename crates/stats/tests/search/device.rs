//! Simulated devices under test: the same arithmetic as in `mlrsearch.py`, so that both searches measure the same.

use crate::search::{Trial, TrialResult};
use proptest::prelude::*;
use std::ops::Range;
use units::Nanos;

/// The behaviour of a device. Rates are frames per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Forwards up to its capacity and drops the rest.
    Sharp { capacity: f64 },
    /// The same with a buffer that takes so many more frames in each trial, so that short trials give too high rates.
    Buffered { capacity: f64, buffer: u64 },
    /// The same, but loses a frame of `per` in some trials (one of `every`, by a fixed pseudo-random sequence).
    Noisy { capacity: f64, every: u64, per: u64 },
    /// Beyond its capacity it forwards less the more is offered.
    Livelock { capacity: f64 },
    /// Loses one frame of a hundred from one load on, and none above another, up to its capacity.
    Inverted { from: f64, to: f64, capacity: f64 },
    /// Forwards all, but the generator is limited to this rate.
    SlowGenerator { most: f64 },
    /// Sends one frame of a hundred twice from a load on.
    Duplicating { from: f64 },
    /// Forwards nothing.
    Dead,
}

/// Any device, with rates in this range, and a buffer of fewer frames than `buffer`.
pub(crate) fn any_kind(rates: Range<f64>, buffer: u64) -> impl Strategy<Value = Kind> {
    let rate = || rates.clone();
    prop_oneof![
        rate().prop_map(|capacity| Kind::Sharp { capacity }),
        rate().prop_map(|capacity| Kind::Livelock { capacity }),
        (rate(), 0..buffer).prop_map(|(capacity, buffer)| Kind::Buffered { capacity, buffer }),
        (rate(), 1_u64..5, 1_u64..2000).prop_map(|(capacity, every, per)| Kind::Noisy {
            capacity,
            every,
            per
        }),
        (rate(), rate(), rate()).prop_map(|(from, to, capacity)| Kind::Inverted { from, to, capacity }),
        rate().prop_map(|most| Kind::SlowGenerator { most }),
        rate().prop_map(|from| Kind::Duplicating { from }),
        Just(Kind::Dead),
    ]
}

/// A device with its count of trials.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) kind: Kind,
    /// Time that each trial takes beyond its duration.
    pub(crate) overhead: Nanos,
    trials: u64,
}

impl Device {
    pub(crate) fn new(kind: Kind, overhead: Nanos) -> Device {
        Device { kind, overhead, trials: 0 }
    }

    pub(crate) fn measure(&mut self, trial: &Trial) -> TrialResult {
        self.trials += 1;
        let frames = trial.frames;
        let limit = |rate: f64| (rate * trial.duration.as_secs_f64()) as u64;
        let sent = match self.kind {
            Kind::SlowGenerator { most } => frames.min(limit(most)),
            _ => frames,
        };
        let received = match self.kind {
            Kind::Sharp { capacity } => frames.min(limit(capacity)),
            Kind::Buffered { capacity, buffer } => frames.min(limit(capacity) + buffer),
            Kind::Noisy { capacity, every, per } => {
                let lost = if self.chance().is_multiple_of(every) { frames / per } else { 0 };
                frames.min(limit(capacity)) - lost.min(frames.min(limit(capacity)))
            }
            Kind::Livelock { capacity } => {
                let most = limit(capacity);
                if frames <= most { frames } else { most * most / frames }
            }
            Kind::Inverted { from, to, capacity } => {
                let bad = from <= trial.load.0 && trial.load.0 < to;
                let lost = if bad { frames / 100 } else { 0 };
                frames.min(limit(capacity)) - lost.min(limit(capacity))
            }
            Kind::SlowGenerator { .. } => sent,
            Kind::Duplicating { from } if trial.load.0 >= from => frames + frames / 100,
            Kind::Duplicating { .. } => frames,
            Kind::Dead => 0,
        };
        let duration = trial.duration + self.overhead;
        TrialResult { intended: frames, sent, received, duplicates: 0, duration }
    }

    /// The upper half of a linear congruential generator's output for this trial (Knuth's MMIX constants).
    fn chance(&self) -> u64 {
        self.trials.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33
    }
}
