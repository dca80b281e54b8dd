//! The figures of one way while they are gathered, in memory that does not grow.

use super::in_flight::{Answer, InFlight};
use super::loaded::PhaseSeries;
use super::raw::RawLog;
use crate::work::throughput::sampler::WORTH_A_WORD;
use model::latency::disturbance::{Farthest, HostWatch, Trip};
use model::latency::{Counted, EgressSample, Outlier};
use model::sample::Silence;
use model::stats::batch_means::{BatchMeans, MeanInterval};
use model::stats::exact::{Exact, Sorted};
use model::stats::histogram::{Distribution, Histogram};
use model::stats::percentile::{Percentile, percentiles};
use model::stats::spread::Dispersion;
use model::stats::steady::{Level, Settled, WarmUp};
use model::time::MonoTime;
use model::units::Nanos;

/// What one way has given so far.
pub(crate) struct Tally {
    started: MonoTime,
    in_flight: InFlight,
    counted: Counted,
    last_number: u64,
    /// Leading time that is not counted, where the user said so.
    fixed_warm_up: Option<Nanos>,
    skipped: u64,
    warm_up: WarmUp,
    kept: Histogram,
    exact: Exact,
    means: BatchMeans,
    /// Round trips from the send call, where they count from another moment.
    service: Option<Histogram>,
    /// Since the last sample.
    recent: Histogram,
    recent_sent: u64,
    recent_lost: u64,
    farthest: Farthest,
    /// When the last reply came that was in time, and its number.
    heard: Option<(MonoTime, u64)>,
    /// The longest time without one in which messages went unanswered.
    silence: Option<Silence>,
    raw: Option<RawLog>,
    /// Beside a load: the figures above are then those of the idle phase.
    phase_series: Option<PhaseSeries>,
}

/// The figures at the end.
pub(crate) struct Totals {
    pub(crate) counted: Counted,
    pub(crate) rtt: Option<Distribution>,
    pub(crate) percentiles: Vec<Percentile>,
    pub(crate) histogram: Histogram,
    pub(crate) service: Option<Histogram>,
    pub(crate) warm_up: Nanos,
    pub(crate) warm_up_count: u64,
    pub(crate) level: Option<Level>,
    pub(crate) mean: Option<MeanInterval>,
    pub(crate) spread: Option<Dispersion>,
    pub(crate) outliers: Vec<Outlier>,
    pub(crate) silence: Option<Silence>,
}

/// How the gathering is set up.
pub(crate) struct Gather {
    /// Time zero of the run.
    pub(crate) started: MonoTime,
    /// Messages on their way at most.
    pub(crate) room: usize,
    /// Number of the last message before, sent for something else.
    pub(crate) last_number: u64,
    /// Leading time not counted; absent: until steady.
    pub(crate) warm_up: Option<Nanos>,
    /// Messages have a due time of their own.
    pub(crate) scheduled: bool,
    /// Where every round trip is written.
    pub(crate) raw: Option<RawLog>,
}

impl Tally {
    pub(crate) fn new(gather: Gather) -> Tally {
        Tally {
            started: gather.started,
            in_flight: InFlight::new(gather.room, gather.last_number),
            counted: Counted::default(),
            last_number: gather.last_number,
            fixed_warm_up: gather.warm_up,
            skipped: 0,
            warm_up: WarmUp::default(),
            kept: Histogram::default(),
            exact: Exact::default(),
            means: BatchMeans::default(),
            service: gather.scheduled.then(Histogram::default),
            recent: Histogram::default(),
            recent_sent: 0,
            recent_lost: 0,
            farthest: Farthest::default(),
            heard: None,
            silence: None,
            raw: gather.raw,
            phase_series: None,
        }
    }

    /// Follows the course of a run beside a load from now on.
    pub(crate) fn follow(&mut self, phase_series: PhaseSeries) {
        self.phase_series = Some(phase_series);
    }

    /// The number of the phase under load at that time, since the start.
    pub(crate) fn loaded(&self, at: Nanos) -> Option<usize> {
        self.phase_series.as_ref()?.loaded(at)
    }

    /// The number of the phase in which the last message went, 0 being idle; `None`: between two.
    pub(crate) fn phase(&self) -> Option<usize> {
        self.phase_series.as_ref().map_or(Some(0), PhaseSeries::last)
    }

    /// The course of the run, which is over. What is counted from now on is not told.
    pub(crate) fn take_course(&mut self) -> Option<PhaseSeries> {
        let phase_series = self.phase_series.take()?;
        self.counted = phase_series.idle(self.counted);
        Some(phase_series)
    }

    /// Messages sent.
    pub(crate) fn sent_so_far(&self) -> u64 {
        self.counted.sent
    }

    /// Messages received that were no replies.
    pub(crate) fn strays(&self) -> u64 {
        self.counted.strays
    }

    /// The number of the next message.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number + 1
    }

    /// The next message is sent.
    pub(crate) fn sent(&mut self, due: MonoTime, sent: MonoTime, wants_reply: bool) {
        self.last_number += 1;
        let lost = self.in_flight.send(self.last_number, due, sent, wants_reply);
        self.lose(lost);
        self.counted.sent += 1;
        self.counted.asked += u64::from(wants_reply);
        self.recent_sent += 1;
        if let Some(phase_series) = &mut self.phase_series {
            phase_series.sent(due.saturating_since(self.started));
        }
    }

    /// A reply came; when its message was sent, if it is the first, in time and counted. `held`: for how long this
    /// host kept the reply, where the kernel told.
    pub(crate) fn reply(&mut self, number: u64, came: MonoTime, held: Option<Nanos>) -> Option<MonoTime> {
        match self.in_flight.answer(number) {
            Answer::InTime { due, sent, reordered } => {
                self.counted.received += 1;
                self.counted.reordered += u64::from(reordered);
                self.hear(number, came);
                let counts = self.round_trip(number, due, sent, came, held);
                counts.then_some(sent)
            }
            Answer::Late => {
                self.counted.late += 1;
                self.counted.lost = self.counted.lost.saturating_sub(1);
                None
            }
            Answer::Ancient => {
                self.counted.late += 1;
                None
            }
            Answer::Duplicate => {
                self.counted.duplicates += 1;
                None
            }
            Answer::Foreign => {
                self.stray();
                None
            }
        }
    }

    /// A reply in time ends a silence, if messages were sent meanwhile that were not answered before it.
    fn hear(&mut self, number: u64, came: MonoTime) {
        let (before, last) = self.heard.unwrap_or((came, number));
        let missing = number.saturating_sub(last.saturating_add(1));
        let length = came.saturating_since(before);
        if missing > 0 && self.silence.is_none_or(|longest| length > longest.length) {
            let at = before.saturating_since(self.started);
            self.silence = Some(Silence { at, length, ended: true, missing: Some(missing) });
        }
        if number >= last {
            self.heard = Some((came, number));
        }
    }

    /// The longest silence, that to the end after `elapsed` included. What came late was not lost.
    fn longest_silence(&self, elapsed: Nanos) -> Option<Silence> {
        let (came, number) = self.heard?;
        let at = came.saturating_since(self.started);
        let missing = Some(self.last_number.saturating_sub(number));
        let last = Silence { at, length: elapsed.saturating_sub(at), ended: false, missing };
        let open = Some(last).filter(|last| last.missing > Some(0));
        let longest = self.silence.into_iter().chain(open).max_by_key(|silence| silence.length)?;
        let missing = longest.missing.map(|missing| missing.min(self.counted.lost));
        (longest.length >= WORTH_A_WORD && missing > Some(0)).then_some(Silence { missing, ..longest })
    }

    /// Something came that is no reply.
    pub(crate) fn stray(&mut self) {
        self.counted.strays += 1;
    }

    /// A message was not sent in time.
    pub(crate) fn behind(&mut self) {
        self.counted.behind += 1;
    }

    /// Gives up what was sent before this time.
    pub(crate) fn expire(&mut self, sent_before: MonoTime) {
        let lost = self.in_flight.expire(sent_before);
        self.lose(lost);
    }

    /// When the oldest message that waits for a reply was sent.
    pub(crate) fn oldest(&mut self) -> Option<MonoTime> {
        self.in_flight.oldest()
    }

    /// The last message was given up, and no reply has come since.
    pub(crate) fn has_given_up_the_last(&mut self) -> bool {
        self.in_flight.has_given_up_the_last()
    }

    /// Any reply so far?
    pub(crate) fn heard(&self) -> bool {
        self.counted.received + self.counted.late > 0
    }

    /// The interval since the last call.
    pub(crate) fn sample(&mut self) -> EgressSample {
        let recent = std::mem::take(&mut self.recent);
        let (sent, lost) = (std::mem::take(&mut self.recent_sent), std::mem::take(&mut self.recent_lost));
        EgressSample { sent, rtt: recent.distribution(), lost }
    }

    /// Longest wait for a reply that is worth it: ten times the 99th percentile of the last interval.
    pub(crate) fn reply_timeout(&self) -> Option<Nanos> {
        self.recent.value_at_quantile(0.99).map(|p99| Nanos(p99.saturating_mul(10)))
    }

    /// The end, after `elapsed`. `watch`: what this host did to the measuring thread, as far as it could see (`watched`).
    pub(crate) fn finish(self, watch: &HostWatch, watched: bool, elapsed: Nanos) -> Totals {
        let silence = self.longest_silence(elapsed);
        let (histogram, warm_up, warm_up_count, spread, level, exact) = match self.fixed_warm_up {
            Some(time) => (self.kept, time, self.skipped, None, None, self.exact.sorted(0)),
            None => {
                let Settled { kept, cut, dropped, dispersion, level } = self.warm_up.finish();
                (kept, cut, dropped, dispersion, Some(level), self.exact.sorted(dropped))
            }
        };
        let rtt = exact.as_ref().map(Sorted::distribution).or_else(|| histogram.distribution());
        let usual = rtt.map(|rtt| rtt.p50).unwrap_or_default();
        let spread = exact.as_ref().map(Sorted::dispersion).or(spread);
        let farthest = self.farthest.since(warm_up);
        let outliers = farthest.iter().map(|trip| watch.attribute(trip, usual, watched)).collect();
        Totals {
            counted: self.counted,
            service: self.service,
            mean: self.means.interval(warm_up_count, LEVEL),
            warm_up,
            warm_up_count,
            level,
            outliers,
            silence,
            spread: spread.or_else(|| Dispersion::from_histogram(&histogram)),
            percentiles: match exact {
                Some(exact) => exact.percentiles(&PERCENTS),
                None => percentiles(&histogram, &PERCENTS),
            },
            rtt,
            histogram,
        }
    }

    fn lose(&mut self, lost: u64) {
        self.counted.lost += lost;
        self.recent_lost += lost;
    }

    /// Says whether it is one of those that the figures are made of.
    fn round_trip(
        &mut self,
        number: u64,
        due: MonoTime,
        sent: MonoTime,
        came: MonoTime,
        held: Option<Nanos>,
    ) -> bool {
        let rtt = came.saturating_since(due);
        let at = due.saturating_since(self.started);
        self.recent.record(rtt.0);
        if let Some(raw) = &mut self.raw {
            raw.round_trip(number, at, sent.saturating_since(due), rtt);
        }
        if let Some(phase_series) = &mut self.phase_series {
            phase_series.answered(at, rtt);
            if !phase_series.was_idle(at) {
                return false;
            }
        }
        self.means.record(rtt.0 as f64);
        match self.fixed_warm_up {
            Some(time) if at < time => self.skipped += 1,
            Some(_) => {
                self.kept.record(rtt.0);
                self.exact.record(rtt.0);
            }
            None => {
                self.warm_up.record(at, rtt.0);
                self.exact.record(rtt.0);
            }
        }
        if let Some(service) = &mut self.service {
            service.record(came.saturating_since(sent).0);
        }
        self.farthest.record(Trip { at, rtt, in_host: held });
        true
    }
}

/// The percentiles told, as far as the count carries them.
const PERCENTS: [f64; 9] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];
/// Of the confidence interval of the mean.
const LEVEL: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime(0) + Nanos::from_millis(millis)
    }

    /// A message every 100 ms, answered at once where `answered` says so, and given up after 50 ms.
    fn silence(count: u64, answered: fn(u64) -> bool) -> Option<Silence> {
        let gather =
            Gather { started: at(0), room: 8, last_number: 0, warm_up: None, scheduled: false, raw: None };
        let mut tally = Tally::new(gather);
        for number in 1..=count {
            let now = at(number * 100);
            tally.sent(now, now, true);
            if answered(number) {
                tally.reply(number, at(number * 100 + 1), None);
            }
            tally.expire(at(number * 100 + 50));
        }
        tally.longest_silence(Nanos::from_millis(count * 100 + 100))
    }

    #[test]
    fn the_longest_silence_is_from_reply_to_reply_or_to_the_end() {
        let found = silence(50, |number| !(11..=20).contains(&number) && number != 30).unwrap();
        let (from, length) = (Nanos::from_millis(1_001), Nanos::from_millis(1_100));
        assert_eq!(found, Silence { at: from, length, ended: true, missing: Some(10) });
        let open = silence(50, |number| number <= 40).unwrap();
        assert_eq!((open.ended, open.missing, open.length), (false, Some(10), Nanos::from_millis(1_099)));
    }

    #[test]
    fn single_losses_and_replies_that_never_came_are_none() {
        assert_eq!(silence(50, |number| number % 4 > 0), None, "too short to be worth a word");
        assert_eq!(silence(50, |_| true), None);
        assert_eq!(silence(50, |_| false), None, "of a way that never answered another finding tells");
    }
}
