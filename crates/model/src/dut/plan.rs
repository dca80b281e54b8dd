//! The trials that a benchmark will run, and how long they take: shown before the first frame is sent.

use super::{SERVICE_PIECE, SearchMethod, Setup, Stream, Test, Times};
use crate::search::{BackToBackConfig, Load};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The trials of one test with one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanRow {
    /// Name of the stream: `IPv4 64`.
    pub stream: String,
    /// The test.
    pub test: Test,
    /// The frame size, FCS included, in bytes; of a mix the mean.
    pub frame: Bytes,
    /// Most trials: a search may end earlier.
    pub trials: u32,
    /// Longest duration of one, in nanoseconds.
    #[serde(rename = "trial_ns")]
    pub trial: Nanos,
    /// Longest duration of all with their pauses, in nanoseconds.
    #[serde(rename = "most_ns")]
    pub most: Nanos,
}

/// All trials, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialPlan {
    /// One for each stream and test.
    pub rows: Vec<PlanRow>,
    /// Duration of the floods before the tests of each stream, all streams together, in nanoseconds: sending as fast as possible.
    #[serde(rename = "floods_ns")]
    pub floods: Nanos,
}

/// The plan of a benchmark, printed before it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkPlan {
    /// The devices, one after the other.
    pub devices: Vec<String>,
    /// The request, with every default filled in.
    pub setup: Setup,
    /// The trials of each device.
    pub plan: TrialPlan,
    /// Longest duration for all devices, in nanoseconds, without trials that are repeated.
    #[serde(rename = "most_ns")]
    pub most: Nanos,
    /// Differences from the request, in words.
    pub notes: Vec<String>,
}

impl TrialPlan {
    /// Longest duration of everything, in nanoseconds; trials that are discarded and repeated come on top.
    pub fn most(&self) -> Nanos {
        self.rows.iter().fold(self.floods, |sum, row| sum + row.most)
    }
}

impl Setup {
    /// Every trial in the order of running, as an upper bound: searches end when they know enough.
    #[must_use]
    pub fn plan(&self) -> TrialPlan {
        let rows = self.streams.iter().enumerate().flat_map(|(index, stream)| {
            self.tests_of(index).into_iter().map(move |test| self.row(test, stream))
        });
        let flooded = self.streams.iter().enumerate().filter(|(index, _)| !self.tests_of(*index).is_empty());
        let floods = flooded.map(|(_, stream)| self.flood_time(stream)).sum();
        TrialPlan { rows: rows.collect(), floods }
    }

    /// The tests of the stream with this index: reset is for the smallest frames alone (RFC 2544 section 26.6), a service for
    /// the first stream.
    pub(super) fn tests_of(&self, index: usize) -> Vec<Test> {
        let size = |stream: &Stream| stream.frames.mean();
        let smallest = (0..self.streams.len())
            .min_by(|one, other| size(&self.streams[*one]).total_cmp(&size(&self.streams[*other])));
        let applies = |test: &Test| match test {
            Test::Reset => smallest == Some(index),
            Test::Service => index == 0,
            _ => true,
        };
        self.tests.iter().copied().filter(applies).collect()
    }

    /// Longest duration of the flood of a stream.
    pub(super) fn flood_time(&self, stream: &Stream) -> Nanos {
        self.times.flood.saturating_mul(stream.direction_count()) + self.times.pause
    }

    /// The most that one test takes with one stream.
    pub(super) fn row(&self, test: Test, stream: &Stream) -> PlanRow {
        let times = &self.times;
        let percents = u32::try_from(self.latency_percents.len()).unwrap_or(u32::MAX);
        let (trials, trial) = match test {
            Test::Throughput => (self.search_trials(), self.longest_trial()),
            Test::Latency => (times.latency_repeats.saturating_mul(percents), times.latency),
            Test::FrameLoss => (times.loss_steps, times.trial),
            Test::BackToBack => (self.bursts(stream), times.burst),
            // The overload and then the relief.
            Test::Recovery => (times.repeats, times.trial.saturating_mul(2)),
            Test::Reset => (times.repeats, times.trial),
            Test::Mrr => (times.mrr_repeats, times.mrr),
            Test::DelayVariation => (times.variation_repeats, times.trial),
            Test::Service => (self.service_steps(), times.service_step),
        };
        let all = |trials: u32, trial: Nanos| (trial + times.pause).saturating_mul(trials.into());
        let most = match test {
            Test::Throughput => {
                times.search.saturating_mul(times.search_repeats.into()).min(all(trials, trial))
            }
            Test::Service => all(trials, trial) + all(times.service_pieces(), SERVICE_PIECE),
            _ => all(trials, trial),
        };
        let (trials, trial) = match test {
            Test::Service if times.service > Nanos::ZERO => {
                (trials.saturating_add(times.service_pieces()), trial.max(SERVICE_PIECE))
            }
            _ => (trials, trial),
        };
        let frame = Bytes(stream.frames.mean().round() as u64);
        PlanRow { stream: stream.to_string(), test, frame, trials, trial, most }
    }

    /// The most trials of all searches for the rates.
    fn search_trials(&self) -> u32 {
        let trials = match self.search {
            SearchMethod::Binary => {
                let trials_of_goal =
                    |index: usize| self.binary(index, super::setup::ANY_LIMITS, Load(0.0)).most_trials();
                (0..self.goals.len()).map(trials_of_goal).fold(0, u32::saturating_add)
            }
            SearchMethod::Mlr => {
                let shortest = self.goals.iter().map(|named| named.goal.initial_duration).min();
                let each = (shortest.unwrap_or_default() + self.times.pause).0.max(1);
                u32::try_from(self.times.search.0 / each).unwrap_or(u32::MAX)
            }
        };
        trials.saturating_mul(self.times.search_repeats)
    }

    pub(super) fn longest_trial(&self) -> Nanos {
        self.goals.iter().map(|named| named.goal.final_duration).max().unwrap_or_default()
    }

    /// The most bursts at the rate that this link carries, or that any does.
    fn bursts(&self, stream: &Stream) -> u32 {
        let requested = self.max.map(Load::from);
        let rates = [self.line_rate(stream).ok().flatten(), requested, Some(super::setup::MOST_LOAD)];
        let rate = rates.into_iter().flatten().fold(f64::INFINITY, |least, load| least.min(load.0));
        self.burst_config(Load(rate)).most_trials()
    }

    /// The searches for the longest burst at this rate.
    pub(super) fn burst_config(&self, rate: Load) -> BackToBackConfig {
        let Times { burst, burst_repeats: repeats, burst_verify: verify, .. } = self.times;
        BackToBackConfig { rate, longest: rate.frames_in(burst), resolution: 1, repeats, verify }
    }

    fn service_steps(&self) -> u32 {
        self.service.as_ref().map_or(0, |profile| u32::try_from(profile.steps().len()).unwrap_or(u32::MAX))
    }
}
