//! Bars of the rates, so that the eye can compare: on an axis that starts where the differences are.

use crate::format::text::{latency::bar, phrases};
use crate::format::{Paint, Style};
use model::transfer::TransferRow;
use model::units::BitRate;

/// The chart; none of a single row.
pub(super) fn draw_chart(rows: &[TransferRow], style: &Style) -> String {
    let medians: Vec<(&TransferRow, f64)> =
        rows.iter().filter_map(|row| Some((row, row.rate?.median))).collect();
    let most = medians.iter().map(|(_, median)| *median).fold(0.0, f64::max);
    if medians.len() < 2 || most <= 0.0 {
        return String::new();
    }
    let least = medians.iter().map(|(_, median)| *median).fold(most, f64::min);
    // Bars that differ by a hundredth look alike on an axis from zero; differences that are noise shall.
    let noise = rows.iter().filter_map(|row| Some(row.rate?.stddev)).fold(0.0, f64::max);
    let clear = least > most * 0.8 && most - least > noise;
    let from = if clear { least - (most - least).max(most * 0.005) } else { 0.0 };
    let label =
        medians.iter().map(|(row, _)| row.label.chars().count()).max().unwrap_or(0).min(super::MOST_LABEL);
    let width = style.width.saturating_sub(label + 20).clamp(10, 60);
    let axis = if from > 0.0 { format!(", bars from {}", BitRate(from as u64)) } else { String::new() };
    let mut text = format!("\n{}{axis}\n", style.paint(Paint::Bold, "Median rate"));
    for (row, median) in medians {
        let bar = bar((median - from) / (most - from).max(1.0), width);
        let name = phrases::cut(&row.label, label);
        text.push_str(&format!("  {name:<label$}  {:>12}  {bar}\n", BitRate(median as u64).to_string()));
    }
    text
}
