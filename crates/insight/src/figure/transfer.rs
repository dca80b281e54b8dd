//! Figures of a run of transfers. Of several rows the worst counts: what is expected holds for all of them.

use super::Quantity::{self, Count, Rate, Time};
use super::{Figure, Get, Names, Note, Scope, whole};
use model::run::Run;
use model::transfer::{Spread, TransferRow};

const fn transfer(names: Names, quantity: Quantity, get: Get<Run>, note: Note) -> Figure {
    whole(names, quantity, get, note).within(Scope::Transfers)
}

/// Every figure of transfers.
#[rustfmt::skip]
pub(super) static TRANSFER: &[Figure] = &[
    transfer(("transfer.rate", "rate"), Rate, |r| worst(r, |row| row.rate, |rate| rate.median, f64::min),
        "median rate of the slowest row: body of the file over the whole time").higher().listed(10),
    transfer(("transfer.rate.min", "rate, lowest"), Rate, |r| worst(r, |row| row.rate, |rate| rate.min, f64::min),
        "lowest rate of any row").higher(),
    transfer(("transfer.total", "time"), Time, |r| worst(r, |row| row.total, |time| time.median, f64::max),
        "median of the whole time, of the slowest row").lower().listed(15),
    transfer(("transfer.total.max", "time, longest"), Time, |r| worst(r, |row| row.total, |time| time.max, f64::max),
        "longest whole time of any row").lower(),
    transfer(("transfer.first_byte", "first byte"), Time, |r| worst(r, |row| row.first_byte, |time| time.median, f64::max),
        "median time to the first byte of the answer, of the slowest row").lower().listed(16),
    transfer(("transfer.failed", "failed"), Count, |r| sum(r, |row| f64::from(row.failed)), "transfers that failed").lower(),
    transfer(("transfer.retransmits", "retransmits"), Count, |r| sum(r, |row| row.retransmits as f64),
        "segments that this end retransmitted").lower(),
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
