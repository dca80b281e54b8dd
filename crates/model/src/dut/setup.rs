//! What a benchmark is to do: the defaults of the standards, a quick look, and what of it makes no sense.

mod departures;

use super::order::least_frame;
use super::{NamedGoal, SearchMethod, Setup, Stream, Test, Times};
use crate::framing::{Encaps, Framing, FramingError, Ratio, Transport};
use crate::search::{
    Binary, BinaryConfig, Goal, Limits, Load, LossSteps, LossStepsConfig, Mlr, MlrConfig, SearchError,
};
use crate::units::{BitRate, Bytes, Nanos, PacketRate};
use thiserror::Error;

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
        let (short, full) = (Nanos::from_millis(200), Nanos::from_millis(500));
        let throughput = Goal {
            exceed_ratio: 0.5,
            width: 0.02,
            initial_duration: short,
            final_duration: full,
            duration_sum: full.saturating_mul(2),
            preceding: 1,
            ..Goal::rfc2544()
        };
        let pdr = Goal { loss_ratio: Goal::pdr().loss_ratio, ..throughput.clone() };
        Setup::with(tests, streams, &[("throughput", throughput), ("pdr", pdr)], Times::quick())
    }

    fn with(tests: &[Test], streams: Vec<Stream>, goals: &[(&str, Goal)], times: Times) -> Setup {
        let named = |(name, goal): &(&str, Goal)| NamedGoal { name: (*name).to_owned(), goal: goal.clone() };
        let mut setup = Setup {
            tests: in_order(tests),
            streams,
            search: SearchMethod::Mlr,
            goals: goals.iter().map(named).collect(),
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
            .and_then(|link| Ratio::of(link.0, wire.0.saturating_mul(8)))
            .map(|rate| Load(rate.to_f64() * frames)))
    }

    /// Checks that a benchmark can begin so.
    ///
    /// # Errors
    /// The first thing that makes no sense, and what to do about it.
    pub fn check(&self) -> Result<(), SetupError> {
        self.check_limits()?;
        self.check_streams()?;
        self.check_tests()?;
        self.check_times()?;
        self.check_searches()
    }

    fn check_limits(&self) -> Result<(), SetupError> {
        let zero = |what: &'static str| Err(SetupError::Zero { what });
        match (self.min, self.max) {
            (Some(PacketRate(0)), _) => zero("the least load"),
            (_, Some(PacketRate(0))) => zero("the most load"),
            (Some(min), Some(max)) if min >= max => Err(SetupError::Limits { min, max }),
            _ if self.link == Some(BitRate(0)) => zero("the speed of the link"),
            _ => Ok(()),
        }
    }

    fn check_streams(&self) -> Result<(), SetupError> {
        if self.streams.is_empty() {
            return Err(SetupError::NoStreams);
        }
        for (index, stream) in self.streams.iter().enumerate() {
            let least = least_frame(stream.network);
            if stream.frames.sizes.is_empty() {
                return Err(SetupError::EmptyMix { stream: stream.to_string() });
            }
            if let Some(size) = stream.frames.sizes.iter().find(|size| **size < least) {
                return Err(SetupError::Size { stream: stream.to_string(), size: *size, least });
            }
            if self.streams[..index].contains(stream) {
                return Err(SetupError::Twice { what: stream.to_string() });
            }
            if let Some(Load(rate)) = self.line_rate(stream)?
                && let Some(min) = self.min.filter(|min| min.0 as f64 >= rate)
            {
                return Err(SetupError::AboveLink { min, stream: stream.to_string(), rate: Load(rate) });
            }
        }
        Ok(())
    }

    fn check_tests(&self) -> Result<(), SetupError> {
        if self.tests.is_empty() {
            return Err(SetupError::NoTests);
        }
        for (index, test) in self.tests.iter().enumerate() {
            if self.tests[..index].contains(test) {
                return Err(SetupError::Twice { what: format!("the test of {test}") });
            }
            match test {
                Test::BackToBack => {
                    if let Some(mix) = self.streams.iter().find(|stream| stream.frames.is_mix()) {
                        return Err(SetupError::MixedBursts { stream: mix.to_string() });
                    }
                }
                Test::Latency => self.check_percents()?,
                Test::Service => self.check_service()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_percents(&self) -> Result<(), SetupError> {
        let percents = &self.latency_percents;
        if percents.is_empty() {
            return Err(SetupError::NoPercents);
        }
        for (index, percent) in percents.iter().enumerate() {
            if !(1..=100).contains(percent) {
                return Err(SetupError::Percent { percent: *percent });
            }
            if percents[..index].contains(percent) {
                return Err(SetupError::Twice { what: format!("latency at {percent} %") });
            }
        }
        Ok(())
    }

    fn check_service(&self) -> Result<(), SetupError> {
        let profile = self.service.as_ref().ok_or(SetupError::NoService)?;
        if profile.committed == BitRate(0) {
            return Err(SetupError::Zero { what: "the committed rate of the service" });
        }
        let shares = [
            ("loss", profile.loss),
            ("policing margin", profile.policing_margin),
            ("availability", profile.availability),
        ];
        match shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((name, share)) => Err(SetupError::Share { name, share }),
            None => Ok(()),
        }
    }

    fn check_times(&self) -> Result<(), SetupError> {
        let times = &self.times;
        let spans: [(&'static str, Nanos, &[Test]); 6] = [
            ("flood", times.flood, &[]),
            ("trial", times.trial, &[Test::FrameLoss, Test::Recovery, Test::Reset, Test::DelayVariation]),
            ("latency stream", times.latency, &[Test::Latency]),
            ("burst", times.burst, &[Test::BackToBack]),
            ("trial at the most load", times.mrr, &[Test::Mrr]),
            ("service step", times.service_step, &[Test::Service]),
        ];
        let counts: [(&'static str, u32, &[Test]); 7] = [
            ("searches", times.search_repeats, &[Test::Throughput]),
            ("latency streams", times.latency_repeats, &[Test::Latency]),
            ("burst searches", times.burst_repeats, &[Test::BackToBack]),
            ("burst verifications", times.burst_verify, &[Test::BackToBack]),
            ("recoveries and resets", times.repeats, &[Test::Recovery, Test::Reset]),
            ("trials at the most load", times.mrr_repeats, &[Test::Mrr]),
            ("runs of delay variation", times.variation_repeats, &[Test::DelayVariation]),
        ];
        let used = |tests: &[Test]| tests.is_empty() || tests.iter().any(|test| self.tests.contains(test));
        if let Some((what, span, _)) =
            spans.iter().find(|(_, span, tests)| used(tests) && !(Nanos(1)..=LONGEST).contains(span))
        {
            return Err(SetupError::Time { what, span: *span });
        }
        match counts.iter().find(|(_, count, tests)| used(tests) && !(1..=MOST_REPEATS).contains(count)) {
            Some((what, count, _)) => Err(SetupError::Count { what, count: *count }),
            None => Ok(()),
        }
    }

    /// What a search would refuse, whatever the limits.
    fn check_searches(&self) -> Result<(), SetupError> {
        if self.tests.contains(&Test::Throughput) {
            let names: Vec<&str> = self.goals.iter().map(|named| named.name.as_str()).collect();
            if let Some(twice) = (1..names.len()).find(|index| names[..*index].contains(&names[*index])) {
                return Err(SetupError::Twice { what: format!("the goal {}", names[twice]) });
            }
            Mlr::new(&self.mlr(self.limits(ANY_LIMITS.max)))?;
            for index in 0..self.goals.len() {
                Binary::new(self.binary(index, self.limits(ANY_LIMITS.max)))?;
            }
            let longest = self.goals.iter().map(|named| named.goal.final_duration).max().unwrap_or_default();
            if longest + self.times.pause > self.times.search {
                return Err(SetupError::Search {
                    search: self.times.search,
                    trial: longest,
                    pause: self.times.pause,
                });
            }
        }
        if self.tests.contains(&Test::FrameLoss) {
            LossSteps::new(self.loss_steps(ANY_LIMITS.max))?;
        }
        Ok(())
    }

    /// The limits of a search up to this load.
    pub(super) fn limits(&self, max: Load) -> Limits {
        let shortest = self.goals.iter().map(|named| named.goal.initial_duration).min().unwrap_or_default();
        // Fewer frames than these show no rate; a millionth more, so that rounding does not take the last one.
        let least = (LEAST_FRAMES * (1.0 + 1e-6) / shortest.as_secs_f64()).max(1.0);
        Limits { min: self.min.map_or(Load(least), Load::from), max }
    }

    pub(super) fn mlr(&self, limits: Limits) -> MlrConfig {
        let goals = self.goals.iter().map(|named| named.goal.clone()).collect();
        // The flood has just warmed the device up.
        MlrConfig { limits, goals, warm_up: None, budget: self.times.search }
    }

    pub(super) fn binary(&self, goal: usize, limits: Limits) -> BinaryConfig {
        let goal = &self.goals[goal].goal;
        BinaryConfig {
            limits,
            resolution: goal.width,
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
    let mut ordered = Vec::new();
    for test in tests {
        let first = test.needs_throughput().then_some(Test::Throughput);
        for one in first.into_iter().chain([*test]) {
            if !ordered.contains(&one) {
                ordered.push(one);
            }
        }
    }
    ordered
}

impl Test {
    /// Its loads are shares of the throughput.
    #[must_use]
    pub fn needs_throughput(self) -> bool {
        matches!(self, Test::Latency | Test::BackToBack | Test::Recovery | Test::Reset | Test::DelayVariation)
    }
}

/// Why a benchmark cannot begin.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SetupError {
    /// There is nothing to do.
    #[error("plan benchmark: no test is given")]
    NoTests,
    /// There is nothing to send.
    #[error("plan benchmark: no frame size is given")]
    NoStreams,
    /// A mix of nothing.
    #[error("plan benchmark: the mix of {stream} has no frames")]
    EmptyMix {
        /// The stream.
        stream: String,
    },
    /// A frame too small.
    #[error("plan benchmark: {stream} has frames of {} bytes; they need {} for headers and signature, FCS included", size.0, least.0)]
    Size {
        /// The stream.
        stream: String,
        /// The frame.
        size: Bytes,
        /// The least that will do.
        least: Bytes,
    },
    /// The same again.
    #[error("plan benchmark: {what} is given twice")]
    Twice {
        /// What.
        what: String,
    },
    /// The limits are no interval.
    #[error("plan benchmark: the least load ({min}) must be below the most ({max})")]
    Limits {
        /// The least.
        min: PacketRate,
        /// The most.
        max: PacketRate,
    },
    /// The link carries less than the least load.
    #[error("plan benchmark: the least load ({min}) is above what the link carries of {stream} ({rate})")]
    AboveLink {
        /// The least load.
        min: PacketRate,
        /// The stream.
        stream: String,
        /// What the link carries.
        rate: Load,
    },
    /// Something must be above zero.
    #[error("plan benchmark: {what} must be above 0")]
    Zero {
        /// What.
        what: &'static str,
    },
    /// Bursts of a mix say nothing about frames.
    #[error(
        "plan benchmark: back-to-back frames are of one size (RFC 9004), and {stream} is a mix; leave out the test or the mix"
    )]
    MixedBursts {
        /// The mix.
        stream: String,
    },
    /// A load that is none.
    #[error("plan benchmark: latency at {percent} % of the throughput; it must be 1 to 100")]
    Percent {
        /// The load.
        percent: u32,
    },
    /// Latency at no load.
    #[error("plan benchmark: latency at no load; give shares of the throughput in percent")]
    NoPercents,
    /// A service without a profile.
    #[error("plan benchmark: activation of a service needs its profile: at least the committed rate")]
    NoService,
    /// A share beyond the whole.
    #[error("plan benchmark: {name} of the service is {share}; it must be 0 to 1")]
    Share {
        /// Which.
        name: &'static str,
        /// What was given.
        share: f64,
    },
    /// A time that is none, or longer than anybody waits.
    #[error("plan benchmark: a {what} of {span}; it must be above 0 and at most a day")]
    Time {
        /// Of what.
        what: &'static str,
        /// The time.
        span: Nanos,
    },
    /// A count that is none, or beyond reason.
    #[error("plan benchmark: {count} {what}; there must be 1 to 1000")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many.
        count: u32,
    },
    /// A search without time for a trial.
    #[error(
        "plan benchmark: a search of {search} has no time for one trial of {trial} and its pauses of {pause}"
    )]
    Search {
        /// The time of a search.
        search: Nanos,
        /// The longest trial.
        trial: Nanos,
        /// Its pauses.
        pause: Nanos,
    },
    /// Frames that cannot be carried so.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// A search that makes no sense.
    #[error(transparent)]
    Searching(#[from] SearchError),
}

/// More frames per second than any interface sends.
pub(super) const MOST_LOAD: Load = Load(1e9);
/// Limits that any search has room in.
pub(super) const ANY_LIMITS: Limits = Limits { min: Load(1.0), max: MOST_LOAD };
/// The frames of the shortest trial of a search at the least.
const LEAST_FRAMES: f64 = 10.0;
/// No trial is longer.
const LONGEST: Nanos = Nanos::from_secs(86_400);
const MOST_REPEATS: u32 = 1000;
