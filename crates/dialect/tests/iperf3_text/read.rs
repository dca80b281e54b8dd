//! Reads iPerf3's text into the events that made it.

use crate::numbers::{Printed, duration};
use model::event::{Connected, EndResult, Event, Finished, Outcome, Started};
use model::host::Host;
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::sample::{
    CpuUse, DataPath, IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, StreamSample,
    TcpCounters, UdpCounters,
};
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use std::net::SocketAddr;

/// A capture and the facts that its text does not show.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) file: &'static str,
    pub(crate) transport: Transport,
    pub(crate) directions: Directions,
    pub(crate) length: u32,
    pub(crate) order: ResultSequence,
    pub(crate) unit: char,
    pub(crate) title: Option<&'static str>,
    pub(crate) interrupted: bool,
}

/// A client prints its only interval after it has the server's result.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ResultSequence {
    IntervalsFirst,
    ResultFirst,
}

/// The events behind a text.
pub(crate) fn events(case: &Case, text: &str) -> Vec<Event> {
    let (own, output) = match text.split_once("\nServer output:\n") {
        Some((own, rest)) => (own, Some(rest.strip_suffix("\n\niperf Done.\n").expect("the client is done"))),
        None => (text, None),
    };
    let title = case.title.map(|title| format!("{title}:  ")).unwrap_or_default();
    let lines: Vec<&str> = own.lines().map(|line| line.strip_prefix(&title).unwrap_or(line)).collect();
    let reader = Reader { case, server: case.file.ends_with(".server"), lines };
    reader.events(output)
}

struct Reader<'a> {
    case: &'a Case,
    server: bool,
    lines: Vec<&'a str>,
}

/// A row of figures.
struct TextRow {
    /// `None`: the sum.
    socket: Option<i32>,
    /// `[TX-C]` and such.
    mark: String,
    start: f64,
    end: f64,
    bytes: Printed,
    rate: Printed,
    /// The columns behind the bitrate.
    rest: Vec<String>,
}

impl Reader<'_> {
    fn events(&self, output: Option<&str>) -> Vec<Event> {
        let streams = self.streams();
        let mut samples: Vec<Event> = self.samples(&streams).into_iter().map(Event::Sample).collect();
        let result = |side| self.result(side, &streams, output).map(Event::Result);
        let mut events = vec![Event::Connected(self.connected(&streams))];
        events.push(Event::Started(Started { wall: WallTime(0), streams: streams.clone() }));
        let results: Vec<Event> = [Side::Local, Side::Peer].into_iter().filter_map(result).collect();
        match self.case.order {
            ResultSequence::IntervalsFirst => events.append(&mut samples),
            ResultSequence::ResultFirst => {}
        }
        events.extend(results);
        events.append(&mut samples);
        let outcome = if self.case.interrupted { Outcome::Interrupted } else { Outcome::Completed };
        events.push(Event::Finished(Finished { wall: WallTime(0), elapsed: Nanos::ZERO, outcome }));
        events
    }

    fn after(&self, mark: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| line.split_once(mark)).map(|(_, rest)| rest)
    }

    fn number<T: std::str::FromStr>(&self, mark: &str) -> Option<T> {
        self.after(mark)?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    }

    fn connected(&self, streams: &[StreamInfo]) -> Connected {
        let both = if self.case.directions == Directions::Both { 2 } else { 1 };
        let mut test = TestSpec::new(self.case.transport);
        test.directions = self.case.directions;
        test.streams = u32::try_from(streams.len()).expect("few streams") / both;
        test.length = self.number(" streams, ").or(Some(self.case.length)).filter(|length| *length > 0);
        let omits = self.lines.iter().any(|line| line.ends_with("(omitted)"));
        test.omit = Nanos::from_secs(self.number("omitting ").unwrap_or(u64::from(omits)));
        test.tos = self.number(", tos ").unwrap_or(0);
        test.bitrate = self.number("Target Bitrate: ").map(BitRate);
        let default_mss = self.after("TCP MSS: ").is_none_or(|rest| rest.ends_with("(default)"));
        test.mss = self.number("TCP MSS: ").filter(|_| !default_mss);
        test.end = self.end();
        let remote = self.remote();
        Connected {
            wall: self.after("Time: ").map(wall).unwrap_or_default(),
            plan: Plan {
                target: Target { host: remote.ip().to_string(), address: remote },
                protocol: ProtocolName::Iperf3,
                test,
                local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
            },
            local: remote,
            remote,
            session: self.after("Cookie: ").unwrap_or_default().to_owned(),
            control_mss: self.number("Control connection MSS "),
            host: Host::default(),
            peer: None,
        }
    }

    fn end(&self) -> End {
        let line = self.after("omitting ").unwrap_or_default();
        let remarks: Vec<&str> = line.split(", ").nth(1).unwrap_or_default().split(' ').collect();
        match remarks.as_slice() {
            [bytes, "bytes", ..] => End::Bytes(Bytes(bytes.parse().expect("a number"))),
            [blocks, "blocks", ..] => End::Blocks(blocks.parse().expect("a number")),
            [seconds, ..] if !seconds.is_empty() => {
                End::Time(Nanos::from_secs(seconds.parse().expect("a number")))
            }
            // Not printed without -V: the whole seconds of the last row.
            _ => {
                let spans =
                    self.lines.iter().filter_map(|line| line.split_once("   sec ")?.0.rsplit_once('-'));
                let ends = spans.filter_map(|(_, end)| end.trim().parse::<f64>().ok());
                End::Time(Nanos::from_secs(ends.fold(0.0, f64::max).round() as u64))
            }
        }
    }

    fn remote(&self) -> SocketAddr {
        let mark = if self.server { "Accepted connection from " } else { "Connecting to host " };
        let (ip, port) = self.after(mark).and_then(|rest| rest.split_once(", port ")).expect("it connected");
        SocketAddr::new(ip.parse().expect("an address"), port.parse().expect("a port"))
    }

    fn streams(&self) -> Vec<StreamInfo> {
        let lines: Vec<&str> = self.lines.iter().copied().filter(|line| line.contains("] local ")).collect();
        let up = match self.case.directions {
            Directions::Up => lines.len(),
            Directions::Down => 0,
            Directions::Both => lines.len() / 2,
        };
        let info = |(number, line): (usize, &&str)| {
            let direction = if number < up { Direction::Up } else { Direction::Down };
            let remarks: Vec<&str> = line[5..].split_whitespace().collect();
            let address =
                |at: usize| format!("{}:{}", remarks[at], remarks[at + 2]).parse().expect("an address");
            StreamInfo {
                stream: u32::try_from(number).expect("few streams"),
                direction,
                role: self.role(direction),
                local: address(1),
                remote: address(6),
                socket: socket(line).expect("a stream's line begins with its socket"),
                mss: None,
                path_mtu: None,
                send_buffer: Bytes(0),
                receive_buffer: Bytes(0),
                congestion: None,
            }
        };
        lines.iter().enumerate().map(info).collect()
    }

    fn role(&self, direction: Direction) -> Role {
        if (direction == Direction::Up) == self.server { Role::Receiver } else { Role::Sender }
    }

    /// The rows of figures before (`false`) or in (`true`) the summary.
    fn rows(&self, summary: bool) -> Vec<TextRow> {
        let headers: Vec<usize> =
            (0..self.lines.len()).filter(|at| self.lines[*at].starts_with("[ ID]")).collect();
        let [first, last] = [headers[0], headers[headers.len() - 1]];
        let part = if summary { &self.lines[last..] } else { &self.lines[first..last] };
        part.iter()
            .filter(|line| line.contains(" sec ") && !line.contains(DISORDER))
            .map(|line| TextRow::read(line))
            .collect()
    }

    fn samples(&self, streams: &[StreamInfo]) -> Vec<IntervalSample> {
        let rows: Vec<TextRow> = self.rows(false).into_iter().filter(|row| row.socket.is_some()).collect();
        rows.chunks(streams.len()).map(|rows| self.sample(rows, streams)).collect()
    }

    fn sample(&self, rows: &[TextRow], streams: &[StreamInfo]) -> IntervalSample {
        let samples: Vec<StreamSample> = rows.iter().map(|row| self.stream_sample(row, streams)).collect();
        let pairs: Vec<(u64, Printed)> =
            samples.iter().zip(rows).map(|(s, row)| (s.bytes.0, row.rate)).collect();
        let start = (rows[0].start * 1e9).round() as u64;
        let length = duration(rows[0].end - rows[0].start, &pairs);
        IntervalSample {
            side: Side::Local,
            start: Nanos(start),
            end: Nanos(start + length),
            omitted: rows[0].rest.iter().any(|word| word == "(omitted)"),
            streams: samples,
        }
    }

    fn stream_sample(&self, row: &TextRow, streams: &[StreamInfo]) -> StreamSample {
        let info = streams.iter().find(|info| Some(info.socket) == row.socket).expect("a known stream");
        let mut sample = StreamSample {
            stream: info.stream,
            direction: info.direction,
            role: info.role,
            bytes: Bytes(row.bytes.bytes()),
            tcp: None,
            udp: None,
        };
        match (self.case.transport, info.role) {
            (Transport::Tcp, Role::Sender) => {
                let cwnd = Printed::read(&row.rest[1], &row.rest[2]).bytes();
                let retransmits = row.rest[0].parse().expect("a number");
                sample.tcp = Some(TcpCounters { retransmits, cwnd: Bytes(cwnd), ..TcpCounters::default() });
            }
            (Transport::Tcp, Role::Receiver) => {}
            (Transport::Udp, Role::Sender) => {
                let datagrams = row.rest[0].parse().expect("a number");
                sample.udp = Some(UdpCounters { datagrams, ..UdpCounters::default() });
            }
            (Transport::Udp, Role::Receiver) => sample.udp = Some(row.received_udp()),
        }
        if let Some(udp) = &sample.udp {
            sample.bytes = Bytes(udp.datagrams * u64::from(self.case.length));
        }
        sample
    }

    /// One end's result, if the summary has its rows.
    fn result(&self, side: Side, streams: &[StreamInfo], output: Option<&str>) -> Option<EndResult> {
        if side == Side::Peer && (self.case.interrupted || self.server) {
            return None;
        }
        let rows = self.rows(true);
        let local = side == Side::Local;
        let stream_result = |info: &StreamInfo| self.stream_result(info, local, &rows);
        let mut result =
            SideResult { streams: streams.iter().map(stream_result).collect(), ..SideResult::default() };
        result.cpu = self.cpu(local);
        let congestion = match self.role(streams[0].direction) {
            Role::Sender if local => "snd_tcp_congestion ",
            Role::Receiver if !local => "snd_tcp_congestion ",
            _ => "rcv_tcp_congestion ",
        };
        let congestion = self.after(congestion).map(str::to_owned);
        result.datapath = DataPath { congestion, ..DataPath::default() };
        let output_text = output.filter(|_| !local).map(str::to_owned);
        Some(EndResult { side, result, output_text, output_json: None })
    }

    fn stream_result(&self, info: &StreamInfo, local: bool, rows: &[TextRow]) -> StreamResult {
        let role = match (info.role, local) {
            (role, true) => role,
            (Role::Sender, false) => Role::Receiver,
            (Role::Receiver, false) => Role::Sender,
        };
        let name = if role == Role::Sender { "sender" } else { "receiver" };
        let is_it = |row: &&TextRow| row.rest.last().is_some_and(|word| word == name);
        let of_role: Vec<&TextRow> = rows.iter().filter(is_it).collect();
        let row = of_role.iter().find(|row| row.socket == Some(info.socket)).expect("a row of the summary");
        let mut udp = (self.case.transport == Transport::Udp).then(|| row.received_udp());
        if let Some(udp) = udp.as_mut().filter(|_| role == Role::Receiver) {
            udp.reordered = self.disorder(info.socket);
        }
        // One duration for all rows of a role in this direction: iPerf3 divides all by the first stream's.
        let pairs = self.pairs(&of_role);
        let retransmits = row.rest.first().and_then(|word| word.parse().ok()).unwrap_or(0);
        StreamResult {
            stream: info.stream,
            direction: info.direction,
            role,
            elapsed: Nanos(duration(row.end, &pairs)),
            bytes: Bytes(self.end_bytes(row)),
            total_bytes: Bytes(self.end_bytes(row)),
            tcp: udp.is_none().then(|| TcpCounters { retransmits, ..TcpCounters::default() }),
            udp,
        }
    }

    /// `[SUM]  0.0- 1.0 sec  16 datagrams received out-of-order` stands before the row of the stream it speaks of.
    fn disorder(&self, of: i32) -> u64 {
        let pairs = self.lines.windows(2).filter(|pair| socket(pair[1]) == Some(of));
        let mut counts =
            pairs.filter_map(|pair| pair[0].split_once(DISORDER)?.0.split(' ').next_back()?.parse().ok());
        counts.next().unwrap_or(0)
    }

    fn end_bytes(&self, row: &TextRow) -> u64 {
        match self.case.transport {
            Transport::Udp => row.received_udp().datagrams * u64::from(self.case.length),
            Transport::Tcp => row.bytes.bytes(),
        }
    }

    /// Bytes and rate of every row; a sum's bytes are those of its streams.
    fn pairs(&self, rows: &[&TextRow]) -> Vec<(u64, Printed)> {
        let bytes = |row: &TextRow| match row.socket {
            Some(_) => self.end_bytes(row),
            None => rows
                .iter()
                .filter(|stream| stream.socket.is_some() && stream.mark == row.mark)
                .map(|stream| self.end_bytes(stream))
                .sum(),
        };
        rows.iter().map(|row| (bytes(row), row.rate)).collect()
    }

    /// `CPU Utilization: local/sender 2.2% (0.0%u/2.2%s), remote/receiver …`.
    fn cpu(&self, local: bool) -> CpuUse {
        let Some(line) = self.after("CPU Utilization: ") else { return CpuUse::default() };
        let part = line.split("), ").nth(usize::from(!local)).expect("two ends");
        let numbers: Vec<f64> = part
            .split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .filter_map(|word| word.parse::<f64>().ok())
            .map(|percent| percent / 100.0)
            .collect();
        CpuUse { process: numbers[0], user: numbers[1], system: numbers[2], ..CpuUse::default() }
    }
}

impl TextRow {
    fn read(line: &str) -> TextRow {
        let (_, figures) = line.rsplit_once(']').expect("a row begins with its id");
        let remarks: Vec<&str> = figures.split_whitespace().collect();
        let (start, end) = remarks[0].split_once('-').expect("begin and end");
        TextRow {
            socket: socket(line),
            mark: line.split_once("][").map(|(_, mark)| mark[..4].to_owned()).unwrap_or_default(),
            start: start.parse().expect("seconds"),
            end: end.parse().expect("seconds"),
            bytes: Printed::read(remarks[2], remarks[3]),
            rate: Printed::read(remarks[4], remarks[5]),
            rest: remarks[6..].iter().map(|word| (*word).to_owned()).collect(),
        }
    }

    /// `0.104 ms 0/38 (0%)`.
    fn received_udp(&self) -> UdpCounters {
        let jitter: f64 = self.rest[0].parse().expect("milliseconds");
        let (lost, packets) = self.rest[2].split_once('/').expect("lost of packets");
        let lost: u64 = lost.parse().expect("a number");
        let packets: u64 = packets.parse().expect("a number");
        UdpCounters {
            datagrams: packets - lost,
            lost,
            // Inside the rounding, and below its middle: the captures' means were.
            jitter: Nanos(((jitter * 1e6).round() as u64).saturating_sub(100)),
            ..UdpCounters::default()
        }
    }
}

fn socket(line: &str) -> Option<i32> {
    line.get(1..4)?.trim().parse().ok()
}

/// `Sat, 21 Nov 2026 00:22:21 GMT`.
fn wall(date: &str) -> WallTime {
    let remarks: Vec<&str> = date.split_whitespace().collect();
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.find(remarks[2]).expect("a month") / 3 + 1;
    let text = format!("{}-{month:02}-{}T{}Z", remarks[3], remarks[1], remarks[4]);
    text.parse().expect("a time")
}

const DISORDER: &str = " datagrams received out-of-order";
