//! Figures of several runs put together, and tables of them in Markdown.

use model::units::Bytes;

/// Median; none of nothing. What is not a number is left out.
pub(crate) fn middle_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(if values.len().is_multiple_of(2) {
        f64::midpoint(upper, values[values.len() / 2 - 1])
    } else {
        upper
    })
}

/// Least and most.
pub(crate) fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

pub(crate) fn value(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

pub(crate) fn ratio(value: f64) -> String {
    match value {
        10.0.. => format!("{value:.0}"),
        0.1..10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub(crate) fn mebibytes(bytes: Bytes) -> f64 {
    bytes.0 as f64 / f64::from(1 << 20)
}

pub(crate) fn row<const N: usize>(cells: [&str; N]) -> [String; N] {
    cells.map(Into::into)
}

/// Aligned, so that it reads in a terminal and in a document.
pub(crate) fn markdown<const N: usize>(rows: Vec<[String; N]>) -> String {
    let widths: [usize; N] =
        std::array::from_fn(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for (index, cells) in rows.iter().enumerate() {
        for (cell, width) in cells.iter().zip(widths) {
            text += &format!("| {cell:width$} ");
        }
        text += "|\n";
        if index == 0 {
            text += &widths.map(|w| format!("|{}", "-".repeat(w + 2))).concat();
            text += "|\n";
        }
    }
    text
}
