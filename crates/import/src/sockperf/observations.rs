//! The rows of SockPerf's full log: `12, 12438.271673065, 12438.271823331, 75.133`.

use super::super::block::Lines;
use super::super::latency::{Trip, Trips};
use super::super::number::{Printed, seconds};
use model::units::Nanos;

/// Whether a line is a row.
pub(super) fn is_row(line: &str) -> bool {
    row(line).is_some()
}

/// Every round trip, from its two times: the printed latency may be half of it and is cut to a nanosecond.
pub(super) fn round_trips(lines: &Lines) -> Trips {
    let rows: Vec<(Nanos, Nanos)> = lines.iter().filter_map(row).collect();
    let first = rows.iter().map(|(sent, _)| *sent).min().unwrap_or_default();
    let mut trips = Trips::default();
    rows.iter().for_each(|&(sent, received)| trips.push(Trip { at: sent - first, rtt: received - sent }));
    trips
}

fn row(line: &str) -> Option<(Nanos, Nanos)> {
    let mut fields = line.split(", ");
    fields.next()?.trim().parse::<u64>().ok()?;
    let (sent, received) = (time(fields.next()?)?, time(fields.next()?)?);
    Printed::from_text(fields.next()?.trim())?;
    (received >= sent).then_some((sent, received))
}

/// Seconds with nine decimals, which a float does not keep.
fn time(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.trim().split_once('.')?;
    let whole = seconds(whole)?;
    let nanos: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    Some(whole.saturating_add(Nanos(nanos)))
}
