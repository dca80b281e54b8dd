//! Rows of a sweep over Ethernet frame sizes: the figures of a run for frames of one size, against line rate.

use model::frames::{DeviceFrames, FrameAsked, FrameRow};
use model::framing::{Framing, Transport as Header};
use model::plan::{Direction, Plan, Transport};
use model::run::Run;
use model::sample::CpuUse;
use model::summary::DirectionSummary;
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use model::wire_rate::{IMPOSSIBLE_SHARE, LINE_RATE};

/// The row of a test, or of pairs, that sent such frames. `device`: the interface, and the frames it counted.
#[must_use]
pub fn measured(
    asked: &FrameAsked,
    run: &Run,
    link: Option<BitRate>,
    device: Option<(String, u64)>,
) -> FrameRow {
    let directions = direction_figures(run, asked.direction);
    let plan = run.first_throughput();
    let goodput = goodput(run, asked.direction, &directions);
    let payload = mean_payload(&directions);
    let per_second = payload.map(|payload| goodput.0 as f64 / (8.0 * payload));
    let timestamps = timestamps(run);
    let wire = payload.and_then(|payload| wire(asked, payload, timestamps));
    let filled = per_second.zip(wire).map(|(rate, wire)| rate * wire as f64 * 8.0);
    let share = filled.zip(link).map(|(filled, link)| filled / link.0.max(1) as f64);
    let cpu = |of: fn(&DirectionSummary) -> Option<&CpuUse>| {
        directions.iter().filter_map(|one_way| of(one_way)).map(|cpu| cpu.busiest_cpu).reduce(f64::max)
    };
    let mut row = FrameRow {
        mss: plan.and_then(|plan| plan.test.mss),
        payload,
        offered: offered(&directions),
        goodput,
        packets_per_second: per_second.map(|rate| PacketRate(rate.round() as u64)),
        line_rate_pps: link.and_then(|link| line_rate(asked, link)),
        share,
        loss_share: lost(&directions),
        pairs: run.tests.len().max(1) as u64,
        sender_cpu: cpu(|one_way| one_way.cpu.sender.as_ref()),
        receiver_cpu: cpu(|one_way| one_way.cpu.receiver.as_ref()),
        limited_by: limited_by(run, asked.direction, share),
        device: device.map(|(interface, frames)| DeviceFrames {
            interface,
            frames,
            packets: packets(&directions),
        }),
        ..asked.row()
    };
    let offload = plan.is_none_or(|plan| plan.test.offload);
    row.notes.extend(row.device.as_ref().and_then(|device| note(device, asked.protocol, offload)));
    row.notes.extend(other_payload(asked, payload, plan, timestamps));
    row.notes.extend(run.summary.pairs.iter().filter_map(|pairs| pairs.stopped.clone()));
    row
}

/// A note when the packets were not of the requested size.
fn other_payload(
    asked: &FrameAsked,
    payload: Option<f64>,
    plan: Option<&Plan>,
    timestamps: bool,
) -> Option<String> {
    let test = &plan?.test;
    let wanted = match asked.protocol {
        Transport::Tcp => test.mss?.saturating_sub(if timestamps { 12 } else { 0 }),
        Transport::Udp => test.length?,
    };
    let observed = payload.filter(|observed| (observed / f64::from(wanted) - 1.0).abs() > DIFFERENCE)?;
    Some(format!("packets carried {observed:.0} bytes and not the {wanted} that fill such frames"))
}

/// A note when the interface's count differs by more than 2 %. `offload`: UDP could be sent in super-packets.
fn note(device: &DeviceFrames, protocol: Transport, offload: bool) -> Option<String> {
    let interface = &device.interface;
    let why = match (protocol, device.difference()) {
        (_, more) if more > DIFFERENCE => {
            "more frames than the test had packets: others use it, or packets went \
                                           in fragments"
                .into()
        }
        (_, fewer) if fewer >= -DIFFERENCE => return None,
        (Transport::Udp, _) if offload => "fewer frames than the test had packets: super-packets (GSO, GRO) \
                                           passed it; --no-offload sends each datagram as a frame"
            .into(),
        (Transport::Udp, _) => "fewer frames than the test had packets: some were dropped before it".into(),
        (Transport::Tcp, _) => format!(
            "fewer frames than the test had packets: super-packets (TSO, GSO, GRO) passed it, which is the \
             interface's choice: `ethtool -K {interface} tso off gso off gro off` at both ends ends it"
        ),
    };
    Some(format!("{interface} counted {why}"))
}

/// Frames of this size per second at line rate.
fn line_rate(asked: &FrameAsked, link: BitRate) -> Option<PacketRate> {
    let layout = framing(asked, Header::Raw).of_frame(asked.frame).ok()?;
    Some(PacketRate(layout.at_line_rate(link).packets_per_second.rounded()))
}

/// Bytes on the wire of a packet with so much payload.
fn wire(asked: &FrameAsked, payload: f64, timestamps: bool) -> Option<u64> {
    let header = match asked.protocol {
        Transport::Tcp => Header::Tcp { timestamps, options: 0 },
        Transport::Udp => Header::Udp,
    };
    Some(framing(asked, header).of_payload(Bytes(payload.round() as u64)).ok()?.wire.0)
}

fn framing(asked: &FrameAsked, transport: Header) -> Framing {
    Framing { network: asked.network, transport, encaps: asked.encaps.clone(), link_mtu: None }
}

/// The direction's figures: of the test itself, or of each pair.
fn direction_figures(run: &Run, direction: Direction) -> Vec<&DirectionSummary> {
    let alone = run.summary.direction(direction);
    alone.into_iter().chain(run.tests.iter().filter_map(|test| test.summary.direction(direction))).collect()
}

/// The goodput; of pairs the sum over the time in which all ran.
fn goodput(run: &Run, direction: Direction, directions: &[&DirectionSummary]) -> BitRate {
    let together = run.summary.pairs.as_ref().and_then(|pairs| pairs.together.as_ref());
    let sum = together.and_then(|sum| if direction == Direction::Up { sum.up } else { sum.down });
    sum.map_or_else(|| BitRate(directions.iter().map(|one_way| one_way.goodput.0).sum()), |sum| sum.goodput)
}

/// Payload of one packet: TCP's from the kernel's counters, else the largest segment, UDP's as sent.
fn mean_payload(directions: &[&DirectionSummary]) -> Option<f64> {
    let of_direction = |direction: &&DirectionSummary| {
        let counted = direction.segments.and_then(|segments| segments.mean_payload);
        let payload = counted.or(direction.mss.map(f64::from)).filter(|payload| *payload > 0.0)?;
        (direction.goodput.0 > 0).then_some((direction.goodput.0 as f64, payload))
    };
    let known: Vec<(f64, f64)> = directions.iter().filter_map(of_direction).collect();
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
fn packets(directions: &[&DirectionSummary]) -> u64 {
    let of_direction = |direction: &&DirectionSummary| match direction.transport {
        Transport::Tcp => {
            direction.segments.and_then(|segments| segments.sent.or(segments.received)).unwrap_or(0)
        }
        Transport::Udp => {
            direction.sent.datagrams.saturating_sub(direction.loss.map_or(0, |loss| loss.sender))
        }
    };
    directions.iter().map(of_direction).sum()
}

fn offered(directions: &[&DirectionSummary]) -> Option<PacketRate> {
    let longest =
        directions.iter().map(|direction| direction.elapsed).max().filter(|time| *time > Nanos::ZERO)?;
    let sent = |direction: &&DirectionSummary| match direction.transport {
        Transport::Tcp => direction.segments.and_then(|segments| segments.sent).unwrap_or(0),
        Transport::Udp => direction.sent.datagrams,
    };
    let count: u64 = directions.iter().map(sent).sum();
    (count > 0).then(|| PacketRate::from_count(count, longest))
}

fn lost(directions: &[&DirectionSummary]) -> Option<f64> {
    let losses: Vec<f64> =
        directions.iter().filter_map(|direction| direction.loss).map(|loss| loss.share).collect();
    (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64)
}

/// The limits of the rate, as ids of findings. At line rate under the encapsulation there is no other.
pub(crate) fn limited_by(run: &Run, direction: Direction, share: Option<f64>) -> Vec<String> {
    match share {
        Some(share) if share >= IMPOSSIBLE_SHARE => return vec!["link-speed-wrong".into()],
        Some(share) if share >= LINE_RATE => return vec![LIMITS[0].into()],
        _ => {}
    }
    let here = |id: &&&str| {
        run.findings
            .iter()
            .any(|found| found.id == **id && found.direction.is_none_or(|one_way| one_way == direction))
    };
    LIMITS.iter().skip(1).filter(here).map(|id| (*id).to_owned()).collect()
}

/// Ids of findings about a limit of the rate, the most specific first.
const LIMITS: [&str; 9] = [
    "at-line-rate",
    "policer",
    "packet-rate",
    "random-loss",
    "receiver-limited",
    "receiver-buffer-loss",
    "sender-limited",
    "window-limited",
    "path-loss",
];
/// Difference of counts and sizes from which it is reported.
const DIFFERENCE: f64 = 0.02;

#[cfg(test)]
mod tests;
