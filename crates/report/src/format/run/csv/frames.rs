//! The CSV rows of a sweep over frame sizes: one for each size and transport.

use super::{COLUMNS, or_empty, packets::set};
use model::frames::FrameRow;
use model::run::Run;

/// Every row of the sweep; none of another run.
pub(super) fn rows(run: &Run) -> Vec<Vec<String>> {
    run.summary.rows.iter().map(|row| of(run, row)).collect()
}

fn of(run: &Run, row: &FrameRow) -> Vec<String> {
    let mut fields = vec![String::new(); COLUMNS.len()];
    let device = row.device.as_ref();
    let share = |share: Option<f64>| or_empty(share.map(|share| format!("{share:.6}")));
    for (column, value) in [
        ("run", run.id.clone()),
        ("row", "frame".into()),
        ("direction", row.direction.to_string()),
        ("transport", row.protocol.to_string()),
        ("omitted", "false".into()),
        ("bits_per_second", or_empty(row.payload.map(|_| row.goodput.0))),
        ("loss_share", share(row.loss_share)),
        ("size_bytes", row.frame.to_string()),
        ("mean_segment_bytes", or_empty(row.payload.map(|payload| format!("{payload:.1}")))),
        ("mss_sent_bytes", or_empty(row.mss)),
        ("packets", or_empty(device.map(|device| device.packets))),
        ("error", row.skipped.clone().unwrap_or_default()),
        ("offered_pps", or_empty(row.offered.map(|rate| rate.0))),
        ("packets_per_second", or_empty(row.packets_per_second.map(|rate| rate.0))),
        ("line_rate_pps", or_empty(row.line_rate_pps.map(|rate| rate.0))),
        ("line_rate_share", share(row.share)),
        ("pairs", row.pairs.to_string()),
        ("sender_cpu_share", share(row.sender_cpu)),
        ("receiver_cpu_share", share(row.receiver_cpu)),
        ("limited_by", row.limited_by.join(" ")),
        ("device_frames", or_empty(device.map(|device| device.frames))),
        ("encap", row.encap.clone().unwrap_or_default()),
        ("notes", row.notes.join("; ")),
    ] {
        set(&mut fields, column, value);
    }
    fields
}
