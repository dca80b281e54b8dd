//! One direction of a throughput run: its arithmetic on the wire and how fair its streams were to one another.

use super::{Subject, change};
use model::framing::{Network, TcpSegment, WIRE_OVERHEAD};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::Role;
use model::stats::spread::jain_fairness;
use model::summary::{Amount, DirectionSummary, Loss};
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use model::wire_rate::WireRate;
use serde::{Deserialize, Serialize};

/// One direction of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Name of the run.
    pub run: String,
    /// Direction of the data.
    pub direction: Direction,
    /// TCP or UDP.
    pub transport: Transport,
    /// The sent amount.
    pub sent: Amount,
    /// Payload per second at the sender; absent where its figures are missing.
    #[serde(rename = "sent_bps")]
    pub sent_rate: Option<BitRate>,
    /// The received amount.
    pub received: Amount,
    /// Payload per second at the receiver.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// True when the receiver's figures are missing and the sender's stand for them.
    pub receiver_unknown: bool,
    /// The same on the wire.
    #[serde(flatten)]
    pub wire: WireRate,
    /// Payload of one packet: the TCP segment or UDP datagram, bytes.
    #[serde(rename = "payload_bytes")]
    pub payload: Option<u32>,
    /// The segments that TCP makes of such frames.
    pub segment: Option<Segment>,
    /// The most that the link carries in such frames.
    pub line_rate: Option<LineRate>,
    /// Datagrams lost, by place (UDP).
    pub loss: Option<Loss>,
    /// RFC 3550 jitter at the end (UDP).
    #[serde(rename = "jitter_ns")]
    pub jitter: Option<Nanos>,
    /// Segments retransmitted (TCP).
    pub retransmits: Option<u64>,
    /// How its parallel streams shared it; absent of one stream.
    pub fairness: Option<Fairness>,
    /// Goodput against the first flow of the same transport and direction, percent; absent of that one.
    pub change_percent: Option<f64>,
}

/// The payload of a TCP segment that fills a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Segment {
    /// Without options: the MSS that the ends announce, bytes.
    #[serde(rename = "mss_bytes")]
    pub mss: u32,
    /// 12 bytes less with timestamps, which is what Linux sends.
    #[serde(rename = "with_timestamps_bytes")]
    pub with_timestamps: u32,
}

/// The capacity of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineRate {
    /// Speed of the link.
    #[serde(rename = "link_bps")]
    pub link: BitRate,
    /// Frames per second.
    pub packets_per_second: PacketRate,
    /// Payload per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
}

/// How parallel streams shared the path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fairness {
    /// How many streams.
    pub streams: u64,
    /// Jain's index: 1 when all are equal, 1/n when one has everything; absent when nothing was carried.
    pub jain: Option<f64>,
    /// The slowest stream.
    #[serde(rename = "least_bps")]
    pub least: BitRate,
    /// The fastest.
    #[serde(rename = "most_bps")]
    pub most: BitRate,
    /// The slowest as a share of the fastest.
    pub least_over_most: Option<f64>,
}

/// Every direction of every run.
pub(super) fn flows(subjects: &[Subject<'_>], link: Option<BitRate>) -> Vec<Flow> {
    let mut flows: Vec<Flow> = Vec::new();
    for subject in subjects {
        for direction in Direction::BOTH {
            let Some(summary) = subject.run.summary.direction(direction) else { continue };
            let mut flow = flow_of_subject(subject, direction, summary, link);
            let alike =
                |other: &&Flow| (other.transport, other.direction) == (flow.transport, flow.direction);
            let first = flows.iter().find(alike);
            flow.change_percent =
                first.and_then(|first| change(first.goodput.0 as f64, flow.goodput.0 as f64));
            flows.push(flow);
        }
    }
    flows
}

fn flow_of_subject(
    subject: &Subject<'_>,
    direction: Direction,
    summary: &DirectionSummary,
    link: Option<BitRate>,
) -> Flow {
    let run = subject.run;
    let link = run.summary.link.as_ref().map(|link| link.rate).or(link).filter(|link| link.0 > 0);
    let whole = summary.wire.frames_per_packet == Some(1);
    let frame = summary.wire.frame.filter(|_| whole);
    let line_rate =
        link.zip(frame).zip(summary.mss).map(|((link, frame), payload)| line_rate(link, frame, payload));
    let share = link.zip(summary.wire.rate).map(|(link, wire)| wire.0 as f64 / link.0 as f64);
    let tcp = summary.transport == Transport::Tcp;
    Flow {
        run: subject.name.into(),
        direction,
        transport: summary.transport,
        sent: summary.sent,
        sent_rate: sent_rate(run, direction, summary),
        received: summary.received,
        goodput: summary.goodput,
        receiver_unknown: summary.receiver_unknown,
        wire: WireRate { line_rate_share: summary.wire.line_rate_share.or(share), ..summary.wire },
        payload: summary.mss,
        segment: frame.filter(|_| tcp).and_then(|frame| segment(network(run), frame)),
        line_rate,
        loss: summary.loss,
        jitter: summary.jitter.map(|jitter| jitter.rfc3550),
        retransmits: summary.retransmits,
        fairness: fairness(summary),
        change_percent: None,
    }
}

/// Over the sender's own time: a receiver may wait on for late datagrams.
fn sent_rate(run: &Run, direction: Direction, summary: &DirectionSummary) -> Option<BitRate> {
    let end = if direction == Direction::Up { &run.summary.local } else { &run.summary.peer };
    let rows = end.iter().flat_map(|end| &end.streams);
    let own = rows.filter(|row| row.direction == direction && row.role == Role::Sender);
    let elapsed = own.map(|row| row.elapsed).max().filter(|elapsed| *elapsed > Nanos::ZERO)?;
    (summary.sent.bytes > Bytes::ZERO).then(|| BitRate::from_bytes(summary.sent.bytes, elapsed))
}

fn line_rate(link: BitRate, frame: u32, payload: u32) -> LineRate {
    let wire = u128::from(frame) + u128::from(WIRE_OVERHEAD.0);
    let bits = u128::from(link.0);
    let quotient =
        |value: u128, divisor: u128| u64::try_from((value + divisor / 2) / divisor).unwrap_or(u64::MAX);
    LineRate {
        link,
        packets_per_second: PacketRate(quotient(bits, 8 * wire)),
        goodput: BitRate(quotient(bits * u128::from(payload), wire)),
    }
}

fn segment(network: Network, frame: u32) -> Option<Segment> {
    let segment = TcpSegment::of_frame(network, Bytes(frame.into())).ok()?;
    let bytes = |room: model::framing::Room| u32::try_from(room.bytes()?.0).ok();
    Some(Segment { mss: bytes(segment.mss)?, with_timestamps: bytes(segment.mss_timestamps)? })
}

fn network(run: &Run) -> Network {
    let v6 = run.throughput().is_some_and(|plan| plan.target.address.ip().to_canonical().is_ipv6());
    if v6 { Network::V6 } else { Network::V4 }
}

fn fairness(summary: &DirectionSummary) -> Option<Fairness> {
    let rates = || summary.streams.iter().map(|stream| stream.goodput);
    let (least, most) = (rates().min()?, rates().max()?);
    (summary.streams.len() > 1).then(|| Fairness {
        streams: summary.streams.len() as u64,
        jain: jain_fairness(&rates().map(|rate| rate.0 as f64).collect::<Vec<_>>()),
        least,
        most,
        least_over_most: (most.0 > 0).then(|| least.0 as f64 / most.0 as f64),
    })
}
