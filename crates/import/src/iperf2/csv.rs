//! iPerf2's CSV (`-y C`): `20261121072201,10.0.0.2,41949,10.0.0.1,5001,1,0.0-0.5,1312710,21003360,0.001,0,893,0.000,0`.
//!
//! A client over UDP prints the server's report behind its own rows, with the addresses exchanged. Its dates are of 1970
//! where the tool forgot to look at the clock, and its figures `-nan` or −1 where there are none.

use super::super::block::{Block, Lines};
use super::super::build::{ParsedRun, add_sample, possible, role_of, total};
use super::super::number::{Printed, seconds};
use super::super::{Known, Tool, gaps};
use model::distinct;
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use std::net::{IpAddr, SocketAddr};

/// A row.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    date: String,
    /// Its date is of UTC.
    dated: bool,
    ends: [Option<SocketAddr>; 2],
    /// −1: the sum.
    id: i64,
    span: (Nanos, Nanos),
    bytes: u64,
    udp: Option<Datagrams>,
    /// The counters of the kernel of a sender over TCP (`-e`).
    tcp: Option<TcpCounters>,
    /// The end that printed it, where its columns are those of one alone.
    role: Option<Role>,
}

/// The further figures of a row of UDP.
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

/// Whether a row is of another test than those before: another server, or a stream whose total was reported.
pub(super) fn begins_anew(line: &str, before: &Lines) -> bool {
    let Some(row) = self::row(line) else { return false };
    // The last two rows of the same stream: streams further back than there can be are not looked for.
    let recent = before.iter().rev().take(MOST_STREAMS).filter_map(self::row);
    let same: Vec<Line> = recent.filter(|one| one.id == row.id).take(2).collect();
    if same.first().is_some_and(|last| is_report(&row, last)) {
        return false;
    }
    let goes_back = || before.first().and_then(self::row).is_some_and(|first| is_back(&row, &first));
    if same.iter().all(|one| one.ends != row.ends) && goes_back() {
        return false;
    }
    let reported = same.len() > 1 && is_report(&same[0], &same[1]);
    let ended = same.len() > 1 && same[0].span.0 == Nanos::ZERO;
    let elsewhere = same.first().is_some_and(|last| last.ends != row.ends);
    row.id >= 0 && (ended || elsewhere || reported)
}

/// The server's report on what a client has sent: the same stream and time, and the addresses exchanged.
fn is_report(row: &Line, sent: &Line) -> bool {
    let swapped = [sent.ends[1], sent.ends[0]];
    row.id == sent.id
        && row.udp.is_some()
        && row.ends == swapped
        && row.span.0 == sent.span.0
        && row.ends[0].is_some()
}

/// A stream back from the server (`-d`, `-r`): between the same hosts, and connected to the port that servers use at the other one.
fn is_back(row: &Line, first: &Line) -> bool {
    let ([Some(own), Some(far)], [Some(one), Some(two)]) = (first.ends, row.ends) else { return false };
    let service = own.port().min(far.port());
    let (serves, called) = if far.port() == service { (one, two) } else { (two, one) };
    let same_hosts = own.ip() == one.ip() && far.ip() == two.ip();
    same_hosts && serves.port() == service && called.port() != service
}

/// The run of a block's rows; `None` without any.
pub(super) fn parse_rows(block: &Block, known: Known) -> Option<ParsedRun> {
    let all: Vec<Line> = block.lines.iter().filter_map(row).collect();
    let sums = all.iter().all(|line| line.id < 0);
    let own: Vec<&Line> = all.iter().filter(|line| sums || line.id >= 0).collect();
    let first = *own.first()?;
    let transport = if own.iter().any(|line| line.udp.is_some()) { Transport::Udp } else { Transport::Tcp };
    let (mut reports, mut lines): (Vec<&Line>, Vec<&Line>) = (Vec::new(), Vec::new());
    for line in own {
        let is_report = lines.iter().any(|sent| is_report(line, sent));
        if is_report { reports.push(line) } else { lines.push(line) }
    }
    let mut parsed =
        ParsedRun::new(Tool::Iperf2, block.line, ProtocolName::Foreign, TestSpec::new(transport), known);
    let (back, forth): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| is_back(line, first));
    let role = if reports.is_empty() { role(&forth) } else { Role::Sender };
    (parsed.client, parsed.server) = ends(first, &forth, !reports.is_empty());
    let ids = ids(&forth);
    parsed.test.streams = ids.len() as u32;
    if !back.is_empty() {
        parsed.test.directions = Directions::Both;
    }
    parsed.test.end = End::Time(lines.iter().map(|line| line.span.1).max().unwrap_or_default());
    parsed.test.length = length(&lines, &reports);
    parsed.resent_known = lines.iter().any(|line| line.tcp.is_some());
    parsed.started = started(&mut parsed, first);
    if transport == Transport::Tcp && first.role.is_none() {
        parsed.warn(
            "which-end",
            "CSV does not say which end printed it: what was sent stands for what arrived.",
        );
    }
    let counts = |line: &&&Line| line.udp.is_some_and(|udp| udp.disorder >= 0);
    parsed.disorder_known = lines.iter().chain(&reports).any(|line| counts(&line));
    let side = if role == Role::Sender { Side::Local } else { Side::Peer };
    take(&mut parsed, &forth, side, Direction::Up);
    take(&mut parsed, &back, side, Direction::Down);
    take_reports(&mut parsed, &reports, &ids);
    gaps::all_lost(&mut parsed);
    parsed.senders_unseen();
    if transport == Transport::Udp {
        gaps::rate_asked(&mut parsed);
    }
    parsed.assume_mtu();
    Some(parsed)
}

/// Client and server. Versions differ in which end comes first: the one with the port that servers use is the server, but a row that
/// the server's report follows is the client's.
fn ends(first: &Line, lines: &[&Line], reported: bool) -> (Option<SocketAddr>, Option<SocketAddr>) {
    let [one, two] = first.ends;
    let sends = reported || lines.iter().any(|line| line.role == Some(Role::Sender));
    let low = |end: Option<SocketAddr>| end.map_or(u16::MAX, |end| end.port());
    if !sends && low(one) < low(two) { (two, one) } else { (one, two) }
}

/// When it began: rows are dated when they are printed, most in the time of the host.
fn started(parsed: &mut ParsedRun, first: &Line) -> Option<WallTime> {
    if first.date.starts_with("1970") {
        parsed.warn("no-date", "The tool wrote 1970 for the date: when it was is not known.");
        return None;
    }
    let part = |from: usize, until: usize| first.date.get(from..until);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    );
    let printed: WallTime = text.parse().ok()?;
    if !first.dated {
        parsed.warn("time-zone", "The output's times have no time zone: they are taken to be UTC.");
    }
    Some(WallTime(printed.0.saturating_sub(first.span.1.0)))
}

fn ids(lines: &[&Line]) -> Vec<i64> {
    distinct(lines.iter().map(|line| line.id))
}

/// A sender prints no jitter, and no total at the end.
fn role(lines: &[&Line]) -> Role {
    if let Some(role) = lines.iter().find_map(|line| line.role) {
        return role;
    }
    let received = |udp: &Datagrams| udp.jitter > Nanos::ZERO || udp.lost > 0;
    let mut udp = lines.iter().filter_map(|line| line.udp.as_ref()).peekable();
    let receiver = udp.peek().is_some() && (udp.clone().any(received) || udp.all(|udp| udp.total >= 0));
    if receiver { Role::Receiver } else { Role::Sender }
}

/// Bytes ÷ datagrams of a row without loss, or of one whose datagrams are those that were not lost.
fn length(lines: &[&Line], reports: &[&Line]) -> Option<u32> {
    let whole = |line: &&Line| {
        let udp = line.udp?;
        let (arrived, _) = possible::counts(udp.lost, udp.total).unwrap_or_default();
        let count = Some(arrived).filter(|count| *count > 0).or(udp.writes)?;
        let exact = line.bytes.is_multiple_of(count) || udp.writes.is_some();
        u32::try_from(line.bytes.checked_div(count).filter(|_| exact)?).ok().filter(|size| *size <= LARGEST)
    };
    // The datagrams sent are those that the report accounts for, whether it arrived or not.
    let sent = |report: &&Line| {
        let total = u64::try_from(report.udp?.total).ok().filter(|total| *total > 0)?;
        let own = lines.iter().rev().find(|line| line.id == report.id)?;
        u32::try_from(own.bytes / total)
            .ok()
            .filter(|size| own.bytes.is_multiple_of(total) && *size <= LARGEST)
    };
    let found = lines.iter().chain(reports).find_map(whole).or_else(|| reports.iter().find_map(sent));
    found.filter(|length| *length > 0)
}

/// Takes the rows that an end printed of a direction.
fn take(parsed: &mut ParsedRun, lines: &[&Line], side: Side, direction: Direction) {
    let role = role_of(side, direction);
    let first = parsed.test.stream_numbers(direction).start;
    for (stream, id) in (first..).zip(&ids(lines)) {
        let own: Vec<&&Line> = lines.iter().filter(|line| line.id == *id).collect();
        let mut whole = None;
        for (index, line) in own.iter().enumerate() {
            let is_whole = line.span.0 == Nanos::ZERO && (own.len() == 1 || index > 0);
            let result = StreamResult { direction, ..result(parsed, line, stream, role, is_whole) };
            if is_whole {
                whole = Some(result);
            } else {
                let StreamResult { direction, bytes, tcp, udp, .. } = result;
                let sample = StreamSample { stream, direction, role, bytes, tcp, udp };
                add_sample(&mut parsed.samples, side, line.span, false, sample);
            }
        }
        if whole.is_none() {
            parsed.without_summary();
            parsed.outcome = Outcome::Interrupted;
            whole = total(&parsed.samples, side, stream, direction);
        }
        parsed.end_mut(side).streams.extend(whole);
    }
}

/// Takes the server's reports to the client.
fn take_reports(parsed: &mut ParsedRun, reports: &[&Line], ids: &[i64]) {
    for report in reports {
        let Some(place) = ids.iter().position(|id| *id == report.id) else { continue };
        let stream = u32::try_from(place).unwrap_or_default();
        let result = result(parsed, report, stream, Role::Receiver, true);
        parsed.at_server.streams.push(result);
    }
}

fn result(parsed: &mut ParsedRun, line: &Line, stream: u32, role: Role, whole: bool) -> StreamResult {
    let size = parsed.size();
    let by_size = || line.bytes.checked_div(size).unwrap_or_default();
    let count = |count: i64| count.max(0).unsigned_abs();
    let sent = || UdpCounters { datagrams: by_size(), ..UdpCounters::default() };
    let udp = line.udp.map(|udp| {
        let (datagrams, lost) = match (role, u64::try_from(udp.total)) {
            (Role::Sender, Ok(total)) => (total, 0),
            (Role::Sender, Err(_)) => (udp.writes.unwrap_or_else(by_size), 0),
            (Role::Receiver, _) => match possible::counts(udp.lost, udp.total) {
                Some(counts) => counts,
                None => {
                    if whole {
                        parsed.withhold_loss(Direction::Up, udp.lost, udp.total);
                    }
                    (by_size(), 0)
                }
            },
        };
        UdpCounters {
            datagrams,
            lost,
            jitter: udp.jitter,
            reordered: count(udp.disorder),
            ..UdpCounters::default()
        }
    });
    let udp = udp.or_else(|| (parsed.test.transport == Transport::Udp).then(sent));
    StreamResult {
        stream,
        direction: Direction::Up,
        role,
        elapsed: line.span.1.saturating_sub(line.span.0),
        bytes: Bytes(line.bytes),
        total_bytes: Bytes(line.bytes),
        tcp: line.tcp.clone().filter(|_| role == Role::Sender),
        udp,
    }
}

/// The columns of every row, and what stands behind the rate. 2.2 with `-e` has a field for each end of the time.
fn row(line: &str) -> Option<Line> {
    if !line.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-') {
        return None;
    }
    let fields: Vec<&str> = line.trim().split(',').map(str::trim).collect();
    let [zoned, host, port, far_host, far_port, id, rest @ ..] = fields.as_slice() else { return None };
    let (zone, date) = zoned.split_once(':').unwrap_or(("", zoned));
    let digits = date.split('.').next()?;
    let is_date = digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_date || !(zone.is_empty() || zone.starts_with(['+', '-'])) {
        return None;
    }
    let (span, rest) = match rest {
        [span, rest @ ..] if span.contains('-') => {
            let (from, until) = span.split_once('-')?;
            ((seconds(from)?, seconds(until)?), rest)
        }
        [from, until, rest @ ..] => ((seconds(from)?, seconds(until)?), rest),
        _ => return None,
    };
    let [bytes, rate, rest @ ..] = rest else { return None };
    if rate.is_empty() || span.1 < span.0 {
        return None;
    }
    let columns = Columns::from_fields(rest)?;
    Some(Line {
        date: digits.to_owned(),
        dated: zone == "+0000",
        ends: [end(host, port), end(far_host, far_port)],
        id: id.parse().ok()?,
        span,
        bytes: bytes.parse().ok()?,
        udp: columns.udp,
        tcp: columns.tcp,
        role: columns.role,
    })
}

/// The values behind the rate.
#[derive(Default)]
struct Columns {
    udp: Option<Datagrams>,
    tcp: Option<TcpCounters>,
    role: Option<Role>,
}

impl Columns {
    /// `None` of columns that are not those of a stream, as of round trips.
    fn from_fields(rest: &[&str]) -> Option<Columns> {
        let is_count = |field: &&str| field.parse::<i64>().is_ok();
        Some(match rest {
            [] => Columns::default(),
            // A sender over UDP has no count of datagrams that arrived, and its writes instead.
            [jitter, lost, total, percent, disorder, more @ ..]
                if !is_count(jitter)
                    && !is_count(percent)
                    && is_count(lost)
                    && is_count(total)
                    && is_count(disorder) =>
            {
                let writes = more.first().and_then(|writes| writes.parse().ok()).filter(|writes| *writes > 0);
                let sends = *total == "-1" && writes.is_some();
                let udp = datagrams([jitter, lost, total, disorder], writes.filter(|_| sends));
                Columns { udp: Some(udp), role: sends.then_some(Role::Sender), ..Columns::default() }
            }
            [_, _, retries, window, .., rtt, variance]
                if (6..=7).contains(&rest.len()) && rest.iter().all(is_count) =>
            {
                Columns {
                    tcp: Some(tcp(retries, window, rtt, variance)),
                    role: Some(Role::Sender),
                    ..Columns::default()
                }
            }
            // Reads by their sizes, behind trip times where there are any.
            _ if rest.len() >= 9 && rest[rest.len() - 9..].iter().all(is_count) && !is_bounceback(rest) => {
                Columns { role: Some(Role::Receiver), ..Columns::default() }
            }
            _ => return None,
        })
    }
}

/// `cnt,avg,min,max,stdev,…`: a count, and four times of round trips.
fn is_bounceback(rest: &[&str]) -> bool {
    rest.first().is_some_and(|count| count.parse::<i64>().is_ok())
        && rest.iter().skip(1).take(4).all(|time| time.contains('.'))
}

fn tcp(retries: &str, window: &str, rtt: &str, variance: &str) -> TcpCounters {
    let count =
        |text: &str| text.parse::<i64>().ok().and_then(|value| u64::try_from(value).ok()).unwrap_or_default();
    let cwnd = Bytes(count(window).saturating_mul(1024));
    let [rtt, rttvar] = [rtt, variance].map(|text| Nanos(count(text).saturating_mul(1000)));
    TcpCounters {
        retransmits: count(retries),
        cwnd,
        max_cwnd: cwnd,
        rtt,
        rttvar,
        mean_rtt: rtt,
        ..TcpCounters::default()
    }
}

fn end(host: &str, port: &str) -> Option<SocketAddr> {
    Some(SocketAddr::new(host.parse::<IpAddr>().ok()?, port.parse().ok()?))
}

fn datagrams([jitter, lost, total, disorder]: [&str; 4], writes: Option<u64>) -> Datagrams {
    Datagrams {
        // `-nan` where nothing was received, −1 where nothing is known.
        jitter: Printed::from_text(jitter)
            .filter(|jitter| jitter.value >= 0.0)
            .map_or(Nanos::ZERO, |jitter| possible::jitter(jitter.value)),
        lost: lost.parse().unwrap_or_default(),
        total: total.parse().unwrap_or(-1),
        disorder: disorder.parse().unwrap_or_default(),
        writes,
    }
}

/// Two intervals of as many streams as iPerf2 is used with.
const MOST_STREAMS: usize = 512;
/// The largest payload of a datagram, bytes.
const LARGEST: u32 = 65_507;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_is_none_is_no_row() {
        assert!(row("9##[] RT#####\u{fffe},,,,,,0.0-1.0,1,1").is_none());
    }
}
