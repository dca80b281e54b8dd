//! Whose fault far round trips are: this host's, the path's, or nobody can tell.
//!
//! A round trip that took longer than usual while this host held up the measuring thread is this host's. What is compared
//! is its excess over the usual round trip, with the time of it that disturbances cover.

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
    /// How long it lasted.
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

    /// What was counted. Switches and steal are the engine's to add, as they have no times of their own.
    #[must_use]
    pub fn noise(&self) -> HostNoise {
        self.noise
    }

    /// The time between two moments that disturbances cover; what two of them cover counts once.
    #[must_use]
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

    /// Whose fault a round trip is that usually takes `usual`. `watched`: the thread spun or a hiccup meter ran on its CPU,
    /// so that the host would have been seen; a thread that sleeps sees nothing.
    ///
    /// The host's when it held at least half of the excess; else the path's where the host was watched or the kernel told
    /// when the reply came; else unknown.
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
