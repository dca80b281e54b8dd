//! The trials that a benchmark will run, and how long they take: shown before the first frame is sent.

use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A test: of RFC 2544 section 26 where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Section 26.1.
    Throughput,
    /// Section 26.2.
    Latency,
    /// Section 26.3.
    FrameLoss,
    /// Section 26.4 and RFC 9004.
    BackToBack,
    /// Section 26.5.
    Recovery,
    /// Section 26.6 and RFC 6201.
    Reset,
    /// The most load (RFC 2889 section 5.1, CSIT's MRR).
    Mrr,
    /// Packet delay variation (RFC 8219 section 7.3).
    DelayVariation,
    /// Activation of a service (ITU-T Y.1564).
    Service,
}

/// How long trials are and how often they are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Before and after each trial, in nanoseconds (RFC 2544 section 23): learning, residual frames, settling.
    #[serde(rename = "pause_ns")]
    pub pause: Nanos,
    /// A trial that decides the throughput, a step of frame loss, each part of recovery, and reset, in nanoseconds.
    #[serde(rename = "trial_ns")]
    pub trial: Nanos,
    /// The most trials of a search for the throughput.
    pub searches: u32,
    /// A stream whose latency is measured, in nanoseconds.
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    /// How often latency is measured.
    pub latency_repeats: u32,
    /// The most steps of frame loss.
    pub loss_steps: u32,
    /// The longest burst, in nanoseconds.
    #[serde(rename = "burst_ns")]
    pub burst: Nanos,
    /// The most bursts of all searches for the longest one.
    pub bursts: u32,
    /// How often recovery and reset are measured.
    pub repeats: u32,
    /// A trial at the most load, in nanoseconds.
    #[serde(rename = "mrr_ns")]
    pub mrr: Nanos,
    /// How often there is one.
    pub mrr_repeats: u32,
    /// How often delay variation is measured.
    pub variation_repeats: u32,
    /// A step of a service's configuration test, in nanoseconds.
    #[serde(rename = "service_step_ns")]
    pub service_step: Nanos,
    /// How many steps there are at most.
    pub service_steps: u32,
    /// A service's performance test, in nanoseconds; 0 for none.
    #[serde(rename = "service_ns")]
    pub service: Nanos,
}

impl Times {
    /// As RFC 2544, RFC 9004 and RFC 6201 ask for, with searches of so many trials and bursts at most.
    #[must_use]
    pub fn standard(searches: u32, bursts: u32) -> Times {
        Times {
            pause: Nanos::from_secs(2 + 2 + 2 + 5),
            trial: Nanos::from_secs(60),
            searches,
            latency: Nanos::from_secs(120),
            latency_repeats: 20,
            loss_steps: 10,
            burst: Nanos::from_secs(2),
            bursts,
            repeats: 10,
            mrr: Nanos::from_secs(1),
            mrr_repeats: 10,
            variation_repeats: 20,
            service_step: Nanos::from_secs(10),
            service_steps: 6,
            service: Nanos::from_secs(900),
        }
    }

    /// For a look: seconds instead of minutes, and nothing repeated. Not conforming to any standard.
    #[must_use]
    pub fn quick(searches: u32, bursts: u32) -> Times {
        Times {
            pause: Nanos::from_millis(500),
            trial: Nanos::from_secs(1),
            latency: Nanos::from_secs(2),
            latency_repeats: 1,
            repeats: 1,
            mrr_repeats: 3,
            variation_repeats: 1,
            service_step: Nanos::from_secs(1),
            service: Nanos::ZERO,
            ..Times::standard(searches, bursts)
        }
    }

    fn row(&self, test: Test, frame: Bytes) -> PlanRow {
        let (trials, trial) = match test {
            Test::Throughput => (self.searches, self.trial),
            Test::Latency => (self.latency_repeats, self.latency),
            Test::FrameLoss => (self.loss_steps, self.trial),
            Test::BackToBack => (self.bursts, self.burst),
            // The overload and then the relief.
            Test::Recovery => (self.repeats, self.trial.saturating_mul(2)),
            Test::Reset => (self.repeats, self.trial),
            Test::Mrr => (self.mrr_repeats, self.mrr),
            Test::DelayVariation => (self.variation_repeats, self.trial),
            Test::Service => (self.service_steps, self.service_step),
        };
        let most = (trial + self.pause).saturating_mul(trials.into());
        PlanRow { test, frame, trials, trial, most }
    }
}

/// The trials of one test at one frame size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRow {
    /// The test.
    pub test: Test,
    /// The frame size, FCS included, in bytes.
    pub frame: Bytes,
    /// How many trials there are at most: a search may end earlier.
    pub trials: u32,
    /// How long one is at most, in nanoseconds.
    #[serde(rename = "trial_ns")]
    pub trial: Nanos,
    /// How long all take at most with their pauses, in nanoseconds.
    #[serde(rename = "most_ns")]
    pub most: Nanos,
}

/// All trials, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrialPlan {
    /// One for each test and frame size.
    pub rows: Vec<PlanRow>,
}

impl TrialPlan {
    /// The tests in the order given, each at all frame sizes; reset at the smallest alone (RFC 2544 section 26.6).
    #[must_use]
    pub fn new(tests: &[Test], frames: &[Bytes], times: &Times) -> TrialPlan {
        let smallest = frames.iter().min();
        let applies = |test: Test, frame: &Bytes| test != Test::Reset || Some(frame) == smallest;
        let of_test = |test: &Test| {
            let frames = frames.iter().filter(|frame| applies(*test, frame));
            frames.map(|frame| times.row(*test, *frame)).collect::<Vec<_>>()
        };
        TrialPlan { rows: tests.iter().flat_map(of_test).collect() }
    }

    /// How long everything takes at most.
    #[must_use]
    pub fn most(&self) -> Nanos {
        self.left_after(0)
    }

    /// How long what is left takes at most when so many rows are done.
    #[must_use]
    pub fn left_after(&self, rows: usize) -> Nanos {
        self.rows.iter().skip(rows).fold(Nanos::ZERO, |sum, row| sum + row.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::RFC2544_SIZES;

    #[test]
    fn the_standard_takes_hours_and_says_so() {
        let times = Times::standard(12, 50 * 2 * 23);
        let plan = TrialPlan::new(&[Test::Throughput, Test::Latency], &RFC2544_SIZES, &times);
        assert_eq!(plan.rows.len(), 14);
        // 7 × (12 × 71 s + 20 × 131 s)
        assert_eq!(plan.most(), Nanos::from_secs(7 * (12 * 71 + 20 * 131)));
        assert_eq!(plan.left_after(7), Nanos::from_secs(7 * 20 * 131));
        assert_eq!(plan.left_after(99), Nanos::ZERO);
        let bursts = TrialPlan::new(&[Test::BackToBack], &[Bytes(64)], &times);
        assert_eq!(bursts.most(), Nanos::from_secs(50 * 2 * 23 * 13));
    }

    #[test]
    fn reset_is_measured_at_the_smallest_frame() {
        let plan = TrialPlan::new(&[Test::Reset], &[Bytes(512), Bytes(64)], &Times::standard(1, 1));
        assert_eq!(plan.rows.iter().map(|row| row.frame).collect::<Vec<_>>(), [Bytes(64)]);
    }

    #[test]
    fn a_look_takes_minutes() {
        let tests = [Test::Throughput, Test::Latency, Test::FrameLoss];
        let plan = TrialPlan::new(&tests, &RFC2544_SIZES, &Times::quick(12, 20));
        assert!(plan.most() < Nanos::from_secs(300), "{}", plan.most());
    }

    #[test]
    fn beyond_reason_it_is_the_longest_time() {
        let times = Times { trial: Nanos::MAX, ..Times::standard(u32::MAX, 1) };
        assert_eq!(TrialPlan::new(&[Test::Throughput], &[Bytes(64)], &times).most(), Nanos::MAX);
    }
}
