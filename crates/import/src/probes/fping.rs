//! The text of fping, 3.0 to 5.3: rows and summaries of `-c` and `-l`, lists of times (`-C`), intervals (`-Q`), and hosts that are alive or
//! not (`-e`).

use super::super::block::{Block, Mark};
use super::super::ping::{milliseconds, stamp_of};
use super::super::{Imported, Known, Reader, Tool};
use super::{Probes, extremes_of, is_host, name_of};
use model::distinct;
use model::units::Nanos;

pub(in super::super) const FPING: Reader = Reader { tool: Tool::Fping, mark, read };

/// A line about one host.
#[derive(Clone, Debug, PartialEq)]
struct HostRow<'a> {
    host: &'a str,
    /// The time stamp of `-D`.
    stamp: Option<Nanos>,
    what: What<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum What<'a> {
    /// `[0], 64 bytes, 0.091 ms (…)`, `[0], timed out (…)`.
    Probe { index: u64, rtt: Option<Nanos> },
    /// `duplicate for [0], 64 bytes, 0.091 ms`.
    Duplicate,
    /// `xmt/rcv/%loss = 3/3/0%, min/avg/max = 0.053/0.070/0.091`.
    Summary { sent: u64, received: u64, extremes: Option<[Nanos; 3]> },
    /// `0.052 - 0.058`.
    Times(&'a str),
    /// `is alive (0.040 ms)`, `is unreachable`.
    State { is_alive: bool, rtt: Option<Nanos> },
    /// `error while sending ping: Network is unreachable`.
    Failure(&'a str),
}

fn mark(line: &str, block: Option<&Block>) -> Mark {
    let row = row(line);
    let is_objection = objection(line).is_some();
    let Some(block) = block else {
        return if row.is_some() || is_objection { Mark::First } else { Mark::No };
    };
    match row {
        Some(row) if begins_anew(&row, block) => Mark::First,
        Some(_) => Mark::Part,
        None if is_time_of_day(line) && is_whole(block) => Mark::First,
        None if is_objection || is_time_of_day(line) => Mark::Part,
        None => Mark::No,
    }
}

/// Whether a row is of another run than a block: the first probe of a host that has one, or another summary, list or state of it.
fn begins_anew(row: &HostRow<'_>, block: &Block) -> bool {
    let mut own = block.lines.iter().filter_map(self::row).filter(|other| other.host == row.host);
    match &row.what {
        What::Probe { index: 0, .. } => {
            own.any(|other| matches!(other.what, What::Probe { .. } | What::Summary { .. }))
        }
        What::Summary { .. } => {
            own.next_back().is_some_and(|last| is_other_summary(&last.what, &row.what))
                && !block.lines.iter().any(is_time_of_day)
        }
        What::Times(_) => own.any(|other| matches!(other.what, What::Times(_))),
        What::State { .. } => own.any(|other| matches!(other.what, What::State { .. })),
        What::Probe { .. } | What::Duplicate | What::Failure(_) => false,
    }
}

/// Whether a summary is not the whole behind the only interval of `-Q`, which stands above it.
fn is_other_summary(interval: &What<'_>, whole: &What<'_>) -> bool {
    let figures = |what: &What<'_>| match *what {
        What::Summary { sent, received, extremes } => Some((sent, received, extremes)),
        _ => None,
    };
    let Some(((sent, received, part), (all_sent, all_received, all))) = figures(interval).zip(figures(whole))
    else {
        return false;
    };
    let is_within = match (part, all) {
        (Some([min, _, max]), Some([least, _, most])) => least <= min && max <= most,
        (part, _) => part.is_none(),
    };
    let is_part = sent < all_sent && received <= all_received && is_within;
    !is_part
}

/// Whether the last interval is followed by the summaries of the whole.
fn is_whole(block: &Block) -> bool {
    let mut hosts = Vec::new();
    let last = block.lines.iter().rev().take_while(|line| !is_time_of_day(line)).filter_map(row);
    last.map(|row| row.host).any(|host| {
        let is_again = hosts.contains(&host);
        hosts.push(host);
        is_again
    })
}

/// The run of a block of one host.
fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    let first = block.lines.iter().find_map(row)?;
    let mut probes = Probes::of_host(name_of(first.host));
    let mut begun = None;
    // `-C` lists the times of its rows once more, on the other stream: before them or behind them.
    let has_rows = block.lines.iter().filter_map(row).any(|row| matches!(row.what, What::Probe { .. }));
    for line in block.lines.iter() {
        if let Some(row) = row(line) {
            let at = row.stamp.map(|stamp| stamp.saturating_sub(*begun.get_or_insert(stamp)));
            match row.what {
                What::Times(times) if has_rows => {
                    probes.sent = u64::try_from(times.split_whitespace().count()).ok().max(probes.sent);
                }
                what => take(&mut probes, what, at),
            }
        } else if let Some(text) = objection(line) {
            probes.refusal(text.to_owned());
        }
    }
    probes.imported(Tool::Fping, name, block)
}

fn take(probes: &mut Probes, what: What<'_>, at: Option<Nanos>) {
    match what {
        What::Probe { index, rtt: Some(rtt) } => probes.reply(index + 1, rtt, at),
        What::Probe { index, rtt: None } => probes.lost(index + 1),
        What::Duplicate => probes.duplicates += 1,
        // The whole has more probes than each interval.
        What::Summary { sent, received, extremes } if probes.sent.is_none_or(|known| sent >= known) => {
            (probes.sent, probes.received) = (Some(sent), Some(received));
            probes.extremes = extremes.or(probes.extremes);
        }
        What::Summary { .. } => {}
        What::Times(times) => {
            for (number, time) in (1..).zip(times.split_whitespace()) {
                match milliseconds(time) {
                    Some(rtt) => probes.reply(number, rtt, None),
                    None => probes.lost(number),
                }
            }
            probes.sent = Some(probes.highest);
        }
        What::State { is_alive, rtt } => {
            probes.sent = Some(1);
            match rtt {
                Some(rtt) => probes.reply(1, rtt, None),
                None if is_alive => probes.untimed_reply(1),
                None => probes.lost(1),
            }
        }
        What::Failure(reason) => {
            probes.failure.get_or_insert_with(|| reason.to_owned());
        }
    }
}

/// The hosts of a block, in their order.
pub(super) fn hosts(block: &Block) -> Vec<&str> {
    distinct(block.lines.iter().filter_map(row).map(|row| row.host))
}

/// Whether a line is of a host, or of none.
pub(super) fn is_of_host(line: &str, host: &str) -> bool {
    let names = |line: &str| line.split_whitespace().any(|word| word == host);
    row(line).map_or_else(|| objection(line).is_none_or(names), |row| row.host == host)
}

fn row(line: &str) -> Option<HostRow<'_>> {
    let (stamp, line) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((stamp, rest)) => (Some(stamp_of(stamp)?), rest),
        None => (None, line),
    };
    let (host, what) = match line.split_once(" : ") {
        Some((host, rest)) => (host, figures(rest)?),
        None => state(line)?,
    };
    let host = host.trim_end();
    is_host(host).then_some(HostRow { host, stamp, what })
}

fn figures(rest: &str) -> Option<What<'_>> {
    if rest.starts_with("duplicate for [") {
        return Some(What::Duplicate);
    }
    if let Some(rest) = rest.strip_prefix('[') {
        let (index, rest) = rest.split_once("], ")?;
        let index = index.parse().ok()?;
        if rest.starts_with("timed out") {
            return Some(What::Probe { index, rtt: None });
        }
        let (time, _) = rest.split_once(" bytes, ")?.1.split_once(" ms")?;
        return Some(What::Probe { index, rtt: Some(milliseconds(time)?) });
    }
    if let Some(rest) = rest.strip_prefix("xmt/rcv/%") {
        let counts = rest.strip_prefix("loss = ").or_else(|| rest.strip_prefix("return = "))?;
        let mut counts = counts.split(['/', ',']);
        let (sent, received) = (counts.next()?.parse().ok()?, counts.next()?.parse().ok()?);
        let extremes = rest.split_once("min/avg/max = ").and_then(|(_, times)| extremes_of(times.trim_end()));
        return Some(What::Summary { sent, received, extremes });
    }
    let is_time = |word: &str| word == "-" || milliseconds(word).is_some();
    let has_time = rest.split_whitespace().any(|word| word == "-" || word.contains('.'));
    (has_time && rest.split_whitespace().all(is_time)).then_some(What::Times(rest))
}

fn state(line: &str) -> Option<(&str, What<'_>)> {
    if let Some((host, reason)) = line.split_once(": error while sending ping: ") {
        return Some((host, What::Failure(reason)));
    }
    if let Some(host) = line.strip_suffix(" is unreachable") {
        return Some((host, What::State { is_alive: false, rtt: None }));
    }
    let (host, rest) = line.split_once(" is alive")?;
    let time = rest.trim().strip_prefix('(').and_then(|time| time.strip_suffix(" ms)"));
    let rtt = time.and_then(milliseconds);
    (rest.is_empty() || rtt.is_some()).then_some((host, What::State { is_alive: true, rtt }))
}

/// `ICMP Host Unreachable from 10.0.0.1 for ICMP Echo sent to 10.0.0.9`.
fn objection(line: &str) -> Option<&str> {
    (line.starts_with("ICMP ") && line.contains(" for ICMP Echo sent to ")).then_some(line)
}

/// The heading of an interval: `[15:48:33]`.
fn is_time_of_day(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    time.is_some_and(|time| {
        let parts: Vec<&str> = time.split(':').collect();
        parts.len() == 3 && parts.iter().all(|part| part.len() == 2 && part.parse::<u8>().is_ok())
    })
}
