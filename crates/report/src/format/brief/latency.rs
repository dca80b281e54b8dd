//! Round trips: percentiles in a row, their bounds, and a short histogram; of several ways or phases their tables.

use super::super::text::latency::{
    Given, Unit, bars_over_time, counted, given, histogram_rows, load_brief, load_limits, reservation,
    ways_block,
};
use super::super::{Paint, Style};
use super::findings::{hanging, one_line};
use super::grouped;
use super::screen::{Body, Remark};
use crate::document::{FigureRow, FigureTable};
use model::latency::EgressResult;
use model::run::Run;
use model::units::Nanos;

/// The tables of the run, and the limit of each load below them.
pub(super) fn body(run: &Run, style: &Style) -> Body {
    let egress_paths = match run.summary.egress_paths.as_slice() {
        [] => String::new(),
        [egress] if run.summary.loaded.is_none() => egress_line(egress, style) + &over_time(run, style),
        [_] => String::new(),
        _ => ways_block(run, style),
    };
    let parts = [egress_paths, load_brief(run, style)];
    let parts: Vec<&str> =
        parts.iter().map(|part| part.trim_start_matches('\n')).filter(|part| !part.is_empty()).collect();
    Body { remarks: limits(run, style), ..Body::of_sections(&parts.join("\n")) }
}

fn limits(run: &Run, style: &Style) -> Vec<Remark> {
    let mark = format!("{:<8}", "limit");
    let remark = |(load, sentence): (&str, String)| Remark {
        id: "limit".into(),
        line: one_line(&mark, load, &sentence, style),
        full: hanging(&mark, &format!("{load}: {sentence}"), None, style),
    };
    run.summary.loaded.iter().flat_map(|loaded| load_limits(loaded)).map(remark).collect()
}

fn egress_line(egress: &EgressResult, style: &Style) -> String {
    let (mut text, mut bars) = (String::new(), String::new());
    match egress.rtt.filter(|rtt| rtt.count > 0) {
        Some(rtt) => {
            let unit = Unit::for_time(rtt.centre().time);
            text.push_str(&percentiles(egress, unit, style));
            bars = if style.bars { histogram(egress, unit, style) } else { String::new() };
        }
        None => text.push_str(&style.list(&[counted(&egress.counted)], "  ")),
    }
    let counts = &egress.counted;
    let is_odd =
        [counts.lost, counts.late, counts.duplicates, counts.reordered, counts.unsent, counts.in_flight]
            .iter()
            .any(|count| *count > 0);
    if is_odd && egress.rtt.is_some() {
        text.push_str(&style.list(&[counted(&egress.counted)], "  "));
    }
    if let Some(reserved) = reservation(egress) {
        text.push_str(&style.list(&[reserved], "  "));
    }
    text + &bars
}

/// The row of percentiles that the count carries, across the screen or, on a narrow one, down.
fn percentiles(egress: &EgressResult, unit: Unit, style: &Style) -> String {
    let Some(rtt) = egress.rtt else { return String::new() };
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
    let across = FigureTable {
        heads: heads.clone(),
        rows: vec![FigureRow::new("", values.clone()).with_note(unit.name.into())],
    };
    let wide = Style { width: usize::MAX, ..*style };
    let mut text = across.text(&wide);
    let uncoloured = across.text(&Style { colour: false, ..wide });
    if uncoloured.lines().any(|line| line.chars().count() > style.width) {
        let down = heads
            .iter()
            .zip(values)
            .map(|(head, value)| FigureRow::new(head, [value]).with_note(unit.name.into()));
        text = FigureTable { heads: vec![String::new()], rows: down.collect() }.text(style);
    }
    text + &style.list(&sure.into_iter().collect::<Vec<_>>(), "  ")
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
fn histogram(egress: &EgressResult, unit: Unit, style: &Style) -> String {
    let room = style.width.saturating_sub(BESIDE).clamp(10, 40);
    let rows = histogram_rows(egress, room, !style.detail);
    let last = rows.len().saturating_sub(1);
    let label = |index: usize, low: Nanos| {
        let low = digits(unit, low);
        if index == last && index > 0 { format!(">{low}") } else { low }
    };
    let lines = rows.iter().enumerate().map(|(index, (low, _, count, bar))| {
        let bar = format!("{bar:<room$}");
        format!("  {:>8} ▕{}{:>12}\n", label(index, *low), style.paint(Paint::Good, &bar), grouped(*count))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// The medians of the intervals as bars, from 0 to the highest.
fn over_time(run: &Run, style: &Style) -> String {
    let medians = run.latency_intervals.iter().map(|sample| {
        let rtt = sample.egress_paths.first()?.rtt.filter(|rtt| rtt.count > 0)?;
        Some(rtt.p50.0)
    });
    let medians: Vec<Option<u64>> = medians.collect();
    let known = medians.iter().flatten();
    let Some(highest) = known.clone().max().filter(|_| style.bars && known.count() >= LEAST_MEDIANS) else {
        return String::new();
    };
    let bars = bars_over_time(&medians, *highest, style.width.saturating_sub(BESIDE_TIME).clamp(10, 40));
    let text = format!("  over time ▕{bars}▏medians, highest {}\n", Nanos(*highest));
    format!("\n{text}")
}

/// Fewer intervals show nothing of the time.
const LEAST_MEDIANS: usize = 3;
/// Columns beside the medians.
const BESIDE_TIME: usize = 40;
/// Columns beside the bars.
const BESIDE: usize = 26;
