//! A path that loses, doubles, swaps and delays: each kind is counted apart and exactly, a reply is measured however late, and
//! a loss holds ping-pong up for no longer than replies take.

use super::common::{Foreign, counts, latency, only_egress};
use super::relay::{Delivery, Number, Relay, sockperf_number, stamp_number};
use serde_json::Value;
use std::time::Duration;

const NAMES: [&str; 7] = ["sent", "received", "lost", "late", "duplicates", "reordered", "strays"];

fn all_kinds(number: u64) -> Delivery {
    match number {
        33 => Delivery::Delay(Duration::from_millis(2500)),
        n if n.is_multiple_of(10) => Delivery::Lose,
        n if n % 10 == 5 => Delivery::Double,
        n if n % 10 == 7 => Delivery::Swap,
        _ => Delivery::Pass,
    }
}

fn some_lost_some_doubled(number: u64) -> Delivery {
    match number {
        n if n.is_multiple_of(10) => Delivery::Lose,
        n if n % 10 == 5 => Delivery::Double,
        _ => Delivery::Pass,
    }
}

fn none(_: u64) -> Delivery {
    Delivery::Lose
}

#[test]
fn sockperf_under_load_counts_each_kind() {
    let foreign = Foreign::start(&[]);
    let run = under_load("sockperf", foreign.sockperf, sockperf_number);
    assert_eq!(
        counts(only_egress(&run), NAMES),
        [300, 270, 30, 0, 30, 31, 0],
        "{:#}",
        only_egress(&run)["counted"]
    );
    foreign.server.stop();
}

#[test]
fn stamp_under_load_counts_each_kind() {
    let foreign = Foreign::start(&[]);
    let run = under_load("stamp", foreign.stamp, stamp_number);
    assert_eq!(
        counts(only_egress(&run), NAMES),
        [300, 270, 30, 0, 30, 31, 0],
        "{:#}",
        only_egress(&run)["counted"]
    );
    // Nothing was lost on the path there: the number that is left out at the end shows that the reflector counts.
    let counted = &only_egress(&run)["counted"];
    assert_eq!(
        [&counted["lost_up"], &counted["lost_down"]].map(Value::as_u64),
        [Some(0), Some(30)],
        "{counted:#}"
    );
    foreign.server.stop();
}

#[test]
fn a_reflector_that_counts_reports_the_direction_of_the_losses() {
    // One in ten is lost there, number 100 among them, and one in ten back.
    let there = |request: &[u8]| (u32::from_be_bytes(*request.first_chunk().unwrap()) + 1).is_multiple_of(10);
    let back = |number| if number % 10 == 5 { Delivery::Lose } else { Delivery::Pass };
    for (args, reported) in [(&[][..], [Some(10), Some(10)]), (&["--stamp-stateless"], [None; 2])] {
        let foreign = Foreign::start(args);
        let relay = Relay::both(foreign.stamp, there, stamp_number, back);
        let pace = ["--mode", "under-load", "--rate", "100", "-n", "100", "--timeout", "2s"];
        let args = ["--protocol", "stamp", "--no-wire-times", "--json"];
        let run = latency(&relay.host, &[&pace[..], &args].concat()).code(0).json();
        assert_eq!(
            counts(only_egress(&run), NAMES),
            [100, 80, 20, 0, 0, 0, 0],
            "{:#}",
            only_egress(&run)["counted"]
        );
        let counted = &only_egress(&run)["counted"];
        assert_eq!([&counted["lost_up"], &counted["lost_down"]].map(Value::as_u64), reported, "{counted:#}");
        foreign.server.stop();
    }
}

#[test]
fn a_loss_holds_ping_pong_up_for_a_moment_and_the_run_goes_on() {
    let foreign = Foreign::start(&[]);
    for (protocol, port, number) in
        [("sockperf", foreign.sockperf, sockperf_number as Number), ("stamp", foreign.stamp, stamp_number)]
    {
        let relay = Relay::to(port, number, some_lost_some_doubled);
        let args = ["--protocol", protocol, "-n", "48", "--timeout", "700ms", "--no-wire-times", "--json"];
        let run = latency(&relay.host, &args).code(0).json();
        assert_eq!(counts(only_egress(&run), NAMES), [48, 44, 4, 0, 5, 0, 0], "{protocol}");
        // The first second has no round trip to go by; the last loss is waited for at the end, which is no sending time.
        let counted = &only_egress(&run)["counted"];
        assert_eq!(counted["in_flight"], Value::Null, "{counted:#}");
    }
    foreign.server.stop();
}

#[test]
fn the_times_of_packets_are_taken_on_a_path_with_losses_too() {
    let foreign = Foreign::start(&[]);
    let relay = Relay::to(foreign.sockperf, sockperf_number, some_lost_some_doubled);
    let args = ["--protocol", "sockperf", "-n", "10", "--timeout", "2s", "--json"];
    let run = latency(&relay.host, &args).code(0).json();
    let [sent, received, lost] = counts(only_egress(&run), ["sent", "received", "lost"]);
    // Replies to what was sent before, for the times of packets, are none of these.
    assert_eq!((sent, received + lost), (10, 10), "{:#}", only_egress(&run)["counted"]);
    assert_eq!((lost, counts(only_egress(&run), ["late"])), (1, [0]), "{:#}", only_egress(&run)["counted"]);
    foreign.server.stop();
}

#[test]
fn a_path_that_loses_everything_gives_no_figures() {
    let foreign = Foreign::start(&[]);
    for (protocol, port, number) in
        [("sockperf", foreign.sockperf, sockperf_number as Number), ("stamp", foreign.stamp, stamp_number)]
    {
        let relay = Relay::to(port, number, none);
        for mode in ["ping-pong", "under-load"] {
            let args = ["--protocol", protocol, "--mode", mode, "-n", "5", "--timeout", "300ms"];
            let ended = latency(&relay.host, &[&args[..], &["--no-wire-times", "--json"]].concat()).code(3);
            let ended = ended.prints("no reply").prints(&relay.host);
            let run = ended.json();
            assert_eq!(
                counts(only_egress(&run), ["sent", "received", "lost"]),
                [5, 0, 5],
                "{protocol} {mode}"
            );
            assert_eq!(
                (&only_egress(&run)["rtt_ns"], &run["verdict"]["status"]),
                (&Value::Null, &"void".into())
            );
        }
    }
    foreign.server.stop();
}

/// 300 messages in 3 s: of each ten one is lost, one doubled, one comes after the next; and one comes after its timeout.
#[track_caller]
fn under_load(protocol: &str, port: u16, number: Number) -> Value {
    let relay = Relay::to(port, number, all_kinds);
    let pace = ["--mode", "under-load", "--rate", "100", "-n", "300", "--timeout", "2s"];
    let args = ["--protocol", protocol, "--no-wire-times", "--json"];
    latency(&relay.host, &[&pace[..], &args].concat()).code(0).json()
}
