//! The figures of each end in iPerf2's rows.

use super::super::block::Block;
use super::super::build::{ParsedRun, add_sample, possible, role_of, total};
use super::super::command::Command;
use super::super::number::{Agreed, Printed, agreed, datagram_size, refined};
use super::super::row::{Id, IperfRow};
use super::super::{Known, Tool, gaps};
use super::lines::{Output, Stream};
use model::distinct;
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::units::{BitRate, Bytes, Nanos};

/// Everything an output reported; `None` when it has neither figures nor an error.
pub(super) fn parse_ends(output: &Output<'_>, block: &Block, known: Known) -> Option<ParsedRun> {
    if output.rows.is_empty() && output.failed.is_none() {
        return None;
    }
    let side = side(output);
    let losses = output.rows.iter().chain(&output.reports).any(|row| row.losses().is_some());
    let transport = output.transport.unwrap_or(if losses { Transport::Udp } else { Transport::Tcp });
    let mut parsed =
        ParsedRun::new(Tool::Iperf2, block.line, ProtocolName::Foreign, TestSpec::new(transport), known);
    parsed.host.clone_from(&output.host);
    (parsed.mss, parsed.resent_known, parsed.started) = (output.mss, output.resent, output.started);
    parsed.disorder_known = !output.disordered.is_empty();
    if parsed.mss.is_none() && transport == Transport::Tcp {
        parsed.ask_segments(block.command.as_ref().and_then(Command::mss));
    }
    // A connection that failed has no address of its own.
    let connected = output.streams.iter().find(|stream| !stream.local.ip().is_unspecified());
    if let Some(stream) = connected.or(output.streams.first()) {
        let (client, server) =
            if side == Side::Local { (stream.local, stream.remote) } else { (stream.remote, stream.local) };
        (parsed.client, parsed.server) = (Some(client), Some(server));
    } else {
        parsed.without_addresses();
    }
    let mut speaker = Speaker { parsed: &mut parsed, output, side, up: Vec::new(), down: Vec::new() };
    speaker.spec();
    speaker.take();
    complete(&mut parsed, output, block.command.as_ref());
    Some(parsed)
}

/// The end that printed it. Without a heading a low port is the server's.
fn side(output: &Output<'_>) -> Side {
    let low = |stream: &Stream| stream.local.port() < stream.remote.port();
    let losses = output.rows.iter().any(|row| row.losses().is_some());
    let server = match (output.host.is_some(), output.listens.is_some(), output.streams.first()) {
        (true, ..) => false,
        (false, true, _) => true,
        (false, false, Some(stream)) => low(stream),
        (false, false, None) => losses && output.reports.is_empty(),
    };
    if server { Side::Peer } else { Side::Local }
}

/// The rows of single streams; where there are sums alone, these.
fn single<'a>(output: &'a Output<'a>) -> impl Iterator<Item = &'a IperfRow<'a>> {
    let sums = output.rows.iter().all(|row| row.id == Id::Sum);
    output.rows.iter().filter(move |row| (sums || row.id != Id::Sum) && !is_load(output, row))
}

/// Streams of TCP beside a test of UDP are its `--working-load`.
fn is_load(output: &Output<'_>, row: &IperfRow<'_>) -> bool {
    let tcp = output.streams.iter().any(|stream| Id::Stream(stream.id) == row.id && stream.tcp);
    tcp && output.transport == Some(Transport::Udp)
}

fn working_load(parsed: &mut ParsedRun, output: &Output<'_>) {
    let rows = output.rows.iter().filter(|row| is_load(output, row) && row.start == Nanos::ZERO);
    let rates: Vec<f64> = rows.filter_map(|row| row.rate.map(|rate| rate.value)).collect();
    if !rates.is_empty() {
        let (count, rate) = (rates.len(), BitRate(rates.iter().sum::<f64>() as u64));
        parsed.warn(
            "working-load",
            format!("{count} TCP streams of the working load ran beside the test, at {rate} together."),
        );
    }
}

/// The rows of one end, from which the report is made.
struct Speaker<'a> {
    parsed: &'a mut ParsedRun,
    output: &'a Output<'a>,
    side: Side,
    up: Vec<Id>,
    down: Vec<Id>,
}

impl Speaker<'_> {
    fn spec(&mut self) {
        let ids = |direction: Direction| {
            let rows = single(self.output).filter(|row| self.direction(row) == direction);
            distinct(rows.map(|row| row.id))
        };
        let (up, down) = (ids(Direction::Up), ids(Direction::Down));
        let output = self.output;
        let test = &mut self.parsed.test;
        test.directions = match (up.is_empty(), down.is_empty()) {
            (false, false) => Directions::Both,
            (true, false) => Directions::Down,
            (_, true) => Directions::Up,
        };
        test.streams = (up.len().max(down.len()) as u32).max(1);
        test.end = End::Time(single(self.output).map(|row| row.end).max().unwrap_or_default());
        if test.transport == Transport::Udp {
            let counted = single(self.output).chain(&self.output.reports).filter_map(|row| {
                let losses = row.losses()?;
                Some((row.bytes, u64::try_from(losses.total.checked_sub(losses.lost)?).ok()?))
            });
            let counted: Vec<(Printed, u64)> = counted.collect();
            let length = self.output.length.or_else(|| datagram_size(&counted, DEFAULT_LENGTH));
            test.length = length.filter(|length| *length > 0);
        }
        (self.up, self.down) = (up, down);
        // Each stream has its last row, and several have a sum: more rows are intervals.
        let intervals = output.rows.len() > self.parsed.test.streams as usize + 1;
        let first = single(output).map(IperfRow::elapsed).next().filter(|_| intervals);
        self.parsed.interval = first.unwrap_or_default();
    }

    /// A star marks the return path of a connection that carries both; in old versions a second connection carries it.
    fn direction(&self, row: &IperfRow<'_>) -> Direction {
        let stream = self.output.streams.iter().find(|stream| Id::Stream(stream.id) == row.id);
        let back = match (stream, self.side) {
            (Some(stream), _) if stream.reverse => true,
            // The client accepted it.
            (Some(stream), Side::Local) => Some(stream.local.port()) == self.output.listens,
            _ => false,
        };
        if back || row.role == Some("*") { Direction::Down } else { Direction::Up }
    }

    fn take(&mut self) {
        let rows: Vec<IperfRow<'_>> = single(self.output).copied().collect();
        for (index, row) in rows.iter().enumerate() {
            let direction = self.direction(row);
            let same = |other: &&IperfRow<'_>| other.id == row.id && other.role == row.role;
            let first = !rows[..index].iter().any(|other| same(&other));
            let alone = first && !rows[index + 1..].iter().any(|other| same(&other));
            let last = row.start == Nanos::ZERO && (alone || !first);
            let (stream, role) = (self.number(row.id, direction), role_of(self.side, direction));
            let result = self.result(row, stream, direction, role);
            if last {
                self.put(self.side, result);
            } else {
                let StreamResult { bytes, tcp, udp, .. } = result;
                let sample = StreamSample { stream, direction, role, bytes, tcp, udp };
                add_sample(&mut self.parsed.samples, self.side, (row.start, row.end), false, sample);
            }
        }
        self.unfinished();
        self.summed();
        self.reports();
    }

    /// The tool's sum of TCP streams is its own total: ten rounded rates do not add up to it, and are brought to it.
    fn summed(&mut self) {
        let test = &self.parsed.test;
        if test.transport != Transport::Tcp || test.directions == Directions::Both || test.streams < 2 {
            return;
        }
        let sums = self.output.rows.iter().filter(|row| row.id == Id::Sum && row.start == Nanos::ZERO);
        let Some(sum) = sums.max_by_key(|row| row.end) else { return };
        let total = refined(sum.bytes, sum.rate, sum.elapsed()).0 as f64;
        let end = self.parsed.end_mut(self.side);
        let printed: f64 = end.streams.iter().map(|row| row.bytes.0 as f64).sum();
        let factor = total / printed;
        if end.streams.iter().all(|row| row.elapsed.0.abs_diff(sum.elapsed().0) <= sum.elapsed().0 / 100)
            && (factor - 1.0).abs() < ROUNDED
        {
            for row in &mut end.streams {
                row.bytes = Bytes((row.bytes.0 as f64 * factor).round() as u64);
                row.total_bytes = row.bytes;
            }
        }
    }

    fn number(&self, id: Id, direction: Direction) -> u32 {
        let ids = if direction == Direction::Up { &self.up } else { &self.down };
        let place = ids.iter().position(|one| *one == id).unwrap_or_default();
        self.parsed.test.stream_numbers(direction).start + place as u32
    }

    fn result(&mut self, row: &IperfRow<'_>, stream: u32, direction: Direction, role: Role) -> StreamResult {
        let Agreed { bytes: printed, elapsed, .. } = agreed(row.bytes, row.rate, row.elapsed(), row.half);
        let udp = (self.parsed.test.transport == Transport::Udp).then(|| self.datagrams(row, printed, role));
        let size = self.parsed.size();
        let bytes = match &udp {
            Some(udp) if size > 0 && udp.datagrams > 0 => Bytes(udp.datagrams.saturating_mul(size)),
            _ => printed,
        };
        let tcp = (udp.is_none() && self.output.resent && role == Role::Sender).then(|| tcp(row));
        StreamResult { stream, direction, role, elapsed, bytes, total_bytes: bytes, tcp, udp }
    }

    fn datagrams(&mut self, row: &IperfRow<'_>, printed: Bytes, role: Role) -> UdpCounters {
        let size = self.parsed.size();
        let estimate = printed.0.saturating_add(size / 2).checked_div(size).unwrap_or_default();
        let Some(losses) = row.losses().filter(|_| role == Role::Receiver) else {
            return UdpCounters { datagrams: estimate, ..UdpCounters::default() };
        };
        let counts = possible::counts(losses.lost, losses.total);
        if counts.is_none() && row.start == Nanos::ZERO {
            self.parsed.withhold_loss(self.direction(row), losses.lost, losses.total);
        }
        let (datagrams, lost) = counts.unwrap_or((estimate, 0));
        let of_stream = |(id, _): &&(u32, u64)| Id::Stream(*id) == row.id;
        let reordered = self.output.disordered.iter().find(of_stream).map_or(0, |(_, count)| *count);
        UdpCounters { datagrams, lost, reordered, jitter: losses.jitter, ..UdpCounters::default() }
    }

    /// Takes the server's reports to the client.
    fn reports(&mut self) {
        let reports = self.output.reports.iter();
        for row in reports {
            let stream = self.number(row.id, Direction::Up);
            let result = self.result(row, stream, Direction::Up, Role::Receiver);
            let total = result.udp.as_ref().map(|udp| udp.datagrams.saturating_add(udp.lost));
            self.sent(row.id, stream, total);
            self.put(Side::Peer, result);
        }
        let is_unreported =
            |id: &Id| self.up.contains(id) && !self.output.reports.iter().any(|row| row.id == *id);
        let unreported: Vec<Id> =
            self.output.sent.iter().map(|(id, _)| Id::Stream(*id)).filter(is_unreported).collect();
        for id in unreported {
            let stream = self.number(id, Direction::Up);
            self.sent(id, stream, None);
        }
    }

    /// `Sent N datagrams` is exact, but for the last one of 2.1, which ends the test and carries nothing.
    fn sent(&mut self, id: Id, stream: u32, total: Option<u64>) {
        let parsed = self.output.sent.iter().find(|(of, _)| Id::Stream(*of) == id).map(|(_, count)| *count);
        let Some(count) = parsed else { return };
        let count =
            if total.is_some_and(|total| total.saturating_add(1) == count) { count - 1 } else { count };
        let size = self.parsed.size();
        let row = self.parsed.at_client.streams.iter_mut().find(|row| row.stream == stream);
        if let Some((row, udp)) = row.and_then(|row| row.udp.clone().map(|udp| (row, udp))) {
            row.udp = Some(UdpCounters { datagrams: count, ..udp });
            (row.bytes, row.total_bytes) = (Bytes(count * size), Bytes(count * size));
        }
    }

    fn put(&mut self, side: Side, result: StreamResult) {
        self.parsed.end_mut(side).streams.push(result);
    }

    /// Streams whose last row is missing have their intervals.
    fn unfinished(&mut self) {
        let mut missing = Vec::new();
        for direction in Direction::BOTH {
            let ids = if direction == Direction::Up { self.up.len() } else { self.down.len() } as u32;
            let start = self.parsed.test.stream_numbers(direction).start;
            let end = if self.side == Side::Local { &self.parsed.at_client } else { &self.parsed.at_server };
            let there =
                |stream| end.streams.iter().any(|row| row.stream == stream && row.direction == direction);
            let absent = (start..start + ids).filter(|stream| !there(*stream));
            missing.extend(
                absent.filter_map(|stream| total(&self.parsed.samples, self.side, stream, direction)),
            );
        }
        if missing.is_empty() {
            return;
        }
        self.parsed.without_summary();
        self.parsed.outcome = Outcome::Interrupted;
        missing.into_iter().for_each(|result| self.put(self.side, result));
    }
}

/// Takes the facts of the output as a whole.
fn complete(parsed: &mut ParsedRun, output: &Output<'_>, command: Option<&Command>) {
    if let Some(reason) = &output.failed {
        parsed.outcome = Outcome::Failed { reason: reason.clone() };
    }
    if let Some(times) = output.connects {
        let failed = if times.errors > 0 { format!(", {} failed", times.errors) } else { String::new() };
        parsed.warn(
            "connect-times",
            format!(
                "Connecting took {} to {} ms, {} ms on average, of {} connections{failed}.",
                times.min, times.max, times.mean, times.count
            ),
        );
    }
    pieces(parsed, output);
    working_load(parsed, output);
    if output.unacknowledged {
        parsed.warn("no-report", "The server sent no report: what arrived is not known.");
    }
    gaps::all_lost(parsed);
    parsed.senders_unseen();
    // UDP has a rate that was asked for: 1 Mbit/s by default.
    if parsed.test.transport == Transport::Udp {
        gaps::rate_asked(parsed);
        if let Some(rate) = command.and_then(Command::rate).filter(|rate| rate.0 > 0) {
            parsed.test.bitrate = Some(rate);
        }
    }
}

/// Notes the frames and bursts, which a run has no figures for.
fn pieces(parsed: &mut ParsedRun, output: &Output<'_>) {
    let wholes = || single(output).filter(|row| row.start == Nanos::ZERO);
    if let Some(row) = wholes().last().filter(|_| output.frames)
        && let Some(counts) = frame_counts(row)
    {
        let text = match counts.as_slice() {
            [sent, missed, slips] => {
                format!("Isochronous: {sent} frames were sent, {missed} were passed over, in {slips} slips.")
            }
            [received, lost, ..] => format!("Isochronous: {received} frames came, {lost} were lost."),
            _ => return,
        };
        parsed.warn("frames", text);
    }
    if output.bursts.is_empty() {
        return;
    }
    let took = |row: &IperfRow<'_>| row.token(0).and_then(Printed::from_text).map(|printed| printed.value);
    let count = output.bursts.len();
    // 2.1.8 without `--trip-times` subtracts a time that was never set.
    let times: Vec<f64> = output.bursts.iter().filter_map(took).filter(|time| *time >= 0.0).collect();
    let (least, most) =
        times.iter().fold((f64::MAX, 0.0_f64), |(least, most), time| (least.min(*time), most.max(*time)));
    let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
    let text = if times.len() < count {
        format!("{count} bursts came; the times that are printed of them cannot be.")
    } else {
        format!("{count} bursts came, each in {least} to {most} ms, {mean:.3} ms on average.")
    };
    parsed.warn("bursts", text);
}

/// `29/1/1` behind a row of a sender of frames, `29/1` of a receiver: plain counts behind the rate of datagrams, or behind
/// the window and its RTT.
fn frame_counts(row: &IperfRow<'_>) -> Option<Vec<u64>> {
    let mut behind = row.tokens().skip_while(|word| *word != "pps" && *word != "us").skip(1);
    let counts: Option<Vec<u64>> = behind.next()?.split('/').map(|count| count.parse().ok()).collect();
    counts.filter(|counts| counts.len() > 1)
}

/// `31707/0  0  1278K/88(40) us`, and with 2.2 what is in flight before the window.
fn tcp(row: &IperfRow<'_>) -> TcpCounters {
    let retransmits = possible::retransmits(row.token(1).and_then(|word| word.parse().ok()));
    let mut fields = row.token(2).map(|word| word.split('/').rev()).into_iter().flatten();
    let plain = |word: &str| word.split('(').next().unwrap_or_default().to_owned();
    let rtt = fields.next().and_then(|word| Printed::from_text(&plain(word)));
    let cwnd = fields.next().and_then(|word| Printed::bytes(plain(word).strip_suffix('K')?, "KBytes"));
    let cwnd = Bytes(cwnd.map_or(0, |cwnd| cwnd.value as u64));
    let rtt = Nanos(rtt.filter(|rtt| rtt.value >= 0.0).map_or(0, |rtt| (rtt.value * 1000.0) as u64));
    TcpCounters { retransmits, cwnd, max_cwnd: cwnd, rtt, mean_rtt: rtt, ..TcpCounters::default() }
}

/// Three printed digits are off by no more: larger differences are not of rounding.
const ROUNDED: f64 = 0.006;
/// `-l` where none is given, over IPv4.
const DEFAULT_LENGTH: u32 = 1470;
