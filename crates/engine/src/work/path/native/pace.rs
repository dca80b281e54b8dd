//! Losses by rate and losses by size: a train of probes is short, and a policer or a short queue drops the end of it whatever the sizes
//! are. A size counts as lost only where it does not cross one by one either.

use super::{DirectionSearch, whole};
use crate::error::Result;
use crate::work::probe::{Pace, ProbeTrain};
use model::path::SizeProbe;
use std::collections::BTreeMap;
use wire::native::probe::{MAX_COUNT, SizeCount};

impl DirectionSearch<'_> {
    /// Whether some of these sizes, of which nothing came, cross one by one: then the rate of the probes was what lost them, and all
    /// that follow are sent more slowly.
    pub(super) fn is_lost_by_rate(&mut self, sizes: &[u32]) -> Result<bool> {
        let headers = self.one_way.headers();
        let lost = |size: &&u32| !self.prober.is_refused(self.direction, **size - headers);
        let lost: Vec<u32> = sizes.iter().filter(lost).map(|size| size - headers).collect();
        let every = lost.len().div_ceil(MOST_SAMPLES).max(1);
        let samples: Vec<u32> = lost.into_iter().step_by(every).collect();
        if samples.is_empty() || self.pace == Pace::SLOW {
            return Ok(false);
        }
        let rows = self.send_slowly(&samples, COPIES)?;
        let crosses = samples.iter().any(|payload| whole(&rows, *payload) > 0);
        Ok(crosses && self.slow_down())
    }

    /// Whether a size that lost a share of its copies loses far less of them one by one: then all that follow are sent more slowly.
    pub(super) fn is_share_by_rate(&mut self, size: u32, share: f64) -> Result<bool> {
        if self.pace == Pace::SLOW {
            return Ok(false);
        }
        let payload = size - self.one_way.headers();
        let copies = ((LOST_AGAIN / share.max(0.01)) as u32).clamp(SOME_COPIES, MAX_COUNT);
        let rows = self.send_slowly(&[payload], copies)?;
        let lost = 1.0 - f64::from(whole(&rows, payload)) / f64::from(copies);
        Ok(lost < share / 3.0 && self.slow_down())
    }

    fn send_slowly(&mut self, payloads: &[u32], copies: u32) -> Result<Vec<SizeCount>> {
        self.prober.set_pace(Pace::SLOW);
        let train = ProbeTrain { sizes: payloads, count: copies, cut: None, trace: false };
        let rows = self.prober.probe_train(self.direction, train);
        self.prober.set_pace(self.pace);
        rows
    }

    /// Sends so fast from now on.
    pub(super) fn set_pace(&mut self, pace: Pace) {
        self.pace = pace;
        self.prober.set_pace(pace);
    }

    /// Sends slower from now on; what went ahead was sent too fast. False: it cannot be slower.
    pub(super) fn slow_down(&mut self) -> bool {
        let Some(pace) = self.pace.next() else { return false };
        self.set_pace(pace);
        self.is_long = false;
        self.ahead = super::Ahead::default();
        true
    }
}

/// Sizes of which nothing has come.
pub(super) fn lost(tried: &BTreeMap<u32, SizeProbe>) -> Vec<u32> {
    tried.values().filter(|probe| probe.received == 0).map(|probe| probe.size).collect()
}

/// Sizes that are sent one by one.
const MOST_SAMPLES: usize = 4;
const COPIES: u32 = 3;
const SOME_COPIES: u32 = 20;
/// Packets that are lost again where the size is the reason.
const LOST_AGAIN: f64 = 6.0;
