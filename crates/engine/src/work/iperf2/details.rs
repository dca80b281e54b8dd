//! Figures of intervals that the samples of every test have no field for.

use super::worker::wall_offset;
use crate::work::observer::{Detail, Spread};
use crate::work::throughput::receive::Delays;
use crate::work::throughput::running::{Running, StreamDetails};
use std::collections::BTreeMap;
use wire::stamp::Clock;

/// What has been told so far, by stream.
#[derive(Default)]
pub(super) struct Details(BTreeMap<u32, Sum>);

#[derive(Default)]
struct Sum {
    calls: u64,
    reads: [u64; 8],
    delays: Delays,
}

impl Details {
    /// Of the interval that has just ended.
    pub(super) fn interval(&mut self, running: &Running, clock: Clock) -> Vec<Detail> {
        let of = |now: StreamDetails| {
            let reported = self.0.entry(now.stream).or_default();
            let detail = Detail {
                stream: now.stream,
                calls: now.calls.saturating_sub(reported.calls),
                reads: std::array::from_fn(|bin| now.reads[bin].saturating_sub(reported.reads[bin])),
                delay: now.delays.and_then(|delays| spread(delays, clock)),
                ..Detail::default()
            };
            let delays = reported.delays.with(now.delays.unwrap_or_default());
            *reported = Sum { calls: now.calls, reads: now.reads, delays };
            detail
        };
        running.take_details().into_iter().map(of).collect()
    }

    /// Of the whole test.
    pub(super) fn total(&mut self, running: &Running, clock: Clock) -> Vec<Detail> {
        self.interval(running, clock);
        let of = |(stream, sum): (&u32, &Sum)| Detail {
            stream: *stream,
            calls: sum.calls,
            reads: sum.reads,
            delay: spread(sum.delays, clock),
            ..Detail::default()
        };
        self.0.iter().map(of).collect()
    }
}

/// Transit times between two wall clocks; `None`: nothing came.
fn spread(delays: Delays, clock: Clock) -> Option<Spread> {
    let offset = wall_offset(clock);
    (delays.count > 0).then(|| Spread {
        count: delays.count,
        min: delays.min.wrapping_add(offset),
        mean: delays.mean + delays.origin.wrapping_add(offset) as f64,
        max: delays.max.wrapping_add(offset),
        stddev: (delays.squares / delays.count as f64).sqrt(),
    })
}
