//! A sweep over Ethernet frame sizes: what the path carried in frames of each, against line rate.

use crate::finding::LINE_RATE;
use crate::framing::{
    Encaps, Framing, LINUX_MIN_MSS, MIN_FRAME, Network, Room, TcpReach, TcpSegment, Transport as Header,
};
use crate::plan::{Direction, Plan, Transport};
use crate::run::Run;
use crate::sample::CpuUse;
use crate::summary::DirectionSummary;
use crate::units::{BitRate, Bytes, Nanos, PacketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frame sizes of a sweep that names none: RFC 2544's, and 146, the least that Linux TCP fills.
pub const DEFAULT_SIZES: [Bytes; 8] =
    [Bytes(64), Bytes(128), Bytes(146), Bytes(256), Bytes(512), Bytes(1024), Bytes(1280), Bytes(1518)];

/// One frame size with one transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameRow {
    /// Ethernet frame asked for, FCS included, before encapsulation, bytes.
    pub frame: u32,
    /// What the frames carried.
    pub protocol: Transport,
    /// Way of the data.
    pub direction: Direction,
    /// MSS asked of TCP: the frame without its headers, before options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// Payload of one packet as it crossed the wire, mean, bytes; absent when nothing was measured.
    pub payload: Option<f64>,
    /// Packets per second that the sender handed to its kernel, those sent again included.
    pub offered: Option<PacketRate>,
    /// Payload received per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// Packets per second that carried it: goodput over payload.
    pub packets_per_second: Option<PacketRate>,
    /// Frames of the size asked for per second at line rate, under the encapsulation; absent without a link's speed.
    pub line_rate_pps: Option<PacketRate>,
    /// Share of the link that the packets filled on the wire, preamble and gap included, 0 to 1.
    pub share: Option<f64>,
    /// Packets lost, as a share of those sent (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_share: Option<f64>,
    /// What carried the packets, from the wire inwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encap: Option<String>,
    /// Sessions at once.
    pub pairs: u64,
    /// The busiest CPU of the sender's host, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu: Option<f64>,
    /// The busiest CPU of the receiver's host, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// What set the rate: ids of findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limited_by: Vec<String>,
    /// What the interface toward the target counted meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceFrames>,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What a reader must know to judge the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Frames that an interface counted while the test ran, beside the test's own packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFrames {
    /// The interface of this host.
    pub interface: String,
    /// Frames in the direction of the data, everybody's.
    pub frames: u64,
    /// Packets of the test: datagrams, or TCP segments with payload.
    pub packets: u64,
}

impl DeviceFrames {
    /// By how much the two differ, as a share of the packets: above 0 the interface counted more.
    #[must_use]
    pub fn difference(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.frames as f64 / self.packets as f64 - 1.0 }
    }

    /// Told when they differ by more than 2 %. `offload`: UDP could be sent in super-packets.
    fn note(&self, protocol: Transport, offload: bool) -> Option<String> {
        let interface = &self.interface;
        let why = match (protocol, self.difference()) {
            (_, more) if more > DIFFERENCE => {
                "more frames than the test had packets: others use it, or packets went \
                                               in fragments"
                    .into()
            }
            (_, fewer) if fewer >= -DIFFERENCE => return None,
            (Transport::Udp, _) if offload => {
                "fewer frames than the test had packets: super-packets (GSO, GRO) \
                                               passed it; --no-offload sends each datagram as a frame"
                    .into()
            }
            (Transport::Udp, _) => {
                "fewer frames than the test had packets: some were dropped before it".into()
            }
            (Transport::Tcp, _) => format!(
                "fewer frames than the test had packets: super-packets (TSO, GSO, GRO) passed it, which is the \
                 interface's choice: `ethtool -K {interface} tso off gso off gro off` at both ends ends it"
            ),
        };
        Some(format!("{interface} counted {why}"))
    }
}

/// What one row is asked to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameAsked {
    /// The frame, FCS included, before encapsulation, bytes.
    pub frame: Bytes,
    /// The IP version.
    pub network: Network,
    /// What the frames carry.
    pub protocol: Transport,
    /// Way of the data.
    pub direction: Direction,
    /// What carries the packets.
    pub encaps: Encaps,
}

/// What to set for such frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// TCP's MSS.
    Mss(u32),
    /// UDP's payload.
    Payload(u32),
}

impl FrameAsked {
    /// What to set, or why there are no such frames. `mtu`: what this host believes the path carries.
    ///
    /// # Errors
    /// In words: the frame is below Ethernet's least, over the MTU, or nothing of this transport fits it.
    pub fn setting(&self, mtu: u32) -> Result<Setting, String> {
        if self.frame < MIN_FRAME {
            return Err(format!("Ethernet's least frame has {} bytes, its FCS included", MIN_FRAME.0));
        }
        let packet = self.frame.saturating_sub(Bytes(ETHERNET));
        if packet.0 > mtu.into() {
            return Err(format!(
                "the path's MTU is {mtu}: frames of {} bytes at most, {} are not sent whole",
                u64::from(mtu) + ETHERNET,
                self.frame.0
            ));
        }
        match self.protocol {
            Transport::Tcp => self.mss(),
            Transport::Udp => self.payload(),
        }
    }

    fn mss(&self) -> Result<Setting, String> {
        let segment = TcpSegment::of_frame(self.network, self.frame).map_err(|error| error.to_string())?;
        let least = LINUX_MIN_MSS.0;
        match (segment.reach, segment.mss) {
            (TcpReach::Reachable, Room::Fits(Bytes(mss @ ..=LARGEST_MSS))) => Ok(Setting::Mss(mss as u32)),
            (TcpReach::Reachable, _) => {
                Err(format!("it cannot: Linux takes an MSS of {LARGEST_MSS} at most"))
            }
            (TcpReach::BelowLinuxMinimum, mss) => Err(format!(
                "it cannot: the MSS would be {mss}, and Linux takes {least} at least, frames of {}; UDP can",
                least + self.overhead(Header::TCP)
            )),
            _ => Err("it cannot: its headers alone fill the frame; UDP can".into()),
        }
    }

    fn payload(&self) -> Result<Setting, String> {
        let headers = self.overhead(Header::Udp);
        let payload = self.frame.0.saturating_sub(headers);
        match u32::try_from(payload) {
            Ok(payload @ LEAST_DATAGRAM..=LARGEST_DATAGRAM) => Ok(Setting::Payload(payload)),
            Ok(payload) if payload > LARGEST_DATAGRAM => {
                Err(format!("a datagram holds {LARGEST_DATAGRAM} bytes at most"))
            }
            _ => Err(format!(
                "a datagram holds {LEAST_DATAGRAM} bytes of ours, which takes frames of {} with {}",
                headers + u64::from(LEAST_DATAGRAM),
                self.network
            )),
        }
    }

    /// Bytes of a frame that are not payload.
    fn overhead(&self, header: Header) -> u64 {
        ETHERNET + self.network.header() + header.header().0
    }

    /// Frames of this size per second at line rate.
    fn line_rate(&self, link: BitRate) -> Option<PacketRate> {
        let layout = self.framing(Header::Raw).of_frame(self.frame).ok()?;
        Some(PacketRate(layout.at_line_rate(link).packets_per_second.rounded()))
    }

    /// Bytes on the wire of a packet with so much payload.
    fn wire(&self, payload: f64, timestamps: bool) -> Option<u64> {
        let header = match self.protocol {
            Transport::Tcp => Header::Tcp { timestamps, options: 0 },
            Transport::Udp => Header::Udp,
        };
        Some(self.framing(header).of_payload(Bytes(payload.round() as u64)).ok()?.wire.0)
    }

    fn framing(&self, transport: Header) -> Framing {
        Framing { network: self.network, transport, encaps: self.encaps.clone(), link_mtu: None }
    }

    /// A row without figures.
    #[must_use]
    pub fn row(&self) -> FrameRow {
        let encap = self.encaps.to_string();
        FrameRow {
            frame: u32::try_from(self.frame.0).unwrap_or(u32::MAX),
            protocol: self.protocol,
            direction: self.direction,
            mss: None,
            payload: None,
            offered: None,
            goodput: BitRate(0),
            packets_per_second: None,
            line_rate_pps: None,
            share: None,
            loss_share: None,
            encap: (self.encaps != Encaps::NONE).then_some(encap),
            pairs: 1,
            sender_cpu: None,
            receiver_cpu: None,
            limited_by: Vec::new(),
            device: None,
            skipped: None,
            notes: Vec::new(),
        }
    }

    /// The row of a test, or of pairs, that sent such frames. `device`: the interface, and the frames it counted.
    #[must_use]
    pub fn measured(&self, run: &Run, link: Option<BitRate>, device: Option<(String, u64)>) -> FrameRow {
        let ways = ways(run, self.direction);
        let plan = run.plan.as_ref().or_else(|| run.tests.iter().find_map(|test| test.plan.as_ref()));
        let goodput = goodput(run, self.direction, &ways);
        let payload = mean_payload(&ways);
        let per_second = payload.map(|payload| goodput.0 as f64 / (8.0 * payload));
        let timestamps = timestamps(run);
        let wire = payload.and_then(|payload| self.wire(payload, timestamps));
        let filled = per_second.zip(wire).map(|(rate, wire)| rate * wire as f64 * 8.0);
        let share = filled.zip(link).map(|(filled, link)| filled / link.0.max(1) as f64);
        let cpu = |of: fn(&DirectionSummary) -> Option<&CpuUse>| {
            ways.iter().filter_map(|way| of(way)).map(|cpu| cpu.busiest_cpu).reduce(f64::max)
        };
        let mut row = FrameRow {
            mss: plan.and_then(|plan| plan.test.mss),
            payload,
            offered: offered(&ways),
            goodput,
            packets_per_second: per_second.map(|rate| PacketRate(rate.round() as u64)),
            line_rate_pps: link.and_then(|link| self.line_rate(link)),
            share,
            loss_share: lost(&ways),
            pairs: run.tests.len().max(1) as u64,
            sender_cpu: cpu(|way| way.cpu.sender.as_ref()),
            receiver_cpu: cpu(|way| way.cpu.receiver.as_ref()),
            limited_by: limits(run, self.direction, share),
            device: device.map(|(interface, frames)| DeviceFrames {
                interface,
                frames,
                packets: packets(&ways),
            }),
            ..self.row()
        };
        let offload = plan.is_none_or(|plan| plan.test.offload);
        row.notes.extend(row.device.as_ref().and_then(|device| device.note(self.protocol, offload)));
        row.notes.extend(self.other_payload(payload, plan, timestamps));
        row.notes.extend(run.summary.pairs.iter().filter_map(|pairs| pairs.stopped.clone()));
        row
    }

    /// Told when the packets were not as large as asked for.
    fn other_payload(&self, payload: Option<f64>, plan: Option<&Plan>, timestamps: bool) -> Option<String> {
        let test = &plan?.test;
        let wanted = match self.protocol {
            Transport::Tcp => test.mss?.saturating_sub(if timestamps { 12 } else { 0 }),
            Transport::Udp => test.length,
        };
        let seen = payload.filter(|seen| (seen / f64::from(wanted) - 1.0).abs() > DIFFERENCE)?;
        Some(format!("packets carried {seen:.0} bytes and not the {wanted} that fill such frames"))
    }
}

/// The direction's figures: of the test itself, or of each pair.
fn ways(run: &Run, direction: Direction) -> Vec<&DirectionSummary> {
    let alone = run.summary.direction(direction);
    alone.into_iter().chain(run.tests.iter().filter_map(|test| test.summary.direction(direction))).collect()
}

/// Of pairs the sum over the time in which all ran.
fn goodput(run: &Run, direction: Direction, ways: &[&DirectionSummary]) -> BitRate {
    let together = run.summary.pairs.as_ref().and_then(|pairs| pairs.together.as_ref());
    let sum = together.and_then(|sum| if direction == Direction::Up { sum.up } else { sum.down });
    sum.map_or_else(|| BitRate(ways.iter().map(|way| way.goodput.0).sum()), |sum| sum.goodput)
}

/// Payload of one packet: TCP's from the kernel's counters, else the largest segment, UDP's as sent.
fn mean_payload(ways: &[&DirectionSummary]) -> Option<f64> {
    let one = |way: &&DirectionSummary| {
        let counted = way.segments.and_then(|segments| segments.mean_payload);
        let payload = counted.or(way.mss.map(f64::from)).filter(|payload| *payload > 0.0)?;
        (way.goodput.0 > 0).then_some((way.goodput.0 as f64, payload))
    };
    let known: Vec<(f64, f64)> = ways.iter().filter_map(one).collect();
    let (_, first) = *known.first()?;
    if known.iter().all(|(_, payload)| *payload == first) {
        return Some(first);
    }
    let bits: f64 = known.iter().map(|(bits, _)| bits).sum();
    Some(bits / known.iter().map(|(bits, payload)| bits / payload).sum::<f64>())
}

fn timestamps(run: &Run) -> bool {
    let runs = std::iter::once(run).chain(&run.tests);
    let ends = runs.flat_map(|run| [run.summary.local.as_ref(), run.summary.peer.as_ref()]).flatten();
    ends.flat_map(|end| &end.streams).filter_map(|stream| stream.tcp.as_ref()).any(|tcp| tcp.timestamps)
}

/// Packets of the test that the interface should have counted.
fn packets(ways: &[&DirectionSummary]) -> u64 {
    let one = |way: &&DirectionSummary| match way.transport {
        Transport::Tcp => way.segments.and_then(|segments| segments.sent.or(segments.received)).unwrap_or(0),
        Transport::Udp => way.sent.datagrams.saturating_sub(way.loss.map_or(0, |loss| loss.sender)),
    };
    ways.iter().map(one).sum()
}

fn offered(ways: &[&DirectionSummary]) -> Option<PacketRate> {
    let longest = ways.iter().map(|way| way.elapsed).max().filter(|time| *time > Nanos::ZERO)?;
    let sent = |way: &&DirectionSummary| match way.transport {
        Transport::Tcp => way.segments.and_then(|segments| segments.sent).unwrap_or(0),
        Transport::Udp => way.sent.datagrams,
    };
    let count: u64 = ways.iter().map(sent).sum();
    (count > 0).then(|| PacketRate::from_count(count, longest))
}

fn lost(ways: &[&DirectionSummary]) -> Option<f64> {
    let losses: Vec<f64> = ways.iter().filter_map(|way| way.loss).map(|loss| loss.share).collect();
    (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64)
}

/// What set the rate. At line rate under the encapsulation nothing else did.
fn limits(run: &Run, direction: Direction, share: Option<f64>) -> Vec<String> {
    if share.is_some_and(|share| share >= LINE_RATE) {
        return vec![LIMITS[0].into()];
    }
    let here = |id: &&&str| {
        run.findings
            .iter()
            .any(|found| found.id == **id && found.direction.is_none_or(|way| way == direction))
    };
    LIMITS.iter().skip(1).filter(here).map(|id| (*id).to_owned()).collect()
}

/// Ids of findings that say what set the rate, most telling first.
const LIMITS: [&str; 6] = [
    "at-line-rate",
    "receiver-limited",
    "receiver-buffer-loss",
    "sender-limited",
    "window-limited",
    "path-loss",
];
/// Addresses, type and FCS.
const ETHERNET: u64 = 18;
/// The header of our datagrams.
const LEAST_DATAGRAM: u32 = 16;
/// What IPv4 leaves of 65,535 bytes.
const LARGEST_DATAGRAM: u32 = 65_507;
/// `TCP_MAXSEG` of Linux (`MAX_TCP_WINDOW` in `include/net/tcp.h`).
const LARGEST_MSS: u64 = 32_767;
/// Counts and sizes may differ by so much before it is told.
const DIFFERENCE: f64 = 0.02;

#[cfg(test)]
mod tests;
