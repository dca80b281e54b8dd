//! The figures of each end in iPerf3's rows, and the remarks against them.

use super::super::block::Block;
use super::super::build::{ParsedRun, add_sample, possible, role_of, side_of, total};
use super::super::number::{Agreed, Printed, agreed, datagram_size};
use super::super::row::{IperfRow, Losses};
use super::super::{Known, Tool, gaps};
use super::complete;
use super::lines::{Output, Part};
use model::distinct;
use model::event::Outcome;
use model::plan::{Direction, Directions, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, Side, StreamResult, StreamSample, TcpCounters, UdpCounters};
use model::units::{BitRate, Bytes, Nanos};

/// Everything an output reported; `None` when it has neither figures nor an error.
pub(super) fn parse_ends(output: &Output<'_>, block: &Block, known: Known) -> Option<ParsedRun> {
    let is_empty = output.client.is_empty() && output.server.is_empty();
    if is_empty && output.failed.is_none() || output.is_idle() {
        return None;
    }
    let transport = output.transport.unwrap_or(Transport::Tcp);
    let mut parsed =
        ParsedRun::new(Tool::Iperf3, block.line, ProtocolName::Iperf3, TestSpec::new(transport), known);
    parsed.version.clone_from(&output.version);
    parsed.host.clone_from(&output.host);
    segments(&mut parsed, output, block);
    parsed.resent_known = output.resent;
    if let Some(protocol) = &output.protocol {
        parsed.other_protocol(protocol);
    }
    addresses(&mut parsed, output);
    parsed.test = spec(output, transport);
    parsed.interval = first_interval(output);
    for (side, part) in [(Side::Local, &output.client), (Side::Peer, &output.server)] {
        Speaker { parsed: &mut parsed, output, side, part, impossible: Vec::new() }.take();
    }
    complete::complete(&mut parsed, output, block.command.as_ref());
    Some(parsed)
}

/// Takes the lines that a server printed of a test that is known already.
pub(super) fn server_side(parsed: &mut ParsedRun, output: &Output<'_>) {
    Speaker { parsed, output, side: Side::Peer, part: &output.server, impossible: Vec::new() }.take();
}

/// The size of segments: what a client asked for (`-M`) is theirs with the timestamps, which nearly every system sends.
fn segments(parsed: &mut ParsedRun, output: &Output<'_>, block: &Block) {
    match output.mss {
        Some(mss) if !output.asked_mss => parsed.mss = Some(mss),
        asked => parsed.ask_segments(asked.or_else(|| block.command.as_ref()?.mss())),
    }
}

fn addresses(parsed: &mut ParsedRun, output: &Output<'_>) {
    if let Some((_, local, remote)) = output.client.streams.first() {
        (parsed.client, parsed.server) = (Some(*local), Some(*remote));
    } else if let Some((_, local, remote)) = output.server.streams.first() {
        (parsed.client, parsed.server) = (Some(*remote), Some(*local));
    }
}

fn spec(output: &Output<'_>, transport: Transport) -> TestSpec {
    let mut spec = TestSpec::new(transport);
    spec.directions = directions(output);
    let part = if output.client.is_empty() { &output.server } else { &output.client };
    let rows = if part.finals.is_empty() { &part.intervals } else { &part.finals };
    let ids = distinct(Part::single(rows).iter().map(|row| (row.id, row.role)));
    let both_directions = if spec.directions == Directions::Both { 2 } else { 1 };
    spec.streams = (ids.len() as u32 / both_directions).max(1);
    let client =
        if output.client.finals.is_empty() { &output.client.intervals } else { &output.client.finals };
    let longest = client.iter().chain(&output.server.finals).map(|row| row.end).max().unwrap_or_default();
    spec.end = End::Time(output.options.time.map_or(longest, Nanos::from_secs));
    let omitted = |part: &Part<'_>| part.intervals.iter().filter(|row| row.omitted).map(|row| row.end).max();
    spec.omit = output
        .options
        .omit
        .map(Nanos::from_secs)
        .or(omitted(&output.client))
        .or(omitted(&output.server))
        .unwrap_or_default();
    spec.tos = output.options.tos.unwrap_or_default();
    spec.length = output.options.length.filter(|length| *length > 0);
    // Datagrams that came twice are in the amount and not in the count.
    if transport == Transport::Udp && spec.length.is_none() && output.disordered.is_none() {
        spec.length = datagram_size(&counted(output), MOST_IN_ETHERNET);
    }
    spec
}

/// Amounts with the number of datagrams they are.
fn counted(output: &Output<'_>) -> Vec<(Printed, u64)> {
    let of_row = |row: &IperfRow<'_>| {
        let count = match row.losses() {
            // iPerf3 3.0 prints the receiver's losses beside the sender's amount: they do not belong together.
            Some(losses) => losses.total.checked_sub(losses.lost),
            None => row.count(),
        };
        Some((row.bytes, u64::try_from(count?).ok()?))
    };
    // A row of both ends has the amount of the sender, which prints how many datagrams it was.
    let both = match (output.client.finals.as_slice(), output.client.sent) {
        ([row], Some(sent)) if row.sender.is_none() => u64::try_from(sent).ok().map(|sent| (row.bytes, sent)),
        _ => None,
    };
    let intervals = output.client.intervals.iter().chain(&output.server.intervals);
    intervals.filter_map(of_row).chain(both).collect()
}

fn directions(output: &Output<'_>) -> Directions {
    let rows = || {
        let parts = [(&output.client, false), (&output.server, true)];
        parts.into_iter().flat_map(|(part, server)| {
            part.intervals.iter().chain(&part.finals).map(move |row| (row, server))
        })
    };
    let up = |(row, _): &(&IperfRow<'_>, bool)| matches!(row.role, Some("TX-C" | "RX-S"));
    let down = |(row, _): &(&IperfRow<'_>, bool)| matches!(row.role, Some("RX-C" | "TX-S"));
    match (rows().any(|row| up(&row)), rows().any(|row| down(&row))) {
        (true, true) => Directions::Both,
        (false, true) => Directions::Down,
        (true, false) => Directions::Up,
        (false, false) if output.reverse || server_sends(output) => Directions::Down,
        (false, false) => Directions::Up,
    }
}

/// A server alone that prints its window or bare counts of datagrams sends.
fn server_sends(output: &Output<'_>) -> bool {
    let rows = &output.server.intervals;
    output.client.is_empty()
        && !rows.is_empty()
        && rows.iter().all(|row| row.count().is_some() && row.losses().is_none())
}

fn first_interval(output: &Output<'_>) -> Nanos {
    let rows = output.client.intervals.iter().chain(&output.server.intervals);
    rows.map(IperfRow::elapsed).next().unwrap_or_default()
}

/// One end's rows, from which the report is made.
struct Speaker<'a> {
    parsed: &'a mut ParsedRun,
    output: &'a Output<'a>,
    side: Side,
    part: &'a Part<'a>,
    /// Streams of which an interval has counts that cannot be.
    impossible: Vec<(u32, Direction)>,
}

/// The figures of a row.
struct Figures {
    bytes: Bytes,
    elapsed: Nanos,
    udp: Option<UdpCounters>,
    /// Its amount, its rate and its time do not fit each other.
    contradictory: bool,
    /// Its losses are none that a receiver can count.
    impossible: bool,
}

impl Speaker<'_> {
    fn take(mut self) {
        let mut ids = self.intervals();
        self.finals(&mut ids);
        self.without_summary();
    }

    fn intervals(&mut self) -> Ids {
        let mut ids = Ids::default();
        self.parsed.samples.reserve(self.part.intervals.len());
        for row in Part::single(&self.part.intervals) {
            let (direction, role) = self.direction_and_role(row);
            let stream = ids.number(row, direction, &self.parsed.test);
            let Figures { bytes, udp, impossible, .. } = self.figures(row, role);
            if impossible {
                self.impossible.push((stream, direction));
            }
            let tcp = (udp.is_none() && role == Role::Sender && self.output.resent).then(|| tcp(row));
            let sample = StreamSample { stream, direction, role, bytes, tcp, udp };
            add_sample(&mut self.parsed.samples, self.side, (row.start, row.end), row.omitted, sample);
        }
        ids
    }

    fn finals(&mut self, ids: &mut Ids) {
        for row in Part::single(&self.part.finals) {
            let (direction, role) = self.final_direction(row);
            let stream = ids.number(row, direction, &self.parsed.test);
            if row.sender.is_none() && row.losses().is_some() {
                self.both_ends(row, stream, direction);
            } else {
                self.finish(row, stream, direction, role);
            }
        }
    }

    /// The role of this end in the direction of a row of an interval.
    fn direction_and_role(&self, row: &IperfRow<'_>) -> (Direction, Role) {
        let direction = match row.role {
            Some("TX-C" | "RX-S") => Direction::Up,
            Some("RX-C" | "TX-S") => Direction::Down,
            _ => self.parsed.test.directions.each().next().unwrap_or(Direction::Up),
        };
        (direction, role_of(self.side, direction))
    }

    fn final_direction(&self, row: &IperfRow<'_>) -> (Direction, Role) {
        let (direction, own) = self.direction_and_role(row);
        (direction, row.sender.map_or(own, |sender| if sender { Role::Sender } else { Role::Receiver }))
    }

    /// Bytes, and the counts of a UDP row: where datagrams are counted and their size is known, bytes are exact.
    fn figures(&self, row: &IperfRow<'_>, role: Role) -> Figures {
        let Agreed { bytes: printed, elapsed, contradictory } =
            agreed(row.bytes, row.rate, row.elapsed(), row.half);
        if self.parsed.test.transport != Transport::Udp {
            return Figures { bytes: printed, elapsed, udp: None, contradictory, impossible: false };
        }
        let size = self.parsed.size();
        let losses = row.losses();
        let counts = match (losses, role) {
            (Some(losses), Role::Receiver) => possible::counts(losses.lost, losses.total),
            (Some(losses), Role::Sender) => u64::try_from(losses.total).ok().map(|total| (total, 0)),
            (None, _) => row.count().and_then(|count| u64::try_from(count).ok()).map(|count| (count, 0)),
        };
        let impossible = losses.is_some() && counts.is_none();
        let (datagrams, lost) =
            counts.unwrap_or_else(|| (printed.0.checked_div(size).unwrap_or_default(), 0));
        let is_counted = size > 0 && !impossible;
        let bytes = if is_counted { Bytes(datagrams.saturating_mul(size)) } else { printed };
        let jitter = losses.map_or(Nanos::ZERO, |losses| losses.jitter);
        let udp = Some(UdpCounters { datagrams, lost, jitter, ..UdpCounters::default() });
        Figures { bytes, elapsed, udp, contradictory, impossible }
    }

    fn finish(&mut self, row: &IperfRow<'_>, stream: u32, direction: Direction, role: Role) {
        let own = role_of(self.side, direction);
        let by_intervals =
            (role == own).then(|| total(&self.parsed.samples, self.side, stream, direction)).flatten();
        let Figures { bytes, elapsed, udp, contradictory, impossible } = self.figures(row, role);
        let is_tcp = udp.is_none();
        let tcp = (is_tcp && role == Role::Sender && self.output.resent).then(|| tcp(row));
        let mut result =
            StreamResult { stream, direction, role, elapsed, bytes, total_bytes: bytes, tcp, udp };
        let is_exact = !self.impossible.contains(&(stream, direction));
        let is_lost = row.bytes.value == 0.0 && by_intervals.as_ref().is_some_and(|sum| sum.bytes.0 > 0);
        let is_rebuilt = impossible && is_exact || is_lost && result.bytes.0 == 0;
        if let Some(sum) = by_intervals.as_ref().filter(|_| is_rebuilt) {
            self.rebuilt(impossible, row);
            (result.bytes, result.total_bytes, result.udp) = (sum.bytes, sum.bytes, sum.udp.clone());
        } else if impossible {
            self.withhold_losses(row, direction);
        } else if row.bytes.value == 0.0 && result.bytes.0 > 0 {
            self.parsed.warn("rebuilt-total", ZERO_TOTAL);
        } else {
            self.contradictions(row, by_intervals.as_ref(), contradictory, direction);
        }
        if row.bytes.value == 0.0 && result.bytes.0 == 0 && self.is_unknown(row, role, own) {
            return;
        }
        self.put(result, role);
    }

    /// An end prints figures of the other that it does not know as 0.00 Bytes: a server of its client, a client that was
    /// interrupted of its server. A client that ended as planned has the server's figures.
    fn is_unknown(&self, row: &IperfRow<'_>, role: Role, own: Role) -> bool {
        let is_foreign = role != own && row.sender.is_some();
        let interrupted = self.output.failed.is_some();
        let arrived = self.part.finals.iter().any(|row| row.sender == Some(false) && row.bytes.value > 0.0);
        is_foreign && (self.side == Side::Peer || interrupted || role == Role::Sender && arrived)
            || role == Role::Sender && row.sender.is_some() && self.side == Side::Peer
    }

    /// Losses of which there are fewer than none, or more than all.
    fn withhold_losses(&mut self, row: &IperfRow<'_>, direction: Direction) {
        let Some(losses) = row.losses() else { return };
        self.parsed.withhold_loss(direction, losses.lost, losses.total);
    }

    /// Contradictions within the row, and with the intervals that it sums up.
    fn contradictions(
        &mut self,
        row: &IperfRow<'_>,
        intervals: Option<&StreamResult>,
        contradictory: bool,
        direction: Direction,
    ) {
        if contradictory {
            let rate = row.rate.map_or(0.0, |rate| rate.value);
            self.parsed.contradict(format!(
                "The output contradicts itself {direction}: {} in {} is not {}.",
                Bytes(row.bytes.value as u64),
                row.elapsed(),
                BitRate(rate as u64)
            ));
        }
        let Some(sum) = intervals.filter(|sum| sum.bytes.0 > 0 && row.losses().is_none()) else { return };
        gaps::against_intervals(self.parsed, Bytes(row.bytes.value as u64), row.elapsed(), sum);
    }

    fn rebuilt(&mut self, negative: bool, row: &IperfRow<'_>) {
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

    /// The summary row of 3.0 and 3.1 over UDP, without a word of whose it is, has the sender's amount and the receiver's losses,
    /// whichever end prints it.
    fn both_ends(&mut self, row: &IperfRow<'_>, stream: u32, direction: Direction) {
        let own = role_of(self.side, direction);
        let by_intervals = total(&self.parsed.samples, self.side, stream, direction);
        let size = self.parsed.size();
        let sent = by_intervals.clone().filter(|sum| own == Role::Sender && sum.bytes.0 > 0);
        let printed = agreed(row.bytes, row.rate, row.elapsed(), row.half);
        let row_of = |role, bytes, udp| StreamResult {
            stream,
            direction,
            role,
            elapsed: printed.elapsed,
            bytes,
            total_bytes: bytes,
            tcp: None,
            udp: Some(udp),
        };
        let losses = row.losses().unwrap_or(Losses { jitter: Nanos::ZERO, lost: 0, total: 0 });
        let sender = sent.map(|sum| (sum.bytes, sum.udp.unwrap_or_default().datagrams)).or_else(|| {
            let by_size = printed.bytes.0.saturating_add(size / 2).checked_div(size).unwrap_or_default();
            // The receiver knows the exact count by the numbers, where it saw the last of them.
            let known =
                u64::try_from(losses.total).ok().filter(|total| total.abs_diff(by_size) <= by_size / 100);
            let count = known.unwrap_or(by_size);
            (printed.bytes.0 > 0).then(|| (if size > 0 { Bytes(count * size) } else { printed.bytes }, count))
        });
        let counts = possible::counts(losses.lost, losses.total);
        let negative = counts.is_none();
        let is_exact = !self.impossible.contains(&(stream, direction));
        let counted = by_intervals.filter(|sum| own == Role::Receiver && is_exact && sum.bytes.0 > 0);
        let server_has_it = self.side == Side::Local && own == Role::Sender && !self.output.server.is_empty();
        let receiver = match (counts, counted) {
            (Some((0, 0)) | None, Some(sum)) => sum.udp.map(|udp| (udp.datagrams, udp.lost)),
            (counts, _) => counts,
        };
        let rebuilt = receiver.is_some() || sender.is_some() && own == Role::Sender;
        if negative && rebuilt {
            self.rebuilt(true, row);
        }
        if negative && receiver.is_none() && !server_has_it {
            self.withhold_losses(row, direction);
        } else if row.bytes.value == 0.0 && receiver.is_some_and(|(datagrams, _)| datagrams > 0) {
            self.parsed.warn("rebuilt-total", ZERO_TOTAL);
        }
        if let Some((bytes, datagrams)) = sender {
            let udp = UdpCounters { datagrams, ..UdpCounters::default() };
            self.put(row_of(Role::Sender, bytes, udp), Role::Sender);
        }
        if let Some((datagrams, lost)) = receiver.filter(|_| !server_has_it) {
            let udp = UdpCounters { datagrams, lost, jitter: losses.jitter, ..UdpCounters::default() };
            // Where no size of datagrams fits the amount, those that arrived have their share of it.
            let share = datagrams as f64 / datagrams.saturating_add(lost).max(1) as f64;
            let bytes = match size {
                0 => Bytes((printed.bytes.0 as f64 * share).round() as u64),
                size => Bytes(datagrams.saturating_mul(size)),
            };
            self.put(row_of(Role::Receiver, bytes, udp), Role::Receiver);
        }
    }

    /// Puts a result at the end that plays the role, once.
    fn put(&mut self, result: StreamResult, role: Role) {
        let side = side_of(role, result.direction);
        let rows = &mut self.parsed.end_mut(side).streams;
        let same = |row: &&mut StreamResult| row.stream == result.stream && row.direction == result.direction;
        match rows.iter_mut().find(same) {
            // An end's own figures count more than those that the other end has of it.
            Some(row) if self.side == side => {
                let of_other = std::mem::replace(row, result.clone());
                if role == Role::Receiver {
                    gaps::compare(self.parsed, &of_other, &result);
                }
            }
            Some(_) => {}
            None => rows.push(result),
        }
    }

    /// An output that ends before its summary has its intervals.
    fn without_summary(&mut self) {
        if !self.part.finals.is_empty() || self.part.intervals.is_empty() {
            return;
        }
        self.parsed.without_summary();
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

fn tcp(row: &IperfRow<'_>) -> TcpCounters {
    let mut behind = row.tokens().skip(1);
    let cwnd = behind.next().zip(behind.next()).and_then(|(number, unit)| Printed::bytes(number, unit));
    let cwnd = Bytes(cwnd.map_or(0, |cwnd| cwnd.value as u64));
    let retransmits = possible::retransmits(row.count());
    TcpCounters { retransmits, cwnd, max_cwnd: cwnd, ..TcpCounters::default() }
}

/// Sockets become numbers in the order in which they appear, up before down.
#[derive(Default)]
struct Ids {
    up: Vec<super::super::row::Id>,
    down: Vec<super::super::row::Id>,
}

impl Ids {
    fn number(&mut self, row: &IperfRow<'_>, direction: Direction, test: &TestSpec) -> u32 {
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
