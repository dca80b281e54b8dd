//! Figures of a run in frames of one size. A sweep over several has no single number: its rows do.

use super::Quantity::{self, Packets, Rate, Share};
use super::{Figure, Get, Names, Note, Scope, whole};
use model::frames::FrameRow;
use model::run::Run;

const fn frames(names: Names, quantity: Quantity, get: Get<Run>, note: Note) -> Figure {
    whole(names, quantity, get, note).higher().within(Scope::Frames)
}

/// Every figure of frames.
#[rustfmt::skip]
pub(super) static FRAMES: &[Figure] = &[
    frames(("frames.goodput", "goodput"), Rate, |r| only(r).map(|row| row.goodput.0 as f64),
        "payload that arrived, per second").listed(1),
    frames(("frames.packets_per_second", "packets per second"), Packets, |r| only(r)?.packets_per_second.map(|rate| rate.0 as f64),
        "packets that carried it, per second").listed(2),
    frames(("frames.share", "of line rate"), Share, |r| only(r)?.share, "share of the link that they filled on the wire"),
];

/// The one size that was measured.
fn only(run: &Run) -> Option<&FrameRow> {
    match run.summary.rows.as_slice() {
        [row] if row.skipped.is_none() => Some(row),
        _ => None,
    }
}
