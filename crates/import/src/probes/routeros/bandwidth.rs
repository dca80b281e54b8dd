//! `/tool bandwidth-test` of RouterOS: the figures that it shows last, of each direction.

use super::super::super::block::Block;
use super::super::super::build::{ParsedRun, only_stream, role_of, side_of};
use super::super::super::number::Printed;
use super::super::super::{Imported, Known, Tool};
use super::duration;
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, UdpCounters};
use model::units::{Bytes, Nanos};

/// The command line, or the first line that is printed.
pub(super) fn begins(line: &str) -> bool {
    is_command(line) || matches!(field(line), Some(("status", "running" | "done testing" | "connecting")))
}

pub(super) fn is_command(line: &str) -> bool {
    line.contains("bandwidth-test ") && line.contains('>')
}

/// `tx-total-average: 139.5Mbps`.
pub(super) fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim_start().split_once(": ")?;
    FIELDS.contains(&name).then_some((name, value.trim()))
}

pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    let value = |name: &str| {
        block.lines.iter().rev().filter_map(field).find(|(known, _)| *known == name).map(|(_, value)| value)
    };
    let rate = |name: &str| rate(value(name)?).filter(|rate| *rate > 0.0);
    let average =
        |end: &str| rate(&format!("{end}-total-average")).or_else(|| rate(&format!("{end}-current")));
    let (sent, received) = (average("tx"), average("rx"));
    let elapsed = value("duration").and_then(duration).filter(|time| *time > Nanos::ZERO);
    if sent.is_none() && received.is_none() || elapsed.is_none() {
        return failed(name, block, known, value("status")?);
    }
    let elapsed = elapsed?;
    let size = |name: &str| value(name).and_then(|size| size.parse::<u32>().ok()).filter(|size| *size > 0);
    let command = block.lines.iter().find(|line| is_command(line)).unwrap_or_default();
    let is_udp = value("lost-packets").is_some() || size("tx-size").or(size("rx-size")).is_some();
    let is_tcp = command.contains("protocol=tcp") || value("connection-count").is_some() && !is_udp;
    let transport = if is_udp && !is_tcp { Transport::Udp } else { Transport::Tcp };
    let mut test = TestSpec::new(transport);
    test.end = End::Time(elapsed);
    test.directions = match (sent, received) {
        (Some(_), Some(_)) => Directions::Both,
        (None, Some(_)) => Directions::Down,
        _ => Directions::Up,
    };
    if transport == Transport::Udp {
        let size = size("tx-size").or(size("rx-size")).unwrap_or(DEFAULT_SIZE);
        test.length = size.checked_sub(HEADERS).filter(|length| *length > 0);
    }
    let mut parsed = ParsedRun::new(Tool::RouterOs, block.line, ProtocolName::Foreign, test, known);
    parsed.host = host(command).map(str::to_owned);
    let lost: u64 = value("lost-packets").and_then(|lost| lost.parse().ok()).unwrap_or_default();
    let is_one_way = parsed.test.directions != Directions::Both;
    for (direction, rate) in [(Direction::Up, sent), (Direction::Down, received)] {
        if let Some(rate) = rate {
            rows(&mut parsed, direction, (rate, elapsed), Some(lost).filter(|_| is_one_way));
        }
    }
    if !is_one_way && lost > 0 {
        parsed.warn(
            "loss-of-both",
            format!("The output counts {lost} lost packets of both directions together: the loss of each is not known."),
        );
    }
    if value("status") != Some("done testing") {
        parsed.outcome = Outcome::Interrupted;
    }
    Some(parsed.imported(name))
}

/// The end that counted: over TCP the one that sends, else both, where the loss is known.
fn rows(parsed: &mut ParsedRun, direction: Direction, (rate, elapsed): (f64, Nanos), lost: Option<u64>) {
    let bytes = (rate * elapsed.as_secs_f64() / 8.0).round() as u64;
    let size = parsed.size();
    let is_udp = parsed.test.transport == Transport::Udp;
    let count = bytes.checked_div(size).unwrap_or_default();
    let mut put = |role: Role, datagrams: u64, lost: u64| {
        let bytes = if is_udp { Bytes(datagrams * size) } else { Bytes(bytes) };
        let udp = is_udp.then(|| UdpCounters { datagrams, lost, ..UdpCounters::default() });
        let row = only_stream(direction, role, elapsed, bytes, udp);
        parsed.end_mut(side_of(role, direction)).streams.push(row);
    };
    match (role_of(Side::Local, direction), lost) {
        (Role::Sender, Some(lost)) if is_udp => {
            put(Role::Sender, count, 0);
            put(Role::Receiver, count.saturating_sub(lost), lost.min(count));
        }
        (Role::Receiver, Some(lost)) if is_udp => {
            put(Role::Receiver, count, lost);
            put(Role::Sender, count.saturating_add(lost), 0);
        }
        (own, _) => put(own, count, 0),
    }
}

/// A test that did not come about: `status: can not connect`.
fn failed(name: &str, block: &Block, known: Known, status: &str) -> Option<Box<Imported>> {
    if ["running", "connecting", "done testing"].contains(&status) {
        return None;
    }
    let test = TestSpec::new(Transport::Tcp);
    let mut parsed = ParsedRun::new(Tool::RouterOs, block.line, ProtocolName::Foreign, test, known);
    parsed.host = block.lines.iter().find(|line| is_command(line)).and_then(host).map(str::to_owned);
    parsed.outcome = Outcome::Failed { reason: status.to_owned() };
    Some(parsed.imported(name))
}

/// The host of the command: `bandwidth-test 10.0.0.32 …`, `bandwidth-test address=10.0.0.2 …`.
fn host(command: &str) -> Option<&str> {
    let (_, args) = command.split_once("bandwidth-test ")?;
    let first = args.split_whitespace().find(|arg| arg.starts_with("address=") || !arg.contains('='))?;
    Some(first.strip_prefix("address=").unwrap_or(first)).filter(|host| *host != "\\")
}

/// Bits per second: `272.8Mbps`.
fn rate(text: &str) -> Option<f64> {
    let number = text.strip_suffix("bps")?;
    let factor = match number.chars().next_back()? {
        'k' | 'K' => 1e3,
        'M' => 1e6,
        'G' => 1e9,
        _ => 1.0,
    };
    Some(Printed::from_text(number.trim_end_matches(['k', 'K', 'M', 'G']))?.value * factor)
}

const FIELDS: [&str; 15] = [
    "status",
    "duration",
    "tx-current",
    "tx-10-second-average",
    "tx-total-average",
    "rx-current",
    "rx-10-second-average",
    "rx-total-average",
    "lost-packets",
    "random-data",
    "direction",
    "tx-size",
    "rx-size",
    "connection-count",
    "local-cpu-load",
];
/// Packets over UDP where no size is printed.
const DEFAULT_SIZE: u32 = 1500;
/// Headers of IPv4 and UDP, which the size has in it.
const HEADERS: u32 = 28;
