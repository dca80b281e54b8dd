//! What a UDP receiver knows of its stream: every number seen, the jitter, the transit times.

use model::sample::{Transit, UdpCounters};
use model::stats::histogram::Distribution;
use model::stats::jitter::Jitter;
use model::stats::sequence::SequenceTracker;
use model::time::MonoTime;
use wire::Stamp;

/// The state of one receiving stream.
#[derive(Clone, Debug)]
pub(crate) struct UdpReceive {
    tracker: SequenceTracker,
    jitter: Jitter,
    transit_min: i64,
    transit_max: i64,
    transit_sum: i128,
    transit_count: u64,
    /// Messages the kernel handed over; with GRO each may hold many datagrams.
    pub(crate) messages: u64,
    /// Datagrams that were none of this test's.
    pub(crate) strays: u64,
    /// The first datagram that said that the flow ends (iPerf2).
    pub(crate) end: Option<Vec<u8>>,
}

impl UdpReceive {
    /// Nothing seen yet; the first datagram of a stream has number 1.
    pub(crate) fn new() -> UdpReceive {
        UdpReceive {
            tracker: SequenceTracker::new(1, SequenceTracker::DEFAULT_WINDOW),
            jitter: Jitter::default(),
            transit_min: i64::MAX,
            transit_max: i64::MIN,
            transit_sum: 0,
            transit_count: 0,
            messages: 0,
            strays: 0,
            end: None,
        }
    }

    /// Records datagrams of successive numbers and equal time of sending that came in one batch.
    pub(crate) fn record(&mut self, first: Stamp, count: u32, now: MonoTime) {
        self.tracker.record_run(first.sequence, count);
        self.jitter.record_run(first.sent, now, count);
        let transit = now.0.wrapping_sub(first.sent.0).cast_signed();
        self.transit_min = self.transit_min.min(transit);
        self.transit_max = self.transit_max.max(transit);
        self.transit_sum += i128::from(transit) * i128::from(count);
        self.transit_count += u64::from(count);
    }

    /// Highest number seen; 0: none.
    pub(crate) fn highest(&self) -> u64 {
        self.tracker.highest().unwrap_or(0)
    }

    /// The counters now; `last`: the number of the last datagram sent, where it is known.
    pub(crate) fn counters(&self, last: Option<u64>) -> UdpCounters {
        let seen = self.tracker.snapshot();
        UdpCounters {
            datagrams: seen.received,
            lost: self.tracker.lost(last.or(self.tracker.highest())),
            late: seen.late,
            duplicates: seen.duplicates,
            reordered: seen.reordered,
            jitter: self.jitter.estimate(),
            last_sequence: self.highest(),
            ..UdpCounters::default()
        }
    }

    /// Datagrams in `drops` messages that the kernel dropped at this socket. It counts messages, and a message joined
    /// by GRO counts once: they are taken to have held as many datagrams as those that arrived.
    pub(crate) fn dropped_datagrams(&self, drops: u64) -> u64 {
        let datagrams = u128::from(drops) * u128::from(self.transit_count);
        datagrams.checked_div(self.messages.into()).map_or(drops, |d| u64::try_from(d).unwrap_or(u64::MAX))
    }

    /// The distribution of the transit differences.
    pub(crate) fn jitter_distribution(&self) -> Option<Distribution> {
        self.jitter.variation().distribution()
    }

    /// Transit times across the two clocks.
    pub(crate) fn transit(&self) -> Option<Transit> {
        let count = i128::from(self.transit_count);
        let mean_ns = i64::try_from(self.transit_sum.checked_div(count)?).ok()?;
        Some(Transit { min_ns: self.transit_min, mean_ns, max_ns: self.transit_max })
    }
}
