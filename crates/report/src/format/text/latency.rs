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

pub(in crate::format) use compare::{sections as paths_sections, unit as compare_unit};
pub(in crate::format) use counts::counted;
pub(in crate::format) use egress::facts;
pub(super) use heading::started;
pub(in crate::format) use heading::{ends_line, phrase, title, waits};
pub(super) use intervals::{header, row};
pub(in crate::format) use loaded::{limits as load_limits, responsiveness, sections as load_sections};
pub(in crate::format) use percentiles::{Given, given, missing, reservation};
pub(in crate::format) use tables::{histogram_rows, slowest};
pub(in crate::format) use times::Unit;
