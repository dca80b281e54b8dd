//! Latency runs as text: the heading, the intervals, a block for one way or a table of several, and the load.

mod chart;
mod compare;
mod counts;
mod egress;
mod heading;
mod intervals;
mod loaded;
mod percentiles;
mod tables;
mod times;

pub(in crate::format) use chart::{bar, line as bars_over_time};
pub(in crate::format) use compare::{
    More, block as ways_block, columns as compare_columns, note as compare_note, rows as compare_rows,
    sentences, unit as compare_unit,
};
pub(in crate::format) use counts::counted;
pub(in crate::format) use egress::facts;
pub(super) use heading::started;
pub(in crate::format) use heading::{ends_line, phrase, title, waits};
pub(super) use intervals::{header, row};
pub(in crate::format) use loaded::{
    brief as load_brief, columns as load_columns, limits as load_limits, responsiveness, rows as load_rows,
};
pub(in crate::format) use percentiles::{Given, given, missing, reservation};
pub(in crate::format) use tables::{histogram_rows, slowest};
pub(in crate::format) use times::Unit;

use super::super::{Paint, Style};

/// An empty line and a heading.
fn title_text(text: &str, style: &Style) -> String {
    let lines = style.wrap(text, 0);
    lines.iter().fold(String::from("\n"), |all, line| all + &style.paint(Paint::Bold, line) + "\n")
}
