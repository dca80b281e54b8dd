//! The two stages of a responsiveness test: saturation by goodput, then stability of the figure.

use super::{Band, Components, Confidence, ForeignProbe, Responsiveness};
use crate::spread::Moments;
use std::collections::VecDeque;
use units::{BitRate, Nanos};

/// Takes one interval after the other.
#[derive(Clone, Debug)]
pub struct ResponsivenessMeter {
    /// Intervals after which a stage ends without being stable.
    longest_stage: u32,
    pub(super) stage: Phase,
    /// Goodput of the last intervals.
    goodputs: VecDeque<f64>,
    /// Probes of the last intervals.
    probes: VecDeque<(Vec<ForeignProbe>, Vec<Nanos>)>,
    saturation: Steps,
    stability: Steps,
}

/// The phase of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Load is added until goodput is stable; probes do not count.
    Saturation,
    /// Probes count until their figure is stable.
    Stability,
    /// The test is over.
    Done,
}

/// The engine's action in the next interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Add connections (INC of the draft, up to MNP) and go on.
    AddLoad,
    /// Keep the load and go on.
    Hold,
    /// Stop: the result is final.
    Stop,
}

impl ResponsivenessMeter {
    /// A meter at its start. A stage ends after so many intervals without being stable: [`LONGEST_STAGE`] of them in a test that has
    /// the time.
    #[must_use]
    pub fn new(longest_stage: u32) -> ResponsivenessMeter {
        ResponsivenessMeter {
            longest_stage,
            stage: Phase::Saturation,
            goodputs: VecDeque::new(),
            probes: VecDeque::new(),
            saturation: Steps::default(),
            stability: Steps::default(),
        }
    }

    /// Takes a finished interval (ID of the draft, 5 s): its goodput, all load connections together, and the probes that ended in
    /// it.
    pub fn interval(&mut self, goodput: BitRate, foreign: &[ForeignProbe], loaded: &[Nanos]) -> Next {
        match self.stage {
            Phase::Saturation => self.saturate(goodput),
            Phase::Stability => self.stabilise(foreign, loaded),
            Phase::Done => Next::Stop,
        }
    }

    /// The figure from the probes of the last intervals; `None` before both kinds of probes arrived in a counted interval. May be
    /// called at any time: a test that was cut short has a result of less confidence.
    #[must_use]
    pub fn result(&self) -> Option<Responsiveness> {
        let components = self.components()?;
        let nanos = |time: f64| Nanos(time.round() as u64);
        let count =
            |length: fn(&(Vec<ForeignProbe>, Vec<Nanos>)) -> usize| self.probes.iter().map(length).sum();
        let (foreign_probes, loaded_probes): (usize, usize) = (count(|p| p.0.len()), count(|p| p.1.len()));
        Some(Responsiveness {
            rpm: components.rpm,
            band: Band::for_rpm(components.rpm),
            confidence: self.saturation.confidence().min(self.stability.confidence()),
            foreign: components.foreign,
            loaded: components.loaded,
            tcp: nanos(components.tcp),
            tls: components.tls.map(nanos),
            http: nanos(components.http),
            loaded_http: nanos(components.loaded_http),
            foreign_probes: foreign_probes as u64,
            loaded_probes: loaded_probes as u64,
            goodput: BitRate(self.saturation.last().round() as u64),
            saturation_intervals: self.saturation.count,
            stability_intervals: self.stability.count,
        })
    }

    fn saturate(&mut self, goodput: BitRate) -> Next {
        push(&mut self.goodputs, goodput.0 as f64);
        let average = self.goodputs.iter().sum::<f64>() / self.goodputs.len() as f64;
        self.saturation.take(Some(average));
        if !self.saturation.is_over(self.longest_stage) {
            return Next::AddLoad;
        }
        self.stage = Phase::Stability;
        Next::Hold
    }

    fn stabilise(&mut self, foreign: &[ForeignProbe], loaded: &[Nanos]) -> Next {
        push(&mut self.probes, (foreign.to_vec(), loaded.to_vec()));
        let rpm = self.components().map(|components| components.rpm);
        self.stability.take(rpm);
        if !self.stability.is_over(self.longest_stage) {
            return Next::Hold;
        }
        self.stage = Phase::Done;
        Next::Stop
    }

    fn components(&self) -> Option<Components> {
        let foreign: Vec<ForeignProbe> = self.probes.iter().flat_map(|probes| &probes.0).copied().collect();
        let loaded: Vec<Nanos> = self.probes.iter().flat_map(|probes| &probes.1).copied().collect();
        Components::from_probes(&foreign, &loaded)
    }
}

/// The values of one stage, interval by interval.
#[derive(Clone, Debug, Default)]
struct Steps {
    values: VecDeque<f64>,
    count: u32,
    stable: bool,
}

impl Steps {
    /// Takes the value of an interval; one without a value counts and resets the values.
    fn take(&mut self, value: Option<f64>) {
        self.count = self.count.saturating_add(1);
        match value {
            Some(value) => push(&mut self.values, value),
            None => self.values.clear(),
        }
        let spread = Moments::from_values(self.values.make_contiguous()).stddev();
        let limit = TOLERANCE * self.last();
        self.stable = self.values.len() >= DISTANCE && spread.is_some_and(|spread| spread < limit);
    }

    fn last(&self) -> f64 {
        self.values.back().copied().unwrap_or(0.0)
    }

    fn is_over(&self, longest: u32) -> bool {
        self.stable || self.count >= longest
    }

    fn confidence(&self) -> Confidence {
        match self.stable {
            true => Confidence::High,
            false if self.values.len() >= DISTANCE => Confidence::Medium,
            false => Confidence::Low,
        }
    }
}

/// Keeps the last ones.
fn push<T>(queue: &mut VecDeque<T>, value: T) {
    queue.push_back(value);
    if queue.len() > DISTANCE {
        queue.pop_front();
    }
}

/// MAD of the draft: intervals in a moving average, and averages whose spread is tested.
pub const DISTANCE: usize = 4;
/// Intervals after which a stage ends without being stable.
pub const LONGEST_STAGE: u32 = 10;
/// SDT of the draft: a stage is stable when the standard deviation is below this share of the last value.
const TOLERANCE: f64 = 0.05;
