//! How fast the probes of a train follow each other.

use model::units::Nanos;

/// The time between two probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace(usize);

impl Pace {
    /// The pace of a path without a limit of rate.
    pub(crate) const FAST: Pace = Pace(0);
    /// One by one: 500 kbit/s in full packets.
    pub(crate) const SLOW: Pace = Pace(GAPS.len() - 1);

    /// The time between two probes.
    pub(crate) fn gap(self) -> Nanos {
        GAPS[self.0.min(GAPS.len() - 1)]
    }

    /// The next slower one; `None`: there is none.
    pub(crate) fn next(self) -> Option<Pace> {
        (self != Pace::SLOW).then_some(Pace(self.0 + 1))
    }
}

const GAPS: [Nanos; 3] = [Nanos::from_micros(100), Nanos::from_millis(3), Nanos::from_millis(25)];
