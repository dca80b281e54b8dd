//! Back-to-back frames (RFC 2544 section 26.4 as updated by RFC 9004): the longest burst at the maximum rate that loses no frame,
//! and the buffer that follows from it.

use super::{Irregular, Load, Search, SearchError, Trial, TrialResult, accept};
use crate::spread::Moments;
use serde::{Deserialize, Serialize};

/// The configuration of the bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBackConfig {
    /// The most frames per second that the link carries: the frames of a burst follow one another without a gap.
    #[serde(rename = "rate_pps")]
    pub rate: Load,
    /// The longest burst, in frames; RFC 2544 begins with two seconds.
    pub longest: u64,
    /// The search ends when the bounds are this close, in frames.
    pub resolution: u64,
    /// Number of searches; RFC 2544 requires 50 or more.
    pub repeats: u32,
    /// A burst fails when it lost frames this many times in a row: 2 is RFC 9004's loss verification, 1 is none.
    pub verify: u32,
}

impl BackToBackConfig {
    /// The most trials that such searches can take.
    #[must_use]
    pub fn most_trials(&self) -> u32 {
        let halves = (self.longest as f64 / self.resolution as f64).log2().ceil().max(0.0) as u32 + 1;
        halves.saturating_mul(self.repeats).saturating_mul(self.verify)
    }
}

/// The outcome of the bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBackOutcome {
    /// The longest burst without loss of each search, in frames.
    pub bursts: Vec<u64>,
    /// The shortest of them.
    pub least: Option<u64>,
    /// Their mean: RFC 9004's back-to-back value.
    pub mean: Option<f64>,
    /// The longest of them.
    pub most: Option<u64>,
    /// Their standard deviation; absent for one search.
    pub stddev: Option<f64>,
    /// `no-upper-bound`: the longest burst passed; `no-lower-bound`: a single frame was lost.
    pub irregular: Vec<Irregular>,
}

impl BackToBackOutcome {
    /// The buffer that holds the mean burst; absent without bursts, and where the device forwards the full rate, as no burst ever
    /// fills a buffer then.
    #[must_use]
    pub fn buffer(&self, rate: Load, throughput: Load) -> Option<BufferTime> {
        self.mean.and_then(|frames| BufferTime::from_burst(frames, rate, throughput))
    }
}

/// Time for which a buffer holds frames at the maximum rate of the link (RFC 9004 section 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BufferTime {
    /// The whole burst's time, in seconds: without the frames forwarded meanwhile.
    pub implied: f64,
    /// The time of the frames that really waited, in seconds.
    pub corrected: f64,
}

impl BufferTime {
    /// The buffer for a mean burst; `None` when the throughput is that of the link, or the result would not be valid.
    #[must_use]
    pub fn from_burst(mean_burst: f64, rate: Load, throughput: Load) -> Option<BufferTime> {
        let share = throughput.0 / rate.0;
        let implied = mean_burst / rate.0;
        ((0.0..1.0).contains(&share) && implied >= 0.0)
            .then_some(BufferTime { implied, corrected: implied * (1.0 - share) })
    }
}

/// The searches, one after the other.
#[derive(Clone, Debug)]
pub struct BackToBack {
    config: BackToBackConfig,
    bursts: Vec<u64>,
    irregular: Vec<Irregular>,
    /// The longest burst that passed in this search; 0 before any has.
    lower: u64,
    /// The shortest that failed.
    upper: Option<u64>,
    /// Number of times that the present burst has lost frames.
    losses: u32,
}

impl BackToBack {
    /// Searches of which none has begun.
    ///
    /// # Errors
    /// When rate, burst, resolution or a count is zero, or a count is too large.
    pub fn new(config: BackToBackConfig) -> Result<BackToBack, SearchError> {
        accept(config.rate.0.is_finite() && config.rate.0 > 0.0, "rate", config.rate.0, "above 0 frames/s")?;
        accept(config.longest > 0, "longest burst", config.longest as f64, "1 frame or more")?;
        accept(config.resolution > 0, "resolution", config.resolution as f64, "1 frame or more")?;
        accept((1..=10_000).contains(&config.repeats), "repeats", config.repeats.into(), "from 1 to 10000")?;
        accept((1..=10).contains(&config.verify), "trials per loss", config.verify.into(), "from 1 to 10")?;
        let (bursts, irregular) = (Vec::new(), Vec::new());
        Ok(BackToBack { config, bursts, irregular, lower: 0, upper: None, losses: 0 })
    }

    /// The outcome so far; also while the searches run.
    #[must_use]
    pub fn outcome(&self) -> BackToBackOutcome {
        let moments =
            Moments::from_values(&self.bursts.iter().map(|burst| *burst as f64).collect::<Vec<_>>());
        let mut irregular = self.irregular.clone();
        if self.trial().is_some() {
            irregular.push(Irregular::Unfinished);
        }
        irregular.sort_unstable();
        irregular.dedup();
        BackToBackOutcome {
            least: self.bursts.iter().min().copied(),
            mean: moments.mean(),
            most: self.bursts.iter().max().copied(),
            stddev: moments.stddev(),
            bursts: self.bursts.clone(),
            irregular,
        }
    }

    fn planned(&self) -> u64 {
        match self.upper {
            None => self.config.longest,
            Some(upper) => self.lower + (upper - self.lower).div_ceil(2),
        }
    }

    fn is_narrow(&self) -> bool {
        let resolution = self.config.resolution;
        self.lower >= self.config.longest || self.upper.is_some_and(|upper| upper - self.lower <= resolution)
    }

    fn finish(&mut self) {
        if self.upper.is_none() {
            self.irregular.push(Irregular::NoUpperBound);
        } else if self.lower == 0 {
            self.irregular.push(Irregular::NoLowerBound);
        }
        self.bursts.push(self.lower);
        (self.lower, self.upper) = (0, None);
    }
}

impl Search for BackToBack {
    fn trial(&self) -> Option<Trial> {
        let frames = self.planned();
        let duration = self.config.rate.time_for(frames);
        let open = self.bursts.len() < self.config.repeats as usize;
        open.then_some(Trial { load: self.config.rate, duration, frames })
    }

    fn take(&mut self, result: &TrialResult) {
        if self.trial().is_none() {
            return;
        }
        let burst = self.planned();
        if result.has_duplicates() {
            self.irregular.push(Irregular::Duplicates);
        }
        if result.sent < result.intended && result.frame_loss_rate() == 0.0 {
            self.irregular.push(Irregular::GeneratorLimited);
        }
        if result.is_lossless() {
            self.lower = burst;
        } else {
            self.losses += 1;
            if self.losses < self.config.verify {
                return;
            }
            self.upper = Some(burst);
        }
        self.losses = 0;
        if self.is_narrow() {
            self.finish();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(config: BackToBackConfig, mut holds: impl FnMut(u64) -> bool) -> BackToBackOutcome {
        let most = config.most_trials();
        let mut trials = 0;
        let mut search = BackToBack::new(config).unwrap();
        while let Some(trial) = search.trial() {
            trials += 1;
            let received = if holds(trial.frames) { trial.frames } else { trial.frames - 1 };
            search.take(&TrialResult {
                intended: trial.frames,
                sent: trial.frames,
                received,
                duplicates: 0,
                duration: trial.duration,
            });
        }
        assert!(trials <= most, "{trials} of at most {most}");
        search.outcome()
    }

    fn config() -> BackToBackConfig {
        let rate = Load(1_000_000.0);
        BackToBackConfig { rate, longest: 2_000_000, resolution: 1, repeats: 3, verify: 2 }
    }

    #[test]
    fn the_longest_burst_to_the_frame() {
        let outcome = found(config(), |frames| frames <= 12_345);
        assert_eq!(outcome.bursts, [12_345; 3]);
        assert_eq!((outcome.mean, outcome.stddev), (Some(12_345.0), Some(0.0)));
        assert_eq!(outcome.irregular, []);
    }

    #[test]
    fn a_loss_by_chance_is_verified() {
        let mut count = 0;
        let outcome = found(config(), |frames| {
            count += 1;
            frames <= 12_345 && count % 2 == 0
        });
        assert_eq!(outcome.bursts, [12_345; 3]);
    }

    #[test]
    fn the_limits_are_marked() {
        let all = found(config(), |_| true);
        assert_eq!((all.least, all.irregular), (Some(2_000_000), vec![Irregular::NoUpperBound]));
        let none = found(config(), |_| false);
        assert_eq!((none.most, none.irregular), (Some(0), vec![Irregular::NoLowerBound]));
    }

    /// 30,000 frames at 1 Mpps with 0.4 Mpps forwarded meanwhile: 30 ms, of which 18 ms waited.
    #[test]
    fn the_buffer_is_what_was_not_forwarded_meanwhile() {
        let time = BufferTime::from_burst(30_000.0, Load(1e6), Load(4e5)).unwrap();
        assert!((time.implied - 0.030).abs() < 1e-12 && (time.corrected - 0.018).abs() < 1e-12);
        assert_eq!(BufferTime::from_burst(30_000.0, Load(1e6), Load(1e6)), None);
        assert_eq!(BufferTime::from_burst(f64::NAN, Load(1e6), Load(1e5)), None);
    }
}
