//! The text of Nping: its statistics, of one host or of several. The times of its lines have tenths of milliseconds, those of its
//! statistics microseconds.

use super::super::block::{Block, Mark};
use super::super::ping::milliseconds;
use super::super::{Imported, Known, Reader, Tool};
use super::{Probes, number_behind};
use model::units::Nanos;

pub(in super::super) const NPING: Reader = Reader { tool: Tool::Nping, mark, read };

fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if line.starts_with(HEADING) => Mark::First,
        Some(_) if PARTS.iter().any(|start| line.trim_start().starts_with(start)) => Mark::Part,
        _ => Mark::No,
    }
}

fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    let mut probes = Probes::default();
    let mut sent_at = None;
    let mut own = Probes::default();
    for line in block.lines.iter().map(str::trim) {
        if let Some(rest) = line.strip_prefix(HEADING) {
            probes.version = rest.split(' ').next().map(str::to_owned);
        } else if let Some(rest) = line.strip_prefix("SENT (") {
            sent_at = seconds(rest);
            own.highest += 1;
            let (host, port) = destination(line).unwrap_or_default();
            probes.host = probes.host.take().or(host);
            probes.port = port.filter(|_| line.contains(" TCP ")).or(probes.port);
        } else if let Some(rest) = line.strip_prefix("RCVD (").or_else(|| line.strip_prefix("RECV (")) {
            let is_reply = line.contains(" completed") || line.contains("] IP [") || line.contains(" TCP ");
            let at = sent_at.zip(seconds(rest)).filter(|_| is_reply && !line.contains("Possible TCP RST"));
            if let Some((sent, received)) = at {
                own.reply(own.highest, received.saturating_sub(sent), Some(sent));
            }
            refused(&mut probes, line);
        } else if let Some(host) = host_of_statistics(line) {
            probes.host = Some(host.to_owned());
        } else if line.contains("Max rtt: ") {
            probes.extremes = extremes(line).or(probes.extremes);
        } else {
            statistics(&mut probes, line);
        }
    }
    if probes.sent.is_none() {
        (probes.trips, probes.replies, probes.highest) = (own.trips, own.replies, own.highest);
    }
    probes.imported(Tool::Nping, name, block)
}

/// `Raw packets sent: 3 (84B) | Rcvd: 3 (84B) | Lost: 0 (0.00%)`, `TCP connection attempts: 2 | Successful connections: 0`, `Probes Sent: 2 |
/// Rcvd: 0`, `UDP packets sent: 2 | Rcvd: 2`.
fn statistics(probes: &mut Probes, line: &str) {
    let sent = ["ackets sent: ", "connection attempts: ", "Probes Sent: ", "write operations: "];
    let received = ["Rcvd: ", "Successful connections: ", "Successful reads: "];
    let first = |names: &[&str]| names.iter().find_map(|word| number_behind(line, word));
    // The last line of several hosts counts all of them.
    if let (Some(sent), Some(received), None) = (first(&sent), first(&received), probes.sent) {
        (probes.sent, probes.received) = (Some(sent), Some(received));
    }
}

/// `RCVD (0.0061s) Possible TCP RST received from 127.0.0.1:9 --> Connection refused`.
fn refused(probes: &mut Probes, line: &str) {
    if let Some((_, reason)) = line.split_once(" --> ") {
        probes.failure.get_or_insert_with(|| reason.to_owned());
    } else if let Some((_, rest)) = line.split_once("ICMP [").filter(|_| line.contains("nreachable")) {
        let (ends, what) = rest.split_once(" > ").unwrap_or_default();
        let what = what.split_once(' ').map_or("", |(_, what)| what.split(" (").next().unwrap_or_default());
        probes.refusal(format!("{ends} reports \"{what}\""));
    }
}

/// The host and the port behind `> `: `127.0.0.1:9`, `google.com:80 (216.58.195.78:80)`, `127.0.0.1 Echo request`.
fn destination(line: &str) -> Option<(Option<String>, Option<u16>)> {
    let word = line.split_once(" > ")?.1.split(' ').next()?;
    Some(match word.rsplit_once(':').filter(|(host, _)| !host.contains(':')) {
        Some((host, port)) => (Some(host.to_owned()), port.parse().ok()),
        None => (Some(word.to_owned()), None),
    })
}

/// `Max rtt: 0.085ms | Min rtt: 0.036ms | Avg rtt: 0.054ms`; `N/A` of none.
fn extremes(line: &str) -> Option<[Nanos; 3]> {
    let time = |word: &str| milliseconds(line.split_once(word)?.1.split_once("ms")?.0);
    Some([time("Min rtt: ")?, time("Avg rtt: ")?, time("Max rtt: ")?])
}

/// `0.0154s) …`.
fn seconds(text: &str) -> Option<Nanos> {
    super::super::number::seconds(text.split_once("s)")?.0)
}

/// `Statistics for host 127.0.0.1:`.
pub(super) fn host_of_statistics(line: &str) -> Option<&str> {
    line.trim().strip_prefix("Statistics for host ")?.strip_suffix(':')
}

const HEADING: &str = "Starting Nping ";
/// A line about a packet.
pub(super) fn is_packet(line: &str) -> bool {
    ["SENT (", "RCVD (", "RECV ("].iter().any(|start| line.starts_with(start)) && line.contains("s) ")
}

const PARTS: [&str; 13] = [
    "SENT (",
    "RCVD (",
    "RECV (",
    "Max rtt: ",
    "Raw packets sent: ",
    "TCP connection attempts: ",
    "UDP packets sent: ",
    "UDP write operations: ",
    "Statistics for host ",
    "|  Probes Sent: ",
    "|_ Max rtt: ",
    "Nping done: ",
    "ARP packets sent: ",
];
