//! Which size to try next where one answer costs a second: what messages hint at, what is common, then the middle.

/// A search between a size that arrives and one that does not.
#[derive(Clone, Debug)]
pub(in crate::work::path) struct Bisect {
    /// Largest size that arrived.
    low: u32,
    /// Smallest that did not; one above the largest that can be sent, at first.
    high: u32,
    most: u32,
    hints: Vec<u32>,
}

impl Bisect {
    /// A search from a size that arrived up to the largest that can be sent.
    pub(in crate::work::path) fn new(low: u32, most: u32) -> Bisect {
        Bisect { low, high: most.saturating_add(1).max(low.saturating_add(1)), most, hints: Vec::new() }
    }

    /// The path MTU may be this.
    pub(in crate::work::path) fn hint(&mut self, mtu: u32) {
        if !self.hints.contains(&mtu) && self.hints.len() < MOST_HINTS {
            self.hints.push(mtu);
        }
    }

    /// The size to try; `None`: the largest that arrives is known to the byte.
    pub(in crate::work::path) fn next(&self) -> Option<u32> {
        if self.high - self.low <= 1 {
            return None;
        }
        let open = |size: &u32| (self.low + 1..self.high).contains(size);
        let hinted = self.hints.iter().copied().filter(open).max();
        if hinted.is_some() {
            return hinted;
        }
        // One byte more than a size that was guessed and arrives.
        let guessed = self.hints.contains(&self.low);
        if guessed {
            return Some(self.low + 1);
        }
        if self.high > self.most {
            return Some(self.most);
        }
        let common: Vec<u32> = COMMON.into_iter().filter(open).collect();
        match common.get(common.len() / 2) {
            Some(size) => Some(*size),
            None if COMMON.contains(&self.low) => Some(self.low + 1),
            None => Some(self.low + (self.high - self.low) / 2),
        }
    }

    /// A size arrived, or did not.
    pub(in crate::work::path) fn take(&mut self, size: u32, arrived: bool) {
        if arrived {
            self.low = self.low.max(size);
            self.high = self.high.max(self.low + 1);
        } else if size > self.low {
            self.high = self.high.min(size);
        }
    }

    /// The largest size that arrived.
    pub(in crate::work::path) fn low(&self) -> u32 {
        self.low
    }
}

const MOST_HINTS: usize = 8;
/// Ethernet and its jumbo frames, PPPoE, GRE, IPIP, clouds, mobile networks, WireGuard, IPsec, IPv6's least.
const COMMON: [u32; 26] = [
    576, 1280, 1300, 1340, 1350, 1358, 1378, 1380, 1400, 1420, 1428, 1430, 1440, 1450, 1454, 1460, 1476,
    1480, 1492, 1500, 2000, 4000, 8500, 8896, 9000, 9001,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The path MTU that a search finds, and how many sizes it tried.
    fn find(mtu: u32, most: u32, hints: &[u32]) -> (u32, usize) {
        let mut search = Bisect::new(100, most);
        hints.iter().for_each(|hint| search.hint(*hint));
        let mut tries = 0;
        while let Some(size) = search.next() {
            assert!((101..=most).contains(&size), "{size}");
            search.take(size, size <= mtu);
            tries += 1;
            assert!(tries < 40, "it does not end");
        }
        (search.low(), tries)
    }

    #[test]
    fn the_usual_answers_take_few_tries() {
        assert_eq!(find(1500, 1500, &[]), (1500, 1));
        assert_eq!(find(1400, 1500, &[1400]), (1400, 2), "a message reported");
        assert_eq!(find(1400, 1500, &[1300]).0, 1400, "a message lied");
        let (mtu, tries) = find(1420, 1500, &[]);
        assert!(mtu == 1420 && tries <= 7, "{tries}");
    }

    #[test]
    fn the_common_sizes_are_in_order() {
        assert!(COMMON.is_sorted());
    }

    proptest! {
        #[test]
        fn every_path_mtu_is_found(mtu in 100_u32..70_000, most in 100_u32..70_000, hints in prop::collection::vec(0_u32..70_000, 0..12)) {
            prop_assert_eq!(find(mtu, most, &hints).0, mtu.min(most));
        }

        #[test]
        fn answers_that_contradict_end_too(answers in prop::collection::vec(any::<bool>(), 100)) {
            let mut search = Bisect::new(100, 1500);
            let mut tries = answers.iter();
            while let (Some(size), Some(answer)) = (search.next(), tries.next()) {
                search.take(size, *answer);
            }
            prop_assert_eq!(search.next(), None);
        }
    }
}
