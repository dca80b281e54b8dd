//! MikroTik's RouterOS: `/ping`, with a row for each packet and a summary after every twentieth and at the end, and `/tool bandwidth-test`.

mod bandwidth;

use super::super::block::{Block, Mark};
use super::super::number::Printed;
use super::super::{Imported, Known, Reader, Tool};
use super::{BELOW_A_MILLISECOND, Probes};
use model::units::Nanos;
use std::net::IpAddr;

pub(in super::super) const ROUTEROS: Reader = Reader { tool: Tool::RouterOs, mark, read };

fn mark(line: &str, block: Option<&Block>) -> Mark {
    let has_figures = || block.is_some_and(|block| block.lines.iter().any(is_end_of_bandwidth));
    let is_bandwidth = block.is_some_and(is_bandwidth);
    match () {
        () if bandwidth::begins(line) && (!is_bandwidth || has_figures()) => return Mark::First,
        () if is_bandwidth && bandwidth::field(line).is_some() => return Mark::Part,
        () => {}
    }
    let line = line.trim_start();
    let (columns, is_summary) = (is_columns(line), summary(line).is_some());
    let Some(block) = block else {
        return if columns || is_summary || row(line).is_some() { Mark::First } else { Mark::No };
    };
    let is_first = row(line).is_some_and(|row| row.number == 0)
        && block.lines.iter().any(|line| row(line.trim_start()).is_some());
    // A summary counts all probes so far: the next one has more.
    let before = || block.lines.iter().rev().find_map(|line| summary(line.trim_start()));
    let is_less = || summary(line).zip(before()).is_some_and(|(own, before)| own.sent <= before.sent);
    match () {
        () if is_first || is_summary && is_less() => Mark::First,
        () if columns || is_summary || row(line).is_some() => Mark::Part,
        () => Mark::No,
    }
}

fn is_bandwidth(block: &Block) -> bool {
    block.lines.first().is_some_and(bandwidth::begins)
}

fn is_end_of_bandwidth(line: &str) -> bool {
    bandwidth::field(line)
        .is_some_and(|(name, value)| name == "status" && value != "running" && value != "connecting")
}

fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    if is_bandwidth(block) {
        return bandwidth::read(name, block, known);
    }
    let mut probes = Probes::default();
    for line in block.lines.iter().map(str::trim) {
        if let Some(summary) = summary(line) {
            if probes.sent.is_none_or(|sent| summary.sent >= sent) {
                (probes.sent, probes.received) = (Some(summary.sent), Some(summary.received));
                probes.extremes = summary.extremes;
            }
        } else if let Some(row) = row(line) {
            match row.outcome {
                Ok(rtt) => {
                    probes.host.get_or_insert_with(|| row.host.to_owned());
                    probes.reply(row.number + 1, rtt, None);
                    probes.coarse |= rtt == BELOW_A_MILLISECOND;
                }
                Err("timeout") => {
                    probes.host.get_or_insert_with(|| row.host.to_owned());
                    probes.lost(row.number + 1);
                }
                // A router's answer has that router's address.
                Err(status) => {
                    probes.lost(row.number + 1);
                    probes.refusal(format!("{} reports \"{status}\"", row.host));
                }
            }
        }
    }
    probes.imported(Tool::RouterOs, name, block)
}

/// A row, which is like nothing else.
pub(super) fn is_row(line: &str) -> bool {
    row(line.trim_start()).is_some()
}

fn is_columns(line: &str) -> bool {
    line.starts_with("SEQ HOST ") && ["SIZE", "TTL", "TIME"].iter().all(|column| line.contains(column))
}

struct PacketRow<'a> {
    number: u64,
    host: &'a str,
    /// The time, or why there is none.
    outcome: Result<Nanos, &'a str>,
}

/// `    1 8.8.8.8   56  64 5ms896us`, `    1 10.0.0.1 timeout`, `    0 10.0.0.254  84  64 1ms  host unreachable`.
fn row(line: &str) -> Option<PacketRow<'_>> {
    let tokens: Vec<&str> = line.split_whitespace().collect();
    let [number, host, rest @ ..] = tokens.as_slice() else { return None };
    let number = number.parse().ok()?;
    // Figures of other tables have dots, too.
    let is_name = host.contains('.') && host.contains(|c: char| c.is_ascii_alphabetic());
    if !is_name && host.parse::<IpAddr>().is_err() {
        return None;
    }
    let outcome = match rest {
        ["timeout"] => Err("timeout"),
        [size, ttl, time, status @ ..] if size.parse::<u32>().is_ok() && ttl.parse::<u32>().is_ok() => {
            let time = duration(time)?;
            match status {
                [] | ["echo", "reply"] => Ok(time),
                [first, ..] => Err(status_from(line, first)),
            }
        }
        _ => return None,
    };
    Some(PacketRow { number, host, outcome })
}

/// The status, which is the rest of the line.
fn status_from<'a>(line: &'a str, first: &str) -> &'a str {
    line.rfind(first).and_then(|at| line.get(at..)).unwrap_or(line)
}

struct Summary {
    sent: u64,
    received: u64,
    extremes: Option<[Nanos; 3]>,
}

/// `sent=4 received=4 packet-loss=0% min-rtt=6ms avg-rtt=7ms max-rtt=9ms`.
fn summary(line: &str) -> Option<Summary> {
    let value = |name: &str| {
        let mut tokens = line.split_whitespace();
        tokens.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let number = |name: &str| value(name)?.parse().ok();
    let (sent, received) = (number("sent").filter(|_| line.starts_with("sent="))?, number("received")?);
    value("packet-loss")?;
    let time = |name: &str| duration(value(name)?);
    let extremes = time("min-rtt").zip(time("avg-rtt")).zip(time("max-rtt"));
    Some(Summary { sent, received, extremes: extremes.map(|((min, mean), max)| [min, mean, max]) })
}

/// `5ms896us`, `157ms`, `61us`, `1s200ms`; `0ms` is less than a millisecond.
pub(super) fn duration(text: &str) -> Option<Nanos> {
    let (mut rest, mut all) = (text, 0.0);
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?);
        let (unit, behind) =
            behind.split_at(behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len()));
        let nanos = match unit {
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            _ => return None,
        };
        all += Printed::from_text(number)?.value * nanos;
        rest = behind;
    }
    let is_possible = !text.is_empty() && all < 1e18;
    is_possible.then_some(if text == "0ms" { BELOW_A_MILLISECOND } else { Nanos(all.round() as u64) })
}
