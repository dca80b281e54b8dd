//! The lines of ping.

use super::super::latency::Trip;
use super::super::number::Printed;
use model::units::Nanos;
use std::net::IpAddr;

/// What the lines told.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    pub(super) host: Option<String>,
    pub(super) address: Option<IpAddr>,
    /// Source address of `-I`.
    pub(super) from: Option<IpAddr>,
    /// Whole packet.
    pub(super) packet: Option<u32>,
    pub(super) trips: Vec<Trip>,
    pub(super) last_sequence: u64,
    pub(super) refused: Vec<Refused>,
    pub(super) transmitted: Option<u64>,
    pub(super) received: Option<u64>,
    pub(super) duplicates: u64,
    pub(super) elapsed: Option<Nanos>,
    /// The shortest, the mean, the longest and the standard deviation.
    pub(super) extremes: Option<[Nanos; 4]>,
    /// The first time of `-D`; zero without it.
    first: Option<Nanos>,
}

/// What ping waits between packets, if nothing else is asked.
const SECOND: Nanos = Nanos::from_secs(1);

/// A packet that was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The router that said so; absent: this host.
    pub(super) from: Option<IpAddr>,
    /// The MTU it told.
    pub(super) mtu: Option<u32>,
}

/// The line `PING host (address) …`.
pub(super) fn begins(line: &str) -> bool {
    line.starts_with("PING ") && line.contains(" data")
}

/// A line that belongs to ping and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    reply(line).is_some()
        || line.starts_with("--- ") && line.contains(" ping statistics")
        || line.contains(" packets transmitted, ")
        || line.starts_with("rtt min/avg")
        || line.starts_with("round-trip min/avg")
        || line.starts_with("ping: ")
}

impl Output {
    pub(super) fn from_lines(lines: &[String]) -> Output {
        let mut output = Output::default();
        lines.iter().for_each(|line| output.take(line));
        output.pace();
        output
    }

    /// Packets without times (`-D`) are as far apart as their number and the time of all of them tell.
    fn pace(&mut self) {
        let gaps = self.transmitted.map(|sent| sent.saturating_sub(1)).filter(|gaps| *gaps > 0);
        let (Some(elapsed), Some(gaps), Some(Nanos(0))) = (self.elapsed, gaps, self.first) else { return };
        let interval = u128::from(elapsed.0 / gaps);
        for trip in &mut self.trips {
            let at = u128::from(trip.at.0) * interval / u128::from(SECOND.0);
            trip.at = Nanos(u64::try_from(at).unwrap_or(u64::MAX));
        }
    }

    fn take(&mut self, line: &str) {
        if begins(line) {
            self.heading(line);
        } else if let Some(reply) = reply(line) {
            self.reply(&reply, line.contains("(DUP!)"));
        } else if line.contains(" packets transmitted, ") {
            self.statistics(line);
        } else if line.starts_with("rtt min/avg") || line.starts_with("round-trip min/avg") {
            self.extremes = extremes(line);
        } else if let Some(refused) = refused(line) {
            self.refused.push(refused);
        }
    }

    /// `PING host (1.2.3.4) from 10.0.0.1 eth0: 56(84) bytes of data.`, `PING ::1(::1) 56 data bytes`.
    fn heading(&mut self, line: &str) {
        let rest = &line["PING ".len()..];
        let name = rest.split([' ', '(']).next().unwrap_or_default();
        self.host = Some(name.to_owned()).filter(|name| !name.is_empty());
        let inside = rest.split(['(', ')', ' ', ':', ',']).chain(rest.split(['(', ')', ' ']));
        self.address = inside.filter_map(|word| word.parse().ok()).next();
        self.from =
            rest.split_once(" from ").and_then(|(_, from)| from.split([' ', ':']).next()?.parse().ok());
        let Some(figures) = rest.split_once(" bytes of data").or_else(|| rest.split_once(" data bytes"))
        else {
            return;
        };
        let size = figures.0.rsplit([' ', ':']).next().unwrap_or_default();
        let (payload, packet) = size.split_once('(').unwrap_or((size, ""));
        let headers = if self.address.is_some_and(|address| address.is_ipv6()) { 48 } else { 28 };
        let parsed = packet.trim_end_matches(')').parse().ok();
        self.packet = parsed.or_else(|| payload.parse::<u32>().ok()?.checked_add(headers));
    }

    fn reply(&mut self, reply: &Reply, again: bool) {
        self.last_sequence = self.last_sequence.max(reply.sequence);
        if again {
            self.duplicates += 1;
            return;
        }
        let stamped = reply.stamp.map(|stamp| stamp.saturating_sub(reply.rtt));
        let first = *self.first.get_or_insert(stamped.unwrap_or_default());
        // Without times a packet goes every second, the default.
        let by_number = Nanos::from_secs(reply.sequence.saturating_sub(1).min(u64::from(u32::MAX)));
        let at = stamped.map_or(by_number, |stamp| stamp.saturating_sub(first));
        self.trips.push(Trip { at, rtt: reply.rtt });
    }

    /// `4 packets transmitted, 4 received, +2 duplicates, 0% packet loss, time 3004ms`.
    fn statistics(&mut self, line: &str) {
        for part in line.split(", ") {
            let number =
                part.trim_start_matches('+').split_whitespace().next().and_then(|word| word.parse().ok());
            match number {
                Some(count) if part.ends_with("packets transmitted") => self.transmitted = Some(count),
                Some(count) if part.ends_with("received") => self.received = Some(count),
                Some(count) if part.ends_with("duplicates") => self.duplicates = count,
                _ => {}
            }
            let time = part.strip_prefix("time ").and_then(|time| time.strip_suffix("ms"));
            self.elapsed = time.and_then(milliseconds).or(self.elapsed);
        }
    }
}

/// A reply: `[1795245247.056618] 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.014 ms`.
struct Reply {
    stamp: Option<Nanos>,
    sequence: u64,
    rtt: Nanos,
}

fn reply(line: &str) -> Option<Reply> {
    let (stamp, rest) = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((stamp, rest)) => (stamp_of(stamp), rest),
        None => (None, line),
    };
    let (_, rest) = rest.split_once(" bytes from ")?;
    let (_, number) = rest.split_once("seq=")?;
    let sequence = number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let (_, time) = rest.split_once("time=").or_else(|| rest.split_once("time<"))?;
    let rtt = milliseconds(time.split_whitespace().next()?)?;
    Some(Reply { stamp, sequence, rtt })
}

fn refused(line: &str) -> Option<Refused> {
    let lower = line.to_ascii_lowercase();
    let mtu = lower.split_once("mtu").and_then(|(_, rest)| {
        let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    if lower.contains("message too long") {
        return Some(Refused { from: None, mtu });
    }
    let parsed = lower.contains("frag needed") || lower.contains("packet too big");
    let router = line.split_once("From ").or_else(|| line.split_once(" bytes from "))?.1;
    // An IPv6 address holds colons, and one may stand behind it.
    let word = router.split([' ', '(']).next()?.trim_end_matches(':');
    let from = word.parse().ok();
    parsed.then_some(Refused { from, mtu }).filter(|refused| refused.from.is_some())
}

/// `rtt min/avg/max/mdev = 0.030/0.034/0.037/0.003 ms`; BusyBox and others leave the last out.
fn extremes(line: &str) -> Option<[Nanos; 4]> {
    let figures = line.split_once("= ")?.1.split_whitespace().next()?;
    let times: Vec<Nanos> = figures.split('/').map(milliseconds).collect::<Option<_>>()?;
    match times.as_slice() {
        [min, mean, max] => Some([*min, *mean, *max, Nanos::ZERO]),
        [min, mean, max, deviation] => Some([*min, *mean, *max, *deviation]),
        _ => None,
    }
}

fn milliseconds(text: &str) -> Option<Nanos> {
    let printed = Printed::from_text(text).filter(|printed| (0.0..1e12).contains(&printed.value))?;
    Some(Nanos((printed.value * 1e6).round() as u64))
}

/// Seconds with six decimals, which a float does not keep.
fn stamp_of(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.')?;
    let nanos: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}
