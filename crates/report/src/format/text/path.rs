//! Runs about packet sizes as text: what crosses in each direction, the sizes tried, fragments, what is not known, what to set.

mod advice;
mod directions;
mod fragments;
mod heading;
mod sizes;

pub(in crate::format) use advice::{entries as settings, name as setting};
pub(in crate::format) use directions::{bound, delivery_word, facts, service};
pub(in crate::format) use fragments::{
    is_whole, name as fragment_shape, rows as fragment_rows, shapes as fragment_shapes,
};
pub use heading::started;
pub(in crate::format) use heading::{known_directions, route, subject, unknown};
pub(in crate::format) use sizes::strips;

use model::path::PathResult;
use model::units::count;

/// How many packets and how much time it took.
pub(in crate::format) fn effort(path: &PathResult) -> Option<String> {
    (path.packets > 0).then(|| format!("{} in {}", count(path.packets, "packet"), path.elapsed))
}
