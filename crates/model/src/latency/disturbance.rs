//! Attribution of slow round trips: to this host, to the path, or unknown.
//!
//! A round trip that took longer than usual while this host delayed the measuring thread is attributed to this host. Compared are
//! its excess over the usual round trip, and the part of it that disturbances cover.

mod farthest;

pub use farthest::{Farthest, Trip};

use super::{Cause, HostNoise, Outlier};
use crate::units::Nanos;

/// A time during which this host did not run the measuring thread, which spun: it missed time between two looks at the
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// When it began, by the clock of the round trips.
    pub start: Nanos,
    /// Duration.
    pub length: Nanos,
}

/// The disturbances of a run. Of more than 4096 the shorter half is forgotten; sums and the longest stay exact.
#[derive(Clone, Debug, Default)]
pub struct HostWatch {
    kept: Vec<Disturbance>,
    noise: HostNoise,
}

impl HostWatch {
    /// Takes a disturbance; one without length is none.
    pub fn record(&mut self, disturbance: Disturbance) {
        if disturbance.length == Nanos::ZERO {
            return;
        }
        self.noise.hiccups = self.noise.hiccups.saturating_add(1);
        self.noise.hiccup_total = Nanos(self.noise.hiccup_total.0.saturating_add(disturbance.length.0));
        self.noise.hiccup_worst = self.noise.hiccup_worst.max(disturbance.length);
        if self.kept.len() >= MOST_KEPT {
            self.kept.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.length));
            self.kept.truncate(MOST_KEPT / 2);
        }
        self.kept.push(disturbance);
    }

    /// The counters. The engine adds switches and steal, as they have no times of their own.
    #[must_use]
    pub fn noise(&self) -> HostNoise {
        self.noise
    }

    /// The time between two moments that disturbances cover; what two of them cover counts once.
    pub fn held(&self, from: Nanos, until: Nanos) -> Nanos {
        let mut covered: Vec<(u64, u64)> =
            self.kept.iter().filter_map(|one| one.within(from, until)).collect();
        covered.sort_unstable();
        let (mut sum, mut reached) = (0, from.0);
        for (start, end) in covered {
            sum += end.saturating_sub(start.max(reached));
            reached = reached.max(end);
        }
        Nanos(sum)
    }

    /// Attributes a round trip that usually takes `usual`. `watched`: the thread spun or a hiccup meter ran on its CPU, so that a
    /// disturbance would have been recorded; a thread that sleeps records none.
    ///
    /// The cause is the host when it accounts for at least half of the excess; otherwise the path where the host was watched or the
    /// kernel stamped the reply's arrival; otherwise unknown.
    #[must_use]
    pub fn attribute(&self, trip: &Trip, usual: Nanos, watched: bool) -> Outlier {
        let until = Nanos(trip.at.0.saturating_add(trip.rtt.0));
        let host = self.held(trip.at, until).max(trip.in_host.unwrap_or_default()).min(trip.rtt);
        let excess = trip.rtt.0.saturating_sub(usual.0);
        let cause = match (host.0 > 0 && host.0 >= excess.div_ceil(2), watched || trip.in_host.is_some()) {
            (true, _) => Cause::Host,
            (false, true) => Cause::Path,
            (false, false) => Cause::Unknown,
        };
        Outlier { at: trip.at, rtt: trip.rtt, host, cause }
    }
}

impl Disturbance {
    /// The part between two moments, from and until.
    fn within(&self, from: Nanos, until: Nanos) -> Option<(u64, u64)> {
        let end = self.start.0.saturating_add(self.length.0).min(until.0);
        let start = self.start.0.max(from.0);
        (start < end).then_some((start, end))
    }
}

const MOST_KEPT: usize = 4096;

#[cfg(test)]
mod tests;
