//! The table of tests of throughput: one, or those of a `measure` run with what its probes found.

use super::super::Style;
use super::findings::hanging;
use super::grouped;
use super::path;
use super::table::{Row, Table};
use insight::limit;
use model::plan::{Direction, Transport};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::summary::{DirectionSummary, Loss, Summary};
use model::units::{BitRate, Nanos, percent};

/// The table.
pub(super) fn body(run: &Run, style: &Style) -> String {
    let table = table(run);
    if table.rows.is_empty() {
        return String::new();
    }
    table.text(style) + &limits(run, style)
}

/// What set the rate of each direction, and where.
fn limits(run: &Run, style: &Style) -> String {
    let tests = [run].into_iter().filter(|run| run.tests.is_empty()).chain(&run.tests);
    let of_test = |test: &Run| {
        let one = |direction: Direction| {
            let limit = test.summary.direction(direction)?.limit.as_deref()?;
            Some(format!("{direction}: {}", limit::sentence(limit)))
        };
        [Direction::Up, Direction::Down].into_iter().filter_map(one).collect::<Vec<_>>()
    };
    let lines = tests.flat_map(of_test).map(|line| hanging(&format!("{:<8}", "limit"), &line, None, style));
    let text: String = lines.collect();
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A column for each direction that has a figure.
pub(super) fn table(run: &Run) -> Table {
    let summaries: Vec<&Summary> = match run.tests.as_slice() {
        [] => vec![&run.summary],
        tests => tests.iter().map(|test| &test.summary).collect(),
    };
    let has = |direction: &Direction| {
        summaries.iter().any(|one| one.direction(*direction).is_some())
            || run.summary.path.as_ref().is_some_and(|path| path.in_direction(*direction).is_some())
    };
    let directions: Vec<Direction> = [Direction::Up, Direction::Down].into_iter().filter(has).collect();
    let heads = directions.iter().map(ToString::to_string).collect();
    let mut table = Table { heads, rows: Vec::new() };
    let mut idle = run.summary.rtt.filter(|rtt| rtt.count > 0);
    for transport in [Transport::Tcp, Transport::Udp] {
        let both_directions: Vec<Option<&DirectionSummary>> =
            directions.iter().map(|direction| direction_stream(&summaries, transport, *direction)).collect();
        if both_directions.iter().any(Option::is_some) {
            let is_loaded = both_directions.iter().flatten().any(|one_way| one_way.loaded_rtt.is_some());
            rows(&mut table, transport, &both_directions, idle.take_if(|_| is_loaded));
        }
    }
    if !run.tests.is_empty() {
        // Of several tests one screen has the figures that people judge by.
        table.rows.retain(|row| !FOR_ONE_TEST.contains(&row.name.as_str()));
    }
    if let Some(rtt) = idle {
        let all = [Some(rtt.p50.to_string())].into_iter().chain(directions.iter().skip(1).map(|_| None));
        table.push(Row::new("RTT idle", all).with_note(tail(&rtt)));
    }
    if let Some(found) = &run.summary.path {
        path::rows(found, &directions).into_iter().for_each(|row| table.push(row));
    }
    table
}

/// Rows of a run of one test.
const FOR_ONE_TEST: [&str; 2] = ["on the wire", "jitter"];

/// The best test of a transport and direction.
fn direction_stream<'a>(
    summaries: &[&'a Summary],
    transport: Transport,
    direction: Direction,
) -> Option<&'a DirectionSummary> {
    let directions = summaries.iter().filter_map(|one| one.direction(direction));
    directions.filter(|one_way| one_way.transport == transport).max_by_key(|one_way| one_way.goodput)
}

type Cell = fn(&DirectionSummary) -> Option<String>;

/// The rows of a transport. `idle`: the round trip without load.
fn rows(
    table: &mut Table,
    transport: Transport,
    directions: &[Option<&DirectionSummary>],
    idle: Option<Distribution>,
) {
    let row =
        |name: &str, cell: Cell| Row::new(name, directions.iter().map(|direction| direction.and_then(cell)));
    let streams = directions.iter().flatten().map(|direction| direction.streams.len()).max().unwrap_or(1);
    let name = if streams > 1 { format!("{transport}, {streams} streams") } else { transport.to_string() };
    let unknown = directions.iter().flatten().any(|direction| direction.receiver_unknown);
    let note = match (unknown, transport) {
        (false, _) => "",
        (true, Transport::Tcp) => "acknowledged; the receiver's own figures are missing",
        (true, Transport::Udp) => "the receiver's figures are missing",
    };
    table.push(row(&name, arrived).with_note(note.into()));
    if transport == Transport::Udp {
        table.push(row("offered", offered).below());
    }
    let wire = directions.iter().flatten().find_map(|direction| direction.wire.frame);
    let frames = wire.map(|frame| format!("in frames of {frame} bytes")).unwrap_or_default();
    table.push(
        row("on the wire", |direction| {
            let rate = direction.wire.rate.filter(|_| direction.is_arrived_known());
            rate.map(|rate| rate.to_string())
        })
        .below()
        .with_note(frames),
    );
    table.push(row("of line rate", |direction| direction.wire.line_rate_share.map(percent)).below());
    let lost = |direction: &DirectionSummary| direction.loss.map(|loss| percent(loss.share));
    table.push(row("lost", lost).below().with_note(places(directions)));
    table.push(row("reordered", |direction| some_of(direction.reordered)).below());
    table.push(row("duplicates", |direction| some_of(direction.duplicates)).below());
    table.push(row("too late", |direction| some_of(direction.late)).below());
    table.push(row("jitter", jitter).below());
    table.push(row("retransmits", |direction| direction.retransmits.map(grouped)).below());
    let idle = idle.map(|rtt| format!("idle {}, {}", rtt.p50, tail(&rtt))).unwrap_or_default();
    table.push(
        row("RTT loaded", |direction| direction.loaded_rtt.map(|rtt| rtt.to_string()))
            .below()
            .with_note(idle),
    );
    table.push(
        row("one-way delay", |direction| direction.one_way.map(|delay| delay.mean.to_string())).below(),
    );
    if streams > 1 {
        table.push(
            row("slowest stream", |direction| each(direction).min().map(|rate| rate.to_string())).below(),
        );
        table.push(
            row("fastest stream", |direction| each(direction).max().map(|rate| rate.to_string())).below(),
        );
    }
}

/// The rate at the receiver.
fn arrived(direction: &DirectionSummary) -> Option<String> {
    Some(if direction.is_arrived_known() { direction.goodput.to_string() } else { "not known".into() })
}

/// A count that is known and above zero.
fn some_of(count: Option<u64>) -> Option<String> {
    count.filter(|count| *count > 0).map(grouped)
}

fn each(direction: &DirectionSummary) -> impl Iterator<Item = BitRate> {
    direction.streams.iter().map(|stream| stream.goodput)
}

/// `p99 363 µs`, or the longest of few.
fn tail(rtt: &Distribution) -> String {
    rtt.known(99.0, |rtt| rtt.p99).map_or_else(|| format!("longest {}", rtt.max), |p99| format!("p99 {p99}"))
}

/// What was sent.
fn offered(direction: &DirectionSummary) -> Option<String> {
    (direction.sent.bytes.0 > 0)
        .then(|| BitRate::from_bytes(direction.sent.bytes, direction.elapsed).to_string())
}

/// Below a microsecond it is the clock's and the scheduler's.
fn jitter(direction: &DirectionSummary) -> Option<String> {
    let jitter = direction.jitter?.rfc3550;
    Some(if jitter < Nanos::from_micros(1) { "< 1 µs".into() } else { jitter.to_string() })
}

/// Where datagrams were lost.
fn places(directions: &[Option<&DirectionSummary>]) -> String {
    let sum = directions.iter().flatten().filter_map(|direction| direction.loss).fold(
        Loss::default(),
        |sum, loss| Loss {
            path: sum.path + loss.path,
            receiver: sum.receiver + loss.receiver,
            sender: sum.sender + loss.sender,
            share: 0.0,
        },
    );
    let places = [(sum.path, "path"), (sum.receiver, "receiver"), (sum.sender, "sender")];
    let some: Vec<(u64, &str)> = places.into_iter().filter(|(count, _)| *count > 0).collect();
    match some.as_slice() {
        [] => String::new(),
        [(_, "path")] => "all on the path".into(),
        [(_, place)] => format!("all at the {place}"),
        several => several
            .iter()
            .map(|(count, place)| format!("{place} {}", grouped(*count)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
