//! SockPerf's text, 3.0 to 3.10: the statistics of ping-pong, under-load and playback, what a throughput test has sent, and
//! the full log with every round trip, of which everything is computed anew.

mod figures;
mod observations;

use super::block::{Block, Mark};
use super::latency::ParsedRun;
use super::{Imported, Known, Tool, build, gaps};
use figures::{Figures, OneWay};
use model::latency::{Counted, LatencyMode, LatencyProtocol};
use model::plan::{Direction, End, ProtocolName, TestSpec, Transport};
use model::sample::{Role, UdpCounters};
use model::units::{BitRate, Bytes, Nanos, PacketRate};

/// The role of a line in an output of SockPerf.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    let parsed =
        line.starts_with("sockperf: ") || line.starts_with("sockperf[CLIENT]") || line.starts_with(LOG);
    let version = line.starts_with("sockperf: == version #");
    let summary = line.starts_with("sockperf: [Valid Duration]");
    let Some(block) = block else {
        return if parsed { Mark::First } else { Mark::No };
    };
    let has = |start: &str| block.lines.iter().any(|line| line.starts_with(start));
    let again =
        version || line.starts_with(LOG) && has("sockperf: ") || summary && has("sockperf: [Valid Duration]");
    match () {
        () if again => Mark::First,
        () if parsed || line.starts_with(HEADER) || observations::is_row(line) => Mark::Part,
        () => Mark::No,
    }
}

/// The run of a block; `None` of a server's output, which has no round trips.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    let figures = Figures::from_lines(&block.lines);
    let failed = figures.failure.clone();
    if figures.sent.is_none() && figures.average.is_none() && failed.is_none() {
        return None;
    }
    if let Some(one_way) = figures.one_way.filter(|_| failed.is_none()) {
        return throughput(&figures, one_way, block, known).map(|parsed| parsed.imported(name));
    }
    let mut parsed = ParsedRun::new(Tool::Sockperf, block.line, figures.host.as_deref());
    parsed.version.clone_from(&figures.version);
    if let Some(transport) = figures.transport {
        (parsed.protocol, parsed.transport) = (Some(LatencyProtocol::Sockperf), transport);
    }
    parsed.remote = figures.remote;
    parsed.mode = if figures.rated { LatencyMode::UnderLoad } else { LatencyMode::PingPong };
    parsed.size = figures.size.unwrap_or(DEFAULT_SIZE);
    parsed.elapsed = figures.elapsed.unwrap_or_default();
    parsed.failed = failed;
    let sent = figures.sent.or(figures.run.map(|(sent, _)| sent)).unwrap_or_default();
    parsed.counted = Counted {
        sent,
        asked: figures.received.map_or(sent, |received| received.saturating_add(figures.dropped)),
        received: figures.received.unwrap_or_default(),
        lost: figures.dropped,
        duplicates: figures.duplicated,
        reordered: figures.disordered,
        ..Counted::default()
    };
    let trips = observations::round_trips(&block.lines);
    match trips.is_empty() {
        false => parsed.of_round_trips(&trips),
        true => of_summary(&mut parsed, &figures),
    }
    Some(parsed.imported(name))
}

/// A test of throughput: what was sent is a result of the sender, whose message is one datagram.
fn throughput(figures: &Figures, one_way: OneWay, block: &Block, known: Known) -> Option<build::ParsedRun> {
    let elapsed = figures.elapsed.filter(|elapsed| *elapsed > Nanos::ZERO)?;
    let transport = figures.transport.unwrap_or(Transport::Udp);
    let mut test = TestSpec::new(transport);
    (test.end, test.streams) = (End::Time(elapsed), 1);
    // Exact where it is printed: the rates are rounded.
    let size = figures.size.or(one_way.size()).unwrap_or(DEFAULT_SIZE);
    test.length = Some(size).filter(|size| *size > 0);
    test.bitrate = one_way.asked_rate.map(|rate| BitRate(rate.saturating_mul(8 * u64::from(size))));
    let mut parsed = build::ParsedRun::new(Tool::Sockperf, block.line, ProtocolName::Foreign, test, known);
    parsed.version.clone_from(&figures.version);
    (parsed.host, parsed.server) = (figures.host.clone(), figures.remote);
    let sent = figures.sent.unwrap_or_default();
    let bytes = Bytes(sent.saturating_mul(size.into()));
    let udp =
        (transport == Transport::Udp).then(|| UdpCounters { datagrams: sent, ..UdpCounters::default() });
    parsed.at_client.streams.push(build::only_stream(Direction::Up, Role::Sender, elapsed, bytes, udp));
    let rate = PacketRate::from_count(sent, elapsed);
    parsed.warn(
        "sender-alone",
        format!(
            "SockPerf's throughput test counts what was sent, {} messages per second of {} bytes; what arrived is not known.",
            rate.0, size
        ),
    );
    parsed.assume_mtu();
    if parsed.test.bitrate.is_none() && transport == Transport::Udp {
        gaps::rate_asked(&mut parsed);
    }
    Some(parsed)
}

fn of_summary(parsed: &mut ParsedRun, figures: &Figures) {
    if figures.halved {
        parsed.warn("halved", "SockPerf printed halves of round trips as latency: they are doubled here, to the round trips that it measured.");
    }
    let trip = |half: Nanos| if figures.halved { half.saturating_mul(2) } else { half };
    parsed.rtt = figures.figures().map(|printed| printed.map(trip));
    // SockPerf's is scaled to the standard deviation of a normal distribution.
    parsed.mad = figures.median_ad.map(|mad| Nanos((trip(mad).0 as f64 / 1.4826).round() as u64));
    parsed.iqr = figures.siqr.map(|siqr| trip(siqr).saturating_mul(2));
    if figures.transport.is_none() {
        parsed.warn("no-heading", NO_HEADING);
    } else if figures.size.is_none() {
        let text = format!(
            "The output does not give the size of messages: SockPerf's default of {DEFAULT_SIZE} bytes is assumed."
        );
        parsed.warn("assumed-size", text);
    }
}

const NO_HEADING: &str = "The output lacks its heading: transport, message size and addresses are not known.";
const LOG: &str = "test was performed using the following parameters:";
/// `--msg-size` where none is given.
const DEFAULT_SIZE: u32 = 14;
const HEADER: &str = "packet, txTime";
