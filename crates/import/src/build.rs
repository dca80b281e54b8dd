//! Putting a throughput run together from what an output reported, through the same events as a live run.

mod line_rate;
pub(super) mod possible;
mod standstill;

use super::{Imported, Known, Tool};
use insight::judge;
use model::event::{Connected, EndResult, Event, Finished, Outcome, Probe, Started, Warning};
use model::host::Host;
use model::plan::{Direction, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::run::Run;
use model::sample::{
    CpuUse, IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, StreamSample, TcpCounters,
    UdpCounters,
};
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use possible::Figure;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Everything an output reported of a throughput test. The client is this end, whichever end printed it.
#[derive(Clone, Debug)]
pub(super) struct ParsedRun {
    pub(super) tool: Tool,
    pub(super) version: Option<String>,
    pub(super) line: usize,
    pub(super) protocol: ProtocolName,
    /// The host that the client was given.
    pub(super) host: Option<String>,
    pub(super) server: Option<SocketAddr>,
    pub(super) client: Option<SocketAddr>,
    pub(super) test: TestSpec,
    pub(super) interval: Nanos,
    /// TCP segments, payload in bytes.
    pub(super) mss: Option<u32>,
    /// Whether they carry timestamps, where more than their size shows it.
    pub(super) timestamps: Option<bool>,
    /// MTU of the path that is to be reckoned with, where datagrams do not fit it.
    pub(super) mtu: Option<u32>,
    pub(super) samples: Vec<IntervalSample>,
    pub(super) at_client: SideResult,
    pub(super) at_server: SideResult,
    /// Whether the sender reported its retransmits.
    pub(super) resent_known: bool,
    /// Whether the receiver reported how many datagrams arrived after later ones.
    pub(super) disorder_known: bool,
    pub(super) outcome: Outcome,
    pub(super) started: Option<WallTime>,
    pub(super) warnings: Vec<Warning>,
    pub(super) client_host: Option<Host>,
    pub(super) known: Known,
    /// Figures that the output does not give, or that cannot be.
    pub(super) unknown: Vec<(Direction, Figure)>,
}

impl ParsedRun {
    pub(super) fn new(
        tool: Tool,
        line: usize,
        protocol: ProtocolName,
        test: TestSpec,
        known: Known,
    ) -> ParsedRun {
        ParsedRun {
            tool,
            version: None,
            line,
            protocol,
            host: None,
            server: None,
            client: None,
            test,
            interval: Nanos::ZERO,
            mss: None,
            timestamps: None,
            mtu: None,
            samples: Vec::new(),
            at_client: SideResult::default(),
            at_server: SideResult::default(),
            resent_known: false,
            disorder_known: false,
            outcome: Outcome::Completed,
            started: None,
            warnings: Vec::new(),
            client_host: None,
            known,
            unknown: Vec::new(),
        }
    }

    /// Adds a note, once.
    pub(super) fn warn(&mut self, id: &str, text: impl Into<String>) {
        let warning = Warning::new(id, text);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Leaves out a figure of a direction, with the reason.
    pub(super) fn withhold(&mut self, direction: Direction, figure: Figure, why: &str) {
        self.unknown.push((direction, figure));
        self.warn("impossible-figure", why);
    }

    /// The size of segments that was asked for is that of their payload with the timestamps that most systems send.
    pub(super) fn ask_segments(&mut self, asked: Option<u32>) {
        if let Some(mss) = asked.and_then(|asked| asked.checked_sub(TIMESTAMPS)).filter(|mss| *mss > 0) {
            (self.mss, self.timestamps) = (Some(mss), Some(true));
            self.warn(
                "asked-mss",
                format!(
                    "Segments of {} bytes were asked for: less {TIMESTAMPS} of timestamps they carry {mss}.",
                    mss + TIMESTAMPS
                ),
            );
        }
    }

    /// A protocol that has no place in our results: its bytes and rates stand, as of a byte stream.
    pub(super) fn other_protocol(&mut self, protocol: &str) {
        (self.mss, self.timestamps, self.resent_known) = (None, None, false);
        self.warn(
            "other-protocol",
            format!("The test ran over {protocol}, not over TCP: its bytes and rates are as printed; segments, frames and retransmits of it are not known."),
        );
    }

    /// Leaves out the loss of a direction: no receiver counts so.
    pub(super) fn withhold_loss(&mut self, direction: Direction, lost: impl Display, total: impl Display) {
        let why =
            format!("The printed count of {lost} lost of {total} datagrams cannot be: the loss is left out.");
        self.withhold(direction, Figure::Loss, &why);
    }

    /// Notes that the output ends before its summary.
    pub(super) fn without_summary(&mut self) {
        self.warn("no-summary", "The output ends before its summary: the totals are sums of its intervals.");
    }

    /// Notes that the output does not give the addresses.
    pub(super) fn without_addresses(&mut self) {
        self.warn("no-addresses", "The output does not give the addresses: IPv4 is assumed.");
    }

    /// Notes a value that the output prints twice and differently: no figure of it is to be used.
    pub(super) fn contradict(&mut self, what: impl Into<String>) {
        self.warn("contradictory-output", what);
    }

    /// Bytes of a datagram; 0: the output does not give it.
    pub(super) fn size(&self) -> u64 {
        self.test.length.unwrap_or(0).into()
    }

    /// The figures of one end.
    pub(super) fn end_mut(&mut self, side: Side) -> &mut SideResult {
        match side {
            Side::Local => &mut self.at_client,
            Side::Peer => &mut self.at_server,
        }
    }

    /// The rows of both ends.
    pub(super) fn all_rows(&self) -> impl Iterator<Item = &StreamResult> {
        self.at_client.streams.iter().chain(&self.at_server.streams)
    }

    pub(super) fn all_rows_mut(&mut self) -> impl Iterator<Item = &mut StreamResult> {
        self.at_client.streams.iter_mut().chain(&mut self.at_server.streams)
    }

    /// The rows of both ends of one direction and role.
    pub(super) fn rows(&self, direction: Direction, role: Role) -> impl Iterator<Item = &StreamResult> {
        self.all_rows().filter(move |row| row.direction == direction && row.role == role)
    }

    pub(super) fn rows_mut(
        &mut self,
        direction: Direction,
        role: Role,
    ) -> impl Iterator<Item = &mut StreamResult> {
        self.all_rows_mut().filter(move |row| row.direction == direction && row.role == role)
    }

    /// Datagrams that fit neither Ethernet's frames nor were chosen for jumbo ones are reckoned as fragments.
    pub(super) fn assume_mtu(&mut self) {
        let loopback = self.server.is_some_and(|server| server.ip().to_canonical().is_loopback());
        let Some(size) = self.test.length else { return };
        let v6 = self.server.is_some_and(|server| server.is_ipv6());
        let fits = if v6 { ETHERNET_MTU - 48 } else { ETHERNET_MTU - 28 };
        if self.test.transport == Transport::Udp && !loopback && size > fits && !JUMBO.contains(&size) {
            self.mtu = Some(ETHERNET_MTU);
            self.warn("assumed-mtu", format!("The output does not give the path's MTU: {ETHERNET_MTU} is assumed, in which {size}-byte datagrams do not fit."));
        }
    }

    /// Fills in the datagrams of a UDP sender whose output is missing: the receiver knows it by the sequence numbers.
    pub(super) fn senders_unseen(&mut self) {
        let size = self.size();
        let missing = |receiver: &SideResult, sender: &SideResult| -> Vec<StreamResult> {
            let missing = |row: &&StreamResult| {
                let same = |sent: &StreamResult| sent.stream == row.stream && sent.direction == row.direction;
                row.role == Role::Receiver && !sender.streams.iter().any(same)
            };
            receiver.streams.iter().filter(missing).filter_map(|row| sender_of(row, size)).collect()
        };
        let (of_server, of_client) =
            (missing(&self.at_client, &self.at_server), missing(&self.at_server, &self.at_client));
        let added = !of_server.is_empty() || !of_client.is_empty();
        self.at_server.streams.extend(of_server);
        self.at_client.streams.extend(of_client);
        if added {
            self.warn("sender-unknown", "The sender's own figures are missing: what it sent is what the receiver knows by the sequence numbers.");
        }
    }

    /// The run, called `NAME:LINE`.
    pub(super) fn imported(mut self, name: &str) -> Box<Imported> {
        self.assume_segments();
        possible::withhold(&mut self);
        standstill::find(&mut self);
        line_rate::say(&mut self);
        self.credit_senders();
        self.no_time();
        let longest = self.longest();
        self.receivers_time();
        let mut run = Run::unjudged(&format!("{name}:{}", self.line), "throughput", &self.events());
        // Events would be copied.
        run.intervals = self.samples;
        (run.started, run.finished) = (self.started, self.started.map(|from| from + longest));
        run.host = self.client_host;
        possible::leave_out(&mut run, &self.unknown);
        for summary in [&mut run.summary.up, &mut run.summary.down].into_iter().flatten() {
            for cpu in [&mut summary.cpu.sender, &mut summary.cpu.receiver] {
                cpu.take_if(|cpu| *cpu == CpuUse::default());
            }
            if matches!(self.tool, Tool::Qperf | Tool::Netperf | Tool::Sockperf) {
                summary.jitter = None;
            }
            // No tool prints these of a test of throughput.
            (summary.duplicates, summary.late) = (None, None);
            summary.reordered = summary.reordered.filter(|_| self.disorder_known);
            if !self.resent_known {
                summary.retransmits = None;
                summary.streams.iter_mut().for_each(|stream| stream.retransmits = None);
            }
        }
        Box::new(Imported { tool: self.tool, version: self.version, line: self.line, run: judge(run) })
    }

    /// The printed rate of a receiver is over its own time, which an end that counts until the other one's last message can exceed.
    fn receivers_time(&mut self) {
        for direction in Direction::BOTH {
            let longest = |rows: &mut dyn Iterator<Item = &StreamResult>| rows.map(|row| row.elapsed).max();
            let received = longest(&mut self.rows(direction, Role::Receiver).filter(|row| row.bytes.0 > 0));
            let Some(received) = received.filter(|time| *time > Nanos::ZERO) else { continue };
            let is_little = |sent: Nanos| sent.saturating_sub(received) <= Nanos(sent.0 / 10).max(LATE_END);
            self.rows_mut(direction, Role::Sender)
                .filter(|row| row.elapsed > received && is_little(row.elapsed))
                .for_each(|row| row.elapsed = received);
        }
    }

    /// Bytes that moved in no time: how long it took is not known, and so no rate is.
    fn no_time(&mut self) {
        let timeless = self.all_rows().filter(|row| row.bytes.0 > 0 && row.elapsed == Nanos::ZERO);
        if let Some(row) = timeless.max_by_key(|row| row.bytes).cloned() {
            self.contradict(format!(
                "The output contradicts itself {}: {} in no time.",
                row.direction, row.bytes
            ));
        }
    }

    /// Segments that the reader knows stand for those that the output does not report.
    fn assume_segments(&mut self) {
        if let Some(mss) =
            self.known.mss.filter(|_| self.mss.is_none() && self.test.transport == Transport::Tcp)
        {
            self.mss = Some(mss);
            self.warn("given-mss", format!("The output does not give the segments on the wire: they are reckoned with {mss} bytes, as asked for."));
        }
    }

    /// The bytes that a TCP sender handed over stand for those that arrived where the receiver reports nothing.
    fn credit_senders(&mut self) {
        let (mss, timestamps) = (self.mss.unwrap_or_default(), self.timestamps);
        for row in self.all_rows_mut().filter(|row| row.role == Role::Sender && row.udp.is_none()) {
            credit(&mut row.tcp, row.bytes, mss, timestamps);
        }
        let rows = self.samples.iter_mut().flat_map(|sample| &mut sample.streams);
        for row in rows.filter(|row| row.role == Role::Sender && row.udp.is_none()) {
            credit(&mut row.tcp, row.bytes, mss, timestamps);
        }
    }

    fn events(&mut self) -> Vec<Event> {
        let elapsed = self.longest();
        let (client, server) = (self.client.unwrap_or(NOWHERE), self.server.unwrap_or(NOWHERE));
        let plan = self.plan(server);
        let wall = self.started.unwrap_or_default();
        let mut events = vec![
            Event::Connected(Connected {
                wall,
                plan,
                local: client,
                remote: server,
                session: String::new(),
                control_mss: None,
                host: Host::default(),
                peer: None,
            }),
            Event::Started(Started { wall, streams: vec![self.stream(client, server)] }),
        ];
        events
            .extend(self.known.link.map(|rate| Event::Probe(Probe::Link { rate, source: "--link".into() })));
        let ends = [(Side::Local, &mut self.at_client), (Side::Peer, &mut self.at_server)];
        for (side, result) in ends.into_iter().filter(|(_, result)| !result.streams.is_empty()) {
            let result = std::mem::take(result);
            events.push(Event::Result(EndResult { side, result, output_text: None, output_json: None }));
        }
        events.extend(std::mem::take(&mut self.warnings).into_iter().map(Event::Warning));
        let finished = Finished { wall: wall + elapsed, elapsed, outcome: self.outcome.clone() };
        events.push(Event::Finished(finished));
        events
    }

    fn plan(&self, server: SocketAddr) -> Plan {
        let known = self.server.map(|server| server.ip().to_canonical().to_string());
        let host = self.host.clone().or(known).unwrap_or_else(|| UNKNOWN_HOST.into());
        let local =
            LocalOptions { interval: self.interval, link: self.known.link, ..LocalOptions::default() };
        let target = Target { host, address: server };
        Plan { target, protocol: self.protocol, test: self.test.clone(), local }
    }

    /// One stream speaks for all: what is asked of it is the MTU.
    fn stream(&self, local: SocketAddr, remote: SocketAddr) -> StreamInfo {
        let direction = self.test.directions.each().next().unwrap_or(Direction::Up);
        StreamInfo {
            stream: 0,
            direction,
            role: role_of(Side::Local, direction),
            local,
            remote,
            socket: 0,
            mss: self.mss,
            path_mtu: self.mtu,
            send_buffer: Bytes(0),
            receive_buffer: Bytes(0),
            congestion: None,
        }
    }

    /// The longest time that anything of it took.
    pub(super) fn longest(&self) -> Nanos {
        let intervals = self.samples.iter().filter(|sample| !sample.omitted).map(|sample| sample.end);
        self.all_rows().map(|row| row.elapsed).chain(intervals).max().unwrap_or_default()
    }
}

/// The row of a sender by what its receiver knows by the sequence numbers; `None` of one that counted nothing.
fn sender_of(row: &StreamResult, size: u64) -> Option<StreamResult> {
    let udp = row.udp.as_ref()?;
    let datagrams = Some(udp.datagrams.saturating_add(udp.lost)).filter(|count| *count > 0)?;
    let bytes = Bytes(datagrams.saturating_mul(size));
    let udp = Some(UdpCounters { datagrams, ..UdpCounters::default() });
    Some(StreamResult { role: Role::Sender, bytes, total_bytes: bytes, udp, ..row.clone() })
}

fn credit(tcp: &mut Option<TcpCounters>, bytes: Bytes, mss: u32, timestamps: Option<bool>) {
    let tcp = tcp.get_or_insert_default();
    tcp.acknowledged = bytes;
    if tcp.send_mss == 0 {
        tcp.send_mss = mss;
    }
    tcp.timestamps |= timestamps.unwrap_or_else(|| has_timestamps(tcp.send_mss));
}

/// The segment is that of a usual MTU less the headers of IPv4 or IPv6 and the 12 bytes of timestamps.
fn has_timestamps(mss: u32) -> bool {
    let fills = |headers: u32| mss.saturating_add(headers);
    USUAL_MTUS.iter().any(|mtu| fills(52) == *mtu || fills(72) == *mtu)
        || RFC2544_PACKETS.contains(&fills(52))
}

/// The role of an end in a direction.
pub(super) fn role_of(side: Side, direction: Direction) -> Role {
    if (direction == Direction::Up) == (side == Side::Local) { Role::Sender } else { Role::Receiver }
}

/// The end that has this role in a direction.
pub(super) fn side_of(role: Role, direction: Direction) -> Side {
    if (direction == Direction::Up) == (role == Role::Sender) { Side::Local } else { Side::Peer }
}

/// The result of an only stream, without counters of TCP.
pub(super) fn only_stream(
    direction: Direction,
    role: Role,
    elapsed: Nanos,
    bytes: Bytes,
    udp: Option<UdpCounters>,
) -> StreamResult {
    StreamResult { stream: 0, direction, role, elapsed, bytes, total_bytes: bytes, tcp: None, udp }
}

/// Puts a row into the sample of its time.
pub(super) fn add_sample(
    samples: &mut Vec<IntervalSample>,
    side: Side,
    span: (Nanos, Nanos),
    omitted: bool,
    row: StreamSample,
) {
    let (start, end) = span;
    let same = |sample: &&mut IntervalSample| {
        sample.side == side && sample.omitted == omitted && sample.start == start && sample.end == end
    };
    match samples.iter_mut().rev().take(RECENT).find(same) {
        Some(sample) => sample.streams.push(row),
        None => samples.push(IntervalSample { side, start, end, omitted, streams: vec![row] }),
    }
}

/// The whole of one stream from its intervals.
pub(super) fn total(
    samples: &[IntervalSample],
    side: Side,
    stream: u32,
    direction: Direction,
) -> Option<StreamResult> {
    let rows = || {
        let own = samples.iter().filter(|sample| sample.side == side && !sample.omitted);
        own.flat_map(move |sample| {
            let rows =
                sample.streams.iter().filter(move |row| row.stream == stream && row.direction == direction);
            rows.map(move |row| (sample, row))
        })
    };
    let (_, first) = rows().next()?;
    let end = rows().map(|(sample, _)| sample.end).max()?;
    let start = rows().map(|(sample, _)| sample.start).min()?;
    let bytes = Bytes(rows().fold(0, |sum, (_, row)| sum.saturating_add(row.bytes.0)));
    let udp = first.udp.as_ref().map(|_| {
        rows().filter_map(|(_, row)| row.udp.as_ref()).fold(
            Default::default(),
            |mut sum: UdpCounters, udp| {
                sum.datagrams = sum.datagrams.saturating_add(udp.datagrams);
                sum.lost = sum.lost.saturating_add(udp.lost);
                sum.jitter = udp.jitter;
                sum
            },
        )
    });
    let tcp = first.tcp.as_ref().map(|_| {
        rows().filter_map(|(_, row)| row.tcp.as_ref()).fold(TcpCounters::default(), |mut sum, tcp| {
            sum.retransmits = sum.retransmits.saturating_add(tcp.retransmits);
            sum.cwnd = tcp.cwnd;
            sum.max_cwnd = sum.max_cwnd.max(tcp.cwnd);
            sum
        })
    });
    // Rows that were left out of a long log are no time in which nothing was moved.
    let covered: Nanos = rows().map(|(sample, _)| sample.end.saturating_sub(sample.start)).sum();
    let whole = end.saturating_sub(start);
    let elapsed = if covered < whole.saturating_sub(Nanos(whole.0 / 20)) { covered } else { whole };
    Some(StreamResult { stream, direction, role: first.role, elapsed, bytes, total_bytes: bytes, tcp, udp })
}

/// An end of a short test may count so much longer than the other.
const LATE_END: Nanos = Nanos::from_millis(200);
/// An address that no output reported.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
const UNKNOWN_HOST: &str = "the far end";
/// The option of TCP that most systems send with each segment, bytes (RFC 7323).
const TIMESTAMPS: u32 = 12;
/// The MTU of nearly every path across providers.
const ETHERNET_MTU: u32 = 1500;
/// Datagrams for an MTU of 9000.
const JUMBO: std::ops::RangeInclusive<u32> = 8900..=8972;
const USUAL_MTUS: [u32; 5] = [1500, 9000, 1460, 1400, 1280];
/// Packets of frames of 1280, 1024, 512, 256 and 146 bytes, the last being the least that TCP on Linux fills.
const RFC2544_PACKETS: [u32; 5] = [1262, 1006, 494, 238, 128];
/// Samples that are looked through for one of the same time: more streams than ends an interval has.
const RECENT: usize = 8;
