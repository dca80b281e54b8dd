//! The tables of an analysis. A column that no row fills is left out, a table without rows too.

use crate::document::{Cell, Table};
use insight::analysis::{Analysis, Flow, PathBound, Trips};
use model::path::Bound;
use model::stats::compare::{Comparison, Judgement};
use model::units::{Bytes, change, change_between, grouped, percent, significant};

pub(super) fn section_tables(analysis: &Analysis) -> Vec<Table> {
    let parallel: Vec<Flow> = analysis.flows.iter().filter(|flow| flow.fairness.is_some()).cloned().collect();
    let framed: Vec<Flow> = analysis.flows.iter().filter(|flow| flow.wire.frame.is_some()).cloned().collect();
    let sections = [
        Table::of_cells("Throughput", &THROUGHPUT, &analysis.flows),
        Table::of_cells("On the wire", &WIRE, &framed),
        Table::of_cells("Parallel streams", &STREAMS, &parallel),
        Table::of_cells("Round trips", &TRIPS, &analysis.trips),
        Table::of_cells("Packet sizes", &PATHS, &analysis.paths),
        Table::of_cells("Comparison", &COMPARED, &analysis.comparisons),
    ];
    sections.into_iter().flatten().map(|table| table.with_spare(&SPARE)).collect()
}

/// Columns that a narrow screen has no room for, the first ones first.
const SPARE: [&str; 12] = [
    "carried",
    "sent",
    "mean",
    "count",
    "min",
    "max/median",
    "goodput at most",
    "at most",
    "streams",
    "slowest",
    "MSS",
    "payload",
];

const THROUGHPUT: [Cell<Flow>; 8] = [
    Cell("run", false, |flow| Some(flow.run.clone())),
    Cell("what", false, |flow| Some(format!("{} {}", flow.transport, flow.direction))),
    Cell("sent", true, |flow| Some(flow.sent_rate?.to_string())),
    Cell("goodput", true, |flow| Some(flow.goodput.to_string())),
    Cell("change", true, |flow| flow.change_percent.map(change)),
    Cell("carried", true, |flow| {
        (flow.received.bytes > Bytes::ZERO).then(|| flow.received.bytes.to_string())
    }),
    Cell("lost", true, |flow| flow.loss.map(|loss| percent(loss.share))),
    Cell("retransmits", true, |flow| flow.retransmits.map(grouped)),
];

const WIRE: [Cell<Flow>; 9] = [
    Cell("run", false, |flow| Some(flow.run.clone())),
    Cell("", false, |flow| Some(flow.direction.to_string())),
    Cell("payload", true, |flow| Some(format!("{} B", flow.payload?))),
    Cell("MSS", true, |flow| {
        flow.segment.map(|segment| format!("{} − {}", segment.mss, segment.mss - segment.with_timestamps))
    }),
    Cell("frame", true, |flow| {
        let fragments = flow.wire.frames_per_packet.filter(|count| *count > 1);
        Some(format!(
            "{}{} B",
            fragments.map(|count| format!("{count} × ")).unwrap_or_default(),
            flow.wire.frame?
        ))
    }),
    Cell("packets", true, |flow| Some(flow.wire.packets_per_second?.to_string())),
    Cell("at most", true, |flow| Some(flow.line_rate?.packets_per_second.to_string())),
    Cell("share", true, |flow| flow.wire.line_rate_share.map(percent)),
    Cell("goodput at most", true, |flow| Some(flow.line_rate?.goodput.to_string())),
];

const STREAMS: [Cell<Flow>; 6] = [
    Cell("run", false, |flow| Some(flow.run.clone())),
    Cell("", false, |flow| Some(flow.direction.to_string())),
    Cell("streams", true, |flow| flow.fairness.map(|fair| fair.streams.to_string())),
    Cell("slowest", true, |flow| flow.fairness.map(|fair| fair.least.to_string())),
    Cell("fastest", true, |flow| flow.fairness.map(|fair| fair.most.to_string())),
    Cell("Jain's index", true, |flow| Some(significant(flow.fairness?.jain?))),
];

const TRIPS: [Cell<Trips>; 10] = [
    Cell("run", false, |one| Some(one.run.clone())),
    Cell("count", true, |one| Some(grouped(one.rtt.count))),
    Cell("lost", true, |one| (one.lost > 0).then(|| grouped(one.lost))),
    Cell("min", true, |one| Some(format!("{:.3}", one.rtt.least()?))),
    Cell("median", true, |one| Some(format!("{:.3}", one.rtt.median()?))),
    Cell("mean", true, |one| Some(format!("{:.3}", one.rtt.mean))),
    Cell("99 %", true, |one| Some(format!("{:.3}", one.rtt.known(99.0, |rtt| rtt.p99)?))),
    Cell("max", true, |one| Some(format!("{:.3}", one.rtt.longest()?))),
    Cell("max/median", true, |one| Some(significant(one.max_over_median?))),
    Cell("change", true, |one| one.change_percent.map(change)),
];

const PATHS: [Cell<PathBound>; 3] = [
    Cell("run", false, |one| Some(one.run.clone())),
    Cell("", false, |one| Some(one.direction.to_string())),
    Cell("path MTU", true, |one| {
        let bound = match one.bound {
            Bound::Exact => "",
            Bound::AtLeast => "at least ",
            Bound::AtMost => "at most ",
            Bound::Unknown => "perhaps ",
        };
        Some(format!("{bound}{}", one.path_mtu))
    }),
];

const COMPARED: [Cell<Comparison>; 5] = [
    Cell("what", false, |row| Some(row.name.clone())),
    Cell("runs", true, |row| Some(runs(row))),
    Cell("change", true, shift),
    Cell("at 95 %", true, bounds),
    Cell("verdict", false, |row| Some(judged(row))),
];

/// The verdict in two words; how many runs would settle it is in the conclusion.
pub(in crate::format) fn judged(row: &Comparison) -> String {
    match row.judgement {
        Judgement::TooFew { .. } => "too few runs".into(),
        Judgement::CannotTell { .. } => "cannot tell".into(),
        Judgement::NoPercentage => "base is zero".into(),
        other => other.to_string(),
    }
}

/// How many runs the groups have.
pub(in crate::format) fn runs(row: &Comparison) -> String {
    format!("{}/{}", row.base.runs, row.other.runs)
}

/// How far the groups lie apart.
pub(in crate::format) fn shift(row: &Comparison) -> Option<String> {
    Some(change(row.shift?.percent))
}

/// Between which shifts the true one lies.
pub(in crate::format) fn bounds(row: &Comparison) -> Option<String> {
    let shift = row.shift?;
    Some(change_between(shift.low?, shift.high?))
}
