//! Setup of a benchmark: the defaults of the standards, a quick check, and the searches that follow from it.

mod check;
mod departures;
mod error;

pub use error::SetupError;

use super::{NamedGoal, SearchMethod, Setup, Stream, Test, Times};
use crate::distinct;
use crate::framing::{Encaps, Framing, FramingError, Ratio, Transport};
use crate::search::{BinaryConfig, Goal, Limits, Load, LossStepsConfig, MlrConfig};
use crate::units::{Bytes, Nanos};

impl Setup {
    /// All trials as the standards ask for them: throughput, NDR and PDR by MLRsearch. What needs a throughput has one
    /// measured before it. Link, encapsulation, limits and service are to be filled in.
    #[must_use]
    pub fn standard(tests: &[Test], streams: Vec<Stream>) -> Setup {
        let goals = [("throughput", Goal::rfc2544()), ("ndr", Goal::ndr()), ("pdr", Goal::pdr())];
        Setup::with(tests, streams, &goals, Times::standard())
    }

    /// A look at a device, two or three frame sizes in about a minute. It conforms to nothing.
    #[must_use]
    pub fn quick(tests: &[Test], streams: Vec<Stream>) -> Setup {
        let (short, second) = (Nanos::from_millis(200), Nanos::from_secs(1));
        let goal = |goal: Goal, trial: Nanos| Goal {
            width: 0.02,
            initial_duration: short,
            final_duration: trial,
            duration_sum: second,
            preceding: 1,
            ..goal
        };
        let goals = [
            ("throughput", goal(Goal::rfc2544(), second)),
            ("ndr", goal(Goal::ndr(), short)),
            ("pdr", goal(Goal::pdr(), short)),
        ];
        Setup::with(tests, streams, &goals, Times::quick())
    }

    fn with(tests: &[Test], streams: Vec<Stream>, goals: &[(&str, Goal)], times: Times) -> Setup {
        // A device that fails the strictest goal at the least load may still reach the others: only the last ends the search.
        let named = |(index, (name, goal)): (usize, &(&str, Goal))| NamedGoal {
            name: (*name).to_owned(),
            goal: Goal { fail_fast: index + 1 == goals.len(), ..goal.clone() },
        };
        let mut setup = Setup {
            tests: in_order(tests),
            streams,
            search: SearchMethod::Mlr,
            goals: goals.iter().enumerate().map(named).collect(),
            times,
            link: None,
            link_is_nominal: false,
            encaps: Encaps::NONE,
            min: None,
            max: None,
            latency_percents: vec![10, 50, 90, 100],
            service: None,
            departures: Vec::new(),
        };
        setup.departures = setup.find_departures();
        setup
    }

    /// Frames per second that the link carries of a stream at most, each frame wrapped as on the device's narrowest link;
    /// `None` when the link's speed is not known.
    ///
    /// # Errors
    /// When a frame cannot be carried so.
    pub fn line_rate(&self, stream: &Stream) -> Result<Option<Load>, FramingError> {
        let framing = Framing {
            network: stream.network,
            transport: Transport::Raw,
            encaps: self.encaps.clone(),
            link_mtu: None,
        };
        let mut wire = Bytes::ZERO;
        for size in &stream.frames.sizes {
            wire += framing.of_frame(*size)?.wire;
        }
        let frames = stream.frames.sizes.len() as f64;
        Ok(self
            .link
            .and_then(|link| Ratio::reduced(link.0, wire.0.saturating_mul(8)))
            .map(|rate| Load(rate.to_f64() * frames)))
    }

    /// The limits of a search up to this load, for a device that forwarded so much of a flood.
    pub(super) fn limits(&self, most: Load, forwarded: Load) -> Limits {
        let shortest = self.goals.iter().map(|named| named.goal.initial_duration).min().unwrap_or_default();
        // Fewer frames than these show no rate; a millionth more, so that rounding does not take the last one.
        let countable = LEAST_FRAMES * (1.0 + 1e-6) / shortest.as_secs_f64();
        let least = countable.max(forwarded.0.min(most.0) * LEAST_SHARE);
        Limits { min: self.min.map_or(Load(least), Load::from), max: most }
    }

    pub(super) fn mlr(&self, limits: Limits) -> MlrConfig {
        let goals = self.goals.iter().map(|named| named.goal.clone()).collect();
        // The flood has just warmed the device up.
        MlrConfig { limits, goals, warm_up: None, budget: self.times.search }
    }

    /// The halving for the goal with this index. It ends by a share of the most load, and must be finer for a device that
    /// forwards little of that.
    pub(super) fn binary(&self, goal: usize, limits: Limits, forwarded: Load) -> BinaryConfig {
        let goal = &self.goals[goal].goal;
        let share = (forwarded.0 / limits.max.0).clamp(FINEST_SHARE, 1.0);
        BinaryConfig {
            limits,
            resolution: (goal.width * share).max(FINEST_RESOLUTION),
            loss_ratio: goal.loss_ratio,
            duration: goal.final_duration,
            short: (goal.initial_duration < goal.final_duration).then_some(goal.initial_duration),
        }
    }

    pub(super) fn loss_steps(&self, max: Load) -> LossStepsConfig {
        LossStepsConfig { max, steps: self.times.loss_steps, duration: self.times.trial }
    }
}

/// The tests with the throughput before the first that needs one.
fn in_order(tests: &[Test]) -> Vec<Test> {
    let with_first =
        |test: &Test| test.needs_throughput().then_some(Test::Throughput).into_iter().chain([*test]);
    distinct(tests.iter().flat_map(with_first))
}

impl Test {
    /// Its loads are shares of the throughput.
    #[must_use]
    pub fn needs_throughput(self) -> bool {
        matches!(self, Test::Latency | Test::BackToBack | Test::Recovery | Test::Reset | Test::DelayVariation)
    }
}

/// More frames per second than any interface sends.
pub(super) const MOST_LOAD: Load = Load(1e9);
/// Limits that any search has room in.
pub(super) const ANY_LIMITS: Limits = Limits { min: Load(1.0), max: MOST_LOAD };
/// The frames of the shortest trial of a search at the least.
const LEAST_FRAMES: f64 = 10.0;
/// The least load of a search, as a share of what the device forwards of a flood: one that loses frames even then has no
/// throughput worth the name.
const LEAST_SHARE: f64 = 0.01;
/// The least share of the most load that a device is assumed to forward, for the choice of a binary search's resolution.
const FINEST_SHARE: f64 = 0.001;
/// The finest resolution that a binary search accepts.
const FINEST_RESOLUTION: f64 = 1e-6;
