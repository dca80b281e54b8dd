//! Loss that does not depend on the load: a rate without loss is then chance, and none exists.

use super::names::{frames, with_each};
use super::rows;
use crate::finding::percent;
use model::dut::{DeviceReport, RateReport, Setup, StreamReport};
use model::finding::{Finding, Severity};
use model::search::{Irregular, Load, LossStep};
use serde_json::Value;
use std::fmt;

/// The same share of the frames is lost at every load that the device forwards otherwise.
pub(super) fn random_loss(device: &DeviceReport, setup: &Setup) -> Option<Finding> {
    let lossy = rows(device, |row| share(row).is_some())?;
    let first = lossy.first()?;
    let lost = share(first)?;
    let pdr = tolerant(first, setup).map(|found| format!("; {found}"));
    let title = format!(
        "The device loses {} of {} at every rate from {} to {}: no rate without loss exists{}",
        percent(lost.share),
        frames(device, &lossy),
        lost.from,
        lost.to,
        pdr.unwrap_or_default()
    );
    let finding = Finding::new("random-loss", Severity::Warning, None, title).advise(
        "Loss that does not grow with the load is not the device's capacity: look for errors on a line (`ip -s link`), a filter or a \
         radio. A rate that was found without loss is chance; ask for a goal that allows this share (`--goals pdr`).",
    );
    Some(with_each(finding, device, &lossy, "share", |row| share(row).map(|lost| Value::from(lost.share))))
}

/// A rate found without loss is chance where the device loses at every load.
pub(super) fn is_chance(row: &StreamReport, rate: &RateReport, setup: &Setup) -> bool {
    share(row).is_some() && !tolerates(rate, setup, 0.0)
}

/// The rate of a goal that allows so much loss as there is. A search that did not end gives a least rate, as the steps of loss do that
/// keep within the goal.
pub(super) fn tolerant<'a>(row: &'a StreamReport, setup: &Setup) -> Option<Found<'a>> {
    let lost = share(row)?;
    let rate = row.rates.iter().find(|rate| tolerates(rate, setup, lost.share) && rate.lower.is_some())?;
    let found = Found::from_rate(row, rate)?;
    let kept = kept(row, loss_ratio(rate, setup)?).filter(|kept| found.is_least && kept.0 > found.load.0);
    Some(Found { load: kept.unwrap_or(found.load), ..found })
}

/// The highest load of the steps up to which none lost more than this share.
fn kept(row: &StreamReport, most: f64) -> Option<Load> {
    let mut steps: Vec<&LossStep> = row.loss.as_ref()?.rows.iter().collect();
    steps.sort_by(|one, other| one.load.0.total_cmp(&other.load.0));
    steps.iter().take_while(|step| step.result.loss_ratio() <= most).last().map(|step| step.load)
}

fn tolerates(rate: &RateReport, setup: &Setup, share: f64) -> bool {
    loss_ratio(rate, setup).is_some_and(|most| most > share)
}

/// The share that the goal of a rate allows to be lost.
fn loss_ratio(rate: &RateReport, setup: &Setup) -> Option<f64> {
    Some(setup.goals.iter().find(|goal| goal.name == rate.goal)?.goal.loss_ratio)
}

/// A rate that stands for a stream; it prints as `PDR at least 900 kpps`.
pub(super) struct Found<'a> {
    goal: &'a str,
    pub(super) load: Load,
    is_least: bool,
}

impl<'a> Found<'a> {
    pub(super) fn from_rate(row: &StreamReport, rate: &'a RateReport) -> Option<Self> {
        let is_open = rate.is_least() || rate.irregular.contains(&Irregular::Unfinished);
        let is_least = is_open && !row.is_at_line_rate(rate);
        Some(Self { goal: &rate.goal, load: rate.lower?, is_least })
    }
}

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = if self.is_least { "at least " } else { "" };
        match self.goal {
            "throughput" => write!(f, "throughput {least}{}", self.load),
            goal => write!(f, "{} {least}{}", goal.to_uppercase(), self.load),
        }
    }
}

/// The share that is lost at every load, and the loads that show it.
pub(super) struct Lost {
    pub(super) share: f64,
    from: Load,
    to: Load,
}

/// Returns the share lost at loads far below overload, where it is the same at each load within chance.
pub(super) fn share(row: &StreamReport) -> Option<Lost> {
    let steps = &row.loss.as_ref()?.rows;
    let lost = |step: &LossStep| step.result.sent.saturating_sub(step.result.received);
    // Overload may begin anywhere above: of the lower half at least no step is overload where all lose alike.
    let most = steps.iter().map(|step| step.offered_percent).fold(0.0, f64::max);
    let low: Vec<&LossStep> = steps
        .iter()
        .filter(|step| step.offered_percent <= most * FAR_BELOW && step.result.sent > 0)
        .collect();
    let (sent, all) =
        low.iter().fold((0, 0), |(sent, all), step| (sent + step.result.sent, all + lost(step)));
    if low.len() < FEWEST_STEPS || all < FEWEST_LOST {
        return None;
    }
    let share = all as f64 / sent as f64;
    let alike = |step: &&LossStep| {
        let expected = share * step.result.sent as f64;
        (lost(step) as f64 - expected).abs() <= DEVIATIONS * expected.sqrt() + 1.0
    };
    let loads = || low.iter().map(|step| step.load.0);
    let (from, to) = (loads().fold(f64::INFINITY, f64::min), loads().fold(0.0, f64::max));
    (share < MOST_SHARE && low.iter().all(alike)).then_some(Lost { share, from: Load(from), to: Load(to) })
}

/// The share of the highest load.
const FAR_BELOW: f64 = 0.6;
const FEWEST_STEPS: usize = 3;
const FEWEST_LOST: u64 = 10;
/// Standard deviations of the count of a step.
const DEVIATIONS: f64 = 4.0;
/// A larger share is a policer or a filter, which another finding reports.
const MOST_SHARE: f64 = 0.1;
