//! The figures of one way while they are gathered, in memory that does not grow.

use super::flights::{Answer, Flights};
use super::loaded::Course;
use super::raw::RawLog;
use crate::error::Result;
use model::latency::disturbance::{Farthest, HostWatch, Trip};
use model::latency::{Counted, Outlier, WaySample};
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
    flights: Flights,
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
    raw: Option<RawLog>,
    /// Beside a load: the figures above are then those of the idle phase.
    course: Option<Course>,
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
            flights: Flights::new(gather.room, gather.last_number),
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
            raw: gather.raw,
            course: None,
        }
    }

    /// Follows the course of a run beside a load from now on.
    pub(crate) fn follow(&mut self, course: Course) {
        self.course = Some(course);
    }

    /// The number of the phase under load at that time, since the start.
    pub(crate) fn loaded(&self, at: Nanos) -> Option<usize> {
        self.course.as_ref()?.loaded(at)
    }

    /// The course of the run, which is over. What is counted from now on is not told.
    pub(crate) fn take_course(&mut self) -> Option<Course> {
        let course = self.course.take()?;
        self.counted = course.idle(self.counted);
        Some(course)
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
        let lost = self.flights.send(self.last_number, due, sent, wants_reply);
        self.lose(lost);
        self.counted.sent += 1;
        self.counted.asked += u64::from(wants_reply);
        self.recent_sent += 1;
        if let Some(course) = &mut self.course {
            course.sent(due.saturating_since(self.started));
        }
    }

    /// A reply came; when its message was sent, if it is the first, in time and counted. `held`: for how long this
    /// host kept the reply, where the kernel told.
    pub(crate) fn reply(&mut self, number: u64, came: MonoTime, held: Option<Nanos>) -> Option<MonoTime> {
        match self.flights.answer(number) {
            Answer::InTime { due, sent, reordered } => {
                self.counted.received += 1;
                self.counted.reordered += u64::from(reordered);
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
        let lost = self.flights.expire(sent_before);
        self.lose(lost);
    }

    /// When the oldest message that waits for a reply was sent.
    pub(crate) fn oldest(&mut self) -> Option<MonoTime> {
        self.flights.oldest()
    }

    /// Any reply so far?
    pub(crate) fn heard(&self) -> bool {
        self.counted.received + self.counted.late > 0
    }

    /// The interval since the last call.
    pub(crate) fn sample(&mut self) -> WaySample {
        let recent = std::mem::take(&mut self.recent);
        let (sent, lost) = (std::mem::take(&mut self.recent_sent), std::mem::take(&mut self.recent_lost));
        WaySample { sent, rtt: recent.distribution(), lost }
    }

    /// Longest wait for a reply that is worth it: ten times the 99th percentile of the last interval.
    pub(crate) fn patience(&self) -> Option<Nanos> {
        self.recent.value_at_quantile(0.99).map(|p99| Nanos(p99.saturating_mul(10)))
    }

    /// The end. `watch`: what this host did to the measuring thread, as far as it could see (`watched`).
    pub(crate) fn finish(mut self, watch: &HostWatch, watched: bool) -> Result<Totals> {
        if let Some(raw) = self.raw.take() {
            raw.finish()?;
        }
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
        let totals = Totals {
            counted: self.counted,
            service: self.service,
            mean: self.means.interval(warm_up_count, LEVEL),
            warm_up,
            warm_up_count,
            level,
            outliers,
            spread: spread.or_else(|| Dispersion::of(&histogram)),
            percentiles: match exact {
                Some(exact) => exact.percentiles(&PERCENTS),
                None => percentiles(&histogram, &PERCENTS),
            },
            rtt,
            histogram,
        };
        Ok(totals)
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
        if let Some(course) = &mut self.course {
            course.answered(at, rtt);
            if !course.was_idle(at) {
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
