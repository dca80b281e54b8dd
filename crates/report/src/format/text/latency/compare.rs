//! Several paths in one table, in one unit, and a sentence for each.

use super::super::phrases;
use super::counts::share;
use super::egress::this_host;
use super::percentiles::median_bounds;
use super::times::Unit;
use crate::document::{Block, Column, Part, Table};
use model::latency::{EgressResult, WireTimes};
use model::run::Run;
use model::stats::distribution::{Centre, Distribution};
use model::stats::percentile::samples_needed;
use model::units::{Nanos, count, grouped, percent, significant};
use std::net::SocketAddr;

/// The table, and the sentences with what this host adds.
pub(in crate::format) fn sections(run: &Run) -> Vec<Vec<Part>> {
    let egress_paths = &run.summary.egress_paths;
    let unit = unit(egress_paths);
    let table = |egress_paths: &[EgressResult], more| {
        vec![Block::Table(Table::new(columns(egress_paths, more), rows(egress_paths, unit, more)))]
    };
    let widths =
        [More::ALL, More { observed: false, host: true }, More { observed: true, host: false }, More::NONE];
    let mut tables: Vec<Vec<Block>> = widths.into_iter().map(|more| table(egress_paths, more)).collect();
    tables.push(table(&shortened(egress_paths), More::NONE));
    let title = Block::Heading(format!("Round trips in {}", unit.name));
    let note = Block::Paragraph(note(egress_paths).unwrap_or_default());
    let noise = this_host(&run.summary).map(|noise| ("this host", noise));
    let floor = run.summary.tool_floor.map(|floor| {
        ("tool floor", format!("{} (median, this tool against itself over loopback)", floor.p50))
    });
    let sentences = Block::list(sentences(run));
    vec![
        vec![title.into(), Part::Fitting(tables), note.into()],
        vec![sentences.into(), Block::facts(noise.into_iter().chain(floor)).into()],
    ]
}

/// Labels of a width that leaves room for the figures.
fn shortened(egress_paths: &[EgressResult]) -> Vec<EgressResult> {
    let mut egress_paths = egress_paths.to_vec();
    egress_paths.iter_mut().for_each(|egress| egress.label = phrases::cut(&egress.label, LABEL));
    egress_paths
}

/// The unit that suits the medians.
pub(in crate::format) fn unit(egress_paths: &[EgressResult]) -> Unit {
    Unit::for_time(
        egress_paths
            .iter()
            .filter_map(|egress| egress.rtt)
            .map(|rtt| rtt.centre().time)
            .min()
            .unwrap_or_default(),
    )
}

/// Further columns of a table where there is room.
#[derive(Clone, Copy, Debug)]
struct More {
    /// The address that the far end sees, where it is another.
    observed: bool,
    /// The median on the wire, and what this host adds to it, where these were timed.
    host: bool,
}

impl More {
    /// Everything.
    const ALL: More = More { observed: true, host: true };
    const NONE: More = More { observed: false, host: false };

    /// The columns that have a value.
    fn among(self, egress_paths: &[EgressResult]) -> More {
        More {
            observed: self.observed && egress_paths.iter().any(|egress| translated(egress).is_some()),
            host: self.host && egress_paths.iter().any(|egress| egress.wire.is_some()),
        }
    }
}

/// The columns.
fn columns(egress_paths: &[EgressResult], more: More) -> Vec<Column> {
    let more = more.among(egress_paths);
    let mut columns = vec![Column::left("Path")];
    columns.extend(["Min", "Mean", "Median", "p99", "Max", "Count", "Std dev"].map(Column::right));
    if egress_paths.iter().any(|egress| egress.counted.lost > 0) {
        columns.push(Column::right("Lost"));
    }
    if more.host {
        columns.extend(["Wire p50", "Host adds"].map(Column::right));
    }
    if more.observed {
        columns.push(Column::left("Seen as"));
    }
    columns
}

/// A row for each path.
fn rows(egress_paths: &[EgressResult], unit: Unit, more: More) -> Vec<Vec<String>> {
    let more = more.among(egress_paths);
    let lost = egress_paths.iter().any(|egress| egress.counted.lost > 0);
    let row = |egress: &EgressResult| {
        let mut row = vec![egress.label.clone()];
        match egress.rtt.filter(|rtt| rtt.count > 0) {
            None => row.extend(["-", "-", "-", "-", "-", "0", "-"].map(String::from)),
            Some(rtt) => {
                let print = |time: Option<Nanos>| time.map_or_else(|| "-".into(), |time| unit.print(time));
                row.extend([rtt.least(), Some(rtt.mean), rtt.median()].map(print));
                let p99 = phrases::percentile(egress.standing(99.0), &unit.print(rtt.p99));
                row.push(p99.unwrap_or_else(|| "-".into()));
                row.extend([print(rtt.longest()), grouped(rtt.count), print(rtt.deviation())]);
            }
        }
        if lost {
            row.push(grouped(egress.counted.lost));
        }
        if more.host {
            let added = |wire: WireTimes| wire.application.p50.saturating_sub(wire.rtt.p50);
            let times = egress.wire.map(|wire| [wire.rtt.p50, added(wire)].map(|time| unit.print(time)));
            row.extend(times.unwrap_or_else(|| ["-"; 2].map(String::from)));
        }
        if more.observed {
            row.push(
                translated(egress)
                    .map_or_else(|| "-".into(), |observed| observed.ip().to_canonical().to_string()),
            );
        }
        row
    };
    egress_paths.iter().map(row).collect()
}

/// Why a p99 is missing.
fn note(egress_paths: &[EgressResult]) -> Option<String> {
    let needed = samples_needed(99.0)?;
    let least = egress_paths.iter().filter_map(|egress| egress.rtt).map(|rtt| rtt.count).min()?;
    (least < needed).then(|| format!("p99 takes {needed} round trips, {} more", needed - least))
}

/// A sentence for each path, the one with the shortest median being the measure; where none is known, that with the shortest mean.
fn sentences(run: &Run) -> Vec<String> {
    let egress_paths = &run.summary.egress_paths;
    let shortest = |time: fn(&Distribution) -> Option<Nanos>| {
        let known = egress_paths.iter().filter_map(|egress| Some((time(egress.rtt.as_ref()?)?, egress)));
        known.min_by_key(|(time, _)| *time).map(|(_, egress)| egress)
    };
    let best = shortest(Distribution::known_median).or_else(|| shortest(|rtt| Some(rtt.mean)));
    egress_paths.iter().map(|egress| sentence(run, egress, best)).collect()
}

fn sentence(run: &Run, egress: &EgressResult, best: Option<&EgressResult>) -> String {
    let (Some(rtt), Some(best)) = (egress.rtt.filter(|rtt| rtt.count > 0), best) else {
        return silent(egress);
    };
    let mut parts = vec![against(egress, &rtt, best)];
    let ratio = rtt.max.0 as f64 / rtt.p50.0.max(1) as f64;
    let far = run
        .findings
        .iter()
        .any(|finding| finding.id == "rtt-outliers" && finding.egress.as_ref() == Some(&egress.label));
    parts.push(match far {
        true => format!(
            "its longest, {}, is {} times the median and far from the rest",
            rtt.max,
            significant(ratio)
        ),
        false if rtt.longest().is_none() || rtt.median().is_none() => "the longest is not known".into(),
        false => format!("none far from the rest (longest {} medians)", significant(ratio)),
    });
    if egress.counted.lost > 0 {
        parts.push(format!(
            "{} lost ({})",
            egress.counted.lost,
            percent(share(egress.counted.lost, egress.counted.asked))
        ));
    }
    parts.extend(
        translated(egress).map(|observed| format!("seen as {} by the far end", observed.ip().to_canonical())),
    );
    format!("{}: {}.", egress.label, parts.join("; "))
}

fn silent(egress: &EgressResult) -> String {
    match (egress.received_rate, egress.counted.far_received) {
        (Some(rate), Some(arrived)) => {
            format!("{}: {rate}, {arrived} of {} messages arrived.", egress.label, egress.counted.sent)
        }
        _ => {
            format!("{}: no reply to any of {}.", egress.label, count(egress.counted.asked, "message"))
        }
    }
}

/// The median against the shortest one, and whether they differ beyond what chance makes.
fn against(egress: &EgressResult, rtt: &Distribution, best: &EgressResult) -> String {
    let is_known = rtt.known_median().is_some();
    let own = rtt
        .known_median()
        .map_or(Centre { time: rtt.mean, name: "mean" }, |time| Centre { time, name: "median" });
    if egress.label == best.label {
        return format!("shortest {}, {}", own.name, own.time);
    }
    let Some(measure) = best.rtt.filter(|best| best.known_median().is_some() == is_known) else {
        let centre = rtt.centre();
        let bound = if rtt.median().is_some() { "at least " } else { "" };
        return format!("{} {bound}{}, with which no median is compared", centre.name, centre.time);
    };
    let (centre, shortest) = (own, if is_known { measure.p50 } else { measure.mean });
    let more = centre.time.saturating_sub(shortest);
    let percent = percent(share(more.0, shortest.0.max(1)));
    let same = match (median_bounds(egress), median_bounds(best)) {
        (Some((low, _)), Some((_, high))) if low <= high => ", no more than chance",
        _ => "",
    };
    format!("{} {more} ({percent}) above that of {}{same}", centre.name, best.label)
}

/// The address that the far end sees, where it is not this end's own.
fn translated(egress: &EgressResult) -> Option<SocketAddr> {
    let observed = egress.ends.seen_as?;
    (observed.ip().to_canonical() != egress.ends.local.ip().to_canonical()).then_some(observed)
}

/// Letters of a label in a full table.
const LABEL: usize = 22;
