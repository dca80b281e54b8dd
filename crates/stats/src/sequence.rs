//! Exact accounting of numbered datagrams: lost, late, duplicated, reordered, by a window of bits.
//!
//! Every number from the expected start on has one bit in a ring of the last `window` numbers below the highest received. A
//! number received twice in the window is a duplicate, one that arrives first after a higher number is reordered (RFC 4737
//! section 3.3), one that has left the window can be either and is counted separately as late. Lost are the numbers that were
//! sent and never counted as received: never a guess from gaps, so duplicates cannot hide a loss.

use serde::{Deserialize, Serialize};

/// The tracker of one flow at its receiver. The hot path is [`SequenceTracker::record_run`].
#[derive(Clone, Debug)]
pub struct SequenceTracker {
    /// The bit of number `n` is at `n % window`; it stands for the highest such number below `next`.
    words: Vec<u64>,
    start: u64,
    /// One above the highest number received.
    next: u64,
    received: u64,
    duplicates: u64,
    reordered: u64,
    late: u64,
    reorder_distance: u64,
    /// Loss bursts among the numbers that have left the window.
    bursts: Bursts,
}

/// The counts while datagrams still arrive. All fields only grow, so two snapshots give an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceCounts {
    /// The range of numbers so far: the highest received less the start, plus one.
    pub expected: u64,
    /// Different numbers received.
    pub received: u64,
    /// Arrivals of a number that had arrived before.
    pub duplicates: u64,
    /// First arrivals after a higher number (RFC 4737).
    pub reordered: u64,
    /// Arrivals from before the window or before the start, which may be new or duplicate.
    pub late: u64,
    /// The most by which a reordered number was behind the highest received.
    pub reorder_distance: u64,
}

/// The counts once the sender has reported how far it got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceTotals {
    /// Numbers the sender used.
    pub sent: u64,
    /// Different numbers received of those sent.
    pub received: u64,
    /// Numbers sent and not received; a late arrival does not count as received.
    pub lost: u64,
    /// Arrivals of a number that had arrived before.
    pub duplicates: u64,
    /// First arrivals after a higher number (RFC 4737).
    pub reordered: u64,
    /// Arrivals from before the window or before the start.
    pub late: u64,
    /// Different numbers received above the last one that the sender reports: its count is wrong.
    pub beyond: u64,
    /// The most by which a reordered number was behind the highest received.
    pub reorder_distance: u64,
    /// Unbroken series of lost numbers.
    pub loss_bursts: u64,
    /// The longest of them.
    pub longest_loss_burst: u64,
}

impl SequenceTracker {
    /// Numbers a tracker remembers by default: 2^20, in 128 KiB.
    pub const DEFAULT_WINDOW: u32 = 1 << 20;

    /// A tracker that expects `start` first and remembers `window` numbers, rounded up to a power of two from 64 to 2^31.
    #[must_use]
    pub fn new(start: u64, window: u32) -> SequenceTracker {
        let bits = window.clamp(64, 1 << 31).next_power_of_two();
        SequenceTracker {
            // Set bits represent the numbers below the start: they are not missing.
            words: vec![u64::MAX; bits as usize / 64],
            start,
            next: start,
            received: 0,
            duplicates: 0,
            reordered: 0,
            late: 0,
            reorder_distance: 0,
            bursts: Bursts::default(),
        }
    }

    /// Counts one datagram.
    pub fn record(&mut self, sequence: u64) {
        self.record_run(sequence, 1);
    }

    /// Counts `count` datagrams with the numbers from `first` on, as a GSO buffer carries them.
    ///
    /// The work is proportional to the numbers that fit the window, however far `first` jumps. The number `u64::MAX`, and any
    /// that would follow it, counts as late.
    #[inline]
    pub fn record_run(&mut self, first: u64, count: u32) {
        let end = first.saturating_add(u64::from(count));
        self.late += u64::from(count) - (end - first);
        if first < self.next {
            self.record_old(first, end.min(self.next));
        }
        let mut from = first.max(self.next);
        while from < end {
            let until = end.min(from + self.window().min(end - from));
            self.skip_to(from);
            self.advance::<true>(until);
            self.received += until - from;
            from = until;
        }
    }

    /// Different numbers received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The highest number received; `None` before the first.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        (self.next > self.start).then(|| self.next - 1)
    }

    /// Numbers from the start to `last` that never arrived: [`SequenceTotals::lost`] alone, cheap enough for every interval.
    #[must_use]
    pub fn lost(&self, last: Option<u64>) -> u64 {
        let (sent, received, _) = self.account(sent_end(self.start, last));
        sent - received
    }

    /// The counts so far.
    #[must_use]
    pub fn snapshot(&self) -> SequenceCounts {
        SequenceCounts {
            expected: self.next - self.start,
            received: self.received,
            duplicates: self.duplicates,
            reordered: self.reordered,
            late: self.late,
            reorder_distance: self.reorder_distance,
        }
    }

    /// The final account, when `last` is the last number sent; `None` when nothing was.
    ///
    /// The account is exact unless the sender reports a number more than a window below the highest received.
    #[must_use]
    pub fn totals(&self, last: Option<u64>) -> SequenceTotals {
        let sent_end = sent_end(self.start, last);
        let (sent, received, beyond) = self.account(sent_end);
        let bursts = self.all_bursts(sent_end);
        SequenceTotals {
            sent,
            received,
            lost: sent - received,
            duplicates: self.duplicates,
            reordered: self.reordered,
            late: self.late,
            beyond,
            reorder_distance: self.reorder_distance,
            loss_bursts: bursts.count,
            longest_loss_burst: bursts.longest,
        }
    }

    /// Numbers sent, received of those, and received beyond them.
    fn account(&self, sent_end: u64) -> (u64, u64, u64) {
        let sent = sent_end - self.start;
        let beyond = self.set_bits(sent_end.max(self.window_start()), self.next);
        (sent, (self.received - beyond).min(sent), beyond)
    }

    /// Counts numbers below the highest received.
    fn record_old(&mut self, first: u64, end: u64) {
        let from = first.max(self.window_start());
        self.late += end.min(from) - first;
        for span in self.spans(from, end) {
            let word = &mut self.words[span.word];
            let new = span.mask & !*word;
            *word |= span.mask;
            self.duplicates += u64::from((span.mask & !new).count_ones());
            if new != 0 {
                let count = u64::from(new.count_ones());
                self.received += count;
                self.reordered += count;
                let lowest = span.first_number + u64::from(new.trailing_zeros() - span.mask.trailing_zeros());
                self.reorder_distance = self.reorder_distance.max(self.next - 1 - lowest);
            }
        }
    }

    /// Makes `number` the next one, with all numbers before it not received so far.
    fn skip_to(&mut self, number: u64) {
        if number - self.next <= self.window() {
            return self.advance::<false>(number);
        }
        let passed = number - self.next - self.window();
        self.advance::<false>(self.next + self.window());
        // The remaining window is missing throughout, as are the numbers jumped over.
        self.bursts.missing(passed);
        self.next = number;
    }

    /// Moves the upper edge to `end`, at most a window further, with the new numbers `RECEIVED` or not.
    #[inline]
    fn advance<const RECEIVED: bool>(&mut self, end: u64) {
        for span in self.spans(self.next, end) {
            let word = &mut self.words[span.word];
            self.bursts.leave(!*word & span.mask, span.mask);
            if RECEIVED {
                *word |= span.mask;
            } else {
                *word &= !span.mask;
            }
        }
        self.next = end;
    }

    fn all_bursts(&self, sent_end: u64) -> Bursts {
        let mut bursts = self.bursts;
        let from = self.next.saturating_sub(self.window());
        let until = self.next.min(sent_end);
        // Bits of numbers below zero or below the start are set, so they only end a burst.
        for span in self.spans(from, until.max(from)) {
            bursts.leave(!self.words[span.word] & span.mask, span.mask);
        }
        bursts.missing(sent_end.saturating_sub(self.next));
        bursts
    }

    fn set_bits(&self, from: u64, end: u64) -> u64 {
        let spans = self.spans(from, end.max(from));
        spans.map(|span| u64::from((self.words[span.word] & span.mask).count_ones())).sum()
    }

    fn window(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn window_start(&self) -> u64 {
        self.next.saturating_sub(self.window()).max(self.start)
    }

    /// The words that hold the numbers `from..end`, at most a window of them.
    #[inline]
    fn spans(&self, from: u64, end: u64) -> Spans {
        Spans { from, end, words: self.words.len() }
    }
}

fn sent_end(start: u64, last: Option<u64>) -> u64 {
    last.map_or(start, |last| last.saturating_add(1)).max(start)
}

/// A part of a word.
struct Span {
    word: usize,
    mask: u64,
    first_number: u64,
}

struct Spans {
    from: u64,
    end: u64,
    words: usize,
}

impl Iterator for Spans {
    type Item = Span;

    #[inline]
    fn next(&mut self) -> Option<Span> {
        if self.from >= self.end {
            return None;
        }
        let first_number = self.from;
        let shift = first_number % 64;
        let length = (64 - shift).min(self.end - first_number);
        self.from += length;
        let word = (first_number / 64) as usize & (self.words - 1);
        Some(Span { word, mask: (u64::MAX >> (64 - length)) << shift, first_number })
    }
}

/// Series of missing numbers, passed in ascending order.
#[derive(Clone, Copy, Debug, Default)]
struct Bursts {
    count: u64,
    longest: u64,
    /// The length of the series that the last number belonged to.
    open: u64,
}

impl Bursts {
    /// Takes the numbers of `mask`, of which those of `missing` never arrived.
    #[inline]
    fn leave(&mut self, missing: u64, mask: u64) {
        if missing == 0 {
            self.open = 0;
        } else {
            self.leave_with_missing(missing, mask);
        }
    }

    #[cold]
    fn leave_with_missing(&mut self, missing: u64, mask: u64) {
        let mut left = mask.count_ones();
        let mut bits = missing >> mask.trailing_zeros();
        while left > 0 {
            let lost = bits.trailing_ones().min(left);
            self.missing(lost.into());
            left -= lost;
            bits = bits.checked_shr(lost).unwrap_or(0);
            let present = bits.trailing_zeros().min(left);
            if present > 0 {
                self.open = 0;
            }
            left -= present;
            bits = bits.checked_shr(present).unwrap_or(0);
        }
    }

    fn missing(&mut self, length: u64) {
        if length > 0 {
            self.count += u64::from(self.open == 0);
            self.open += length;
            self.longest = self.longest.max(self.open);
        }
    }
}

#[cfg(test)]
mod tests;
