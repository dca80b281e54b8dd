//! iPerf2's CSV (`-y C`): `20261121072201,10.0.0.2,41949,10.0.0.1,5001,1,0.0-0.5,1312710,21003360,0.001,0,893,0.000,0`.
//!
//! Its dates are of 1970 where the tool forgot to look at the clock, and its figures `-nan` or −1 where there are none.

use super::super::block::Block;
use super::super::build::{ParsedRun, add_sample, total};
use super::super::number::{Printed, seconds};
use super::super::{Known, Tool};
use model::event::Outcome;
use model::plan::{Direction, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, StreamResult, StreamSample, UdpCounters};
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr};

/// A row.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    date: String,
    ends: [Option<SocketAddr>; 2],
    /// −1: the sum.
    id: i64,
    span: (Nanos, Nanos),
    bytes: u64,
    udp: Option<Datagrams>,
}

/// What a row of UDP tells besides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Datagrams {
    jitter: Nanos,
    lost: i64,
    total: i64,
    disorder: i64,
    /// Writes of a sender, which enhanced rows have.
    writes: Option<u64>,
}

/// Whether a line is a row.
pub(super) fn is_row(line: &str) -> bool {
    row(line).is_some()
}

/// Whether a row is of another test than those before: another server, or a stream whose whole was told.
pub(super) fn begins_anew(line: &str, before: &[String]) -> bool {
    let Some(row) = self::row(line) else { return false };
    // The last two rows of the same stream: further back than streams there can be nobody looks.
    let recent = before.iter().rev().take(MOST_STREAMS).filter_map(|line| self::row(line));
    let same: Vec<Line> = recent.filter(|one| one.id == row.id).take(2).collect();
    let ended = same.len() > 1 && same[0].span.0 == Nanos::ZERO;
    let elsewhere = same.first().is_some_and(|last| last.ends != row.ends);
    row.id >= 0 && (ended || elsewhere)
}

/// The run of a block's rows; `None` without any.
pub(super) fn parse_rows(block: &Block, known: Known) -> Option<ParsedRun> {
    let all: Vec<Line> = block.lines.iter().filter_map(|line| row(line)).collect();
    let sums = all.iter().all(|line| line.id < 0);
    let lines: Vec<&Line> = all.iter().filter(|line| sums || line.id >= 0).collect();
    let first = *lines.first()?;
    let transport = if lines.iter().any(|line| line.udp.is_some()) { Transport::Udp } else { Transport::Tcp };
    let mut parsed =
        ParsedRun::new(Tool::Iperf2, block.line, ProtocolName::Foreign, TestSpec::new(transport), known);
    // Versions differ in which end comes first: the one with the port that servers use is the server.
    let [one, two] = first.ends;
    let low = |end: Option<SocketAddr>| end.map_or(u16::MAX, |end| end.port());
    (parsed.client, parsed.server) = if low(one) < low(two) { (two, one) } else { (one, two) };
    let ids = ids(&lines);
    parsed.test.streams = ids.len() as u32;
    parsed.test.end = End::Time(lines.iter().map(|line| line.span.1).max().unwrap_or_default());
    parsed.test.length = length(&lines);
    let role = role(&lines);
    if lines.iter().any(|line| line.date.starts_with("1970")) {
        parsed.warn("no-date", "The tool wrote 1970 for the date: when it was is not known.");
    }
    if transport == Transport::Tcp {
        parsed.warn(
            "which-end",
            "CSV does not say which end printed it: what was sent stands for what arrived.",
        );
    }
    take(&mut parsed, &lines, &ids, role);
    parsed.senders_unseen();
    Some(parsed)
}

fn ids(lines: &[&Line]) -> Vec<i64> {
    let mut ids: Vec<i64> = Vec::new();
    lines.iter().for_each(|line| {
        if !ids.contains(&line.id) {
            ids.push(line.id);
        }
    });
    ids
}

/// A sender prints no jitter, and no total at the end.
fn role(lines: &[&Line]) -> Role {
    let received = |udp: &Datagrams| udp.jitter > Nanos::ZERO || udp.lost > 0;
    let mut udp = lines.iter().filter_map(|line| line.udp.as_ref()).peekable();
    let receiver = udp.peek().is_some() && (udp.clone().any(received) || udp.all(|udp| udp.total >= 0));
    if receiver { Role::Receiver } else { Role::Sender }
}

/// Bytes ÷ datagrams of a row without loss.
fn length(lines: &[&Line]) -> u32 {
    let whole = |line: &&Line| {
        let udp = line.udp?;
        let total = (udp.total > 0 && udp.lost == 0).then(|| udp.total.unsigned_abs());
        u32::try_from(line.bytes.checked_div(total.or(udp.writes)?)?).ok()
    };
    lines.iter().find_map(whole).unwrap_or_default()
}

fn take(parsed: &mut ParsedRun, lines: &[&Line], ids: &[i64], role: Role) {
    let side = if role == Role::Sender { Side::Local } else { Side::Peer };
    for (stream, id) in (0_u32..).zip(ids) {
        let own: Vec<&&Line> = lines.iter().filter(|line| line.id == *id).collect();
        let mut whole = None;
        for (index, line) in own.iter().enumerate() {
            let result = result(line, stream, role, parsed.test.length);
            if line.span.0 == Nanos::ZERO && (own.len() == 1 || index > 0) {
                whole = Some(result);
            } else {
                let StreamResult { direction, bytes, udp, .. } = result;
                let sample = StreamSample { stream, direction, role, bytes, tcp: None, udp };
                add_sample(&mut parsed.samples, side, line.span, false, sample);
            }
        }
        if whole.is_none() {
            parsed.warn(
                "no-summary",
                "The output ends before its summary: the totals are sums of its intervals.",
            );
            parsed.outcome = Outcome::Interrupted;
            whole = total(&parsed.samples, side, stream, Direction::Up);
        }
        let end = if side == Side::Local { &mut parsed.at_client } else { &mut parsed.at_server };
        end.streams.extend(whole);
    }
}

fn result(line: &Line, stream: u32, role: Role, size: u32) -> StreamResult {
    let elapsed = line.span.1.saturating_sub(line.span.0);
    let bytes = Bytes(line.bytes);
    let count = |count: i64| count.max(0).unsigned_abs();
    let udp = line.udp.map(|udp| {
        let lost = if role == Role::Receiver { count(udp.lost) } else { 0 };
        let by_size = udp.writes.or(line.bytes.checked_div(u64::from(size))).unwrap_or_default();
        let datagrams = u64::try_from(udp.total).map_or(by_size, |total| total.saturating_sub(lost));
        UdpCounters {
            datagrams,
            lost,
            jitter: udp.jitter,
            reordered: count(udp.disorder),
            ..UdpCounters::default()
        }
    });
    StreamResult {
        stream,
        direction: Direction::Up,
        role,
        elapsed,
        bytes,
        total_bytes: bytes,
        tcp: None,
        udp,
    }
}

fn row(line: &str) -> Option<Line> {
    let fields: Vec<&str> = line.trim().split(',').map(str::trim).collect();
    if line.starts_with(['+', '-']) {
        return enhanced(&fields);
    }
    let [date, host, port, far_host, far_port, id, span, bytes, rate, udp @ ..] = fields.as_slice() else {
        return None;
    };
    if !is_date(date) || !matches!(udp.len(), 0 | 5..) || rate.is_empty() {
        return None;
    }
    let (from, until) = span.split_once('-')?;
    let span = (seconds(from)?, seconds(until)?);
    let udp = match udp {
        [jitter, lost, total, _, disorder, ..] => Some(datagrams([jitter, lost, total, disorder], None)),
        _ => None,
    };
    Some(Line {
        date: (*date).to_owned(),
        ends: [end(host, port), end(far_host, far_port)],
        id: id.parse().ok()?,
        span,
        bytes: bytes.parse().ok()?,
        udp,
    })
}

/// A row of 2.2 with `-e`: `+0000:20261124094911.470173,…,1,0.0,1.0,1248723008,9893314355,9528,0,0,319,10,27,13`, of a sender
/// over TCP, or over UDP with `-1.000,0,-1,-0.000,0,853,0,0,-0.000000` behind the rate. Other rows have no figures of a stream.
fn enhanced(fields: &[&str]) -> Option<Line> {
    let [date, host, port, far_host, far_port, id, from, until, bytes, _, rest @ ..] = fields else {
        return None;
    };
    let (_, date) = date.split_once(':').filter(|(_, date)| is_date(date))?;
    let udp = match rest {
        [_, _, _, _, _, _, _] => None,
        [jitter, lost, total, _, disorder, writes, _, _, _] if jitter.contains('.') => {
            Some(datagrams([jitter, lost, total, disorder], writes.parse().ok().filter(|writes| *writes > 0)))
        }
        _ => return None,
    };
    Some(Line {
        date: date.to_owned(),
        ends: [end(host, port), end(far_host, far_port)],
        id: id.parse().ok()?,
        span: (seconds(from)?, seconds(until)?),
        bytes: bytes.parse().ok()?,
        udp,
    })
}

fn is_date(text: &str) -> bool {
    text.get(..14).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()))
}

fn end(host: &str, port: &str) -> Option<SocketAddr> {
    Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, port.parse().ok()?))
}

fn datagrams([jitter, lost, total, disorder]: [&str; 4], writes: Option<u64>) -> Datagrams {
    Datagrams {
        // `-nan` where nothing was received.
        jitter: Printed::from_text(jitter)
            .map_or(Nanos::ZERO, |jitter| Nanos((jitter.value.clamp(0.0, 1e9) * 1e6) as u64)),
        lost: lost.parse().unwrap_or_default(),
        total: total.parse().unwrap_or(-1),
        disorder: disorder.parse().unwrap_or_default(),
        writes,
    }
}

/// Two intervals of as many streams as iPerf2 is used with.
const MOST_STREAMS: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_is_none_is_no_row() {
        assert!(row("9##[] RT#####\u{fffe},,,,,,0.0-1.0,1,1").is_none());
    }
}
