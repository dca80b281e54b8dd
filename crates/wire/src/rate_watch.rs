//! Detects a peer that sends faster than this end's policy allows.
//!
//! There are two checks, each with a twentieth of tolerance: the average over five seconds, and a leaky bucket that overflows
//! beyond one second's worth and the data that the sender's buffers may have gathered while the path stalled. The average catches
//! a peer that is a little too fast for long, the bucket one that is much too fast for a moment.

use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::collections::VecDeque;

/// Watches one direction of one test.
#[derive(Debug, Default)]
pub(crate) struct RateWatch {
    /// Time and bytes of the checks within the window, and of the last one before it.
    looks: VecDeque<(MonoTime, u64)>,
    /// Bytes in the bucket.
    level: u64,
}

impl RateWatch {
    /// Does `received`, the bytes counted so far, exceed what `max` allows? A count that starts again resets the watch.
    pub(crate) fn exceeds(&mut self, now: MonoTime, received: u64, max: Option<BitRate>) -> bool {
        let Some(max) = max else { return false };
        if self.looks.back().is_some_and(|(_, known)| *known > received) {
            self.looks.clear();
        }
        let (before, known) = self.looks.back().copied().unwrap_or((now, received));
        self.looks.push_back((now, received));
        while self.looks.get(1).is_some_and(|(time, _)| now - *time >= WINDOW) {
            self.looks.pop_front();
        }
        let per_second = u128::from(max.0) / 8 * 21 / 20;
        let drained = bytes_in(now - before, per_second);
        self.level = self.level.saturating_add(received - known).saturating_sub(drained);
        let (begin, first) = self.looks.front().copied().unwrap_or((now, received));
        let too_long = now - begin >= WINDOW && received - first > bytes_in(now - begin, per_second);
        too_long || u128::from(self.level) > per_second + u128::from(BUFFERS)
    }
}

fn bytes_in(time: Nanos, per_second: u128) -> u64 {
    u64::try_from(per_second * u128::from(time.0) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// Period of the average.
const WINDOW: Nanos = Nanos::from_secs(5);
/// Bytes that may lie in buffers along the path and arrive at once.
const BUFFERS: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: BitRate = BitRate(100_000_000);

    /// Time at which a peer of this rate is caught, in steps of half a second.
    fn caught(rate: u64) -> Option<u64> {
        let mut watch = RateWatch::default();
        (0..200).find(|step| {
            let now = MonoTime(1) + Nanos::from_millis(500 * step);
            watch.exceeds(now, rate / 8 * step / 2, Some(MAX))
        })
    }

    #[test]
    fn the_rate_allowed_is_never_too_high_and_much_more_is_caught_within_a_second() {
        assert_eq!(caught(100_000_000), None);
        assert_eq!(caught(104_000_000), None);
        assert_eq!(caught(107_000_000), Some(10), "the average over five seconds");
        assert_eq!(caught(1_000_000_000), Some(1));
    }

    #[test]
    fn what_gathered_in_a_pause_may_come_at_once() {
        let mut watch = RateWatch::default();
        assert!(!watch.exceeds(MonoTime(0), 0, Some(MAX)));
        assert!(!watch.exceeds(MonoTime(0) + Nanos::from_secs(5), 0, Some(MAX)));
        assert!(!watch.exceeds(MonoTime(0) + Nanos::from_secs(5), 4 << 20, Some(MAX)));
    }

    #[test]
    fn a_count_that_begins_anew_is_no_excess() {
        let mut watch = RateWatch::default();
        assert!(!watch.exceeds(MonoTime(0), u64::MAX, Some(MAX)));
        assert!(!watch.exceeds(MonoTime(1), 0, Some(MAX)));
        assert!(!watch.exceeds(MonoTime(2), u64::MAX, None), "nothing is forbidden");
    }
}
