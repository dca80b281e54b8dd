//! A simulated tester around simulated devices: it carries out requests and reports their results.

use crate::device::{Device, Kind};
use pathmeter_model::dut::{
    Action, BenchRequest, DirectionObservation, Frames, Observation, ServiceReport, Setup, Stream,
    StreamReport, Suite, Test,
};
use pathmeter_model::framing::Network;
use pathmeter_model::plan::{Direction, Directions};
use pathmeter_model::search::{Load, Trial, TrialResult};
use pathmeter_model::stats::distribution::Distribution;
use pathmeter_model::stats::rfc8219::InterPacketVariation;
use pathmeter_model::units::{Bytes, Nanos};

/// The surroundings of the device, and its behaviour beside forwarding.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) kind: Kind,
    /// Another device for IPv6.
    pub(crate) other: Option<Kind>,
    /// The rate that the generator reaches.
    pub(crate) ceiling: f64,
    /// The median delay of a run is this times its number; absent where there are two clocks.
    pub(crate) delay: Option<Nanos>,
    /// For how long frames are lost after an overload.
    pub(crate) recovery: Nanos,
    /// For how long a reset interrupts; `None` for ever.
    pub(crate) reset: Option<Nanos>,
    pub(crate) runs: u64,
}

impl World {
    pub(crate) fn new(kind: Kind) -> World {
        World {
            kind,
            other: None,
            ceiling: 5e6,
            delay: Some(Nanos::from_micros(10)),
            recovery: Nanos::ZERO,
            reset: Some(Nanos::from_millis(300)),
            runs: 0,
        }
    }

    /// Carries out one order.
    pub(crate) fn observe(&mut self, order: &BenchRequest) -> Observation {
        self.runs += 1;
        let kind = self.other.filter(|_| order.stream.network == Network::V6).unwrap_or(self.kind);
        let direction = |direction| self.observe_direction(direction, kind, &order.action);
        let directions: Vec<DirectionObservation> = match order.stream.directions {
            Directions::Up => vec![direction(Direction::Up)],
            Directions::Down => vec![direction(Direction::Down)],
            Directions::Both => vec![direction(Direction::Up), direction(Direction::Down)],
        };
        let mut result = directions[0].result;
        for other in directions.iter().skip(1).map(|direction| direction.result) {
            result.intended += other.intended;
            result.sent += other.sent;
            result.received += other.received;
        }
        Observation { result, directions }
    }

    fn observe_direction(&self, direction: Direction, kind: Kind, action: &Action) -> DirectionObservation {
        let measure = |trial: &Trial| {
            let mut device = Device::new(kind, Nanos::ZERO);
            (0..self.runs % 7).for_each(|_| _ = device.measure(trial));
            device.measure(trial)
        };
        let (result, last_lost, silence, resumed) = match action {
            Action::Flood(time) => {
                let result = measure(&Trial::new(Load(self.ceiling), *time));
                (TrialResult { intended: result.sent, ..result }, None, None, true)
            }
            Action::Trial(trial) => (measure(trial), None, None, true),
            Action::Overload { overload, relief } => {
                let (first, second) = (measure(overload), measure(relief));
                let late = relief.load.frames_in(self.recovery).min(relief.frames);
                let sum = TrialResult {
                    intended: first.intended + second.intended,
                    sent: first.sent + second.sent,
                    received: first.received + second.received - late,
                    ..first
                };
                (sum, (overload.frames + late).checked_sub(1), None, true)
            }
            Action::Reset(trial) => {
                let result = measure(trial);
                let lost = self.reset.map_or(trial.frames / 2, |gap| trial.load.frames_in(gap));
                let received = result.received.saturating_sub(lost);
                (TrialResult { received, ..result }, None, self.reset, self.reset.is_some())
            }
        };
        let typical = self.delay.map(|delay| delay.saturating_mul(self.runs));
        let delays = typical.map(|typical| delays(typical, result.received));
        let time = action.time(&stream(Network::V4, 64, Directions::Up));
        let (reordered, tenth) = (0, typical.map(|typical| typical.0 as i64 / 10));
        let variation =
            tenth.map(|tenth| InterPacketVariation { min_ns: -tenth, median_ns: 0, max_ns: tenth });
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

    /// Runs a whole benchmark, and holds the conductor to its plan.
    pub(crate) fn run(&mut self, setup: &Setup) -> (Vec<StreamReport>, Option<ServiceReport>) {
        let plan = setup.plan();
        let most =
            plan.rows.iter().map(|row| u64::from(row.trials)).sum::<u64>() + setup.streams.len() as u64;
        let mut suite = Suite::new(setup).expect("the setup is good");
        assert_eq!(suite.left(), plan.most());
        let (mut spent, mut requests) = (Nanos::ZERO, 0);
        let mut loads = Vec::new();
        while let Some(order) = suite.next_request() {
            assert_eq!(suite.next_request().as_ref(), Some(&order), "the same until it is taken");
            requests += 1;
            assert!(requests <= most, "{requests} requests, and the plan has {most}");
            check(&order);
            loads.extend(order.action.load().map(|load| (order.stream.clone(), load)));
            spent = spent + order.action.time(&order.stream) + setup.times.pause;
            let (left, row) = (suite.left(), suite.progress().row);
            assert!(row <= suite.progress().rows && !suite.progress().to_string().is_empty());
            suite.take(&self.observe(&order));
            assert!(suite.left() <= left, "{} left after {left}", suite.left());
            assert!(suite.progress().row >= row);
        }
        assert!(spent <= plan.most() + SLACK, "{spent} of {}", plan.most());
        assert_eq!((suite.left(), suite.progress().to_string().as_str()), (Nanos::ZERO, "done"));
        let (rows, service) = suite.finish();
        rows.iter().for_each(|row| check_row(row, setup));
        assert_eq!(rows.len(), setup.streams.len());
        for (stream, load) in loads {
            let row = rows.iter().find(|row| row.stream == stream);
            let most = row.and_then(|row| row.most).expect("a stream with trials has a most load");
            assert!(load.0 <= most.0 * (1.0 + 1e-9), "{load} of at most {most}");
        }
        (rows, service)
    }

    /// The only row of a benchmark of one stream.
    pub(crate) fn row(&mut self, setup: &Setup) -> StreamReport {
        self.run(setup).0.remove(0)
    }
}

/// An order that can be carried out.
fn check(order: &BenchRequest) {
    let sane = |trial: &Trial| {
        assert!(trial.load.0.is_finite() && trial.load.0 > 0.0 && trial.frames > 0, "{trial:?}");
        assert!(trial.duration > Nanos::ZERO, "{trial:?}");
    };
    match &order.action {
        Action::Flood(time) => assert!(*time > Nanos::ZERO),
        Action::Trial(trial) | Action::Reset(trial) => sane(trial),
        Action::Overload { overload, relief } => [overload, relief].into_iter().for_each(sane),
    }
}

/// Every test of a row has its figures, or a reason why not.
pub(crate) fn check_row(row: &StreamReport, setup: &Setup) {
    // The first one wins among equal ones.
    let size = |stream: &&Stream| stream.frames.mean();
    let smallest = setup.streams.iter().min_by(|one, other| size(one).total_cmp(&size(other)));
    for test in &setup.tests {
        let found = match test {
            Test::Throughput => !row.rates.is_empty(),
            Test::Latency => !row.latency.is_empty(),
            Test::FrameLoss => row.loss.is_some(),
            Test::BackToBack => row.back_to_back.is_some(),
            Test::Recovery => row.recovery.is_some(),
            Test::Reset => row.reset.is_some() || smallest != Some(&row.stream),
            Test::Mrr => row.mrr.is_some(),
            Test::DelayVariation => row.delay_variation.is_some(),
            Test::Service => true,
        };
        let why = row.left_out.iter().find(|left_out| left_out.test == *test);
        assert!(found || why.is_some_and(|left_out| !left_out.why.is_empty()), "{test}: neither in {row:?}");
    }
}

/// A tail of ten times the typical delay, a least of half of it.
fn delays(typical: Nanos, count: u64) -> Distribution {
    let tail = typical.saturating_mul(10);
    let half = Nanos(typical.0 / 2);
    Distribution {
        count,
        min: half,
        mean: typical,
        stddev: half,
        p50: typical,
        p90: tail,
        p99: tail,
        p999: tail,
        p9999: tail,
        max: tail,
        ..Distribution::default()
    }
}

pub(crate) fn stream(network: Network, size: u64, directions: Directions) -> Stream {
    Stream { network, frames: Frames::for_payload(Bytes(size)), directions }
}

/// 64-byte frames, in both directions.
pub(crate) fn small() -> Vec<Stream> {
    vec![stream(Network::V4, 64, Directions::Both)]
}

/// Every test but that of a service.
pub(crate) const ALL: [Test; 8] = [
    Test::Throughput,
    Test::Latency,
    Test::FrameLoss,
    Test::BackToBack,
    Test::Recovery,
    Test::Reset,
    Test::Mrr,
    Test::DelayVariation,
];
/// The duration of a burst is rounded up to a nanosecond.
const SLACK: Nanos = Nanos::from_micros(100);
