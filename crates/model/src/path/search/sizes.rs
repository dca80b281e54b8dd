//! Which sizes are worth a try: those that messages hint at, those that are common, then all in even steps.

use super::{MOST_SIZES, Search, Span};

impl Search {
    /// Sizes to try where nothing has crossed yet: small ones, and those hinted at.
    pub(super) fn small_ones(&self) -> Vec<u32> {
        let mut sizes = vec![self.least, self.base, self.most];
        sizes.extend(even(self.least, self.base, 3));
        sizes.extend(self.hinted(self.least, self.most).take(MOST_SIZES / 2));
        sizes
    }

    /// Untried sizes inside the span, at most `room`. There is one at least.
    pub(super) fn between(&self, span: Span, room: usize) -> Vec<u32> {
        let hinted: Vec<u32> = self.hinted(span.low + 1, span.high - 1).take(room).collect();
        if !hinted.is_empty() {
            return hinted;
        }
        let inside =
            |size: &u32| (span.low + 1..span.high).contains(size) && !self.tallies.contains_key(size);
        let mut sizes: Vec<u32> = COMMON.into_iter().filter(inside).take(room).collect();
        let spare = room - sizes.len();
        let above: Vec<u32> = sizes.iter().map(|size| size + 1).filter(inside).collect();
        sizes.extend(above.into_iter().filter(|size| !COMMON.contains(size)).take(spare));
        if sizes.len() < FEW {
            sizes.extend(even(span.low, span.high, room - sizes.len()));
        }
        sizes
    }

    /// Four sizes that cross, to weigh losses with: the smallest, the largest and two between.
    pub(super) fn weights(&self, span: Span) -> Vec<u32> {
        let smallest = self.crossing().next().unwrap_or(span.low);
        let mut sizes = even(smallest, span.low, 2);
        sizes.extend([smallest, span.low]);
        sizes
    }

    fn hinted(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        let sizes = self.hints.iter().cloned().flatten();
        sizes.filter(move |size| (from..=to).contains(size) && !self.tallies.contains_key(size))
    }
}

/// At most `count` sizes that divide what lies between these two evenly.
fn even(low: u32, high: u32, count: usize) -> Vec<u32> {
    let inside = u64::from(high.saturating_sub(low).saturating_sub(1));
    let count = inside.min(count as u64);
    let step = |n: u64| u64::from(low) + n * (inside + 1) / (count + 1);
    (1..=count).filter_map(|n| u32::try_from(step(n)).ok()).collect()
}

/// With fewer common sizes than these, even steps are tried too.
const FEW: usize = 8;

/// Ethernet and its jumbo frames, PPPoE, GRE, IPIP, clouds, mobile networks, WireGuard, IPsec, IPv6's least.
const COMMON: [u32; 26] = [
    9216, 9001, 9000, 8896, 8500, 8000, 4000, 2000, 1500, 1492, 1480, 1476, 1460, 1450, 1440, 1430, 1428,
    1420, 1400, 1380, 1378, 1358, 1350, 1340, 1280, 576,
];
