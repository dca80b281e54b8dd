//! Both ends report the same: bytes sent and received, datagrams and losses.

use super::process::{Tool, played};

/// The bytes of each CSV row over the whole time, by the client's port.
pub(crate) fn totals(text: &str) -> Vec<(String, u64)> {
    let mut last = std::collections::BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, _, port, _, _, _, span, bytes, ..] = fields.as_slice() else { continue };
        if span.starts_with("0.0-") {
            last.insert((*port).to_owned(), bytes.parse().expect("a count of bytes"));
        }
    }
    last.into_iter().collect()
}

/// TCP loses nothing: each stream's bytes are the same at both ends, to the last one.
#[test]
fn bytes_of_each_tcp_stream_agree() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for (server, client) in [(Tool::Real, Tool::Ours), (Tool::Ours, Tool::Real), (Tool::Ours, Tool::Ours)] {
        let played = played((server, "-s -y C"), (client, "-t 1 -P 3 -y C"));
        let (sent, received) = (totals(&played.client), totals(&played.server));
        assert_eq!(sent.len(), 3, "{played:#?}");
        assert_eq!(sent, received, "{server:?} {client:?}");
    }
}

#[test]
fn an_amount_is_sent_to_the_byte() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    let played = played((Tool::Real, "-s -y C"), (Tool::Ours, "-n 10M -P 2 -y C"));
    let totals = totals(&played.server);
    assert_eq!(totals.iter().map(|(_, bytes)| bytes).sum::<u64>(), 20 << 20, "{played:#?}");
}

/// The datagrams of the client's line are those that the server counts; iPerf2 counts the end as one.
#[test]
fn datagrams_agree() {
    if skip::lacks(&["iperf"]) {
        return;
    }
    for (server, client) in [(Tool::Real, Tool::Ours), (Tool::Ours, Tool::Real), (Tool::Ours, Tool::Ours)] {
        let played = played((server, "-s -u"), (client, "-u -t 1 -b 5M"));
        let sent: i64 = figure(&played.client, "Sent ", " datagrams");
        let total: i64 = figure(&played.server, "/", " (");

        assert!((sent - total).abs() <= 2 && sent > 10, "{played:#?}");
        // The server's report is printed by the client too.
        let reported = figure(&played.client, "/", " (");
        assert!((total - reported).abs() <= 1, "{played:#?}");
    }
}

/// The number between two marks in the last line that has both.
fn figure(text: &str, before: &str, after: &str) -> i64 {
    let found = text.lines().rev().find_map(|line| {
        let (front, _) = line.rsplit_once(after)?;
        front.rsplit_once(before)?.1.trim().parse().ok()
    });
    found.unwrap_or_else(|| panic!("nothing between {before:?} and {after:?} in {text}"))
}
