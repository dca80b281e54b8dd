//! The table of tests of throughput: one, or those of a `measure` run with what its probes found. Text, Markdown, HTML and the page
//! show this one.

use super::super::text::bars::sparkline;
use super::super::text::intervals::{rates, whole};
use super::path;
use crate::document::{FigureRow, FigureTable, Paint, Remark};
use insight::figure::{Figure, Level, fastest, table_figures};
use insight::limit;
use model::plan::{Direction, Transport};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::summary::{DirectionSummary, Loss, Summary};
use model::units::grouped;

/// The limit of each direction's rate with its place, and what hosts on the path showed.
pub(super) fn remarks(run: &Run) -> Vec<Remark> {
    let limits = limits(run).into_iter().map(|(direction, limit)| ("limit", direction.to_string(), limit));
    let observed = observed(run).into_iter().map(|(host, sentence)| ("observed", host, sentence));
    limits.chain(observed).map(|(id, of, sentence)| Remark::new((Paint::Plain, id), of, sentence)).collect()
}

/// The limit of each direction of each test, in a sentence.
pub(in crate::format) fn limits(run: &Run) -> Vec<(Direction, String)> {
    let of_test = |test: &'_ Run| {
        Direction::BOTH.map(|direction| {
            let limit = test.summary.direction(direction)?.limit.as_deref()?;
            Some((direction, limit::sentence(limit)))
        })
    };
    tests(run).iter().flat_map(of_test).flatten().collect()
}

/// What hosts on the path showed during the tests.
pub(in crate::format) fn observed(run: &Run) -> Vec<(String, String)> {
    tests(run).iter().flat_map(|test| limit::observed_sentences(&test.summary)).collect()
}

fn tests(run: &Run) -> &[Run] {
    if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests }
}

/// A column for each direction that has a figure. Of several tests the table has the figures that people judge by, and the others as
/// details, where these are asked for; the rates over time are bars below each goodput, which a full screen leaves out.
pub(in crate::format) fn table(run: &Run, detail: bool) -> FigureTable {
    let summaries: Vec<&Summary> = match run.tests.as_slice() {
        [] => vec![&run.summary],
        tests => tests.iter().map(|test| &test.summary).collect(),
    };
    let has = |direction: &Direction| {
        summaries.iter().any(|one| one.direction(*direction).is_some())
            || run.summary.path.as_ref().is_some_and(|path| path.in_direction(*direction).is_some())
    };
    let directions: Vec<Direction> = Direction::BOTH.into_iter().filter(has).collect();
    let heads = directions.iter().map(ToString::to_string).collect();
    let mut table = FigureTable { heads, rows: Vec::new() };
    let is_single = run.tests.is_empty();
    let mut idle = run.summary.rtt.filter(|rtt| rtt.count > 0);
    for transport in [Transport::Tcp, Transport::Udp] {
        let both_directions: Vec<Option<&DirectionSummary>> =
            directions.iter().map(|direction| fastest(run, transport, *direction)).collect();
        if both_directions.iter().any(Option::is_some) {
            let is_loaded = both_directions.iter().flatten().any(|one_way| one_way.loaded_rtt.is_some());
            let test = Test { transport, directions: both_directions, idle: idle.take_if(|_| is_loaded) };
            for row in test.rows(is_single, detail) {
                let is_head = !row.below;
                table.push(row);
                if is_head {
                    table.push(over_time(run, transport, &directions));
                }
            }
        }
    }
    if let Some(rtt) = idle {
        let all = [Some(rtt.p50.to_string())].into_iter().chain(directions.iter().skip(1).map(|_| None));
        table.push(FigureRow::new("RTT idle", all).with_note(tail(&rtt)));
    }
    if let Some(found) = &run.summary.path {
        // The payload follows from the path MTU.
        let spare = |row: FigureRow| FigureRow { spare: row.name == path::PAYLOAD, ..row };
        path::rows(found, &directions).into_iter().map(spare).for_each(|row| table.push(row));
    }
    table
}

/// The rates of the intervals as bars, of each direction from 0 to its highest.
fn over_time(run: &Run, transport: Transport, directions: &[Direction]) -> FigureRow {
    let goodput = |test: &Run, direction| test.summary.direction(direction).map(|one_way| one_way.goodput);
    let bars = |direction: &Direction| {
        let of_transport = tests(run)
            .iter()
            .filter(|test| test.throughput().is_some_and(|plan| plan.test.transport == transport));
        let best = of_transport.max_by_key(|test| goodput(test, *direction))?;
        let rates = whole(rates(&best.intervals, *direction));
        let rates: Vec<u64> = rates.into_iter().map(|(_, rate)| rate.0).collect();
        let is_shown = rates.len() >= LEAST_BARS && rates.iter().any(|rate| *rate > 0);
        is_shown.then(|| sparkline(&rates, MOST_BARS))
    };
    let row = FigureRow::new("over time", directions.iter().map(bars)).below();
    FigureRow { spare: true, drawn: true, ..row.with_note("from 0 to the highest".into()) }
}

/// The tests of a transport.
struct Test<'a> {
    transport: Transport,
    /// In the directions of the table.
    directions: Vec<Option<&'a DirectionSummary>>,
    /// The round trip without load.
    idle: Option<Distribution>,
}

impl Test<'_> {
    /// A row for each figure that tables show.
    fn rows(&self, is_single: bool, with_details: bool) -> Vec<FigureRow> {
        let detail = |level: Level| match (level, is_single) {
            (Level::Table | Level::AboveZero, _) | (Level::OneTest, true) => Some(false),
            (Level::OneTest, false) | (Level::Detail, true) => Some(true),
            (Level::Detail, false) | (Level::Data, _) => None,
        };
        let of_transport = |figure: &&Figure| figure.transport.is_none_or(|only| only == self.transport);
        let is_spare = |figure: &Figure| match is_single {
            true => SPARE.contains(&figure.name),
            false => !CORE.contains(&figure.name),
        };
        let row = |figure: &'static Figure| {
            let detail = detail(figure.level).filter(|detail| with_details || !detail)?;
            Some(FigureRow { spare: is_spare(figure), ..self.row(figure, detail)? })
        };
        let mut rows: Vec<FigureRow> = table_figures().filter(of_transport).filter_map(row).collect();
        if is_single && with_details {
            let congestion =
                self.directions.iter().map(|one_way| one_way.and_then(|one| one.congestion.clone()));
            rows.push(FigureRow { detail: true, ..FigureRow::new("congestion control", congestion).below() });
        }
        rows
    }

    /// The transport stands before its goodput, and all else belongs to it; `None` of what has no value.
    fn row(&self, figure: &Figure, detail: bool) -> Option<FigureRow> {
        let cells: Vec<Option<String>> =
            self.directions.iter().map(|direction| cell(figure, (*direction)?)).collect();
        let is_head = figure.name == "goodput";
        if !is_head && cells.iter().all(Option::is_none) {
            return None;
        }
        let head = is_head.then(|| self.name());
        let name = head.as_deref().unwrap_or(figure.label);
        Some(FigureRow { below: !is_head, detail, note: self.note(figure), ..FigureRow::new(name, cells) })
    }

    fn name(&self) -> String {
        let streams = self.known().map(|direction| direction.streams.len()).max().unwrap_or(1);
        match streams > 1 {
            true => format!("{}, {streams} streams", self.transport),
            false => self.transport.to_string(),
        }
    }

    fn known(&self) -> impl Iterator<Item = &DirectionSummary> {
        self.directions.iter().flatten().copied()
    }

    /// The note beside a row's figures.
    fn note(&self, figure: &Figure) -> String {
        let noted = match figure.name {
            "goodput" => {
                self.known().any(|direction| direction.receiver_unknown).then(|| match self.transport {
                    Transport::Tcp => "acknowledged; the receiver's own figures are missing".into(),
                    Transport::Udp => "the receiver's figures are missing".into(),
                })
            }
            "wire" => {
                let frame = self.known().find_map(|direction| direction.wire.frame);
                frame.map(|frame| format!("in frames of {frame} bytes"))
            }
            "packets_per_second" => {
                let frames = self.known().find_map(|direction| direction.wire.frames_per_packet);
                let frames = frames.filter(|frames| *frames > 1);
                frames.map(|frames| format!("{frames} fragments to a datagram"))
            }
            "bytes" => self.known().map(|direction| direction.elapsed).max().map(|time| format!("in {time}")),
            "loss" => Some(places(self.known())),
            "loaded_rtt" => self.idle.map(|rtt| format!("idle {}, {}", rtt.p50, tail(&rtt))),
            _ => None,
        };
        noted.unwrap_or_default()
    }
}

/// Figures of one test that are left out where a screen has no room for all.
const SPARE: [&str; 5] = ["wire", "line_rate_share", "one_way.mean", "stream.min", "stream.max"];
/// Figures of one of several tests that never do.
const CORE: [&str; 4] = ["goodput", "loss", "retransmits", "loaded_rtt"];

/// The value of a figure in a direction.
fn cell(figure: &Figure, direction: &DirectionSummary) -> Option<String> {
    if figure.name == "goodput" && !direction.is_arrived_known() {
        return Some("not known".into());
    }
    let value = figure.in_direction(direction)?;
    match figure.level {
        Level::AboveZero if value == 0.0 => None,
        // Below a microsecond it is the clock's and the scheduler's.
        _ if figure.name == "jitter" && value < CLOCK_NS => Some("< 1 µs".into()),
        _ => Some(figure.quantity.print(value)),
    }
}

/// Fewer bars show nothing of the time.
const LEAST_BARS: usize = 3;
/// Two directions and the note have room beside one another.
const MOST_BARS: usize = 12;
/// Differences of times below it are those of clocks and schedulers.
const CLOCK_NS: f64 = 1_000.0;

/// `p99 363 µs`, or the longest of few.
fn tail(rtt: &Distribution) -> String {
    rtt.known(99.0, |rtt| rtt.p99).map_or_else(|| format!("longest {}", rtt.max), |p99| format!("p99 {p99}"))
}

/// Where datagrams were lost.
fn places<'a>(directions: impl Iterator<Item = &'a DirectionSummary>) -> String {
    let sum = directions.filter_map(|direction| direction.loss).fold(Loss::default(), |sum, loss| Loss {
        path: sum.path + loss.path,
        receiver: sum.receiver + loss.receiver,
        sender: sum.sender + loss.sender,
        share: 0.0,
    });
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
