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
    /// The counts so far, except for the range of numbers, which is from `start` to `next`.
    counts: SequenceCounts,
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
            counts: SequenceCounts::default(),
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
        self.counts.late += u64::from(count) - (end - first);
        if first < self.next {
            self.record_old(first, end.min(self.next));
        }
        let mut from = first.max(self.next);
        while from < end {
            let until = end.min(from + self.window().min(end - from));
            self.skip_to(from);
            self.advance::<true>(until);
            self.counts.received += until - from;
            from = until;
        }
    }

    /// Different numbers received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.counts.received
    }

    /// The highest number received; `None` before the first.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        (self.next > self.start).then(|| self.next - 1)
    }

    /// Numbers from the start to `last`, the last one sent, that never arrived; a late arrival does not count as received.
    ///
    /// The account is exact unless the sender reports a number more than a window below the highest received.
    #[must_use]
    pub fn lost(&self, last: Option<u64>) -> u64 {
        let sent_end = last.map_or(self.start, |last| last.saturating_add(1)).max(self.start);
        let sent = sent_end - self.start;
        let beyond = self.set_bits(sent_end.max(self.window_start()), self.next);
        sent - (self.counts.received - beyond).min(sent)
    }

    /// The counts so far.
    #[must_use]
    pub fn snapshot(&self) -> SequenceCounts {
        SequenceCounts { expected: self.next - self.start, ..self.counts }
    }

    /// Counts numbers below the highest received.
    fn record_old(&mut self, first: u64, end: u64) {
        let from = first.max(self.window_start());
        self.counts.late += end.min(from) - first;
        for span in self.spans(from, end) {
            let word = &mut self.words[span.word];
            let new = span.mask & !*word;
            *word |= span.mask;
            self.counts.duplicates += u64::from((span.mask & !new).count_ones());
            if new != 0 {
                let count = u64::from(new.count_ones());
                self.counts.received += count;
                self.counts.reordered += count;
                let lowest = span.first_number + u64::from(new.trailing_zeros() - span.mask.trailing_zeros());
                self.counts.reorder_distance = self.counts.reorder_distance.max(self.next - 1 - lowest);
            }
        }
    }

    /// Makes `number` the next one, with all numbers before it not received so far.
    fn skip_to(&mut self, number: u64) {
        // After a jump of more than a window, all of the window is missing.
        self.advance::<false>(self.next + self.window().min(number - self.next));
        self.next = number;
    }

    /// Moves the upper edge to `end`, at most a window further, with the new numbers `RECEIVED` or not.
    #[inline]
    fn advance<const RECEIVED: bool>(&mut self, end: u64) {
        for span in self.spans(self.next, end) {
            let word = &mut self.words[span.word];
            if RECEIVED {
                *word |= span.mask;
            } else {
                *word &= !span.mask;
            }
        }
        self.next = end;
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

#[cfg(test)]
mod tests;
