//! From what was sent and what was counted to an observation.

use super::super::port::Counted;
use frames::{Burst, Sent};
use model::dut::{DirectionObservation, Observation};
use model::plan::Direction;
use model::search::TrialResult;
use model::stats::histogram::Histogram;
use model::stats::rfc8219::InterPacketVariation;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};

/// One direction of a trial, done.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    /// From the first port to the second, or back.
    pub(super) direction: Direction,
    /// The planned burst.
    pub(super) burst: Burst,
    /// How long that was to take.
    pub(super) duration: Nanos,
    /// The frames that were sent.
    pub(super) sent: Sent,
    /// The frames that arrived.
    pub(super) counted: Counted,
    /// The sizes of the frames as they come, with FCS and any header of a tunnel, in turn.
    pub(super) sizes: Vec<Bytes>,
    /// Both ends have one clock, and the frames carry its time.
    pub(super) timed: bool,
    /// When the device was reset, by this host's clock.
    pub(super) reset: Option<MonoTime>,
    /// The host delayed the generator, so that the load was lower than requested: the result is that of the offered load.
    pub(super) lowered: bool,
}

impl Ran {
    /// Frames that came, each counted once.
    pub(super) fn distinct(&self) -> u64 {
        self.counted.arrived.distinct()
    }

    /// Frames that were sent and did not come.
    pub(super) fn lost(&self) -> u64 {
        self.sent.frames.saturating_sub(self.distinct())
    }

    /// Sent as fast as could be: nothing was to be sent but what was sent.
    fn is_flood(&self) -> bool {
        self.burst.interval_ps == 0
    }

    pub(super) fn observation(&self) -> DirectionObservation {
        let arrived = &self.counted.arrived;
        let intended = if self.is_flood() { self.sent.frames } else { self.intended() };
        let result = TrialResult {
            intended,
            sent: self.sent.frames,
            received: arrived.frames,
            duplicates: arrived.duplicates,
            duration: self.duration,
        };
        let delays = arrived.delays.as_ref().filter(|_| self.timed);
        let variation = arrived.variation.as_ref().filter(|_| self.timed);
        DirectionObservation {
            direction: self.direction,
            result,
            time: self.sent.time,
            reordered: arrived.reordered,
            delays: delays.and_then(Histogram::distribution),
            variation: variation.and_then(|(below, others)| inter_packet(below, others)),
            last_lost: self.last_lost(),
            silence: arrived.silence.map(|silence| silence.time()),
            resumed: self.resumed(),
        }
    }

    /// Frames of the requested load in the time that the trial took.
    fn intended(&self) -> u64 {
        let (frames, planned) = (self.burst.all_frames(), self.burst.needs());
        if !self.lowered || planned.0 == 0 {
            return frames;
        }
        let longer = (planned + self.sent.held).as_secs_f64() / planned.as_secs_f64();
        (frames as f64 * longer).round() as u64
    }

    /// The highest number that was sent and did not come. Frames that were never sent are not lost; where it is not known which
    /// they were, the highest number may be the very last.
    fn last_lost(&self) -> Option<u64> {
        let missing = self.counted.last_missing.filter(|_| self.lost() > 0)?;
        Some(missing.min(self.sent.frames.saturating_sub(1)))
    }

    /// Frames came after the reset: the last ones of all, or where those were lost some after it by this host's clock.
    fn resumed(&self) -> bool {
        let Some(reset) = self.reset else { return true };
        let last = self.sent.frames.saturating_sub(1);
        let to_the_end = self.distinct() > 0 && self.last_lost().is_none_or(|lost| lost < last);
        to_the_end || self.counted.arrived.silence.is_some_and(|silence| self.timed && silence.first > reset)
    }

    /// Fewer bytes came than such frames have. A first fragment has the signature, and counts as the frame; those of IPv4
    /// forbid it, but not every device obeys that.
    pub(super) fn is_cut(&self) -> bool {
        let lengths = self.sizes.iter().map(|size| size.0.saturating_sub(FCS));
        let frames = self.counted.arrived.frames;
        let whole = frames == self.sent.frames && self.counted.arrived.duplicates == 0;
        let least = match (whole, self.sizes.len() as u64) {
            (true, turn @ 1..) => {
                let rest = usize::try_from(frames % turn).unwrap_or(0);
                lengths.clone().sum::<u64>() * (frames / turn) + lengths.take(rest).sum::<u64>()
            }
            // Which ones came is not known.
            _ => lengths.min().unwrap_or(0) * frames,
        };
        self.counted.arrived.bytes < least
    }

    /// Counts that cannot be, in words.
    pub(super) fn impossible(&self) -> Option<String> {
        let arrived = &self.counted.arrived;
        if arrived.unchecked > 0 {
            return Some(format!("{} frames came with numbers that were never sent", arrived.unchecked));
        }
        if arrived.duplicates > arrived.frames {
            return Some(format!(
                "{} of {} frames were counted as duplicates",
                arrived.duplicates, arrived.frames
            ));
        }
        let more = self.distinct().saturating_sub(self.sent.frames);
        (more > 0).then(|| format!("{more} more frames came than were sent, and they are no duplicates"))
    }
}

/// All of it in one; `None` of nothing.
pub(super) fn summed(ran: &[Ran]) -> Observation {
    let directions: Vec<DirectionObservation> = ran.iter().map(Ran::observation).collect();
    let sum = |of: fn(&TrialResult) -> u64| directions.iter().map(|direction| of(&direction.result)).sum();
    let result = TrialResult {
        intended: sum(|one| one.intended),
        sent: sum(|one| one.sent),
        received: sum(|one| one.received),
        duplicates: sum(|one| one.duplicates),
        duration: directions.iter().map(|direction| direction.result.duration).max().unwrap_or_default(),
    };
    Observation { result, directions }
}

/// The least, the middle one (or of two the lower) and the most, of the steps below zero, without their sign, and of the
/// others.
fn inter_packet(below: &Histogram, others: &Histogram) -> Option<InterPacketVariation> {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let rank = (below.count() + others.count()).div_ceil(2);
    let median = match rank.checked_sub(below.count()) {
        None | Some(0) => -signed(*below.values_at_rank(below.count() - rank + 1)?.end()),
        Some(rank) => signed(*others.values_at_rank(rank)?.end()),
    };
    let least = below.max().map(|value| -signed(value)).or(others.min().map(signed))?;
    let most = others.max().map(signed).or(below.min().map(|value| -signed(value)))?;
    Some(InterPacketVariation { min_ns: least, median_ns: median, max_ns: most })
}

const FCS: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use frames::{Arrived, Silence};
    use proptest::prelude::*;

    fn ran(sent: u64, frames: u64, duplicates: u64) -> Ran {
        let burst = Burst { frames: 100, interval_ps: 1_000_000, then: None, time: Nanos::from_secs(1) };
        let arrived = Arrived { frames, duplicates, bytes: frames * 60, ..Arrived::default() };
        Ran {
            direction: Direction::Up,
            sizes: vec![Bytes(64)],
            burst,
            duration: Nanos::from_millis(100),
            sent: Sent { frames: sent, time: Nanos::from_micros(99), ..Sent::default() },
            counted: Counted { arrived, ..Counted::default() },
            timed: true,
            reset: None,
            lowered: false,
        }
    }

    #[test]
    fn counts_are_taken_as_they_are() {
        let direction = ran(98, 97, 2).observation();
        let result = TrialResult {
            intended: 100,
            sent: 98,
            received: 97,
            duplicates: 2,
            duration: Nanos::from_millis(100),
        };
        assert_eq!(
            (direction.result, direction.time, direction.last_lost, direction.resumed),
            (result, Nanos::from_micros(99), None, true)
        );
        let mut flood = ran(98, 98, 0);
        flood.burst.interval_ps = 0;
        assert_eq!(flood.observation().result.intended, 98);
        let both = summed(&[ran(98, 97, 2), ran(100, 100, 0)]);
        assert_eq!((both.result.intended, both.result.sent), (200, 198));
        assert_eq!((both.result.received, both.result.duplicates), (197, 2));
        assert_eq!((both.result.duration, both.directions.len()), (Nanos::from_millis(100), 2));
    }

    #[test]
    fn what_was_never_sent_is_not_lost() {
        let mut short = ran(90, 90, 0);
        short.counted.last_missing = Some(99);
        assert_eq!(short.observation().last_lost, None);
        short.counted.arrived.frames = 80;
        assert_eq!(short.observation().last_lost, Some(89));
        short.counted.last_missing = Some(41);
        assert_eq!(short.observation().last_lost, Some(41));
    }

    #[test]
    fn counts_that_cannot_be_are_reported() {
        assert_eq!(ran(98, 98, 0).impossible(), None);
        assert_eq!(ran(98, 100, 2).impossible(), None);
        let reply = |ran: Ran| ran.impossible().expect("it cannot be");
        assert!(reply(ran(98, 101, 2)).starts_with("1 more frames came than were sent"));
        assert!(reply(ran(98, 1, 2)).starts_with("2 of 1 frames"));
        let mut foreign = ran(98, 98, 0);
        foreign.counted.arrived.unchecked = 3;
        assert!(reply(foreign).starts_with("3 frames came with numbers"));
    }

    #[test]
    fn frames_that_were_cut_are_shorter() {
        assert!(!ran(98, 98, 0).is_cut() && !ran(98, 90, 0).is_cut() && !ran(98, 100, 2).is_cut());
        let mut mix = ran(5, 5, 0);
        mix.sizes = [64, 64, 1518].map(Bytes).to_vec();
        mix.counted.arrived.bytes = 60 + 60 + 1514 + 60 + 60;
        assert!(!mix.is_cut());
        mix.counted.arrived.bytes -= 1;
        assert!(mix.is_cut());
        mix.counted.arrived.frames = 4;
        assert!(!mix.is_cut(), "which one was lost is not known");
        mix.counted.arrived.bytes = 4 * 60 - 1;
        assert!(mix.is_cut());
    }

    #[test]
    fn after_a_reset_frames_come_again_or_they_do_not() {
        let at = |missing, silence: Option<(u64, u64)>| {
            let mut trial = ran(100, 50, 0);
            trial.reset = Some(MonoTime(1000));
            trial.counted.last_missing = missing;
            trial.counted.arrived.silence =
                silence.map(|(last, first)| Silence { last: MonoTime(last), first: MonoTime(first) });
            trial.observation().resumed
        };
        assert!(at(Some(80), None), "the last frames came");
        assert!(!at(Some(99), None) && !at(Some(99), Some((500, 600))), "nothing came after it");
        assert!(at(Some(99), Some((900, 2000))), "it came again, and lost the last frame");
        let mut nothing = ran(100, 0, 0);
        (nothing.reset, nothing.counted.last_missing) = (Some(MonoTime(1)), Some(99));
        assert!(!nothing.observation().resumed);
    }

    #[test]
    fn delays_need_one_clock() {
        let mut trial = ran(100, 100, 0);
        let mut delays = Histogram::default();
        delays.record(7000);
        let (below, others) = (Histogram::default(), delays.clone());
        (trial.counted.arrived.delays, trial.counted.arrived.variation) =
            (Some(delays), Some((below, others)));
        assert_eq!(trial.observation().delays.map(|delays| delays.max), Some(Nanos::from_micros(7)));
        assert_eq!(trial.observation().variation.map(|steps| steps.max_ns), Some(7000));
        trial.timed = false;
        let direction = trial.observation();
        assert_eq!((direction.delays, direction.variation), (None, None));
    }

    proptest! {
        /// The two histograms say what the steps themselves do; values below 2048 have a bucket each.
        #[test]
        fn variation_is_that_of_the_steps(delays in prop::collection::vec(0_u64..1000, 0..50)) {
            let (mut below, mut others) = (Histogram::default(), Histogram::default());
            for pair in delays.windows(2) {
                match pair[1].checked_sub(pair[0]) {
                    Some(step) => others.record(step),
                    None => below.record(pair[0] - pair[1]),
                }
            }
            let mut steps: Vec<i64> = delays.windows(2).map(|pair| pair[1] as i64 - pair[0] as i64).collect();
            steps.sort_unstable();
            let variation = steps.first().zip(steps.last()).map(|(min, max)| InterPacketVariation {
                min_ns: *min,
                median_ns: steps[(steps.len() - 1) / 2],
                max_ns: *max,
            });
            prop_assert_eq!(inter_packet(&below, &others), variation);
        }
    }
}
