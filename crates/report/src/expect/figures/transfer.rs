//! Figures of a run of transfers. Of several rows the worst counts: what is expected holds for all of them.

use super::super::quantity::Quantity;
use super::{Figure, Source};
use model::run::Run;
use model::transfer::{Spread, TransferRow};

const fn run(name: &'static str, quantity: Quantity, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Run(of) }
}

/// Every figure of transfers.
pub(in super::super) static TRANSFER: &[Figure] = &[
    run("transfer.rate", Quantity::Rate, |r| worst(r, |row| row.rate, |rate| rate.median, f64::min)),
    run("transfer.rate.min", Quantity::Rate, |r| worst(r, |row| row.rate, |rate| rate.min, f64::min)),
    run("transfer.total", Quantity::Time, |r| worst(r, |row| row.total, |time| time.median, f64::max)),
    run("transfer.total.max", Quantity::Time, |r| worst(r, |row| row.total, |time| time.max, f64::max)),
    run("transfer.first_byte", Quantity::Time, |r| {
        worst(r, |row| row.first_byte, |time| time.median, f64::max)
    }),
    run("transfer.failed", Quantity::Count, |r| sum(r, |row| f64::from(row.failed))),
    run("transfer.retransmits", Quantity::Count, |r| sum(r, |row| row.retransmits as f64)),
];

fn worst(
    run: &Run,
    spread: fn(&TransferRow) -> Option<Spread>,
    of: fn(&Spread) -> f64,
    worse: fn(f64, f64) -> f64,
) -> Option<f64> {
    let rows = &run.summary.transfer.as_ref()?.rows;
    rows.iter().filter_map(spread).map(|spread| of(&spread)).reduce(worse)
}

fn sum(run: &Run, of: fn(&TransferRow) -> f64) -> Option<f64> {
    run.summary.transfer.as_ref().map(|result| result.rows.iter().map(of).sum())
}
