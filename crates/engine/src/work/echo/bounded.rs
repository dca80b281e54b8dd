//! A server's limit on round trips: messages beyond the rate that was granted get no answer.

use model::time::MonoTime;
use model::units::{Nanos, PacketRate};

/// Counts messages against time: each takes a step of it, and may be ahead by [`AHEAD`] and some messages (the virtual
/// scheduling of ITU-T I.371). A client that keeps to its rate may be late by that, and catch up.
#[derive(Debug)]
pub(super) struct Meter {
    step: Nanos,
    due: MonoTime,
}

impl Meter {
    pub(super) fn new(rate: PacketRate) -> Meter {
        Meter { step: Nanos::from_nanos(1_000_000_000 / rate.0.max(1)), due: MonoTime(0) }
    }

    /// Whether a message that comes now keeps to the rate; one that does not takes nothing of it.
    pub(super) fn admits(&mut self, now: MonoTime) -> bool {
        if self.due > now + AHEAD + self.step.saturating_mul(MESSAGES) {
            return false;
        }
        self.due = self.due.max(now) + self.step;
        true
    }
}

/// A client that was delayed sends all that is due at once.
const AHEAD: Nanos = Nanos::from_secs(10);
/// Sent to learn the path, before the first that counts.
const MESSAGES: u64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_keeps_to_its_rate_is_answered_and_one_that_floods_is_not() {
        let at = |millis: u64| MonoTime(0) + Nanos::from_millis(millis);
        let mut meter = Meter::new(PacketRate(100));
        assert!((0..60_000).step_by(10).all(|millis| meter.admits(at(millis))), "a minute on time");
        // Delayed for five seconds, and then all at once.
        assert!((0..500).all(|_| meter.admits(at(65_000))));
        let mut meter = Meter::new(PacketRate(100));
        let answered = (0..100_000).filter(|_| meter.admits(at(0))).count();
        assert!((2_000..2_100).contains(&answered), "{answered}");
        let answered = (0..100_000).filter(|_| meter.admits(at(1_000))).count();
        assert!((99..=101).contains(&answered), "a second later, {answered} more");
    }
}
