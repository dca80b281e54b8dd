//! The samples of a part of a test: their histogram, and their distances from a common reference.

use crate::centered::Centered;
use crate::histogram::Histogram;
use crate::spread::Dispersion;

#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) histogram: Histogram,
    centered: Centered,
}

impl Part {
    pub(super) fn around(reference: u64) -> Part {
        Part { histogram: Histogram::default(), centered: Centered::around(reference) }
    }

    pub(super) fn record(&mut self, value: u64) {
        self.histogram.record(value);
        self.centered.record(value);
    }

    pub(super) fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Adds another around the same reference.
    pub(super) fn merge(&mut self, other: &Part) {
        self.histogram.merge(&other.histogram).expect("all keep the default digits");
        self.centered.merge(&other.centered);
    }

    /// The spread, from the more precise of the two: the reference can have been far off.
    pub(super) fn dispersion(&self) -> Option<Dispersion> {
        let found = [self.centered.dispersion(), Dispersion::from_histogram(&self.histogram)];
        found.into_iter().flatten().min_by_key(|dispersion| dispersion.precision)
    }
}
