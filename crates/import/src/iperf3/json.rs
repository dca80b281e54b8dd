//! iPerf3's JSON: the document of `-J` and the lines of `--json-stream`, of a client, of a server, of both in one.

use super::super::block::Lines;
use super::super::build::possible::{self, Figure};
use super::super::build::{ParsedRun, add_sample, total};
use super::super::gaps;
use super::super::json::Document;
use super::super::{Known, Tool};
use super::lines::Output;
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{CpuUse, Role, Side, SideResult, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// Whether this is a document of `-J`.
pub(in super::super) fn is_document(value: &Value) -> bool {
    value.get("start").is_some_and(Value::is_object) && value.get("intervals").is_some_and(Value::is_array)
        || value.get("start").is_some_and(|start| start.get("version").is_some())
}

/// Whether this is a line of `--json-stream`.
pub(in super::super) fn is_line(value: &Value) -> bool {
    value.get("event").is_some_and(Value::is_string) && value.get("data").is_some()
}

/// Whether this is the first line of `--json-stream`.
pub(in super::super) fn begins_lines(value: &Value) -> bool {
    is_line(value) && value["event"] == "start"
}

/// The documents that lines in a row are, each from its `start`.
pub(in super::super) fn of_lines(lines: &[Document]) -> Vec<Document> {
    let mut documents: Vec<Document> = Vec::new();
    for line in lines {
        let (Some(name), Some(data)) = (line.value["event"].as_str(), line.value.get("data")) else {
            continue;
        };
        if name == "start" || documents.is_empty() {
            let value = json!({"start": {}, "intervals": []});
            documents.push(Document { line: line.line, value, repaired: true });
        }
        let Some(document) = documents.last_mut() else { continue };
        match name {
            "interval" => {
                document.value["intervals"].as_array_mut().into_iter().for_each(|all| all.push(data.clone()))
            }
            "server_output_text" | "server_output_json" | "start" | "end" | "error" => {
                document.repaired &= name != "end" && name != "error";
                document.value[name] = data.clone();
            }
            _ => {}
        }
    }
    documents
}

/// The run of a document.
pub(in super::super) fn parse_document(document: &Document, known: Known) -> ParsedRun {
    let value = &document.value;
    let start = &value["start"];
    let protocol = start["test_start"]["protocol"].as_str().unwrap_or("TCP");
    let transport = if protocol == "UDP" { Transport::Udp } else { Transport::Tcp };
    let mut parsed =
        ParsedRun::new(Tool::Iperf3, document.line, ProtocolName::Iperf3, spec(start, transport), known);
    if both_ways(value) {
        parsed.test.directions = Directions::Both;
    }
    parsed.version = start["version"].as_str().map(|version| version.trim_start_matches("iperf ").to_owned());
    parsed.host = start["connecting_to"]["host"].as_str().map(str::to_owned);
    let size = |key: &str| number(&start[key]).and_then(|mss| u32::try_from(mss).ok()).filter(|mss| *mss > 0);
    parsed.mss = size("tcp_mss_default");
    if parsed.mss.is_none() && has_timestamps(start) {
        parsed.ask_segments(size("tcp_mss"));
    }
    parsed.mss = parsed.mss.or(size("tcp_mss"));
    parsed.started = started(&start["timestamp"]);
    parsed.resent_known = transport == Transport::Tcp && has_retransmits(value);
    disorder(&mut parsed, &value["end"]);
    if !matches!(protocol, "TCP" | "UDP") {
        parsed.other_protocol(protocol);
    }
    let side = if start.get("accepted_connection").is_some() { Side::Peer } else { Side::Local };
    addresses(&mut parsed, start, side);
    if let Some(error) = value["error"].as_str() {
        let reason = error.trim_start_matches("error - ").to_owned();
        let interrupted = reason.starts_with("interrupt");
        parsed.outcome = if interrupted { Outcome::Interrupted } else { Outcome::Failed { reason } };
    } else if document.repaired {
        parsed.outcome = Outcome::Interrupted;
    }
    Speaker { parsed: &mut parsed, side, sockets: sockets(start) }.take(value);
    other_end(&mut parsed, value);
    if document.repaired {
        parsed
            .warn("no-summary", "The output ends before its summary: the totals are sums of its intervals.");
    }
    gaps::gaps(&mut parsed);
    if start["test_start"].get("target_bitrate").is_none() && start.get("target_bitrate").is_none() {
        gaps::rate_asked(&mut parsed);
    }
    parsed
}

/// Datagrams out of order are counted by some versions; a count below zero cannot be.
fn disorder(parsed: &mut ParsedRun, end: &Value) {
    let counts = || list(&end["streams"]).filter_map(|stream| stream["udp"]["out_of_order"].as_f64());
    parsed.disorder_known = counts().next().is_some() && counts().all(|count| count >= 0.0);
    if let Some(count) = counts().find(|count| *count < 0.0) {
        let text = format!("The printed count of {count} datagrams out of order cannot be: it is left out.");
        parsed.warn("impossible-figure", text);
    }
}

/// Windows alone sends none by itself (RFC 7323).
fn has_timestamps(start: &Value) -> bool {
    let system = start["system_info"].as_str().unwrap_or_default();
    !["CYGWIN", "MINGW", "MSYS", "Windows"].iter().any(|name| system.contains(name))
}

/// A key that is absent is not known: systems without `TCP_INFO` do not count.
fn has_retransmits(value: &Value) -> bool {
    let counts = |row: &Value| row["retransmits"].as_f64().is_some_and(|count| count != -1.0);
    let end = &value["end"];
    let summed = ["sum_sent", "sum_sent_bidir_reverse"].iter().any(|sum| counts(&end[*sum]));
    let of_streams = list(&end["streams"]).any(|stream| counts(&stream["sender"]));
    let mut intervals = list(&value["intervals"]).flat_map(|interval| list(&interval["streams"]));
    summed || of_streams || intervals.any(counts)
}

fn spec(start: &Value, transport: Transport) -> TestSpec {
    let asked = &start["test_start"];
    let figure = |key: &str| number(&asked[key]).unwrap_or_default();
    let small = |key: &str| u32::try_from(figure(key)).unwrap_or_default();
    let mut spec = TestSpec::new(transport);
    spec.streams = small("num_streams").clamp(1, 128);
    spec.directions = match (figure("bidir"), figure("reverse")) {
        (1.., _) => Directions::Both,
        (0, 1..) => Directions::Down,
        (0, 0) => Directions::Up,
    };
    spec.end = match (figure("duration"), figure("bytes"), figure("blocks")) {
        (seconds @ 1.., _, _) => End::Time(Nanos::from_secs(seconds.min(MOST_SECONDS))),
        (0, bytes @ 1.., _) => End::Bytes(Bytes(bytes)),
        (0, 0, blocks) => End::Blocks(blocks),
    };
    spec.omit = Nanos::from_secs(figure("omit").min(MOST_SECONDS));
    spec.length = small("blksize");
    spec.tos = u8::try_from(figure("tos")).unwrap_or_default();
    spec.bitrate = Some(BitRate(figure("target_bitrate"))).filter(|rate| rate.0 > 0);
    spec.mss = number(&start["tcp_mss"]).and_then(|mss| u32::try_from(mss).ok());
    spec
}

/// Versions before 3.13 do not tell `--bidir`, but their streams differ in who sends.
fn both_ways(value: &Value) -> bool {
    let rows: Vec<&Value> =
        list(&value["intervals"]).flat_map(|interval| list(&interval["streams"])).collect();
    let sends = |which: bool| rows.iter().any(|row| row["sender"].as_bool() == Some(which));
    sends(true) && sends(false)
}

fn started(time: &Value) -> Option<WallTime> {
    let millis = number(&time["timemillisecs"]).or_else(|| number(&time["timesecs"])?.checked_mul(1000))?;
    millis.checked_mul(1_000_000).map(WallTime).filter(|time| time.0 > 0)
}

fn sockets(start: &Value) -> Vec<u64> {
    list(&start["connected"]).filter_map(|stream| number(&stream["socket"])).collect()
}

fn addresses(parsed: &mut ParsedRun, start: &Value, side: Side) {
    let stream = &start["connected"][0];
    let address = |host: &str, port: &str| {
        let port = u16::try_from(number(&stream[port])?).ok()?;
        Some(SocketAddr::new(stream[host].as_str()?.parse().ok()?, port))
    };
    let (local, remote) = (address("local_host", "local_port"), address("remote_host", "remote_port"));
    (parsed.client, parsed.server) = if side == Side::Local { (local, remote) } else { (remote, local) };
    if parsed.server.is_none() {
        parsed.warn("no-addresses", "The output does not give the addresses: IPv4 is assumed.");
    }
}

/// One end's document on its way into what is told.
struct Speaker<'a> {
    parsed: &'a mut ParsedRun,
    side: Side,
    sockets: Vec<u64>,
}

impl Speaker<'_> {
    fn take(&mut self, value: &Value) {
        for interval in list(&value["intervals"]) {
            list(&interval["streams"]).for_each(|stream| self.interval(stream));
        }
        for stream in list(&value["end"]["streams"]) {
            if stream["udp"].is_object() {
                self.udp(&stream["udp"]);
            } else {
                self.tcp(stream);
            }
        }
        if list(&value["end"]["streams"]).next().is_none() && !self.sums(&value["end"]) {
            self.of_intervals();
        }
        self.unseen(&value["end"]);
        self.ends(&value["end"]);
    }

    /// Sums stand for the streams of a document that lacks these; false: there are none.
    fn sums(&mut self, end: &Value) -> bool {
        let is_udp = self.parsed.test.transport == Transport::Udp;
        if is_udp && end["sum"]["packets"].is_number() {
            self.udp(&end["sum"]);
            return true;
        }
        let pairs = [("sum_sent", "sum_received"), ("sum_sent_bidir_reverse", "sum_received_bidir_reverse")];
        let pairs = pairs.into_iter().filter(|(sent, _)| !is_udp && end[*sent]["bytes"].is_number());
        let rows: Vec<Value> =
            pairs.map(|(sent, received)| json!({"sender": end[sent], "receiver": end[received]})).collect();
        rows.iter().for_each(|row| self.tcp(row));
        !rows.is_empty()
    }

    /// The rows of streams have the sender's datagrams. A receiver knows of those up to the highest number that it has read:
    /// what was sent after it is in the sum of neither its datagrams nor its losses. One that read none has a zero there, and one
    /// whose results never came, as of a test that was interrupted, has it too.
    fn unseen(&mut self, end: &Value) {
        let size = u64::from(self.parsed.test.length);
        let directions: Vec<Direction> = self.parsed.test.directions.each().filter(|_| size > 0).collect();
        for direction in directions {
            let back = direction == Direction::Down && self.parsed.test.directions == Directions::Both;
            let sum = if back { "sum_received_bidir_reverse" } else { "sum_received" };
            let Some(known) = number(&end[sum]["packets"]) else { continue };
            let up = direction == Direction::Up;
            if known == 0 && self.parsed.outcome != Outcome::Completed && up == (self.side == Side::Local) {
                self.unknown_receiver(direction);
                continue;
            }
            let side = if up { &mut self.parsed.at_server } else { &mut self.parsed.at_client };
            let receives = |row: &StreamResult| row.direction == direction && row.role == Role::Receiver;
            let rows = side.streams.iter_mut().filter(|row| receives(row));
            let mut rows: Vec<(&mut StreamResult, UdpCounters)> =
                rows.filter_map(|row| row.udp.clone().map(|udp| (row, udp))).collect();
            let all: u64 = rows.iter().map(|(_, udp)| udp.datagrams.saturating_add(udp.lost)).sum();
            let unseen = all.saturating_sub(known);
            let mut left = unseen;
            // The output does not name which of several streams: the last ones, as the sum has to be right.
            for (row, udp) in rows.iter_mut().rev() {
                let less = left.min(udp.datagrams);
                left -= less;
                let datagrams = udp.datagrams - less;
                row.udp = Some(UdpCounters { datagrams, ..udp.clone() });
                (row.bytes, row.total_bytes) = (Bytes(datagrams * size), Bytes(datagrams * size));
            }
            if unseen > 0 {
                self.parsed.warn("unseen-end", format!("The receiver knows nothing of the last {unseen} datagrams that were sent: they count as neither received nor lost."));
            }
        }
    }

    /// The far end's results never came: what it received is not known.
    fn unknown_receiver(&mut self, direction: Direction) {
        let up = direction == Direction::Up;
        let side = if up { &mut self.parsed.at_server } else { &mut self.parsed.at_client };
        side.streams.retain(|row| row.direction != direction || row.role != Role::Receiver);
        self.parsed.warn(
            "receiver-unknown",
            "The test ended before the receiver's results came: what arrived is not known.",
        );
    }

    /// The way of a row, by its `sender`; older versions do not have it.
    fn direction(&self, row: &Value) -> Direction {
        match row["sender"].as_bool() {
            Some(sender) if sender == (self.side == Side::Local) => Direction::Up,
            Some(_) => Direction::Down,
            None => self.parsed.test.directions.each().next().unwrap_or(Direction::Up),
        }
    }

    fn role(&self, direction: Direction) -> Role {
        if (direction == Direction::Up) == (self.side == Side::Local) { Role::Sender } else { Role::Receiver }
    }

    /// Sockets are numbered in the order in which they were connected, up before down.
    fn stream(&self, row: &Value, direction: Direction) -> u32 {
        let place =
            number(&row["socket"]).and_then(|socket| self.sockets.iter().position(|one| *one == socket));
        let place = place.unwrap_or_default() as u32;
        let streams = self.parsed.test.streams;
        self.parsed.test.stream_numbers(direction).start + place % streams.max(1)
    }

    fn interval(&mut self, row: &Value) {
        let direction = self.direction(row);
        let (stream, role) = (self.stream(row, direction), self.role(direction));
        let size = u64::from(self.parsed.test.length);
        let udp = (self.parsed.test.transport == Transport::Udp).then(|| udp(row, role, size).0);
        let tcp = (udp.is_none() && role == Role::Sender).then(|| tcp(row));
        let sample = StreamSample { stream, direction, role, bytes: bytes(row), tcp, udp };
        let omitted = row["omitted"].as_bool().unwrap_or_default();
        let span = (time(&row["start"]), time(&row["end"]));
        add_sample(&mut self.parsed.samples, self.side, span, omitted, sample);
    }

    fn tcp(&mut self, stream: &Value) {
        for (key, role) in [("sender", Role::Sender), ("receiver", Role::Receiver)] {
            let row = &stream[key];
            let direction = self.direction(row);
            // An end prints figures of the other that it does not know as 0: a server of its client, and an end that
            // was interrupted. A client that ended as planned has the server's figures.
            let is_foreign = role != self.role(direction) && bytes(row).0 == 0;
            let ended = self.side == Side::Local && self.parsed.outcome == Outcome::Completed;
            let is_counted = ended && role == Role::Receiver && row.get("bytes").is_some();
            if row.is_object() && (!is_foreign || is_counted) {
                let tcp = (role == Role::Sender).then(|| tcp(row));
                let stream = self.stream(row, direction);
                self.put(row, stream, direction, role, bytes(row), (tcp, None));
                self.against_intervals(row, stream, direction, role);
            }
        }
    }

    /// An end's summary of a stream and its own intervals say the same.
    fn against_intervals(&mut self, row: &Value, stream: u32, direction: Direction, role: Role) {
        let sum = total(&self.parsed.samples, self.side, stream, direction);
        if let Some(sum) = sum.filter(|sum| sum.role == role && sum.bytes.0 > 0) {
            gaps::against_intervals(self.parsed, bytes(row), elapsed(row), &sum);
        }
    }

    /// One row for both ends: the sender's datagrams, and what the receiver found of them.
    fn udp(&mut self, row: &Value) {
        let direction = self.direction(row);
        let (stream, own) = (self.stream(row, direction), self.role(direction));
        let size = u64::from(self.parsed.test.length);
        for role in [Role::Sender, Role::Receiver] {
            // A server that sent knows nothing of what arrived; a receiver knows what was sent by the numbers.
            if self.side == Side::Peer && role != own {
                continue;
            }
            let (udp, is_possible) = udp(row, role, size);
            if !is_possible {
                self.withhold_losses(row, direction);
            }
            let printed = bytes(row);
            let exact = Bytes(udp.datagrams.saturating_mul(size));
            let amount = if size > 0 && (printed.0 == 0 || role != own) { exact } else { printed };
            let amount = if role == Role::Receiver && size > 0 && is_possible { exact } else { amount };
            self.put(row, stream, direction, role, amount, (None, Some(udp)));
        }
    }

    fn withhold_losses(&mut self, row: &Value, direction: Direction) {
        let text = format!(
            "The printed count of {} lost of {} datagrams cannot be: the loss is left out.",
            row["lost_packets"], row["packets"]
        );
        self.parsed.withhold(direction, Figure::Loss, &text);
    }

    fn put(
        &mut self,
        row: &Value,
        stream: u32,
        direction: Direction,
        role: Role,
        bytes: Bytes,
        (tcp, udp): (Option<TcpCounters>, Option<UdpCounters>),
    ) {
        let elapsed = elapsed(row);
        let (amount, rate) = (self::bytes(row), row["bits_per_second"].as_f64().unwrap_or_default());
        let share = rate * elapsed.as_secs_f64() / 8.0 / amount.0 as f64;
        if share > 0.0 && share.is_finite() && !(1.0 - APART..=1.0 + APART).contains(&share) {
            self.parsed.contradict(format!(
                "The output contradicts itself {direction}: {amount} in {elapsed} is not {}.",
                BitRate(rate as u64)
            ));
        }
        let client = (direction == Direction::Up) == (role == Role::Sender);
        let end = if client { &mut self.parsed.at_client } else { &mut self.parsed.at_server };
        end.streams.push(StreamResult {
            stream,
            direction,
            role,
            elapsed,
            bytes,
            total_bytes: bytes,
            tcp,
            udp,
        });
    }

    fn of_intervals(&mut self) {
        let directions: Vec<Direction> = self.parsed.test.directions.each().collect();
        for direction in directions {
            for stream in self.parsed.test.stream_numbers(direction) {
                let end = if self.side == Side::Local {
                    &mut self.parsed.at_client
                } else {
                    &mut self.parsed.at_server
                };
                end.streams.extend(total(&self.parsed.samples, self.side, stream, direction));
            }
        }
    }

    /// CPU and congestion control of both ends.
    fn ends(&mut self, end: &Value) {
        let cpu = |whose: &str| {
            let share = |what: &str| {
                end["cpu_utilization_percent"][format!("{whose}_{what}")].as_f64().unwrap_or_default() / 100.0
            };
            CpuUse {
                process: share("total"),
                user: share("user"),
                system: share("system"),
                ..CpuUse::default()
            }
        };
        let (own, other) = match self.side {
            Side::Local => (&mut self.parsed.at_client, &mut self.parsed.at_server),
            Side::Peer => (&mut self.parsed.at_server, &mut self.parsed.at_client),
        };
        (own.cpu, other.cpu) = (cpu("host"), cpu("remote"));
        let up = self.parsed.test.directions.up();
        let ends: [(&mut SideResult, bool); 2] =
            [(&mut self.parsed.at_client, up), (&mut self.parsed.at_server, !up)];
        for (side, sends) in ends {
            let key = if sends { "sender_tcp_congestion" } else { "receiver_tcp_congestion" };
            side.datapath.congestion = end[key].as_str().map(str::to_owned);
        }
    }
}

/// The server's output in a client's document: its intervals, and its own count of what it received.
fn other_end(parsed: &mut ParsedRun, value: &Value) {
    let server = &value["server_output_json"];
    let mut other = parsed.clone();
    (other.samples, other.warnings, other.unknown) = (Vec::new(), Vec::new(), Vec::new());
    (other.at_client.streams, other.at_server.streams) = (Vec::new(), Vec::new());
    if server.is_object() {
        let sockets = sockets(&server["start"]);
        Speaker { parsed: &mut other, side: Side::Peer, sockets }.take(server);
    } else if let Some(text) = value["server_output_text"].as_str() {
        let lines: Lines = text.lines().collect();
        super::ends::server_side(&mut other, &Output::from_lines(&lines));
    } else {
        return;
    }
    parsed.samples.append(&mut other.samples);
    for own in other.at_server.streams.iter().filter(|row| row.role == Role::Receiver) {
        let same = |row: &&StreamResult| row.stream == own.stream && row.direction == own.direction;
        if let Some(of_client) = parsed.at_server.streams.iter().find(same).cloned() {
            gaps::compare(parsed, &of_client, own);
        }
    }
}

fn tcp(row: &Value) -> TcpCounters {
    let figure = |key: &str| number(&row[key]).unwrap_or_default();
    let micros = |key: &str| Nanos(figure(key).saturating_mul(1000));
    let either = |one: &str, other: &str| if row.get(one).is_some() { figure(one) } else { figure(other) };
    TcpCounters {
        retransmits: possible::retransmits(row["retransmits"].as_f64().map(|count| count as i64)),
        cwnd: Bytes(figure("snd_cwnd")),
        max_cwnd: Bytes(either("max_snd_cwnd", "snd_cwnd")),
        send_window: Bytes(figure("snd_wnd")),
        max_send_window: Bytes(either("max_snd_wnd", "snd_wnd")),
        rtt: micros("rtt"),
        rttvar: micros("rttvar"),
        min_rtt: micros("min_rtt"),
        mean_rtt: if row.get("mean_rtt").is_some() { micros("mean_rtt") } else { micros("rtt") },
        max_rtt: micros("max_rtt"),
        path_mtu: u32::try_from(figure("pmtu")).unwrap_or_default(),
        ..TcpCounters::default()
    }
}

/// The counters of a row of UDP; false: no receiver counts so.
fn udp(row: &Value, role: Role, size: u64) -> (UdpCounters, bool) {
    let count = |key: &str| number(&row[key]).unwrap_or_default();
    if role == Role::Sender {
        return (UdpCounters { datagrams: count("packets"), ..UdpCounters::default() }, true);
    }
    let signed = |key: &str| {
        row[key].as_i64().or_else(|| row[key].as_f64().map(|value| value as i64)).unwrap_or_default()
    };
    let counts = possible::counts(signed("lost_packets"), signed("packets"));
    let by_size = || (bytes(row).0.checked_div(size).unwrap_or_default(), 0);
    let (datagrams, lost) = counts.unwrap_or_else(by_size);
    let jitter = row["jitter_ms"].as_f64().map_or(Nanos::ZERO, possible::jitter);
    let udp =
        UdpCounters { datagrams, lost, reordered: count("out_of_order"), jitter, ..UdpCounters::default() };
    (udp, counts.is_some())
}

fn elapsed(row: &Value) -> Nanos {
    time(&row["end"]).saturating_sub(time(&row["start"]))
}

fn bytes(row: &Value) -> Bytes {
    Bytes(number(&row["bytes"]).unwrap_or_default())
}

/// A count, also where it is written as a float; none below zero.
fn number(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_f64().filter(|float| (0.0..1.8e19).contains(float)).map(|float| float as u64))
}

fn time(value: &Value) -> Nanos {
    let seconds = value.as_f64().filter(|seconds| (0.0..1e9).contains(seconds)).unwrap_or_default();
    Nanos((seconds * 1e9).round() as u64)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Amount, rate and time of a row are exact, but some versions reckon a rate by another clock.
const APART: f64 = 0.1;
const MOST_SECONDS: u64 = 1_000_000_000;
