//! Tools that send probes and print round trips in words of their own: fping, hping3, Nping, PsPing, PowerShell's Test-Connection and
//! Test-NetConnection, and the ping of RouterOS.

mod fping;
mod hping;
mod nping;
mod powershell;
mod psping;
mod routeros;

pub(super) use routeros::ROUTEROS;
pub(super) use {fping::FPING, hping::HPING, nping::NPING, powershell::POWERSHELL, psping::PSPING};

use super::block::Block;
use super::latency::{ParsedRun, Trip, Trips};
use super::number::leading_number;
use super::ping::milliseconds;
use super::ping::silence::{Answer, Packets, Replies};
use super::{Imported, Tool};
use model::latency::Counted;
use model::plan::Transport;
use model::stats::distribution::PartialDistribution;
use model::units::Nanos;
use std::net::IpAddr;

/// Everything an output reported of the probes to one host.
#[derive(Debug, Default)]
struct Probes {
    version: Option<String>,
    host: Option<String>,
    /// The port, where connections were opened.
    port: Option<u16>,
    trips: Trips,
    replies: Replies,
    /// Replies whose time is not printed.
    untimed: u64,
    /// The highest number of a probe that is known of, counted from 1.
    highest: u64,
    sent: Option<u64>,
    received: Option<u64>,
    duplicates: u64,
    /// The shortest, the mean and the longest.
    extremes: Option<[Nanos; 3]>,
    /// Times are in whole milliseconds.
    coarse: bool,
    /// Replies that routers or the host itself gave in place of what was asked for.
    refusals: Vec<String>,
    /// Refusals that the tool counts as replies.
    counted_refusals: u64,
    failure: Option<String>,
    /// Anything else that the output reports.
    remark: Option<String>,
}

impl Probes {
    fn of_host(host: &str) -> Probes {
        Probes { host: Some(host.to_owned()), ..Probes::default() }
    }

    /// A reply to the probe of this number, counted from 1. `at`: when it was sent; absent: a second after the one before.
    fn reply(&mut self, number: u64, rtt: Nanos, at: Option<Nanos>) {
        let at = at.unwrap_or(Nanos::from_secs(number.saturating_sub(1).min(MOST_SECONDS)));
        self.highest = self.highest.max(number);
        self.trips.push(Trip { at, rtt });
        self.replies.push(Answer { sequence: number, at });
    }

    /// A reply whose time is not printed.
    fn untimed_reply(&mut self, number: u64) {
        self.highest = self.highest.max(number);
        self.untimed += 1;
    }

    /// No reply came to the probe of this number.
    fn lost(&mut self, number: u64) {
        self.highest = self.highest.max(number);
    }

    fn refusal(&mut self, text: String) {
        if !self.refusals.contains(&text) && self.refusals.len() < MOST_SAYINGS {
            self.refusals.push(text);
        }
    }

    /// The run, called `NAME:LINE`; `None` of a heading alone.
    fn imported(self, tool: Tool, name: &str, block: &Block) -> Option<Box<Imported>> {
        let listed = self.trips.len().saturating_add(self.untimed);
        let is_empty = listed == 0 && self.highest == 0 && self.sent.is_none_or(|sent| sent == 0);
        if is_empty && self.failure.is_none() && self.refusals.is_empty() {
            return None;
        }
        let mut parsed = ParsedRun::new(tool, block.line, self.host.as_deref());
        (parsed.kind, parsed.version) = ("ping", self.version.clone());
        parsed.transport = if self.port.is_some() { Transport::Tcp } else { Transport::Udp };
        let address: Option<IpAddr> = self.host.as_deref().and_then(|host| host.parse().ok());
        parsed.remote = address.map(|address| (address, self.port.unwrap_or_default()).into());
        parsed.elapsed = self.trips.last().unwrap_or_default();
        parsed.counted = self.counted();
        self.times(&mut parsed);
        parsed.silence = self
            .replies
            .silence(Packets { highest: self.highest, transmitted: self.sent, headed: true }, |at| at);
        self.remarks(&mut parsed, listed);
        Some(parsed.imported(name))
    }

    fn counted(&self) -> Counted {
        let listed = self.trips.len().saturating_add(self.untimed);
        let received = self.received.map_or(listed, |count| count.saturating_sub(self.counted_refusals));
        let sent = self.sent.unwrap_or(self.highest).max(received);
        let duplicates = self.duplicates;
        Counted { sent, asked: sent, received, lost: sent - received, duplicates, ..Counted::default() }
    }

    /// Single times, where all are listed; else the extremes and the mean.
    fn times(&self, parsed: &mut ParsedRun) {
        let received = parsed.counted.received;
        match self.extremes {
            Some([min, mean, max]) if self.trips.len() < received => {
                parsed.of_extremes(PartialDistribution {
                    count: received,
                    min: Some(min),
                    mean,
                    max: Some(max),
                    ..PartialDistribution::default()
                });
            }
            _ if !self.trips.is_empty() => parsed.of_round_trips(&self.trips),
            _ => {}
        }
    }

    fn remarks(self, parsed: &mut ParsedRun, listed: u64) {
        if self.coarse && !self.trips.is_empty() {
            parsed.of_whole_milliseconds();
        }
        if self.untimed > 0 {
            parsed
                .warn("untimed-replies", "The output has no time of some replies, which count as received.");
        }
        if self.sent.is_none() {
            parsed.warn(
                "no-summary",
                "The output has no summary: what was sent is taken from the probes that it lists.",
            );
        }
        if let Some(remark) = &self.remark {
            parsed.warn("tcp-connection", format!("{remark}."));
        }
        if !self.refusals.is_empty() {
            parsed.warn("icmp-errors", format!("{}.", self.refusals.join("; ")));
        }
        match (self.sent, self.received) {
            (Some(sent), Some(received)) if received > sent.saturating_add(self.duplicates) => parsed.warn(
                "contradictory-output",
                format!("The output contradicts itself: {received} of {sent} probes were answered."),
            ),
            (_, Some(received)) if listed > received => parsed.warn(
                "contradictory-output",
                format!(
                    "The output contradicts itself: {listed} replies are listed, and {received} counted."
                ),
            ),
            _ => {}
        }
        if parsed.counted.received == 0 {
            parsed.failed = self.failure.or_else(|| self.refusals.into_iter().next());
        }
    }
}

/// A line that belongs to one of these tools and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    hping::reply(line).is_some() || nping::is_packet(line) || psping::is_probe(line) || routeros::is_row(line)
}

/// A block for each host, where an output is of several; none of one.
pub(super) fn of_each_host(block: &Block) -> Vec<Block> {
    match block.tool {
        Tool::Fping => {
            let hosts = fping::hosts(block);
            let own = |host: &&str| block.of_lines(|_, line| fping::is_of_host(line, host));
            if hosts.len() > 1 { hosts.iter().filter_map(own).collect() } else { Vec::new() }
        }
        Tool::Nping => {
            let places: Vec<usize> = block
                .lines
                .iter()
                .enumerate()
                .filter(|(_, line)| nping::host_of_statistics(line).is_some())
                .map(|(at, _)| at)
                .collect();
            let own = |place: &usize| block.of_lines(|at, _| at == 0 || (*place..*place + 3).contains(&at));
            places.iter().filter_map(own).collect()
        }
        _ => Vec::new(),
    }
}

/// A host as tools print it: an address, a name, or a name and its address in brackets.
fn is_host(text: &str) -> bool {
    let (name, address) = match text.split_once(" (") {
        Some((name, address)) => (name, address.strip_suffix(')')),
        None => (text, Some(text)),
    };
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let is_named = name == "localhost" || name.contains(['.', ':']);
    is_word(name) && address.is_some_and(is_word) && is_named
}

/// The name of a host, without its address in brackets.
fn name_of(host: &str) -> &str {
    host.split(" (").next().unwrap_or(host)
}

/// The number behind a word: `Sent = 4,`.
fn number_behind(line: &str, word: &str) -> Option<u64> {
    leading_number(line.split_once(word)?.1)
}

/// The shortest, the mean and the longest: `0.053/0.070/0.091`.
fn extremes_of(times: &str) -> Option<[Nanos; 3]> {
    let mut times = times.split('/').map(milliseconds);
    Some([times.next()??, times.next()??, times.next()??])
}

/// Where no time is printed, probes are a second apart, which is how long each of these tools waits.
const MOST_SECONDS: u64 = u32::MAX as u64;
/// A printed time of 0 ms is less than one, and taken for half of it.
const BELOW_A_MILLISECOND: Nanos = Nanos::from_micros(500);
/// More kinds of refusals are not listed.
const MOST_SAYINGS: usize = 4;
