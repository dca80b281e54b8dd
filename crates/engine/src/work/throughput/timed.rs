//! Quantities that a stream's thread times beside its bytes, where they are requested (iPerf2): single writes, whole frames and
//! bursts, and delays counted in bins.

use crate::work::throughput::delays::Delays;
use model::stats::bins::{BinShape, Bins};
use model::time::{MonoTime, WallTime};
use wire::iperf2::FrameRecord;
use wire::stamp::Clock;

/// Timed quantities beside those of every test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Each write of a TCP sender.
    pub writes: bool,
    /// Bins for the delays: of writes, of datagrams, of whole frames and bursts (`--histograms`).
    pub delays: Option<BinShape>,
    /// Bins for the difference between the delays of one datagram and the next (`--jitter-histograms`).
    pub jitter: Option<BinShape>,
    /// A TCP sender rests after each block for this part of the RTT (`--near-congestion`).
    pub rtt_part: Option<f64>,
}

/// The quantity of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramKind {
    /// How long writes took.
    Writes,
    /// One-way delays of datagrams.
    Delays,
    /// Differences between the delays of one datagram and the next.
    Jitter,
    /// Delays of whole frames or bursts.
    Pieces,
}

/// Times counted in bins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedBins {
    /// The counted quantity.
    pub kind: HistogramKind,
    /// The counts.
    pub bins: Bins,
    /// The largest delay, nanoseconds, and when it ended; of datagrams, frames and bursts.
    pub largest: Option<(i64, WallTime)>,
}

/// Frames or bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCount {
    /// Sent, or come.
    pub moved: u64,
    /// Never sent, or never come: numbers that were passed over.
    pub missed: u64,
    /// How often numbers were passed over.
    pub slips: u64,
}

/// One burst that has come whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// When it was written, or when its first bytes came.
    pub began: WallTime,
    /// When its last byte was read.
    pub ended: WallTime,
    /// Its bytes.
    pub bytes: u64,
    /// Reads it took, and their sizes, in eighths of the buffer.
    pub calls: u64,
    /// See `calls`.
    pub reads: [u64; 8],
}

/// Timed quantities since the last call.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    clock: Clock,
    /// Writes are timed.
    pub(crate) times_writes: bool,
    /// How long they took.
    pub(crate) writes: Delays,
    /// Delays of whole frames or bursts, and their bytes.
    pub(crate) pieces: Delays,
    pub(crate) piece_bytes: u64,
    pub(crate) frames: FrameCount,
    pub(crate) bursts: Vec<Burst>,
    pub(crate) histograms: Vec<TimedBins>,
    /// The highest number of a frame or burst so far.
    last: u32,
    /// Where a datagram has the record of its frame.
    pub(crate) frame_place: Option<usize>,
    /// The delay of the datagram before.
    transit: Option<i64>,
}

impl Timed {
    /// Nothing timed yet; with bins for these.
    pub(crate) fn new(clock: Clock, kinds: &[(HistogramKind, Option<BinShape>)]) -> Timed {
        let histogram = |(kind, shape): &(HistogramKind, Option<BinShape>)| {
            Some(TimedBins { kind: *kind, bins: Bins::new((*shape)?), largest: None })
        };
        Timed {
            clock,
            times_writes: false,
            writes: Delays::default(),
            pieces: Delays::default(),
            piece_bytes: 0,
            frames: FrameCount::default(),
            bursts: Vec::new(),
            histograms: kinds.iter().filter_map(histogram).collect(),
            last: 0,
            frame_place: None,
            transit: None,
        }
    }

    /// Takes the timed quantities since the last call. Bursts stay: they are reported by themselves.
    pub(crate) fn take(&mut self) -> Timed {
        let kinds: Vec<_> = self.histograms.iter().map(|it| (it.kind, Some(it.bins.shape()))).collect();
        let Timed { last, frame_place, transit, times_writes, .. } = *self;
        let bursts = std::mem::take(&mut self.bursts);
        let next =
            Timed { last, frame_place, transit, times_writes, bursts, ..Timed::new(self.clock, &kinds) };
        std::mem::replace(self, next)
    }

    /// Adds what was timed later; bursts are reported by themselves.
    pub(crate) fn merge(&mut self, later: &Timed) {
        self.writes = self.writes.with(later.writes);
        self.pieces = self.pieces.with(later.pieces);
        self.piece_bytes += later.piece_bytes;
        self.frames.moved += later.frames.moved;
        self.frames.missed += later.frames.missed;
        self.frames.slips += later.frames.slips;
        self.histograms.iter_mut().zip(&later.histograms).for_each(|(sum, later)| sum.merge(later));
    }

    /// A write has taken so long, nanoseconds.
    pub(crate) fn write(&mut self, took: u64) {
        if !self.times_writes {
            return;
        }
        let took = took.cast_signed();
        self.writes.add(took, 1);
        self.count(HistogramKind::Writes, took, 1, None);
    }

    /// Datagrams with one time of sending came now. `transit`: the monotonic time of arrival less the sender's wall clock.
    pub(crate) fn datagrams(&mut self, transit: i64, count: u32, now: MonoTime) {
        let delay = transit.wrapping_add(wall_offset(self.clock));
        self.count(HistogramKind::Delays, delay, count.into(), Some(now));
        if let Some(before) = self.transit.replace(delay) {
            let difference = delay.wrapping_sub(before).saturating_abs();
            self.count(HistogramKind::Jitter, difference, 1, None);
        }
        self.count(HistogramKind::Jitter, 0, count.saturating_sub(1).into(), None);
    }

    /// A datagram came now: is it the last of its frame?
    pub(crate) fn frame(&mut self, datagram: &[u8], now: MonoTime) {
        let Some(record) = self.frame_place.and_then(|at| FrameRecord::read(datagram.get(at..)?)) else {
            return;
        };
        self.number(record.frame);
        let is_last = record.remaining as usize == datagram.len();
        if let (true, Some(start)) = (is_last && record.frame > 0, record.start) {
            let due = start.0.saturating_add(record.period.0.saturating_mul(u64::from(record.frame) - 1));
            self.piece(due.cast_signed(), u64::from(record.size), now);
        }
    }

    /// A frame or burst of this number is sent, or has come.
    pub(crate) fn number(&mut self, number: u32) {
        if number <= self.last {
            return;
        }
        let passed = u64::from(number - self.last - 1);
        self.frames.moved += 1;
        self.frames.missed += passed;
        self.frames.slips += u64::from(passed > 0);
        self.last = number;
    }

    /// A whole frame or burst is there; it was sent then, nanoseconds of the wall clock.
    pub(crate) fn piece(&mut self, sent: i64, bytes: u64, now: MonoTime) {
        let delay = self.clock.at(now).0.cast_signed().wrapping_sub(sent);
        self.pieces.add(delay, 1);
        self.piece_bytes += bytes;
        self.count(HistogramKind::Pieces, delay, 1, Some(now));
    }

    /// Adds a burst, to be reported by itself.
    pub(crate) fn burst(&mut self, burst: Burst) {
        // They are taken several times per second; the list here must not grow without end.
        if self.bursts.len() < MOST_BURSTS {
            self.bursts.push(burst);
        }
    }

    /// The wall clock at a time.
    pub(crate) fn wall(&self, at: MonoTime) -> WallTime {
        self.clock.at(at)
    }

    fn count(&mut self, kind: HistogramKind, nanos: i64, count: u64, ended: Option<MonoTime>) {
        let clock = self.clock;
        if let Some(it) = self.histograms.iter_mut().find(|it| it.kind == kind && count > 0) {
            it.bins.record(nanos, count);
            if let Some(ended) = ended.filter(|_| it.largest.is_none_or(|(most, _)| nanos > most)) {
                it.largest = Some((nanos, clock.at(ended)));
            }
        }
    }
}

impl TimedBins {
    /// Adds what was counted later.
    pub(crate) fn merge(&mut self, later: &TimedBins) {
        self.bins.merge(&later.bins);
        self.largest = self.largest.max(later.largest);
    }
}

/// The wall clock minus the monotonic one, nanoseconds.
pub(crate) fn wall_offset(clock: Clock) -> i64 {
    clock.wall.0.cast_signed().wrapping_sub(clock.mono.0.cast_signed())
}

const MOST_BURSTS: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    const SHAPE: BinShape = BinShape { width: Nanos::from_millis(1), count: 10 };
    /// The wall clock is ten seconds ahead.
    const CLOCK: Clock = Clock { mono: MonoTime(0), wall: WallTime(10_000_000_000) };

    fn counted(timed: &Timed, kind: HistogramKind) -> Vec<(u32, u64)> {
        let bins = timed.histograms.iter().find(|it| it.kind == kind).expect("such bins");
        bins.bins.filled().collect()
    }

    #[test]
    fn delays_and_their_differences_are_counted() {
        let kinds = [(HistogramKind::Delays, Some(SHAPE)), (HistogramKind::Jitter, Some(SHAPE))];
        let mut timed = Timed::new(CLOCK, &kinds);
        // Sent at 10 s and 10.005 s of the wall clock, here after 2 and 5 ms.
        timed.datagrams(2_000_000 - 10_000_000_000, 3, MonoTime(2_000_000));
        timed.datagrams(5_000_000 - 10_000_000_000, 1, MonoTime(10_000_000));
        assert_eq!(counted(&timed, HistogramKind::Delays), [(3, 3), (6, 1)]);
        assert_eq!(counted(&timed, HistogramKind::Jitter), [(1, 2), (4, 1)]);
        assert_eq!(timed.histograms[0].largest, Some((5_000_000, WallTime(10_010_000_000))));
        let before = timed.take();
        assert_eq!(before.histograms[0].bins.total(), 4);
        timed.datagrams(5_000_000 - 10_000_000_000, 1, MonoTime(20_000_000));
        assert_eq!(counted(&timed, HistogramKind::Jitter), [(1, 1)], "the delay before the look counts");
    }

    #[test]
    fn frames_passed_over_are_missed() {
        let mut timed = Timed::new(CLOCK, &[]);
        [1, 1, 2, 5, 4, 6].into_iter().for_each(|number| timed.number(number));
        assert_eq!(timed.frames, FrameCount { moved: 4, missed: 2, slips: 1 });
        timed.take();
        timed.number(8);
        assert_eq!(timed.frames, FrameCount { moved: 1, missed: 1, slips: 1 });
    }

    #[test]
    fn a_frame_ends_with_its_last_datagram() {
        let mut timed = Timed { frame_place: Some(4), ..Timed::new(CLOCK, &[]) };
        let datagram = |remaining: u32| {
            let mut bytes = vec![0; 4 + wire::iperf2::Frames::LEN];
            let record = FrameRecord {
                period: Nanos::from_millis(20),
                start: Some(WallTime(10_000_000_000)),
                previous: 1,
                frame: 2,
                size: 72,
                remaining,
            };
            record.write(&mut bytes[4..]);
            bytes
        };
        timed.frame(&datagram(72), MonoTime(21_000_000));
        assert_eq!(timed.pieces.count, 0);
        timed.frame(&datagram(36), MonoTime(23_000_000));
        assert_eq!((timed.pieces.count, timed.pieces.min, timed.piece_bytes), (1, 3_000_000, 72));
        timed.frame(b"short", MonoTime(0));
        assert_eq!(timed.frames.moved, 1);
    }
}
