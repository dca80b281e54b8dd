//! Pacing: sends on an absolute schedule, so that errors never add up.
//!
//! Each step is due at `start + n × gap`. The thread sleeps until shortly before and spins the rest, since an idle
//! CPU takes tens of microseconds to wake. Measured figures: `docs/benchmarks.md`.

use linux::clock::{mono_now, sleep_until};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// Paces one stream.
#[derive(Debug)]
pub(crate) struct Pacer {
    start: MonoTime,
    rate: BitRate,
    /// Bits let through since `start`.
    bits: u128,
    spin: bool,
}

impl Pacer {
    /// A pacer for this many payload bits per second, from now. `spin`: a CPU may be kept busy for exactness.
    pub(crate) fn new(rate: BitRate, spin: bool, now: MonoTime) -> Pacer {
        Pacer { start: now, rate, bits: 0, spin }
    }

    /// When the next step is due.
    pub(crate) fn due(&self) -> MonoTime {
        let since = self.bits * 1_000_000_000 / u128::from(self.rate.0.max(1));
        self.start + Nanos(u64::try_from(since).unwrap_or(u64::MAX / 2))
    }

    /// Waits until the next step is due, but not beyond `limit`; returns the time.
    pub(crate) fn wait(&mut self, limit: MonoTime) -> MonoTime {
        let due = self.due().min(limit);
        let mut now = mono_now();
        if now > due + LAG_LIMIT {
            // The host cannot keep up: forget the debt, or a pause would be followed by a flood.
            self.start += now - due;
            return now;
        }
        let ahead = if self.spin { spin_ahead(due - now) } else { Nanos::ZERO };
        if due > now + ahead {
            sleep_until(MonoTime(due.0 - ahead.0));
            now = mono_now();
        }
        while now < due {
            std::hint::spin_loop();
            now = mono_now();
        }
        now
    }

    /// Accounts for payload bytes just sent.
    pub(crate) fn sent(&mut self, bytes: u64) {
        self.bits += 8 * u128::from(bytes);
    }
}

/// Can every datagram of `length` bytes be sent by itself when it is due?
pub(crate) fn is_sent_singly(rate: BitRate, length: u32) -> bool {
    burst_for(rate, length as usize, usize::MAX) == 1
}

/// Datagrams of `length` bytes to send back to back at each step: one, until steps come too fast for single sends.
pub(crate) fn burst_for(rate: BitRate, length: usize, most: usize) -> usize {
    let gap = 8 * length as u128 * 1_000_000_000 / u128::from(rate.0.max(1));
    if gap >= SINGLE_SEND_GAP {
        return 1;
    }
    usize::try_from(BURST_TIME / gap.max(1)).unwrap_or(most).clamp(1, most)
}

/// How long before the due time to wake: an idle CPU takes tens of microseconds, a virtual one on a shared host many
/// hundreds, the more the longer it slept. Short waits are spun through.
fn spin_ahead(wait: Nanos) -> Nanos {
    match wait {
        _ if wait <= SHORT_WAIT => wait,
        _ if wait <= LONG_WAIT => SHORT_WAIT,
        _ => LONG_WAKE,
    }
}

/// A wait as short as this never sleeps; the time to wake after a sleep that is not long.
const SHORT_WAIT: Nanos = Nanos::from_micros(300);
/// After a longer sleep than this a CPU is deeply idle.
const LONG_WAIT: Nanos = Nanos::from_millis(3);
/// Time to wake from it.
const LONG_WAKE: Nanos = Nanos::from_millis(1);
/// A sender this late has lost its schedule.
const LAG_LIMIT: Nanos = Nanos::from_millis(100);
/// Shorter gaps than this, in nanoseconds, cannot be kept by single sends: one costs about 3 µs.
const SINGLE_SEND_GAP: u128 = 4_000;
/// Length of a burst when single sends do not do, nanoseconds.
const BURST_TIME: u128 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_absolute() {
        let mut pacer = Pacer::new(BitRate(8_000_000), false, MonoTime(1_000));
        assert_eq!(pacer.due(), MonoTime(1_000));
        for _ in 0..1_000_000 {
            pacer.sent(100);
        }
        assert_eq!(pacer.due(), MonoTime(1_000) + Nanos::from_secs(100));
    }

    #[test]
    fn slow_rates_send_single_datagrams_and_fast_ones_bursts() {
        assert_eq!(burst_for(BitRate(1_000_000_000), 1472, 44), 1);
        assert_eq!(burst_for(BitRate(10_000_000_000), 1472, 44), 44);
        assert_eq!(burst_for(BitRate(1_000), 1472, 44), 1);
        assert_eq!(burst_for(BitRate(5_000_000_000), 1472, 44), 42);
    }
}
