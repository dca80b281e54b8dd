//! Figures of intervals that the samples of every test have no field for.

use crate::work::observer::{Detail, Spread};
use crate::work::throughput::delays::Delays;
use crate::work::throughput::running::{Running, StreamDetails};
use crate::work::throughput::timed::{Timed, wall_offset};
use std::collections::BTreeMap;
use wire::stamp::Clock;

/// The sums reported so far, by stream.
#[derive(Default)]
pub(super) struct Details(BTreeMap<u32, Sum>);

#[derive(Default)]
struct Sum {
    calls: u64,
    reads: [u64; 8],
    delays: Delays,
    timed: Option<Timed>,
}

impl Details {
    /// The details of the interval that has just ended.
    pub(super) fn interval(&mut self, running: &Running, clock: Clock) -> Vec<Detail> {
        let detail_of = |now: StreamDetails| {
            let reported = self.0.entry(now.stream).or_default();
            let mut detail = Detail {
                stream: now.stream,
                calls: now.calls.saturating_sub(reported.calls),
                reads: std::array::from_fn(|bin| now.reads[bin].saturating_sub(reported.reads[bin])),
                delay: now.delays.and_then(|delays| spread(delays, wall_offset(clock))),
                ..Detail::default()
            };
            reported.calls = now.calls;
            reported.reads = now.reads;
            reported.delays = reported.delays.with(now.delays.unwrap_or_default());
            if let Some(timed) = now.timed {
                fill(&mut detail, &timed);
                match &mut reported.timed {
                    Some(sum) => sum.merge(&timed),
                    None => reported.timed = Some(timed),
                }
            }
            detail
        };
        running.take_details().into_iter().map(detail_of).collect()
    }

    /// The details of the whole test.
    pub(super) fn total(&mut self, running: &Running, clock: Clock) -> Vec<Detail> {
        self.interval(running, clock);
        let detail_of = |(stream, sum): (&u32, &Sum)| {
            let mut detail = Detail {
                stream: *stream,
                calls: sum.calls,
                reads: sum.reads,
                delay: spread(sum.delays, wall_offset(clock)),
                ..Detail::default()
            };
            if let Some(timed) = &sum.timed {
                fill(&mut detail, timed);
            }
            detail
        };
        self.0.iter().map(detail_of).collect()
    }
}

fn fill(detail: &mut Detail, timed: &Timed) {
    detail.writes = spread(timed.writes, 0);
    detail.bursts = spread(timed.pieces, 0);
    detail.burst_bytes = timed.piece_bytes;
    detail.frames = Some(timed.frames);
    detail.histograms.clone_from(&timed.histograms);
}

/// Times between two clocks that are so far apart; `None`: there were none.
fn spread(delays: Delays, offset: i64) -> Option<Spread> {
    (delays.count > 0).then(|| Spread {
        count: delays.count,
        min: delays.min.wrapping_add(offset),
        mean: delays.mean + delays.origin.wrapping_add(offset) as f64,
        max: delays.max.wrapping_add(offset),
        stddev: Some((delays.squares / delays.count as f64).sqrt()),
    })
}
