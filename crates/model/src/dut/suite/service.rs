//! Activation of a service (ITU-T Y.1564): its steps, and then the long test in pieces.

use super::super::y1564::{self, Kind, Miss, Observed, Profile, Step};
use super::super::{
    Action, DirectionObservation, Observation, SERVICE_PIECE, ServiceReport, ServiceStep, Setup, StreamReport,
};
use super::delays::{by_direction, trial, variation};
use super::job::DeviceTest;
use crate::distinct;
use crate::search::{Load, Trial};
use crate::units::{BitRate, Nanos};

/// A service under test.
#[derive(Debug)]
pub(super) struct Service {
    profile: Profile,
    steps: Vec<(Step, Trial)>,
    done: Vec<ServiceStep>,
    piece: Trial,
    pieces: usize,
    /// Results of each piece of the long test.
    runs: Vec<Vec<DirectionObservation>>,
    notes: Vec<String>,
    /// Some promise could not be measured.
    unmeasured: bool,
}

impl Service {
    pub(super) fn new(setup: &Setup, row: &StreamReport, most: Load) -> Result<Service, String> {
        let profile = setup.service.ok_or("the service has no profile")?;
        let frame_bits = 8.0 * row.stream.frames.mean();
        let load = |step: &Step| Load(step.offered.0 as f64 / frame_bits);
        let (mut steps, mut notes) = (Vec::new(), Vec::new());
        for step in profile.steps() {
            let rate = load(&step);
            let too_much = format!(
                "{} needs {rate} of these frames, and no more than {most} can be offered",
                step.offered
            );
            match step.kind {
                _ if rate.0 <= most.0 * (1.0 + ROUNDING) => {
                    steps.push((step, trial(rate, setup.times.service_step)?));
                }
                Kind::Committed => return Err(format!("the committed rate cannot be tested: {too_much}")),
                Kind::Excess => notes.push(format!("the step with the excess rate was left out: {too_much}")),
                Kind::Policing => notes.push(format!("the step of policing was left out: {too_much}")),
            }
        }
        let committed = Load(profile.committed.0 as f64 / frame_bits);
        let pieces = setup.times.service_pieces() as usize;
        let piece = trial(committed, SERVICE_PIECE)?;
        let (done, runs) = (Vec::new(), Vec::new());
        Ok(Service { profile, steps, done, piece, pieces, runs, notes, unmeasured: false })
    }

    /// The long test comes only after a configuration test that passed.
    fn wants_pieces(&self) -> bool {
        self.done.len() == self.steps.len() && self.runs.len() < self.pieces && self.passed()
    }

    fn passed(&self) -> bool {
        self.done.iter().all(|step| step.misses.is_empty())
    }

    /// The results of the worse direction, and every commitment that either broke.
    fn judge(&self, step: &Step, directions: &[Vec<&DirectionObservation>]) -> ServiceStep {
        let mut judged: Vec<(Observed, Vec<Miss>)> = directions
            .iter()
            .map(|runs| {
                let observed = observed(step, runs);
                let unknown = |miss: &Miss| is_unmeasured(runs) && is_of_delay(miss);
                let mut misses = self.profile.misses(step, &observed);
                misses.retain(|miss| !unknown(miss));
                (observed, misses)
            })
            .collect();
        judged
            .sort_by(|one, other| other.1.len().cmp(&one.1.len()).then(other.0.loss.total_cmp(&one.0.loss)));
        let worst = judged.first().map(|(observed, _)| *observed);
        let nothing = Observed { received: BitRate(0), loss: 1.0, delay: None, variation: None };
        let misses = match worst {
            Some(_) => distinct(judged.into_iter().flat_map(|(_, misses)| misses)),
            None => self.profile.misses(step, &nothing),
        };
        ServiceStep { step: *step, observed: worst.unwrap_or(nothing), misses }
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|note| note == text) {
            self.notes.push(text.to_owned());
        }
    }

    fn performance(&self) -> Option<ServiceStep> {
        let step = Step { kind: Kind::Committed, offered: self.profile.committed };
        let directions = by_direction(self.runs.iter().map(Vec::as_slice));
        (!self.runs.is_empty()).then(|| self.judge(&step, &directions))
    }

    /// The loss of each second, taken as that of its piece in the worse direction.
    fn loss_of_seconds(&self) -> Vec<f64> {
        let seconds = (SERVICE_PIECE.0 / Nanos::from_secs(1).0) as usize;
        let worst = |directions: &Vec<DirectionObservation>| {
            directions
                .iter()
                .map(|direction| direction.result.frame_loss_rate())
                .reduce(f64::max)
                .unwrap_or(1.0)
        };
        self.runs.iter().flat_map(|directions| std::iter::repeat_n(worst(directions), seconds)).collect()
    }
}

impl DeviceTest for Service {
    fn action(&self) -> Option<Action> {
        match self.steps.get(self.done.len()) {
            Some((_, trial)) => Some(Action::Trial(*trial)),
            None => self.wants_pieces().then_some(Action::Trial(self.piece)),
        }
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        let runs: Vec<Vec<&DirectionObservation>> =
            by_direction(std::iter::once(observation.directions.as_slice()));
        if runs.iter().any(|runs| is_unmeasured(runs)) {
            self.unmeasured = true;
            self.note(
                "delay and its variation were not measured, so that it is not shown that they were kept",
            );
        }
        if observation.result.sent < observation.result.intended {
            self.note(
                "the generator sent less than was to be offered: what is missing counts against the rate",
            );
        }
        match self.steps.get(self.done.len()) {
            Some((step, _)) => self.done.push(self.judge(step, &runs)),
            None => self.runs.push(observation.directions.clone()),
        }
        if self.done.len() == self.steps.len() && self.pieces > 0 && !self.passed() {
            self.note("the performance test was left out, as the configuration test failed");
        }
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, service: &mut Option<ServiceReport>) {
        let performance = self.performance();
        let availability = y1564::availability(&self.loss_of_seconds());
        let available = availability.is_none_or(|share| share >= self.profile.availability);
        let kept = performance.as_ref().is_none_or(|step| step.misses.is_empty());
        *service = Some(ServiceReport {
            stream: row.stream.clone(),
            steps: self.done.clone(),
            performance,
            availability,
            passed: self.action().is_none() && self.passed() && kept && available && !self.unmeasured,
            notes: self.notes.clone(),
        });
    }
}

/// The result of a step in one direction, over all its runs.
fn observed(step: &Step, runs: &[&DirectionObservation]) -> Observed {
    let sum = |of: fn(&DirectionObservation) -> u64| {
        runs.iter().fold(0, |sum: u64, run| sum.saturating_add(of(run)))
    };
    let (intended, sent) = (sum(|run| run.result.intended), sum(|run| run.result.sent));
    let received = sum(|run| run.result.distinct());
    let delays = || runs.iter().filter_map(|run| run.delays).filter(|delays| delays.count > 0);
    let count = delays().map(|delays| delays.count as f64).sum::<f64>();
    let total = delays().map(|delays| delays.mean.0 as f64 * delays.count as f64).sum::<f64>();
    // Frames come in wholes: of those intended, all are the rate that was to be offered.
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let arrived = sum(|run| run.result.received).max(received);
    Observed {
        received: BitRate((step.offered.0 as f64 * share(arrived, intended)).round() as u64),
        loss: 1.0 - share(received, sent).min(1.0),
        delay: (count > 0.0).then(|| Nanos((total / count).round() as u64)),
        variation: runs.iter().filter_map(|run| variation(run)).max(),
    }
}

/// Whether frames arrived whose delays are not known.
fn is_unmeasured(runs: &[&DirectionObservation]) -> bool {
    runs.iter().any(|run| run.delays.is_none() && run.result.received > 0)
}

fn is_of_delay(miss: &Miss) -> bool {
    matches!(miss, Miss::DelayAbove(_) | Miss::VariationAbove(_))
}

/// Shares that a rate may be above another by the rounding of both alone.
const ROUNDING: f64 = 1e-9;
