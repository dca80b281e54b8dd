//! The two stages of a responsiveness test: saturation by goodput, then stability of the figure.

use super::{Band, Components, Confidence, ForeignProbe, Responsiveness};
use crate::spread::Moments;
use std::collections::VecDeque;
use units::{BitRate, Nanos};

/// The draft's parameters that are not the engine's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// MAD: intervals in a moving average, and averages whose spread is tested.
    pub distance: usize,
    /// SDT: a stage is stable when the standard deviation is below this share of the last value.
    pub tolerance: f64,
    /// Intervals after which a stage ends without being stable.
    pub longest_stage: u32,
}

/// Takes one interval after the other.
#[derive(Clone, Debug)]
pub struct ResponsivenessMeter {
    parameters: Parameters,
    stage: Phase,
    /// Goodput of the last intervals.
    goodputs: VecDeque<f64>,
    /// Probes of the last intervals.
    probes: VecDeque<(Vec<ForeignProbe>, Vec<Nanos>)>,
    saturation: Steps,
    stability: Steps,
}

/// The phase of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
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

impl Default for Parameters {
    /// MAD 4, SDT 5 %, and ten intervals to a stage.
    fn default() -> Parameters {
        Parameters { distance: 4, tolerance: 0.05, longest_stage: 10 }
    }
}

impl Default for ResponsivenessMeter {
    fn default() -> ResponsivenessMeter {
        ResponsivenessMeter::new(Parameters::default())
    }
}

impl ResponsivenessMeter {
    /// A meter at its start. A distance below two intervals is raised to two: one value has no spread.
    #[must_use]
    pub fn new(parameters: Parameters) -> ResponsivenessMeter {
        ResponsivenessMeter {
            parameters: Parameters { distance: parameters.distance.max(2), ..parameters },
            stage: Phase::Saturation,
            goodputs: VecDeque::new(),
            probes: VecDeque::new(),
            saturation: Steps::default(),
            stability: Steps::default(),
        }
    }

    /// The phase of the test.
    #[must_use]
    pub fn stage(&self) -> Phase {
        self.stage
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
        let confidence = |steps: &Steps| steps.confidence(&self.parameters);
        Some(Responsiveness {
            rpm: components.rpm,
            band: Band::for_rpm(components.rpm),
            confidence: confidence(&self.saturation).min(confidence(&self.stability)),
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
        push(&mut self.goodputs, goodput.0 as f64, self.parameters.distance);
        let average = self.goodputs.iter().sum::<f64>() / self.goodputs.len() as f64;
        self.saturation.take(Some(average), &self.parameters);
        if !self.saturation.is_over(&self.parameters) {
            return Next::AddLoad;
        }
        self.stage = Phase::Stability;
        Next::Hold
    }

    fn stabilise(&mut self, foreign: &[ForeignProbe], loaded: &[Nanos]) -> Next {
        push(&mut self.probes, (foreign.to_vec(), loaded.to_vec()), self.parameters.distance);
        let rpm = self.components().map(|components| components.rpm);
        self.stability.take(rpm, &self.parameters);
        if !self.stability.is_over(&self.parameters) {
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
    fn take(&mut self, value: Option<f64>, parameters: &Parameters) {
        self.count = self.count.saturating_add(1);
        match value {
            Some(value) => push(&mut self.values, value, parameters.distance),
            None => self.values.clear(),
        }
        let spread = Moments::from_values(self.values.make_contiguous()).stddev();
        let limit = parameters.tolerance * self.last();
        self.stable = self.values.len() >= parameters.distance && spread.is_some_and(|spread| spread < limit);
    }

    fn last(&self) -> f64 {
        self.values.back().copied().unwrap_or(0.0)
    }

    fn is_over(&self, parameters: &Parameters) -> bool {
        self.stable || self.count >= parameters.longest_stage
    }

    fn confidence(&self, parameters: &Parameters) -> Confidence {
        match self.stable {
            true => Confidence::High,
            false if self.values.len() >= parameters.distance => Confidence::Medium,
            false => Confidence::Low,
        }
    }
}

/// Keeps the last `most`.
fn push<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    queue.push_back(value);
    if queue.len() > most {
        queue.pop_front();
    }
}
