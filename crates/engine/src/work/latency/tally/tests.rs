//! The figures of paths whose truth is known: of every protocol, whatever the path does.

use super::super::link::{Delivery, Link, Rule, Sending, Truth, figures};
use super::*;
use model::latency::LatencyProtocol;
use model::time::WallTime;
use wire::echo::{Exchange, Reflect};
use wire::{iperf2, sockperf, stamp};

const MS: u64 = 1_000_000;

fn ms(time: u64) -> Nanos {
    Nanos(time * MS)
}

/// A client and a server of a protocol, and whether replies say how many came before.
type Pair = (LatencyProtocol, Box<dyn Exchange>, Box<dyn Reflect>, bool);

/// A pair of each protocol.
fn pairs() -> Vec<Pair> {
    let clock = stamp::Clock { mono: MonoTime(0), wall: WallTime(1_700_000_000_000_000_000) };
    let sender = |far_counts| {
        let error = Nanos::from_millis(1);
        let format = stamp::Format::Ntp;
        let options =
            stamp::SenderOptions { clock, format, synced: false, error, ssid: 0, key: None, far_counts };
        Box::new(stamp::Sender::new(options))
    };
    let reflector = |stateful| {
        let (format, error) = (stamp::Format::Ntp, Nanos::from_millis(1));
        Box::new(stamp::Reflector::new(stamp::ReflectorOptions {
            clock,
            format,
            synced: false,
            error,
            stateful,
            key: None,
        }))
    };
    let twamp = Box::new(stamp::Reflector::twamp(clock, Nanos::from_millis(1), 0));
    vec![
        (
            LatencyProtocol::Native,
            Box::new(sockperf::Client::native(64)),
            Box::new(sockperf::Responder::native(64)),
            false,
        ),
        (
            LatencyProtocol::Sockperf,
            Box::new(sockperf::Client::new(64)),
            Box::new(sockperf::Responder::new(64)),
            false,
        ),
        (LatencyProtocol::Stamp, sender(false), reflector(true), true),
        (LatencyProtocol::Stamp, sender(false), reflector(false), false),
        (LatencyProtocol::Twamp, sender(true), twamp, true),
        // Over TCP the path's losses are delays; a record that never comes is one of a connection that stalled.
        (
            LatencyProtocol::Iperf2,
            Box::new(iperf2::Bouncer::new(clock, 0)),
            Box::new(iperf2::Bounce { clock }),
            false,
        ),
    ]
}

/// Every protocol over such a path, warmed up before.
fn each(
    rules: [Rule; 2],
    sending: Sending,
    seconds: u64,
    check: impl Fn(LatencyProtocol, Totals, Truth, bool),
) {
    for (protocol, exchange, reflect, counts) in pairs() {
        let link = Link::new(exchange, reflect, rules).warm_up(20);
        let (totals, truth) = link.run(sending, Nanos::from_secs(seconds));
        check(protocol, totals, truth, counts);
    }
}

const MODES: [Sending; 2] = [Sending::PingPong, Sending::Every(Nanos::from_nanos(20 * MS))];

fn steady(_: u64, _: Nanos) -> Delivery {
    Delivery::After(ms(1))
}

#[test]
fn losses_are_counted_in_the_direction_in_which_they_were() {
    // The first and the last messages too, and some in a row.
    let drops: [Rule; 4] = [
        |number, _| if number > 20 && number % 7 == 3 { Delivery::Dropped } else { Delivery::After(ms(1)) },
        |number, _| if number == 22 { Delivery::Dropped } else { Delivery::After(ms(1)) },
        |_, at| if at >= ms(2_900) { Delivery::Dropped } else { Delivery::After(ms(1)) },
        |number, at| match number {
            _ if at < ms(1_200) => Delivery::After(ms(1)),
            number if number % 5 == 0 => Delivery::Dropped,
            number if number % 5 == 1 => Delivery::Twice(ms(1)),
            _ => Delivery::After(ms(1 + number % 3 * 4)),
        },
    ];
    for drop in drops {
        for mode in MODES {
            for direction in [0, 1] {
                let mut rules: [Rule; 2] = [steady; 2];
                rules[direction] = drop;
                each(rules, mode, 2, |protocol, totals, truth, counts| {
                    let counted = totals.counted;
                    let name = format!("{protocol} {mode:?} {direction}: {counted:?} {truth:?}");
                    assert_eq!(counted.lost, truth.dropped[direction], "{name}");
                    assert_eq!(
                        (counted.received + counted.lost, counted.in_flight),
                        (counted.sent, 0),
                        "{name}"
                    );
                    let reported = [counted.lost_up, counted.lost_down];
                    let known = if counts && counted.lost > 0 { truth.dropped.map(Some) } else { reported };
                    assert_eq!(reported, known, "{name}");
                    assert!(counts || reported == [None; 2], "{name}: nothing is known of it");
                });
            }
        }
    }
}

#[test]
fn a_round_trip_that_steps_up_is_measured_and_no_outage() {
    for (to, mode) in [(82, MODES[0]), (82, MODES[1]), (401, MODES[0]), (401, MODES[1])] {
        let rule: Rule = match to {
            82 => |_, at| Delivery::After(if at < ms(5_000) { ms(1) } else { ms(81) }),
            _ => |_, at| Delivery::After(if at < ms(5_000) { ms(1) } else { ms(400) }),
        };
        each([rule, steady], mode, 12, |protocol, totals, _, _| {
            let counted = totals.counted;
            assert_eq!(figures(&counted), [counted.sent, counted.sent, 0, 0], "{protocol} {mode:?}");
            let rtt = totals.rtt.unwrap();
            assert_eq!((rtt.max, rtt.missing), (ms(to), 0), "{protocol} {mode:?}");
            assert_eq!(totals.outages, []);
            let [shift] = totals.shifts[..] else { panic!("{protocol} {mode:?}: {:?}", totals.shifts) };
            assert_eq!((shift.from, shift.to), (ms(2), ms(to)), "{protocol} {mode:?}");
            assert!(shift.at.0.abs_diff(4_000 * MS) < 100 * MS, "{shift:?}");
        });
    }
}

#[test]
fn long_round_trips_are_measured() {
    for (rule, rtt) in [(after_1499 as Rule, 1_500), (after_4799, 4_800)] {
        for mode in MODES {
            each([rule, steady], mode, 12, |protocol, totals, _, _| {
                let found = totals.rtt.unwrap();
                assert_eq!((found.min, found.max), (ms(rtt), ms(rtt)), "{protocol} {mode:?}");
                assert_eq!(figures(&totals.counted)[2..], [0, 0], "{protocol} {mode:?} {:?}", totals.counted);
            });
        }
    }
}

fn after_1499(_: u64, _: Nanos) -> Delivery {
    Delivery::After(ms(1_499))
}

fn after_4799(_: u64, _: Nanos) -> Delivery {
    Delivery::After(ms(4_799))
}

/// Held for half a second every three.
fn stalls(_: u64, at: Nanos) -> Delivery {
    let since = at.0 % (3_000 * MS);
    Delivery::After(Nanos((500 * MS).saturating_sub(since)) + ms(1))
}

#[test]
fn stalls_are_in_the_tail_and_no_loss() {
    for mode in MODES {
        each([stalls, steady], mode, 12, |protocol, totals, _, _| {
            let (rtt, counted) = (totals.rtt.unwrap(), totals.counted);
            assert_eq!(figures(&counted), [counted.sent, counted.sent, 0, 0], "{protocol} {mode:?}");
            assert!(rtt.max > ms(480), "{protocol} {mode:?} {rtt:?}");
            assert_eq!((totals.outages.len(), totals.shifts.len()), (0, 0), "{protocol} {:?}", totals.shifts);
        });
    }
    // At a rate a sixth of the messages is in a stall.
    each([stalls, steady], MODES[1], 12, |protocol, totals, _, _| {
        let rtt = totals.rtt.unwrap();
        assert!(rtt.p99 > ms(450) && rtt.p90 > ms(150), "{protocol}: {rtt:?}");
    });
}

#[test]
fn outages_have_a_begin_a_length_and_their_messages() {
    for (rule, length) in [(cut_300 as Rule, 300), (cut_700, 700)] {
        for mode in MODES {
            each([rule, steady], mode, 6, |protocol, totals, truth, _| {
                let [outage] = totals.outages[..] else {
                    panic!("{protocol} {mode:?}: {:?}", totals.outages)
                };
                assert_eq!(outage.missing, Some(truth.dropped[0]), "{protocol} {mode:?}");
                assert!(
                    outage.ended && outage.length.0.abs_diff(length * MS) <= 20 * MS,
                    "{mode:?} {outage:?}"
                );
                assert!(outage.at.0.abs_diff(2_000 * MS) <= 20 * MS, "{mode:?} {outage:?}");
            });
        }
    }
}

/// The warm-up takes the first second.
fn cut_300(_: u64, at: Nanos) -> Delivery {
    if (ms(3_000)..ms(3_300)).contains(&at) { Delivery::Dropped } else { Delivery::After(ms(1)) }
}

fn cut_700(_: u64, at: Nanos) -> Delivery {
    if (ms(3_000)..ms(3_700)).contains(&at) { Delivery::Dropped } else { Delivery::After(ms(1)) }
}

#[test]
fn a_path_that_is_cut_is_silent_to_the_end() {
    let rule: Rule = |_, at| if at >= ms(4_000) { Delivery::Dropped } else { Delivery::After(ms(1)) };
    for mode in MODES {
        each([rule, steady], mode, 6, |protocol, totals, truth, _| {
            let [outage] = totals.outages[..] else { panic!("{protocol} {mode:?}: {:?}", totals.outages) };
            assert!(!outage.ended && outage.at.0.abs_diff(3_000 * MS) <= 20 * MS, "{protocol} {outage:?}");
            assert_eq!(outage.missing, Some(truth.dropped[0]), "{protocol} {mode:?}");
        });
    }
}

#[test]
fn a_percentile_that_lost_messages_reach_is_a_bound() {
    let rule: Rule = |number, at| match number {
        _ if at < ms(1_000) => Delivery::After(ms(1)),
        number if number % 50 == 7 => Delivery::Dropped,
        number => Delivery::After(ms(1) + Nanos(number * 1000)),
    };
    each([rule, steady], Sending::Every(ms(10)), 10, |protocol, totals, truth, _| {
        let rtt = totals.rtt.unwrap();
        assert_eq!((rtt.missing, rtt.count), (truth.dropped[0], 1000 - truth.dropped[0]), "{protocol}");
        let standing = [50.0, 90.0, 99.0].map(|percent| rtt.standing(percent));
        assert_eq!(standing, [Standing::Known, Standing::Known, Standing::AtLeast], "{protocol}");
        assert!(rtt.p99 < rtt.max && rtt.p99 > rtt.p90, "{protocol}: {rtt:?}");
        assert!(totals.percentiles.iter().all(|one| one.percent < 98.5), "{:?}", totals.percentiles);
    });
}

/// A message every 100 ms, answered at once where `answered` reports it, and given up after 50 ms.
fn outages(count: u64, answered: fn(u64) -> bool) -> Vec<Silence> {
    let at = |millis: u64| MonoTime(0) + Nanos::from_millis(millis);
    let gather =
        Gather { started: at(0), room: 8, last_number: 0, warm_up: None, scheduled: false, raw: None };
    let mut tally = Tally::new(gather);
    for number in 1..=count {
        let now = at(number * 100);
        tally.sent(now, now, true);
        if answered(number) {
            tally.reply(number, at(number * 100 + 1), None);
        }
        tally.expire(at(number * 100 + 50));
    }
    tally.outages(Nanos::from_millis(count * 100 + 100))
}

#[test]
fn an_outage_is_from_the_first_lost_to_the_next_answered_or_to_the_end() {
    let found = outages(50, |number| !(11..=20).contains(&number) && number != 30);
    let (from, length) = (Nanos::from_millis(1_100), Nanos::from_millis(1_000));
    assert_eq!(found, [Silence { at: from, length, ended: true, missing: Some(10) }]);
    let open = outages(50, |number| number <= 40);
    assert_eq!(
        (open[0].ended, open[0].missing, open[0].length),
        (false, Some(10), Nanos::from_millis(1_000))
    );
    assert_eq!(outages(50, |number| number % 4 > 0), [], "single losses are none");
    assert_eq!(outages(50, |_| true), []);
    assert_eq!(outages(50, |_| false), [], "of a path that never answered another finding reports");
}

#[test]
fn a_reply_after_its_message_was_given_up_is_measured_and_closes_the_gap() {
    let at = |millis: u64| MonoTime(0) + Nanos::from_millis(millis);
    let gather = Gather {
        started: at(0),
        room: 8,
        last_number: 0,
        warm_up: Some(Nanos::ZERO),
        scheduled: false,
        raw: None,
    };
    let mut tally = Tally::new(gather);
    for number in 1..=20 {
        tally.sent(at(number * 100), at(number * 100), true);
    }
    tally.reply(1, at(2_001), None);
    tally.reply(20, at(2_010), None);
    tally.expire(at(5_000));
    assert_eq!((tally.counted.lost, tally.outages(Nanos::from_secs(5)).len()), (18, 1));
    for number in 2..=19 {
        assert!(matches!(tally.reply(number, at(6_000), None), Received::First(Some(_))), "{number}");
    }
    assert_eq!((tally.counted.lost, tally.outages(Nanos::from_secs(5))), (0, Vec::new()));
    let totals = tally.finish(&HostWatch::default(), true, Nanos::from_secs(6));
    assert_eq!((totals.counted.received, totals.rtt.unwrap().max), (20, Nanos::from_millis(5_800)));
}
