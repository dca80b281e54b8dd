//! The lines of ping, in order.

use super::super::block::Lines;
use super::super::latency::{Trip, Trips};
use super::silence::{Answer, Packets, Replies, SECOND};
use super::tally::Tally;
use super::words::{self, Refusal, Reply};
use model::sample::Silence;
use model::time::WallTime;
use model::units::Nanos;
use std::net::IpAddr;

/// The facts in the lines.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Output {
    pub(super) host: Option<String>,
    pub(super) address: Option<IpAddr>,
    /// Source address of `-I`.
    pub(super) from: Option<IpAddr>,
    /// Whole packet.
    pub(super) packet: Option<u32>,
    pub(super) trips: Trips,
    replies: Replies,
    /// Replies without a time, or with one that cannot be.
    pub(super) untimed: u64,
    /// The first and the last number of a packet that is known of.
    numbers: Option<(u64, u64)>,
    /// Packets that were too large.
    pub(super) refused: Tally<TooLarge>,
    /// The errors about other packets.
    pub(super) refusals: Tally<Refusal>,
    pub(super) failure: Option<String>,
    /// Windows' packets that timed out.
    timed_out: u64,
    /// The line before, where it has a part of Windows' counts: in Italian the lost packets stand in the next one.
    counts: String,
    pub(super) transmitted: Option<u64>,
    pub(super) received: Option<u64>,
    pub(super) duplicates: u64,
    pub(super) elapsed: Option<Nanos>,
    /// The shortest, the mean, the longest and the standard deviation.
    pub(super) extremes: Option<[Nanos; 4]>,
    /// Times are in whole milliseconds.
    pub(super) coarse: bool,
    /// When the first packet was sent.
    pub(super) started: Option<WallTime>,
    pub(super) windows: bool,
    /// Cisco's IOS printed it.
    ios: bool,
    /// Its heading is there.
    headed: bool,
    /// The clock went back before the next reply.
    warped: bool,
    /// The time of the first packet, since when times count.
    first: Option<Nanos>,
}

/// A packet that was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge {
    /// The router that reported it; absent: this host.
    pub(super) from: Option<IpAddr>,
    /// The MTU it gave.
    pub(super) mtu: Option<u32>,
}

/// A line that belongs to ping and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    words::reply(line).is_some()
        || words::statistics_heading(line).is_some()
        || line.contains(" packets transmitted, ")
        || line.starts_with("rtt min/avg")
        || line.starts_with("round-trip min/avg")
        || words::refusal(line).is_some()
        || line.starts_with("ping: ")
        || line.starts_with("Success rate is ")
}

/// A line with which the rest of an output can begin, its heading being cut off.
pub(super) fn is_rest(line: &str) -> bool {
    words::reply(line).is_some_and(|reply| reply.rtt.is_some())
        || words::statistics_heading(line).is_some()
        || words::failure(line).is_some()
        || words::refusal(line).is_some_and(|refusal| refusal.from.is_none()) && line.starts_with("ping: ")
}

impl Output {
    /// `stamps`: when each line was printed, where its head has a time.
    pub(in super::super) fn take_lines(&mut self, lines: &Lines, stamps: &[Option<WallTime>]) {
        for (index, line) in lines.iter().enumerate() {
            self.take(line, stamps.get(index).copied().flatten());
        }
    }

    fn take(&mut self, line: &str, stamp: Option<WallTime>) {
        if words::begins(line) {
            self.heading(line);
        } else if let Some(reply) = words::reply(line) {
            self.reply(reply, stamp, line.contains("(DUP!)"));
        } else if let Some(statistics) = words::statistics(line) {
            (self.transmitted, self.received) = (Some(statistics.transmitted), Some(statistics.received));
            self.duplicates = self.duplicates.max(statistics.duplicates);
            self.elapsed = statistics.elapsed.or(self.elapsed);
            // IOS has both in one line.
            self.extremes = words::extremes(line).or(self.extremes);
        } else if let Some(extremes) = words::extremes(line) {
            self.extremes = Some(extremes);
        } else if let Some(inside) = words::statistics_heading(line) {
            self.address = self.address.or_else(|| words::address_in(inside));
            let host =
                inside.split_whitespace().find(|word| word.contains(['.', ':']) || inside.starts_with(*word));
            self.host = self.host.take().or_else(|| host.map(str::to_owned));
        } else if let Some(refused) = too_large(line) {
            self.refused.push(refused);
        } else if let Some(refusal) = words::refusal(line) {
            self.numbered(words::sequence(line));
            self.refusals.push(refusal);
        } else if let Some(failure) = words::failure(line) {
            self.failure.get_or_insert(failure);
        } else {
            self.remark(line);
        }
    }

    fn remark(&mut self, line: &str) {
        if self.windows && self.transmitted.is_none() && line.contains(" = ") {
            let counts = format!("{} {line}", self.counts);
            let statistics = words::statistics(&counts).unwrap_or_default();
            if statistics.transmitted > 0 {
                (self.transmitted, self.received) = (Some(statistics.transmitted), Some(statistics.received));
            }
            self.counts = line.to_owned();
        }
        if let Some(reason) = words::reason_of_ios(line).filter(|_| self.ios) {
            self.failure.get_or_insert_with(|| reason.to_owned());
        }
        self.transmitted = words::count_of(line, "transmitted").or(self.transmitted);
        self.received = words::count_of(line, "received").or(self.received);
        self.warped |= line.contains("time of day goes back");
        let silent = line.starts_with("no answer yet for") || line.starts_with("Request timeout for");
        self.numbered(words::sequence(line).filter(|_| silent));
        // In every language of Windows a sentence without a figure stands for a packet without a reply.
        let is_sentence = line.trim_end().ends_with(['.', '。']) && !line.contains(['=', '%']);
        if self.windows && self.transmitted.is_none() && is_sentence {
            match words::windows_refusal(line) {
                _ if words::is_too_large_of_windows(line) => {
                    self.refused.push(TooLarge { from: words::address_in(line), mtu: None });
                }
                Some(refusal) => self.refusals.push(refusal),
                None => self.timed_out += 1,
            }
        }
    }

    /// `PING host (1.2.3.4) from 10.0.0.1 eth0: 56(84) bytes of data.`, `PING ::1(::1) 56 data bytes`.
    fn heading(&mut self, line: &str) {
        self.headed = true;
        self.windows = words::is_windows_heading(line);
        if self.windows {
            self.address = words::address_in(line);
            let named = line.split_whitespace().zip(line.split_whitespace().skip(1));
            let named =
                named.filter(|(_, next)| next.starts_with('[')).map(|(name, _)| name.to_owned()).next();
            self.host = named.or_else(|| self.address.map(|address| address.to_string()));
            self.packet = words::size_of_windows(line).and_then(|size| size.checked_add(self.headers()));
            return;
        }
        if let Some((sizes, ends)) = line.strip_prefix("PING6(").and_then(|rest| rest.split_once(") ")) {
            let mut addresses =
                ends.split(" --> ").map(|end| end.split(['%', ' ']).next().unwrap_or_default());
            self.from = addresses.next().and_then(|address| address.parse().ok());
            let far = addresses.next().unwrap_or_default();
            (self.host, self.address) =
                (Some(far.to_owned()).filter(|far| !far.is_empty()), far.parse().ok());
            self.packet = sizes.split('=').next().and_then(|size| size.parse().ok());
            return;
        }
        if let Some(size) = words::size_of_ios(line) {
            (self.address, self.packet, self.ios) = (words::address_in(line), Some(size), true);
            self.host = self.address.map(|address| address.to_string());
            return;
        }
        let rest = &line["PING ".len()..];
        let name = rest.split([' ', '(']).next().unwrap_or_default().trim_end_matches(':');
        self.host = Some(name.to_owned()).filter(|name| !name.is_empty());
        let inside = rest.split(['(', ')', ' ', ':', ',']).chain(rest.split(['(', ')', ' ']));
        self.address = inside.filter_map(|word| word.parse().ok()).next();
        self.from =
            rest.split_once(" from ").and_then(|(_, from)| from.split([' ', ':']).next()?.parse().ok());
        let sizes = || {
            rest.split_whitespace().find(|word| {
                word.contains('(')
                    && word.starts_with(|c: char| c.is_ascii_digit())
                    && !word.contains(['.', ':'])
            })
        };
        let size = rest
            .split_once(" data bytes")
            .map(|(before, _)| before.rsplit([' ', ':']).next().unwrap_or_default());
        let Some(size) = size.or_else(sizes) else { return };
        let (payload, packet) = size.split_once('(').unwrap_or((size, ""));
        let parsed = packet.trim_end_matches(')').parse().ok();
        self.packet = parsed.or_else(|| payload.parse::<u32>().ok()?.checked_add(self.headers()));
    }

    /// Bytes of a packet before its payload.
    fn headers(&self) -> u32 {
        if self.address.is_some_and(|address| address.is_ipv6()) { 48 } else { 28 }
    }

    /// Numbers have 16 bits: one that is far below the last has come round.
    fn unwrapped(&self, sequence: u64) -> u64 {
        let Some((_, last)) = self.numbers else { return sequence };
        let base = last - last % ROUND;
        let candidate = base + sequence % ROUND;
        if sequence < ROUND && candidate + ROUND / 2 < last {
            candidate + ROUND
        } else if sequence < ROUND {
            candidate
        } else {
            sequence
        }
    }

    /// Takes note of a packet's number.
    fn numbered(&mut self, sequence: Option<u64>) {
        let Some(sequence) = sequence.map(|sequence| self.unwrapped(sequence)) else { return };
        let (first, last) = self.numbers.unwrap_or((sequence, sequence));
        self.numbers = Some((first.min(sequence), last.max(sequence)));
    }

    fn reply(&mut self, reply: Reply, stamp: Option<WallTime>, again: bool) {
        let by_place = self.trips.len().saturating_add(self.untimed).saturating_add(self.timed_out);
        let sequence = self.unwrapped(reply.sequence.unwrap_or(by_place));
        if reply.sequence.is_some() {
            self.numbered(Some(sequence));
        }
        if again {
            self.duplicates += 1;
            return;
        }
        self.coarse |= reply.coarse;
        let warped = std::mem::take(&mut self.warped);
        let Some(rtt) = reply.rtt.filter(|rtt| !(warped && *rtt == Nanos::ZERO)) else {
            self.untimed += 1;
            return;
        };
        let stamped =
            reply.stamp.or(stamp.map(|stamp| Nanos(stamp.0))).map(|stamp| stamp.saturating_sub(rtt));
        if self.trips.is_empty() {
            self.started = stamped.map(|stamp| WallTime(stamp.0)).filter(|time| time.0 > YEAR_2000);
        }
        let first = *self.first.get_or_insert(stamped.unwrap_or_default());
        // Without times a packet goes every second, the default.
        let since = sequence.saturating_sub(self.numbers.map_or(0, |(first, _)| first));
        let by_number = Nanos::from_secs(since.min(u64::from(u32::MAX)));
        let at = stamped.map_or(by_number, |stamp| stamp.saturating_sub(first));
        self.trips.push(Trip { at, rtt });
        self.replies.push(Answer { sequence, at });
    }

    /// Packets without times (`-D`) are as far apart as their number and the time of all of them say.
    pub(super) fn pace(&mut self) {
        if let Some(interval) = self.interval() {
            self.trips.retime(|at| paced(at, interval));
        }
    }

    /// The time between packets, where the replies have no times.
    fn interval(&self) -> Option<Nanos> {
        let gaps = self.transmitted.map(|sent| sent.saturating_sub(1)).filter(|gaps| *gaps > 0)?;
        (self.first == Some(Nanos::ZERO)).then_some(Nanos(self.elapsed?.0 / gaps))
    }

    /// Packets that are known to have been sent, where no summary reports it.
    pub(super) fn numbered_count(&self) -> u64 {
        let base = |first: u64| if self.headed { first.min(1) } else { first };
        let by_number = self.numbers.map_or(0, |(first, last)| last - base(first) + 1);
        let replies = self.trips.len().saturating_add(self.untimed);
        let refused = if self.windows { self.refusals.len() } else { 0 };
        by_number.max(replies.saturating_add(self.timed_out).saturating_add(refused))
    }

    /// Replies to packets, of which Windows counts those of routers too.
    pub(super) fn replies(&self) -> u64 {
        let listed = self.trips.len().saturating_add(self.untimed);
        match self.received {
            Some(received) if self.windows && listed > 0 => received.min(listed),
            Some(received) if self.windows => received.saturating_sub(self.refusals.len()),
            Some(received) => received,
            None => listed,
        }
    }

    /// The longest time in which packets in a row have no reply, where replies are listed.
    pub(super) fn silence(&self) -> Option<Silence> {
        let (_, highest) = self.numbers?;
        let packets = Packets { highest, transmitted: self.transmitted, headed: self.headed };
        let interval = self.interval().unwrap_or(SECOND);
        self.replies.silence(packets, |at| paced(at, interval))
    }
}

/// The time of a packet of which one second stands for the interval.
fn paced(at: Nanos, interval: Nanos) -> Nanos {
    let at = u128::from(at.0) * u128::from(interval.0) / u128::from(SECOND.0);
    Nanos(u64::try_from(at).unwrap_or(u64::MAX))
}

fn too_large(line: &str) -> Option<TooLarge> {
    let lower = line.to_ascii_lowercase();
    let mtu = lower.split_once("mtu").and_then(|(_, rest)| {
        let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    });
    if lower.contains("message too long") {
        return Some(TooLarge { from: None, mtu });
    }
    let parsed = lower.contains("frag needed")
        || lower.contains("packet too big")
        || lower.contains("needs to be fragmented");
    let router =
        ["From ", " bytes from ", "Reply from "].iter().find_map(|start| Some(line.split_once(start)?.1))?;
    // An IPv6 address holds colons, and one may stand behind it.
    let word = router.split([' ', '(']).next()?.trim_end_matches(':');
    let from = word.parse().ok();
    parsed.then_some(TooLarge { from, mtu }).filter(|refused| refused.from.is_some())
}

/// Numbers of packets begin anew after so many.
const ROUND: u64 = 65_536;
/// Earlier times count from another begin than that of wall clocks.
const YEAR_2000: u64 = 946_684_800_000_000_000;
