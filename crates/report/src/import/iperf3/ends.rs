//! What iPerf3's rows say of each end, and what is to be said against them.

use super::super::block::Block;
use super::super::build::{ParsedRun, add_sample, total};
use super::super::number::{Printed, datagram_size, refined};
use super::super::row::Row;
use super::super::{Known, Tool};
use super::complete;
use super::lines::{Output, Part};
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, SideResult, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::units::{Bytes, Nanos};

/// Everything an output told; `None` when it has neither figures nor an error.
pub(super) fn parse_ends(output: &Output, block: &Block, known: Known) -> Option<ParsedRun> {
    if output.client.is_empty() && output.server.is_empty() && output.failed.is_none() {
        return None;
    }
    let transport = output.transport.unwrap_or(Transport::Tcp);
    let mut parsed =
        ParsedRun::new(Tool::Iperf3, block.line, ProtocolName::Iperf3, TestSpec::new(transport), known);
    parsed.version.clone_from(&output.version);
    parsed.host.clone_from(&output.host);
    parsed.mss = output.mss;
    parsed.resent_known = output.resent;
    addresses(&mut parsed, output);
    parsed.test = spec(output, transport);
    parsed.interval = first_interval(output);
    for (side, part) in [(Side::Local, &output.client), (Side::Peer, &output.server)] {
        Speaker { parsed: &mut parsed, output, side, part }.take();
    }
    complete::complete(&mut parsed, output);
    Some(parsed)
}

/// Adds the intervals that a server printed, of a test that is known already.
pub(super) fn samples(parsed: &mut ParsedRun, output: &Output) {
    Speaker { parsed, output, side: Side::Peer, part: &output.server }.intervals();
}

fn addresses(parsed: &mut ParsedRun, output: &Output) {
    if let Some((_, local, remote)) = output.client.streams.first() {
        (parsed.client, parsed.server) = (Some(*local), Some(*remote));
    } else if let Some((_, local, remote)) = output.server.streams.first() {
        (parsed.client, parsed.server) = (Some(*remote), Some(*local));
    }
}

fn spec(output: &Output, transport: Transport) -> TestSpec {
    let mut spec = TestSpec::new(transport);
    spec.directions = directions(output);
    let part = if output.client.is_empty() { &output.server } else { &output.client };
    let rows = if part.finals.is_empty() { &part.intervals } else { &part.finals };
    let mut ids: Vec<_> = Part::single(rows).iter().map(|row| (row.id, row.role.clone())).collect();
    let mut observed = Vec::new();
    ids.retain(|id| {
        !observed.contains(id) && {
            observed.push(id.clone());
            true
        }
    });
    let both_directions = if spec.directions == Directions::Both { 2 } else { 1 };
    spec.streams = (ids.len() as u32 / both_directions).max(1);
    let client =
        if output.client.finals.is_empty() { &output.client.intervals } else { &output.client.finals };
    let longest = client.iter().chain(&output.server.finals).map(|row| row.end).max().unwrap_or_default();
    spec.end = End::Time(output.options.time.map_or(longest, Nanos::from_secs));
    let omitted = |part: &Part| part.intervals.iter().filter(|row| row.omitted).map(|row| row.end).max();
    spec.omit = output
        .options
        .omit
        .map(Nanos::from_secs)
        .or(omitted(&output.client))
        .or(omitted(&output.server))
        .unwrap_or_default();
    spec.tos = output.options.tos.unwrap_or_default();
    spec.length = output.options.length.unwrap_or_default();
    if transport == Transport::Udp && spec.length == 0 {
        spec.length = datagram_size(&counted(output), MOST_IN_ETHERNET).unwrap_or_default();
    }
    spec
}

/// Amounts with the number of datagrams they are.
fn counted(output: &Output) -> Vec<(Printed, u64)> {
    let of_row = |row: &Row| {
        let count = match row.losses() {
            // iPerf3 3.0 prints the receiver's losses beside the sender's amount: they do not belong together.
            Some(losses) => losses.total.checked_sub(losses.lost),
            None => row.count(),
        };
        Some((row.bytes, u64::try_from(count?).ok()?))
    };
    output.client.intervals.iter().chain(&output.server.intervals).filter_map(of_row).collect()
}

fn directions(output: &Output) -> Directions {
    let rows = || {
        let parts = [(&output.client, false), (&output.server, true)];
        parts.into_iter().flat_map(|(part, server)| {
            part.intervals.iter().chain(&part.finals).map(move |row| (row, server))
        })
    };
    let up = |(row, _): &(&Row, bool)| matches!(row.role.as_deref(), Some("TX-C" | "RX-S"));
    let down = |(row, _): &(&Row, bool)| matches!(row.role.as_deref(), Some("RX-C" | "TX-S"));
    match (rows().any(|row| up(&row)), rows().any(|row| down(&row))) {
        (true, true) => Directions::Both,
        (false, true) => Directions::Down,
        (true, false) => Directions::Up,
        (false, false) if output.reverse || server_sends(output) => Directions::Down,
        (false, false) => Directions::Up,
    }
}

/// A server alone that prints its window or bare counts of datagrams sends.
fn server_sends(output: &Output) -> bool {
    let rows = &output.server.intervals;
    output.client.is_empty()
        && !rows.is_empty()
        && rows.iter().all(|row| row.count().is_some() && row.losses().is_none())
}

fn first_interval(output: &Output) -> Nanos {
    let rows = output.client.intervals.iter().chain(&output.server.intervals);
    rows.map(Row::elapsed).next().unwrap_or_default()
}

/// One end's rows on their way into what is told.
struct Speaker<'a> {
    parsed: &'a mut ParsedRun,
    output: &'a Output,
    side: Side,
    part: &'a Part,
}

impl Speaker<'_> {
    fn take(mut self) {
        let mut ids = self.intervals();
        self.finals(&mut ids);
        self.without_summary();
    }

    fn intervals(&mut self) -> Ids {
        let mut ids = Ids::default();
        for row in Part::single(&self.part.intervals) {
            let (direction, role) = self.direction_and_role(row);
            let stream = ids.number(row, direction, &self.parsed.test);
            let sample = self.sample(row, stream, direction, role);
            add_sample(&mut self.parsed.samples, self.side, (row.start, row.end), row.omitted, sample);
        }
        ids
    }

    fn finals(&mut self, ids: &mut Ids) {
        for row in Part::single(&self.part.finals) {
            let (direction, role) = self.final_way(row);
            let stream = ids.number(row, direction, &self.parsed.test);
            self.finish(row, stream, direction, role);
        }
    }

    /// What this end does in the direction of a row of an interval.
    fn direction_and_role(&self, row: &Row) -> (Direction, Role) {
        let direction = match row.role.as_deref() {
            Some("TX-C" | "RX-S") => Direction::Up,
            Some("RX-C" | "TX-S") => Direction::Down,
            _ => self.parsed.test.directions.each().next().unwrap_or(Direction::Up),
        };
        (direction, self.role_in(direction))
    }

    fn role_in(&self, direction: Direction) -> Role {
        match (direction == Direction::Up) == (self.side == Side::Local) {
            true => Role::Sender,
            false => Role::Receiver,
        }
    }

    fn final_way(&self, row: &Row) -> (Direction, Role) {
        let (direction, own) = self.direction_and_role(row);
        (direction, row.sender.map_or(own, |sender| if sender { Role::Sender } else { Role::Receiver }))
    }

    fn sample(&self, row: &Row, stream: u32, direction: Direction, role: Role) -> StreamSample {
        let (bytes, udp) = self.figures(row, role);
        let tcp = (udp.is_none() && role == Role::Sender && self.output.resent).then(|| tcp(row));
        StreamSample { stream, direction, role, bytes, tcp, udp }
    }

    /// Bytes, and the counts of a UDP row: where datagrams are counted and their size is known, bytes are exact.
    fn figures(&self, row: &Row, role: Role) -> (Bytes, Option<UdpCounters>) {
        let printed = refined(row.bytes, row.rate, row.elapsed());
        if self.parsed.test.transport != Transport::Udp {
            return (printed, None);
        }
        let size = u64::from(self.parsed.test.length);
        let losses = row.losses();
        let (lost, jitter) = losses.map_or((0, Nanos::ZERO), |losses| (losses.lost.max(0), losses.jitter));
        let total = losses.map(|losses| losses.total).or(row.count());
        let datagrams = match (total.and_then(|total| u64::try_from(total).ok()), role) {
            (Some(total), Role::Sender) => Some(total),
            (Some(total), Role::Receiver) => Some(total.saturating_sub(lost.unsigned_abs())),
            (None, _) => None,
        };
        let datagrams = datagrams.unwrap_or_else(|| printed.0.checked_div(size).unwrap_or_default());
        let lost = if role == Role::Receiver { lost.unsigned_abs() } else { 0 };
        let bytes = if size > 0 { Bytes(datagrams.saturating_mul(size)) } else { printed };
        (bytes, Some(UdpCounters { datagrams, lost, jitter, ..UdpCounters::default() }))
    }

    fn finish(&mut self, row: &Row, stream: u32, direction: Direction, role: Role) {
        let by_intervals = (role == self.role_in(direction))
            .then(|| total(&self.parsed.samples, self.side, stream, direction))
            .flatten();
        let (bytes, mut udp) = self.figures(row, role);
        let mut result = StreamResult {
            stream,
            direction,
            role,
            elapsed: row.elapsed(),
            bytes,
            total_bytes: bytes,
            tcp: (udp.is_none() && role == Role::Sender && self.output.resent).then(|| tcp(row)),
            udp: udp.take(),
        };
        let negative = row.losses().is_some_and(|losses| losses.total < 0 || losses.lost < 0);
        let lost_amount = row.bytes.value == 0.0 && by_intervals.as_ref().is_some_and(|sum| sum.bytes.0 > 0);
        if let Some(sum) = by_intervals.filter(|_| negative || lost_amount && result.bytes.0 == 0) {
            self.rebuilt(negative, row);
            (result.bytes, result.total_bytes, result.udp) = (sum.bytes, sum.bytes, sum.udp);
        } else if row.bytes.value == 0.0 && result.bytes.0 > 0 {
            self.parsed.warn("rebuilt-total", ZERO_TOTAL);
        }
        // What an end does not know of the other it prints as 0.00 Bytes: a server of its client, a client that was
        // interrupted of its server.
        let tcp = result.udp.is_none();
        let unknown = tcp || self.output.failed.is_some();
        let foreign = role == Role::Sender || role != self.role_in(direction) && unknown;
        if foreign && row.sender.is_some() && result.bytes.0 == 0 {
            return;
        }
        self.put(result, role);
        if row.sender.is_none() && row.losses().is_some() && role == Role::Sender && !negative {
            self.receiver_told_by_sender(row, stream, direction);
        }
    }

    fn rebuilt(&mut self, negative: bool, row: &Row) {
        let total = row.losses().map_or(0, |losses| losses.total);
        if negative {
            self.parsed.warn(
                "rebuilt-count",
                format!("The tool's own count of {total} datagrams is a fault of its 32-bit arithmetic: the count is rebuilt from its intervals."),
            );
        } else {
            self.parsed.warn("rebuilt-total", ZERO_TOTAL);
        }
    }

    /// iPerf3 3.0's client prints the receiver's losses and jitter in its own row.
    fn receiver_told_by_sender(&mut self, row: &Row, stream: u32, direction: Direction) {
        let server_tells = !self.output.server.is_empty();
        let Some(losses) = row.losses().filter(|_| !server_tells && self.side == Side::Local) else { return };
        let (lost, total) = (losses.lost.unsigned_abs(), losses.total.unsigned_abs());
        let datagrams = total.saturating_sub(lost);
        let bytes = Bytes(datagrams.saturating_mul(self.parsed.test.length.into()));
        let udp = UdpCounters { datagrams, lost, jitter: losses.jitter, ..UdpCounters::default() };
        let result = StreamResult {
            stream,
            direction,
            role: Role::Receiver,
            elapsed: row.elapsed(),
            bytes,
            total_bytes: bytes,
            tcp: None,
            udp: Some(udp),
        };
        self.put(result, Role::Receiver);
    }

    /// Puts a result at the end that plays the role, once.
    fn put(&mut self, result: StreamResult, role: Role) {
        let client = (result.direction == Direction::Up) == (role == Role::Sender);
        let side: &mut SideResult =
            if client { &mut self.parsed.at_client } else { &mut self.parsed.at_server };
        let same = |row: &&mut StreamResult| row.stream == result.stream && row.direction == result.direction;
        match side.streams.iter_mut().find(same) {
            // What an end says of itself holds against what the other end says of it.
            Some(row) if (self.side == Side::Local) == client => *row = result,
            Some(_) => {}
            None => side.streams.push(result),
        }
    }

    /// An output that ends before its summary has its intervals.
    fn without_summary(&mut self) {
        if !self.part.finals.is_empty() || self.part.intervals.is_empty() {
            return;
        }
        self.parsed
            .warn("no-summary", "The output ends before its summary: the totals are sums of its intervals.");
        let rows = self.parsed.samples.iter().filter(|sample| sample.side == self.side);
        let mut streams: Vec<(u32, Direction)> =
            rows.flat_map(|sample| &sample.streams).map(|row| (row.stream, row.direction)).collect();
        streams.sort_unstable();
        streams.dedup();
        for (stream, direction) in streams {
            if let Some(result) = total(&self.parsed.samples, self.side, stream, direction) {
                let role = result.role;
                self.put(result, role);
            }
        }
        if self.side == Side::Local && self.output.failed.is_none() {
            self.parsed.outcome = Outcome::Interrupted;
        }
    }
}

fn tcp(row: &Row) -> TcpCounters {
    let cwnd = row.rest.get(1).zip(row.rest.get(2)).and_then(|(number, unit)| Printed::bytes(number, unit));
    let cwnd = Bytes(cwnd.map_or(0, |cwnd| cwnd.value as u64));
    let retransmits = row.count().and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
    TcpCounters { retransmits, cwnd, max_cwnd: cwnd, ..TcpCounters::default() }
}

/// Sockets become numbers in the order in which they appear, up before down.
#[derive(Default)]
struct Ids {
    up: Vec<super::super::row::Id>,
    down: Vec<super::super::row::Id>,
}

impl Ids {
    fn number(&mut self, row: &Row, direction: Direction, test: &TestSpec) -> u32 {
        let ids = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        let place = ids.iter().position(|id| *id == row.id).unwrap_or_else(|| {
            ids.push(row.id);
            ids.len() - 1
        });
        test.stream_numbers(direction).start + place as u32
    }
}

const ZERO_TOTAL: &str = "The tool's own total of 0.00 Bytes is a fault of the tool: the total is rebuilt from what else it counted.";

/// The payload that people choose when 8 KB gave trouble: the most that an Ethernet frame holds.
const MOST_IN_ETHERNET: u32 = 1472;
