//! The size of each burst's messages: always the same, or as chance has it between two bounds.

use model::latency::{LatencyPlan, SizeRange};

/// The sizes of the next messages, in bytes.
pub(crate) struct Sizes {
    least: u64,
    choices: u64,
    seed: u64,
    bursts: u64,
}

impl Sizes {
    /// Those of a plan. `seed` chooses among them.
    pub(crate) fn from_plan(plan: &LatencyPlan, seed: u64) -> Sizes {
        let SizeRange { least, most } = plan.sizes.unwrap_or(SizeRange { least: plan.size, most: plan.size });
        Sizes { least: least.into(), choices: u64::from(most.saturating_sub(least)) + 1, seed, bursts: 0 }
    }

    /// The size of the next burst's messages.
    pub(crate) fn next_burst(&mut self) -> usize {
        if self.choices == 1 {
            return self.least as usize;
        }
        self.bursts += 1;
        (self.least + scatter(self.seed ^ self.bursts) % self.choices) as usize
    }
}

/// A number that looks like chance (SplitMix64).
fn scatter(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sizes(least: u32, most: u32) -> Sizes {
        let (least, choices) = (u64::from(least), u64::from(most - least) + 1);
        Sizes { least, choices, seed: 7, bursts: 0 }
    }

    #[test]
    fn every_size_in_the_range_comes_about_as_often() {
        let mut sizes = sizes(95, 104);
        let mut observed = BTreeMap::new();
        for _ in 0..10_000 {
            *observed.entry(sizes.next_burst()).or_insert(0) += 1;
        }
        assert_eq!(observed.keys().copied().collect::<Vec<_>>(), (95..=104).collect::<Vec<_>>());
        assert!(observed.values().all(|count| (800..1200).contains(count)), "{observed:?}");
    }

    #[test]
    fn one_size_stays_the_same() {
        let mut sizes = sizes(64, 64);
        assert!((0..100).all(|_| sizes.next_burst() == 64));
    }
}
