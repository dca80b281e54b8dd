//! Checks of a benchmark's setup.

use super::super::order::least_frame;
use super::super::{Setup, Test};
use super::{MOST_LOAD, SetupError};
use crate::search::{Binary, Limits, Load, LossSteps, Mlr};
use crate::units::{BitRate, Nanos, PacketRate};

impl Setup {
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
        let zero = |what: &'static str| Err(SetupError::Zero(what));
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
                return Err(SetupError::EmptyMix(stream.to_string()));
            }
            if let Some(size) = stream.frames.sizes.iter().find(|size| **size < least) {
                return Err(SetupError::Size { stream: stream.to_string(), size: *size, least });
            }
            if self.streams[..index].contains(stream) {
                return Err(SetupError::Twice(stream.to_string()));
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
                return Err(SetupError::Twice(format!("the test of {test}")));
            }
            match test {
                Test::BackToBack => {
                    if let Some(mix) = self.streams.iter().find(|stream| stream.frames.is_mix()) {
                        return Err(SetupError::MixedBursts(mix.to_string()));
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
                return Err(SetupError::Percent(*percent));
            }
            if percents[..index].contains(percent) {
                return Err(SetupError::Twice(format!("latency at {percent} %")));
            }
        }
        Ok(())
    }

    fn check_service(&self) -> Result<(), SetupError> {
        let profile = self.service.as_ref().ok_or(SetupError::NoService)?;
        if profile.committed == BitRate(0) {
            return Err(SetupError::Zero("the committed rate of the service"));
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
        if times.pause > LONGEST {
            return Err(SetupError::Time { what: "pause", span: times.pause });
        }
        let used = |tests: &[Test]| tests.is_empty() || tests.iter().any(|test| self.tests.contains(test));
        if let Some((what, span, _)) = spans
            .iter()
            .find(|(_, span, tests)| used(tests) && !(Nanos::from_nanos(1)..=LONGEST).contains(span))
        {
            return Err(SetupError::Time { what, span: *span });
        }
        match counts.iter().find(|(_, count, tests)| used(tests) && !(1..=MOST_REPEATS).contains(count)) {
            Some((what, count, _)) => Err(SetupError::Count { what, count: *count }),
            None => Ok(()),
        }
    }

    /// Refuses goals that a search would refuse, whatever the limits.
    fn check_searches(&self) -> Result<(), SetupError> {
        if self.tests.contains(&Test::Throughput) {
            let names: Vec<&str> = self.goals.iter().map(|named| named.name.as_str()).collect();
            if let Some(twice) = (1..names.len()).find(|index| names[..*index].contains(&names[*index])) {
                return Err(SetupError::Twice(format!("the goal {}", names[twice])));
            }
            let limits = Limits { min: self.min.map_or(Load(MOST_LOAD.0 / 2.0), Load::from), max: MOST_LOAD };
            Mlr::new(&self.mlr(limits))?;
            for index in 0..self.goals.len() {
                Binary::new(self.binary(index, limits, limits.max))?;
            }
            let longest = self.longest_trial();
            if longest + self.times.pause > self.times.search {
                return Err(SetupError::Search {
                    search: self.times.search,
                    trial: longest,
                    pause: self.times.pause,
                });
            }
        }
        if self.tests.contains(&Test::FrameLoss) {
            LossSteps::new(self.loss_steps(MOST_LOAD))?;
        }
        Ok(())
    }
}

/// No trial is longer.
const LONGEST: Nanos = Nanos::from_secs(86_400);
const MOST_REPEATS: u32 = 1000;
