//! Round trips and losses moment by moment and phase by phase, each at the time its message was due.

use super::current_phase::{CurrentPhase, Now};
use model::latency::Counted;
use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;
use model::units::Nanos;
use std::collections::VecDeque;

/// The series of a run. A moment is closed when no reply can come any more that was not given up before.
#[derive(Debug)]
pub(crate) struct PhaseSeries {
    current_phase: CurrentPhase,
    width: Nanos,
    reply_timeout: Nanos,
    /// The beginning of each phase, in order.
    turns: Vec<(Nanos, Now)>,
    /// Without a gap, oldest first.
    open: VecDeque<Open>,
    next: u64,
    moments: Vec<Moment>,
    phases: Vec<Counts>,
}

#[derive(Debug, Default)]
struct Open {
    sent: u64,
    rtt: Histogram,
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Since the start of the run.
    pub(crate) begin: Nanos,
    /// Likewise.
    pub(crate) end: Nanos,
    /// In its middle.
    pub(crate) now: Now,
    pub(crate) rtt: Option<Distribution>,
    pub(crate) lost: u64,
}

/// The counted part of one phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) rtt: Histogram,
}

impl Counts {
    /// Replies that did not come in time.
    pub(crate) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.rtt.count())
    }
}

impl PhaseSeries {
    /// Moments of `width`; a reply that has not come after `reply_timeout` is lost.
    pub(crate) fn new(current_phase: CurrentPhase, width: Nanos, reply_timeout: Nanos) -> PhaseSeries {
        let (turns, open, moments, phases) = (Vec::new(), VecDeque::new(), Vec::new(), Vec::new());
        PhaseSeries { current_phase, width, reply_timeout, turns, open, next: 0, moments, phases }
    }

    /// A message that was due at `at` goes.
    pub(crate) fn sent(&mut self, at: Nanos) {
        let now = self.current_phase.get();
        if self.turns.last().is_none_or(|turn| turn.1 != now) {
            self.turns.push((at, now));
        }
        let moment = at.0 / self.width.0;
        while self.next + self.open.len() as u64 <= moment {
            self.open.push_back(Open::default());
        }
        while self.open.len() > 1 && self.end(self.next) + self.reply_timeout < at {
            self.close();
        }
        if let Some(open) = self.opened(at) {
            open.sent += 1;
        }
        if let Some(counts) = self.counts(at) {
            counts.sent += 1;
        }
    }

    /// The reply to the message that was due at `at` came in time.
    pub(crate) fn answered(&mut self, at: Nanos, rtt: Nanos) {
        if let Some(open) = self.opened(at) {
            open.rtt.record(rtt.0);
        }
        if let Some(counts) = self.counts(at) {
            counts.rtt.record(rtt.0);
        }
    }

    /// The number of the phase under load at that time.
    pub(crate) fn loaded(&self, at: Nanos) -> Option<usize> {
        match self.at(at) {
            Now::Phase { index: index @ 1.., .. } => Some(index),
            _ => None,
        }
    }

    /// The number of the phase in which the last message went; `None`: between two.
    pub(crate) fn last(&self) -> Option<usize> {
        match self.turns.last() {
            None => Some(0),
            Some((_, Now::Phase { index, .. })) => Some(*index),
            Some((_, Now::Between)) => None,
        }
    }

    /// Was there no load yet?
    pub(crate) fn was_idle(&self, at: Nanos) -> bool {
        matches!(self.at(at), Now::Phase { index: 0, .. })
    }

    /// The counters of the idle phase instead of the whole run's.
    pub(crate) fn idle(&self, whole: Counted) -> Counted {
        let Some(idle) = self.phases.first() else { return whole };
        let received = idle.rtt.count();
        Counted { sent: idle.sent, asked: idle.sent, received, lost: idle.lost(), ..whole }
    }

    /// Every moment, and every phase that has begun, the idle one first.
    pub(crate) fn finish(mut self) -> (Vec<Moment>, Vec<Counts>) {
        while !self.open.is_empty() {
            self.close();
        }
        (self.moments, self.phases)
    }

    fn end(&self, moment: u64) -> Nanos {
        self.width.saturating_mul(moment + 1)
    }

    fn at(&self, at: Nanos) -> Now {
        self.turns.iter().rev().find(|turn| turn.0 <= at).map(|turn| turn.1).unwrap_or_default()
    }

    fn opened(&mut self, at: Nanos) -> Option<&mut Open> {
        let place = (at.0 / self.width.0).checked_sub(self.next)?;
        self.open.get_mut(usize::try_from(place).ok()?)
    }

    fn counts(&mut self, at: Nanos) -> Option<&mut Counts> {
        let Now::Phase { index, counted: true } = self.at(at) else { return None };
        if self.phases.len() <= index {
            self.phases.resize_with(index + 1, Counts::default);
        }
        self.phases.get_mut(index)
    }

    fn close(&mut self) {
        let Some(open) = self.open.pop_front() else { return };
        let (begin, end) = (self.width.saturating_mul(self.next), self.end(self.next));
        self.moments.push(Moment {
            begin,
            end,
            now: self.at(Nanos(begin.0.midpoint(end.0))),
            rtt: open.rtt.distribution(),
            lost: open.sent.saturating_sub(open.rtt.count()),
        });
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(time: u64) -> Nanos {
        Nanos(time * MS)
    }

    fn phase(index: usize, counted: bool) -> Now {
        Now::Phase { index, counted }
    }

    #[test]
    fn a_round_trip_belongs_to_the_moment_and_phase_in_which_it_began() {
        let current_phase = CurrentPhase::default();
        let mut phase_series = PhaseSeries::new(current_phase.clone(), ms(100), ms(1000));
        let stages =
            [(0, phase(0, true)), (200, Now::Between), (300, phase(1, false)), (400, phase(1, true))];
        assert_eq!(phase_series.last(), Some(0), "it begins idle");
        for at in (0..600).step_by(10) {
            let now = stages.iter().rev().find(|(from, _)| *from <= at).unwrap().1;
            current_phase.set(now);
            phase_series.sent(ms(at));
            let last = if at < 200 { Some(0) } else { Some(1).filter(|_| at >= 300) };
            assert_eq!(phase_series.last(), last, "{at}");
        }
        current_phase.set(Now::Between);
        // The first of the load's messages is lost; replies come after everything has ended.
        (0..600)
            .step_by(10)
            .filter(|at| *at != 400)
            .for_each(|at| phase_series.answered(ms(at), ms(1 + at / 100)));
        let before = Counted { sent: 60, late: 1, ..Counted::default() };
        let idle = phase_series.idle(before);
        assert_eq!((idle.sent, idle.received, idle.lost, idle.late), (20, 20, 0, 1));
        let loaded = [199, 250, 350, 450].map(|at| phase_series.loaded(ms(at)));
        assert_eq!(loaded, [None, None, Some(1), Some(1)]);
        assert!(
            phase_series.was_idle(ms(190))
                && !phase_series.was_idle(ms(200))
                && !phase_series.was_idle(ms(400))
        );
        let (moments, phases) = phase_series.finish();
        let ends: Vec<u64> = moments.iter().map(|moment| moment.end.0 / MS).collect();
        assert_eq!(ends, [100, 200, 300, 400, 500, 600]);
        assert_eq!(moments[2].now, Now::Between);
        assert_eq!((moments[4].now, moments[4].lost), (phase(1, true), 1));
        assert_eq!(moments[4].rtt.unwrap().count, 9);
        assert_eq!(moments[4].rtt.unwrap().max, ms(5));
        assert_eq!((phases[0].sent, phases[0].lost()), (20, 0));
        assert_eq!((phases[1].sent, phases[1].lost(), phases[1].rtt.count()), (20, 1, 19));
    }

    #[test]
    fn moments_close_as_time_goes_and_none_is_missing() {
        let current_phase = CurrentPhase::default();
        current_phase.set(phase(0, true));
        let mut phase_series = PhaseSeries::new(current_phase, ms(100), ms(200));
        phase_series.sent(ms(0));
        phase_series.answered(ms(0), ms(1));
        phase_series.sent(ms(1050));
        assert_eq!(phase_series.open.len(), 3, "those whose replies may still come");
        phase_series.answered(ms(50), ms(999));
        assert_eq!(phase_series.phases[0].rtt.count(), 2, "a late one counts for its phase all the same");
        let (moments, _) = phase_series.finish();
        assert_eq!(moments.len(), 11);
        assert_eq!(moments[0].rtt.map(|rtt| rtt.count), Some(1));
        assert!(moments[1..10].iter().all(|moment| moment.rtt.is_none() && moment.lost == 0));
        assert_eq!(moments[10].lost, 1);
    }
}
