//! A simulated tester and device: the conductor's orders are carried out, and reports are what it makes of the outcome.

use crate::spread::{Shape, distribution};
use model::dut::{
    Action, BenchRequest, DirectionObservation, Observation, ServiceReport, Setup, Stream, StreamReport,
    Suite, Test,
};
use model::plan::{Direction, Directions};
use model::search::{Load, Trial, TrialResult};
use model::stats::distribution::Distribution;
use model::stats::rfc8219::InterPacketVariation;
use model::units::Nanos;

/// A device that forwards so much, and the tester around it. Rates are frames per second, all directions together.
#[derive(Clone, Copy)]
pub(super) struct Bench {
    pub(super) capacity: f64,
    /// Frames that its queue takes beyond that.
    pub(super) queue: u64,
    /// Offered more, it forwards down to this share of its capacity.
    pub(super) collapse: f64,
    /// What the generator reaches in a direction.
    pub(super) ceiling: f64,
    /// The median delay at hardly any load.
    pub(super) delay: Nanos,
    /// For how long it loses frames after an overload, and in a reset.
    pub(super) recovery: Nanos,
    pub(super) reset: Nanos,
    pub(super) runs: u64,
}

impl Bench {
    pub(super) fn new(capacity: f64) -> Bench {
        Bench {
            capacity,
            queue: 0,
            collapse: 1.0,
            ceiling: 4.1e6,
            delay: Nanos::from_micros(20),
            recovery: Nanos::ZERO,
            reset: Nanos::from_millis(300),
            runs: 0,
        }
    }

    /// Every test of a setup.
    pub(super) fn run(mut self, setup: &Setup) -> (Vec<StreamReport>, Option<ServiceReport>) {
        let mut suite = Suite::new(setup).expect("the setup is good");
        while let Some(order) = suite.next_request() {
            self.runs += 1;
            suite.take(&self.observe(&order));
        }
        suite.finish()
    }

    /// One trial of a stream, outside of every test.
    pub(super) fn flood(mut self, stream: &Stream, time: Nanos) -> Vec<DirectionObservation> {
        self.runs = 1;
        self.observe_each(stream, &Action::Flood(time), false)
    }

    fn observe(&self, order: &BenchRequest) -> Observation {
        let timed = matches!(order.test, Test::Latency | Test::DelayVariation);
        let directions = self.observe_each(&order.stream, &order.action, timed);
        let sum = |count: fn(&TrialResult) -> u64| {
            directions.iter().map(|direction| count(&direction.result)).sum()
        };
        let result = TrialResult {
            intended: sum(|direction| direction.intended),
            sent: sum(|direction| direction.sent),
            received: sum(|direction| direction.received),
            ..directions[0].result
        };
        Observation { result, directions }
    }

    fn observe_each(&self, stream: &Stream, action: &Action, timed: bool) -> Vec<DirectionObservation> {
        let directions = match stream.directions {
            Directions::Up => vec![Direction::Up],
            Directions::Down => vec![Direction::Down],
            Directions::Both => Direction::BOTH.into(),
        };
        let share = self.capacity / directions.len() as f64;
        directions
            .into_iter()
            .map(|direction| self.observe_direction(direction, share, action, timed))
            .collect()
    }

    fn observe_direction(
        &self,
        direction: Direction,
        capacity: f64,
        action: &Action,
        timed: bool,
    ) -> DirectionObservation {
        let forward = |trial: &Trial| self.forward(capacity, trial);
        let (result, last_lost, silence) = match action {
            Action::Flood(time) => (forward(&Trial::new(Load(self.ceiling), *time)), None, None),
            Action::Trial(trial) => (forward(trial), None, None),
            Action::Overload { overload, relief } => {
                let (first, second) = (forward(overload), forward(relief));
                // A little longer from one run to the next.
                let late = self.recovery + Nanos::from_micros(40 * (self.runs % 5));
                let late = relief.load.frames_in(late).min(relief.frames);
                let sum = TrialResult {
                    intended: first.intended + second.intended,
                    sent: first.sent + second.sent,
                    received: first.received + second.received - late,
                    ..first
                };
                (sum, (overload.frames + late).checked_sub(1), None)
            }
            Action::Reset(trial) => {
                let result = forward(trial);
                let silence = self.reset + Nanos::from_millis(3 * (self.runs % 7));
                let lost = trial.load.frames_in(silence);
                (
                    TrialResult { received: result.received.saturating_sub(lost), ..result },
                    None,
                    Some(silence),
                )
            }
        };
        let time = match action {
            Action::Flood(time) => *time,
            Action::Trial(trial) | Action::Reset(trial) => trial.duration,
            Action::Overload { overload, relief } => overload.duration + relief.duration,
        };
        let delays = action
            .load()
            .filter(|_| timed)
            .and_then(|load| self.delays(direction, load.0 / capacity, result.received));
        let variation = delays.map(|delays| {
            let range = (delays.p99.0 - delays.min.0) as i64;
            InterPacketVariation { min_ns: -range, median_ns: 12, max_ns: range + 100 }
        });
        let (reordered, resumed) = (0, true);
        DirectionObservation {
            direction,
            result,
            time,
            reordered,
            delays,
            variation,
            last_lost,
            silence,
            resumed,
        }
    }

    fn forward(&self, capacity: f64, trial: &Trial) -> TrialResult {
        let seconds = trial.duration.as_secs_f64();
        let over = (trial.frames as f64 / seconds / capacity - 1.0).clamp(0.0, 1.0);
        let most = capacity * (1.0 - over * (1.0 - self.collapse)) * seconds;
        // A trial or two of a thousand frames forwarded fewer: no two are the same.
        let noise = if over > 0.0 { self.runs % 5 * (most as u64 / 1_000) } else { 0 };
        let queue = self.queue.saturating_sub(10 * (self.runs % 4));
        let received = trial.frames.min(most as u64 + queue - noise.min(most as u64));
        let (intended, sent) = (trial.frames, trial.frames);
        TrialResult { intended, sent, received, duplicates: 0, duration: trial.duration }
    }

    /// Longer the fuller the device is, and a little more from one run to the next.
    fn delays(&self, direction: Direction, load: f64, count: u64) -> Option<Distribution> {
        let waiting = 1.0 / (1.0 - load.min(0.99));
        let back = u64::from(direction == Direction::Down);
        let p50 = (self.delay.0 as f64 / 1_000.0 * waiting) as u64 + self.runs % 5 + back;
        let shape = Shape { min: p50 / 2, p50, p90: p50 * 2, p99: p50 * 3, max: p50 * 9 };
        (count > 0).then(|| distribution(count, shape))
    }
}
