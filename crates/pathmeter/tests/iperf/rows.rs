//! The figures of one end against each other: times that follow one another, parts that make the whole, rates that are
//! amounts over times.

use super::shapes::id;
use std::collections::BTreeMap;

/// A row of a time.
#[derive(Clone, Debug)]
struct TextRow {
    times: (f64, f64),
    /// Bytes, and by how much they may be off for being rounded.
    bytes: (f64, f64),
    /// Bits per second, likewise.
    rate: (f64, f64),
    line: String,
}

/// Holds the rows of an end that reports at this interval, if at any.
pub(crate) fn hold(text: &str, interval: Option<f64>) {
    let mut streams: BTreeMap<String, Vec<TextRow>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.contains("Server Report")) {
        if let Some(row) = parsed(line) {
            streams.entry(id(line)).or_default().push(row);
        }
    }
    assert!(!streams.is_empty(), "no rows in {text}");
    let mut wholes = Vec::new();
    let mut sum = None;
    for (id, rows) in &streams {
        rows.iter().for_each(|row| rate_is_amount_over_time(row, text));
        let rows = without_report(rows, text);
        let (whole, parts) = rows.split_last().expect("a stream has a row");
        assert_eq!(whole.times.0, 0.0, "the last row of {id} is not of the whole time in {text}");
        match interval {
            Some(interval) => parts_make_the_whole(parts, whole, interval, text),
            None => assert!(parts.is_empty(), "rows of intervals that were not requested in {text}"),
        }
        match id.starts_with("[SUM") {
            true => sum = Some(whole.clone()),
            false => wholes.push(whole.clone()),
        }
    }
    if let Some(sum) = sum.filter(|_| !wholes.is_empty()) {
        let all: f64 = wholes.iter().map(|row| row.bytes.0).sum();
        let off: f64 = wholes.iter().map(|row| row.bytes.1).sum::<f64>() + sum.bytes.1;
        assert!((all - sum.bytes.0).abs() <= off, "{all} bytes and {sum:?} in {text}");
    }
}

/// A client's rows without those of the server's report, which come last.
fn without_report<'a>(rows: &'a [TextRow], text: &str) -> &'a [TextRow] {
    let reported = text.contains("Server Report:") && !rows[0].line.starts_with("[SUM");
    if reported { &rows[..rows.len() - 1] } else { rows }
}

/// Has each interval of this end been closed before the next was over?
pub(crate) fn are_on_time(text: &str, interval: f64) -> bool {
    let whole = |row: &TextRow| row.line.starts_with("[SUM") || row.times.0 == 0.0;
    let late = |row: &TextRow| !is_in_time(row, interval) && !whole(row);
    let rows: Vec<TextRow> = text.lines().filter_map(parsed).collect();
    let begun = rows.iter().any(|row| row.times.0 == 0.0 && is_in_time(row, interval));
    begun && !rows.iter().any(late)
}

fn is_in_time(part: &TextRow, interval: f64) -> bool {
    part.times.1 - part.times.0 < 1.9 * interval
}

fn parts_make_the_whole(parts: &[TextRow], whole: &TextRow, interval: f64, text: &str) {
    let mut end = 0.0;
    for (at, part) in parts.iter().enumerate() {
        assert_eq!(part.times.0, end, "{part:?} does not begin where the one before has ended, in {text}");
        end = part.times.1;
        let long = part.times.1 - part.times.0 > 0.1 * interval;
        assert!((long || at + 1 == parts.len()) && is_in_time(part, interval), "{part:?} in {text}");
    }
    // A last part of an interval has no row of its own when it is less than a quarter.
    let left = whole.times.1 - end;
    let shown = if whole.line.starts_with('[') { SHOWN } else { SHOWN_IN_CSV };
    assert!(left <= 0.25 * interval + shown, "{left} s have no row in {text}");
    // Intervals go on until the last of the streams is over.
    let mut after = parts.iter().filter(|part| part.times.0 > whole.times.1);
    assert!(after.all(|part| part.bytes.0 == 0.0), "data after the end of {whole:?} in {text}");
    let sum: f64 = parts.iter().map(|part| part.bytes.0).sum();
    let off: f64 = parts.iter().map(|part| part.bytes.1).sum::<f64>() + whole.bytes.1;
    assert!(sum <= whole.bytes.0 + off, "the parts are {sum} bytes of {whole:?} in {text}");
}

fn rate_is_amount_over_time(row: &TextRow, text: &str) {
    let (start, end) = row.times;
    let off = if row.line.starts_with('[') { SHOWN } else { SHOWN_IN_CSV };
    let least = (row.bytes.0 - row.bytes.1) * 8.0 / (end - start + off);
    let most = (row.bytes.0 + row.bytes.1) * 8.0 / (end - start - off).max(1e-9);
    let (rate, rounded) = row.rate;
    assert!(least <= rate + rounded && rate - rounded <= most, "{least} to {most}: {row:?} in {text}");
}

/// A row of text or CSV; `None`: another line.
fn parsed(line: &str) -> Option<TextRow> {
    let span = |text: &str| {
        let (start, end) = text.split_once('-')?;
        Some((start.parse().ok()?, end.parse().ok()?))
    };
    if !line.starts_with('[') {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, _, _, _, _, _, times, bytes, rate, ..] = fields.as_slice() else { return None };
        let exact = |text: &str| Some((text.parse().ok()?, 1.0));
        return Some(TextRow {
            times: span(times)?,
            bytes: exact(bytes)?,
            rate: exact(rate)?,
            line: line.into(),
        });
    }
    let (front, behind) = line.split_once(" sec ")?;
    let args: Vec<&str> = behind.split_whitespace().collect();
    let [amount, unit, rate, per_second, ..] = args.as_slice() else { return None };
    Some(TextRow {
        times: span(front.rsplit([' ', ']']).next()?)?,
        bytes: scaled(amount, unit)?,
        rate: rate_of(rate, per_second.strip_suffix("/sec")?)?,
        line: line.into(),
    })
}

/// Bits per second.
fn rate_of(number: &str, unit: &str) -> Option<(f64, f64)> {
    let (rate, off) = scaled(number, unit)?;
    Some(if unit.ends_with("bits") { (rate, off) } else { (rate * 8.0, off * 8.0) })
}

/// A number of a unit: bytes go by 1024, bits by 1000.
fn scaled(number: &str, unit: &str) -> Option<(f64, f64)> {
    let bits = unit.ends_with("bits");
    let base: f64 = if bits { 1000.0 } else { 1024.0 };
    let power =
        ["K", "M", "G"].iter().position(|prefix| unit.starts_with(prefix)).map_or(0, |at| at as i32 + 1);
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len() as i32);
    let scale = base.powi(power);
    Some((number.parse::<f64>().ok()? * scale, 0.5000001 * 10_f64.powi(-digits) * scale))
}

/// Times are cut to a tenth of a millisecond, and in CSV to a tenth of a second.
const SHOWN: f64 = 0.000_11;
const SHOWN_IN_CSV: f64 = 0.11;
