//! State of a test for both outputs of iPerf3: the streams, and the end results in iPerf3's terms.

use super::{Iperf3Options, Iperf3Role, WHOLE_TEST};
use model::event::{Connected, EndResult, Event, Finished};
use model::plan::{Direction, Directions, End, TestSpec, Transport};
use model::sample::{IntervalSample, Role, Side, SideResult, StreamInfo, StreamResult, TcpCounters};
use model::units::Nanos;

/// All events so far, apart from the intervals.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub(super) options: Iperf3Options,
    pub(super) connected: Option<Connected>,
    pub(super) streams: Vec<StreamInfo>,
    pub(super) local: Option<SideResult>,
    pub(super) peer: Option<SideResult>,
    pub(super) output_text: Option<String>,
    pub(super) output_json: Option<serde_json::Value>,
    pub(super) finished: Option<Finished>,
}

/// The streams that this end sends, or those it receives: a block of iPerf3's summary.
pub(super) struct Block {
    /// This end sends these streams.
    pub(super) sending: bool,
    /// `[TX-C]` and such with both directions, else nothing.
    pub(super) role: String,
    /// Client to server is plain, server to client of a bidirectional test has names of its own.
    pub(super) reverse_names: bool,
    pub(super) rows: Vec<StreamEnd>,
    /// The sender's TCP retransmits are known.
    pub(super) has_retransmits: bool,
}

/// One stream at the end, as both ends saw it; what is not known is zero.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamEnd {
    pub(super) socket: i32,
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) retransmits: u64,
    /// Windows and RTT: this end's, where iPerf3 gathers them.
    pub(super) tcp: TcpCounters,
    pub(super) jitter_ms: f64,
    pub(super) lost: u64,
    pub(super) out_of_order: u64,
    pub(super) sent_packets: u64,
    pub(super) received_packets: u64,
}

/// Seconds that iPerf3 divides by: those of the first stream, for all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) sender: f64,
    pub(super) receiver: f64,
    /// The clock of this end.
    pub(super) local: f64,
}

impl Ends {
    pub(super) fn new(options: Iperf3Options) -> Ends {
        Ends { options, ..Ends::default() }
    }

    /// Remembers what the end needs.
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) => self.connected = Some(connected.clone()),
            Event::Started(started) => self.streams.clone_from(&started.streams),
            Event::Result(result) => self.take_result(result),
            Event::Finished(finished) => self.finished = Some(finished.clone()),
            _ => {}
        }
    }

    fn take_result(&mut self, result: &EndResult) {
        match result.side {
            Side::Local => self.local = Some(result.result.clone()),
            // iPerf3's server has its end printed before it has the client's result.
            Side::Peer if !self.is_client() => {}
            Side::Peer => {
                self.peer = Some(result.result.clone());
                self.output_text.clone_from(&result.output_text);
                self.output_json.clone_from(&result.output_json);
            }
        }
    }

    pub(super) fn test(&self) -> Option<&TestSpec> {
        self.connected.as_ref().map(|connected| &connected.plan.test)
    }

    pub(super) fn is_udp(&self) -> bool {
        self.test().is_some_and(|test| test.transport == Transport::Udp)
    }

    pub(super) fn is_bidirectional(&self) -> bool {
        self.test().is_some_and(|test| test.directions == Directions::Both)
    }

    pub(super) fn is_client(&self) -> bool {
        self.options.role == Iperf3Role::Client
    }

    /// More than one stream in a direction: sums and separators are printed.
    pub(super) fn is_parallel(&self) -> bool {
        self.test().is_some_and(|test| test.streams > 1)
    }

    /// This end sends at least one stream.
    pub(super) fn sends(&self) -> bool {
        self.directions().any(|direction| self.sends_in(direction))
    }

    /// The directions of the test, the client's sending first: so the order of the streams is.
    pub(super) fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        self.test().map(|test| test.directions.each().collect::<Vec<_>>()).unwrap_or_default().into_iter()
    }

    pub(super) fn sends_in(&self, direction: Direction) -> bool {
        (direction == Direction::Up) == self.is_client()
    }

    /// `[TX-C]` of a bidirectional test.
    pub(super) fn role_mark(&self, sending: bool) -> String {
        if !self.is_bidirectional() {
            return String::new();
        }
        let end = if self.is_client() { 'C' } else { 'S' };
        format!("[{}-{end}]", if sending { "TX" } else { "RX" })
    }

    /// The block of one direction.
    pub(super) fn block(&self, direction: Direction) -> Block {
        let sending = self.sends_in(direction);
        let streams = self.streams.iter().filter(|stream| stream.direction == direction);
        let sender_known = self.side(direction, Role::Sender).is_some();
        Block {
            sending,
            role: self.role_mark(sending),
            reverse_names: self.is_bidirectional() && direction == Direction::Down,
            rows: streams.map(|stream| self.row(stream)).collect(),
            has_retransmits: !self.is_udp() && (sending || sender_known),
        }
    }

    fn row(&self, stream: &StreamInfo) -> StreamEnd {
        let sender = self.result_of(stream, Role::Sender);
        let receiver = self.result_of(stream, Role::Receiver);
        let sent_udp = sender.and_then(|result| result.udp.as_ref());
        let received_udp = receiver.and_then(|result| result.udp.as_ref());
        StreamEnd {
            socket: stream.socket,
            sent: sender.map_or(0, |result| result.bytes.0),
            received: receiver.map_or(0, |result| result.bytes.0),
            retransmits: sender.and_then(|result| result.tcp.as_ref()).map_or(0, |tcp| tcp.retransmits),
            tcp: self.own_tcp(stream),
            jitter_ms: received_udp.map_or(0.0, |udp| millis(udp.jitter)),
            lost: received_udp.map_or(0, |udp| udp.lost),
            out_of_order: received_udp.map_or(0, |udp| udp.reordered),
            sent_packets: sent_udp.map_or(0, |udp| udp.datagrams),
            received_packets: received_udp.map_or(0, |udp| udp.datagrams + udp.lost),
        }
    }

    /// A receiver looks at its sockets' gauges only when it sends on others.
    fn own_tcp(&self, stream: &StreamInfo) -> TcpCounters {
        let role = if self.sends_in(stream.direction) { Role::Sender } else { Role::Receiver };
        let gathers = role == Role::Sender || self.is_bidirectional();
        let own = self.result_of(stream, role).filter(|_| gathers);
        own.and_then(|result| result.tcp.clone()).unwrap_or_default()
    }

    /// The test of a client is one interval long: iPerf3 prints it when it has the server's result.
    pub(super) fn has_one_interval(&self) -> bool {
        let Some(plan) = self.connected.as_ref().map(|connected| &connected.plan) else { return false };
        let whole = match plan.test.end {
            End::Time(time) => time <= plan.local.interval,
            _ => plan.local.interval == WHOLE_TEST,
        };
        self.is_client() && plan.test.omit == Nanos::ZERO && whole
    }

    fn side(&self, direction: Direction, role: Role) -> Option<&SideResult> {
        let local = self.sends_in(direction) == (role == Role::Sender);
        if local { self.local.as_ref() } else { self.peer.as_ref() }
    }

    fn result_of(&self, stream: &StreamInfo, role: Role) -> Option<&StreamResult> {
        self.side(stream.direction, role)?.streams.iter().find(|result| result.stream == stream.stream)
    }

    /// The two durations; an end that is not known counts as long as the other.
    pub(super) fn times(&self) -> Times {
        let Some(first) = self.streams.first() else { return Times::default() };
        let seconds = |role| self.result_of(first, role).map(|result| result.elapsed.as_secs_f64());
        let (sender, receiver) = (seconds(Role::Sender), seconds(Role::Receiver));
        let local = if self.sends_in(first.direction) { sender } else { receiver };
        let local = local.or(sender).or(receiver).unwrap_or_default();
        Times { sender: sender.unwrap_or(local), receiver: receiver.unwrap_or(local), local }
    }

    /// CPU here and there: in total, of the user and of the system, in percent of one CPU.
    pub(super) fn cpu(&self) -> [[f64; 3]; 2] {
        let shares = |side: &SideResult| [side.cpu.process, side.cpu.user, side.cpu.system];
        [&self.local, &self.peer]
            .map(|side| side.as_ref().map_or([0.0; 3], shares).map(|share| share * 100.0))
    }

    /// Congestion control at the sending and at the receiving end.
    pub(super) fn congestion(&self, sending: bool) -> (Option<String>, Option<String>) {
        let of_side = |side: &Option<SideResult>| side.as_ref().and_then(|s| s.datapath.congestion.clone());
        let own = of_side(&self.local).or_else(|| self.streams.iter().find_map(|s| s.congestion.clone()));
        let peer = of_side(&self.peer);
        if sending { (own, peer) } else { (peer, own) }
    }

    /// Bytes of one write or datagram.
    pub(super) fn block_size(&self) -> u32 {
        self.test().and_then(|test| test.length).unwrap_or(TCP_BLOCK)
    }
}

impl Block {
    /// All streams together, as far as their sums are printed; the jitter is the mean.
    pub(super) fn total(&self) -> StreamEnd {
        let sum = |field: fn(&StreamEnd) -> u64| self.rows.iter().map(field).sum();
        let jitter_ms: f64 = self.rows.iter().map(|row| row.jitter_ms).sum();
        StreamEnd {
            sent: sum(|row| row.sent),
            received: sum(|row| row.received),
            retransmits: sum(|row| row.retransmits),
            jitter_ms: if self.rows.is_empty() { 0.0 } else { jitter_ms / self.rows.len() as f64 },
            lost: sum(|row| row.lost),
            sent_packets: sum(|row| row.sent_packets),
            received_packets: sum(|row| row.received_packets),
            ..StreamEnd::default()
        }
    }

    /// Packets sent as far as known, else those observed: the whole that loss is a share of.
    pub(super) fn packets(&self) -> u64 {
        self.rows.iter().map(StreamEnd::packets).sum()
    }
}

impl StreamEnd {
    pub(super) fn packets(&self) -> u64 {
        if self.sent_packets > 0 { self.sent_packets } else { self.received_packets }
    }
}

/// Too short to show: nothing moved, for less than a tenth of the interval.
pub(super) fn is_empty_tail(sample: &IntervalSample, interval: Nanos) -> bool {
    let length = sample.end.saturating_sub(sample.start);
    length.saturating_mul(10) < interval && sample.streams.iter().all(|stream| stream.bytes.0 == 0)
}

/// Bytes per second; none in no time.
pub(super) fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
}

pub(super) fn millis(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

/// iPerf3's block for TCP.
const TCP_BLOCK: u32 = 131_072;
