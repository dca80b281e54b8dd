//! Treatment of packets by a link, as queueing disciplines of the interface by which they leave.

use crate::topology::{Queue, Shape};
use linux::netlink::{Netem, Qdisc, Tbf};
use model::units::{BitRate, Bytes, Nanos};

/// The disciplines of a shape, the first one next to the wire; none for an empty shape.
///
/// Packets are delayed first and wait for the rate afterwards, so that the queue's size is the bottleneck's alone.
pub(crate) fn disciplines(shape: &Shape, mtu: u32) -> Vec<Qdisc> {
    let delay = shape.delay.unwrap_or(Nanos::ZERO);
    let shares = [shape.loss, shape.duplicate, shape.reorder];
    let disturbs = delay.0 > 0 || shape.jitter.is_some() || shares.iter().any(|share| *share > 0.0);
    let mut chain = Vec::new();
    if disturbs {
        let limit = match (shape.rate, shape.queue) {
            (None, Some(Queue::Packets(packets))) => packets,
            (rate, _) => held(rate, delay),
        };
        chain.push(Qdisc::Netem(Netem {
            delay,
            jitter: shape.jitter.unwrap_or(Nanos::ZERO),
            loss: shape.loss,
            duplicate: shape.duplicate,
            reorder: shape.reorder,
            limit,
            rate: None,
        }));
    }
    match (shape.rate, shape.queue) {
        (Some(rate), queue) => {
            chain.push(Qdisc::Tbf(tbf(rate, queue, mtu)));
            if let Some(Queue::Packets(packets)) = queue {
                chain.push(Qdisc::Pfifo(packets));
            }
        }
        (None, Some(Queue::Packets(packets))) if !disturbs => chain.push(Qdisc::Pfifo(packets)),
        (None, Some(Queue::Bytes(bytes))) if !disturbs => chain.push(Qdisc::Bfifo(bytes)),
        (None, _) => {}
    }
    chain
}

fn tbf(rate: BitRate, queue: Option<Queue>, mtu: u32) -> Tbf {
    let frame = u64::from(mtu) + ETHERNET;
    let limit = match queue {
        Some(Queue::Bytes(bytes)) => bytes.0,
        Some(Queue::Time(time)) => rate.bytes_in(time).0,
        // The packets' own discipline below is what limits.
        Some(Queue::Packets(packets)) => u64::from(packets) * frame,
        None => rate.bytes_in(DEFAULT_QUEUE).0.max(10 * frame),
    };
    let limit = limit.max(frame);
    // Small against what any measurement sees, yet enough for timers that fire late. What leaves at once is in no need of
    // more room than there is, so that a larger packet (GSO) is cut rather than dropped.
    let burst = rate.bytes_in(BURST).0.max(2 * frame).min(limit);
    Tbf { rate, burst: Bytes(burst), limit: Bytes(limit) }
}

/// Packets in flight through a delay: small ones at the full rate, twice over.
fn held(rate: Option<BitRate>, delay: Nanos) -> u32 {
    let Some(rate) = rate else { return MOST_HELD };
    let packets = 2 * rate.bytes_in(delay).0 / SMALL_FRAME + 1000;
    u32::try_from(packets).unwrap_or(MOST_HELD).min(MOST_HELD)
}

const ETHERNET: u64 = 14;
const SMALL_FRAME: u64 = 60;
const BURST: Nanos = Nanos::from_millis(5);
const DEFAULT_QUEUE: Nanos = Nanos::from_millis(50);
const MOST_HELD: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(mbit: u64) -> Option<BitRate> {
        Some(BitRate(mbit * 1_000_000))
    }

    #[test]
    fn nothing_asked_is_nothing_done() {
        assert_eq!(disciplines(&Shape::default(), 1500), []);
    }

    #[test]
    fn a_rate_has_the_room_that_was_asked() {
        let room = |queue| match disciplines(&Shape { rate: rate(80), queue, ..Shape::default() }, 1500)[..] {
            [Qdisc::Tbf(tbf), ..] => (tbf.burst.0, tbf.limit.0),
            ref other => panic!("{other:?}"),
        };
        assert_eq!(room(None), (50_000, 500_000));
        assert_eq!(room(Some(Queue::Time(Nanos::from_secs(1)))), (50_000, 10_000_000));
        assert_eq!(room(Some(Queue::Bytes(Bytes(30_000)))), (30_000, 30_000));
        // No more is let through at once than there is room, and a frame is the least.
        assert_eq!(room(Some(Queue::Bytes(Bytes(4_000)))), (4_000, 4_000));
        assert_eq!(room(Some(Queue::Bytes(Bytes(10)))), (1_514, 1_514));
    }

    #[test]
    fn packets_are_delayed_before_they_wait_for_the_rate() {
        let shape = Shape { rate: rate(10), delay: Some(Nanos::from_millis(20)), ..Shape::default() };
        let [Qdisc::Netem(netem), Qdisc::Tbf(_)] = disciplines(&shape, 1500)[..] else {
            panic!("a delay and a rate");
        };
        assert_eq!((netem.delay, netem.rate), (Nanos::from_millis(20), None));
        assert!(netem.limit >= 1000 + 2 * 25_000 / 60, "{netem:?}");
    }

    #[test]
    fn packets_are_counted_where_packets_were_asked() {
        let queue = Some(Queue::Packets(7));
        let bare = disciplines(&Shape { queue, ..Shape::default() }, 1500);
        assert_eq!(bare, [Qdisc::Pfifo(7)]);
        let shaped = disciplines(&Shape { queue, rate: rate(10), ..Shape::default() }, 1500);
        assert_eq!(shaped[1..], [Qdisc::Pfifo(7)]);
        let lossy = disciplines(&Shape { queue, loss: 0.1, ..Shape::default() }, 1500);
        assert!(matches!(lossy[..], [Qdisc::Netem(Netem { limit: 7, .. })]), "{lossy:?}");
    }
}
