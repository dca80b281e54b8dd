//! netperf's omni output selectors: columns under their names (`-O`), CSV (`-o`) and keys with values (`-k`). What a figure is states
//! its name, never its place.

use super::super::number::{Printed, seconds};
use super::super::{Imported, Known, Tool, block::Block, build, latency};
use super::{Heading, Kind, UNITS, burst, counted, result};
use model::latency::Counted;
use model::plan::{Direction, Directions, Transport};
use model::sample::{Role, TcpCounters, UdpCounters};
use model::stats::distribution::PartialDistribution;
use model::units::Nanos;
use std::net::SocketAddr;

/// The figures that are known, by their keys.
pub(super) struct Figures(Vec<(&'static str, String)>);

impl Figures {
    /// The figures of the lines below a heading; `None` where they are not omni's.
    pub(super) fn from_lines(lines: &[&str]) -> Option<Figures> {
        let found = keys(lines).or_else(|| csv(lines)).or_else(|| columns(lines))?;
        let is_result =
            |key: &&str| key.contains("THROUGHPUT") || key.contains("LATENCY") || *key == "TRANSACTION_RATE";
        found.iter().any(|(key, _)| is_result(key)).then_some(Figures(found))
    }

    /// The run of a block.
    pub(super) fn read(
        &self,
        heading: &Heading,
        block: &Block,
        known: Known,
        name: &str,
    ) -> Option<Box<Imported>> {
        match heading.kind {
            Kind::Request | Kind::Connect => {
                self.round_trips(heading, block).map(|parsed| parsed.imported(name))
            }
            Kind::Datagrams => self.datagrams(heading, block, known).map(|parsed| parsed.imported(name)),
            Kind::Stream | Kind::Maerts => {
                self.stream(heading, block, known).map(|parsed| parsed.imported(name))
            }
        }
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// A figure that is not below zero: -1 stands for one that netperf does not have.
    fn value(&self, key: &str) -> Option<f64> {
        Printed::from_text(self.text(key)?).map(|printed| printed.value).filter(|value| *value >= 0.0)
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.value(key).filter(|value| *value < 1e18).map(|value| value as u64)
    }

    fn size(&self, key: &str) -> Option<u32> {
        self.count(key)?.try_into().ok()
    }

    fn micros(&self, key: &str) -> Option<Nanos> {
        let value = self.value(key).filter(|value| (0.0..1e12).contains(value))?;
        Some(Nanos((value * 1000.0).round() as u64))
    }

    /// Bits per second of a throughput.
    fn rate(&self, key: &str) -> Option<f64> {
        let unit = self.text("THROUGHPUT_UNITS").unwrap_or("10^6bits/s").trim_end_matches("/s");
        let (_, bits) = UNITS.iter().chain(&[("Bytes", 8.0)]).find(|(name, _)| *name == unit)?;
        Some(self.value(key)? * bits)
    }

    /// Transactions per second.
    fn transactions(&self) -> Option<f64> {
        let is_rate = self.text("THROUGHPUT_UNITS").is_none_or(|unit| unit.starts_with("Trans"));
        let rate = self.value("TRANSACTION_RATE").or_else(|| self.value("THROUGHPUT").filter(|_| is_rate));
        rate.filter(|rate| *rate > 0.0)
    }

    fn elapsed(&self) -> Option<Nanos> {
        self.text("ELAPSED_TIME").and_then(seconds).filter(|time| *time > Nanos::ZERO)
    }

    fn round_trips(&self, heading: &Heading, block: &Block) -> Option<latency::ParsedRun> {
        let mut parsed = latency::ParsedRun::new(Tool::Netperf, block.line, Some(&heading.host));
        parsed.remote = heading.address.map(|address| SocketAddr::new(address, 0));
        parsed.transport = heading.transport;
        parsed.size = self.size("REQUEST_SIZE").unwrap_or(1);
        let burst = self.count("BURST_SIZE").unwrap_or_else(|| burst(block).into());
        let by_rate =
            self.transactions().map(|rate| Nanos((burst.saturating_add(1) as f64 / rate * 1e9) as u64));
        let mean = self.micros("MEAN_LATENCY").or_else(|| self.micros("RT_LATENCY")).or(by_rate);
        let mean = mean.or_else(|| self.micros("P50_LATENCY"))?;
        parsed.elapsed = self.elapsed().unwrap_or(DEFAULT_TIME);
        let reckoned = parsed.elapsed.0.checked_div(mean.0).unwrap_or_default();
        let count =
            self.transactions().map_or(reckoned, |rate| (rate * parsed.elapsed.as_secs_f64()).round() as u64);
        if self.elapsed().is_none() {
            parsed.warn("assumed-time", "The output does not say how long it ran: netperf's default of 10 seconds is assumed, and the number of round trips follows from it.");
        }
        let of_distribution = ["P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY"];
        if of_distribution.iter().all(|key| self.micros(key).is_none()) {
            parsed.of_mean(mean, count);
        } else {
            self.distribution(&mut parsed, mean, count);
        }
        heading.warn_of_connections(&mut parsed);
        Some(parsed)
    }

    /// The figures that were selected; netperf has none between p99 and the longest.
    fn distribution(&self, parsed: &mut latency::ParsedRun, mean: Nanos, count: u64) {
        parsed.counted = Counted { sent: count, asked: count, received: count, ..Counted::default() };
        let time = |key: &str| self.micros(key);
        let figures = PartialDistribution {
            count,
            min: time("MIN_LATENCY"),
            mean,
            stddev: time("STDDEV_LATENCY"),
            p50: time("P50_LATENCY"),
            p90: time("P90_LATENCY"),
            p99: time("P99_LATENCY"),
            max: time("MAX_LATENCY"),
            ..PartialDistribution::default()
        };
        parsed.rtt = Some(figures.into());
        let all = ["MEAN_LATENCY", "MIN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY"];
        let lacking: Vec<&str> = all.into_iter().filter(|key| time(key).is_none()).collect();
        let text = if lacking.is_empty() {
            "The output has no percentiles above p99.".to_owned()
        } else {
            format!("The output lacks {}, and has no percentiles above p99.", lacking.join(", "))
        };
        parsed.warn("percentiles-missing", text);
    }

    fn stream(&self, heading: &Heading, block: &Block, known: Known) -> Option<build::ParsedRun> {
        let down = heading.kind == Kind::Maerts;
        let rate = self
            .rate("THROUGHPUT")
            .or_else(|| self.rate(if down { "LOCAL_RECV_THROUGHPUT" } else { "LOCAL_SEND_THROUGHPUT" }))?;
        let elapsed = self.elapsed().unwrap_or(DEFAULT_TIME);
        let directions = if down { Directions::Down } else { Directions::Up };
        let mut parsed = heading.parse_block(block, directions, elapsed, known);
        self.assumed_time(&mut parsed);
        parsed.mss = self.size("TRANSPORT_MSS").filter(|mss| *mss > 0);
        let (direction, role) =
            if down { (Direction::Down, Role::Receiver) } else { (Direction::Up, Role::Sender) };
        let mut row = result(direction, role, elapsed, rate);
        if let Some(retransmits) = self.count("LOCAL_TRANSPORT_RETRANS").filter(|_| !down) {
            row.tcp = Some(TcpCounters { retransmits, ..TcpCounters::default() });
            parsed.resent_known = true;
        }
        parsed.at_client.streams.push(row);
        Some(parsed)
    }

    fn datagrams(&self, heading: &Heading, block: &Block, known: Known) -> Option<build::ParsedRun> {
        let elapsed = self.elapsed().unwrap_or(DEFAULT_TIME);
        let mut parsed = heading.parse_block(block, Directions::Up, elapsed, known);
        parsed.test.transport = Transport::Udp;
        self.assumed_time(&mut parsed);
        let size = self.size("LOCAL_SEND_SIZE").filter(|size| *size > 0)?;
        parsed.test.length = Some(size);
        let count = |rate: Option<f64>| {
            rate.map(|rate| (rate * elapsed.as_secs_f64() / 8.0 / f64::from(size)).round() as u64)
        };
        let sent = self
            .count("LOCAL_SEND_CALLS")
            .or_else(|| count(self.rate("LOCAL_SEND_THROUGHPUT").or_else(|| self.rate("THROUGHPUT"))))?;
        let received = self.count("REMOTE_RECV_CALLS").or_else(|| count(self.rate("REMOTE_RECV_THROUGHPUT")));
        let udp = |datagrams, lost| UdpCounters { datagrams, lost, ..UdpCounters::default() };
        parsed.at_client.streams.push(counted(Role::Sender, elapsed, size, udp(sent, 0)));
        match received {
            Some(received) => {
                let row =
                    counted(Role::Receiver, elapsed, size, udp(received, sent.saturating_sub(received)));
                parsed.at_server.streams.push(row);
            }
            None => parsed.warn(
                "sender-alone",
                "The selected figures are the sender's alone: what arrived is not known.",
            ),
        }
        parsed.assume_mtu();
        Some(parsed)
    }

    fn assumed_time(&self, parsed: &mut build::ParsedRun) {
        if self.elapsed().is_none() {
            parsed.warn("assumed-time", "The output does not say how long it ran: netperf's default of 10 seconds is assumed, and the bytes follow from it.");
        }
    }
}

/// A line of keys, of names between commas, or of the first words of names above columns; the words below them can begin with blanks.
pub(super) fn has_names(line: &str) -> bool {
    let is_key = |(name, _): (&str, &str)| NAMES.iter().any(|(key, _)| *key == name);
    let begins_name = |word: &str| NAMES.iter().any(|(_, name)| name.split(' ').next() == Some(word));
    let mut tokens = line.split_whitespace();
    line.split_once('=').is_some_and(is_key)
        || line.contains(',') && line.split(',').all(|name| key(name).is_some())
        || tokens.clone().count() > 1 && tokens.all(begins_name)
}

/// `MEAN_LATENCY=42.61`.
fn keys(lines: &[&str]) -> Option<Vec<(&'static str, String)>> {
    let pairs = lines.iter().filter_map(|line| {
        let (name, value) = line.trim().split_once('=')?;
        let key = NAMES.iter().find(|(key, _)| *key == name)?.0;
        Some((key, value.trim().trim_matches('"').to_owned()))
    });
    let found: Vec<_> = pairs.collect();
    (!found.is_empty()).then_some(found)
}

/// Names between commas, and the values below them.
fn csv(lines: &[&str]) -> Option<Vec<(&'static str, String)>> {
    let at = lines.iter().position(|line| line.split(',').any(|name| key(name).is_some()))?;
    let values = lines.get(at + 1)?;
    let named = lines[at].split(',').zip(values.split(','));
    let found: Vec<_> =
        named.filter_map(|(name, value)| Some((key(name)?, value.trim().to_owned()))).collect();
    (!found.is_empty()).then_some(found)
}

/// Columns whose names stand above each other, each column beginning where its value does.
fn columns(lines: &[&str]) -> Option<Vec<(&'static str, String)>> {
    let is_row = |line: &&str| line.split_whitespace().any(|word| Printed::from_text(word).is_some());
    let at = lines.iter().position(is_row)?;
    let above = &lines[at.saturating_sub(MOST_NAMES)..at];
    let starts = starts(lines[at]);
    let mut found = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(usize::MAX);
        let cell =
            |line: &&str| line.chars().skip(*start).take(end - start).collect::<String>().trim().to_owned();
        let name = above.iter().map(cell).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        found.extend(key(&name).map(|key| (key, cell(&lines[at]))));
    }
    (!found.is_empty()).then_some(found)
}

/// Where the words of a line begin, in characters.
fn starts(line: &str) -> Vec<usize> {
    let mut before = ' ';
    let mut starts = Vec::new();
    for (at, character) in line.chars().enumerate() {
        if before == ' ' && character != ' ' {
            starts.push(at);
        }
        before = character;
    }
    starts
}

/// The key of a name that stands above a column.
fn key(name: &str) -> Option<&'static str> {
    let name = name.trim();
    NAMES.iter().find(|(_, known)| *known == name).map(|(key, _)| *key)
}

/// Keys of `-k`, and the names that `-o` and `-O` print (netperf 2.5 to 2.7, `nettest_omni.c`).
const NAMES: &[(&str, &str)] = &[
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_UNITS", "Throughput Units"),
    ("LOCAL_SEND_THROUGHPUT", "Local Send Throughput"),
    ("LOCAL_RECV_THROUGHPUT", "Local Recv Throughput"),
    ("REMOTE_SEND_THROUGHPUT", "Remote Send Throughput"),
    ("REMOTE_RECV_THROUGHPUT", "Remote Recv Throughput"),
    ("ELAPSED_TIME", "Elapsed Time (sec)"),
    ("TRANSACTION_RATE", "Transaction Rate Tran/s"),
    ("RT_LATENCY", "Round Trip Latency usec/tran"),
    ("MEAN_LATENCY", "Mean Latency Microseconds"),
    ("MIN_LATENCY", "Minimum Latency Microseconds"),
    ("MAX_LATENCY", "Maximum Latency Microseconds"),
    ("P50_LATENCY", "50th Percentile Latency Microseconds"),
    ("P90_LATENCY", "90th Percentile Latency Microseconds"),
    ("P99_LATENCY", "99th Percentile Latency Microseconds"),
    ("STDDEV_LATENCY", "Stddev Latency Microseconds"),
    ("REQUEST_SIZE", "Request Size Bytes"),
    ("BURST_SIZE", "Initial Burst Requests"),
    ("LOCAL_SEND_SIZE", "Local Send Size"),
    ("LOCAL_SEND_CALLS", "Local Send Calls"),
    ("REMOTE_RECV_CALLS", "Remote Recv Calls"),
    ("LOCAL_TRANSPORT_RETRANS", "Local Transport Retransmissions"),
    ("TRANSPORT_MSS", "Transport MSS bytes"),
];
/// Lines of names above a column.
const MOST_NAMES: usize = 4;
/// `-l` where none is given.
const DEFAULT_TIME: Nanos = Nanos::from_secs(10);
