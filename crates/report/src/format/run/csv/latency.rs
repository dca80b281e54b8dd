//! The CSV rows of a latency run: one per interval and way, per way, per phase under load and per moment of them.

use super::{COLUMNS, outcome};
use model::latency::{LatencySample, LoadPhase, LoadPoint, WayResult};
use model::plan::Directions;
use model::run::Run;
use model::stats::histogram::Distribution;
use model::units::{BitRate, Nanos};

/// Every row of a test with round trips; none of another.
pub(super) fn rows(run: &Run, test: &Run, number: usize) -> Vec<Vec<String>> {
    let start = |kind| Row::new(run, test, number, kind);
    let mut rows = Vec::new();
    for sample in &test.latency_intervals {
        let labels = test.latency.iter().flat_map(|plan| &plan.ways).map(|way| way.label.as_str());
        let labels = labels.chain(std::iter::repeat("")).enumerate().take(sample.ways.len());
        rows.extend(labels.map(|(index, label)| interval(start("latency_interval"), sample, index, label)));
    }
    rows.extend(test.summary.ways.iter().map(|way| total(start("latency"), test, way)));
    if let Some(loaded) = &test.summary.loaded {
        rows.extend(loaded.phases.iter().map(|each| phase(start("load_phase"), each)));
        rows.extend(loaded.series.iter().map(|each| moment(start("load_moment"), each)));
    }
    rows
}

fn interval(row: Row, sample: &LatencySample, index: usize, label: &str) -> Vec<String> {
    let way = &sample.ways[index];
    let row =
        row.with("start_s", seconds(sample.start)).with("end_s", seconds(sample.end)).with("way", label);
    row.with("sent", way.sent).with("lost", way.lost).times(way.rtt).fields()
}

fn total(row: Row, test: &Run, way: &WayResult) -> Vec<String> {
    let counted = &way.counted;
    let mut row = row
        .with("way", &way.label)
        .with("start_s", seconds(Nanos(0)))
        .with("end_s", seconds(way.elapsed))
        .with("sent", counted.sent)
        .with("lost", counted.lost)
        .with("late", counted.late)
        .with("reordered", counted.reordered)
        .with("duplicates", counted.duplicates)
        .with("outcome", outcome(test))
        .times(way.rtt);
    if counted.asked > 0 {
        row = row.with("loss_share", counted.lost as f64 / counted.asked as f64);
    }
    if let Some(seen) = way.ends.seen_as {
        row = row.with("seen_as", seen);
    }
    if let Some(wire) = &way.wire {
        let added = wire.application.p50.saturating_sub(wire.rtt.p50);
        row = row.with("wire_p50_ns", wire.rtt.p50.0).with("host_adds_p50_ns", added.0);
    }
    if let Some(delays) = &way.one_way {
        row = row.with("one_way_error_ns", delays.error.0);
        if let Some(up) = delays.up {
            row = row.with("one_way_up_p50_ns", up.p50.0);
        }
        if let Some(down) = delays.down {
            row = row.with("one_way_down_p50_ns", down.p50.0);
        }
    }
    row.fields()
}

fn phase(row: Row, phase: &LoadPhase) -> Vec<String> {
    row.load(phase.load, phase.up, phase.down)
        .with("sent", phase.sent)
        .with("lost", phase.lost)
        .times(phase.rtt)
        .fields()
}

fn moment(row: Row, moment: &LoadPoint) -> Vec<String> {
    let row = row.load(moment.load, moment.up, moment.down).with("end_s", seconds(moment.at));
    row.with("lost", moment.lost).times(moment.rtt).fields()
}

/// A row whose fields are named.
struct Row {
    fields: Vec<String>,
}

impl Row {
    fn new(run: &Run, test: &Run, number: usize, kind: &str) -> Row {
        let row = Row { fields: vec![String::new(); COLUMNS.len()] };
        let row = row.with("run", &run.id).with("test", number).with("row", kind).with("omitted", false);
        match &test.latency {
            Some(plan) => row.with("transport", plan.transport),
            None => row,
        }
    }

    fn with(mut self, column: &str, value: impl ToString) -> Row {
        let place = COLUMNS.iter().position(|name| *name == column).expect("a column of the header");
        self.fields[place] = value.to_string();
        self
    }

    fn load(self, load: Option<Directions>, up: Option<BitRate>, down: Option<BitRate>) -> Row {
        let name = match load {
            None => "idle",
            Some(Directions::Up) => "up",
            Some(Directions::Down) => "down",
            Some(Directions::Both) => "both",
        };
        let rates = [("up_bps", up), ("down_bps", down)];
        let rates = rates.into_iter().filter_map(|(column, rate)| rate.map(|rate| (column, rate.0)));
        rates.fold(self.with("load", name), |row, (column, rate)| row.with(column, rate))
    }

    /// The round trips; a percentile that would be the longest of so few stays empty.
    fn times(self, rtt: Option<Distribution>) -> Row {
        let row = self.with("round_trips", rtt.map_or(0, |rtt| rtt.count));
        let Some(rtt) = rtt.filter(|rtt| rtt.count > 0) else { return row };
        let fields = [
            (1, "rtt_min_ns", rtt.min),
            (1, "rtt_mean_ns", rtt.mean),
            (2, "rtt_stddev_ns", rtt.stddev),
            (1, "rtt_p50_ns", rtt.p50),
            (10, "rtt_p90_ns", rtt.p90),
            (100, "rtt_p99_ns", rtt.p99),
            (1_000, "rtt_p999_ns", rtt.p999),
            (10_000, "rtt_p9999_ns", rtt.p9999),
            (1, "rtt_max_ns", rtt.max),
        ];
        let carried = fields.into_iter().filter(|(least, ..)| rtt.count >= *least);
        carried.fold(row, |row, (_, column, time)| row.with(column, time.0))
    }

    fn fields(self) -> Vec<String> {
        self.fields
    }
}

fn seconds(time: Nanos) -> String {
    super::seconds(time.as_secs_f64())
}
