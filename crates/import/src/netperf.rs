//! netperf's text: its STREAM, MAERTS, SENDFILE, RR and CRR tests, 2.4 to 2.7, of migrated tests and with omni's selectors
//! (`-O`, `-o`, `-k`) too.

mod omni;

use super::block::{Block, Mark};
use super::build;
use super::latency;
use super::number::{Printed, seconds};
use super::{Imported, Known, Tool};
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, StreamResult, UdpCounters};
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr};

/// The role of a line in an output of netperf.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if Heading::from_line(line).is_some() || unconnected(line).is_some() => Mark::First,
        Some(_) if numbers(line).len() >= FEWEST || failure(line).is_some() => Mark::Part,
        _ => Mark::No,
    }
}

/// A line that belongs to netperf and to nothing else: names and units of columns, or omni's names.
pub(super) fn is_part(line: &str) -> bool {
    let is_short = line.len() <= LONGEST_NAMES && line.starts_with(|c: char| c.is_ascii_alphabetic());
    is_short && (omni::has_names(line) || are_columns(line))
}

/// `Socket Socket  Message  Elapsed`.
fn are_columns(line: &str) -> bool {
    let mut tokens = line.split_whitespace();
    line.starts_with("Local /Remote")
        || tokens.clone().count() > 2 && tokens.all(|token| COLUMNS.contains(&token))
}

/// The run of a block; `None` of a heading without figures.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    if let Some((host, reason)) = unconnected(block.lines.first()?) {
        let test = TestSpec::new(Transport::Tcp);
        let mut parsed = build::ParsedRun::new(Tool::Netperf, block.line, ProtocolName::Foreign, test, known);
        parsed.host = Some(host.to_owned());
        parsed.outcome = Outcome::Failed { reason };
        return Some(parsed.imported(name));
    }
    let heading = Heading::from_line(block.lines.first()?)?;
    let lines: Vec<&str> = block.lines.iter().skip(1).filter(|line| !line.trim().is_empty()).collect();
    let figures = match omni::Figures::from_lines(&lines) {
        Some(figures) => figures.read(&heading, block, known, name),
        None => of_rows(&heading, name, block, known),
    };
    figures.or_else(|| {
        let reason = lines.iter().find_map(|line| failure(line))?;
        let mut parsed = heading.parse_block(block, Directions::Up, Nanos::ZERO, known);
        parsed.outcome = Outcome::Failed { reason };
        Some(parsed.imported(name))
    })
}

/// The run of rows of figures below the names of their columns.
fn of_rows(heading: &Heading, name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    let rows: Vec<Vec<&str>> =
        block.lines.iter().map(|line| numbers(line)).filter(|row| row.len() >= FEWEST).collect();
    let unit = block.lines.iter().find_map(unit);
    match heading.kind {
        Kind::Stream | Kind::Maerts => {
            stream(heading, block, &rows, unit?, known).map(|parsed| parsed.imported(name))
        }
        Kind::Datagrams => datagrams(heading, block, &rows, unit?, known).map(|parsed| parsed.imported(name)),
        Kind::Request | Kind::Connect => request(heading, block, &rows).map(|parsed| parsed.imported(name)),
    }
}

/// `establish control: are you sure there is a netserver listening on 192.0.2.1 at port 12865?`, and 2.4 `Are you sure there is a
/// netserver running on 192.0.2.1 at port 12865?`: the host, and what failed.
fn unconnected(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    let far = line
        .strip_prefix("establish control: are you sure there is a netserver listening on ")
        .or_else(|| line.strip_prefix("Are you sure there is a netserver running on "))?;
    let (host, port) = far.trim_end_matches('?').split_once(" at port ")?;
    Some((host, format!("no netserver answers at {host} port {port}")))
}

/// Why a test that had begun has no figures: `send_omni: connect_data_socket failed: Connection timed out`.
fn failure(line: &str) -> Option<String> {
    let (function, reason) = line.trim().split_once(": ")?;
    let is_function = function.contains('_')
        && function.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    let fails = ["failed", "no response received", "error", "partial response", "unable to"]
        .iter()
        .any(|word| reason.contains(word));
    (is_function && fails).then(|| reason.to_owned())
}

/// `MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to host (10.0.0.2) port 0 AF_INET : demo`.
#[derive(Clone, Debug, PartialEq)]
struct Heading {
    transport: Transport,
    kind: Kind,
    host: String,
    address: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stream,
    /// The far end sends.
    Maerts,
    Datagrams,
    Request,
    /// A connection for each request.
    Connect,
}

impl Heading {
    fn from_line(line: &str) -> Option<Heading> {
        let (test, ends) = line.trim().trim_start_matches("MIGRATED ").split_once(" TEST from ")?;
        let test = match test {
            "OMNI Send" => "TCP STREAM",
            "OMNI Receive" => "TCP MAERTS",
            "OMNI Send|Recv" => "TCP REQUEST/RESPONSE",
            other => other,
        };
        let (transport, what) = test.split_once(' ')?;
        let transport = match transport {
            "TCP" => Transport::Tcp,
            "UDP" => Transport::Udp,
            _ => return None,
        };
        let kind = match (transport, what.to_ascii_lowercase().as_str()) {
            (Transport::Tcp, "stream" | "sendfile") => Kind::Stream,
            (Transport::Tcp, "maerts") => Kind::Maerts,
            (Transport::Udp, "stream" | "unidirectional send") => Kind::Datagrams,
            (_, "request/response") => Kind::Request,
            (Transport::Tcp, "connect/request/response") => Kind::Connect,
            _ => return None,
        };
        let mut far = ends.split_once(" to ")?.1.split_whitespace();
        let host = far.next()?.to_owned();
        let resolved = far.next().map(|word| word.trim_matches(['(', ')']));
        let address = host.parse().ok().or_else(|| resolved?.parse().ok());
        Some(Heading { transport, kind, host, address })
    }

    fn parse_block(
        &self,
        block: &Block,
        direction: Directions,
        elapsed: Nanos,
        known: Known,
    ) -> build::ParsedRun {
        let mut test = TestSpec::new(self.transport);
        (test.directions, test.end, test.streams) = (direction, End::Time(elapsed), 1);
        let mut parsed = build::ParsedRun::new(Tool::Netperf, block.line, ProtocolName::Foreign, test, known);
        parsed.host = Some(self.host.clone());
        parsed.server = self.address.map(|address| SocketAddr::new(address, 0));
        parsed
    }

    fn warn_of_connections(&self, parsed: &mut latency::ParsedRun) {
        if self.kind == Kind::Connect {
            parsed.warn("connects-too", "Each transaction opened a connection of its own: its time is that of two round trips at least.");
        }
    }
}

/// The figures of a row of nothing else; none of any other line.
fn numbers(line: &str) -> Vec<&str> {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    if tokens.iter().all(|word| Printed::from_text(word).is_some()) { tokens } else { Vec::new() }
}

/// Bits per second of one unit of the throughput's column.
fn unit(line: &str) -> Option<f64> {
    let line = line.trim_start();
    let units = line.strip_prefix("bytes")?;
    UNITS.iter().find(|(name, _)| units.contains(name)).map(|(_, bits)| *bits)
}

/// `87380  16384  16384    10.00    941.28`, and with `-c` the CPUs behind it.
fn stream(
    heading: &Heading,
    block: &Block,
    rows: &[Vec<&str>],
    unit: f64,
    known: Known,
) -> Option<build::ParsedRun> {
    let row = rows.iter().find(|row| row.len() >= 5)?;
    let elapsed = seconds(row[3])?;
    let rate = Printed::from_text(row[4])?.value * unit;
    let down = heading.kind == Kind::Maerts;
    let mut parsed =
        heading.parse_block(block, if down { Directions::Down } else { Directions::Up }, elapsed, known);
    let (direction, role) =
        if down { (Direction::Down, Role::Receiver) } else { (Direction::Up, Role::Sender) };
    parsed.at_client.streams.push(result(direction, role, elapsed, rate));
    Some(parsed)
}

/// `212992    1024   5.00       344561      0     564.42` of the sender, `212992           5.00       344533            564.38`
/// of the receiver.
fn datagrams(
    heading: &Heading,
    block: &Block,
    rows: &[Vec<&str>],
    unit: f64,
    known: Known,
) -> Option<build::ParsedRun> {
    let at = rows.iter().position(|row| row.len() >= 6)?;
    let sent = &rows[at];
    let (length, printed, count) = (sent[1].parse::<u32>().ok()?, seconds(sent[2])?, sent[3].parse().ok()?);
    let rate = |figure: &str| Printed::from_text(figure).map(|printed| printed.value * unit);
    let elapsed = exact_time(count, length, rate(sent[5])?, printed);
    let mut parsed = heading.parse_block(block, Directions::Up, elapsed, known);
    parsed.test.length = Some(length).filter(|length| *length > 0);
    parsed.assume_mtu();
    let udp = |datagrams, lost| UdpCounters { datagrams, lost, ..UdpCounters::default() };
    parsed.at_client.streams.push(counted(Role::Sender, elapsed, length, udp(count, 0)));
    let Some(row) = rows.get(at + 1).filter(|row| row.len() >= 4) else { return Some(parsed) };
    let (printed, received) = (seconds(row[1])?, row[2].parse::<u64>().ok()?);
    let elapsed = exact_time(received, length, rate(row[3])?, printed);
    let lost = count.saturating_sub(received);
    parsed.at_server.streams.push(counted(Role::Receiver, elapsed, length, udp(received, lost)));
    Some(parsed)
}

/// The time in which so many datagrams have the printed rate, where it rounds to the printed time, which has two places.
fn exact_time(datagrams: u64, length: u32, rate: f64, printed: Nanos) -> Nanos {
    let exact = datagrams as f64 * f64::from(length) * 8e9 / rate;
    let agrees = (exact - printed.0 as f64).abs() <= ROUNDING;
    if agrees { Nanos(exact.round() as u64) } else { printed }
}

fn counted(role: Role, elapsed: Nanos, length: u32, counters: UdpCounters) -> StreamResult {
    let bytes = Bytes(counters.datagrams.saturating_mul(length.into()));
    build::only_stream(Direction::Up, role, elapsed, bytes, Some(counters))
}

/// `16384  131072 1        1       10.00    2041.68`: one transaction after another, so each took 1 ÷ rate on average.
fn request(heading: &Heading, block: &Block, rows: &[Vec<&str>]) -> Option<latency::ParsedRun> {
    block.lines.iter().find(|line| line.contains("per sec"))?;
    let row = rows.iter().find(|row| row.len() >= 6)?;
    let elapsed = seconds(row[4])?;
    let rate = Printed::from_text(row[5]).map(|printed| printed.value).filter(|rate| *rate > 0.0)?;
    let mut parsed = latency::ParsedRun::new(Tool::Netperf, block.line, Some(&heading.host));
    parsed.remote = heading.address.map(|address| SocketAddr::new(address, 0));
    (parsed.transport, parsed.elapsed) = (heading.transport, elapsed);
    parsed.size = row[2].parse().unwrap_or_default();
    let burst = burst(block);
    // Those of a burst are in flight together.
    let each = f64::from(burst.saturating_add(1)) / rate;
    parsed.of_mean(Nanos((each * 1e9) as u64), (rate * elapsed.as_secs_f64()).round() as u64);
    heading.warn_of_connections(&mut parsed);
    Some(parsed)
}

/// Requests beyond one that are in flight together.
fn burst(block: &Block) -> u32 {
    let first = block.lines.first().and_then(|line| line.split_once("first burst ")).map(|(_, count)| count);
    first.and_then(|count| count.split_whitespace().next()?.parse::<u32>().ok()).unwrap_or_default()
}

fn result(direction: Direction, role: Role, elapsed: Nanos, rate: f64) -> StreamResult {
    let bytes = Bytes((rate.max(0.0) * elapsed.as_secs_f64() / 8.0).round() as u64);
    build::only_stream(direction, role, elapsed, bytes, None)
}

/// Units of a throughput, and their bits.
const UNITS: [(&str, f64); 6] = [
    ("10^9bits", 1e9),
    ("10^6bits", 1e6),
    ("10^3bits", 1e3),
    ("GBytes", 8.0 * 1_073_741_824.0),
    ("MBytes", 8.0 * 1_048_576.0),
    ("KBytes", 8.0 * 1024.0),
];
/// Words of the names and units of columns, without those of the CPU.
const COLUMNS: [&str; 41] = [
    "Recv",
    "Send",
    "Socket",
    "Size",
    "size",
    "Message",
    "Messages",
    "Elapsed",
    "Time",
    "Throughput",
    "bytes",
    "Bytes",
    "secs.",
    "secs",
    "10^9bits/sec",
    "10^6bits/sec",
    "10^3bits/sec",
    "10^9bits/s",
    "10^6bits/s",
    "10^3bits/s",
    "GBytes/sec",
    "MBytes/sec",
    "KBytes/sec",
    "Okay",
    "Errors",
    "#",
    "Request",
    "Resp.",
    "Trans.",
    "Rate",
    "per",
    "sec",
    "Utilization",
    "Service",
    "Demand",
    "CPU",
    "S.dem",
    "local",
    "remote",
    "%",
    "S",
];
/// Lines of names are no longer, but for those of CSV.
const LONGEST_NAMES: usize = 2000;
/// Half of the last place of a time, and a little for that of a rate: nanoseconds.
const ROUNDING: f64 = 6e6;
/// The receiver's row of UDP has the fewest figures.
const FEWEST: usize = 4;
