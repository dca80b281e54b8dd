//! The probability of losses by chance, from the loss of the sizes that do cross.

use super::{COPIES, MOST_COPIES, Search, SizeLoss, SizeProbe, WALL};

/// The outcomes of one size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: u32,
    pub(super) received: u32,
    /// Lost since the last arrival, while smaller ones arrived.
    pub(super) missed: u32,
}

impl Tally {
    /// Adds a result. `reported`: smaller ones arrived in the same round.
    pub(super) fn add(&mut self, result: &SizeProbe, reported: bool) {
        self.sent += result.sent;
        self.received += result.received;
        if result.received > 0 {
            self.missed = 0;
        } else if reported {
            self.missed += result.sent;
        }
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.sent += other.sent;
        self.received += other.received;
        self.missed = other.missed;
    }
}

impl Search {
    /// Whether this size has not crossed, and that cannot be chance.
    pub(super) fn fails(&self, size: u32) -> bool {
        let tally = self.tallies.get(&size).filter(|tally| tally.received == 0);
        tally.is_some_and(|tally| self.chance(size, tally.missed) < WALL)
    }

    /// The probability that so many copies of this size in a row are lost if it does cross.
    ///
    /// The loss rate may be that of all sizes that cross, or that of sizes near this one: the higher probability counts.
    pub(super) fn chance(&self, size: u32, missed: u32) -> f64 {
        self.pools(size)
            .map(|(received, lost)| all_lost(received, lost, missed))
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Number of further copies that would show that a size fails, if none arrives.
    pub(super) fn copies(&self, size: u32, level: f64) -> u32 {
        let missed = self.tallies.get(&size).map_or(0, |tally| tally.missed);
        let enough = |copies: &u32| {
            let chances =
                self.pools(size).map(|(received, lost)| all_lost(received + *copies, lost, missed + *copies));
            chances.into_iter().fold(0.0, f64::max) < level
        };
        (COPIES..MOST_COPIES).find(enough).unwrap_or(MOST_COPIES)
    }

    /// Copies of each size while the interval is narrowed: what is lost is only left for later then.
    pub(super) fn copies_while_narrowing(&self) -> u32 {
        let [(received, lost), _] = self.pools(self.most);
        match f64::from(lost) / f64::from((received + lost).max(1)) {
            0.0 => 2,
            share if share < 0.15 => COPIES,
            _ => COPIES + 1,
        }
    }

    /// Copies received and lost of the sizes that cross: of all, and of those of about this size or larger. What this size
    /// lost last is left out, as that is to be judged.
    fn pools(&self, size: u32) -> [(u32, u32); 2] {
        let pool = |from: u32| {
            let crossing = self.tallies.range(from..).filter(|(_, tally)| tally.received > 0);
            crossing.fold((0, 0), |(received, lost), (of, tally)| {
                let judged = if *of == size { tally.missed } else { 0 };
                (received + tally.received, lost + tally.sent.saturating_sub(tally.received + judged))
            })
        };
        let all = pool(0);
        let near = pool(size - size / 4);
        [all, if near == (0, 0) { all } else { near }]
    }
}

/// The chance that the next `missed` copies are all lost, after these: Laplace's rule of succession. Whatever share is lost
/// was as likely as any other at first, so that few arrivals prove little.
fn all_lost(received: u32, lost: u32, missed: u32) -> f64 {
    let (received, lost) = (f64::from(received), f64::from(lost));
    (0..missed).map(f64::from).map(|n| (lost + 1.0 + n) / (received + lost + 2.0 + n)).product()
}

/// Share lost of these; 0 of none.
pub(super) fn loss(probes: &[SizeProbe]) -> f64 {
    let (sent, received) = sum(probes.iter());
    if sent == 0 { 0.0 } else { 1.0 - f64::from(received) / f64::from(sent) }
}

/// Whether the larger half of these sizes, which all cross, was lost clearly oftener than the smaller half: a difference of
/// the two shares of over 3.3 standard deviations (by chance less than once in 2000), from at least 20 copies of each.
#[must_use]
pub fn size_loss(probes: &[SizeProbe]) -> Option<SizeLoss> {
    let least = probes.iter().map(|probe| probe.size).min()?;
    let most = probes.iter().map(|probe| probe.size).max()?;
    let middle = least + (most - least) / 2;
    let (small_sent, small_received) = sum(probes.iter().filter(|probe| probe.size <= middle));
    let (large_sent, large_received) = sum(probes.iter().filter(|probe| probe.size > middle));
    if small_sent.min(large_sent) < 20 {
        return None;
    }
    let share = |sent: u32, received: u32| 1.0 - f64::from(received) / f64::from(sent);
    let (small, large) = (share(small_sent, small_received), share(large_sent, large_received));
    let pooled = share(small_sent.saturating_add(large_sent), small_received.saturating_add(large_received));
    let variance = pooled * (1.0 - pooled) * (1.0 / f64::from(small_sent) + 1.0 / f64::from(large_sent));
    (large - small > 3.3 * variance.sqrt()).then_some(SizeLoss { small, large, size: most, from: None })
}

fn sum<'a>(probes: impl Iterator<Item = &'a SizeProbe>) -> (u32, u32) {
    probes.fold((0, 0), |(sent, received), probe| {
        (sent.saturating_add(probe.sent), received.saturating_add(probe.received.min(probe.sent)))
    })
}
