//! The text of hping3: replies to packets of ICMP, TCP and UDP, and its counts, which stand first where both go into a file.

use super::super::block::{Block, Mark};
use super::super::ping::milliseconds;
use super::super::{Imported, Known, Reader, Tool};
use super::{Probes, extremes_of};
use model::units::Nanos;

pub(in super::super) const HPING: Reader = Reader { tool: Tool::Hping, mark, read };

fn mark(line: &str, block: Option<&Block>) -> Mark {
    let (heading, statistics) = (heading(line).is_some(), statistics_heading(line).is_some());
    let Some(block) = block else {
        return if heading || statistics { Mark::First } else { Mark::No };
    };
    let is_headed = || block.lines.iter().any(|line| self::heading(line).is_some());
    let is_counted = || block.lines.iter().any(|line| statistics_heading(line).is_some());
    match () {
        () if heading && is_headed() || statistics && is_counted() => Mark::First,
        () if heading || statistics || reply(line).is_some() || refusal(line).is_some() => Mark::Part,
        () if counts(line).is_some() || line.starts_with("round-trip min/avg/max = ") => Mark::Part,
        () => Mark::No,
    }
}

fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    let mut probes = Probes::default();
    let mut address = None;
    for line in block.lines.iter() {
        if let Some((host, own)) = heading(line) {
            (probes.host, address) = (Some(host.to_owned()), Some(own));
        } else if let Some(host) = statistics_heading(line) {
            probes.host.get_or_insert_with(|| host.to_owned());
        } else if let Some((index, rtt)) = reply(line) {
            if line.starts_with("DUP!") {
                probes.duplicates += 1;
            } else {
                probes.reply(index + 1, rtt, None);
            }
        } else if let Some((sent, received)) = counts(line) {
            (probes.sent, probes.received) = (Some(sent), Some(received));
        } else if let Some(times) = line.strip_prefix("round-trip min/avg/max = ") {
            probes.extremes = times.split(' ').next().and_then(extremes_of);
        } else if let Some((what, from)) = refusal(line) {
            // The host's own refusal is a reply to the packet, a router's is none.
            probes.counted_refusals += u64::from(address != Some(from));
            probes.refusal(format!("{from} reports \"{what}\""));
        }
    }
    // Times of 0.0 are printed where nothing came.
    if probes.received == Some(0) {
        probes.extremes = None;
    }
    probes.imported(Tool::Hping, name, block)
}

/// `HPING host (eth0 192.0.2.1): S set, 40 headers + 0 data bytes`: the host and its address.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (host, rest) = line.strip_prefix("HPING ")?.split_once(" (")?;
    let (_, address) = rest.split_once("): ")?.0.split_once(' ')?;
    Some((host, address))
}

fn statistics_heading(line: &str) -> Option<&str> {
    line.strip_prefix("--- ")?.strip_suffix(" hping statistic ---")
}

/// `len=46 ip=192.0.2.1 ttl=56 id=27868 sport=80 flags=SA seq=0 win=512 rtt=1.6 ms`: the number and the time.
pub(super) fn reply(line: &str) -> Option<(u64, Nanos)> {
    let line = line.strip_prefix("DUP! ").unwrap_or(line);
    let rest = line.strip_prefix("len=")?;
    let (_, index) = rest.split_once("seq=")?;
    let (_, time) = rest.split_once(" rtt=")?;
    let time = time.split_once(" ms")?.0;
    Some((index.split(' ').next()?.parse().ok()?, milliseconds(time)?))
}

/// `3 packets transmitted, 3 packets received, 0% packet loss`; older versions print `tramitted`.
fn counts(line: &str) -> Option<(u64, u64)> {
    let (sent, rest) =
        line.split_once(" packets transmitted, ").or_else(|| line.split_once(" packets tramitted, "))?;
    Some((sent.parse().ok()?, rest.split_once(" packets received, ")?.0.parse().ok()?))
}

/// `ICMP Port Unreachable from ip=127.0.0.1 name=localhost`, `TTL 0 during transit from ip=10.0.0.1`.
fn refusal(line: &str) -> Option<(&str, &str)> {
    let (what, rest) = line.split_once(" from ip=")?;
    let is_known = what.starts_with("ICMP ") || what.starts_with("TTL 0 during ");
    Some((what, rest.split_whitespace().next()?)).filter(|_| is_known)
}
