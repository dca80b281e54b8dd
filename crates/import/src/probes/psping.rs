//! The text of PsPing: replies and connections with their times, and its statistics.

use super::super::block::{Block, Mark};
use super::super::ping::milliseconds;
use super::super::{Imported, Known, Reader, Tool};
use super::{Probes, number_behind};
use model::units::Nanos;

pub(in super::super) const PSPING: Reader = Reader { tool: Tool::Psping, mark, read };

fn mark(line: &str, block: Option<&Block>) -> Mark {
    let is_banner = line.starts_with(BANNER);
    let Some(block) = block else {
        let is_connecting = connecting(line).is_some();
        return if is_banner || target(line).is_some() || is_connecting { Mark::First } else { Mark::No };
    };
    let begins = target(line).is_some() && block.lines.iter().any(|line| target(line).is_some());
    match () {
        () if is_banner || begins => Mark::First,
        () if PARTS.iter().any(|start| line.trim_start().starts_with(start)) => Mark::Part,
        () => Mark::No,
    }
}

fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    let mut probes = Probes::default();
    let mut number = 0;
    for line in block.lines.iter().map(str::trim) {
        if let Some(version) = line.strip_prefix(BANNER) {
            probes.version = version.split(' ').next().map(str::to_owned);
        } else if let Some((host, port)) = target(line) {
            (probes.host, probes.port) = (Some(host.to_owned()), port);
        } else if let Some((host, rest)) = connecting(line).or_else(|| reply(line)) {
            if probes.host.is_none() {
                let is_connection = line.starts_with("Connecting");
                let (host, port) = if is_connection { host_and_port(host) } else { (host, None) };
                (probes.host, probes.port) = (Some(host.to_owned()), port);
            }
            // The first are to warm up, and are in no figure.
            if !line.contains("(warmup)") {
                number += 1;
                take(&mut probes, number, rest);
            }
        } else if line.starts_with("Sent = ") {
            probes.sent = number_behind(line, "Sent = ");
            probes.received = number_behind(line, "Received = ");
        } else if line.starts_with("Minimum = ") {
            probes.extremes = extremes(line);
        }
    }
    if probes.received == Some(0) {
        probes.extremes = None;
    }
    probes.imported(Tool::Psping, name, block)
}

/// `from 10.6.0.4:49954: 1.26ms`, `3.79ms`, or why there is no time.
fn take(probes: &mut Probes, number: u64, rest: &str) {
    let time = rest.rsplit(' ').next().and_then(|word| word.strip_suffix("ms")).and_then(milliseconds);
    match time {
        Some(rtt) => probes.reply(number, rtt, None),
        None => {
            probes.lost(number);
            probes.failure.get_or_insert_with(|| rest.trim_end_matches('.').to_owned());
        }
    }
}

/// `TCP connect to 10.20.0.5:80:`: the host and the port.
fn target(line: &str) -> Option<(&str, Option<u16>)> {
    let rest = line.strip_prefix("TCP connect to ")?.strip_suffix(':')?;
    let (host, port) = host_and_port(rest);
    port.map(|port| (host, Some(port)))
}

/// `Connecting to 10.20.0.5:80: 3.79ms`: the target and what stands behind it.
fn connecting(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("Connecting to ")?;
    let (target, rest) = rest.split_once(": ")?;
    let target = target.strip_suffix(" (warmup)").unwrap_or(target);
    host_and_port(target).1.map(|_| (target, rest))
}

/// A connection, or a reply with its time.
pub(super) fn is_probe(line: &str) -> bool {
    let has_time = |rest: &str| rest.strip_suffix("ms").and_then(milliseconds).is_some();
    connecting(line).is_some() || reply(line).is_some_and(|(_, rest)| has_time(rest))
}

/// `Reply from 10.0.0.1: 1.23ms`: the host and what stands behind it.
fn reply(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("Reply from ").and_then(|rest| rest.split_once(": "))
}

fn host_and_port(text: &str) -> (&str, Option<u16>) {
    match text.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() => {
            (host.trim_matches(['[', ']']), port.parse().ok())
        }
        _ => (text, None),
    }
}

/// `Minimum = 2.12ms, Maximum = 3.83ms, Average = 2.58ms`.
fn extremes(line: &str) -> Option<[Nanos; 3]> {
    let time = |word: &str| milliseconds(line.split_once(word)?.1.split_once("ms")?.0);
    Some([time("Minimum = ")?, time("Average = ")?, time("Maximum = ")?])
}

const BANNER: &str = "PsPing v";
const PARTS: [&str; 11] = [
    "TCP connect to ",
    "Connecting to ",
    "Reply from ",
    "Request timed out",
    "Pinging ",
    "Ping statistics for ",
    "TCP connect statistics for ",
    "Sent = ",
    "Minimum = ",
    "Sysinternals",
    "Copyright (C) ",
];
