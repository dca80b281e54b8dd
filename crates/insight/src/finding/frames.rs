//! The conclusion of a sweep over frame sizes.

use super::{Status, Verdict, status};
use model::frames::FrameRow;
use model::run::Run;

/// The best rows, where the link is full, and what could not be measured.
pub(super) fn verdict(run: &Run) -> Verdict {
    let rows = &run.summary.rows;
    let measured: Vec<&FrameRow> = rows.iter().filter(|row| row.goodput.0 > 0).collect();
    let goodput = measured.iter().max_by_key(|row| row.goodput);
    let packets = measured.iter().max_by_key(|row| row.packets_per_second);
    let (Some(goodput), Some(packets)) = (goodput, packets) else {
        let why = rows.iter().find_map(|row| row.skipped.clone()).unwrap_or_else(|| "nothing arrived".into());
        return Verdict { status: Status::Void, text: format!("No frame size was measured: {why}.") };
    };
    let mut text = format!(
        "Most goodput: {} of {} in frames of {} bytes.",
        goodput.goodput, goodput.protocol, goodput.frame
    );
    if let Some(rate) = packets.packets_per_second {
        text.push_str(&format!(
            " Most packets: {rate} of {} in frames of {} bytes.",
            packets.protocol, packets.frame
        ));
    }
    let full = |row: &&&FrameRow| row.limited_by.iter().any(|id| id == "at-line-rate");
    if measured.iter().any(|row| row.limited_by.iter().any(|id| id == "link-speed-wrong")) {
        text.push_str(" The link is faster than its given speed, so line rate is not known.");
    } else if let Some(row) = measured.iter().filter(full).min_by_key(|row| row.frame) {
        text.push_str(&format!(" {} reaches line rate with frames of {} bytes.", row.protocol, row.frame));
    } else if measured.iter().all(|row| row.share.is_none()) {
        text.push_str(" The link's speed is not known, so neither is line rate: give it with `--link 25G`.");
    } else {
        text.push_str(" No size reaches line rate.");
    }
    match rows.len() - measured.len() {
        0 => {}
        1 => text.push_str(" One row was not measured."),
        missing => text.push_str(&format!(" {missing} rows were not measured.")),
    }
    let broken = run.tests.iter().any(|test| test.verdict.status == Status::Void);
    let least = if broken { Status::Degraded } else { Status::Ok };
    Verdict { status: status(&run.findings).max(least), text }
}
