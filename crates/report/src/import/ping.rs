//! The output of ping: of iputils (also with `-M do`, `-D`, `-q`, `-f`), BusyBox and BSD.

mod lines;

use super::block::{Block, Mark};
use super::latency::ParsedRun;
use super::{Imported, Known, Tool};
use lines::{Output, Refused};
use model::latency::Counted;
use model::path::{
    Bound, Discovery, HopSource, LimitingHop, PathDirection, PathMethod, PathResult, SizeProbe, TooBig,
};
use model::stats::histogram::Distribution;
use model::units::Nanos;

/// What a line is to ping.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if lines::begins(line) => Mark::First,
        Some(_) if lines::is_part(line) => Mark::Part,
        _ => Mark::No,
    }
}

/// The run of a block; `None` of a heading alone.
pub(super) fn read(name: &str, block: &Block, _known: Known) -> Option<Imported> {
    let output = Output::from_lines(&block.lines);
    if output.trips.is_empty() && output.transmitted.is_none() && output.refused.is_empty() {
        return None;
    }
    let mut parsed = ParsedRun::new(Tool::Ping, block.line, output.host.as_deref());
    parsed.kind = "ping";
    parsed.remote = output.address.map(|address| (address, 0).into());
    parsed.local = output.from.map(|address| (address, 0).into());
    parsed.elapsed =
        output.elapsed.unwrap_or_else(|| output.trips.last().map_or(Nanos::ZERO, |trip| trip.at));
    parsed.counted = counted(&output);
    parsed.of_round_trips(&output.trips);
    if output.trips.is_empty() {
        of_extremes(&mut parsed, &output);
    }
    if output.transmitted.is_none() {
        parsed.warn(
            "no-summary",
            "The output ends before its summary: what was sent is taken from the sequence numbers.",
        );
    }
    path(&mut parsed, &output);
    Some(parsed.imported(name))
}

/// Packets that this host refused to send were not sent, though ping counts them as transmitted.
fn counted(output: &Output) -> Counted {
    let local = output.refused.iter().filter(|refused| refused.from.is_none()).count() as u64;
    let received = output.received.unwrap_or(output.trips.len() as u64);
    let sent = output.transmitted.unwrap_or(output.last_sequence.max(received));
    let sent = sent.saturating_sub(local).max(received);
    let lost = sent - received;
    Counted { sent, asked: sent, received, lost, duplicates: output.duplicates, ..Counted::default() }
}

/// With `-q` or `-f` there are the least, the mean and the longest alone.
fn of_extremes(parsed: &mut ParsedRun, output: &Output) {
    let Some([min, mean, max, stddev]) = output.extremes else { return };
    let count = parsed.counted.received;
    parsed.rtt = Some(Distribution {
        count,
        min,
        mean,
        stddev,
        p50: mean,
        p90: max,
        p99: max,
        p999: max,
        p9999: max,
        max,
        ..Distribution::default()
    });
    parsed.warn("extremes-alone", "The output reports the shortest, the mean and the longest round trip alone: the mean stands for the median, and the longest for the percentiles above it.");
}

/// What sizes say of the path.
fn path(parsed: &mut ParsedRun, output: &Output) {
    let Some(size) = output.packet else { return };
    let mut direction = PathDirection {
        ipv6: output.address.is_some_and(|address| address.is_ipv6()),
        ..PathDirection::default()
    };
    let counted = parsed.counted;
    if let Some(refused) = output.refused.first() {
        refused_size(&mut direction, output, *refused, size);
        parsed.warn("too-large", sentence(refused, size, &direction));
        if counted.sent == 0 {
            parsed.failed = Some(format!("this host refused to send packets of {size} bytes"));
        }
    } else if counted.received > 0 && size > BARE {
        (direction.path_mtu, direction.bound) = (Some(size), Bound::AtLeast);
        parsed.warn("crossed", format!("Packets of {size} bytes crossed. The output does not say whether fragments were forbidden (`-M do`): if so, the path MTU is at least {size}."));
    } else {
        return;
    }
    direction.max_udp_payload = direction.path_mtu.and_then(|mtu| mtu.checked_sub(direction.headers()));
    if counted.sent > 0 {
        let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        direction.sizes =
            vec![SizeProbe { size, sent: count(counted.sent), received: count(counted.received) }];
    }
    let packets = counted.sent;
    parsed.path = Some(PathResult {
        method: PathMethod::Icmp,
        up: Some(direction),
        elapsed: parsed.elapsed,
        packets,
        ..PathResult::default()
    });
}

fn refused_size(direction: &mut PathDirection, output: &Output, refused: Refused, size: u32) {
    let below = size.saturating_sub(1);
    let mtu = refused.mtu.filter(|mtu| (1..size).contains(mtu));
    (direction.path_mtu, direction.bound) = (Some(mtu.unwrap_or(below)), Bound::AtMost);
    let found_by = if refused.from.is_some() { HopSource::TooBig } else { HopSource::Sender };
    let ttl = refused.from.is_none().then_some(0);
    direction.limiting_hop = Some(LimitingHop { address: refused.from, ttl, found_by });
    let routers: Vec<&Refused> = output.refused.iter().filter(|one| one.from.is_some()).collect();
    if let Some(first) = routers.first() {
        direction.discovery = Discovery::Works;
        let count = u32::try_from(routers.len()).unwrap_or(u32::MAX);
        direction.too_big =
            vec![TooBig { size, mtu: first.mtu.unwrap_or_default(), from: first.from, count }];
    }
}

fn sentence(refused: &Refused, size: u32, direction: &PathDirection) -> String {
    let by = match refused.from {
        Some(router) => format!("The router {router} refused"),
        None => "This host refused to send".into(),
    };
    let most = direction.path_mtu.unwrap_or_default();
    format!("{by} packets of {size} bytes, fragments being forbidden: the path MTU is at most {most}.")
}

/// Of packets up to this nothing is said: every link carries them.
const BARE: u32 = 576;
