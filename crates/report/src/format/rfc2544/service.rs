//! Activation of a service (ITU-T Y.1564).

use super::head::frames;
use crate::document::{Cell, Table};
use model::dut::y1564::{Kind, Miss};
use model::dut::{DeviceReport, ServiceStep, Setup};
use model::units::{percent, plain_percent};

/// The steps, each passed or with the promises it broke.
pub(super) fn steps(device: &DeviceReport, setup: &Setup) -> Option<Table> {
    let service = device.service.as_ref()?;
    let mut rows: Vec<Step> = service.steps.iter().map(|step| (kind(step), step.clone())).collect();
    rows.extend(service.performance.iter().map(|step| ("performance", step.clone())));
    let title = format!("Service activation (ITU-T Y.1564), {}", frames(device, &service.stream));
    let table = Table::of_cells(&title, &STEPS, &rows)?.with_spare(&["variation"]);
    let mut notes: Vec<String> = setup
        .service
        .iter()
        .map(|profile| {
            let excess =
                if profile.excess.0 > 0 { format!(", excess {}", profile.excess) } else { String::new() };
            format!(
                "Promised: committed {}{excess}; loss up to {}, delay {}, variation {}, availability {}.",
                profile.committed,
                plain_percent(profile.loss),
                profile.delay,
                profile.variation,
                plain_percent(profile.availability)
            )
        })
        .collect();
    notes
        .extend(service.availability.map(|share| format!("Available {} of the time.", plain_percent(share))));
    notes.extend(service.notes.iter().cloned());
    notes.push(if service.passed { "Passed: all promises hold.".into() } else { "Failed.".into() });
    Some(table.with_notes(notes))
}

type Step = (&'static str, ServiceStep);

const STEPS: [Cell<Step>; 7] = [
    Cell("Step", false, |(kind, _)| Some((*kind).to_owned())),
    Cell("offered", true, |(_, step)| Some(step.step.offered.to_string())),
    Cell("received", true, |(_, step)| Some(step.observed.received.to_string())),
    Cell("lost", true, |(_, step)| Some(percent(step.observed.loss))),
    Cell("delay", true, |(_, step)| step.observed.delay.map(|time| time.to_string())),
    Cell("variation", true, |(_, step)| step.observed.variation.map(|time| time.to_string())),
    Cell("result", false, |(_, step)| {
        let broken: Vec<String> = step.misses.iter().map(miss).collect();
        Some(if broken.is_empty() { "pass".into() } else { format!("FAIL: {}", broken.join(", ")) })
    }),
];

fn kind(step: &ServiceStep) -> &'static str {
    match step.step.kind {
        Kind::Committed => "committed",
        Kind::Excess => "excess",
        Kind::Policing => "policing",
    }
}

fn miss(miss: &Miss) -> String {
    match miss {
        Miss::RateBelow(rate) => format!("under {rate}"),
        Miss::RateAbove(rate) => format!("over {rate}"),
        Miss::LossAbove(share) => format!("loss over {}", plain_percent(*share)),
        Miss::DelayAbove(time) => format!("delay over {time}"),
        Miss::VariationAbove(time) => format!("variation over {time}"),
    }
}
