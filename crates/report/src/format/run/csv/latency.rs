//! The CSV rows of a latency run: one per interval and path, per path, per phase under load and per moment of them.

use super::{CsvPart, Start, outcome, seconds};
use crate::document::Csv;
use crate::format::text::phrases;
use model::latency::{EgressResult, LatencySample, LoadPhase, LoadPoint};
use model::plan::Transport;
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::units::{BitRate, Nanos};
use serde::Serialize;
use std::net::SocketAddr;

#[derive(Default, Serialize)]
struct Trips {
    #[serde(rename = "way")]
    egress: String,
    load: Option<&'static str>,
    transport: Option<Transport>,
    start_s: Option<String>,
    end_s: Option<String>,
    sent: Option<u64>,
    lost: u64,
    loss_share: Option<f64>,
    late: Option<u64>,
    reordered: Option<u64>,
    duplicates: Option<u64>,
    round_trips: u64,
}

/// Times of round trips; a percentile that would be the longest of so few stays empty.
#[derive(Default, Serialize)]
pub(super) struct Times {
    rtt_min_ns: Option<Nanos>,
    rtt_mean_ns: Option<Nanos>,
    rtt_stddev_ns: Option<Nanos>,
    rtt_p50_ns: Option<Nanos>,
    rtt_p90_ns: Option<Nanos>,
    rtt_p99_ns: Option<Nanos>,
    rtt_p999_ns: Option<Nanos>,
    rtt_p9999_ns: Option<Nanos>,
    rtt_max_ns: Option<Nanos>,
}

#[derive(Default, Serialize)]
struct More {
    seen_as: Option<SocketAddr>,
    one_way_up_p50_ns: Option<Nanos>,
    one_way_down_p50_ns: Option<Nanos>,
    one_way_error_ns: Option<Nanos>,
    wire_p50_ns: Option<Nanos>,
    host_adds_p50_ns: Option<Nanos>,
    up_bps: Option<BitRate>,
    down_bps: Option<BitRate>,
    rpm: Option<f64>,
    outcome: Option<&'static str>,
}

pub(super) fn rows(test: &Run, place: &CsvPart) -> Csv {
    let transport = test.latency().map(|plan| plan.transport);
    let line = |row, (trips, times, more): (Trips, Times, More)| -> (Start, Trips, Times, More) {
        (place.start(row, None), Trips { transport, ..trips }, times, more)
    };
    let labels: Vec<&str> = test
        .latency()
        .iter()
        .flat_map(|plan| &plan.egress_paths)
        .map(|egress| egress.label.as_str())
        .collect();
    let mut rows = Vec::new();
    for sample in &test.latency_intervals {
        rows.extend(intervals(sample, &labels).into_iter().map(|row| line("latency_interval", row)));
    }
    rows.extend(test.summary.egress_paths.iter().map(|egress| line("latency", total(test, egress))));
    if let Some(loaded) = &test.summary.loaded {
        rows.extend(loaded.phases.iter().map(|each| line("load_phase", phase(each))));
        rows.extend(loaded.series.iter().map(|each| line("load_moment", moment(each))));
    }
    Csv::from_rows(rows)
}

fn intervals(sample: &LatencySample, labels: &[&str]) -> Vec<(Trips, Times, More)> {
    let row = |(index, egress): (usize, &model::latency::EgressSample)| {
        let trips = Trips {
            egress: labels.get(index).copied().unwrap_or_default().to_owned(),
            start_s: Some(seconds(sample.start)),
            end_s: Some(seconds(sample.end)),
            sent: Some(egress.sent),
            lost: egress.lost,
            round_trips: count(egress.rtt),
            ..Trips::default()
        };
        (trips, Times::from_rtt(egress.rtt), More::default())
    };
    sample.egress_paths.iter().enumerate().map(row).collect()
}

fn total(test: &Run, egress: &EgressResult) -> (Trips, Times, More) {
    let counted = &egress.counted;
    let trips = Trips {
        egress: egress.label.clone(),
        start_s: Some(seconds(Nanos::ZERO)),
        end_s: Some(seconds(egress.elapsed)),
        sent: Some(counted.sent),
        lost: counted.lost,
        loss_share: (counted.asked > 0).then(|| counted.lost as f64 / counted.asked as f64),
        late: Some(counted.late),
        reordered: Some(counted.reordered),
        duplicates: Some(counted.duplicates),
        round_trips: count(egress.rtt),
        ..Trips::default()
    };
    let (wire, delays) = (egress.wire.as_ref(), egress.one_way.as_ref());
    let more = More {
        seen_as: egress.ends.seen_as,
        one_way_up_p50_ns: delays.and_then(|delays| delays.up).map(|up| up.p50),
        one_way_down_p50_ns: delays.and_then(|delays| delays.down).map(|down| down.p50),
        one_way_error_ns: delays.map(|delays| delays.error),
        wire_p50_ns: wire.map(|wire| wire.rtt.p50),
        host_adds_p50_ns: wire.map(|wire| wire.application.p50.saturating_sub(wire.rtt.p50)),
        outcome: outcome(test),
        ..More::default()
    };
    (trips, Times::from_rtt(egress.rtt), more)
}

fn phase(phase: &LoadPhase) -> (Trips, Times, More) {
    let trips = Trips {
        load: Some(phrases::load(phase.load)),
        sent: Some(phase.sent),
        lost: phase.lost,
        round_trips: count(phase.rtt),
        ..Trips::default()
    };
    let rpm = phase.responsiveness.as_ref().map(|found| found.rpm);
    (
        trips,
        Times::from_rtt(phase.rtt),
        More { up_bps: phase.up, down_bps: phase.down, rpm, ..More::default() },
    )
}

fn moment(moment: &LoadPoint) -> (Trips, Times, More) {
    let trips = Trips {
        load: Some(phrases::load(moment.load)),
        end_s: Some(seconds(moment.at)),
        lost: moment.lost,
        round_trips: count(moment.rtt),
        ..Trips::default()
    };
    (trips, Times::from_rtt(moment.rtt), More { up_bps: moment.up, down_bps: moment.down, ..More::default() })
}

fn count(rtt: Option<Distribution>) -> u64 {
    rtt.map_or(0, |rtt| rtt.count)
}

impl Times {
    pub(super) fn from_rtt(rtt: Option<Distribution>) -> Times {
        let Some(rtt) = rtt.filter(|rtt| rtt.count > 0) else { return Times::default() };
        // A file of intervals has few round trips in each: a percentile is written from the count on at which it is another
        // value than the longest.
        let from = |least, percent, time| {
            (rtt.count >= least && rtt.standing(percent) != Standing::NotGiven).then_some(time)
        };
        Times {
            rtt_min_ns: rtt.least(),
            rtt_mean_ns: Some(rtt.mean),
            rtt_stddev_ns: rtt.deviation().filter(|_| rtt.count > 1),
            rtt_p50_ns: rtt.median(),
            rtt_p90_ns: from(10, 90.0, rtt.p90),
            rtt_p99_ns: from(100, 99.0, rtt.p99),
            rtt_p999_ns: from(1_000, 99.9, rtt.p999),
            rtt_p9999_ns: from(10_000, 99.99, rtt.p9999),
            rtt_max_ns: rtt.longest(),
        }
    }
}
