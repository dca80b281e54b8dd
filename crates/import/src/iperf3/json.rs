//! iPerf3's JSON: the document of `-J` and the lines of `--json-stream`, of a client, of a server, of both in one.

use super::super::block::Lines;
use super::super::build::{ParsedRun, add_sample, possible, role_of, side_of, total};
use super::super::gaps;
use super::super::json::Document;
use super::super::results::{
    End as Summary, Ends, Figure as Number, Results, Start, StreamFigures, Timestamp,
};
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
pub(in super::super) fn of_lines(lines: &[Document]) -> Vec<Document<Box<Results>>> {
    documents_of(lines).iter().map(of_document).collect()
}

/// The same document, read.
pub(in super::super) fn of_document(document: &Document) -> Document<Box<Results>> {
    let Document { line, value, repaired } = document;
    Document { line: *line, value: Box::new(Results::of_value(value)), repaired: *repaired }
}

fn documents_of(lines: &[Document]) -> Vec<Document> {
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
pub(in super::super) fn parse_document(document: &Document<Box<Results>>, known: Known) -> ParsedRun {
    let value = &*document.value;
    let start = &value.start;
    let protocol = start.test_start.protocol.as_str().unwrap_or("TCP");
    let transport = if protocol == "UDP" { Transport::Udp } else { Transport::Tcp };
    let mut parsed =
        ParsedRun::new(Tool::Iperf3, document.line, ProtocolName::Iperf3, spec(start, transport), known);
    if both_directions(value) {
        parsed.test.directions = Directions::Both;
    }
    parsed.version = start.version.as_str().map(|version| version.trim_start_matches("iperf ").to_owned());
    parsed.host = start.connecting_to.host.as_str().map(str::to_owned);
    parsed.mss = size(&start.tcp_mss_default);
    if parsed.mss.is_none() && has_timestamps(start) {
        parsed.ask_segments(size(&start.tcp_mss));
    }
    parsed.mss = parsed.mss.or(size(&start.tcp_mss));
    parsed.started = started(&start.timestamp);
    parsed.resent_known = transport == Transport::Tcp && has_retransmits(value);
    disorder(&mut parsed, &value.end);
    if !matches!(protocol, "TCP" | "UDP") {
        parsed.other_protocol(protocol);
    }
    let side = if start.accepted_connection.is_there { Side::Peer } else { Side::Local };
    addresses(&mut parsed, start, side);
    if let Some(error) = value.error.as_str() {
        let reason = error.trim_start_matches("error - ").to_owned();
        let interrupted = reason.starts_with("interrupt");
        parsed.outcome = if interrupted { Outcome::Interrupted } else { Outcome::Failed { reason } };
    } else if document.repaired {
        parsed.outcome = Outcome::Interrupted;
    }
    Speaker { parsed: &mut parsed, side, sockets: sockets(start) }.take(value);
    other_end(&mut parsed, value);
    if document.repaired {
        parsed.without_summary();
    }
    gaps::gaps(&mut parsed);
    if !start.test_start.target_bitrate.is_some() && !start.target_bitrate.is_some() {
        gaps::rate_asked(&mut parsed);
    }
    parsed
}

/// A size of segments.
fn size(figure: &Number) -> Option<u32> {
    figure.count().and_then(|mss| u32::try_from(mss).ok()).filter(|mss| *mss > 0)
}

/// Datagrams out of order are counted by some versions; a count below zero cannot be.
fn disorder(parsed: &mut ParsedRun, end: &Summary) {
    let counts = || end.streams.iter().filter_map(|stream| stream.udp.out_of_order.float());
    parsed.disorder_known = counts().next().is_some() && counts().all(|count| count >= 0.0);
    if let Some(count) = counts().find(|count| *count < 0.0) {
        let text = format!("The printed count of {count} datagrams out of order cannot be: it is left out.");
        parsed.warn("impossible-figure", text);
    }
}

/// Windows alone sends none by itself (RFC 7323).
fn has_timestamps(start: &Start) -> bool {
    let system = start.system_info.as_str().unwrap_or_default();
    !["CYGWIN", "MINGW", "MSYS", "Windows"].iter().any(|name| system.contains(name))
}

/// The rows of all streams in all intervals.
fn rows(value: &Results) -> impl Iterator<Item = &StreamFigures> {
    value.intervals.iter().flat_map(|interval| interval.streams.iter()).map(|row| &**row)
}

/// A key that is absent is not known: systems without `TCP_INFO` do not count.
fn has_retransmits(value: &Results) -> bool {
    let counts = |row: &StreamFigures| row.retransmits.float().is_some_and(|count| count != -1.0);
    let end = &value.end;
    let summed = [&end.sum_sent, &end.sum_sent_bidir_reverse].into_iter().any(|sum| counts(sum));
    summed || end.streams.iter().any(|stream| counts(&stream.sender)) || rows(value).any(counts)
}

fn spec(start: &Start, transport: Transport) -> TestSpec {
    let settings = &start.test_start;
    let figure = |figure: &Number| figure.count().unwrap_or_default();
    let small = |of: &Number| u32::try_from(figure(of)).unwrap_or_default();
    let mut spec = TestSpec::new(transport);
    spec.streams = small(&settings.num_streams).clamp(1, 128);
    spec.directions = match (figure(&settings.bidir), figure(&settings.reverse)) {
        (1.., _) => Directions::Both,
        (0, 1..) => Directions::Down,
        (0, 0) => Directions::Up,
    };
    spec.end = match (figure(&settings.duration), figure(&settings.bytes), figure(&settings.blocks)) {
        (seconds @ 1.., _, _) => End::Time(Nanos::from_secs(seconds.min(MOST_SECONDS))),
        (0, bytes @ 1.., _) => End::Bytes(Bytes(bytes)),
        (0, 0, blocks) => End::Blocks(blocks),
    };
    spec.omit = Nanos::from_secs(figure(&settings.omit).min(MOST_SECONDS));
    spec.length = Some(small(&settings.blksize)).filter(|length| *length > 0);
    spec.tos = u8::try_from(figure(&settings.tos)).unwrap_or_default();
    spec.bitrate = Some(BitRate(figure(&settings.target_bitrate))).filter(|rate| rate.0 > 0);
    spec.mss = start.tcp_mss.count().and_then(|mss| u32::try_from(mss).ok());
    spec
}

/// Versions before 3.13 do not report `--bidir`, but their streams differ in who sends.
fn both_directions(value: &Results) -> bool {
    let sends = |which: bool| rows(value).any(|row| row.sender.0 == Some(which));
    sends(true) && sends(false)
}

fn started(time: &Timestamp) -> Option<WallTime> {
    let millis = time.timemillisecs.count().or_else(|| time.timesecs.count()?.checked_mul(1000))?;
    millis.checked_mul(1_000_000).map(WallTime).filter(|time| time.0 > 0)
}

fn sockets(start: &Start) -> Vec<u64> {
    start.connected.iter().filter_map(|stream| stream.socket.count()).collect()
}

fn addresses(parsed: &mut ParsedRun, start: &Start, side: Side) {
    let address = |host: Option<&str>, port: &Number| {
        let port = u16::try_from(port.count()?).ok()?;
        Some(SocketAddr::new(host?.parse().ok()?, port))
    };
    let (local, remote) = start.connected.iter().next().map_or((None, None), |stream| {
        let local = address(stream.local_host.as_str(), &stream.local_port);
        (local, address(stream.remote_host.as_str(), &stream.remote_port))
    });
    (parsed.client, parsed.server) = if side == Side::Local { (local, remote) } else { (remote, local) };
    if parsed.server.is_none() {
        parsed.without_addresses();
    }
}

/// One end's document, from which the report is made.
struct Speaker<'a> {
    parsed: &'a mut ParsedRun,
    side: Side,
    sockets: Vec<u64>,
}

impl Speaker<'_> {
    fn take(&mut self, value: &Results) {
        for row in rows(value) {
            self.interval(row);
        }
        for stream in value.end.streams.iter() {
            if stream.udp.is_there {
                self.udp(&stream.udp);
            } else {
                self.tcp(stream);
            }
        }
        if value.end.streams.is_empty() && !self.sums(&value.end) {
            self.of_intervals();
        }
        self.unseen(&value.end);
        self.ends(&value.end);
    }

    /// Sums stand for the streams of a document that lacks these; false: there are none.
    fn sums(&mut self, end: &Summary) -> bool {
        let is_udp = self.parsed.test.transport == Transport::Udp;
        if is_udp && end.sum.packets.is_some() {
            self.udp(&end.sum);
            return true;
        }
        let pairs = [
            (&end.sum_sent, &end.sum_received),
            (&end.sum_sent_bidir_reverse, &end.sum_received_bidir_reverse),
        ];
        let pairs = pairs.into_iter().filter(|(sent, _)| !is_udp && sent.bytes.is_some());
        let rows: Vec<Ends> = pairs
            .map(|(sent, received)| Ends {
                sender: sent.clone(),
                receiver: received.clone(),
                ..Ends::default()
            })
            .collect();
        rows.iter().for_each(|row| self.tcp(row));
        !rows.is_empty()
    }

    /// The rows of streams have the sender's datagrams. A receiver knows of those up to the highest number that it has read:
    /// what was sent after it is in the sum of neither its datagrams nor its losses. One that read none has a zero there, and one
    /// whose results never came, as of a test that was interrupted, has it too.
    fn unseen(&mut self, end: &Summary) {
        let size = self.parsed.size();
        let directions: Vec<Direction> = self.parsed.test.directions.each().filter(|_| size > 0).collect();
        for direction in directions {
            let back = direction == Direction::Down && self.parsed.test.directions == Directions::Both;
            let sum = if back { &end.sum_received_bidir_reverse } else { &end.sum_received };
            let Some(known) = sum.packets.count() else { continue };
            let receiver = side_of(Role::Receiver, direction);
            if known == 0 && self.parsed.outcome != Outcome::Completed && self.side != receiver {
                self.unknown_receiver(direction);
                continue;
            }
            let receives = |row: &&mut StreamResult| row.direction == direction && row.role == Role::Receiver;
            let rows = self.parsed.end_mut(receiver).streams.iter_mut().filter(receives);
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
        let receiver = self.parsed.end_mut(side_of(Role::Receiver, direction));
        receiver.streams.retain(|row| row.direction != direction || row.role != Role::Receiver);
        self.parsed.warn(
            "receiver-unknown",
            "The test ended before the receiver's results came: what arrived is not known.",
        );
    }

    /// The direction of a row, by its `sender`; older versions do not have it.
    fn direction(&self, row: &StreamFigures) -> Direction {
        match row.sender.0 {
            Some(sender) if sender == (self.side == Side::Local) => Direction::Up,
            Some(_) => Direction::Down,
            None => self.parsed.test.directions.each().next().unwrap_or(Direction::Up),
        }
    }

    /// Sockets are numbered in the order in which they were connected, up before down.
    fn stream(&self, row: &StreamFigures, direction: Direction) -> u32 {
        let place = row.socket.count().and_then(|socket| self.sockets.iter().position(|one| *one == socket));
        let place = place.unwrap_or_default() as u32;
        let streams = self.parsed.test.streams;
        self.parsed.test.stream_numbers(direction).start + place % streams.max(1)
    }

    fn interval(&mut self, row: &StreamFigures) {
        let direction = self.direction(row);
        let (stream, role) = (self.stream(row, direction), role_of(self.side, direction));
        let size = self.parsed.size();
        let udp = (self.parsed.test.transport == Transport::Udp).then(|| udp(row, role, size).0);
        let tcp = (udp.is_none() && role == Role::Sender).then(|| tcp(row));
        let sample = StreamSample { stream, direction, role, bytes: bytes(row), tcp, udp };
        let omitted = row.omitted.0.unwrap_or_default();
        let span = (time(&row.start), time(&row.end));
        add_sample(&mut self.parsed.samples, self.side, span, omitted, sample);
    }

    fn tcp(&mut self, stream: &Ends) {
        for (row, role) in [(&stream.sender, Role::Sender), (&stream.receiver, Role::Receiver)] {
            let direction = self.direction(row);
            // An end prints figures of the other that it does not know as 0: a server of its client, and an end that
            // was interrupted. A client that ended as planned has the server's figures.
            let is_foreign = role != role_of(self.side, direction) && bytes(row).0 == 0;
            let ended = self.side == Side::Local && self.parsed.outcome == Outcome::Completed;
            let is_counted = ended && role == Role::Receiver && row.bytes.is_some();
            if row.is_there && (!is_foreign || is_counted) {
                let tcp = (role == Role::Sender).then(|| tcp(row));
                let stream = self.stream(row, direction);
                self.put(row, stream, direction, role, bytes(row), (tcp, None));
                self.against_intervals(row, stream, direction, role);
            }
        }
    }

    /// An end's summary of a stream and its own intervals say the same.
    fn against_intervals(&mut self, row: &StreamFigures, stream: u32, direction: Direction, role: Role) {
        let sum = total(&self.parsed.samples, self.side, stream, direction);
        if let Some(sum) = sum.filter(|sum| sum.role == role && sum.bytes.0 > 0) {
            gaps::against_intervals(self.parsed, bytes(row), elapsed(row), &sum);
        }
    }

    /// One row for both ends: the sender's datagrams, and what the receiver found of them.
    fn udp(&mut self, row: &StreamFigures) {
        let direction = self.direction(row);
        let (stream, own) = (self.stream(row, direction), role_of(self.side, direction));
        let size = self.parsed.size();
        for role in [Role::Sender, Role::Receiver] {
            // A server that sent knows nothing of what arrived; a receiver knows what was sent by the numbers.
            if self.side == Side::Peer && role != own {
                continue;
            }
            let (udp, is_possible) = udp(row, role, size);
            if !is_possible {
                self.parsed.withhold_loss(direction, &row.lost_packets, &row.packets);
            }
            let printed = bytes(row);
            let exact = Bytes(udp.datagrams.saturating_mul(size));
            let amount = if size > 0 && (printed.0 == 0 || role != own) { exact } else { printed };
            let amount = if role == Role::Receiver && size > 0 && is_possible { exact } else { amount };
            self.put(row, stream, direction, role, amount, (None, Some(udp)));
        }
    }

    fn put(
        &mut self,
        row: &StreamFigures,
        stream: u32,
        direction: Direction,
        role: Role,
        bytes: Bytes,
        (tcp, udp): (Option<TcpCounters>, Option<UdpCounters>),
    ) {
        let elapsed = elapsed(row);
        let (amount, rate) = (self::bytes(row), row.bits_per_second.float().unwrap_or_default());
        let share = rate * elapsed.as_secs_f64() / 8.0 / amount.0 as f64;
        if share > 0.0 && share.is_finite() && !(1.0 - APART..=1.0 + APART).contains(&share) {
            self.parsed.contradict(format!(
                "The output contradicts itself {direction}: {amount} in {elapsed} is not {}.",
                BitRate(rate as u64)
            ));
        }
        let row = StreamResult { stream, direction, role, elapsed, bytes, total_bytes: bytes, tcp, udp };
        self.parsed.end_mut(side_of(role, direction)).streams.push(row);
    }

    fn of_intervals(&mut self) {
        let directions: Vec<Direction> = self.parsed.test.directions.each().collect();
        for direction in directions {
            for stream in self.parsed.test.stream_numbers(direction) {
                let sum = total(&self.parsed.samples, self.side, stream, direction);
                self.parsed.end_mut(self.side).streams.extend(sum);
            }
        }
    }

    /// CPU and congestion control of both ends.
    fn ends(&mut self, end: &Summary) {
        let cpu = |shares: [&Number; 3]| {
            let [process, user, system] = shares.map(|share| share.float().unwrap_or_default() / 100.0);
            CpuUse { process, user, system, ..CpuUse::default() }
        };
        let shares = &end.cpu_utilization_percent;
        let host = cpu([&shares.host_total, &shares.host_user, &shares.host_system]);
        let remote = cpu([&shares.remote_total, &shares.remote_user, &shares.remote_system]);
        let (own, other) = match self.side {
            Side::Local => (&mut self.parsed.at_client, &mut self.parsed.at_server),
            Side::Peer => (&mut self.parsed.at_server, &mut self.parsed.at_client),
        };
        (own.cpu, other.cpu) = (host, remote);
        let up = self.parsed.test.directions.up();
        let ends: [(&mut SideResult, bool); 2] =
            [(&mut self.parsed.at_client, up), (&mut self.parsed.at_server, !up)];
        for (side, sends) in ends {
            let name = if sends { &end.sender_tcp_congestion } else { &end.receiver_tcp_congestion };
            side.datapath.congestion = name.as_str().map(str::to_owned);
        }
    }
}

/// The server's output in a client's document: its intervals, and its own count of what it received.
fn other_end(parsed: &mut ParsedRun, value: &Results) {
    let (server, text) = (value.server_output_json.0.as_deref(), value.server_output_text.as_str());
    if server.is_none() && text.is_none() {
        return;
    }
    let mut other = parsed.clone();
    (other.samples, other.warnings, other.unknown) = (Vec::new(), Vec::new(), Vec::new());
    (other.at_client.streams, other.at_server.streams) = (Vec::new(), Vec::new());
    if let Some(server) = server {
        let sockets = sockets(&server.start);
        Speaker { parsed: &mut other, side: Side::Peer, sockets }.take(server);
    } else if let Some(text) = text {
        let lines: Lines = text.lines().collect();
        super::ends::server_side(&mut other, &Output::from_lines(&lines));
    }
    parsed.samples.append(&mut other.samples);
    for own in other.at_server.streams.iter().filter(|row| row.role == Role::Receiver) {
        let same = |row: &&StreamResult| row.stream == own.stream && row.direction == own.direction;
        if let Some(of_client) = parsed.at_server.streams.iter().find(same).cloned() {
            gaps::compare(parsed, &of_client, own);
        }
    }
}

fn tcp(row: &StreamFigures) -> TcpCounters {
    let figure = |figure: &Number| figure.count().unwrap_or_default();
    let micros = |of: &Number| Nanos(figure(of).saturating_mul(1000));
    let either = |one: &Number, other: &Number| if one.is_some() { figure(one) } else { figure(other) };
    TcpCounters {
        retransmits: possible::retransmits(row.retransmits.float().map(|count| count as i64)),
        cwnd: Bytes(figure(&row.snd_cwnd)),
        max_cwnd: Bytes(either(&row.max_snd_cwnd, &row.snd_cwnd)),
        send_window: Bytes(figure(&row.snd_wnd)),
        max_send_window: Bytes(either(&row.max_snd_wnd, &row.snd_wnd)),
        rtt: micros(&row.rtt),
        rttvar: micros(&row.rttvar),
        min_rtt: micros(&row.min_rtt),
        mean_rtt: micros(if row.mean_rtt.is_some() { &row.mean_rtt } else { &row.rtt }),
        max_rtt: micros(&row.max_rtt),
        path_mtu: u32::try_from(figure(&row.pmtu)).unwrap_or_default(),
        ..TcpCounters::default()
    }
}

/// The counters of a row of UDP; false: no receiver counts so.
fn udp(row: &StreamFigures, role: Role, size: u64) -> (UdpCounters, bool) {
    let count = |figure: &Number| figure.count().unwrap_or_default();
    if role == Role::Sender {
        return (UdpCounters { datagrams: count(&row.packets), ..UdpCounters::default() }, true);
    }
    let signed = |figure: &Number| figure.signed().unwrap_or_default();
    let counts = possible::counts(signed(&row.lost_packets), signed(&row.packets));
    let by_size = || (bytes(row).0.checked_div(size).unwrap_or_default(), 0);
    let (datagrams, lost) = counts.unwrap_or_else(by_size);
    let jitter = row.jitter_ms.float().map_or(Nanos::ZERO, possible::jitter);
    let reordered = count(&row.out_of_order);
    let udp = UdpCounters { datagrams, lost, reordered, jitter, ..UdpCounters::default() };
    (udp, counts.is_some())
}

fn elapsed(row: &StreamFigures) -> Nanos {
    time(&row.end).saturating_sub(time(&row.start))
}

fn bytes(row: &StreamFigures) -> Bytes {
    Bytes(row.bytes.count().unwrap_or_default())
}

fn time(figure: &Number) -> Nanos {
    let seconds = figure.float().filter(|seconds| (0.0..1e9).contains(seconds)).unwrap_or_default();
    Nanos((seconds * 1e9).round() as u64)
}

/// Amount, rate and time of a row are exact, but some versions reckon a rate by another clock.
const APART: f64 = 0.1;
const MOST_SECONDS: u64 = 1_000_000_000;
