//! The longest time in which packets in a row have no reply, from replies as they come.

use model::sample::Silence;
use model::units::Nanos;

/// The replies so far.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Replies {
    /// Those with the lowest and with the highest number.
    ends: Option<(Answer, Answer)>,
    /// Packets in a row without a reply, of which one may still come late.
    recent: Vec<Gap>,
    /// The longest of those before.
    longest: Option<Gap>,
}

/// A reply: the number of its packet, and when that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Answer {
    pub(in super::super) sequence: u64,
    pub(in super::super) at: Nanos,
}

/// Replies between whose packets others have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    before: Answer,
    behind: Answer,
}

/// The packets of an output.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Packets {
    /// The highest number that is known of, where no summary counts them.
    pub(in super::super) highest: u64,
    pub(in super::super) transmitted: Option<u64>,
    /// The first packet is known to be the first of the output.
    pub(in super::super) headed: bool,
}

impl Replies {
    pub(in super::super) fn push(&mut self, answer: Answer) {
        let Some((first, last)) = self.ends else {
            self.ends = Some((answer, answer));
            return;
        };
        let gap = |before, behind| Gap { before, behind };
        let (low, high) = (first.sequence, last.sequence);
        if answer.sequence > high {
            self.ends = Some((first, answer));
            self.add([gap(last, answer)]);
        } else if answer.sequence < low {
            self.ends = Some((answer, last));
            self.add([gap(answer, first)]);
        } else if let Some(place) = self.recent.iter().rposition(|gap| gap.holds(answer.sequence)) {
            let Gap { before, behind } = self.recent.remove(place);
            self.add([gap(before, answer), gap(answer, behind)]);
        }
    }

    fn add<const N: usize>(&mut self, gaps: [Gap; N]) {
        self.recent.extend(gaps.into_iter().filter(|gap| gap.missing() > 0));
        if self.recent.len() > MOST_RECENT {
            let old = self.recent.drain(..MOST_RECENT / 2);
            self.longest = self.longest.into_iter().chain(old).max_by_key(|gap| gap.silence(&|at| at).length);
        }
    }

    /// The longest silence; `time` is the time that is meant by one of the replies'.
    pub(in super::super) fn silence(
        &self,
        packets: Packets,
        time: impl Fn(Nanos) -> Nanos,
    ) -> Option<Silence> {
        let (first, last) = self.ends.map(|(first, last)| {
            let timed = |answer: Answer| Answer { at: time(answer.at), ..answer };
            (timed(first), timed(last))
        })?;
        let time_between = last.at.saturating_sub(first.at).0;
        let interval = time_between.checked_div(last.sequence - first.sequence).unwrap_or(SECOND.0);
        let base = first.sequence.min(1);
        let silence = |at: Nanos, missing: u64, ended: bool| {
            let length = Nanos(missing.saturating_mul(interval));
            (missing > 0).then_some(Silence { at, length, ended, missing: Some(missing) })
        };
        let all = packets
            .transmitted
            .map_or(packets.highest, |sent| packets.highest.max(sent.saturating_add(base).saturating_sub(1)));
        let tail = silence(last.at + Nanos(interval), all.saturating_sub(last.sequence), false);
        let head = silence(Nanos::ZERO, first.sequence - base, true).filter(|_| packets.headed);
        let between = self.longest.iter().chain(&self.recent).map(|gap| gap.silence(&time));
        between.chain(tail).chain(head).max_by_key(|silence| silence.length)
    }
}

impl Gap {
    fn holds(&self, sequence: u64) -> bool {
        (self.before.sequence + 1..self.behind.sequence).contains(&sequence)
    }

    fn missing(&self) -> u64 {
        self.behind.sequence - self.before.sequence - 1
    }

    fn silence(&self, time: &impl Fn(Nanos) -> Nanos) -> Silence {
        let (before, behind, missing) = (time(self.before.at), time(self.behind.at), self.missing());
        let at = before + Nanos(behind.saturating_sub(before).0 / (missing + 1));
        Silence { at, length: behind.saturating_sub(at), ended: true, missing: Some(missing) }
    }
}

/// The time that ping waits between packets, by default.
pub(in super::super) const SECOND: Nanos = Nanos::from_secs(1);
/// Replies later than so many gaps are not waited for.
const MOST_RECENT: usize = 4096;
