//! A throughput session as part of the load: what it carried when, on this host's clock.

use model::plan::Direction;
use model::sample::{IntervalSample, Role, Side, StreamSample};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// A session of the load, from its reports.
#[derive(Debug, Default)]
pub(super) struct Flowing {
    /// Its streams in each direction.
    pub(super) streams: u32,
    /// When its data began to flow.
    pub(super) started: Option<MonoTime>,
    /// The flow has ended, with the reason if it failed.
    pub(super) ended: Option<Result<(), String>>,
    /// Payload of a full segment of its connections.
    pub(super) mss: Option<u32>,
    near: Axis,
    far: Axis,
}

/// The reports of one end. They have times since that end's own begin, which is no later than any report came here
/// less its time: the least of these differences is the begin, but for the least delay of a report.
#[derive(Debug, Default)]
struct Axis {
    zero: Option<MonoTime>,
    rows: Vec<IntervalBytes>,
}

/// The bytes transferred in one interval.
#[derive(Clone, Copy, Debug)]
struct IntervalBytes {
    start: Nanos,
    end: Nanos,
    received: u64,
    acknowledged: u64,
}

impl Flowing {
    /// A session that is to have so many streams in each direction.
    pub(super) fn new(streams: u32) -> Flowing {
        Flowing { streams, ..Flowing::default() }
    }

    /// Takes a report that came at `at`; gives the RTTs that the kernels of both ends saw on sending connections.
    pub(super) fn take(&mut self, at: MonoTime, sample: &IntervalSample) -> Vec<Nanos> {
        let axis = match sample.side {
            Side::Local => &mut self.near,
            Side::Peer => &mut self.far,
        };
        let zero = MonoTime(at.0.saturating_sub(sample.end.0));
        axis.zero = Some(axis.zero.map_or(zero, |known| known.min(zero)));
        let with_role = |role| sample.streams.iter().filter(move |row: &&StreamSample| row.role == role);
        let mss = with_role(Role::Sender).filter_map(|row| row.tcp.as_ref()).map(|tcp| tcp.send_mss).max();
        self.mss = self.mss.max(mss.filter(|mss| *mss > 0));
        let acknowledged = |row: &StreamSample| row.tcp.as_ref().map_or(0, |tcp| tcp.acknowledged.0);
        axis.rows.push(IntervalBytes {
            start: sample.start,
            end: sample.end,
            received: with_role(Role::Receiver).map(|row| row.bytes.0).sum(),
            acknowledged: with_role(Role::Sender).map(acknowledged).sum(),
        });
        let rtts = with_role(Role::Sender).filter_map(|row| row.tcp.as_ref()).map(|tcp| tcp.rtt);
        rtts.filter(|rtt| *rtt > Nanos::ZERO).collect()
    }

    /// Payload bytes received in a direction between these times; where the receiver has reported nothing, those the
    /// sender's kernel knows to have arrived.
    fn carried(&self, direction: Direction, from: MonoTime, until: MonoTime) -> f64 {
        let (receiver, sender) = direction.choose((&self.far, &self.near), (&self.near, &self.far));
        if receiver.rows.is_empty() {
            sender.within(from, until, |row| row.acknowledged)
        } else {
            receiver.within(from, until, |row| row.received)
        }
    }
}

impl Axis {
    /// The bytes of the intervals between these times, of those at the edges their share.
    fn within(&self, from: MonoTime, until: MonoTime, bytes: fn(&IntervalBytes) -> u64) -> f64 {
        let Some(zero) = self.zero else { return 0.0 };
        let share = |row: &IntervalBytes| {
            let (start, end) = (zero + row.start, zero + row.end);
            let inside = end.min(until) - start.max(from);
            bytes(row) as f64 * inside.0 as f64 / (end - start).0.max(1) as f64
        };
        self.rows.iter().map(share).sum()
    }
}

/// Payload received per second in a direction between these times, all sessions together.
pub(super) fn goodput<'a>(
    sessions: impl IntoIterator<Item = &'a Flowing>,
    direction: Direction,
    from: MonoTime,
    until: MonoTime,
) -> BitRate {
    let bytes: f64 = sessions.into_iter().map(|session| session.carried(direction, from, until)).sum();
    BitRate((bytes * 8e9 / (until - from).0.max(1) as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sample::TcpCounters;
    use model::units::Bytes;

    fn sample(side: Side, role: Role, (start, end): (u64, u64), bytes: u64) -> IntervalSample {
        let tcp = TcpCounters {
            rtt: Nanos::from_nanos(7),
            acknowledged: Bytes(bytes / 2),
            ..TcpCounters::default()
        };
        let row = StreamSample {
            stream: 0,
            direction: Direction::Up,
            role,
            bytes: Bytes(bytes),
            tcp: Some(tcp),
            udp: None,
        };
        let (start, end) = (Nanos::from_millis(start), Nanos::from_millis(end));
        IntervalSample { side, start, end, omitted: false, streams: vec![row] }
    }

    fn at(ms: u64) -> MonoTime {
        MonoTime(5_000_000_000 + ms * 1_000_000)
    }

    #[test]
    fn reports_are_placed_by_the_quickest_of_them() {
        let mut session = Flowing::new(1);
        // The far end's clock began 20 ms after the axis; one report took 3 ms, the other 300.
        for (came, span) in [(423, (0, 100)), (223, (100, 200))] {
            let report = sample(Side::Peer, Role::Receiver, span, 1_000);
            assert_eq!(session.take(at(came), &report), [], "a receiver's RTT is not that of its data");
        }
        let rate = |from, until| goodput([&session], Direction::Up, at(from), at(until));
        assert_eq!(rate(23, 223), BitRate(80_000));
        assert_eq!(rate(0, 23), BitRate(0));
        assert_eq!(rate(73, 123), BitRate(80_000), "half of one and a quarter of the other");
        assert_eq!(goodput([&session], Direction::Down, at(0), at(900)), BitRate(0));
    }

    #[test]
    fn a_silent_receiver_is_replaced_by_the_senders_kernel() {
        let mut session = Flowing::new(1);
        let own = sample(Side::Local, Role::Sender, (0, 100), 1_000);
        assert_eq!(session.take(at(100), &own), [Nanos::from_nanos(7)]);
        assert_eq!(goodput([&session], Direction::Up, at(0), at(100)), BitRate(40_000));
        session.take(at(100), &sample(Side::Peer, Role::Receiver, (0, 100), 700));
        assert_eq!(goodput([&session], Direction::Up, at(0), at(100)), BitRate(56_000));
    }
}
