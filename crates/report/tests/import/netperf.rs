//! netperf's text, as netperf 2.7.1 printed it between two sockets of one host (`-l 1`), a file for each kind of test.

use super::{exact, fixture, near, only, warned};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::summary::DirectionSummary;
use model::units::{BitRate, Nanos};
use pathmeter_report::import::{Known, Tool, read};

/// What a netperf printed and the figure of its last column but CPUs, with the unit in bits per second.
const STREAMS: [(&str, Direction, f64, f64); 9] = [
    ("netperf-tcp-stream", Direction::Up, 1.01, 5152.26e6),
    ("netperf-tcp-stream-cpu", Direction::Up, 1.0, 6701.75e6),
    ("netperf-tcp-stream-conf", Direction::Up, 1.0, 11_783.94e6),
    ("netperf-tcp-stream-demo", Direction::Up, 1.0, 10_817.75e6),
    ("netperf-tcp-stream-name", Direction::Up, 1.0, 3172.12e6),
    ("netperf-tcp-sendfile", Direction::Up, 1.0, 6.07e9),
    ("netperf-tcp-maerts", Direction::Down, 1.0, 1325.59 * 8.0 * 1_048_576.0),
    ("netperf-udp-stream", Direction::Up, 1.01, 597.99e6),
    ("netperf-udp-stream-k", Direction::Up, 1.0, 3_699_782.56e3),
];

fn text(name: &str) -> String {
    fixture(&format!("{name}.txt"))
}

/// The only direction of a run.
fn only_direction(run: &Run) -> (Direction, &DirectionSummary) {
    match (&run.summary.up, &run.summary.down) {
        (Some(up), None) => (Direction::Up, up),
        (None, Some(down)) => (Direction::Down, down),
        other => panic!("one direction: {other:?}"),
    }
}

#[test]
fn every_stream_with_its_rate_and_time() {
    for (name, direction, seconds, rate) in STREAMS {
        let imported = exact(&text(name));
        let (found, one_way) = only_direction(&imported.run);
        assert_eq!((imported.tool, found), (Tool::Netperf, direction), "{name}");
        near(one_way.goodput.0 as f64, rate, 1e-6);
        // Times are printed with two places.
        near(one_way.elapsed.as_secs_f64(), seconds, 0.0051);
        assert_eq!(
            one_way.receiver_unknown,
            one_way.transport == Transport::Tcp && direction == Direction::Up,
            "{name}"
        );
        let named = name.ends_with("name") || name.ends_with("conf");
        let host = if named { "localhost" } else { "127.0.0.1" };
        assert_eq!(imported.run.throughput().unwrap().target.host, host, "{name}");
    }
}

#[test]
fn datagrams_at_both_ends() {
    // Sent, received, and their bytes.
    for (name, sent, received, length) in [
        ("netperf-udp-stream", 109_553, 51_421, 1472),
        ("netperf-udp-stream-k", 105_648, 56_459, 8192),
        ("netperf-udp-stream-cpu", 38_834, 20_580, 1472),
    ] {
        let imported = exact(&text(name));
        let up = imported.run.summary.up.as_ref().unwrap();
        assert_eq!((up.sent.datagrams, up.received.datagrams), (sent, received), "{name}");
        let loss = up.loss.unwrap();
        assert_eq!((loss.path, loss.receiver, loss.sender), (sent - received, 0, 0), "{name}");
        near(loss.share, (sent - received) as f64 / sent as f64, 1e-9);
        assert_eq!(up.mss, Some(length), "{name}");
        let bytes = [up.sent.bytes.0, up.received.bytes.0];
        assert_eq!(bytes, [sent, received].map(|count| count * u64::from(length)), "{name}");
    }
    // Another host than this one is behind an Ethernet, as far as the output shows.
    let far = exact(&text("netperf-udp-stream-k").replace("127.0.0.1", "10.10.10.3"));
    assert!(warned(&far, "assumed-mtu"));
    assert_eq!(far.run.summary.up.unwrap().wire.frames_per_packet, Some(6));
}

#[test]
fn transactions_are_round_trips() {
    // Transactions per second, how many are in flight at once, and the host.
    for (name, per_second, at_once, host) in [
        ("netperf-tcp-rr", 21_794.52, 1.0, "127.0.0.1"),
        ("netperf-tcp-rr-sizes", 15_987.16, 1.0, "127.0.0.1"),
        ("netperf-tcp-rr-cpu", 49_496.66, 1.0, "127.0.0.1"),
        ("netperf-tcp-rr-v6", 51_373.88, 1.0, "::1"),
        ("netperf-tcp-rr-burst", 73_862.43, 4.0, "127.0.0.1"),
        ("netperf-udp-rr", 33_742.15, 1.0, "127.0.0.1"),
        ("netperf-tcp-crr", 10_830.73, 1.0, "127.0.0.1"),
    ] {
        let imported = exact(&text(name));
        let egress = &imported.run.summary.egress_paths[0];
        let rtt = egress.rtt.unwrap();
        assert_eq!(rtt.mean, Nanos((at_once / per_second * 1e9) as u64), "{name}");
        near(rtt.count as f64, per_second, 0.0101);
        assert_eq!((imported.tool, egress.host.as_str()), (Tool::Netperf, host), "{name}");
        assert!(warned(&imported, "mean-alone"), "{name}");
        assert_eq!(warned(&imported, "connects-too"), name.ends_with("crr"), "{name}");
    }
}

#[test]
fn a_link_and_an_mss_that_are_known() {
    let known = Known { link: Some(BitRate(10_000_000_000)), mss: Some(1448) };
    let run = &read("x", &text("netperf-tcp-stream"), known).unwrap()[0].run;
    // 1538 bytes on the wire for 1448 of payload.
    let share = run.summary.up.as_ref().unwrap().wire.line_rate_share.unwrap();
    near(share, 0.515_226 * 1538.0 / 1448.0, 1e-6);
}

#[test]
fn an_omni_test_is_read_by_the_names_of_its_columns() {
    let imported = only(&text("netperf-omni"));
    let up = imported.run.summary.up.as_ref().unwrap();
    near(up.goodput.0 as f64, 11_279.40e6, 1e-6);
    assert_eq!(up.elapsed, Nanos::from_millis(1010));
    // What is not selected by a name that is known is no figure.
    let other = text("netperf-omni").replace("Throughput", "Something");
    assert!(read("x", &other, Known::default()).is_err());
}

#[test]
fn many_in_one_and_cut_ones() {
    let outputs = ["netperf-tcp-stream", "netperf-udp-stream", "netperf-tcp-rr"].map(text);
    let log = format!("$ netperf\n{}\n{}", outputs.concat(), super::qperf::PLAIN);
    let all = read("log", &log, Known::default()).unwrap();
    let tools: Vec<Tool> = all.iter().map(|one| one.tool).collect();
    assert_eq!(tools[..3], [Tool::Netperf; 3]);
    assert_eq!(tools[3..], [Tool::Qperf; 4]);
    assert_eq!(all[1].run.throughput().unwrap().test.transport, Transport::Udp);
    for end in 0..log.len() {
        if let Some(cut) = log.get(..end) {
            let _ = read("cut", cut, Known::default());
        }
    }
    for odd in ["0 0 0 0 0 0", "-1 -1 -1 -1 -1 -1", "99999999999 99999999999 9 99999999999 9 9999999999"] {
        for test in &outputs {
            let head = test.split("\n\n").next().unwrap();
            let _ = read("odd", &format!("{head}\n\n{odd}\n{odd}\n"), Known::default());
        }
    }
}
