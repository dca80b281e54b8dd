//! Figures of a run in frames of one size. A sweep over several has no single number: its rows do.

use super::super::quantity::Quantity;
use super::{Figure, Source};
use model::frames::FrameRow;
use model::run::Run;

const fn run(name: &'static str, quantity: Quantity, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Run(of) }
}

/// Every figure of frames.
pub(in super::super) static FRAMES: &[Figure] = &[
    run("frames.goodput", Quantity::Rate, |r| only(r).map(|row| row.goodput.0 as f64)),
    run("frames.packets_per_second", Quantity::Packets, |r| {
        only(r)?.packets_per_second.map(|rate| rate.0 as f64)
    }),
    run("frames.share", Quantity::Share, |r| only(r)?.share),
];

/// The one size that was measured.
fn only(run: &Run) -> Option<&FrameRow> {
    match run.summary.rows.as_slice() {
        [row] if row.skipped.is_none() => Some(row),
        _ => None,
    }
}
