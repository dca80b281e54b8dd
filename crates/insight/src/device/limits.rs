//! Limits of a rate other than the device: the generator, the CPU it shares, the link, the time, the host.

use super::names::{frames, with_each};
use super::rows;
use crate::finding::percent;
use model::dut::{DeviceReport, LoadLimit, RateReport, Setup, StreamReport};
use model::finding::{Finding, Severity};
use model::search::{Irregular, Load};
use serde_json::Value;

/// The generator reached its limit and the device lost nothing: it forwards that or more.
pub(super) fn generator_bound(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    if device.shares_cpu == Some(true) {
        return None;
    }
    let limited = rows(device, |row| bound(row).is_some())?;
    let least = limited.iter().filter_map(|row| bound(row)).fold(Load(f64::INFINITY), smaller);
    let title = format!(
        "The generator, not the device, set the limit for {}: the device forwards {least} or more",
        frames(device, &limited)
    );
    let mut finding = Finding::new("generator-bound", Severity::Warning, None, title).advise(
        "Read these rates as \"at least\". To find the device's own limit give the generator a CPU that nothing else uses, \
         or a faster kind of generator: the list of tools has those that were refused, and why.",
    );
    finding = with_each(finding, device, &limited, "pps", |row| bound(row).map(whole));
    Some(finding.with_known("ceiling_pps", limited[0].ceiling.map(whole)))
}

/// Sender and device take turns on a CPU: the one waits for the other and no frame is ever dropped.
pub(super) fn shares_cpu(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    if device.shares_cpu != Some(true) {
        return None;
    }
    let shared = rows(device, |row| lower(row).is_some() || row.mrr.is_some())?;
    let title = "The device runs on the generator's CPU and holds it back instead of dropping frames: the rates are those of both \
                 together, not the throughput of the device";
    let finding = Finding::new("shares-cpu", Severity::Warning, None, title.into()).advise(
        "Let the device work on a CPU of its own: threaded NAPI on its incoming interface \
         (`echo 1 > /sys/class/net/INTERFACE/threaded`) and its thread pinned away from the generator (`taskset`), or a \
         second host.",
    );
    Some(with_each(finding, device, &shared, "pps", |row| lower(row).map(whole)))
}

/// The link is full.
pub(super) fn at_line_rate(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let full = rows(device, |row| row.headline().is_some_and(|rate| row.is_at_line_rate(rate)))?;
    let title = format!("The device forwards {} at line rate", frames(device, &full));
    let share = |row: &StreamReport| Some(Value::from(lower(row)?.0 / row.line_rate?.0));
    let finding = Finding::new("at-line-rate", Severity::Info, None, title);
    Some(with_each(finding, device, &full, "share", share))
}

/// The time of a search ran out.
pub(super) fn unfinished(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let open = |rate: &RateReport| rate.irregular.contains(&Irregular::Unfinished);
    let cut = rows(device, |row| row.rates.iter().any(open))?;
    let title = format!("The search for the rate of {} was not finished", frames(device, &cut));
    let finding = Finding::new("search-unfinished", Severity::Warning, None, title).advise(
        "The true rate is between the bounds that the tables give. Allow more time or accept a wider goal.",
    );
    let bounds = |of: fn(&RateReport) -> Option<Load>| {
        move |row: &StreamReport| of(row.rates.iter().find(|rate| open(rate))?).map(whole)
    };
    let finding = with_each(finding, device, &cut, "lower_pps", bounds(|rate| rate.lower));
    Some(with_each(finding, device, &cut, "upper_pps", bounds(|rate| rate.upper)))
}

/// Trials were thrown away, since other work interrupted the generator.
pub(super) fn host_noise(device: &DeviceReport, _: &Setup) -> Option<Finding> {
    let share = voided_share(device);
    if device.voided < FEW || share < NOISY {
        return None;
    }
    let title = format!(
        "{} trials were thrown away because this host interrupted the generator, {} of those run",
        device.voided,
        percent(share)
    );
    let finding = Finding::new("host-noise", Severity::Warning, None, title)
        .with("voided", device.voided)
        .with("voided_share", share)
        .advise(
            "Stop other work on this host and keep its CPUs at one frequency, or test from a machine that is not shared.",
        );
    Some(finding)
}

/// The host spoilt so many trials that no rate was found. A rate that was found rests on trials whose load is known.
pub(super) fn is_spoilt(device: &DeviceReport) -> bool {
    let is_found = device.rows.iter().flat_map(|row| &row.rates).any(|rate| rate.lower.is_some());
    !is_found && device.voided >= MANY && voided_share(device) > SPOILT
}

/// How many of the trials run were thrown away, 0 to 1.
pub(super) fn voided_share(device: &DeviceReport) -> f64 {
    device.voided as f64 / (device.voided + device.kept).max(1) as f64
}

/// A rate that the generator limits.
fn bound(row: &StreamReport) -> Option<Load> {
    let bound = |rate: &&RateReport| row.bound_by(rate) == Some(LoadLimit::Generator);
    row.rates.iter().find(bound)?.lower
}

fn lower(row: &StreamReport) -> Option<Load> {
    row.headline()?.lower
}

fn smaller(one: Load, other: Load) -> Load {
    Load(one.0.min(other.0))
}

pub(super) fn whole(load: Load) -> Value {
    load.rounded().0.into()
}

/// Fewer voided trials are nothing to speak of.
const FEW: u64 = 3;
/// From this share of the trials on, the host disturbs the search: CSIT's exceed ratio leaves room for half of them, but a
/// tenth already makes a benchmark take longer and its steps uneven.
const NOISY: f64 = 0.1;
/// With few trials a third is soon void, and those that were repeated successfully are valid.
const MANY: u64 = 10;
/// Above this share the trials that were kept are no fair sample of the host's quiet moments either.
const SPOILT: f64 = 0.3;
