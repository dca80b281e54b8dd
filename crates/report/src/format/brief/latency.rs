//! Round trips: percentiles in a row, their bounds, and a short histogram; of several paths or phases their tables.

use super::super::text::latency::{
    Given, Unit, counted, given, histogram_rows, load_limits, load_sections, paths_sections, reservation,
};
use crate::document::{Block, FigureRow, FigureTable, Paint, Part, Remark, Spark, TextBar};
use model::latency::EgressResult;
use model::run::Run;
use model::units::{Nanos, grouped};

/// The tables of the run.
pub(super) fn sections(run: &Run) -> Vec<Vec<Part>> {
    let mut sections = match run.summary.egress_paths.as_slice() {
        [egress] if run.summary.loaded.is_none() => path_sections(egress, run),
        [] | [_] => Vec::new(),
        _ => paths_sections(run),
    };
    sections.extend(run.summary.loaded.iter().flat_map(load_sections));
    sections
}

/// The limit of each load.
pub(super) fn limits(run: &Run) -> Vec<Remark> {
    let limits = run.summary.loaded.iter().flat_map(|loaded| load_limits(loaded));
    limits.map(|(load, sentence)| Remark::new((Paint::Plain, "limit"), load, sentence)).collect()
}

fn path_sections(egress: &EgressResult, run: &Run) -> Vec<Vec<Part>> {
    let rtt = egress.rtt.filter(|rtt| rtt.count > 0);
    let unit = rtt.map(|rtt| Unit::for_time(rtt.centre().time));
    let mut figures: Vec<Part> = unit.into_iter().flat_map(|unit| percentiles(egress, unit)).collect();
    let counts = &egress.counted;
    let is_odd =
        [counts.lost, counts.late, counts.duplicates, counts.reordered, counts.unsent, counts.in_flight]
            .iter()
            .any(|count| *count > 0);
    let counts = (rtt.is_none() || is_odd).then(|| counted(counts));
    figures.push(Block::Sentences(counts.into_iter().chain(reservation(egress)).collect()).into());
    let bars = unit.map(|unit| {
        let part = |is_short| vec![Part::Histogram(histogram(egress, unit, is_short))];
        vec![Part::Brief(part(true)), Part::Full(part(false))]
    });
    [figures].into_iter().chain(bars).chain([over_time(run)]).collect()
}

/// The row of percentiles that the count carries, across the screen or, on a narrow one, down.
fn percentiles(egress: &EgressResult, unit: Unit) -> Vec<Part> {
    let Some(rtt) = egress.rtt else { return Vec::new() };
    let given = given(egress);
    let least = |one: &Given| if one.at_least { "≥ " } else { "" };
    let middle = given.iter().map(|one| (format!("p{}", one.percent), least(one), one.value));
    let mut figures: Vec<(String, &str, Nanos)> = Vec::new();
    figures.extend(rtt.least().map(|least| ("min".to_owned(), "", least)));
    figures.extend(middle);
    figures.extend(rtt.longest().map(|longest| ("max".to_owned(), "", longest)));
    figures.push(("mean".into(), "", rtt.mean));
    let (heads, values): (Vec<String>, Vec<Option<String>>) = figures
        .into_iter()
        .map(|(head, least, time)| (head, Some(format!("{least}{}", digits(unit, time)))))
        .unzip();
    let bounds = given.iter().find(|one| (one.percent - 50.0).abs() < 1e-9).and_then(|one| one.bounds);
    let half = bounds.map(|(low, high)| Nanos(high.0.saturating_sub(low.0) / 2));
    let shown = |half| match digits(unit, half).as_str() {
        "0.00" => "under 0.01".to_owned(),
        digits => digits.to_owned(),
    };
    let sure = half.map(|half| format!("median ± {} {} (95 % CI)", shown(half), unit.name));
    let down = heads.iter().zip(&values);
    let down = down.map(|(head, value)| FigureRow::new(head, [value.clone()]).with_note(unit.name.into()));
    let down = FigureTable { heads: vec![String::new()], rows: down.collect() };
    let across = FigureRow::new("", values.iter().cloned()).with_note(unit.name.into());
    let across = FigureTable { heads: heads.clone(), rows: vec![across] };
    let tables = [across, down].map(|table| vec![Block::Figures(table)]);
    vec![Part::Fitting(tables.into()), Block::Sentences(sure.into_iter().collect()).into()]
}

/// Three significant digits and no more than two decimals: the clocks resolve no more.
fn digits(unit: Unit, time: Nanos) -> String {
    let value = unit.of_time(time);
    match value {
        whole if whole >= 999.5 => grouped(whole.round() as u64),
        whole if whole >= 99.95 => format!("{whole:.0}"),
        tens if tens >= 9.995 => format!("{tens:.1}"),
        _ if unit.name == "ns" => format!("{value:.0}"),
        ones => format!("{ones:.2}"),
    }
}

/// Bars, the longest round trips in the last row.
fn histogram(egress: &EgressResult, unit: Unit, is_short: bool) -> Vec<TextBar> {
    let rows = histogram_rows(egress, is_short);
    let last = rows.len().saturating_sub(1);
    let row = |(index, row): (usize, &(Nanos, Nanos, u64, f64))| {
        let low = digits(unit, row.0);
        let name = if index == last && index > 0 { format!(">{low}") } else { low };
        TextBar { name, value: grouped(row.2), share: row.3, limit: None }
    };
    rows.iter().enumerate().map(row).collect()
}

/// The medians of the intervals as bars, from 0 to the highest.
fn over_time(run: &Run) -> Vec<Part> {
    let medians = run.latency_intervals.iter().map(|sample| {
        let rtt = sample.egress_paths.first()?.rtt.filter(|rtt| rtt.count > 0)?;
        Some(rtt.p50.0)
    });
    let values: Vec<Option<u64>> = medians.collect();
    let known = values.iter().flatten();
    let Some(most) = known.clone().copied().max().filter(|_| known.count() >= LEAST_MEDIANS) else {
        return Vec::new();
    };
    let note = format!("medians, highest {}", Nanos(most));
    vec![Part::OverTime(String::new(), vec![Spark { name: "over time".into(), values, most, note }])]
}

/// Fewer intervals show nothing of the time.
const LEAST_MEDIANS: usize = 3;
