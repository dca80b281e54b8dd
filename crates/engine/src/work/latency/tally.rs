//! The figures of one way while they are gathered, in memory that does not grow.

use super::gaps::{Gap, Gaps};
use super::in_flight::{Answer, Flight, InFlight};
use super::loaded::PhaseSeries;
use super::raw::RawLog;
use model::latency::disturbance::{Farthest, HostWatch, Trip};
use model::latency::{Counted, EgressSample, Outlier};
use model::sample::Silence;
use model::stats::batch_means::{BatchMeans, MeanInterval};
use model::stats::distribution::Distribution;
use model::stats::exact::{Exact, Sorted};
use model::stats::histogram::Histogram;
use model::stats::percentile::{Percentile, Standing, percentiles};
use model::stats::shift::{LevelShift, ShiftMeter};
use model::stats::spread::Dispersion;
use model::stats::steady::{Level, Settled, WarmUp};
use model::time::MonoTime;
use model::units::Nanos;

/// The figures of one egress path so far.
#[derive(Default)]
pub(crate) struct Tally {
    started: MonoTime,
    in_flight: InFlight,
    /// Messages so far.
    pub(crate) counted: Counted,
    last_number: u64,
    /// Leading time that is not counted, where the user asked for that.
    fixed_warm_up: Option<Nanos>,
    skipped: u64,
    warm_up: WarmUp,
    kept: Histogram,
    exact: Exact,
    means: BatchMeans,
    shifts: ShiftMeter,
    /// Round trips from the send call, where they count from another moment.
    service: Option<Histogram>,
    /// Since the last sample.
    recent: Histogram,
    /// Likewise, from the send call.
    recent_service: Histogram,
    recent_sent: u64,
    recent_lost: u64,
    farthest: Farthest,
    gaps: Gaps,
    /// Highest number answered.
    highest: u64,
    /// The longest round trip from the send call, also of those that are not counted.
    longest: Nanos,
    /// The usual round trip from the send call, followed as it changes.
    usual: Nanos,
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
    pub(crate) shifts: Vec<LevelShift>,
    pub(crate) mean: Option<MeanInterval>,
    pub(crate) spread: Option<Dispersion>,
    pub(crate) outliers: Vec<Outlier>,
    pub(crate) outages: Vec<Silence>,
}

/// How the gathering is set up.
#[derive(Default)]
pub(crate) struct Gather {
    /// Time zero of the run.
    pub(crate) started: MonoTime,
    /// Messages in flight at most, as a rule.
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
            last_number: gather.last_number,
            fixed_warm_up: gather.warm_up,
            service: gather.scheduled.then(Histogram::default),
            highest: gather.last_number,
            raw: gather.raw,
            ..Tally::default()
        }
    }

    /// Keeps the series of a run beside a load from now on.
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

    /// The series of the run, which is over. Later replies are not part of it.
    pub(crate) fn take_phase_series(&mut self) -> Option<PhaseSeries> {
        let phase_series = self.phase_series.take()?;
        self.counted = phase_series.idle(self.counted);
        Some(phase_series)
    }

    /// Numbers up to this one were used for something else.
    pub(crate) fn skip_numbers(&mut self, last: u64) {
        self.last_number = self.last_number.max(last);
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

    /// A reply came; when its message was sent, if it is the first and counted. `held`: for how long this host kept the
    /// reply, where the kernel reported it.
    pub(crate) fn reply(&mut self, number: u64, came: MonoTime, held: Option<Nanos>) -> Received {
        match self.in_flight.answer(number) {
            Answer::First { flight, reordered, given_up } => {
                self.counted.received += 1;
                self.counted.reordered += u64::from(reordered);
                self.counted.lost -= u64::from(given_up).min(self.counted.lost);
                self.hear(&flight);
                let counts = self.round_trip(&flight, came, held);
                Received::First(counts.then_some(flight.sent))
            }
            Answer::Ancient => {
                self.counted.late += 1;
                Received::Other
            }
            Answer::Duplicate => {
                self.counted.duplicates += 1;
                Received::Again
            }
            Answer::Foreign => {
                self.stray();
                Received::Other
            }
        }
    }

    /// A reply ends a gap, or closes a part of one.
    fn hear(&mut self, flight: &Flight) {
        let passed_over = flight.place > self.gaps.next();
        let missed = passed_over.then(|| self.in_flight.unanswered_from(self.highest + 1)).flatten();
        self.gaps.answered(flight, missed.map(|missed| missed.due));
        self.highest = self.highest.max(flight.number);
    }

    /// Times in which so many messages in a row were lost that it is worth a word, that to the end after `elapsed` included.
    fn outages(&self, elapsed: Nanos) -> Vec<Silence> {
        let since = |at: MonoTime| at.saturating_since(self.started);
        let silence = |gap: &Gap| Silence {
            at: since(gap.begin),
            length: gap.length(),
            ended: true,
            missing: Some(gap.missing),
        };
        let worth = self.gaps.worth(LEAST_MISSING, LEAST_OUTAGE);
        let mut outages: Vec<Silence> = worth.iter().map(silence).collect();
        outages.extend(self.last_outage(elapsed));
        outages.retain(|outage| outage.at < elapsed);
        outages.sort_by_key(|outage| std::cmp::Reverse(outage.length));
        outages.truncate(MOST_OUTAGES);
        outages.sort_by_key(|outage| outage.at);
        outages
    }

    /// The one that lasts to the end. Messages that may still be in flight do not make one.
    fn last_outage(&self, elapsed: Nanos) -> Option<Silence> {
        let missing = (self.in_flight.requested() + 1).saturating_sub(self.gaps.next());
        let first = self.in_flight.unanswered_from(self.highest + 1)?;
        let at = first.due.saturating_since(self.started);
        let length = elapsed.saturating_sub(at);
        let least = LEAST_OUTAGE.max(self.longest.saturating_mul(2));
        let answered = self.gaps.next() > 1;
        (answered && missing >= LEAST_MISSING && length >= least).then_some(Silence {
            at,
            length,
            ended: false,
            missing: Some(missing),
        })
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

    /// A message that was due could not be sent at all at the rate asked for.
    pub(crate) fn unsent(&mut self, messages: u64) {
        self.counted.unsent += messages;
    }

    /// Does any message wait for its reply that is not given up?
    pub(crate) fn waits(&mut self) -> bool {
        self.in_flight.waits()
    }

    /// The first message from this number on that has no reply.
    pub(crate) fn unanswered_from(&self, number: u64) -> Option<u64> {
        self.in_flight.unanswered_from(number).map(|flight| flight.number)
    }

    /// The longest round trip so far, and the usual one now, both from the send call.
    pub(crate) fn round_trips(&self) -> (Nanos, Nanos) {
        (self.longest, self.usual)
    }

    /// Any reply so far?
    pub(crate) fn heard(&self) -> bool {
        self.counted.received + self.counted.late > 0
    }

    /// The interval since the last call.
    pub(crate) fn sample(&mut self) -> EgressSample {
        let recent = std::mem::take(&mut self.recent);
        self.recent_service = Histogram::default();
        let (sent, lost) = (std::mem::take(&mut self.recent_sent), std::mem::take(&mut self.recent_lost));
        EgressSample { sent, rtt: recent.distribution(), lost }
    }

    /// How long ping-pong waits for a reply before it goes on: ten times the 99th percentile of the last interval.
    pub(crate) fn pace(&self) -> Option<Nanos> {
        self.recent_service.value_at_quantile(0.99).map(|p99| Nanos(p99.saturating_mul(10)))
    }

    /// The end, after `elapsed`. `watch`: what this host did to the measuring thread, as far as it could see (`watched`).
    pub(crate) fn finish(mut self, watch: &HostWatch, watched: bool, elapsed: Nanos) -> Totals {
        let outages = self.outages(elapsed);
        if self.phase_series.is_none() {
            self.counted.in_flight = self.in_flight.waiting().count() as u64;
        }
        let (histogram, warm_up, warm_up_count, spread, level, exact) = match self.fixed_warm_up {
            Some(time) => (self.kept, time, self.skipped, None, None, self.exact.sorted(0)),
            None => {
                let Settled { kept, cut, dropped, dispersion, level } = self.warm_up.finish();
                (kept, cut, dropped, dispersion, Some(level), self.exact.sorted(dropped))
            }
        };
        let lost = self.counted.lost;
        let rtt =
            exact.as_ref().map(|exact| exact.distribution().with_missing(lost, |rank| exact.at_rank(rank)));
        let rtt = rtt.or_else(|| {
            let at_rank = |rank| histogram.values_at_rank(rank).map(|values| Nanos(*values.start()));
            Some(histogram.distribution()?.with_missing(lost, at_rank))
        });
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
            shifts: self.shifts.shifts(),
            outliers,
            outages,
            spread: spread.or_else(|| Dispersion::from_histogram(&histogram)),
            percentiles: {
                let all = match exact {
                    Some(exact) => exact.percentiles(&PERCENTS),
                    None => percentiles(&histogram, &PERCENTS),
                };
                // One that lost messages reach has no upper bound.
                let known =
                    |one: &Percentile| rtt.is_some_and(|rtt| rtt.standing(one.percent) == Standing::Known);
                all.into_iter().filter(known).collect()
            },
            rtt,
            histogram,
        }
    }

    fn lose(&mut self, lost: u64) {
        self.counted.lost += lost;
        self.recent_lost += lost;
    }

    /// Returns whether it is one of those that the figures are made of.
    fn round_trip(&mut self, flight: &Flight, came: MonoTime, held: Option<Nanos>) -> bool {
        let Flight { due, sent, .. } = *flight;
        let (rtt, service) = (came.saturating_since(due), came.saturating_since(sent));
        let at = due.saturating_since(self.started);
        self.recent.record(rtt.0);
        self.recent_service.record(service.0);
        self.longest = self.longest.max(service);
        self.usual = follow(self.usual, service);
        if let Some(raw) = &mut self.raw {
            raw.round_trip(flight.number, at, sent.saturating_since(due), rtt);
        }
        if let Some(phase_series) = &mut self.phase_series {
            phase_series.answered(at, rtt);
            if !phase_series.was_idle(at) {
                return false;
            }
        }
        self.means.record(rtt.0 as f64);
        self.shifts.record(at, service.0);
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
        if let Some(all) = &mut self.service {
            all.record(service.0);
        }
        self.farthest.record(Trip { at, rtt, in_host: held });
        true
    }
}

/// The effect of a reply on the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The first to its message, and when that was sent where it is counted.
    First(Option<MonoTime>),
    /// Its message had been answered.
    Again,
    /// No reply to a message that is known.
    Other,
}

/// A median that follows: an eighth nearer with each value, and by no more than what it is.
fn follow(usual: Nanos, value: Nanos) -> Nanos {
    if usual == Nanos::ZERO {
        return value;
    }
    let step = (usual.0 / 8).max(1);
    Nanos(value.0.clamp(usual.0.saturating_sub(step), usual.0.saturating_add(step)))
}

/// The percentiles reported, as far as the count carries them.
const PERCENTS: [f64; 9] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];
/// The level of the confidence interval of the mean.
const LEVEL: f64 = 0.95;
/// Fewer in a row are lost by chance.
const LEAST_MISSING: u64 = 3;
/// Shorter gaps are bursts of loss.
const LEAST_OUTAGE: Nanos = Nanos::from_millis(100);
/// More outages are not read.
const MOST_OUTAGES: usize = 64;

#[cfg(test)]
#[path = "tally/tests.rs"]
mod tests;
