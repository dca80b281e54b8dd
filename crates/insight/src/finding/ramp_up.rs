//! `ramp-up`: TCP was still growing when the test ended, so that the rate of the whole test is not the path's.

use super::measured::MeasuredDirection;
use super::{Finding, Severity};
use model::limit::LimitKind;
use model::plan::Direction;
use model::run::Run;
use model::sample::{IntervalSample, Role, StreamSample};
use model::units::{BitRate, Bytes, Nanos};

/// TCP whose last quarter was far above the whole, and above the quarter before it.
pub(super) fn ramp_up(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    if one_way.udp() || !one_way.unlimited() || !one_way.may_be(&[LimitKind::RampUp]) {
        return None;
    }
    let steps = progress(one_way.run, one_way.direction);
    let growth = Growth::from_steps(&steps)?;
    let whole = one_way.figures.goodput;
    if !growth.goes_on(one_way) {
        return None;
    }
    let direction = one_way.direction;
    let rtt = one_way.idle_rtt().unwrap_or_default();
    let title = format!(
        "TCP was still growing {direction} when the test ended: {} in its last {}, {whole} over all of it",
        growth.end, growth.last
    );
    let finding = Finding::new("ramp-up", Severity::Warning, direction, title)
        .with("goodput_bps", whole.0)
        .with("end_goodput_bps", growth.end.0)
        .with("before_end_goodput_bps", growth.before.0)
        .with("end_length_ns", growth.last.0)
        .with("idle_rtt_ns", rtt.0);
    let seconds =
        (rtt.as_secs_f64() * ROUND_TRIPS).max(one_way.figures.elapsed.as_secs_f64() * 3.0).ceil() as u64;
    Some(finding.advise(format!(
        "Take the rate at the end as the least that the path gives, and measure for longer: `pathmeter throughput HOST -t {seconds}`, of which `--omit` leaves the begin out."
    )))
}

/// The data of each interval of a direction, and its length: received data where this end received, else acknowledged data.
pub(crate) fn progress(run: &Run, direction: Direction) -> Vec<(Nanos, Nanos, Bytes)> {
    let own = |row: &&StreamSample| row.direction == direction;
    let moved = |row: &StreamSample| match (row.role, &row.tcp) {
        (Role::Sender, Some(tcp)) => tcp.acknowledged,
        (Role::Sender, None) => Bytes(0),
        (Role::Receiver, _) => row.bytes,
    };
    let step = |one: &IntervalSample| {
        let mut rows = one.streams.iter().filter(own).peekable();
        (rows.peek().is_some() && !one.omitted && one.end > one.start)
            .then(|| (one.start, one.end, rows.map(moved).sum()))
    };
    // An end that reports both roles has rows of each; this end's come first.
    let side = run.intervals.iter().find(|one| one.streams.iter().any(|row| row.direction == direction));
    let Some(side) = side.map(|one| one.side) else { return Vec::new() };
    run.intervals.iter().filter(|one| one.side == side).filter_map(step).collect()
}

/// The rate in the last quarter of a test, and in the one before it.
pub(crate) struct Growth {
    before: BitRate,
    end: BitRate,
    last: Nanos,
}

impl Growth {
    /// Growth over these intervals; absent: they are too few.
    pub(crate) fn from_steps(steps: &[(Nanos, Nanos, Bytes)]) -> Option<Growth> {
        let quarter = steps.len() / 4;
        if quarter == 0 {
            return None;
        }
        let part = |steps: &[(Nanos, Nanos, Bytes)]| {
            let time: Nanos = steps.iter().map(|(start, end, _)| end.saturating_sub(*start)).sum();
            (BitRate::from_bytes(steps.iter().map(|one| one.2).sum(), time), time)
        };
        let (end, last) = part(&steps[steps.len() - quarter..]);
        let (before, _) = part(&steps[steps.len() - 2 * quarter..steps.len() - quarter]);
        Some(Growth { before, end, last })
    }

    /// The test ended before the growth did.
    pub(crate) fn goes_on(&self, one_way: &MeasuredDirection<'_>) -> bool {
        let (end, whole) = (self.end.0 as f64, one_way.figures.goodput.0 as f64);
        end >= GROWN * whole && end > STILL * self.before.0 as f64
    }
}

/// The end against the whole: slow start over a short path takes a small part of a test.
const GROWN: f64 = 1.4;
/// The last quarter against the one before it.
const STILL: f64 = 1.1;
/// TCP reaches most rates within so many round trips.
const ROUND_TRIPS: f64 = 60.0;
