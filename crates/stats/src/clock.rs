//! The offset of a peer's clock and its drift, from four-timestamp exchanges, with a guaranteed error.
//!
//! An exchange gives the offset to within half its round trip, whatever the path does in between (RFC 5905 section 8, RFC 8762).
//! Exchanges with the shortest round trips waited least, so only the lowest third counts, or less where queues are seldom empty;
//! a straight line through their offsets gives the drift.

mod step;

pub use step::ClockStep;

use serde::{Deserialize, Serialize};
use units::Nanos;
use units::time::MonoTime;

/// One exchange: two timestamps of the local clock around two of the remote one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// t1: the request left, local clock.
    pub sent: MonoTime,
    /// t2: the request arrived, remote clock.
    pub remote_received: MonoTime,
    /// t3: the answer left, remote clock.
    pub remote_sent: MonoTime,
    /// t4: the answer arrived, local clock.
    pub received: MonoTime,
}

/// Collects exchanges during a run, and fits them.
#[derive(Clone, Debug, Default)]
pub struct ClockSync {
    samples: Vec<Sample>,
    /// The best of the exchanges that become the next sample.
    pending: Option<Sample>,
    in_pending: u64,
    /// Each sample is the best of 2 to this power exchanges.
    power: u32,
}

/// The remote clock relative to the local one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockFit {
    /// The local time at which `offset` holds.
    pub at: MonoTime,
    /// Remote less local clock, in nanoseconds.
    pub offset: i64,
    /// Rate at which the remote clock gains, in nanoseconds per nanosecond.
    pub drift: f64,
    /// The most by which the offset may be wrong between `from` and `until`, if both clocks run evenly: half a round trip and the
    /// distance from the line, of the better anchored exchange of each half of the run.
    pub error: Nanos,
    /// The local time of the first anchor.
    pub from: MonoTime,
    /// The local time of the last anchor.
    pub until: MonoTime,
    /// Growth of the error outside, in nanoseconds per nanosecond.
    pub drift_error: f64,
    /// The shortest round trip; unequal directions can always hide half of it.
    pub min_round_trip: Nanos,
    /// Number of exchanges behind the fit.
    pub used: u32,
}

impl Exchange {
    /// The time on the path, in both directions: `(t4 − t1) − (t3 − t2)`. `None` when the timestamps contradict one another.
    #[must_use]
    pub fn round_trip(&self) -> Option<Nanos> {
        let total = self.received.checked_since(self.sent)?;
        let remote = self.remote_sent.checked_since(self.remote_received)?;
        total.0.checked_sub(remote.0).map(Nanos)
    }

    /// Twice the offset: `(t2 − t1) + (t3 − t4)`.
    fn double_offset(&self) -> i128 {
        let difference = |remote: MonoTime, local: MonoTime| i128::from(remote.0) - i128::from(local.0);
        difference(self.remote_received, self.sent) + difference(self.remote_sent, self.received)
    }
}

impl ClockSync {
    /// Takes an exchange; one whose timestamps contradict one another is ignored.
    ///
    /// Memory is bounded: of more than 8192 exchanges, the slower of every two neighbours is dropped, and from then on the
    /// slowest of every two, then four, and so on that arrive.
    pub fn record(&mut self, exchange: Exchange) {
        let Some(round_trip) = exchange.round_trip() else { return };
        let middle = exchange.sent.0 + (exchange.received.0 - exchange.sent.0) / 2;
        let sample = Sample { middle, round_trip: round_trip.0, double_offset: exchange.double_offset() };
        self.pending = self.pending.into_iter().chain([sample]).min_by_key(|sample| by_round_trip(&sample));
        self.in_pending += 1;
        if self.in_pending < 1 << self.power {
            return;
        }
        self.samples.extend(self.pending.take());
        self.in_pending = 0;
        if self.samples.len() >= MOST_SAMPLES {
            let better = |pair: &[Sample]| pair.iter().min_by_key(by_round_trip).copied();
            self.samples = self.samples.chunks(2).filter_map(better).collect();
            self.power += 1;
        }
    }

    /// Number of exchanges kept.
    #[must_use]
    pub fn count(&self) -> usize {
        self.samples.len() + usize::from(self.pending.is_some())
    }

    /// The line through the lowest third by round trip, or through a tenth, a thirtieth or a hundredth where that has a smaller
    /// error; `None` with fewer than eight exchanges.
    #[must_use]
    pub fn fit(&self) -> Option<ClockFit> {
        ClockFit::through(&self.all())
    }

    fn all(&self) -> Vec<Sample> {
        self.samples.iter().chain(&self.pending).copied().collect()
    }
}

impl ClockFit {
    fn through(samples: &[Sample]) -> Option<ClockFit> {
        if samples.len() < FEWEST_SAMPLES {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by_key(|sample| by_round_trip(&sample));
        let origin = sorted[0];
        let fitted = |share: &usize| {
            let count = samples.len().div_ceil(*share).max(FEWEST_SAMPLES).min(samples.len());
            Fitted::to(&sorted[..count], samples)
        };
        let (widest, others) = (fitted(&SHARES[0]), SHARES[1..].iter().map(fitted));
        let found =
            others.fold(
                widest,
                |best, one| {
                    if one.anchors.worst < BETTER * best.anchors.worst { one } else { best }
                },
            );
        let local = |x: f64| {
            MonoTime(u64::try_from(i128::from(origin.middle) + x.round() as i128).unwrap_or(origin.middle))
        };
        let offset = (origin.double_offset + (2.0 * found.line.y).round() as i128) / 2;
        Some(ClockFit {
            at: local(found.line.x),
            offset: i64::try_from(offset).ok()?,
            drift: found.line.slope,
            error: Nanos(found.anchors.error.ceil() as u64),
            from: local(found.anchors.from),
            until: local(found.anchors.until),
            drift_error: found.anchors.drift_error,
            min_round_trip: Nanos(origin.round_trip),
            used: found.used,
        })
    }

    /// Remote less local clock at a local time, in nanoseconds.
    #[must_use]
    pub fn offset_at(&self, local: MonoTime) -> i64 {
        let distance = (i128::from(local.0) - i128::from(self.at.0)) as f64;
        self.offset.saturating_add((self.drift * distance).round() as i64)
    }

    /// The most by which the offset at a local time may be wrong: `error`, growing outside of the anchors.
    pub fn error_at(&self, local: MonoTime) -> Nanos {
        let outside = (self.from - local) + (local - self.until);
        self.error + Nanos((self.drift_error * outside.0 as f64).ceil() as u64)
    }
}

/// An exchange reduced to the inputs of the fit.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Local time halfway between request and answer.
    middle: u64,
    round_trip: u64,
    double_offset: i128,
}

impl Sample {
    /// Time and offset relative to another sample: small numbers, which floats represent exactly.
    fn relative_to(&self, origin: &Sample) -> (f64, f64) {
        let x = (i128::from(self.middle) - i128::from(origin.middle)) as f64;
        (x, (self.double_offset - origin.double_offset) as f64 / 2.0)
    }
}

fn by_round_trip(sample: &&Sample) -> (u64, u64) {
    (sample.round_trip, sample.middle)
}

/// A least-squares line through its mean point.
struct Line {
    x: f64,
    y: f64,
    slope: f64,
}

impl Line {
    fn through(points: &[(f64, f64)]) -> Line {
        let count = points.len() as f64;
        let x = points.iter().map(|point| point.0).sum::<f64>() / count;
        let y = points.iter().map(|point| point.1).sum::<f64>() / count;
        let width: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slant: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let slope = if width > 0.0 { slant / width } else { 0.0 };
        // A clock cannot gain more than a thousandth; the cause of such a slope remains in the distances.
        Line { x, y, slope: if slope.abs() <= STEEPEST { slope } else { 0.0 } }
    }

    fn distance(&self, (x, y): (f64, f64)) -> f64 {
        (y - self.y - self.slope * (x - self.x)).abs()
    }
}

/// A line through some samples, and its anchors.
struct Fitted {
    line: Line,
    anchors: Anchors,
    used: u32,
}

impl Fitted {
    /// The line through the best samples, of which the first has the shortest round trip; anchored by all.
    fn to(best: &[Sample], samples: &[Sample]) -> Fitted {
        let points: Vec<(f64, f64)> = best.iter().map(|sample| sample.relative_to(&best[0])).collect();
        let line = Line::through(&points);
        let anchors = Anchors::from_samples(samples, &best[0], &line);
        Fitted { line, anchors, used: best.len() as u32 }
    }
}

/// Two exchanges that bound the line: at each, the truth is within half a round trip of the measured offset, and so within that
/// and the distance from the line. The difference of two straight lines is largest at an end.
struct Anchors {
    from: f64,
    until: f64,
    error: f64,
    drift_error: f64,
    /// The error at that end of the run where it is larger.
    worst: f64,
}

impl Anchors {
    /// From each half of the run the exchange that is tight and far from the middle: points outside cost about four times the
    /// tightest bound for a whole run.
    fn from_samples(samples: &[Sample], origin: &Sample, line: &Line) -> Anchors {
        let bound = |sample: &Sample| {
            let point = sample.relative_to(origin);
            (point.0, sample.round_trip as f64 / 2.0 + line.distance(point))
        };
        let bounds: Vec<(f64, f64)> = samples.iter().map(bound).collect();
        let (start, end) = (bounds[0].0, bounds[bounds.len() - 1].0);
        let tightest = bounds.iter().map(|bound| bound.1).fold(f64::INFINITY, f64::min);
        let outside = if end > start { 4.0 * tightest / (end - start) } else { 0.0 };
        let (early, late) = bounds.split_at(bounds.len() / 2);
        let cheapest = |side: &[(f64, f64)], edge: f64| {
            let cost = |bound: &(f64, f64)| bound.1 + outside * (bound.0 - edge).abs();
            side.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b)))
        };
        let anchored = (0.0, origin.round_trip as f64);
        let first = cheapest(early, start).unwrap_or(anchored);
        let last = cheapest(late, end).unwrap_or(anchored);
        let apart = last.0 - first.0;
        let slack = if apart > 0.0 { (first.1 + last.1) / apart } else { 2.0 * STEEPEST };
        let (error, drift_error) = (first.1.max(last.1), slack.min(2.0 * STEEPEST));
        let worst = error + drift_error * (first.0 - start).max(end - last.0).max(0.0);
        Anchors { from: first.0, until: last.0, error, drift_error, worst }
    }
}

/// The parts of the exchanges, by round trip, that a line is fitted to: the smallest where a queue is seldom empty.
const SHARES: [usize; 4] = [3, 10, 30, 100];
/// Factor by which a line through fewer exchanges has to be better.
const BETTER: f64 = 0.95;
const FEWEST_SAMPLES: usize = 8;
const MOST_SAMPLES: usize = 8192;
const STEEPEST: f64 = 1e-3;

#[cfg(test)]
mod tests;
