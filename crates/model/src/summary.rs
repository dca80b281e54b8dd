//! The summary: events folded into the figures people read. The same code serves live, stored and compared runs.

mod segments;

pub use segments::Segments;

use crate::event::{Connected, EndResult, Event, Finished, Outcome, Probe, Warning, WithoutCopy};
use crate::explain::Explanation;
use crate::hops::HopsResult;
use crate::latency::{EgressResult, HostNoise, LatencyResult, LoadResult, OneWayDelays};
use crate::limit::{Limit, LoadProbing, ObservedHost};
use crate::packets::PacketResult;
use crate::path::PathResult;
use crate::plan::{Direction, Plan, Transport};
use crate::reach::Reach;
use crate::sample::{
    CpuUse, OneWayDelay, Role, Side, SideResult, Silence, StreamInfo, StreamResult, TcpCounters, UdpCounters,
};
use crate::stats::distribution::Distribution;
use crate::transfer::{TransferPlan, TransferResult};
use crate::units::{BitRate, Bytes, Nanos};
use crate::wire_rate::WireRate;
use serde::{Deserialize, Serialize};

/// All figures of one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Summary {
    /// Client to server.
    pub up: Option<DirectionSummary>,
    /// Server to client.
    pub down: Option<DirectionSummary>,
    /// RTT of the idle path, application to application.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Idle RTT probes without an answer.
    pub lost: u64,
    /// Speed of the link and where it was read.
    pub link: Option<Link>,
    /// Offset of the peer's clock.
    pub clock: Option<ClockOffset>,
    /// Replies after their timeout (latency).
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub late: u64,
    /// Replies that had come before (latency).
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub duplicates: u64,
    /// Replies that came after one to a later message (latency).
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub reordered: u64,
    /// The tool's own round trip over loopback, with the same wait: no result is truer than this.
    #[serde(rename = "tool_floor_ns", skip_serializing_if = "Option::is_none")]
    pub tool_floor: Option<Distribution>,
    /// One-way delays (latency, one way).
    #[serde(rename = "one_way", skip_serializing_if = "Option::is_none")]
    pub one_way_delays: Option<OneWayDelays>,
    /// Every egress path of a latency run; `rtt_ns` and the counts beside it are those of a single one.
    #[serde(rename = "ways", skip_serializing_if = "Vec::is_empty")]
    pub egress_paths: Vec<EgressResult>,
    /// Disturbances of the measuring thread of a latency run by this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<HostNoise>,
    /// Round trips idle and under load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded: Option<LoadResult>,
    /// Which packet sizes the path carries, in each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathResult>,
    /// The hops of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<Box<HopsResult>>,
    /// The results of a capture of packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Box<PacketResult>>,
    /// The first hop, and the far host over each family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<Box<Reach>>,
    /// The hypotheses about an unexpected result, and the answers of their probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Box<Explanation>>,
    /// Transfers of files, and the table of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferResult>,
    /// A sweep over frame sizes, a row for each size and transport.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<crate::frames::FrameRow>,
    /// Several pairs of client and server at once, as one measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Box<crate::pairs::Pairs>>,
    /// Receiver-limited directions (TCP) repeated without the copy to the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_copy: Vec<WithoutCopy>,
    /// Hosts between the ends that were observed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedHost>,
    /// The limits of a direction, from decision phases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_probing: Vec<LoadProbing>,
    /// Why the test ended; absent while it runs.
    pub outcome: Option<Outcome>,
    /// Measurements of this end.
    pub local: Option<SideResult>,
    /// Measurements of the other end.
    pub peer: Option<SideResult>,
    /// Warnings, in order.
    pub warnings: Vec<Warning>,
    #[serde(skip)]
    facts: Facts,
}

/// One direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// TCP or UDP.
    pub transport: Transport,
    /// Handed to the sender's kernel in the counted time.
    pub sent: Amount,
    /// Received in the counted time.
    pub received: Amount,
    /// Counted time at the receiver, seconds.
    #[serde(rename = "seconds", with = "seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub elapsed: Nanos,
    /// Payload received per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// True when the receiver's figures are missing and the sender's acknowledged bytes stand for them.
    pub receiver_unknown: bool,
    /// The same rate on the wire: frames, preamble and gap included.
    #[serde(flatten)]
    pub wire: WireRate,
    /// Loss, by place (UDP).
    pub loss: Option<Loss>,
    /// Datagrams that arrived after a later one (UDP); absent: not known, as are the next two.
    pub reordered: Option<u64>,
    /// Datagrams that arrived again (UDP).
    pub duplicates: Option<u64>,
    /// Datagrams too late for distinguishing new from duplicate (UDP).
    pub late: Option<u64>,
    /// RFC 3550 jitter, mean over the streams, and the distribution (UDP).
    #[serde(rename = "jitter_ns")]
    pub jitter: Option<Jitter>,
    /// One-way delay; absent when the clock error is larger than the value.
    pub one_way: Option<OneWayDelay>,
    /// Retransmitted segments (TCP).
    pub retransmits: Option<u64>,
    /// Those of them that the receiver had already (TCP, DSACK); absent where the sender's kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spurious_retransmits: Option<u64>,
    /// Packets that arrived with ECN's mark of congestion (CE), as the receiver counts them; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_marks: Option<u64>,
    /// Segments with payload and their mean size (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Segments>,
    /// Payload of one packet on the wire: the TCP segment or UDP datagram.
    pub mss: Option<u32>,
    /// Smoothed RTT under this load, mean over streams (TCP).
    #[serde(rename = "loaded_rtt_ns")]
    pub loaded_rtt: Option<Nanos>,
    /// Congestion control that ran at the sender (TCP).
    pub congestion: Option<String>,
    /// The limit that set the rate, and its place; of UDP, where datagrams were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<Limit>>,
    /// Each stream.
    pub streams: Vec<StreamSummary>,
    /// CPU at both ends.
    pub cpu: CpuPair,
}

impl DirectionSummary {
    /// False where datagrams were sent and how many of them arrived is not known: then `received` and `goodput` have no meaning.
    #[must_use]
    pub fn is_arrived_known(&self) -> bool {
        !(self.receiver_unknown && self.transport == Transport::Udp)
    }
}

/// Bytes and datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Amount {
    /// Payload bytes.
    pub bytes: Bytes,
    /// Datagrams (UDP) or 0.
    pub datagrams: u64,
}

/// Where datagrams were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// Between the two hosts (or in their kernels below the sockets).
    pub path: u64,
    /// In the receiving socket: its buffer was full.
    pub receiver: u64,
    /// At the sender: the kernel took the datagram and had no room for it.
    pub sender: u64,
    /// Lost in all, as a share of those sent, 0 to 1.
    pub share: f64,
}

/// Jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jitter {
    /// RFC 3550's running estimate at the end.
    pub rfc3550: Nanos,
    /// Distribution of the differences of successive transit times.
    pub distribution: Option<Distribution>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamSummary {
    /// Stream number.
    pub stream: u32,
    /// Payload bytes received.
    pub bytes: Bytes,
    /// Payload received per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// Retransmitted segments (TCP).
    pub retransmits: Option<u64>,
    /// Datagrams lost (UDP).
    pub lost: Option<u64>,
}

/// CPU at the two ends of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuPair {
    /// The end that sent.
    pub sender: Option<CpuUse>,
    /// The end that received.
    pub receiver: Option<CpuUse>,
}

/// Speed of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Bits per second.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// Where the figure comes from.
    pub source: String,
}

/// Offset of the peer's clock, see [`Probe::ClockOffset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// Peer minus local, nanoseconds.
    pub offset_ns: i64,
    /// Bound of the error.
    #[serde(rename = "error_ns")]
    pub error: Nanos,
    /// Exchanges it rests on.
    pub exchanges: u32,
}

/// State of the fold that the summary itself does not contain.
#[derive(Clone, Debug, Default, PartialEq)]
struct Facts {
    /// The figures of the directions are to be computed anew.
    is_stale: bool,
    plan: Option<Plan>,
    streams: Vec<StreamInfo>,
    transfers: Option<TransferPlan>,
}

impl Summary {
    /// The summary of these events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Summary {
        let mut summary = Summary::default();
        events.into_iter().for_each(|event| summary.take(event));
        summary.refresh();
        summary
    }

    /// Time of the longer direction.
    pub fn elapsed(&self) -> Nanos {
        let directions = [self.up.as_ref(), self.down.as_ref()].into_iter().flatten();
        directions.map(|direction| direction.elapsed).max().unwrap_or_default()
    }

    /// Takes one more event.
    pub fn fold(&mut self, event: &Event) {
        self.take(event);
        self.refresh();
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Connected(Connected { plan, .. }) => self.facts.plan = Some(plan.clone()),
            Event::Started(started) => self.facts.streams.clone_from(&started.streams),
            Event::FrameRow(row) => self.rows.push((**row).clone()),
            Event::Warning(warning) => self.warnings.push(warning.clone()),
            Event::Result(result) => self.fold_result(result),
            Event::Probe(probe) => self.fold_probe(probe),
            Event::Hops(hops) => self.hops = Some(hops.clone()),
            Event::Path(path) => {
                self.path.get_or_insert_default().merge(path);
                self.facts.is_stale = true;
            }
            Event::Observed(host) => self.observed.push((**host).clone()),
            Event::LoadProbing(found) => self.load_probing.push((**found).clone()),
            Event::Packets(packets) => self.fold_packets(packets),
            Event::Reach(reach) => self.reach.get_or_insert_default().merge(reach),
            Event::Explained(asked) => self.explanation.get_or_insert_default().merge(asked),
            Event::Floor(floor) => self.tool_floor = Some(floor.rtt),
            Event::Latency(result) => self.fold_latency(result),
            Event::Load(load) => self.loaded = Some((**load).clone()),
            Event::TransferStarted(begun) => self.facts.transfers = Some(begun.plan.clone()),
            Event::Transfer(transfer) => self.transfer.get_or_insert_default().take(transfer),
            Event::Finished(Finished { outcome, .. }) => self.finish(outcome),
            Event::Sample(_) | Event::LatencySample(_) | Event::HopsSample(_) => {}
            Event::LatencyStarted(_) | Event::PathStarted(_) | Event::HopsStarted(_) => {}
            Event::Progress(_) | Event::DeviceProgress(_) => {}
        }
    }

    /// The summary of one direction.
    pub fn direction(&self, direction: Direction) -> Option<&DirectionSummary> {
        direction.choose(self.up.as_ref(), self.down.as_ref())
    }

    /// Largest UDP payload that crosses unfragmented, one way.
    pub fn max_udp_payload(&self, direction: Direction) -> Option<u32> {
        let path = self.path.as_ref().and_then(|path| path.in_direction(direction));
        path.and_then(|one_way| one_way.max_udp_payload)
    }

    fn finish(&mut self, outcome: &Outcome) {
        self.outcome = Some(outcome.clone());
        if let (Some(transfers), Some(plan)) = (&mut self.transfer, self.facts.transfers.take()) {
            transfers.conclude(&plan, self.packets.as_deref());
        }
    }

    fn fold_result(&mut self, result: &EndResult) {
        match result.side {
            Side::Local => self.local = Some(result.result.clone()),
            Side::Peer => self.peer = Some(result.result.clone()),
        }
        self.facts.is_stale = true;
    }

    fn fold_packets(&mut self, packets: &PacketResult) {
        match &mut self.packets {
            Some(known) => known.merge(packets),
            None => self.packets = Some(Box::new(packets.clone())),
        }
    }

    fn fold_latency(&mut self, result: &LatencyResult) {
        self.noise = Some(result.noise);
        self.tool_floor = self.tool_floor.or(result.floor.as_ref().map(|floor| floor.rtt));
        self.egress_paths.clone_from(&result.egress_paths);
        if let [egress] = result.egress_paths.as_slice() {
            self.rtt = egress.rtt;
            self.one_way_delays.clone_from(&egress.one_way);
            let counted = egress.counted;
            (self.lost, self.late) = (counted.lost, counted.late);
            (self.duplicates, self.reordered) = (counted.duplicates, counted.reordered);
        }
        self.withhold_floor();
    }

    /// No round trip is shorter than the tool's own: a floor above the usual one was taken while this host was busier.
    fn withhold_floor(&mut self) {
        let Some(floor) = self.tool_floor else { return };
        if self.egress_paths.iter().filter_map(|direction| direction.rtt).any(|rtt| floor.min > rtt.p50) {
            self.tool_floor = None;
        }
    }

    fn fold_probe(&mut self, probe: &Probe) {
        match probe {
            Probe::IdleRtt { rtt, lost, .. } => {
                self.rtt = Some(*rtt);
                self.lost = *lost;
            }
            Probe::ClockOffset { offset_ns, error, exchanges } => {
                self.clock =
                    Some(ClockOffset { offset_ns: *offset_ns, error: *error, exchanges: *exchanges });
                self.facts.is_stale = true;
            }
            Probe::WithoutCopy(repeated) => self.without_copy.push(*repeated),
            Probe::Link { rate, source } => {
                self.link = Some(Link { rate: *rate, source: source.clone() });
                self.facts.is_stale = true;
            }
        }
    }

    /// Computes the figures of the directions where what they rest on has changed.
    fn refresh(&mut self) {
        if std::mem::take(&mut self.facts.is_stale) {
            self.recompute();
        }
    }

    fn recompute(&mut self) {
        let Some(plan) = self.facts.plan.take() else { return };
        for direction in plan.test.directions.each() {
            let value = self.summarize(&plan, direction);
            *direction.choose(&mut self.up, &mut self.down) = value;
        }
        self.facts.plan = Some(plan);
    }

    fn summarize(&self, plan: &Plan, direction: Direction) -> Option<DirectionSummary> {
        let sender = Rows::at_end(self.end(direction, Role::Sender), direction, Role::Sender);
        let receiver = Rows::at_end(self.end(direction, Role::Receiver), direction, Role::Receiver);
        if sender.rows.is_empty() && receiver.rows.is_empty() {
            return None;
        }
        let known = !receiver.rows.is_empty();
        let counted = if known { &receiver } else { &sender };
        let elapsed = counted.elapsed(known.then_some(&sender));
        let received = if known { receiver.amount() } else { sender.acknowledged() };
        // When a link was cut, the rate is that until then: a mean over the dead time would describe neither.
        let alive = receiver.until_cut().map_or(elapsed, |until| until.min(elapsed));
        let goodput = BitRate::from_bytes(received.bytes, alive);
        let payload = packet_payload(plan, &sender, &receiver);
        Some(DirectionSummary {
            transport: plan.test.transport,
            sent: sender.amount(),
            received,
            elapsed,
            goodput,
            receiver_unknown: !known,
            wire: self.wire_rate(plan, direction, &sender, goodput, payload),
            loss: sender.loss(&receiver),
            reordered: receiver.udp_known(|u| u.reordered),
            duplicates: receiver.udp_known(|u| u.duplicates),
            late: receiver.udp_known(|u| u.late),
            jitter: receiver.jitter(),
            one_way: self.one_way(direction, &receiver),
            retransmits: sender.tcp_sum(|t| t.retransmits),
            spurious_retransmits: sender.known_sum(|row| row.tcp.as_ref()?.spurious_retransmits),
            ecn_marks: receiver.known_sum(|row| match (&row.tcp, &row.udp) {
                (Some(tcp), _) => tcp.ecn_marks,
                (None, udp) => udp.as_ref()?.ecn_marks,
            }),
            segments: Segments::from_rows(&sender, &receiver),
            mss: payload,
            loaded_rtt: sender.mean_rtt(),
            congestion: self.end(direction, Role::Sender).and_then(|e| e.datapath.congestion.clone()),
            limit: None,
            streams: counted.streams(&sender, &receiver),
            cpu: CpuPair {
                sender: self.end(direction, Role::Sender).map(|e| e.cpu.clone()),
                receiver: self.end(direction, Role::Receiver).map(|e| e.cpu.clone()),
            },
        })
    }

    /// The end that plays a role in a direction: this end is the client.
    fn end(&self, direction: Direction, role: Role) -> Option<&SideResult> {
        match (direction, role) {
            (Direction::Up, Role::Sender) | (Direction::Down, Role::Receiver) => self.local.as_ref(),
            _ => self.peer.as_ref(),
        }
    }

    fn wire_rate(
        &self,
        plan: &Plan,
        direction: Direction,
        sender: &Rows,
        goodput: BitRate,
        payload: Option<u32>,
    ) -> WireRate {
        let timestamps = sender.rows.iter().filter_map(|r| r.tcp.as_ref()).any(|t| t.timestamps);
        let link = self.link.as_ref().map(|l| l.rate);
        let path_payload = match plan.test.transport {
            Transport::Tcp => None,
            Transport::Udp => self.path_udp_payload(plan, direction),
        };
        let cut_above = path_payload.map(|known| self.cut_above(plan, direction).unwrap_or(known));
        WireRate::from_flow(plan, goodput, payload, timestamps, (path_payload, cut_above), link)
    }

    /// The largest UDP payload that the sender's kernel does not cut, where that is more than the path carries: no router reports that
    /// larger packets vanish.
    fn cut_above(&self, plan: &Plan, direction: Direction) -> Option<u32> {
        let path = self.path.as_ref()?.in_direction(direction)?;
        path.black_hole.as_ref()?;
        path.cached_mtu.or(path.interface_mtu)?.checked_sub(udp_overhead(plan))
    }

    /// The largest UDP payload of the path that is known: probed, or from the interface's MTU.
    fn path_udp_payload(&self, plan: &Plan, direction: Direction) -> Option<u32> {
        self.max_udp_payload(direction).or_else(|| {
            let mtu = self.facts.streams.iter().filter_map(|s| s.path_mtu).min()?;
            mtu.checked_sub(udp_overhead(plan))
        })
    }

    fn one_way(&self, direction: Direction, receiver: &Rows) -> Option<OneWayDelay> {
        let clock = self.clock?;
        let transits: Vec<_> =
            receiver.rows.iter().filter_map(|r| r.udp.as_ref()).filter_map(|u| u.transit).collect();
        let min = transits.iter().map(|t| t.min_ns).min()?;
        let max = transits.iter().map(|t| t.max_ns).max()?;
        let mean = i64::try_from(
            transits.iter().map(|t| i128::from(t.mean_ns)).sum::<i128>() / transits.len() as i128,
        )
        .ok()?;
        // Transit is receiver's clock minus sender's; the offset is peer minus local.
        let correction = direction.choose(clock.offset_ns, clock.offset_ns.saturating_neg());
        let true_ns = |ns: i64| u64::try_from(ns.saturating_sub(correction)).ok().map(Nanos);
        let delay =
            OneWayDelay { min: true_ns(min)?, mean: true_ns(mean)?, max: true_ns(max)?, error: clock.error };
        (clock.error < delay.min).then_some(delay)
    }
}

/// Bytes of the headers of IP and UDP.
fn udp_overhead(plan: &Plan) -> u32 {
    crate::path::headers(!plan.target.address.is_ipv4())
}

/// The rows of one end that matter for one direction.
struct Rows<'a> {
    rows: Vec<&'a StreamResult>,
}

impl<'a> Rows<'a> {
    fn at_end(end: Option<&'a SideResult>, direction: Direction, role: Role) -> Rows<'a> {
        let wanted = |r: &&StreamResult| r.direction == direction && r.role == role;
        Rows { rows: end.map(|e| e.streams.iter().filter(wanted).collect()).unwrap_or_default() }
    }

    fn amount(&self) -> Amount {
        Amount { bytes: self.rows.iter().map(|r| r.bytes).sum(), datagrams: self.udp(|u| u.datagrams) }
    }

    fn acknowledged(&self) -> Amount {
        let bytes = |r: &&StreamResult| r.tcp.as_ref().map_or(Bytes(0), |t| t.acknowledged);
        Amount { bytes: self.rows.iter().map(bytes).sum(), datagrams: 0 }
    }

    /// The longest counted time of these rows; a receiver's is at least as long as its sender sent.
    fn elapsed(&self, sender: Option<&Rows<'_>>) -> Nanos {
        let longest = |rows: &Rows<'_>| rows.rows.iter().map(|r| r.elapsed).max().unwrap_or_default();
        longest(self).max(sender.map(longest).unwrap_or_default())
    }

    /// When the last of these received anything, where all of them were silent from then on to the end.
    fn until_cut(&self) -> Option<Nanos> {
        let silence = |row: &&StreamResult| match (&row.tcp, &row.udp) {
            (Some(tcp), _) => tcp.silence,
            (None, udp) => udp.as_ref()?.silence,
        };
        let lasting = |one: &Silence| !one.ended && one.length >= LASTING && one.at > Nanos::ZERO;
        let all = self.rows.iter().map(|row| silence(row).filter(lasting).map(|one| one.at));
        all.collect::<Option<Vec<Nanos>>>()?.into_iter().max()
    }

    fn udp(&self, field: impl Fn(&UdpCounters) -> u64) -> u64 {
        self.rows.iter().filter_map(|r| r.udp.as_ref()).map(field).fold(0, u64::saturating_add)
    }

    /// The same; absent where none of these rows counted.
    fn udp_known(&self, field: impl Fn(&UdpCounters) -> u64) -> Option<u64> {
        self.rows.iter().any(|row| row.udp.is_some()).then(|| self.udp(field))
    }

    fn tcp_sum(&self, field: impl Fn(&TcpCounters) -> u64) -> Option<u64> {
        let values: Vec<u64> = self.rows.iter().filter_map(|r| r.tcp.as_ref()).map(field).collect();
        (!values.is_empty()).then(|| values.into_iter().fold(0, u64::saturating_add))
    }

    /// Sum over all streams, where each of them has the count.
    fn known_sum(&self, field: impl Fn(&StreamResult) -> Option<u64>) -> Option<u64> {
        let counts = self.rows.iter().map(|row| field(row));
        let sum = counts.reduce(|sum, count| Some(sum?.saturating_add(count?)));
        sum.flatten()
    }

    fn mean_rtt(&self) -> Option<Nanos> {
        let values: Vec<u64> =
            self.rows.iter().filter_map(|r| r.tcp.as_ref()).map(|t| t.mean_rtt.0).collect();
        let sum: u128 = values.iter().map(|rtt| u128::from(*rtt)).sum();
        // A mean of u64 values is one.
        (sum > 0).then(|| Nanos((sum / values.len() as u128) as u64))
    }

    fn loss(&self, receiver: &Rows<'_>) -> Option<Loss> {
        if receiver.rows.is_empty() || receiver.rows.iter().all(|r| r.udp.is_none()) {
            return None;
        }
        // A receiver knows gaps between what came; of what never began to come it knows nothing.
        let nothing = receiver.udp(|u| u.datagrams) == 0;
        let sent = if nothing { self.udp(|u| u.datagrams) } else { 0 };
        let lost = receiver.udp(|u| u.lost).max(sent);
        if nothing && lost == 0 {
            return None;
        }
        let in_socket = receiver.udp(|u| u.socket_drops).min(lost);
        let at_sender = self.udp(|u| u.send_drops).min(lost - in_socket);
        let sent = self.udp(|u| u.datagrams).max(lost.saturating_add(receiver.udp(|u| u.datagrams)));
        let share = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
        Some(Loss { path: lost - in_socket - at_sender, receiver: in_socket, sender: at_sender, share })
    }

    fn jitter(&self) -> Option<Jitter> {
        let all: Vec<&UdpCounters> = self.rows.iter().filter_map(|r| r.udp.as_ref()).collect();
        // A difference of transit times takes two datagrams.
        let count = Some(all.len() as u128).filter(|_| self.udp(|u| u.datagrams) > 1)?;
        let rfc3550 = Nanos((all.iter().map(|u| u128::from(u.jitter.0)).sum::<u128>() / count) as u64);
        // Percentiles of several streams cannot be merged from percentiles: the worst stream speaks for all.
        let distribution = all.iter().filter_map(|u| u.jitter_distribution).max_by_key(|p| p.p99);
        Some(Jitter { rfc3550, distribution })
    }

    fn streams(&self, sender: &Rows<'_>, receiver: &Rows<'_>) -> Vec<StreamSummary> {
        let stream_summary = |row: &&StreamResult| {
            let sent = sender.rows.iter().find(|r| r.stream == row.stream);
            let received = receiver.rows.iter().find(|r| r.stream == row.stream);
            StreamSummary {
                stream: row.stream,
                bytes: row.bytes,
                goodput: BitRate::from_bytes(row.bytes, row.elapsed),
                retransmits: sent.and_then(|r| r.tcp.as_ref()).map(|t| t.retransmits),
                lost: received.and_then(|r| r.udp.as_ref()).map(|u| u.lost),
            }
        };
        self.rows.iter().map(stream_summary).collect()
    }
}

/// Data that does not come again for so long was cut off.
const LASTING: Nanos = Nanos::from_secs(1);

/// Payload of one packet on the wire.
fn packet_payload(plan: &Plan, sender: &Rows<'_>, receiver: &Rows<'_>) -> Option<u32> {
    match plan.test.transport {
        Transport::Udp => plan.test.length,
        Transport::Tcp => {
            let sent = sender.rows.iter().filter_map(|r| r.tcp.as_ref()).map(|t| t.send_mss).max();
            let observed = receiver.rows.iter().filter_map(|r| r.tcp.as_ref()).map(|t| t.receive_mss).max();
            sent.or(observed).filter(|m| *m > 0)
        }
    }
}

mod seconds {
    use crate::units::Nanos;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.0 as f64 / 1e9)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Ok(Nanos((seconds.max(0.0) * 1e9).round() as u64))
    }
}
