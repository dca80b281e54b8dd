//! The CSV rows of a sweep over frame sizes: one for each size and transport.

use super::{CsvPart, rounded};
use crate::document::Csv;
use model::frames::FrameRow;
use model::plan::Transport;
use model::run::Run;
use model::units::{BitRate, PacketRate};
use serde::Serialize;

#[derive(Default, Serialize)]
struct Frame {
    transport: Option<Transport>,
    size_bytes: u32,
    encap: Option<String>,
    mss_sent_bytes: Option<u32>,
    mean_segment_bytes: Option<String>,
    bits_per_second: Option<BitRate>,
    offered_pps: Option<PacketRate>,
    packets_per_second: Option<PacketRate>,
    line_rate_pps: Option<PacketRate>,
    line_rate_share: Option<String>,
    loss_share: Option<String>,
    pairs: u64,
    sender_cpu_share: Option<String>,
    receiver_cpu_share: Option<String>,
    limited_by: String,
    packets: Option<u64>,
    device_frames: Option<u64>,
    error: Option<String>,
    notes: String,
}

pub(super) fn rows(run: &Run, place: &CsvPart) -> Csv {
    Csv::from_rows(run.summary.rows.iter().map(|row| (place.start("frame", row.direction), frame(row))))
}

fn frame(row: &FrameRow) -> Frame {
    let device = row.device.as_ref();
    let share = |share: Option<f64>| share.map(|share| rounded(share, 6));
    Frame {
        transport: Some(row.protocol),
        size_bytes: row.frame,
        encap: row.encap.clone(),
        mss_sent_bytes: row.mss,
        mean_segment_bytes: row.payload.map(|payload| rounded(payload, 1)),
        bits_per_second: row.payload.map(|_| row.goodput),
        offered_pps: row.offered,
        packets_per_second: row.packets_per_second,
        line_rate_pps: row.line_rate_pps,
        line_rate_share: share(row.share),
        loss_share: share(row.loss_share),
        pairs: row.pairs,
        sender_cpu_share: share(row.sender_cpu),
        receiver_cpu_share: share(row.receiver_cpu),
        limited_by: row.limited_by.join(" "),
        packets: device.map(|device| device.packets),
        device_frames: device.map(|device| device.frames),
        error: row.skipped.clone(),
        notes: row.notes.join("; "),
    }
}
