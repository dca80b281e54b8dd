//! When and how much a client sends: a start at a time of day, packets per second, bursts; and servers with a key.

use super::figures::totals;
use super::process::{Played, Rows, Server, Tool, client_run, free_port, played};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Rows of what the client sent and the server received.
fn both(played: &Played) -> (u64, u64) {
    let sum = |text: &str| totals(text).iter().map(|(_, bytes)| bytes).sum();
    (sum(&played.client), sum(&played.server))
}

/// Nothing is sent before its time, and all of it arrives.
#[test]
fn sending_begins_at_a_time_of_day() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for server in [Tool::Real, Tool::Ours] {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        let starts = now() + Duration::from_millis(2500);
        let args = format!("-t 1 -y C --txstart-time {:.3}", starts.as_secs_f64());
        let played = played((server, "-s -y C"), (Tool::Ours, &args));
        // The test lasts a second from its start on.
        assert!(now() >= starts + Duration::from_secs(1), "{played:#?}");
        let (sent, received) = both(&played);
        assert!(sent > 0 && sent == received, "{played:#?}");
    }
}

/// A host that is busy may keep a sender from its rate, but nothing lets it send faster: 200 datagrams have 199 gaps
/// of 2 ms between them.
#[test]
fn packets_per_second_are_kept() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    let played = played((Tool::Real, "-s -u -y C"), (Tool::Ours, "-u -n 294000 -b 500pps -y C"));
    let (sent, received) = both(&played);
    assert!(sent == 200 * 1470, "{played:#?}");
    // The server counts the end as one.
    assert!((1..=201).contains(&(received / 1470)), "{played:#?}");
    let rate: f64 = played.client.split(',').nth(8).and_then(|bits| bits.parse().ok()).expect("a rate");
    assert!(rate < 500.0 * 1470.0 * 8.0 * 1.03, "{played:#?}");
}

/// Four bursts of 256 KiB begin within two seconds: no more is sent. A server of 2.1.8 has a row for each, whose times
/// it gets wrong, and knows no CSV of them.
#[test]
fn bursts_are_sent_in_their_periods() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for tool in [Tool::Real, Tool::Ours] {
        let port = free_port();
        let server = Server::start(tool, "-s -y C", port);
        let args = "-t 2 --burst-size 256K --burst-period 0.5 -y C";
        let client = client_run(Tool::Ours, args, port);
        assert_eq!((client.code, client.stderr.as_str()), (Some(0), ""), "{client:#?}");
        let sent: u64 = totals(&client.stdout).iter().map(|(_, bytes)| bytes).sum();
        // A header of some bytes goes before the first.
        let whole = sent >> 18;
        assert!((1..=4).contains(&whole) && sent % (1 << 18) < 1000, "{client:#?}");
        let served = server
            .stop_after(Rows { streams: if tool == Tool::Real { whole as usize + 1 } else { 1 }, sums: 0 });
        let received = match tool {
            Tool::Real => {
                sent % (1 << 18) + ((served.stdout.matches("   256 KBytes  ").count() as u64) << 18)
            }
            Tool::Ours => totals(&served.stdout).iter().map(|(_, bytes)| bytes).sum(),
        };
        assert_eq!(sent, received, "{tool:?}: {client:#?} {served:#?}");
    }
}

#[test]
fn a_key_lets_its_clients_in_alone() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    let (real, ours) = (Tool::Real, Tool::Ours);
    for (server, client) in [(real, ours), (ours, real), (ours, ours)] {
        let server_words = "-s --permit-key=secret -y C";
        let port = free_port();
        let serving = Server::start(server, server_words, port);
        let sender = client_run(client, "-t 1 --permit-key=secret -y C", port);
        // 2.1.8 complains that to read a key has failed with success.
        let served = serving.stop_after(Rows { streams: 1, sums: 0 });
        let admitted = Played { client: sender.stdout, server: served.stdout };
        let (sent, received) = both(&admitted);
        // 2.1.8 does not count the key among what it has received.
        assert!(sent > 0 && sent.abs_diff(received) <= 6, "{server:?} {client:?}: {admitted:#?}");
    }
    for key in ["--permit-key=wrong-one", ""] {
        let port = free_port();
        let server = Server::start(ours, "-s --permit-key=secret", port);
        let refused = client_run(ours, &format!("-t 1 {key}"), port);
        assert_eq!(refused.code, Some(1), "{key}: {refused:#?}");
        let served = server.stop_after(Rows::NONE);
        assert!(!served.stdout.contains("bits/sec"), "{key}: {served:#?}");
    }
}
