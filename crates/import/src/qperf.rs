//! qperf's text, 0.4: its tests over TCP and UDP, with `-v`, `-vv` and single parts of these (`-vvs`, `-vvc`, `-vvu`) too.

use super::block::{Block, Mark};
use super::build;
use super::latency;
use super::number::Printed;
use super::{Imported, Known, Tool};
use model::plan::{Direction, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, UdpCounters};
use model::units::{Bytes, Nanos};

/// The role of a line in an output of qperf.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if test(line).is_some() => Mark::First,
        Some(_) if figure(line).is_some() || failure(line).is_some() => Mark::Part,
        _ => Mark::No,
    }
}

/// A line that belongs to qperf and to nothing else, without the blanks that it begins with.
pub(super) fn is_part(line: &str) -> bool {
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    figure(line).is_some_and(|(name, ..)| line.starts_with(&name) && is_name(&name))
}

/// The run of a block; `None` of a heading without figures.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    let (transport, what) = test(block.lines.first()?)?;
    if let Some((host, reason)) = block.lines.iter().find_map(|line| failure(line)) {
        let mut parsed = latency::ParsedRun::new(Tool::Qperf, block.line, host);
        parsed.transport = transport;
        parsed.failed = Some(reason.to_owned());
        return Some(parsed.imported(name));
    }
    let below = block.lines.iter().skip(1).filter(|line| !line.trim().is_empty());
    let figures = Figures(below.map_while(figure).collect());
    match what {
        What::Bandwidth => bandwidth(transport, block, &figures, known).map(|parsed| parsed.imported(name)),
        What::Latency => round_trip(transport, block, &figures).map(|parsed| parsed.imported(name)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Bandwidth,
    Latency,
}

/// `tcp_bw:`.
fn test(line: &str) -> Option<(Transport, What)> {
    Some(match line.trim_end() {
        "tcp_bw:" => (Transport::Tcp, What::Bandwidth),
        "udp_bw:" => (Transport::Udp, What::Bandwidth),
        "tcp_lat:" => (Transport::Tcp, What::Latency),
        "udp_lat:" => (Transport::Udp, What::Latency),
        _ => return None,
    })
}

/// `    bw              =  1.96 GB/sec`: what, and how much of which unit.
fn figure(line: &str) -> Option<(String, String, String)> {
    let (name, value) = line.split_once(" =  ")?;
    let mut tokens = value.split_whitespace();
    let number = tokens.next().filter(|word| Printed::from_text(word).is_some() || whole(word).is_some())?;
    Some((name.trim().to_owned(), number.to_owned(), tokens.next().unwrap_or_default().to_owned()))
}

/// `192.0.2.1: failed to connect`, `getaddrinfo failed: Name or service not known`: the host where it is named, and why nothing was measured.
fn failure(line: &str) -> Option<(Option<&str>, &str)> {
    let line = line.trim();
    if let Some(reason) = line.strip_prefix("getaddrinfo failed: ") {
        return Some((None, reason));
    }
    let (host, reason) = line.split_once(": ").map_or((None, line), |(host, reason)| (Some(host), reason));
    let is_failure =
        ["failed to ", "unable to ", "cannot ", "timed out"].iter().any(|word| reason.starts_with(word));
    (is_failure && !reason.contains(" = ")).then_some((host.filter(|host| *host != "qperf"), reason))
}

/// `1,234,567`: commas part thousands, there being no unit behind it.
fn whole(number: &str) -> Option<u64> {
    number.replace(',', "").parse().ok()
}

/// The figures of a test by their names: number and unit.
struct Figures(Vec<(String, String, String)>);

impl Figures {
    fn value(&self, name: &str) -> Option<(f64, &str)> {
        let found = self.0.iter().find(|(of, ..)| of == name)?;
        Some((Printed::from_text(&found.1)?.value, found.2.as_str()))
    }

    /// `41,130`, with `-vv`.
    fn count(&self, name: &str) -> Option<u64> {
        whole(&self.0.iter().find(|(of, _, unit)| of == name && unit.is_empty())?.1)
    }

    /// Bits per second: `1.96 GB/sec`, and `15.7 Gb/sec` with `-ub`; prefixes are powers of 1000.
    fn rate(&self, name: &str) -> Option<f64> {
        let (value, unit) = self.value(name)?;
        let unit = unit.strip_suffix("/sec")?;
        let (prefix, bits) = match unit {
            "bytes" => ("", 8.0),
            "bits" => ("", 1.0),
            _ => (unit.strip_suffix(['B', 'b'])?, if unit.ends_with('B') { 8.0 } else { 1.0 }),
        };
        Some(value * bits * power(prefix, 1000.0)?)
    }

    /// Bytes: `13.1 GB`, by powers of 1000.
    fn bytes(&self, name: &str) -> Option<Bytes> {
        let (value, unit) = self.value(name)?;
        let prefix = unit.strip_suffix('B').or_else(|| unit.strip_suffix("bytes"))?;
        let bytes = value * power(prefix.trim(), 1000.0)?;
        (0.0..1e18).contains(&bytes).then_some(Bytes(bytes.round() as u64))
    }

    /// How long it ran: as printed, else as amount and rate of an end say together (`-vvs`).
    fn elapsed(&self) -> Option<Nanos> {
        let by_amount = |bytes: &str, rates: [&str; 2]| {
            let rate = rates.into_iter().find_map(|rate| self.rate(rate)).filter(|rate| *rate > 0.0)?;
            let seconds = self.bytes(bytes)?.0 as f64 * 8.0 / rate;
            (0.0..1e9).contains(&seconds).then(|| Nanos((seconds * 1e9).round() as u64))
        };
        self.time("time")
            .or_else(|| by_amount("send_bytes", ["send_bw", "bw"]))
            .or_else(|| by_amount("recv_bytes", ["recv_bw", "bw"]))
            .filter(|time| *time > Nanos::ZERO)
    }

    /// `14 us`.
    fn time(&self, name: &str) -> Option<Nanos> {
        let (value, unit) = self.value(name)?;
        let nanos = match unit {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "sec" => 1e9,
            "min" => 60e9,
            _ => return None,
        };
        (0.0..1e9).contains(&value).then(|| Nanos((value * nanos).round() as u64))
    }

    /// `64 KiB`, `1 bytes`, `64 KB`.
    fn size(&self) -> Option<u32> {
        let (value, unit) = self.value("msg_size")?;
        let factor = match unit.strip_suffix("iB") {
            Some(prefix) => power(prefix, 1024.0)?,
            None => {
                power(unit.trim_end_matches("bytes").trim_end_matches("byte").trim_end_matches('B'), 1000.0)?
            }
        };
        (0.0..1e9).contains(&(value * factor)).then_some((value * factor) as u32)
    }
}

fn power(prefix: &str, base: f64) -> Option<f64> {
    let place = ["", "K", "M", "G", "T"].iter().position(|known| *known == prefix)?;
    Some(base.powi(i32::try_from(place).ok()?))
}

fn bandwidth(
    transport: Transport,
    block: &Block,
    figures: &Figures,
    known: Known,
) -> Option<build::ParsedRun> {
    let sent = figures.rate("send_bw").or_else(|| figures.rate("bw"))?;
    let elapsed = figures.elapsed();
    let mut test = TestSpec::new(transport);
    (test.end, test.streams) = (End::Time(elapsed.unwrap_or(DEFAULT_TIME)), 1);
    if transport == Transport::Udp {
        test.length = figures.size().filter(|size| *size > 0).or(Some(DEFAULT_DATAGRAM));
    }
    let mut parsed = build::ParsedRun::new(Tool::Qperf, block.line, ProtocolName::Foreign, test, known);
    if elapsed.is_none() {
        parsed.warn(
            "assumed-time",
            "The output does not say how long it ran: qperf's default of 2 seconds is assumed.",
        );
    }
    let elapsed = elapsed.unwrap_or(DEFAULT_TIME);
    let bytes = |rate: f64| Bytes((rate * elapsed.as_secs_f64() / 8.0).round() as u64);
    let row = |role, bytes, udp| build::only_stream(Direction::Up, role, elapsed, bytes, udp);
    let printed = |name: &str| figures.bytes(name).map(|bytes| exact(bytes, figures, name));
    let amount = printed("send_bytes").unwrap_or_else(|| bytes(sent));
    if transport == Transport::Tcp {
        parsed.at_client.streams.push(row(Role::Sender, amount, None));
        let received = printed("recv_bytes").map(|amount| row(Role::Receiver, amount, None));
        parsed.at_server.streams.extend(received);
        return Some(parsed);
    }
    if figures.size().is_none() {
        parsed.warn("assumed-size", "The output does not give the size of datagrams: qperf's default of 32 KiB is assumed, and their numbers follow from it.");
    }
    parsed.assume_mtu();
    let received = figures.rate("recv_bw")?;
    let count = |rate: f64| bytes(rate).0.checked_div(parsed.size()).unwrap_or_default();
    let sent_count = figures.count("send_msgs").unwrap_or_else(|| count(sent));
    let count = figures.count("recv_msgs").unwrap_or_else(|| count(received));
    let udp = |datagrams, lost| Some(UdpCounters { datagrams, lost, ..UdpCounters::default() });
    parsed.at_client.streams.push(row(Role::Sender, amount, udp(sent_count, 0)));
    let lost = sent_count.saturating_sub(count);
    let amount = printed("recv_bytes").unwrap_or_else(|| bytes(received));
    parsed.at_server.streams.push(row(Role::Receiver, amount, udp(count, lost)));
    Some(parsed)
}

/// A printed amount in whole messages, where their size and number say the same.
fn exact(printed: Bytes, figures: &Figures, name: &str) -> Bytes {
    let count = figures.count(&name.replace("_bytes", "_msgs"));
    let whole = count.zip(figures.size()).map(|(count, size)| Bytes(count.saturating_mul(u64::from(size))));
    whole.filter(|whole| whole.0.abs_diff(printed.0) <= printed.0 / 100).unwrap_or(printed)
}

/// qperf's latency is half of a round trip.
fn round_trip(transport: Transport, block: &Block, figures: &Figures) -> Option<latency::ParsedRun> {
    let half = figures.time("latency")?;
    let mut parsed = latency::ParsedRun::new(Tool::Qperf, block.line, None);
    parsed.transport = transport;
    parsed.size = figures.size().unwrap_or(1);
    let (rtt, counted) = (half.saturating_mul(2), figures.count("loc_recv_msgs"));
    // Round trips follow each other without a pause.
    let by_count = counted.map(|count| rtt.saturating_mul(count));
    parsed.elapsed = figures.time("time").or(by_count).unwrap_or(DEFAULT_TIME);
    let reckoned = parsed.elapsed.0.checked_div(rtt.0).unwrap_or_default();
    parsed.of_mean(rtt, counted.unwrap_or(reckoned));
    parsed.warn(
        "halved",
        "The tool printed half of each round trip; here it is doubled, to the round trip that it measured.",
    );
    Some(parsed)
}

/// Blanks before each figure.
pub(super) const INDENTATION: usize = 4;
/// `-t` where none is given.
const DEFAULT_TIME: Nanos = Nanos::from_secs(2);
/// `-m` of `udp_bw` where none is given.
const DEFAULT_DATAGRAM: u32 = 32 * 1024;
