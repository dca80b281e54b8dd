//! Latency that grows with the load as only a full queue makes it.

use super::names::{frames, with_each};
use super::rows;
use model::dut::{DeviceReport, Setup, StreamReport};
use model::finding::{Finding, Severity};
use model::plan::Direction;
use model::units::Nanos;
use serde_json::Value;

/// The median at the most load is many times that at the least.
pub(super) fn cliff(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let steep = rows(device, |row| rise(row).is_some())?;
    let worst = steep.iter().filter_map(|row| rise(row)).max_by_key(|rise| rise.full)?;
    let title = format!(
        "Latency of {} rises from {} at {} % of the throughput to {} at {} % (medians)",
        frames(device, &steep),
        worst.idle,
        worst.from,
        worst.full,
        worst.to
    );
    let finding = Finding::new("latency-cliff", Severity::Info, None, title).advise(
        "Queues of the device fill up at the throughput found. For latency that can be relied on, plan with a load below it.",
    );
    let finding = with_each(finding, device, &steep, "idle_ns", |row| Some(Value::from(rise(row)?.idle.0)));
    Some(with_each(finding, device, &steep, "full_ns", |row| Some(Value::from(rise(row)?.full.0))))
}

struct Rise {
    from: u32,
    to: u32,
    idle: Nanos,
    full: Nanos,
}

/// The steeper of the directions.
fn rise(row: &StreamReport) -> Option<Rise> {
    let first = row.latency.iter().min_by_key(|latency| latency.percent)?;
    let last = row.latency.iter().max_by_key(|latency| latency.percent)?;
    let median = |of: &model::dut::LatencyReport, direction: Direction| {
        of.directions
            .iter()
            .find(|one| one.direction == direction)
            .filter(|one| one.delays.count > 0)
            .map(|one| one.delays.p50)
    };
    let rise_of = |direction| {
        let (idle, full) = (median(first, direction)?, median(last, direction)?);
        let steep = full >= idle.saturating_mul(STEEP) && full - idle >= NOTABLE;
        steep.then_some(Rise { from: first.percent, to: last.percent, idle, full })
    };
    Direction::BOTH.into_iter().filter_map(rise_of).max_by_key(|rise| rise.full)
}

/// A queue that fills makes latency many times longer; batches and interrupts only a few times.
const STEEP: u64 = 10;
/// Less is nothing that anybody notices.
const NOTABLE: Nanos = Nanos::from_millis(1);
