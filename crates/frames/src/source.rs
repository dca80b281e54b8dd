//! Sending: a burst of frames at a pace, and what became of it.

use super::Stop;
use linux::error::Result;
use model::dut::SourceKind;
use stats::search::Trial;
use units::Nanos;

/// Sends test frames out of one interface.
pub trait Source: Send {
    /// How it sends.
    fn kind(&self) -> SourceKind;

    /// Sends frames with sequence numbers from 0 on, and returns when all are sent, the time is over, or `stop` is raised. The
    /// calling thread keeps its CPU busy meanwhile, also between frames.
    ///
    /// # Errors
    /// What the kernel gives. A full queue of the device is none: the frame is sent again.
    fn run(&mut self, burst: &Burst, stop: &Stop) -> Result<Sent>;
}

/// How many frames to send, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// So many, if the time allows.
    pub frames: u64,
    /// From one frame to the next, in picoseconds; 0 for as fast as can be.
    pub interval_ps: u64,
    /// More frames at another pace, at once after these: for a load that falls.
    pub then: Option<Pace>,
    /// No frame is sent later than this after the first. To be more than frames and intervals need, as a burst takes so much
    /// longer as the host held it up.
    pub time: Nanos,
}

/// Frames at a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many.
    pub frames: u64,
    /// From one to the next, in picoseconds; never 0.
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
        self.frames + self.then.map_or(0, |pace| pace.frames)
    }

    /// When the frame with this number is due, in picoseconds after the first.
    #[must_use]
    pub fn due_ps(&self, number: u64) -> u64 {
        let later =
            self.then.map_or(0, |pace| number.saturating_sub(self.frames).saturating_mul(pace.interval_ps));
        let first = if self.then.is_some() { number.min(self.frames) } else { number };
        first.saturating_mul(self.interval_ps).saturating_add(later)
    }

    /// How long it takes when every frame is sent as soon as it is due; without a pace nobody knows.
    #[must_use]
    pub fn needs(&self) -> Nanos {
        match self.interval_ps {
            0 => Nanos::MAX,
            _ => Nanos(self.due_ps(self.all_frames()) / 1000),
        }
    }

    /// How late a frame may be, in picoseconds, without moving the schedule of those after it: what is late by no more is
    /// made up for at once. The time of 128 frames, which any device's queue holds, at most 1 ms; at the least 50 µs, as
    /// the kernel takes that long to pass a batch of 64 frames on. Without a pace nothing is late.
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

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Frames handed to the interface: a driver may still drop them in silence, which only the other end's count shows.
    pub frames: u64,
    /// From the first frame to the last.
    pub time: Nanos,
    /// The most that a frame was behind the time it was due; nothing without a pace.
    pub late: Nanos,
    /// By how much the schedule was moved in all: where the host, or a device without room, held a frame up for longer than
    /// [`Burst::allowance_ps`], those after it follow at their pace and are never sent faster. The burst took so much longer,
    /// and its load was so much lower.
    pub held: Nanos,
    /// How often the sending paused for some 30 ms, as it took longer than it should have.
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
        assert_eq!((burst.all_frames(), burst.needs()), (15, Nanos(20)));
        let one = Burst { then: None, ..burst };
        assert_eq!((one.due_ps(12), one.needs()), (12_000, Nanos(10)));
        assert_eq!(Burst { interval_ps: 0, ..one }.needs(), Nanos::MAX);
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
