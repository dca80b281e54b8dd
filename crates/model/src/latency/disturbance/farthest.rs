//! The slowest round trips of a test, in bounded memory, so that those of the warm-up can be left out at its end.

use crate::units::Nanos;

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// When its message was sent, since the start of the run.
    pub at: Nanos,
    /// Duration.
    pub rtt: Nanos,
    /// The part of it in this host, by the kernel's stamps; `None` without stamps.
    pub in_host: Option<Nanos>,
}

/// Keeps the 16 farthest of each stretch of time; stretches grow with time, four to each doubling.
#[derive(Clone, Debug, Default)]
pub struct Farthest {
    stretches: Vec<Stretch>,
}

#[derive(Clone, Debug, Default)]
struct Stretch {
    trips: Vec<Trip>,
    /// The shortest of them when it is full.
    least: Nanos,
}

impl Farthest {
    /// Takes a round trip. All but the farthest cost one comparison.
    pub fn record(&mut self, trip: Trip) {
        let index = stretch_of(trip.at);
        if index >= self.stretches.len() {
            self.stretches.resize_with(index + 1, Stretch::default);
        }
        self.stretches[index].record(trip);
    }

    /// The farthest sent at `from` or later, farthest first, at most 16. Of those sent shortly after `from`, in the stretch in
    /// which it lies, some can be missing where more before it were farther.
    #[must_use]
    pub fn since(&self, from: Nanos) -> Vec<Trip> {
        let mut trips: Vec<Trip> = self
            .stretches
            .iter()
            .flat_map(|stretch| &stretch.trips)
            .filter(|trip| trip.at >= from)
            .copied()
            .collect();
        trips.sort_unstable_by_key(|trip| (std::cmp::Reverse(trip.rtt), trip.at));
        trips.truncate(MOST);
        trips
    }
}

impl Stretch {
    fn record(&mut self, trip: Trip) {
        if self.trips.len() < MOST {
            self.trips.push(trip);
        } else if trip.rtt > self.least {
            let shortest = self.trips.iter_mut().min_by_key(|kept| kept.rtt);
            *shortest.expect("a full stretch is not empty") = trip;
        } else {
            return;
        }
        if self.trips.len() == MOST {
            self.least = self.trips.iter().map(|kept| kept.rtt).min().unwrap_or_default();
        }
    }
}

/// The exponent and the two bits behind the leading one.
fn stretch_of(at: Nanos) -> usize {
    let millis = at.0 / 1_000_000;
    let Some(exponent) = millis.checked_ilog2() else { return 0 };
    let quarter = if exponent >= 2 { (millis >> (exponent - 2)) & 3 } else { 0 };
    1 + exponent as usize * 4 + quarter as usize
}

const MOST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trip(at: u64, rtt: u64) -> Trip {
        Trip { at: Nanos(at), rtt: Nanos(rtt), in_host: None }
    }

    #[test]
    fn stretches_grow_and_are_few() {
        assert_eq!((stretch_of(Nanos::ZERO), stretch_of(Nanos::from_nanos(999_999))), (0, 0));
        assert!(stretch_of(Nanos::MAX) < 200);
        let hour = stretch_of(Nanos::from_secs(3600)) - stretch_of(Nanos::from_secs(1));
        assert!(hour < 50, "{hour}");
    }

    #[test]
    fn a_slow_warm_up_does_not_push_out_what_follows() {
        let mut farthest = Farthest::default();
        for index in 0..10_000_u64 {
            farthest
                .record(trip(index * 1_000_000, if index < 1000 { 900_000 + index } else { 10_000 + index }));
        }
        let kept = farthest.since(Nanos::from_secs(1));
        assert_eq!(
            (kept.len(), kept[0].rtt, kept[15].rtt),
            (16, Nanos::from_nanos(19_999), Nanos::from_nanos(19_984))
        );
        assert_eq!(farthest.since(Nanos::ZERO)[0].rtt, Nanos::from_nanos(900_999));
        assert_eq!(Farthest::default().since(Nanos::ZERO), []);
    }

    proptest! {
        #[test]
        fn without_a_cut_they_are_the_farthest_of_all(trips in prop::collection::vec((any::<u64>(), any::<u64>()), 0..400)) {
            let mut farthest = Farthest::default();
            trips.iter().for_each(|&(at, rtt)| farthest.record(trip(at, rtt)));
            let mut expected: Vec<u64> = trips.iter().map(|trip| trip.1).collect();
            expected.sort_unstable_by(|a, b| b.cmp(a));
            expected.truncate(MOST);
            let found: Vec<u64> = farthest.since(Nanos::ZERO).iter().map(|trip| trip.rtt.0).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
