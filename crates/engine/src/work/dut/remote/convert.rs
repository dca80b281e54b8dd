//! Conversions between the types of a port and those of the control connection.

use super::super::local::Addressing;
use super::super::port::Counted;
use frames::{Arrived, Burst, FrameSpec, Outer, Pace, Ports, Sent, Silence};
use model::stats::histogram::Histogram;
use model::time::MonoTime;
use model::units::Bytes;
use wire::native::EthernetAddress;
use wire::native::frames::{
    FrameBurst, FramePace, FrameSpec as WireSpec, FramesAddressing, FramesCounted, FramesSent, FramesSilence,
    FramesVariation,
};

pub(super) fn spec_out(spec: &FrameSpec) -> WireSpec {
    WireSpec {
        source_mac: EthernetAddress::new(spec.source_mac),
        destination_mac: EthernetAddress::new(spec.destination_mac),
        source: spec.source,
        destination: spec.destination,
        hop_limit: spec.hop_limit,
        ports: match spec.ports {
            Ports::Fixed { source, destination } => Some((source, destination)),
            Ports::Random => None,
        },
        vlan: spec.vlan,
        outer: spec.outer.map(|Outer { source, destination }| (source, destination)),
        sizes: spec.sizes.clone(),
        tag: spec.tag,
    }
}

pub(super) fn spec_in(spec: &WireSpec) -> FrameSpec {
    FrameSpec {
        source_mac: spec.source_mac.bytes(),
        destination_mac: spec.destination_mac.bytes(),
        source: spec.source,
        destination: spec.destination,
        hop_limit: spec.hop_limit,
        ports: spec.ports.map_or(Ports::Random, |(source, destination)| Ports::Fixed { source, destination }),
        vlan: spec.vlan,
        outer: spec.outer.map(|(source, destination)| Outer { source, destination }),
        sizes: spec.sizes.clone(),
        tag: spec.tag,
    }
}

pub(super) fn burst_out(burst: &Burst) -> FrameBurst {
    let then = burst.then.map(|Pace { frames, interval_ps }| FramePace { frames, interval_ps });
    // Where the time is not limited the far end's own limit is.
    let time = burst.time.min(wire::native::MAX_TIME);
    FrameBurst { frames: burst.frames, interval_ps: burst.interval_ps, then, time }
}

pub(super) fn burst_in(burst: &FrameBurst) -> Burst {
    let then = burst.then.map(|FramePace { frames, interval_ps }| Pace { frames, interval_ps });
    Burst { frames: burst.frames, interval_ps: burst.interval_ps, then, time: burst.time }
}

pub(super) fn sent_out(sent: &Sent) -> FramesSent {
    let Sent { frames, time, late, held, gaps } = *sent;
    FramesSent { frames, time, late, held, gaps }
}

pub(super) fn sent_in(sent: &FramesSent) -> Sent {
    let FramesSent { frames, time, late, held, gaps } = *sent;
    Sent { frames, time, late, held, gaps }
}

/// Counts until `now`.
pub(super) fn counted_out(counted: &Counted, now: MonoTime) -> FramesCounted {
    let arrived = &counted.arrived;
    let ended = counted.at.unwrap_or(now);
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
            ago: ended.saturating_since(silence.first),
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
    Counted { arrived, last_missing: counted.last_missing, at: Some(now) }
}

pub(super) fn addressing_out(addressing: &Addressing) -> FramesAddressing {
    FramesAddressing { addresses: addressing.addresses.clone(), gateways: addressing.gateways.clone() }
}

pub(super) fn addressing_in(addressing: &FramesAddressing) -> Addressing {
    Addressing { addresses: addressing.addresses.clone(), gateways: addressing.gateways.clone() }
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
    use model::units::Nanos;
    use proptest::prelude::*;
    use std::net::Ipv6Addr;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn what_is_sent_means_the_same_at_the_other_end() {
        let spec = FrameSpec {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source: [198, 18, 0, 1].into(),
            destination: [198, 19, 0, 1].into(),
            hop_limit: 3,
            ports: Ports::Random,
            vlan: Some(9),
            outer: Some(Outer { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED }),
            sizes: vec![Bytes(68), Bytes(1522)],
            tag: 17,
        };
        assert_eq!(spec_in(&spec_out(&spec)), spec);
        let fixed = FrameSpec { ports: Ports::Fixed { source: 1, destination: 2 }, ..spec };
        assert_eq!(spec_in(&spec_out(&fixed)), fixed);
        let then = Some(Pace { frames: 5, interval_ps: 7 });
        let burst = Burst { frames: 3, interval_ps: 9, then, time: Nanos(11) };
        assert_eq!(burst_in(&burst_out(&burst)), burst);
        let endless = Burst { time: Nanos::MAX, ..burst };
        assert_eq!(burst_out(&endless).time, wire::native::MAX_TIME);
        let sent = Sent { frames: 1, time: Nanos(2), late: Nanos(3), held: Nanos(4), gaps: 5 };
        assert_eq!(sent_in(&sent_out(&sent)), sent);
    }

    #[test]
    fn a_silence_is_as_long_and_as_long_ago_on_either_clock() {
        let silence = Some(Silence { last: MonoTime(1000), first: MonoTime(1500) });
        let arrived = Arrived { frames: 2, silence, ..Arrived::default() };
        let counted = Counted { arrived, last_missing: Some(4), at: Some(MonoTime(2000)) };
        let reply = counted_in(&counted_out(&counted, MonoTime(2100)), MonoTime(70_000));
        assert_eq!(reply.arrived.silence, Some(Silence { last: MonoTime(69_000), first: MonoTime(69_500) }));
        assert_eq!((reply.arrived.frames, reply.last_missing), (2, Some(4)));
        // A liar's silence from before this host's start.
        let liar = FramesSilence { time: Nanos(1 << 59), ago: Nanos(1 << 59) };
        let counted = FramesCounted { silence: Some(liar), ..FramesCounted::default() };
        assert_eq!(
            counted_in(&counted, MonoTime(5)).arrived.silence.map(|silence| silence.time()),
            Some(Nanos(0))
        );
    }

    #[test]
    fn no_list_is_longer_than_a_message() {
        let histogram = of(&(0..1_000_000_u64).map(|n| n * n * 37).collect::<Vec<_>>());
        let rows = rows(&histogram);
        assert!(rows.len() <= MOST_ROWS + 1, "{}", rows.len());
        assert_eq!(rows.iter().map(|row| row.1).sum::<u64>(), 1_000_000);
        assert_eq!((rows.first().unwrap().0, Some(rows.last().unwrap().0)), (0, histogram.max()));
    }

    proptest! {
        #[test]
        fn a_histogram_has_its_count_least_and_most(values in prop::collection::vec(0_u64..1 << 40, 0..50)) {
            let original = of(&values);
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
