//! The output of ping: of iputils (also with `-M do`, `-D`, `-q`, `-f`), BusyBox, BSD, macOS and Windows.

mod lines;
pub(super) mod silence;
mod tally;
mod words;

use super::block::{Block, Mark};
use super::latency::ParsedRun;
use super::{Imported, Known, Tool};
pub(super) use lines::Output;
use lines::TooLarge;
use model::latency::Counted;
use model::path::{
    Bound, Discovery, HopSource, LimitingHop, PathDirection, PathMethod, PathResult, SizeProbe, TooBig,
};
use model::stats::distribution::{Distribution, PartialDistribution};
use model::units::{Nanos, count};
use words::Refusal;
pub(super) use words::{milliseconds, stamp_of};

/// The role of a line in an output of ping.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    match block {
        _ if words::begins(line) => Mark::First,
        // The end of a log has no heading; behind a summary stands the next one.
        Some(block)
            if block.reading.counted && lines::is_rest(line) && words::statistics_heading(line).is_none() =>
        {
            Mark::First
        }
        Some(_)
            if lines::is_part(line)
                || words::extremes(line).is_some()
                || words::statistics(line).is_some() =>
        {
            Mark::Part
        }
        None if lines::is_rest(line) => Mark::First,
        _ => Mark::No,
    }
}

/// A line that belongs to ping and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    lines::is_part(line)
}

/// The run of a block; `None` of a heading alone.
pub(super) fn read(name: &str, block: &Block, _known: Known) -> Option<Box<Imported>> {
    read_on(name, block, &Output::default())
}

/// The same of a block whose first lines are not kept: `before` has their facts.
pub(super) fn read_on(name: &str, block: &Block, before: &Output) -> Option<Box<Imported>> {
    let mut output = before.clone();
    output.take_lines(&block.lines, &block.stamps);
    output.pace();
    let is_empty = output.trips.is_empty() && output.transmitted.is_none() && output.refused.is_empty();
    if is_empty && output.refusals.is_empty() && output.failure.is_none() && output.untimed == 0 {
        return None;
    }
    let mut parsed = ParsedRun::new(Tool::Ping, block.line, output.host.as_deref());
    parsed.kind = "ping";
    parsed.remote = output.address.map(|address| (address, 0).into());
    parsed.local = output.from.map(|address| (address, 0).into());
    parsed.started = output.started;
    parsed.elapsed = output.elapsed.or(output.trips.last()).unwrap_or_default();
    parsed.counted = counted(&output);
    parsed.of_round_trips(&output.trips);
    parsed.silence = output.silence();
    if output.trips.is_empty() {
        of_extremes(&mut parsed, &output);
    } else {
        exact_extremes(&mut parsed, &output);
    }
    if output.transmitted.is_none() {
        parsed.warn(
            "no-summary",
            "The output ends before its summary: what was sent is taken from the sequence numbers.",
        );
    }
    contradiction(&mut parsed, &output);
    remarks(&mut parsed, &output);
    path(&mut parsed, &output);
    if parsed.failed.is_none() && parsed.counted.received == 0 {
        parsed.failed.clone_from(&output.failure);
    }
    Some(parsed.imported(name))
}

/// Packets that this host refused to send were not sent, though ping counts them as transmitted.
fn counted(output: &Output) -> Counted {
    let local = output.refused.count_of(|refused| refused.from.is_none());
    let received = output.replies();
    let sent = output.transmitted.unwrap_or_else(|| output.numbered_count());
    let sent = sent.saturating_sub(local).max(received);
    let lost = sent - received;
    Counted { sent, asked: sent, received, lost, duplicates: output.duplicates, ..Counted::default() }
}

/// More replies than packets, or more of them listed than counted. Windows counts those of routers otherwise.
fn contradiction(parsed: &mut ParsedRun, output: &Output) {
    let (Some(sent), Some(received)) = (output.transmitted, output.received) else { return };
    let listed = output.trips.len().saturating_add(output.untimed);
    let text = match () {
        () if received > sent => format!("{received} of {sent} packets were answered"),
        () if listed > received && !output.windows => {
            format!("{listed} replies are listed, and {received} counted")
        }
        () => return,
    };
    parsed.warn("contradictory-output", format!("The output contradicts itself: {text}."));
}

/// Above 100 ms the rows are in whole milliseconds: what the summary prints in thousandths is exact.
fn exact_extremes(parsed: &mut ParsedRun, output: &Output) {
    let Some(([min, mean, max, stddev], rtt)) = output.extremes.zip(parsed.rtt.as_mut()) else { return };
    let is_whole = rtt.count == parsed.counted.received;
    let is_exact = [min, mean, max].iter().any(|time| !time.0.is_multiple_of(1_000_000));
    let agrees = min <= mean && mean <= max && max.0.abs_diff(rtt.max.0) <= rtt.max.0 / 50 + 1_000_000;
    if !is_whole || !is_exact || !agrees || rtt.max < WHOLE_MILLISECONDS {
        return;
    }
    let within = |time: Nanos| time.max(min).min(max);
    let stddev = if stddev > Nanos::ZERO { stddev } else { rtt.stddev };
    *rtt = Distribution {
        min,
        mean,
        stddev,
        p50: within(rtt.p50),
        p90: within(rtt.p90),
        p99: within(rtt.p99),
        p999: within(rtt.p999),
        p9999: within(rtt.p9999),
        max,
        ..*rtt
    };
}

/// Adds remarks about the times, and the errors of routers and of this host.
fn remarks(parsed: &mut ParsedRun, output: &Output) {
    if output.coarse {
        parsed.of_whole_milliseconds();
    }
    if output.untimed > 0 {
        let answers = count(output.untimed, "answer");
        parsed.warn(
            "untimed-replies",
            format!("The output has no time of {answers}, or one that cannot be since the clock was set back: answers without a time count as received."),
        );
    }
    let objection = |(refusal, count): &(Refusal, u64)| {
        let by = refusal.from.map_or_else(|| "this host".into(), |from| from.to_string());
        let times = if *count == 1 { String::new() } else { format!(" ({count} times)") };
        format!("{by} reports \"{}\"{times}", refusal.what)
    };
    if !output.refusals.is_empty() {
        let text = output.refusals.kinds().take(MOST_SAYINGS).map(objection).collect::<Vec<_>>().join("; ");
        parsed.warn("icmp-errors", format!("{text}."));
    }
}

/// With `-q` or `-f` there are the least, the mean and the longest alone.
fn of_extremes(parsed: &mut ParsedRun, output: &Output) {
    let Some([min, mean, max, stddev]) = output.extremes else { return };
    let count = parsed.counted.received;
    parsed.of_extremes(PartialDistribution {
        count,
        min: Some(min),
        mean,
        stddev: Some(stddev),
        max: Some(max),
        ..PartialDistribution::default()
    });
}

/// Takes the path MTU from the sizes.
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

fn refused_size(direction: &mut PathDirection, output: &Output, refused: TooLarge, size: u32) {
    let below = size.saturating_sub(1);
    let mtu = refused.mtu.filter(|mtu| (1..size).contains(mtu));
    (direction.path_mtu, direction.bound) = (Some(mtu.unwrap_or(below)), Bound::AtMost);
    let found_by = if refused.from.is_some() { HopSource::TooBig } else { HopSource::Sender };
    let ttl = refused.from.is_none().then_some(0);
    direction.limiting_hop = Some(LimitingHop { address: refused.from, ttl, found_by });
    let mut routers = output.refused.kinds().map(|(one, _)| one).filter(|one| one.from.is_some());
    if let Some(first) = routers.next() {
        direction.discovery = Discovery::Works;
        let count = output.refused.count_of(|one| one.from.is_some());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        direction.too_big =
            vec![TooBig { size, mtu: first.mtu.unwrap_or_default(), from: first.from, count }];
    }
}

fn sentence(refused: &TooLarge, size: u32, direction: &PathDirection) -> String {
    let by = match refused.from {
        Some(router) => format!("The router {router} refused"),
        None => "This host refused to send".into(),
    };
    let most = direction.path_mtu.unwrap_or_default();
    format!("{by} packets of {size} bytes, fragments being forbidden: the path MTU is at most {most}.")
}

/// From here on ping prints a reply's time in whole milliseconds.
const WHOLE_MILLISECONDS: Nanos = Nanos::from_millis(100);
/// More kinds of answers are not listed.
const MOST_SAYINGS: usize = 4;
/// Packets up to this size show nothing: every link transfers them.
const BARE: u32 = 576;
