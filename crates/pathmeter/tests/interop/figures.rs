//! What two JSON documents of one test, the client's and the server's, must agree on.

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

/// Holds the two documents against one another and against themselves.
/// `exact`: the server's document holds what it told the client.
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
}

/// Names of the sums: those of the other direction of a bidirectional test have an ending of their own.
fn suffixes(mode: Mode) -> &'static [&'static str] {
    if mode.is_bidirectional() { &["", "_bidir_reverse"] } else { &[""] }
}

fn shape(mode: Mode, end: &str, document: &Value) {
    let ways = if mode.is_bidirectional() { 2 } else { 1 };
    let count = |path: &str| at(document, path).as_array().map_or(0, Vec::len);
    assert_eq!(count("start.connected"), ways * mode.streams(), "{end}: connected");
    assert_eq!(count("end.streams"), ways * mode.streams(), "{end}: streams at the end");
    let intervals = count("intervals");
    let wanted = if mode.value("-i") == Some("0") { 0 } else { 1 };
    assert!(intervals >= wanted, "{end}: {intervals} intervals");
    for interval in at(document, "intervals").as_array().expect("counted above") {
        assert_eq!(interval["streams"].as_array().map_or(0, Vec::len), ways * mode.streams(), "{end}");
    }
    for key in ["host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system"] {
        assert!(number(document, &format!("end.cpu_utilization_percent.{key}")) >= 0.0, "{end}: {key}");
    }
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
    assert!(sent > 0.0 && received > 0.0, "{sent} bytes sent, {received} received");
    // What the server says, the client prints.
    let from_server = if down { "sent" } else { "received" };
    let (told, printed) = (bytes(client, from_server), bytes(server, from_server));
    assert!(
        told >= printed && (told == printed || !exact),
        "the server {from_server} {printed}, told {told}"
    );
    streams_add_up(mode, suffix, client);
    if mode.is_udp() {
        datagrams(mode, suffix, client, server, down);
    } else {
        assert!(number(client, &format!("end.sum_sent{suffix}.retransmits")) >= 0.0);
    }
    let whole = mode.value("-n").map(|count| count.trim_end_matches('K').parse::<f64>().expect("a size"));
    if let (Some(kib), false) = (whole, mode.is_bidirectional()) {
        assert!(sent >= kib * 1024.0, "{sent} bytes sent");
    }
}

/// The sum is that of the streams.
fn streams_add_up(mode: Mode, suffix: &str, client: &Value) {
    let streams = at(client, "end.streams").as_array().expect("counted before");
    let ours = !mode.is_reverse() && suffix.is_empty();
    let of = |stream: &Value, part: &str| match mode.is_udp() {
        true => stream["udp"].clone(),
        false => stream[part].clone(),
    };
    let mine = streams.iter().filter(|stream| of(stream, "sender")["sender"] == ours);
    let part = |part: &'static str| mine.clone().map(|s| number(&of(s, part), "bytes")).sum::<f64>();
    let sum = |name: &str| number(client, &format!("end.sum_{name}{suffix}.bytes"));
    assert_eq!(part("sender"), sum("sent"), "sent{suffix}");
    if !mode.is_udp() {
        assert_eq!(part("receiver"), sum("received"), "received{suffix}");
    }
}

/// What is received and what is lost is what was sent, as far as the receiver has looked.
fn datagrams(mode: Mode, suffix: &str, client: &Value, server: &Value, down: bool) {
    let receiver = if down { client } else { server };
    let of = |key: &str| number(receiver, &format!("end.sum_received{suffix}.{key}"));
    let (packets, lost) = (of("packets"), of("lost_packets"));
    assert!(lost >= 0.0 && lost <= packets, "{lost} of {packets} lost");
    assert!((0.0..=100.0).contains(&of("lost_percent")));
    assert!(of("jitter_ms") >= 0.0);
    let length = number(client, "start.test_start.blksize");
    if !mode.omits() {
        assert_eq!((packets - lost) * length, of("bytes"), "{packets} datagrams, {lost} lost");
        let sent = number(if down { server } else { client }, &format!("end.sum_sent{suffix}.packets"));
        assert!(packets <= sent, "{packets} seen of {sent}");
    }
}
