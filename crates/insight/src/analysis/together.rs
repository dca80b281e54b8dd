//! Runs that ran at once as one measurement: what they carried in the time that all of them ran.

use super::Subject;
use model::pairs::{PairsDirection, Together};
use model::plan::Direction;
use model::run::Run;
use model::sample::{IntervalSample, Role};
use model::summary::DirectionSummary;
use model::units::{BitRate, Nanos, PacketRate};

/// When a run ran, nanoseconds on an axis that all share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: u64,
    end: u64,
}

/// The sum; `None` of fewer than two runs of throughput.
pub(super) fn runs_together(subjects: &[Subject<'_>], link: Option<BitRate>) -> Option<Together> {
    let runs: Vec<&Run> =
        subjects.iter().map(|one| one.run).filter(|run| run.summary.elapsed() > Nanos::ZERO).collect();
    if runs.len() < 2 {
        return None;
    }
    let clocked = runs.iter().all(|run| run.started.is_some());
    let spans: Vec<Span> = runs.iter().map(|run| span(run, clocked)).collect();
    let start = spans.iter().map(|span| span.start).max()?;
    let end = spans.iter().map(|span| span.end).min()?;
    let whole = spans.iter().map(|span| span.end).max()? - spans.iter().map(|span| span.start).min()?;
    let overlap = Nanos(end.saturating_sub(start));
    let link = runs.iter().find_map(|run| run.summary.link.as_ref()).map(|link| link.rate).or(link);
    let sum = |direction: Direction| {
        let rates = runs.iter().zip(&spans).filter_map(|(run, span)| {
            let summary = run.summary.direction(direction)?;
            let window = (Nanos(start - span.start), Nanos(start.max(end) - span.start));
            Some((summary, rate(run, direction, summary, window)))
        });
        direction_sum(&rates.collect::<Vec<_>>(), link)
    };
    let (up, down) = (sum(Direction::Up), sum(Direction::Down));
    let none = overlap == Nanos::ZERO;
    Some(Together {
        runs: runs.len() as u64,
        overlap,
        whole: Nanos(whole),
        clocked,
        up: up.filter(|_| !none),
        down: down.filter(|_| !none),
    })
}

fn span(run: &Run, clocked: bool) -> Span {
    let start = run.started.filter(|_| clocked).map_or(0, |wall| wall.0);
    Span { start, end: start.saturating_add(run.summary.elapsed().0) }
}

/// From the intervals inside the window; where there are none the run's rate holds for all of it.
fn rate(run: &Run, direction: Direction, summary: &DirectionSummary, window: (Nanos, Nanos)) -> BitRate {
    let sum_of = |role: Role| {
        let counted = run.intervals.iter().filter(|sample| !sample.omitted);
        counted.fold((0.0, 0.0), |(bytes, seconds), sample| {
            let rows = sample.streams.iter().filter(|row| row.direction == direction && row.role == role);
            let own: Vec<f64> = rows.map(|row| row.bytes.0 as f64).collect();
            let share = if own.is_empty() { 0.0 } else { inside(sample, window) };
            let time = sample.end.saturating_sub(sample.start).as_secs_f64();
            (bytes + own.iter().sum::<f64>() * share, seconds + time * share)
        })
    };
    let received = sum_of(Role::Receiver);
    let (bytes, seconds) =
        if received.1 > 0.0 || !summary.receiver_unknown { received } else { sum_of(Role::Sender) };
    let window = window.1.saturating_sub(window.0).as_secs_f64();
    // Intervals that cover half of the window show nothing about the other half.
    if seconds < window * COVERED { summary.goodput } else { BitRate((bytes * 8.0 / seconds) as u64) }
}

/// The share of an interval that lies in the window.
fn inside(sample: &IntervalSample, window: (Nanos, Nanos)) -> f64 {
    let time = sample.end.saturating_sub(sample.start).0;
    let inside = sample.end.min(window.1).saturating_sub(sample.start.max(window.0)).0;
    if time > 0 { inside as f64 / time as f64 } else { 0.0 }
}

fn direction_sum(rates: &[(&DirectionSummary, BitRate)], link: Option<BitRate>) -> Option<PairsDirection> {
    if rates.is_empty() {
        return None;
    }
    let scaled = |figure: fn(&DirectionSummary) -> Option<u64>| -> Option<u64> {
        rates.iter().try_fold(0_u64, |sum, (summary, rate)| {
            let per_bit = figure(summary)? as f64 / summary.goodput.0.max(1) as f64;
            Some(sum.saturating_add((rate.0 as f64 * per_bit).round() as u64))
        })
    };
    let wire = scaled(|summary| summary.wire.rate.map(|rate| rate.0)).map(BitRate);
    Some(PairsDirection {
        runs: rates.len() as u64,
        goodput: BitRate(rates.iter().fold(0, |sum, (_, rate)| sum.saturating_add(rate.0))),
        wire,
        packets_per_second: scaled(|summary| summary.wire.packets_per_second.map(|rate| rate.0))
            .map(PacketRate),
        line_rate_share: wire
            .zip(link.filter(|link| link.0 > 0))
            .map(|(wire, link)| wire.0 as f64 / link.0 as f64),
    })
}

const COVERED: f64 = 0.95;
