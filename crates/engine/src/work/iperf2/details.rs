//! Figures of intervals that the samples of every test have no field for.

use super::worker::wall_offset;
use crate::work::throughput::receive::Delays;
use crate::work::throughput::running::{Running, StreamDetails};
use model::detail::{DelaySpread, FlowDetail};
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
    pub(super) fn interval(&mut self, running: &Running, clock: Clock) -> Vec<FlowDetail> {
        let of = |now: StreamDetails| {
            let reported = self.0.entry(now.stream).or_default();
            let detail = FlowDetail {
                stream: now.stream,
                calls: now.calls.saturating_sub(reported.calls),
                reads: std::array::from_fn(|bin| now.reads[bin].saturating_sub(reported.reads[bin])),
                delay: now.delays.and_then(|delays| spread(delays, clock)),
                ..FlowDetail::default()
            };
            let delays = reported.delays.with(now.delays.unwrap_or_default());
            *reported = Sum { calls: now.calls, reads: now.reads, delays };
            detail
        };
        running.take_details().into_iter().map(of).collect()
    }

    /// Of the whole test.
    pub(super) fn total(&mut self, running: &Running, clock: Clock) -> Vec<FlowDetail> {
        self.interval(running, clock);
        let of = |(stream, sum): (&u32, &Sum)| FlowDetail {
            stream: *stream,
            calls: sum.calls,
            reads: sum.reads,
            delay: spread(sum.delays, clock),
            ..FlowDetail::default()
        };
        self.0.iter().map(of).collect()
    }
}

/// Transit times between two wall clocks; `None`: nothing came.
fn spread(delays: Delays, clock: Clock) -> Option<DelaySpread> {
    let offset = wall_offset(clock);
    (delays.count > 0).then(|| DelaySpread {
        count: delays.count,
        min: delays.min.wrapping_add(offset) as f64,
        mean: delays.mean + delays.origin.wrapping_add(offset) as f64,
        max: delays.max.wrapping_add(offset) as f64,
        stddev: Some((delays.squares / delays.count as f64).sqrt()),
    })
}
