//! The CSV rows of a sweep over frame sizes: one for each size and transport.

use super::{CsvPart, rounded};
use crate::document::{Csv, CsvCell, field};
use model::frames::FrameRow;
use model::run::Run;

pub(super) fn rows(run: &Run, place: &CsvPart) -> Csv {
    let rows = &run.summary.rows;
    let starts = Csv::from_rows(rows.iter().map(|row| place.start("frame", row.direction)));
    starts.beside(Csv::of_cells(&CELLS, rows))
}

const CELLS: [CsvCell<FrameRow>; 19] = [
    CsvCell("transport", |row| field(&row.protocol)),
    CsvCell("size_bytes", |row| field(&row.frame)),
    CsvCell("encap", |row| field(&row.encap)),
    CsvCell("mss_sent_bytes", |row| field(&row.mss)),
    CsvCell("mean_segment_bytes", |row| row.payload.map(|payload| rounded(payload, 1)).unwrap_or_default()),
    CsvCell("bits_per_second", |row| field(&row.payload.map(|_| row.goodput))),
    CsvCell("offered_pps", |row| field(&row.offered)),
    CsvCell("packets_per_second", |row| field(&row.packets_per_second)),
    CsvCell("line_rate_pps", |row| field(&row.line_rate_pps)),
    CsvCell("line_rate_share", |row| share(row.share)),
    CsvCell("loss_share", |row| share(row.loss_share)),
    CsvCell("pairs", |row| field(&row.pairs)),
    CsvCell("sender_cpu_share", |row| share(row.sender_cpu)),
    CsvCell("receiver_cpu_share", |row| share(row.receiver_cpu)),
    CsvCell("limited_by", |row| row.limited_by.join(" ")),
    CsvCell("packets", |row| field(&row.device.as_ref().map(|device| device.packets))),
    CsvCell("device_frames", |row| field(&row.device.as_ref().map(|device| device.frames))),
    CsvCell("error", |row| field(&row.skipped)),
    CsvCell("notes", |row| row.notes.join("; ")),
];

fn share(share: Option<f64>) -> String {
    share.map(|share| rounded(share, 6)).unwrap_or_default()
}
