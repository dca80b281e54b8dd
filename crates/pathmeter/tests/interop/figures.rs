//! Figures on which two JSON documents of one test, the client's and the server's, must agree.

use crate::arithmetic;
use serde_json::Value;

/// One mode: a row of the table of modes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// The options, as typed after `-c HOST`.
    pub(crate) options: &'static str,
}

impl Mode {
    pub(crate) fn is_udp(self) -> bool {
        self.has("-u")
    }

    pub(crate) fn is_reverse(self) -> bool {
        self.has("-R")
    }

    pub(crate) fn is_bidirectional(self) -> bool {
        self.has("--bidir")
    }

    pub(crate) fn omits(self) -> bool {
        self.has("-O") || self.has("--omit")
    }

    pub(crate) fn has(self, option: &str) -> bool {
        self.options.split_whitespace().any(|word| word == option)
    }

    /// The word after an option.
    pub(crate) fn value(self, option: &str) -> Option<&'static str> {
        self.options.split_whitespace().skip_while(|word| *word != option).nth(1)
    }

    fn streams(self) -> usize {
        self.value("-P").map_or(1, |count| count.parse().expect("a number of streams"))
    }
}

/// Reads a number at a path of keys.
pub(crate) fn number(document: &Value, path: &str) -> f64 {
    let value = at(document, path);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value}, no number"))
}

/// Reads a value at a path of keys, apart at dots.
pub(crate) fn at<'a>(document: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(document, |value, key| {
        let next = key.parse::<usize>().map_or_else(|_| value.get(key), |index| value.get(index));
        next.unwrap_or_else(|| panic!("no {path} (at {key}) in {value}"))
    })
}

/// Compares the two documents with one another and checks each. `exact`: the server's document has the figures that it sent the
/// client.
pub(crate) fn agree(mode: Mode, client: &Value, server: &Value, exact: bool) {
    for (end, document) in [("client", client), ("server", server)] {
        assert!(document.get("error").is_none(), "{end}: {}", document["error"]);
        shape(mode, end, document);
    }
    assert_eq!(at(client, "start.cookie"), at(server, "start.cookie"));
    for key in ["protocol", "num_streams", "blksize", "omit", "duration", "bytes", "blocks", "reverse"] {
        let path = format!("start.test_start.{key}");
        assert_eq!(at(client, &path), at(server, &path), "{path}");
    }
    for suffix in suffixes(mode) {
        both_ends(mode, suffix, client, server, exact);
    }
    for part in ["total", "user", "system"] {
        let cpu =
            |document, whose: &str| number(document, &format!("end.cpu_utilization_percent.{whose}_{part}"));
        let (reported, own) = (cpu(client, "remote"), cpu(server, "host"));
        assert!(
            reported == own || !exact,
            "the server's {part} of the CPU is {own} %, and {reported} % at the client"
        );
    }
}

/// Names of the sums: those of the other direction of a bidirectional test have an ending of their own.
fn suffixes(mode: Mode) -> &'static [&'static str] {
    if mode.is_bidirectional() { &["", "_bidir_reverse"] } else { &[""] }
}

fn shape(mode: Mode, end: &str, document: &Value) {
    let directions = if mode.is_bidirectional() { 2 } else { 1 };
    let count = |path: &str| at(document, path).as_array().map_or(0, Vec::len);
    assert_eq!(count("start.connected"), directions * mode.streams(), "{end}: connected");
    assert_eq!(count("end.streams"), directions * mode.streams(), "{end}: streams at the end");
    let intervals = count("intervals");
    let wanted = if mode.value("-i") == Some("0") { 0 } else { 1 };
    assert!(intervals >= wanted, "{end}: {intervals} intervals");
    for interval in at(document, "intervals").as_array().expect("counted above") {
        assert_eq!(interval["streams"].as_array().map_or(0, Vec::len), directions * mode.streams(), "{end}");
    }
    arithmetic::hold(mode, end, document);
    if let Some(name) = mode.value("-C") {
        let sends = mode.is_reverse() == (end == "server");
        let part = if sends { "sender" } else { "receiver" };
        assert_eq!(at(document, &format!("end.{part}_tcp_congestion")), name, "{end}");
    }
}

/// One direction. `down`: the server sends.
fn both_ends(mode: Mode, suffix: &str, client: &Value, server: &Value, exact: bool) {
    let down = mode.is_reverse() || suffix == "_bidir_reverse";
    let (sender, receiver) = if down { (server, client) } else { (client, server) };
    let bytes = |document, sum: &str| number(document, &format!("end.sum_{sum}{suffix}.bytes"));
    let (sent, received) = (bytes(sender, "sent"), bytes(receiver, "received"));
    // The omitted time of the two ends is not over at the same moment, and 3.12 makes up at once for the rate it has not kept.
    assert!(sent > 0.0 && (received > 0.0 || mode.omits()), "{sent} bytes sent, {received} received");
    // The client prints the server's figures.
    let from_server = if down { "sent" } else { "received" };
    let (reported, printed) = (bytes(client, from_server), bytes(server, from_server));
    assert!(
        reported >= printed && (reported == printed || !exact),
        "the server {from_server} {printed}, reported {reported}"
    );
    streams_add_up(mode, suffix, client);
    if mode.is_udp() {
        datagrams(mode, suffix, client, server, down);
    } else {
        // The client prints what the sender knows.
        let retransmits = |document| number(document, &format!("end.sum_sent{suffix}.retransmits"));
        assert_eq!(retransmits(client), retransmits(sender), "retransmits{suffix}");
    }
    let whole = mode.value("-n").map(|count| count.trim_end_matches('K').parse::<f64>().expect("a size"));
    if let (Some(kib), false) = (whole, mode.is_bidirectional()) {
        // With omitted time a receiving client ends it by its own count.
        let (word, counted) = if down && mode.omits() { ("received", received) } else { ("sent", sent) };
        assert!(counted >= kib * 1024.0, "{counted} bytes {word}");
    }
}

/// The sum is that of the streams.
fn streams_add_up(mode: Mode, suffix: &str, client: &Value) {
    let streams = at(client, "end.streams").as_array().expect("counted before");
    let ours = !mode.is_reverse() && suffix.is_empty();
    let stream_part = |stream: &Value, part: &str| match mode.is_udp() {
        true => stream["udp"].clone(),
        false => stream[part].clone(),
    };
    let mine = streams.iter().filter(|stream| stream_part(stream, "sender")["sender"] == ours);
    let part = |part: &'static str| mine.clone().map(|s| number(&stream_part(s, part), "bytes")).sum::<f64>();
    let sum = |name: &str| number(client, &format!("end.sum_{name}{suffix}.bytes"));
    assert_eq!(part("sender"), sum("sent"), "sent{suffix}");
    if !mode.is_udp() {
        assert_eq!(part("receiver"), sum("received"), "received{suffix}");
        let sent = mine.clone().map(|stream| number(&stream["sender"], "retransmits")).sum::<f64>();
        assert_eq!(sent, number(client, &format!("end.sum_sent{suffix}.retransmits")), "retransmits{suffix}");
    }
}

/// Received and lost datagrams add up to the sent ones, as far as the receiver has counted.
fn datagrams(mode: Mode, suffix: &str, client: &Value, server: &Value, down: bool) {
    let receiver = if down { client } else { server };
    let figure = |key: &str| number(receiver, &format!("end.sum_received{suffix}.{key}"));
    let (packets, lost) = (figure("packets"), figure("lost_packets"));
    assert!(lost >= 0.0 && lost <= packets, "{lost} of {packets} lost");
    // The share is of the datagrams that the receiver has counted, or of the sent ones.
    let sent = number(if down { server } else { client }, &format!("end.sum_sent{suffix}.packets"));
    let reported_share = figure("lost_percent");
    let is_share_of = |whole: f64| (reported_share - 100.0 * lost / whole).abs() < 1e-6;
    assert!(
        is_share_of(packets) || is_share_of(sent),
        "{lost} of {packets} or {sent} lost: {reported_share} %"
    );
    let jitter = figure("jitter_ms");
    assert!(jitter > 0.0 || packets < 2.0, "{packets} datagrams at the same pace to the nanosecond");
    // The other end prints the receiver's figures.
    let reported = |key: &str| number(client, &format!("end.sum_received{suffix}.{key}"));
    // 3.12 rounds it to a nanosecond in transit, and counts datagrams of the omitted time at one end alone.
    assert!(
        (reported("jitter_ms") - jitter).abs() <= 1e-6,
        "jitter{suffix}: {} and {jitter}",
        reported("jitter_ms")
    );
    for key in ["packets", "lost_packets"] {
        // At full speed the last datagrams may be lost, of which one end learns after the other has printed.
        let known = !mode.omits() && mode.value("-b") != Some("0");
        assert!(
            reported(key) == figure(key) || !known,
            "{key}{suffix}: {} and {}",
            reported(key),
            figure(key)
        );
    }
    let length = number(client, "start.test_start.blksize");
    if !mode.omits() {
        assert_eq!((packets - lost) * length, figure("bytes"), "{packets} datagrams, {lost} lost");
        assert!(packets <= sent, "{packets} received of {sent}");
    }
}
