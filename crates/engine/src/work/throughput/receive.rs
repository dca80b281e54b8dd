//! State of a UDP receiver: every received number, the jitter, the transit times.

use crate::work::throughput::delays::Delays;
use crate::work::throughput::timed::Timed;
use model::sample::{Transit, UdpCounters};
use model::stats::distribution::Distribution;
use model::stats::jitter::Jitter;
use model::stats::sequence::SequenceTracker;
use model::time::MonoTime;
use model::units::Nanos;
use wire::Stamp;

/// The state of one receiving stream.
#[derive(Clone, Debug)]
pub(crate) struct UdpReceive {
    tracker: SequenceTracker,
    /// When the datagram of the highest number came: the flow last went on then. A later one with a lower number was overtaken, and its
    /// time does not count.
    pub(crate) advanced: Option<MonoTime>,
    /// The longest time in which no higher number came: its begin, its length, and the numbers missing behind it.
    pub(crate) silence: Option<(MonoTime, Nanos, u64)>,
    jitter: Jitter,
    transit_min: i64,
    transit_max: i64,
    transit_sum: i128,
    transit_count: u64,
    /// Transit times since the last look at them, where somebody looks (iPerf2).
    pub(crate) recent: Option<Delays>,
    /// Timed quantities beside that.
    pub(crate) timed: Option<Timed>,
    /// Messages the kernel handed over; with GRO each may hold many datagrams.
    pub(crate) messages: u64,
    /// Datagrams with ECN's mark of congestion; absent: the class of none is known.
    marked: Option<u64>,
    /// Datagrams that were none of this test's.
    pub(crate) strays: u64,
    /// The first datagram that marks the end of the flow (iPerf2).
    pub(crate) end: Option<Vec<u8>>,
    omitted: Option<Omitted>,
}

/// The datagrams that came before the counted time, of which some may be read from the socket in it.
#[derive(Clone, Debug)]
struct Omitted {
    /// When the counted time began.
    until: MonoTime,
    /// One that came later has been read: no more of these wait in the socket.
    is_over: bool,
    /// Their payload.
    bytes: u64,
    counters: UdpCounters,
}

impl UdpReceive {
    /// An empty state; the first datagram of a stream has number 1.
    pub(crate) fn new() -> UdpReceive {
        UdpReceive {
            tracker: SequenceTracker::new(1, SequenceTracker::DEFAULT_WINDOW),
            advanced: None,
            silence: None,
            jitter: Jitter::default(),
            transit_min: i64::MAX,
            transit_max: i64::MIN,
            transit_sum: 0,
            transit_count: 0,
            recent: None,
            timed: None,
            messages: 0,
            marked: None,
            strays: 0,
            end: None,
            omitted: None,
        }
    }

    /// The same, with what is timed beside that.
    pub(crate) fn timing(timed: Option<Timed>) -> UdpReceive {
        UdpReceive { timed, ..UdpReceive::new() }
    }

    /// Records datagrams of successive numbers and equal time of sending that came in one batch.
    pub(crate) fn record(&mut self, first: Stamp, count: u32, now: MonoTime) {
        let highest = self.tracker.highest();
        self.tracker.record_run(first.sequence, count);
        if self.tracker.highest() > highest
            && let Some(before) = self.advanced.replace(now)
        {
            let length = now.saturating_since(before);
            if self.silence.is_none_or(|(_, longest, _)| length > longest) {
                let missing = first.sequence.saturating_sub(highest.unwrap_or(0) + 1);
                self.silence = Some((before, length, missing));
            }
        }
        self.jitter.record_run(first.sent, now, count);
        let transit = now.0.wrapping_sub(first.sent.0).cast_signed();
        self.transit_min = self.transit_min.min(transit);
        self.transit_max = self.transit_max.max(transit);
        self.transit_sum += i128::from(transit) * i128::from(count);
        self.transit_count += u64::from(count);
        if let Some(recent) = &mut self.recent {
            recent.add(transit, count);
        }
        if let Some(timed) = &mut self.timed {
            timed.datagrams(transit, count, now);
        }
    }

    /// Takes the marks of so many datagrams, of which all or none have one.
    pub(crate) fn mark(&mut self, is_marked: bool, count: u64) {
        *self.marked.get_or_insert(0) += if is_marked { count } else { 0 };
    }

    /// The counted time begins now; `bytes`: the payload read so far.
    pub(crate) fn begin_counted_time(&mut self, now: MonoTime, bytes: u64) {
        self.omitted = Some(Omitted { until: now, is_over: false, bytes, counters: self.counters(None) });
    }

    /// May the socket still hold datagrams that came before the counted time?
    pub(crate) fn may_hold_omitted(&self) -> bool {
        self.omitted.as_ref().is_some_and(|omitted| !omitted.is_over)
    }

    /// Takes the time at which the kernel received a message that has been recorded; `bytes`: the payload read so far.
    pub(crate) fn came(&mut self, at: MonoTime, bytes: u64) {
        if !self.may_hold_omitted() {
            return;
        }
        let counters = self.counters(None);
        if let Some(omitted) = &mut self.omitted {
            if at < omitted.until {
                (omitted.bytes, omitted.counters) = (bytes, counters);
            } else {
                omitted.is_over = true;
            }
        }
    }

    /// Payload and counters of the datagrams that came before the counted time, as far as they have been read.
    pub(crate) fn omitted(&self) -> Option<(u64, &UdpCounters)> {
        self.omitted.as_ref().map(|omitted| (omitted.bytes, &omitted.counters))
    }

    /// Different datagrams so far.
    pub(crate) fn received(&self) -> u64 {
        self.tracker.received()
    }

    /// Has every datagram up to this number come?
    pub(crate) fn is_whole(&self, last: u64) -> bool {
        self.tracker.lost(Some(last)) == 0
    }

    /// The counters now; `last`: the number of the last datagram sent, where it is known.
    pub(crate) fn counters(&self, last: Option<u64>) -> UdpCounters {
        let observed = self.tracker.snapshot();
        // Datagrams lost after the highest number that came were sent too: received and lost are all up to the last number.
        let last = last.max(self.tracker.highest());
        UdpCounters {
            datagrams: observed.received,
            lost: self.tracker.lost(last),
            late: observed.late,
            duplicates: observed.duplicates,
            reordered: observed.reordered,
            jitter: self.jitter.estimate(),
            last_sequence: last.unwrap_or(0),
            ecn_marks: self.marked,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_message_counts_as_many_datagrams_as_one_that_came() {
        let mut state = UdpReceive::new();
        assert_eq!(state.dropped_datagrams(5), 5, "nothing came that could say how many");
        for first in [1, 31] {
            state.messages += 1;
            state.record(Stamp { sequence: first, sent: MonoTime(0) }, 30, MonoTime(7));
        }
        assert_eq!(state.dropped_datagrams(5), 150);
        assert_eq!(state.dropped_datagrams(u64::MAX), u64::MAX);
    }

    #[test]
    fn what_came_before_the_counted_time_is_omitted_whenever_it_is_read() {
        let mut state = UdpReceive::new();
        let mut read = |number: u64, at: u64| {
            state.record(Stamp { sequence: number, sent: MonoTime(0) }, 1, MonoTime(100));
            state.came(MonoTime(at), number * 1000);
            if number == 1 {
                state.begin_counted_time(MonoTime(50), 1000);
            }
            let omitted = state.omitted().map(|(bytes, counters)| (bytes, counters.datagrams));
            (omitted, state.may_hold_omitted())
        };
        assert_eq!(read(1, 10), (Some((1000, 1)), true));
        assert_eq!(read(2, 49), (Some((2000, 2)), true));
        assert_eq!(read(3, 50), (Some((2000, 2)), false));
        assert_eq!(read(4, 49), (Some((2000, 2)), false), "a clock that was set back");
    }

    #[test]
    fn a_lost_tail_was_sent_too() {
        let mut state = UdpReceive::new();
        state.record(Stamp { sequence: 1, sent: MonoTime(0) }, 49, MonoTime(7));
        let known = |last| {
            let observed = state.counters(last);
            (observed.datagrams, observed.lost, observed.last_sequence)
        };
        assert_eq!(known(None), (49, 0, 49));
        assert_eq!(known(Some(50)), (49, 1, 50), "the peer reported 50, of which one was lost");
        assert_eq!(known(Some(40)), (49, 0, 49), "more came than the sender reports");
    }
}
