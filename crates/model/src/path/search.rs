//! The search for a path MTU: the sizes to send next, and the conclusions from those that arrived.
//!
//! A state machine without I/O. Sizes are whole IP packets with DF set. As with packetization layer path MTU discovery (RFC 8899)
//! an arrival proves a size and a single loss proves nothing; unlike it, a round probes up to 32 sizes at once, so that an answer
//! takes a few round trips, and ends at the exact byte. Messages from routers influence the next sizes and decide nothing (RFC 8899
//! section 4.6).

mod evidence;
mod sizes;
#[cfg(test)]
mod tests;

pub use evidence::size_loss;

use super::{Bound, SizeLoss, SizeProbe};
use evidence::Tally;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Finds the largest packet that crosses a path whole.
#[derive(Clone, Debug, Default)]
pub struct Search {
    least: u32,
    base: u32,
    most: u32,
    /// Outcomes of each size since the search began or restarted.
    tallies: BTreeMap<u32, Tally>,
    /// The same before it began again.
    earlier: BTreeMap<u32, Tally>,
    hints: Vec<RangeInclusive<u32>>,
    /// The rounds of which something arrived, since then.
    observed: Vec<Vec<SizeProbe>>,
    rounds: u32,
    /// Rounds in a row of which nothing arrived.
    silent: u32,
    changed: bool,
    /// The answer is known, and losses are weighed by size: rounds that are left of that.
    weighing: Option<u32>,
    over: Option<Bound>,
}

/// Probes to send next: a number of copies of each size. All sizes are sent once, then again: a burst of losses then affects all of
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Whole packets, ascending, at most 32.
    pub sizes: Vec<u32>,
    /// Copies of each size.
    pub copies: u32,
}

/// The result of a search so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Largest packet that crosses whole.
    pub path_mtu: Option<u32>,
    /// Confidence in that.
    pub bound: Bound,
    /// Sizes above one that fails that crossed nevertheless, from and to.
    pub holes: Vec<(u32, u32)>,
    /// Whether the path changed meanwhile: sizes that crossed no longer did, or the reverse.
    pub changed: bool,
    /// Every size tried, ascending.
    pub probes: Vec<SizeProbe>,
    /// Share lost of the sizes that cross.
    pub loss: f64,
    /// Loss by size, when the large sizes that cross were lost clearly oftener.
    pub size_loss: Option<SizeLoss>,
}

/// The largest size that crosses, and the least above it that has not crossed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    low: u32,
    high: u32,
}

impl Search {
    /// A search that has sent nothing yet.
    ///
    /// `least`: the smallest packet that a probe can be. `most`: the largest that the sender's interface sends.
    #[must_use]
    pub fn new(ipv6: bool, least: u32, most: u32) -> Search {
        let most = most.max(1);
        let least = least.clamp(1, most);
        let base = if ipv6 { super::least_mtu(true) } else { BASE_IPV4 }.clamp(least, most);
        Search { least, base, most, ..Search::default() }
    }

    /// The next round; `None`: the search is over.
    #[must_use]
    pub fn round(&self) -> Option<Round> {
        if self.over.is_some() {
            return None;
        }
        let (mut sizes, copies) = match self.span() {
            Some(span) if self.weighing.is_some() => (self.weights(span), WEIGHED),
            _ if self.rounds == 0 => (vec![self.base, self.most], COPIES),
            None => (self.small_ones(), COPIES),
            Some(span) => self.towards(span),
        };
        sizes.sort_unstable();
        sizes.dedup();
        Some(Round { sizes, copies })
    }

    /// Takes the outcome of a round. Copies that the sender's kernel refused count as sent.
    pub fn take(&mut self, results: &[SizeProbe]) {
        if self.over.is_some() {
            return;
        }
        let results: Vec<SizeProbe> = results.iter().filter_map(|result| self.sane(result)).collect();
        let before = self.span();
        self.rounds += 1;
        let Some(control) =
            results.iter().filter(|result| result.received > 0).map(|result| result.size).min()
        else {
            return self.take_silence(&results);
        };
        self.silent = 0;
        let mut contradicts = results.iter().any(|result| self.contradicts(result, control));
        for result in &results {
            self.tallies.entry(result.size).or_default().add(result, result.size > control);
        }
        contradicts |= self.risen();
        if contradicts {
            return self.begin_again();
        }
        self.observed.push(results);
        if self.weighing.is_some() {
            self.weigh();
        } else if self.confirmed(before) {
            self.weighing = self.met_losses().then_some(WEIGHINGS);
            self.weigh();
        } else if self.rounds >= MOST_ROUNDS || self.packets() >= MOST_PACKETS {
            self.give_up();
        }
    }

    /// Takes the MTU of a packet-too-big message.
    pub fn hint_mtu(&mut self, mtu: u32) {
        self.hint(mtu..=mtu.saturating_add(1));
    }

    /// A datagram that routers were allowed to cut arrived, and this was its largest fragment (whole packet). But for the
    /// last, fragments carry multiples of 8 bytes (RFC 791): the path MTU is at most 7 more.
    pub fn hint_fragment(&mut self, size: u32) {
        self.hint(size..=size.saturating_add(8));
    }

    /// The result so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let bound = self.over.unwrap_or(if self.span().is_some() { Bound::AtLeast } else { Bound::Unknown });
        let path_mtu = self.path_mtu(bound);
        let mut all = self.earlier.clone();
        for (size, tally) in &self.tallies {
            all.entry(*size).or_default().merge(tally);
        }
        let crossing: Vec<SizeProbe> =
            probes(&self.tallies).filter(|probe| Some(probe.size) <= path_mtu).collect();
        Outcome {
            path_mtu,
            bound: if path_mtu.is_some() { bound } else { Bound::Unknown },
            holes: self.holes(),
            changed: self.changed,
            loss: evidence::loss(&crossing),
            size_loss: size_loss(&crossing),
            probes: probes(&all).collect(),
        }
    }

    fn hint(&mut self, sizes: RangeInclusive<u32>) {
        if !self.hints.contains(&sizes) && self.hints.len() < MOST_HINTS {
            self.hints.push(sizes);
        }
    }

    /// The result as far as it can be one of a probe.
    fn sane(&self, result: &SizeProbe) -> Option<SizeProbe> {
        let within = (self.least..=self.most).contains(&result.size) && result.sent > 0;
        let sent = result.sent.min(MOST_COPIES);
        within.then_some(SizeProbe { size: result.size, sent, received: result.received.min(sent) })
    }

    /// Takes a round in which nothing arrived: no size is judged by it.
    fn take_silence(&mut self, results: &[SizeProbe]) {
        for result in results {
            self.tallies.entry(result.size).or_default().add(result, false);
        }
        self.silent += 1;
        if self.weighing.is_some() {
            self.weigh();
        } else if self.silent >= MOST_SILENT {
            self.give_up();
        }
    }

    /// Whether this contradicts the earlier outcomes of the size beyond chance.
    fn contradicts(&self, result: &SizeProbe, control: u32) -> bool {
        let Some(tally) = self.tallies.get(&result.size) else { return false };
        let missed = match (tally.received > 0, result.received > 0) {
            (false, true) => tally.missed,
            (true, false) if result.size > control => tally.missed + result.sent,
            _ => return false,
        };
        self.chance(result.size, missed) < CHANGE
    }

    /// Whether all that one round lost above what it saw arrive cannot be chance, now that such sizes do cross.
    fn risen(&self) -> bool {
        let Some(span) = self.span() else { return false };
        self.observed.iter().any(|round| {
            let top = round.iter().filter(|result| result.received > 0).map(|result| result.size).max();
            let lost = round.iter().filter(|result| Some(result.size) > top && result.size <= span.low);
            let missed = lost.map(|result| result.sent).sum();
            missed > 0 && self.chance(span.low, missed) < CHANGE
        })
    }

    /// Once. A path that changes again has no one MTU.
    fn begin_again(&mut self) {
        if self.changed {
            return self.give_up();
        }
        self.changed = true;
        for (size, tally) in std::mem::take(&mut self.tallies) {
            self.earlier.entry(size).or_default().merge(&tally);
        }
        self.observed.clear();
        self.weighing = None;
        self.rounds = 0;
    }

    /// The answer is known. Goes on only to weigh losses by size, in several rounds so that no queue overflows.
    fn weigh(&mut self) {
        self.weighing = self.weighing.and_then(|left| left.checked_sub(1));
        self.over = self.weighing.is_none().then_some(Bound::Exact);
    }

    /// Whether copies of sizes that cross were lost.
    fn met_losses(&self) -> bool {
        self.tallies.values().any(|tally| tally.received > 0 && tally.received < tally.sent)
    }

    fn give_up(&mut self) {
        self.over = Some(if self.span().is_some() { Bound::AtLeast } else { Bound::Unknown });
    }

    /// Whether the round, sent for that, has shown that this size crosses and one byte more does not; or the largest crossed.
    fn confirmed(&self, before: Option<Span>) -> bool {
        if self.span().is_some_and(|span| span.low == self.most) {
            return true;
        }
        let Some(span) =
            before.filter(|before| before.high == before.low + 1 && self.span() == Some(*before))
        else {
            return false;
        };
        let results = self.observed.last().map(Vec::as_slice).unwrap_or_default();
        let arrived =
            |size| results.iter().find(|result| result.size == size).map(|result| result.received > 0);
        arrived(span.low) == Some(true)
            && arrived(span.high) == Some(false)
            && self.doubts(span).is_empty()
            && self.fails(span.high)
    }

    /// The sizes to send once one has crossed, and the copies of each.
    fn towards(&self, span: Span) -> (Vec<u32>, u32) {
        let control = self.crossing().next().unwrap_or(span.low);
        if self.tallies.get(&span.low).is_some_and(|tally| tally.missed > 0) {
            return (vec![control, span.low], self.copies(span.low, CHANGE));
        }
        let mut sizes = vec![control, span.low];
        let doubts = self.doubts(span);
        sizes.extend(doubts.iter().take(MOST_DOUBTS));
        if span.high > span.low + 1 {
            let room = MOST_SIZES.saturating_sub(sizes.len());
            sizes.extend(self.between(span, room));
            return (sizes, self.copies_while_narrowing());
        }
        if doubts.is_empty() {
            sizes.push(span.high);
        }
        let judged = doubts.first().copied().unwrap_or(span.high);
        (sizes, self.copies(judged, WALL))
    }

    /// The largest size that crosses with none failing below it, and the least above it that has not crossed.
    fn span(&self) -> Option<Span> {
        let wall = self.wall();
        let low = self.crossing().take_while(|size| *size < wall).last()?;
        let untold = self.tallies.iter().find(|(size, tally)| **size > low && tally.received == 0);
        Some(Span { low, high: untold.map_or(self.most + 1, |(size, _)| *size) })
    }

    /// The smallest size that fails.
    fn wall(&self) -> u32 {
        self.tallies.keys().copied().find(|size| self.fails(*size)).unwrap_or(u32::MAX)
    }

    /// The largest size that crosses; in the end only one whose last copies did.
    fn path_mtu(&self, bound: Bound) -> Option<u32> {
        let low = self.span()?.low;
        let sure = |size: &u32| {
            bound == Bound::Exact || self.tallies.get(size).is_some_and(|tally| tally.missed == 0)
        };
        self.crossing().take_while(|size| *size <= low).filter(sure).last()
    }

    /// Sizes below one that crosses that have not crossed, and may have been lost by chance.
    fn doubts(&self, span: Span) -> Vec<u32> {
        let below = self.tallies.range(..span.low).filter(|(_, tally)| tally.received == 0);
        below.map(|(size, _)| *size).collect()
    }

    /// Sizes that crossed, ascending.
    fn crossing(&self) -> impl Iterator<Item = u32> {
        self.tallies.iter().filter(|(_, tally)| tally.received > 0).map(|(size, _)| *size)
    }

    /// Runs of sizes above the first failing one that crossed.
    fn holes(&self) -> Vec<(u32, u32)> {
        let mut holes: Vec<(u32, u32)> = Vec::new();
        let mut open = false;
        for (size, tally) in self.tallies.range(self.wall()..) {
            match holes.last_mut().filter(|_| open) {
                Some(hole) if tally.received > 0 => hole.1 = *size,
                None if tally.received > 0 => holes.push((*size, *size)),
                _ => (),
            }
            open = tally.received > 0;
        }
        holes
    }

    fn packets(&self) -> u32 {
        self.tallies.values().map(|tally| tally.sent).sum()
    }
}

fn probes(tallies: &BTreeMap<u32, Tally>) -> impl Iterator<Item = SizeProbe> {
    tallies.iter().map(|(size, tally)| SizeProbe { size: *size, sent: tally.sent, received: tally.received })
}

/// RFC 791: every host takes datagrams of 576 bytes.
const BASE_IPV4: u32 = 576;
const COPIES: u32 = 3;
const MOST_COPIES: u32 = 16;
/// Copies of each of four sizes in each of the last rounds of a search that met losses.
const WEIGHED: u32 = 12;
const WEIGHINGS: u32 = 4;
const MOST_SIZES: usize = 32;
const MOST_DOUBTS: usize = 8;
const MOST_HINTS: usize = 8;
const MOST_SILENT: u32 = 3;
/// Most rounds for a path that does not change; twice as many for one that does.
const MOST_ROUNDS: u32 = 24;
const MOST_PACKETS: u32 = 1000;
/// A size fails when its losses are less likely than this by chance.
const WALL: f64 = 1e-5;
/// The path changed when what contradicts it is less likely than this by chance.
const CHANGE: f64 = 1e-4;
