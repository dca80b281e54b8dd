//! A burst of test frames, and its outcome.

use crate::stats::search::Trial;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Number and pace of the frames to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Number of frames, if the time allows.
    pub frames: u64,
    /// Time from one frame to the next, in picoseconds; 0 for as fast as possible.
    pub interval_ps: u64,
    /// More frames at another pace, directly after these: for a load that falls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Pace>,
    /// Longest time from the first frame to the last. To be more than frames and intervals need, as a burst takes longer when the
    /// host delays it.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// Frames at a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Number of frames.
    pub frames: u64,
    /// Time from one frame to the next, in picoseconds; never 0.
    pub interval_ps: u64,
}

impl Pace {
    /// The frames of a trial at its load.
    #[must_use]
    pub fn from_trial(trial: &Trial) -> Pace {
        Pace { frames: trial.frames, interval_ps: (1e12 / trial.load.0).round() as u64 }
    }
}

impl Burst {
    /// The frames of a trial at its load, and `margin` more time than it needs.
    #[must_use]
    pub fn from_trial(trial: &Trial, margin: Nanos) -> Burst {
        let Pace { frames, interval_ps } = Pace::from_trial(trial);
        Burst { frames, interval_ps, then: None, time: trial.duration + margin }
    }

    /// All frames, of both paces.
    #[must_use]
    pub fn all_frames(&self) -> u64 {
        self.frames.saturating_add(self.then.map_or(0, |pace| pace.frames))
    }

    /// When the frame with this number is due, in picoseconds after the first.
    #[must_use]
    pub fn due_ps(&self, number: u64) -> u64 {
        let later =
            self.then.map_or(0, |pace| number.saturating_sub(self.frames).saturating_mul(pace.interval_ps));
        let first = if self.then.is_some() { number.min(self.frames) } else { number };
        first.saturating_mul(self.interval_ps).saturating_add(later)
    }

    /// Its duration when every frame is sent as soon as it is due; unknown without a pace.
    pub fn needs(&self) -> Nanos {
        match self.interval_ps {
            0 => Nanos::MAX,
            _ => Nanos(self.due_ps(self.all_frames()) / 1000),
        }
    }

    /// Delay of a frame, in picoseconds, that does not move the schedule of those after it: a shorter delay is caught up at once.
    /// The time of 128 frames, which any device's queue holds, at most 1 ms; at least 50 µs, as the kernel takes that long to
    /// pass on a batch of 64 frames. Without a pace no frame is late.
    #[must_use]
    pub fn allowance_ps(&self) -> u64 {
        let shortest = self.interval_ps.min(self.then.map_or(u64::MAX, |pace| pace.interval_ps));
        match shortest {
            0 => u64::MAX,
            interval => interval.saturating_mul(ALLOWED_FRAMES).clamp(LEAST_ALLOWANCE_PS, MOST_ALLOWANCE_PS),
        }
    }
}

const ALLOWED_FRAMES: u64 = 128;
const LEAST_ALLOWANCE_PS: u64 = 50_000_000;
const MOST_ALLOWANCE_PS: u64 = 1_000_000_000;

/// The frames sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Frames handed to the interface: a driver may still drop them without an error, which only the other end's count shows.
    pub frames: u64,
    /// Time from the first frame to the last.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// The most that a frame was behind the time it was due; zero without a pace.
    #[serde(rename = "late_ns")]
    pub late: Nanos,
    /// Total by which the schedule was moved: where the host, or a device without room, delayed a frame for longer than
    /// [`Burst::allowance_ps`], those after it follow at their pace and are never sent faster. The burst took that much longer,
    /// and its load was lower accordingly. Absent from ends that send such frames at once.
    #[serde(rename = "held_ns", default)]
    pub held: Nanos,
    /// Number of pauses of some 30 ms in sending, as it took longer than expected.
    pub gaps: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_pace_follows_the_first() {
        let then = Some(Pace { frames: 5, interval_ps: 2000 });
        let burst = Burst { frames: 10, interval_ps: 1000, then, time: Nanos::MAX };
        assert_eq!([0, 9, 10, 11].map(|number| burst.due_ps(number)), [0, 9000, 10_000, 12_000]);
        assert_eq!((burst.all_frames(), burst.needs()), (15, Nanos::from_nanos(20)));
        let single = Burst { then: None, ..burst };
        assert_eq!((single.due_ps(12), single.needs()), (12_000, Nanos::from_nanos(10)));
        assert_eq!(Burst { interval_ps: 0, ..single }.needs(), Nanos::MAX);
    }

    #[test]
    fn what_is_made_up_for_fits_a_queue() {
        let allowed = |interval_ps, then: Option<u64>| {
            let then = then.map(|interval_ps| Pace { frames: 5, interval_ps });
            Burst { frames: 10, interval_ps, then, time: Nanos::MAX }.allowance_ps()
        };
        assert_eq!(allowed(1_000_000, None), 128_000_000);
        assert_eq!(allowed(1_000_000_000, None), 1_000_000_000);
        assert_eq!(allowed(100_000, None), 50_000_000);
        assert_eq!(allowed(2_000_000, Some(1_000_000)), 128_000_000);
        assert_eq!((allowed(0, None), allowed(0, Some(7))), (u64::MAX, u64::MAX));
    }
}
