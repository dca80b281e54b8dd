//! Messages in a row that no reply came to: when the gap began, how long it was, how many messages it took.

use super::in_flight::Flight;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;

/// The gaps of a run, as its replies come. A reply that comes later closes its part of a gap again.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// By the place of the first message among those that wanted a reply.
    open: BTreeMap<u64, Gap>,
    /// Highest place answered.
    highest: u64,
}

/// Messages in a row without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// How many.
    pub(crate) missing: u64,
    /// When the first of them was due.
    pub(crate) begin: MonoTime,
    /// When the next message was due that was answered.
    pub(crate) end: MonoTime,
}

impl Gap {
    /// From the first message lost to the first one answered.
    pub(crate) fn length(&self) -> Nanos {
        self.end.saturating_since(self.begin)
    }
}

impl Gaps {
    /// The first reply to this message. `missed`: the first message after the last one answered, where one was passed over.
    pub(crate) fn answered(&mut self, flight: &Flight, missed: Option<MonoTime>) {
        let place = flight.place;
        if place > self.highest {
            if place > self.highest + 1 {
                let gap = Gap {
                    missing: place - self.highest - 1,
                    begin: missed.unwrap_or(flight.due).min(flight.due),
                    end: flight.due,
                };
                self.open.insert(self.highest + 1, gap);
                self.bound();
            }
            self.highest = place;
            return;
        }
        let Some((&first, &gap)) = self.open.range(..=place).next_back() else { return };
        let end = first + gap.missing;
        if place >= end {
            return;
        }
        self.open.remove(&first);
        if place > first {
            self.open.insert(first, Gap { missing: place - first, end: flight.due, ..gap });
        }
        if place + 1 < end {
            self.open.insert(place + 1, Gap { missing: end - place - 1, begin: flight.due, ..gap });
        }
    }

    /// The place after the last one answered.
    pub(crate) fn next(&self) -> u64 {
        self.highest + 1
    }

    /// The gaps of at least so many messages and so long, in order.
    pub(crate) fn worth(&self, least: u64, shortest: Nanos) -> Vec<Gap> {
        self.open.values().filter(|gap| gap.missing >= least && gap.length() >= shortest).copied().collect()
    }

    /// Lets the smallest go where there are too many.
    fn bound(&mut self) {
        if self.open.len() > MOST {
            let mut sizes: Vec<u64> = self.open.values().map(|gap| gap.missing).collect();
            let (_, middle, _) = sizes.select_nth_unstable(MOST / 2);
            let limit = *middle;
            // A late reply to one of these finds nothing to close, and closes nothing.
            self.open.retain(|_, gap| gap.missing > limit);
        }
    }
}

const MOST: usize = 8192;
