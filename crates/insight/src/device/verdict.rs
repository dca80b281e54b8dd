//! The conclusion about a device, and about the service it was to carry.

use super::limits::{is_spoilt, voided_share};
use super::names::frame;
use super::random::{Found, is_chance, tolerant};
use crate::finding::{capital, first_sentence, lower, percent, status};
use model::dut::y1564::Kind;
use model::dut::{DeviceReport, ServiceStep, Setup, StreamReport};
use model::finding::{Finding, Severity, Status, Verdict};
use model::units::PacketRate;

/// The rates of the smallest and the largest frames, what is wrong, what to do.
pub(super) fn device_verdict(device: &DeviceReport, setup: &Setup) -> Verdict {
    let void = |why: String| Verdict { status: Status::Void, text: why };
    if let Some(why) = &device.unavailable {
        return void(format!("The device was not tested: {}.", why.trim_end_matches('.')));
    }
    if device.service.is_none() && !device.rows.iter().any(is_measured) {
        let why = device.findings.first().map(|finding| finding.title.clone());
        let left = device.rows.iter().flat_map(|row| &row.left_out).map(|left| left.why.clone()).next();
        let why = why.or(left).unwrap_or_else(|| "no trial was finished".into());
        return void(format!("Nothing was measured: {}.", lower(why.trim_end_matches('.'))));
    }
    if is_spoilt(device) {
        let share = percent(voided_share(device));
        return void(format!(
            "Do not use these figures: this host spoilt {} trials ({share}). Give the generator a CPU of its own, or test \
             from another host.",
            device.voided
        ));
    }
    let serious = |finding: &&Finding| finding.severity > Severity::Info;
    let worst = device.findings.iter().find(serious);
    let missing = unmeasured(device);
    let sentences = [
        rates(device, setup).or_else(|| most_received(device)),
        device
            .service
            .as_ref()
            .filter(|service| service.passed)
            .map(|_| "The service keeps its promises.".into()),
        worst.map(|finding| format!("{}.", finding.title)),
        worst.map(|finding| first_sentence(&finding.advice)).filter(|advice| !advice.is_empty()),
        missing.clone(),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let text = if text.is_empty() { "Measured; nothing stands out.".into() } else { text };
    let found = status(&device.findings);
    let status = if missing.is_some() && found == Status::Ok { Status::Degraded } else { found };
    Verdict { status, text }
}

/// The first stream of which there is no figure, though others have some, and why.
fn unmeasured(device: &DeviceReport) -> Option<String> {
    let missing = |row: &&StreamReport| !is_measured(row) && !row.left_out.is_empty();
    let row = device.rows.iter().find(missing)?;
    let why = row.left_out.first()?.why.trim_end_matches('.');
    Some(format!("Nothing was measured of {}: {why}.", row.stream))
}

/// A promise of the service was broken.
pub(super) fn service_failed(device: &DeviceReport, setup: &Setup) -> Option<Finding> {
    let service = device.service.as_ref().filter(|service| !service.passed)?;
    let failed: Vec<&ServiceStep> =
        service.steps.iter().chain(&service.performance).filter(|step| !step.misses.is_empty()).collect();
    let promised = setup.service.map(|profile| profile.availability);
    let title = match (failed.first(), service.availability.zip(promised)) {
        (Some(step), _) => {
            let what = match step.step.kind {
                Kind::Committed => "within its committed rate",
                Kind::Excess => "at committed and excess rate together",
                Kind::Policing => "above both its rates, where it is to be policed",
            };
            format!("The service breaks its promises {what}, at {}", step.step.offered)
        }
        (None, Some((share, promised))) => {
            format!(
                "The service was available {} of the time, {} are promised",
                percent(share),
                percent(promised)
            )
        }
        (None, None) => "The service was not tested to its end".into(),
    };
    let finding = Finding::new("service-failed", Severity::Problem, None, title)
        .with("failed_steps", failed.len())
        .with("steps", service.steps.len())
        .with_known("availability", service.availability)
        .advise("Hold the path's shapers and queues against the promises: the table of steps shows which was broken, and by how much.");
    Some(finding)
}

fn rates(device: &DeviceReport, setup: &Setup) -> Option<String> {
    let rated: Vec<&StreamReport> = device.rows.iter().filter(|row| figure(row, setup).is_some()).collect();
    let (first, last) = (rated.first()?, rated.last()?);
    let mut text = figure(first, setup)?;
    if first.stream != last.stream {
        text = format!("{text}, {}", figure(last, setup)?);
    }
    Some(format!("{}.", capital(&text)))
}

/// `MRR 117 kpps of 512-byte frames (80.7 % lost)`: where no search was requested.
fn most_received(device: &DeviceReport) -> Option<String> {
    let (row, mrr) = device.rows.iter().find_map(|row| Some((row, row.mrr.as_ref()?)))?;
    let received = PacketRate(mrr.forwarded.mean.round() as u64);
    Some(format!("MRR {received} of {} frames ({} lost).", frame(&row.stream), percent(mrr.loss_ratio)))
}

/// `throughput 1.07 Mpps of 64-byte frames, 71.9 % of line rate`.
fn figure(row: &StreamReport, setup: &Setup) -> Option<String> {
    let found = match row.headline()? {
        rate if is_chance(row, rate, setup) => tolerant(row, setup)?,
        rate => Found::from_rate(row, rate)?,
    };
    let directions = if row.stream.direction_count() == 2 { " in each direction" } else { "" };
    let line = row.line_rate.filter(|line| line.0 > 0.0).map(|line| {
        let share = percent((found.load.0 / line.0).min(1.0));
        format!(" ({share} of line rate)")
    });
    Some(format!("{found}{directions} of {} frames{}", frame(&row.stream), line.unwrap_or_default()))
}

/// Any figure came of it.
fn is_measured(row: &StreamReport) -> bool {
    row.rates.iter().any(|rate| rate.lower.is_some())
        || row.mrr.as_ref().is_some_and(|mrr| mrr.forwarded.mean > 0.0)
        || row
            .latency
            .iter()
            .any(|latency| latency.directions.iter().any(|direction| direction.delays.count > 0))
        || row.loss.as_ref().is_some_and(|loss| loss.rows.iter().any(|step| step.result.received > 0))
        || row.back_to_back.as_ref().is_some_and(|bursts| bursts.outcome.mean.is_some_and(|mean| mean > 0.0))
        || row.recovery.as_ref().is_some_and(|recovery| !recovery.times.is_empty())
        || row.reset.as_ref().is_some_and(|reset| !reset.runs.is_empty())
        || row.delay_variation.is_some()
}
