//! Converts the engine's round trips to SockPerf's records: every message that requested a reply, in the order of sending.

use crate::sockperf::output::Record;
use engine::work::latency::raw::RoundTrip;
use model::units::Nanos;

/// The records of a test over several sockets, with the numbers that the messages have when they are counted over all of them
/// in the order of sending. `asked` is the number of messages that requested a reply on each.
pub(super) fn of_all(trips: Vec<RoundTrip>, asked: &[u64], every: u64) -> Vec<Record> {
    let mut apart: Vec<Vec<RoundTrip>> = asked.iter().map(|_| Vec::new()).collect();
    for trip in trips {
        if let Some(egress) = apart.get_mut(trip.egress) {
            egress.push(trip);
        }
    }
    let of_socket = |(socket, (trips, asked)): (usize, (Vec<RoundTrip>, &u64))| {
        records(trips, *asked, every).into_iter().map(move |record| Record { socket, ..record })
    };
    let mut all: Vec<Record> = apart.into_iter().zip(asked).enumerate().flat_map(of_socket).collect();
    all.sort_by_key(|record| (record.sent, record.sequence, record.socket));
    (1..)
        .zip(&mut all)
        .for_each(|(number, record): (u64, _)| record.sequence = number.saturating_mul(every.max(1)));
    all
}

/// The records of a test in which `asked` messages requested a reply, one in `every`. The engine keeps no time of sending of
/// those that were lost: each is taken to have been sent with what the test did just before.
fn records(mut trips: Vec<RoundTrip>, asked: u64, every: u64) -> Vec<Record> {
    trips.sort_unstable_by_key(|trip| trip.message);
    let mut records: Vec<Record> = Vec::with_capacity(trips.len());
    let missing = |records: &mut Vec<Record>, until: u64, sent: Nanos| {
        let first = records.last().map_or(every, |last| last.sequence.saturating_add(every));
        let numbers = (first..until).step_by(usize::try_from(every.max(1)).unwrap_or(usize::MAX));
        records.extend(numbers.map(|sequence| Record { sequence, socket: 0, sent, received: None }));
    };
    let mut latest = trips.first().map_or(Nanos::ZERO, |trip| trip.sent);
    for trip in trips {
        missing(&mut records, trip.message, latest.min(trip.sent));
        latest = trip.sent.max(latest);
        let (sequence, sent, received) = (trip.message, trip.sent, Some(trip.received));
        records.push(Record { sequence, socket: 0, sent, received });
    }
    missing(&mut records, asked.saturating_add(1).saturating_mul(every), latest);
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(message: u64, sent: u64, received: u64) -> RoundTrip {
        RoundTrip { egress: 0, message, sent: Nanos(sent), received: Nanos(received) }
    }

    fn figures(records: &[Record]) -> Vec<(u64, u64, Option<u64>)> {
        records
            .iter()
            .map(|record| (record.sequence, record.sent.0, record.received.map(|at| at.0)))
            .collect()
    }

    #[test]
    fn the_lost_ones_stand_where_they_were_sent() {
        let trips = vec![trip(4, 40, 49), trip(2, 20, 25), trip(7, 70, 71)];
        assert_eq!(
            figures(&records(trips, 8, 1)),
            [
                (1, 20, None),
                (2, 20, Some(25)),
                (3, 20, None),
                (4, 40, Some(49)),
                (5, 40, None),
                (6, 40, None),
                (7, 70, Some(71)),
                (8, 70, None),
            ]
        );
    }

    #[test]
    fn one_message_in_ten() {
        let trips = vec![trip(10, 1, 2), trip(30, 3, 4)];
        assert_eq!(
            figures(&records(trips, 4, 10)),
            [(10, 1, Some(2)), (20, 1, None), (30, 3, Some(4)), (40, 3, None)]
        );
        assert_eq!(figures(&records(Vec::new(), 2, 5)), [(5, 0, None), (10, 0, None)]);
    }

    #[test]
    fn several_sockets_take_turns() {
        let second = |trip: RoundTrip| RoundTrip { egress: 1, ..trip };
        let trips = vec![trip(1, 10, 12), second(trip(1, 20, 22)), trip(2, 30, 32), second(trip(3, 60, 62))];
        let all = of_all(trips, &[3, 3], 1);
        assert_eq!(
            figures(&all),
            [
                (1, 10, Some(12)),
                (2, 20, Some(22)),
                (3, 20, None),
                (4, 30, Some(32)),
                (5, 30, None),
                (6, 60, Some(62)),
            ]
        );
    }
}
