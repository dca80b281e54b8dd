//! Where datagrams were lost, how they came, and their delays.

use crate::test::{Counted, Test};
use pathmeter_model::plan::{Direction, Directions, Transport};
use pathmeter_model::sample::{OneWayDelay, Transit, UdpCounters};
use pathmeter_model::stats::distribution::Distribution;
use pathmeter_model::summary::Loss;
use pathmeter_model::units::Nanos;
use serde_json::json;

fn directions(direction: Direction) -> Directions {
    match direction {
        Direction::Up => Directions::Up,
        Direction::Down => Directions::Down,
    }
}

/// A test of these streams, each as sent and as received.
fn test(direction: Direction, streams: Vec<(UdpCounters, UdpCounters)>) -> Test {
    let empty = Test::new(Transport::Udp, directions(direction));
    streams.into_iter().fold(empty, |test, (sent, received)| {
        test.stream(direction, Counted::datagrams(sent), Counted::datagrams(received))
    })
}

fn sent(datagrams: u64, send_drops: u64) -> UdpCounters {
    UdpCounters { datagrams, send_drops, ..UdpCounters::default() }
}

fn received(datagrams: u64, lost: u64, socket_drops: u64) -> UdpCounters {
    UdpCounters { datagrams, lost, socket_drops, ..UdpCounters::default() }
}

#[test]
fn the_receivers_drops_come_first_then_the_senders_and_the_path_has_the_rest() {
    // Lost, dropped by the receiver's socket, not taken by the sender's kernel; and the loss by place.
    for ((lost, in_socket, at_sender), (path, receiver, sender)) in [
        ((100, 0, 0), (100, 0, 0)),
        ((100, 30, 0), (70, 30, 0)),
        ((100, 0, 20), (80, 0, 20)),
        ((100, 30, 20), (50, 30, 20)),
        ((100, 60, 40), (0, 60, 40)),
        // Counters that see more than the test lost: what is left caps them.
        ((100, 80, 50), (0, 80, 20)),
        ((100, 150, 50), (0, 100, 0)),
        ((100, 0, 150), (0, 0, 100)),
        ((0, 9, 9), (0, 0, 0)),
    ] {
        let streams = vec![(sent(1_000, at_sender), received(1_000 - lost, lost, in_socket))];
        let found = test(Direction::Up, streams).direction(Direction::Up).loss;
        let share = lost as f64 / 1_000.0;
        assert_eq!(found, Some(Loss { path, receiver, sender, share }), "{lost} {in_socket} {at_sender}");
    }
}

#[test]
fn loss_is_summed_over_streams_and_shared_by_all_that_were_sent() {
    let streams = vec![
        (sent(1_000, 7), received(900, 100, 11)),
        (sent(2_000, 0), received(1_990, 10, 0)),
        (sent(5_000, 13), received(4_960, 40, 29)),
    ];
    let down = test(Direction::Down, streams).direction(Direction::Down);
    assert_eq!(down.loss, Some(Loss { path: 90, receiver: 40, sender: 20, share: 150.0 / 8_000.0 }));
    assert_eq!((down.sent.datagrams, down.received.datagrams), (8_000, 7_850));
    assert_eq!(down.streams.iter().map(|s| s.lost).collect::<Vec<_>>(), [Some(100), Some(10), Some(40)]);
}

#[test]
fn a_sender_that_reports_fewer_than_the_receiver_knows_of_does_not_raise_the_share() {
    let streams = vec![(sent(0, 0), received(900, 100, 0))];
    let loss = test(Direction::Up, streams).direction(Direction::Up).loss.unwrap();
    assert_eq!((loss.path, loss.share), (100, 0.1));
    let none = vec![(sent(0, 0), received(0, 0, 0))];
    assert_eq!(test(Direction::Up, none).direction(Direction::Up).loss, None, "no end counted any");
}

#[test]
fn reordered_duplicate_and_late_datagrams_have_keys_of_their_own() {
    let counters =
        |reordered, duplicates, late| UdpCounters { reordered, duplicates, late, ..received(1_000, 0, 0) };
    // The sender's figures of these are not used.
    let strange = UdpCounters { reordered: 500, duplicates: 600, late: 700, ..sent(1_000, 0) };
    let streams = vec![(strange.clone(), counters(1, 20, 300)), (strange, counters(4, 50, 600))];
    let down = test(Direction::Down, streams).direction(Direction::Down);
    let document = serde_json::to_value(&down).unwrap();
    assert_eq!(document["reordered"], json!(5));
    assert_eq!(document["duplicates"], json!(70));
    assert_eq!(document["late"], json!(900));
}

#[test]
fn jitter_is_the_mean_of_the_streams_and_its_distribution_the_worst_ones() {
    let counters = |jitter, p99| {
        let distribution = Distribution { count: 9, p99: Nanos(p99), ..Distribution::default() };
        UdpCounters { jitter: Nanos(jitter), jitter_distribution: Some(distribution), ..received(10, 0, 0) }
    };
    let streams =
        [(9_000, 50_000), (12_000, 90_000), (30_000, 70_000)].map(|(j, p)| (sent(10, 0), counters(j, p)));
    let jitter = test(Direction::Up, streams.into()).direction(Direction::Up).jitter.unwrap();
    assert_eq!(jitter.rfc3550, Nanos::from_micros(17));
    assert_eq!(jitter.distribution.map(|d| d.p99), Some(Nanos::from_micros(90)));
}

/// Two streams' transit times: 1,000,300 to 1,002,000 ns, 1,000,900 on average.
fn transits(direction: Direction, sign: i64) -> Test {
    let transit = |min, mean, max| {
        let base = sign * 1_000_000;
        let transit = Transit { min_ns: base + min, mean_ns: base + mean, max_ns: base + max };
        UdpCounters { transit: Some(transit), ..received(10, 0, 0) }
    };
    let streams = vec![(sent(10, 0), transit(400, 800, 2_000)), (sent(10, 0), transit(300, 1_000, 1_500))];
    test(direction, streams)
}

fn one_way(test: &Test, direction: Direction) -> Option<OneWayDelay> {
    test.direction(direction).one_way
}

#[test]
fn the_clock_offset_is_taken_off_upwards_and_added_downwards() {
    let delay = |error| {
        let (min, mean, max) = (Nanos::from_nanos(300), Nanos::from_nanos(900), Nanos::from_micros(2));
        Some(OneWayDelay { min, mean, max, error: Nanos(error) })
    };
    // The peer's clock is a millisecond ahead: upwards it receives, and its stamps are that much too late.
    assert_eq!(one_way(&transits(Direction::Up, 1).clock(1_000_000, 20), Direction::Up), delay(20));
    // Downwards it sends, and transit looks shorter by as much.
    assert_eq!(one_way(&transits(Direction::Down, -1).clock(1_000_000, 20), Direction::Down), delay(20));
    // With the receiver's clock behind, the signs are reversed.
    assert_eq!(one_way(&transits(Direction::Up, -1).clock(-1_000_000, 20), Direction::Up), delay(20));
    assert_eq!(one_way(&transits(Direction::Down, 1).clock(-1_000_000, 20), Direction::Down), delay(20));
}

#[test]
fn a_one_way_delay_within_the_clocks_error_is_not_reported() {
    let up = |error| one_way(&transits(Direction::Up, 1).clock(1_000_000, error), Direction::Up);
    assert_eq!(
        up(299).map(|delay| (delay.min, delay.error)),
        Some((Nanos::from_nanos(300), Nanos::from_nanos(299)))
    );
    assert_eq!(up(300), None);
    // With an offset that makes the smallest negative, and without a comparison of the clocks, there is none.
    assert_eq!(one_way(&transits(Direction::Up, 1).clock(1_000_301, 0), Direction::Up), None);
    assert_eq!(one_way(&transits(Direction::Up, 1), Direction::Up), None);
}
