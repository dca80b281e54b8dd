//! Conversions between the types of a port and those of the control connection.

use super::super::port::Counted;
use frames::{Arrived, Burst, Silence};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::Bytes;
use wire::native::frames::{FramesCounted, FramesSilence, FramesVariation};

/// A burst without a limit of time gets the longest that the far end takes.
pub(super) fn limited(burst: &Burst) -> Burst {
    Burst { time: burst.time.min(wire::native::MAX_TIME), ..*burst }
}

/// Counts of a port of this host.
pub(super) fn counted_out(counted: &Counted) -> FramesCounted {
    let arrived = &counted.arrived;
    FramesCounted {
        frames: arrived.frames,
        bytes: Bytes(arrived.bytes),
        duplicates: arrived.duplicates,
        reordered: arrived.reordered,
        unchecked: arrived.unchecked,
        others: arrived.others,
        last_missing: counted.last_missing,
        variation: arrived
            .variation
            .as_ref()
            .map(|(shorter, longer)| FramesVariation { shorter: rows(shorter), longer: rows(longer) }),
        silence: arrived.silence.map(|silence| FramesSilence {
            time: silence.time(),
            ago: counted.at.saturating_since(silence.first),
        }),
    }
}

/// Counts of the far port. Its clock is another one, so delays are not known; differences of delays and the length of a silence
/// are, and its time on this host's clock to within the delay of the answer.
pub(super) fn counted_in(counted: &FramesCounted, now: MonoTime) -> Counted {
    let silence = counted.silence.map(|FramesSilence { time, ago }| {
        let first = MonoTime(now.0.saturating_sub(ago.0));
        Silence { last: MonoTime(first.0.saturating_sub(time.0)), first }
    });
    let arrived = Arrived {
        frames: counted.frames,
        bytes: counted.bytes.0,
        duplicates: counted.duplicates,
        reordered: counted.reordered,
        unchecked: counted.unchecked,
        others: counted.others,
        delays: None,
        variation: counted
            .variation
            .as_ref()
            .map(|reply| (histogram(&reply.shorter), histogram(&reply.longer))),
        silence,
    };
    Counted { arrived, last_missing: counted.last_missing, at: now }
}

/// The buckets of a histogram, no more than a message has room for; the least and the most value as they are.
fn rows(histogram: &Histogram) -> Vec<(u64, u64)> {
    let buckets: Vec<(u64, u64)> =
        histogram.buckets().map(|(values, count)| (*values.end(), count)).collect();
    let together = buckets.len().div_ceil(MOST_ROWS).max(1);
    let mut rows: Vec<(u64, u64)> = buckets
        .chunks(together)
        .filter_map(|rows| Some((rows.last()?.0, rows.iter().map(|row| row.1).sum())))
        .collect();
    if let (Some(last), Some(max)) = (rows.last_mut(), histogram.max()) {
        last.0 = max;
    }
    // A single bucket holds the least and the most: one of its values goes out as the least.
    if let (Some(first), Some(min)) = (rows.first_mut(), histogram.min())
        && first.0 != min
    {
        first.1 -= 1;
        let rest = *first;
        *first = (min, 1);
        if rest.1 > 0 {
            rows.insert(1, rest);
        }
    }
    rows
}

fn histogram(rows: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::default();
    rows.iter().for_each(|(value, count)| histogram.record_n(*value, *count));
    histogram
}

/// Two such lists are well below the longest message.
const MOST_ROWS: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use frames::Pace;
    use model::units::Nanos;
    use proptest::prelude::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn a_burst_takes_no_longer_than_the_far_end_allows() {
        let then = Some(Pace { frames: 5, interval_ps: 7 });
        let burst = Burst { frames: 3, interval_ps: 9, then, time: Nanos::from_nanos(11) };
        assert_eq!(limited(&burst), burst);
        let endless = Burst { time: Nanos::MAX, ..burst };
        assert_eq!(limited(&endless), Burst { time: wire::native::MAX_TIME, ..burst });
    }

    #[test]
    fn a_silence_is_as_long_and_as_long_ago_on_either_clock() {
        let silence = Some(Silence { last: MonoTime(1000), first: MonoTime(1500) });
        let arrived = Arrived { frames: 2, silence, ..Arrived::default() };
        let counted = Counted { arrived, last_missing: Some(4), at: MonoTime(2000) };
        let reply = counted_in(&counted_out(&counted), MonoTime(70_000));
        assert_eq!(reply.arrived.silence, Some(Silence { last: MonoTime(69_000), first: MonoTime(69_500) }));
        assert_eq!((reply.arrived.frames, reply.last_missing), (2, Some(4)));
        // A liar's silence from before this host's start.
        let liar = FramesSilence { time: Nanos::from_nanos(1 << 59), ago: Nanos::from_nanos(1 << 59) };
        let counted = FramesCounted { silence: Some(liar), ..FramesCounted::default() };
        assert_eq!(
            counted_in(&counted, MonoTime(5)).arrived.silence.map(|silence| silence.time()),
            Some(Nanos::ZERO)
        );
    }

    #[test]
    fn no_list_is_longer_than_a_message() {
        let histogram = histogram_of(&(0..1_000_000_u64).map(|n| n * n * 37).collect::<Vec<_>>());
        let rows = rows(&histogram);
        assert!(rows.len() <= MOST_ROWS + 1, "{}", rows.len());
        assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), 1_000_000);
        assert_eq!((rows.first().unwrap().0, Some(rows.last().unwrap().0)), (0, histogram.max()));
    }

    proptest! {
        #[test]
        fn a_histogram_has_its_count_least_and_most(values in prop::collection::vec(0_u64..1 << 40, 0..50)) {
            let original = histogram_of(&values);
            let copy = histogram(&rows(&original));
            prop_assert_eq!(copy.count(), original.count());
            prop_assert_eq!((copy.min(), copy.max()), (original.min(), original.max()));
            for rank in 1..=original.count() {
                let (own, other) = (original.values_at_rank(rank).unwrap(), copy.values_at_rank(rank).unwrap());
                let near = own.end().abs_diff(*other.end()) <= own.end() / 1000;
                prop_assert!(near, "{own:?} {other:?}");
            }
        }
    }
}
