//! Effects of the device on frames: loss, duplicates, reordering, collapse.

use super::limits::whole;
use super::names::{frames, with_each};
use super::rows;
use crate::finding::percent;
use model::dut::{DeviceReport, DirectionObservation, RateReport, Setup, StreamReport};
use model::finding::{Finding, Severity};
use model::plan::Direction;
use model::search::{Irregular, Load};
use serde_json::Value;

/// Not one frame crossed in a direction.
pub(super) fn no_forwarding(device: &DeviceReport, direction: Direction) -> Option<Finding> {
    let in_direction = |row: &StreamReport| {
        let mut directions = row.flood.iter().filter(|one_way| one_way.direction == direction);
        directions.any(|one_way| one_way.result.sent > 0 && one_way.result.received == 0)
    };
    let silent = rows(device, in_direction)?;
    let sent = |row: &StreamReport| Some(observed_direction(row, direction)?.result.sent.into());
    let title = format!("The device forwarded none of the {} {direction}", frames(device, &silent));
    let finding = Finding::new("no-forwarding", Severity::Problem, direction, title).advise(
        "Check that both ports are the right ones, that the device is up and forwards (`sysctl \
         net.ipv4.ip_forward`), and that it has routes and neighbour entries for the test addresses \
         (198.18.0.0/15, 2001:2::/48).",
    );
    Some(with_each(finding, device, &silent, "sent", sent))
}

/// The least load of a search failed, though frames cross.
pub(super) fn loses_at_low_rate(device: &DeviceReport, setup: &Setup) -> Option<Finding> {
    let failed = |rate: &RateReport| {
        let doubled = rate.irregular.contains(&Irregular::Duplicates);
        rate.irregular.contains(&Irregular::NoLowerBound) && !doubled
    };
    let lossy = rows(device, |row| forwards(row) && row.rates.iter().any(failed))?;
    let least = |row: &StreamReport| {
        let known = row.rates.iter().find(|rate| failed(rate)).and_then(|rate| rate.upper);
        known.or_else(|| setup.min.map(Load::from))
    };
    let at = lossy.first().and_then(|row| least(row)).map_or_else(String::new, |load| format!(" ({load})"));
    let title = format!("The device loses {} even at the least load{at}", frames(device, &lossy));
    let finding = Finding::new("device-loses-at-low-rate", Severity::Problem, None, title).advise(
        "There is no rate to report. Look at the table of hops for where frames are dropped; a shaper, a policer, a filter \
         or an MTU that is too small all lose frames at any rate.",
    );
    Some(with_each(finding, device, &lossy, "least_pps", |row| least(row).map(whole)))
}

/// A higher load passes where a lower one failed.
pub(super) fn loss_inversion(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let inverted = |rate: &RateReport| rate.irregular.contains(&Irregular::LossInversion);
    let odd = rows(device, |row| row.rates.iter().any(inverted))?;
    let title = format!(
        "A load above the rate found for {} would pass: loss does not grow with load",
        frames(device, &odd)
    );
    let finding = Finding::new("loss-inversion", Severity::Warning, None, title).advise(
        "Loss that comes and goes is not the device's capacity: look for interrupts, power saving and other work on its \
         CPUs. The lower rate is the one reported; the table of frame loss shows the whole range.",
    );
    let value = |row: &StreamReport| Some(whole(row.rates.iter().find(|rate| inverted(rate))?.lower?));
    Some(with_each(finding, device, &odd, "pps", value))
}

/// The device sends frames more than once.
pub(super) fn duplicates(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let irregular = |words: &[Irregular]| words.contains(&Irregular::Duplicates);
    let doubled = rows(device, |row| {
        let searched = row.rates.iter().any(|rate| irregular(&rate.irregular));
        let stepped = row.loss.as_ref().is_some_and(|loss| irregular(&loss.irregular));
        searched || stepped || row.flood.iter().any(|direction| direction.result.has_duplicates())
    })?;
    let title = format!("The device sent {} more than once", frames(device, &doubled));
    let finding = Finding::new("duplicates", Severity::Warning, None, title).advise(
        "Look for a loop between bridges, a mirror, or an address that the device floods to several ports. Frames counted \
         twice are counted as lost in every search.",
    );
    let count = |row: &StreamReport| {
        let extra = |direction: &DirectionObservation| {
            direction.result.duplicates.max(direction.result.received.saturating_sub(direction.result.sent))
        };
        let count = row.flood.iter().map(extra).fold(0, u64::saturating_add);
        Some(if count > 0 { count.into() } else { Value::from("in the search") })
    };
    Some(with_each(finding, device, &doubled, "duplicates", count))
}

/// Frames overtake one another.
pub(super) fn reordering(device: &DeviceReport, direction: Direction) -> Option<Finding> {
    let share = |row: &StreamReport| {
        let one_way = observed_direction(row, direction)?;
        let share = one_way.reordered as f64 / one_way.result.received.max(1) as f64;
        (share >= REORDERED).then_some(share)
    };
    let odd = rows(device, |row| share(row).is_some())?;
    let worst = odd.iter().filter_map(|row| share(row)).fold(0.0, f64::max);
    let title = format!(
        "The device changes the order of {} {direction}: up to {} came after a later one",
        frames(device, &odd),
        percent(worst)
    );
    let finding = Finding::new("reordering", Severity::Warning, direction, title).advise(
        "Flows that are spread over queues or links by frame instead of by flow are reordered (RFC 4737).",
    );
    Some(with_each(finding, device, &odd, "reordered_share", |row| share(row).map(Value::from)))
}

/// Overloaded, the device forwards less than it can.
pub(super) fn overload_collapse(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let fallen = rows(device, |row| collapse(row).is_some())?;
    let worst = fallen.iter().filter_map(|row| collapse(row)).fold(1.0, f64::min);
    let title = format!(
        "Overloaded, the device forwards only {} of the rate it can forward without loss, with {}",
        percent(worst),
        frames(device, &fallen)
    );
    let finding = Finding::new("overload-collapse", Severity::Warning, None, title).advise(
        "This is receive livelock: work on frames that are dropped later takes the CPU from forwarding. Drop earlier (XDP, \
         shorter queues), spread the load over CPUs (RSS, RPS), or police what comes in. Size the device by the rate without \
         loss, and expect less under attack.",
    );
    Some(with_each(finding, device, &fallen, "share", |row| collapse(row).map(Value::from)))
}

/// One direction forwards clearly less than the other.
pub(super) fn asymmetric(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let uneven = rows(device, |row| slower(row).is_some())?;
    let (slow, share) = uneven.iter().filter_map(|row| slower(row)).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let title = format!(
        "The device forwards {} {slow} at {} of the rate {}",
        frames(device, &uneven),
        percent(share),
        slow.reversed()
    );
    let finding = Finding::new("direction-asymmetric", Severity::Warning, slow, title).advise(
        "A search with both directions at once ends at the slower one. Test each direction by itself to have both figures.",
    );
    Some(with_each(finding, device, &uneven, "share", |row| slower(row).map(|(_, share)| share.into())))
}

/// The rate forwarded under overload, as a share of the loss-free rate, where it is clearly less.
fn collapse(row: &StreamReport) -> Option<f64> {
    let (mrr, rate) = (row.mrr.as_ref()?, row.headline()?.lower?);
    let whole = rate.0 * row.stream.direction_count() as f64;
    let forwarded = mrr.forwarded.mean + 2.0 * mrr.forwarded.stddev.unwrap_or(0.0);
    // A generator that fell short overloads nothing.
    let sent = mrr.forwarded.mean / (1.0 - mrr.loss_ratio);
    let clear = mrr.offered > rate && whole > 0.0 && sent >= whole && forwarded < COLLAPSE * whole;
    clear.then(|| mrr.forwarded.mean / whole)
}

/// The direction whose flood was forwarded at a clearly lower rate, and what share of the other's it is. Where it lost no
/// frame, its generator was slower and not the device.
fn slower(row: &StreamReport) -> Option<(Direction, f64)> {
    let rate = |direction| {
        let one_way = observed_direction(row, direction)?;
        let seconds = one_way.time.as_secs_f64();
        (one_way.result.received > 0 && seconds > 0.0)
            .then(|| (one_way, one_way.result.received as f64 / seconds))
    };
    let (up, down) = (rate(Direction::Up)?, rate(Direction::Down)?);
    let (slow, fast) = if up.1 < down.1 { (up, down) } else { (down, up) };
    let share = slow.1 / fast.1;
    (share < ASYMMETRIC && slow.0.result.frame_loss_rate() > 0.0).then_some((slow.0.direction, share))
}

/// Frames crossed in the flood, or at the most load.
fn forwards(row: &StreamReport) -> bool {
    let flooded = row.flood.iter().any(|direction| direction.result.received > 0);
    flooded || row.mrr.as_ref().is_some_and(|mrr| mrr.forwarded.mean > 0.0)
}

fn observed_direction(row: &StreamReport, direction: Direction) -> Option<&DirectionObservation> {
    row.flood.iter().find(|one_way| one_way.direction == direction)
}

/// Below this share of the loss-free rate the device collapses; less than a tenth is the scatter of short trials.
const COLLAPSE: f64 = 0.9;
/// A smaller difference between directions is the scatter of two bursts.
const ASYMMETRIC: f64 = 0.8;
/// Limit as for streams: one frame in a thousand.
const REORDERED: f64 = 0.001;
