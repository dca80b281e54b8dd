//! Several ways in one table, in one unit, and a sentence for each.

use super::super::super::Style;
use super::super::super::table::whole;
use super::super::result::fact;
use super::super::words;
use super::counts::share;
use super::percentiles::median_bounds;
use super::times::Unit;
use super::title;
use super::way::this_host;
use crate::document::Column;
use model::latency::{EgressResult, WireTimes};
use model::run::Run;
use model::stats::percentile::{carries, samples_needed};
use model::units::Nanos;
use std::net::SocketAddr;

/// The table and the sentences.
pub(in crate::format) fn block(run: &Run, style: &Style) -> String {
    let ways = &run.summary.ways;
    let unit = unit(ways);
    let mut text = title(&format!("Round trips in {}", unit.name), style);
    let fits = |table: &str| table.lines().all(|line| line.chars().count() <= style.width.max(80));
    let table = |ways: &[EgressResult], more| whole(&columns(ways, more), &rows(ways, unit, more));
    let widths = [More::ALL, More { seen: false, host: true }, More { seen: true, host: false }, More::NONE];
    let widest = widths.into_iter().map(|more| table(ways, more)).find(|table| fits(table));
    text.push_str(&widest.unwrap_or_else(|| table(&shortened(ways), More::NONE)));
    if let Some(note) = note(ways) {
        text.extend(style.wrap(&note, 2).iter().map(|line| format!("  {line}\n")));
    }
    text.push('\n');
    for sentence in sentences(run) {
        for (index, line) in style.wrap(&sentence, 4).iter().enumerate() {
            text.push_str(&format!("{}{line}\n", if index == 0 { "  " } else { "    " }));
        }
    }
    if let Some(noise) = this_host(&run.summary) {
        text.push_str(&fact("this host", &noise, style));
    }
    if let Some(floor) = run.summary.tool_floor {
        text.push_str(&fact(
            "tool floor",
            &format!("{} (median, this tool against itself over loopback)", floor.p50),
            style,
        ));
    }
    text
}

/// Labels of a width that leaves room for the figures.
fn shortened(ways: &[EgressResult]) -> Vec<EgressResult> {
    let mut ways = ways.to_vec();
    for way in ways.iter_mut().filter(|way| way.label.chars().count() > LABEL) {
        way.label = way.label.chars().take(LABEL - 1).chain(['…']).collect();
    }
    ways
}

/// The unit that suits the medians.
pub(in crate::format) fn unit(ways: &[EgressResult]) -> Unit {
    Unit::of(ways.iter().filter_map(|way| way.rtt).map(|rtt| rtt.p50).min().unwrap_or_default())
}

/// What a table tells where there is room.
#[derive(Clone, Copy, Debug)]
pub(in crate::format) struct More {
    /// The address that the far end sees, where it is another.
    seen: bool,
    /// The median on the wire, and what this host adds to it, where these were timed.
    host: bool,
}

impl More {
    /// Everything.
    pub(in crate::format) const ALL: More = More { seen: true, host: true };
    const NONE: More = More { seen: false, host: false };

    /// As far as there is something to tell.
    fn of(self, ways: &[EgressResult]) -> More {
        More {
            seen: self.seen && ways.iter().any(|way| translated(way).is_some()),
            host: self.host && ways.iter().any(|way| way.wire.is_some()),
        }
    }
}

/// The columns.
pub(in crate::format) fn columns(ways: &[EgressResult], more: More) -> Vec<Column> {
    let more = more.of(ways);
    let mut columns = vec![Column::left("Way")];
    columns.extend(["Mean", "Max", "Min", "p50", "p99", "Std dev"].map(Column::right));
    if ways.iter().any(|way| way.counted.lost > 0) {
        columns.push(Column::right("Lost"));
    }
    if more.host {
        columns.extend(["Wire p50", "Host adds"].map(Column::right));
    }
    if more.seen {
        columns.push(Column::left("Seen as"));
    }
    columns
}

/// A row for each path.
pub(in crate::format) fn rows(ways: &[EgressResult], unit: Unit, more: More) -> Vec<Vec<String>> {
    let more = more.of(ways);
    let lost = ways.iter().any(|way| way.counted.lost > 0);
    let row = |way: &EgressResult| {
        let mut row = vec![way.label.clone()];
        match way.rtt.filter(|rtt| rtt.count > 0) {
            None => row.extend(["-"; 6].map(String::from)),
            Some(rtt) => {
                row.extend([rtt.mean, rtt.max, rtt.min, rtt.p50].map(|time| unit.print(time)));
                row.push(p99(rtt.count, &unit.print(rtt.p99)));
                row.push(unit.print(rtt.stddev));
            }
        }
        if lost {
            row.push(way.counted.lost.to_string());
        }
        if more.host {
            let added = |wire: WireTimes| wire.application.p50.saturating_sub(wire.rtt.p50);
            let times = way.wire.map(|wire| [wire.rtt.p50, added(wire)].map(|time| unit.print(time)));
            row.extend(times.unwrap_or_else(|| ["-"; 2].map(String::from)));
        }
        if more.seen {
            row.push(translated(way).map_or_else(|| "-".into(), |seen| seen.ip().to_canonical().to_string()));
        }
        row
    };
    ways.iter().map(row).collect()
}

fn p99(count: u64, value: &str) -> String {
    if carries(count, 99.0) { value.into() } else { "-".into() }
}

/// Why a p99 is missing.
pub(in crate::format) fn note(ways: &[EgressResult]) -> Option<String> {
    let needed = samples_needed(99.0)?;
    let least = ways.iter().filter_map(|way| way.rtt).map(|rtt| rtt.count).min()?;
    (least < needed).then(|| format!("p99 takes {needed} round trips, {} more", needed - least))
}

/// A sentence for each path, the way with the shortest median being the measure.
pub(in crate::format) fn sentences(run: &Run) -> Vec<String> {
    let ways = &run.summary.ways;
    let best = ways.iter().filter(|way| way.rtt.is_some()).min_by_key(|way| way.rtt.map(|rtt| rtt.p50));
    ways.iter().map(|way| sentence(run, way, best)).collect()
}

fn sentence(run: &Run, way: &EgressResult, best: Option<&EgressResult>) -> String {
    let (Some(rtt), Some(best)) = (way.rtt.filter(|rtt| rtt.count > 0), best) else {
        return silent(way);
    };
    let mut parts = vec![against(way, rtt.p50, best)];
    let ratio = rtt.max.0 as f64 / rtt.p50.0.max(1) as f64;
    let far = run
        .findings
        .iter()
        .any(|finding| finding.id == "rtt-outliers" && finding.way.as_ref() == Some(&way.label));
    parts.push(match far {
        true => format!("its longest, {}, is {ratio:.2} times the median and far from the rest", rtt.max),
        false => format!("none far from the rest (longest {ratio:.3} medians)"),
    });
    if way.counted.lost > 0 {
        parts.push(format!(
            "{} lost ({})",
            way.counted.lost,
            words::percent(share(way.counted.lost, way.counted.asked))
        ));
    }
    parts.extend(translated(way).map(|seen| format!("seen as {} by the far end", seen.ip().to_canonical())));
    format!("{}: {}.", way.label, parts.join("; "))
}

fn silent(way: &EgressResult) -> String {
    match (way.received_rate, way.counted.far_received) {
        (Some(rate), Some(arrived)) => {
            format!("{}: {rate}, {arrived} of {} messages arrived.", way.label, way.counted.sent)
        }
        _ => format!("{}: no reply to any of {}.", way.label, words::count(way.counted.asked, "message")),
    }
}

/// The median against the shortest one, and whether they differ beyond what chance makes.
fn against(way: &EgressResult, median: Nanos, best: &EgressResult) -> String {
    let shortest = best.rtt.map(|rtt| rtt.p50).unwrap_or_default();
    if way.label == best.label {
        return format!("shortest median, {median}");
    }
    let more = median.saturating_sub(shortest);
    let percent = words::percent(share(more.0, shortest.0.max(1)));
    let same = match (median_bounds(way), median_bounds(best)) {
        (Some((low, _)), Some((_, high))) if low <= high => ", no more than chance",
        _ => "",
    };
    format!("median {more} ({percent}) above that of {}{same}", best.label)
}

/// The address that the far end sees, where it is not this end's own.
fn translated(way: &EgressResult) -> Option<SocketAddr> {
    let seen = way.ends.seen_as?;
    (seen.ip().to_canonical() != way.ends.local.ip().to_canonical()).then_some(seen)
}

/// Letters of a label in a full table.
const LABEL: usize = 22;
