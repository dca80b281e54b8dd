//! Interarrival jitter of RFC 3550, and the distribution of the differences behind it.

use super::histogram::Histogram;
use units::Nanos;
use units::time::MonoTime;

/// The jitter of one flow at its receiver, in nanoseconds.
///
/// Send times are of the sender's clock and arrivals of the receiver's: only their differences count, so the clocks' offset is
/// irrelevant. Between consecutive arrivals `D = (R₂ − R₁) − (S₂ − S₁)`, and `J += (|D| − J) / 16` (RFC 3550 section 6.4.1 and
/// appendix A.8).
#[derive(Clone, Debug, Default)]
pub struct Jitter {
    /// Arrival less send time of the last datagram, modulo 2^64.
    transit: Option<u64>,
    /// Nanoseconds times 2^16.
    estimate: u64,
    variation: Histogram,
}

impl Jitter {
    /// Takes `count` datagrams with the same two timestamps, as those of a GSO buffer read at once: the result is the same as
    /// taking them one by one, where all `D` but the first are zero.
    pub fn record_run(&mut self, sent: MonoTime, arrived: MonoTime, count: u32) {
        if count == 0 {
            return;
        }
        let transit = arrived.0.wrapping_sub(sent.0);
        let mut unchanged = count - 1;
        if let Some(before) = self.transit.replace(transit) {
            let difference = (transit.wrapping_sub(before) as i64).unsigned_abs().min(LARGEST);
            // J += (|D| − J) / 16, with the sum first so that it stays unsigned.
            self.estimate = (15 * self.estimate + (difference << FRACTION)) / 16;
            self.variation.record(difference);
        }
        self.variation.record_n(0, unchanged.into());
        while unchanged > 0 && self.estimate > 0 {
            let steps = unchanged.min(DECAY.len() as u32 - 1);
            self.estimate =
                ((u128::from(self.estimate) * u128::from(DECAY[steps as usize])) >> DECAY_FRACTION) as u64;
            unchanged -= steps;
        }
    }

    /// The running estimate J.
    pub fn estimate(&self) -> Nanos {
        Nanos((self.estimate + (1 << (FRACTION - 1))) >> FRACTION)
    }

    /// The distribution of |D|, which is the packet delay variation between neighbours (IPDV of RFC 3393, absolute).
    #[must_use]
    pub fn variation(&self) -> &Histogram {
        &self.variation
    }
}

const FRACTION: u32 = 16;
/// 2^43 ns, 2.4 hours: a larger difference is wrong, and 16 times this still fits 64 bits.
const LARGEST: u64 = 1 << 43;
const DECAY_FRACTION: u32 = 63;

/// `(15/16)^k` times 2^63.
const DECAY: [u64; 65] = {
    let mut powers = [1 << DECAY_FRACTION; 65];
    let mut k = 1;
    while k < powers.len() {
        powers[k] = powers[k - 1] / 16 * 15;
        k += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(stamps: &[(u64, u64)]) -> Jitter {
        let mut jitter = Jitter::default();
        stamps.iter().for_each(|&(sent, arrived)| jitter.record_run(MonoTime(sent), MonoTime(arrived), 1));
        jitter
    }

    #[test]
    fn a_steady_flow_has_none_whatever_the_clocks() {
        assert_eq!(after(&[(0, 900), (100, 1000), (200, 1100)]).estimate(), Nanos::ZERO);
        assert_eq!(after(&[(5000, 10), (5100, 110)]).estimate(), Nanos::ZERO);
        let single = after(&[(5, 9)]);
        assert_eq!((single.estimate(), single.variation().count()), (Nanos::ZERO, 0));
    }

    #[test]
    fn the_estimate_moves_by_a_sixteenth_of_the_difference() {
        assert_eq!(after(&[(0, 0), (100, 1700)]).estimate(), Nanos::from_nanos(100));
        assert_eq!(after(&[(0, 0), (100, 1700), (200, 1800)]).estimate(), Nanos::from_nanos(94));
        assert_eq!(after(&[(0, 1600), (100, 100)]).estimate(), Nanos::from_nanos(100));
    }

    #[test]
    fn wild_stamps_are_no_panic() {
        let jitter = after(&[(0, u64::MAX), (u64::MAX, 0), (0, u64::MAX / 2), (u64::MAX / 2, 0)]);
        assert!(jitter.estimate().0 <= LARGEST);
    }

    #[test]
    fn differences_are_kept_as_a_distribution() {
        let mut jitter = after(&[(0, 0), (100, 150)]);
        jitter.record_run(MonoTime(200), MonoTime(300), 44);
        assert_eq!((jitter.variation().count(), jitter.variation().max()), (45, Some(50)));
        assert_eq!(jitter.variation().value_at_quantile(0.5), Some(0));
    }

    proptest! {
        #[test]
        fn a_run_is_its_datagrams_one_by_one(
            runs in prop::collection::vec((0_u64..10_000_000, 0_u64..10_000_000, 0_u32..200), 1..30),
        ) {
            let (mut fast, mut slow) = (Jitter::default(), Jitter::default());
            for (sent, arrived, count) in runs {
                let (sent, arrived) = (MonoTime(sent), MonoTime(arrived));
                fast.record_run(sent, arrived, count);
                (0..count).for_each(|_| slow.record_run(sent, arrived, 1));
                prop_assert!(fast.estimate().0.abs_diff(slow.estimate().0) <= 1);
                prop_assert_eq!(fast.variation().count(), slow.variation().count());
            }
        }

        #[test]
        fn agrees_with_the_formula_in_floating_point(stamps in prop::collection::vec((0_u64..1 << 30, 0_u64..1 << 30), 2..100)) {
            let mut expected = 0.0;
            for pair in stamps.windows(2) {
                let transit = |(sent, arrived): (u64, u64)| arrived as f64 - sent as f64;
                expected += ((transit(pair[1]) - transit(pair[0])).abs() - expected) / 16.0;
            }
            prop_assert!((after(&stamps).estimate().0 as f64 - expected).abs() <= 1.0);
        }
    }
}
