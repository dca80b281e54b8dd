//! The warm-up of a test: the sample from which on its level is steady, and the samples from there.
//!
//! The first samples of a test are slower (address resolution, cold caches, sleeping clocks) or faster (empty queues) than those
//! after. As in MSER-5 (White, Cobb and Spratt 2000) the series is divided into blocks and the cut is made between them, but a
//! block is compared with the level of the part that is never cut, by ranks: this is robust against the outliers and the skew of
//! round trips.

mod part;

use super::histogram::Histogram;
use super::spread::Dispersion;
use part::Part;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Takes the samples of a whole test, and cuts at its end. Memory is bounded: at most 64 histograms and the rest.
#[derive(Clone, Debug, Default)]
pub struct WarmUp {
    blocks: Vec<Block>,
    /// The samples of the first block one by one.
    leading: Vec<(Nanos, u64)>,
    /// Samples after the last block that may be cut; absent while there are none.
    rest: Option<Part>,
    count: u64,
    first: Nanos,
    last: Nanos,
}

/// A test without its warm-up.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The samples behind the cut.
    pub kept: Histogram,
    /// Their spread, resolved even where it is far below a thousandth of the values; `None` without samples.
    pub dispersion: Option<Dispersion>,
    /// Time from the first sample to the first that is kept.
    pub cut: Nanos,
    /// Number of samples before the cut; they are the first ones.
    pub dropped: u64,
    /// Whether the cut could be found.
    pub level: Level,
}

/// Whether a steady level was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The kept samples are on one level.
    Steady,
    /// None of the blocks that may be cut was the last unsteady one: as much as possible was cut, and the figures drift.
    Unsteady,
    /// Fewer than 80 samples: nothing was cut.
    TooFew,
}

#[derive(Clone, Debug)]
struct Block {
    /// Time of its first sample.
    from: Nanos,
    part: Part,
    /// Number of samples it takes.
    size: u64,
}

impl WarmUp {
    /// Takes one sample: its time, by any clock that does not go back, and its value.
    pub fn record(&mut self, at: Nanos, rtt: u64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
        self.last = self.last.max(at);
        if self.leading.len() < FIRST_BLOCK {
            self.leading.push((at, rtt));
        }
        self.part(at).record(rtt);
    }

    /// Cuts the warm-up: at most a fifth of the time, a fifth of the samples and five seconds.
    #[must_use]
    pub fn finish(self) -> Settled {
        let farthest = self.farthest();
        if self.count < FEWEST {
            return self.cut_at(0, Level::TooFew);
        }
        let reference = self.samples_since(farthest.max(1), 0).histogram;
        match (0..=farthest).find(|&start| self.is_steady_from(start, &reference)) {
            Some(0) => self.cut_leading(&reference),
            // The level was reached somewhere in the first steady block: its median does not show where.
            Some(start) => self.cut_at((start + 1).min(farthest), Level::Steady),
            None => self.cut_at(farthest, Level::Unsteady),
        }
    }

    /// The part in which the next sample is counted: a block while it may be cut. Each block is a quarter of the samples before
    /// it: the cut is the finer the shorter the warm-up, and the table stays small.
    fn part(&mut self, at: Nanos) -> &mut Part {
        let full = self.blocks.last().is_none_or(|block| block.part.count() >= block.size);
        let beyond =
            self.rest.is_some() || self.blocks.len() >= MOST_BLOCKS || self.since_first(at) > LONGEST;
        let last = self.blocks.len();
        if full && beyond {
            let reference = self.reference();
            return self.rest.get_or_insert_with(|| Part::around(reference));
        }
        if full {
            let size = (self.count / 4).max(FIRST_BLOCK as u64);
            let part = Part::around(self.reference());
            self.blocks.push(Block { from: at, part, size });
            return &mut self.blocks[last].part;
        }
        &mut self.blocks[last - 1].part
    }

    /// The median of the first samples: in the middle of them all, unless they are a warm-up.
    fn reference(&self) -> u64 {
        let mut leading: Vec<u64> = self.leading.iter().map(|sample| sample.1).collect();
        leading.sort_unstable();
        leading.get(leading.len() / 2).copied().unwrap_or_default()
    }

    fn since_first(&self, at: Nanos) -> Nanos {
        Nanos(at.0.saturating_sub(self.first.0))
    }

    /// The last block that may be the first one kept.
    fn farthest(&self) -> usize {
        let longest = Nanos(self.since_first(self.last).0 / 5).min(LONGEST);
        let (mut before, mut farthest) = (0, 0);
        for (index, block) in self.blocks.iter().enumerate() {
            if self.since_first(block.from) > longest || before > self.count / 5 {
                break;
            }
            farthest = index;
            before += block.part.count();
        }
        farthest
    }

    /// Three blocks in a row from here are on the level of the reference, or as many as there are; and so are the next eight
    /// taken together, as small blocks show only large differences.
    fn is_steady_from(&self, start: usize, reference: &Histogram) -> bool {
        let mut next = self.blocks.iter().skip(start).take(RUN);
        let mut together = Histogram::default();
        for block in self.blocks.iter().skip(start).take(FAR) {
            together.merge(&block.part.histogram).expect("all keep the default digits");
        }
        next.all(|block| is_on_level(&block.part.histogram, reference)) && is_on_level(&together, reference)
    }

    /// Cuts the first few samples if they are longer than all but a thousandth of the reference, as one that waited for the
    /// resolution of the address.
    fn cut_leading(&self, reference: &Histogram) -> Settled {
        let usual = reference.value_at_quantile(0.999).unwrap_or(u64::MAX);
        let dropped = self.leading.iter().take_while(|sample| sample.1 > usual).count();
        let cut = self.leading.get(dropped).map_or(Nanos::ZERO, |sample| self.since_first(sample.0));
        self.settled(self.samples_since(0, dropped), cut, Level::Steady)
    }

    /// Cuts before a block.
    fn cut_at(&self, start: usize, level: Level) -> Settled {
        let cut = self.blocks.get(start).map_or(Nanos::ZERO, |block| self.since_first(block.from));
        self.settled(self.samples_since(start, 0), cut, level)
    }

    fn settled(&self, kept: Part, cut: Nanos, level: Level) -> Settled {
        let dispersion = kept.dispersion();
        Settled { dropped: self.count - kept.count(), kept: kept.histogram, dispersion, cut, level }
    }

    /// All samples from a block on; of the first block, without its first few. That block was begun before the reference was
    /// known, so it is counted again.
    fn samples_since(&self, start: usize, skip: usize) -> Part {
        let mut all = Part::around(self.reference());
        if start == 0 {
            self.leading.iter().skip(skip).for_each(|sample| all.record(sample.1));
        }
        let parts = self.blocks.iter().skip(start.max(1)).map(|block| &block.part);
        parts.chain(&self.rest).for_each(|part| all.merge(part));
        all
    }
}

/// The median is as near the middle of the reference as the median of so many samples is by chance (three standard errors), or
/// between its quartiles, or within 2 % of its median.
fn is_on_level(block: &Histogram, reference: &Histogram) -> bool {
    let Some(median) = block.value_at_quantile(0.5) else { return true };
    let at = |q| reference.value_at_quantile(q).unwrap_or(median);
    // The rank of a median of k values has a standard error of 1/(2 √k).
    let reach = (1.5 / (block.count() as f64).sqrt()).clamp(0.25, 0.4995);
    let middle = at(0.5);
    (at(0.5 - reach)..=at(0.5 + reach)).contains(&median) || median.abs_diff(middle) <= middle / 50
}

const FIRST_BLOCK: usize = 16;
/// Enough for the cut among five million samples.
const MOST_BLOCKS: usize = 64;
const RUN: usize = 3;
/// Blocks that together hold about five times the samples before them.
const FAR: usize = 8;
/// Five first blocks: a fifth of them is one.
const FEWEST: u64 = 80;
const LONGEST: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Skewed noise from a fixed sequence: about 10 µs, one in a hundred ten times as long.
    fn noise(seed: u64, index: u64) -> u64 {
        let mixed = (seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xd134_2543_de82_ef95);
        let uniform = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
        let usual = 9_000 + uniform % 2_000;
        if uniform.is_multiple_of(100) { usual * 10 } else { usual }
    }

    /// Samples a millisecond apart, each of which a function makes of its index and noise.
    fn test_of(count: u64, seed: u64, value: impl Fn(u64, u64) -> u64) -> Settled {
        let mut warm_up = WarmUp::default();
        (0..count).for_each(|index| {
            warm_up.record(Nanos::from_nanos(7_000 + index * 1_000_000), value(index, noise(seed, index)));
        });
        assert_eq!(warm_up.count, count);
        warm_up.finish()
    }

    #[test]
    fn a_steady_series_loses_nothing_to_speak_of() {
        let mut cut = 0;
        for seed in 0..100 {
            let settled = test_of(3_000, seed, |_, noise| noise);
            assert_eq!(settled.level, Level::Steady);
            assert_eq!(settled.kept.count() + settled.dropped, 3_000);
            cut += u64::from(settled.dropped > 2);
            assert!(settled.dropped <= 60, "{}", settled.dropped);
        }
        assert!(cut <= 4, "{cut} of 100 steady series were cut");
    }

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        for (slow, factor) in [(40, 3), (300, 2), (1500, 2), (150, 20)] {
            let settled =
                test_of(10_000, 1, |index, noise| if index < slow { noise * factor } else { noise });
            assert_eq!(settled.level, Level::Steady);
            assert!(settled.dropped >= slow && settled.dropped <= slow * 16 / 10 + 32, "{settled:?}");
            assert_eq!(settled.cut, Nanos(settled.dropped * 1_000_000));
        }
    }

    #[test]
    fn a_start_that_dies_away_is_cut_near_its_end() {
        let settled =
            test_of(20_000, 2, |index, noise| noise + (40_000.0 * (-(index as f64) / 300.0).exp()) as u64);
        // At 1200 samples it is below the quartiles' distance.
        assert!((900..2300).contains(&settled.dropped), "{}", settled.dropped);
    }

    #[test]
    fn a_fast_start_is_cut_as_well() {
        let settled = test_of(10_000, 3, |index, noise| if index < 500 { noise / 2 } else { noise });
        assert!((500..800).contains(&settled.dropped), "{}", settled.dropped);
    }

    #[test]
    fn the_first_ping_that_resolved_an_address_goes_alone() {
        let settled = test_of(1_000, 4, |index, noise| if index < 2 { 900_000 } else { noise });
        assert_eq!((settled.dropped, settled.cut), (2, Nanos::from_millis(2)));
        assert!(settled.kept.max() < Some(200_000));
        // An outlier in the middle is not part of the warm-up.
        let settled = test_of(1_000, 4, |index, noise| if index == 90 { 900_000 } else { noise });
        assert_eq!((settled.dropped, settled.kept.max()), (0, Some(900_000)));
    }

    #[test]
    fn a_test_that_never_settles_is_marked_and_keeps_four_fifths() {
        let settled = test_of(10_000, 5, |index, noise| noise + index * 20);
        assert_eq!(settled.level, Level::Unsteady);
        assert!(settled.kept.count() >= 7_500, "{}", settled.dropped);
    }

    #[test]
    fn a_disturbance_later_on_is_no_warm_up() {
        let disturbed = |index| (1000..1100).contains(&index);
        let settled = test_of(10_000, 6, |index, noise| if disturbed(index) { noise * 50 } else { noise });
        assert_eq!((settled.dropped, settled.level), (0, Level::Steady));
    }

    #[test]
    fn the_spread_of_a_long_path_is_resolved() {
        let settled =
            test_of(
                2_000,
                8,
                |index, noise| {
                    if index < 100 { 500_000_000 } else { 384_000_000 + noise % 2_000 * 100 }
                },
            );
        let (dropped, dispersion) = (settled.dropped, settled.dispersion.unwrap());
        assert!((100..180).contains(&dropped), "{dropped}");
        // Nearly uniform over 200 µs, so a quarter and half of it; a bucket is 262 µs there. The reference is 116 ms off.
        assert!(dispersion.precision <= Nanos::from_micros(530), "{dispersion:?}");
        let settled = test_of(2_000, 8, |_, noise| 384_000_000 + noise % 2_000 * 100);
        let dispersion = settled.dispersion.unwrap();
        assert!(dispersion.precision <= Nanos::from_micros(3), "{dispersion:?}");
        assert!(dispersion.mad.0.abs_diff(50_000) < 4_000, "{dispersion:?}");
        assert!(dispersion.iqr.0.abs_diff(100_000) < 6_000, "{dispersion:?}");
    }

    #[test]
    fn few_samples_are_all_kept() {
        let settled = test_of(79, 7, |index, noise| if index < 8 { noise * 9 } else { noise });
        assert_eq!((settled.kept.count(), settled.level), (79, Level::TooFew));
        let nothing = WarmUp::default().finish();
        assert_eq!((nothing.kept.count(), nothing.cut, nothing.level), (0, Nanos::ZERO, Level::TooFew));
    }

    #[test]
    fn memory_is_bounded_and_no_more_than_five_seconds_go() {
        let mut warm_up = WarmUp::default();
        for index in 0..200_000_u64 {
            warm_up.record(Nanos(index * 1_000_000), if index < 30_000 { 50_000 } else { 9_000 });
        }
        assert!(warm_up.blocks.len() <= MOST_BLOCKS);
        let settled = warm_up.finish();
        assert_eq!(settled.level, Level::Unsteady);
        assert!(settled.cut > Nanos::from_secs(3) && settled.cut <= LONGEST, "{:?}", settled.cut);
    }

    proptest! {
        #[test]
        fn any_samples_are_kept_or_dropped_within_the_limits(
            samples in prop::collection::vec((any::<u64>(), any::<u64>()), 0..400),
            sorted: bool,
        ) {
            let mut samples = samples;
            if sorted { samples.sort_unstable(); }
            let mut warm_up = WarmUp::default();
            samples.iter().for_each(|&(at, rtt)| warm_up.record(Nanos(at), rtt));
            let settled = warm_up.finish();
            let count = samples.len() as u64;
            prop_assert_eq!(settled.kept.count() + settled.dropped, count);
            prop_assert!(settled.dropped <= count / 5 + 16, "{}", settled.dropped);
            let mut expected = Histogram::default();
            samples.iter().skip(settled.dropped as usize).for_each(|sample| expected.record(sample.1));
            prop_assert!(settled.kept.buckets().eq(expected.buckets()));
        }
    }
}
