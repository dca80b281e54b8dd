//! The outcome of a search for a goal.

use super::super::{Irregular, Load};
use super::goal::{Goal, Target};
use super::records::{Bounds, Records};
use super::scale::Scale;
use serde::{Deserialize, Serialize};

/// The result for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GoalOutcome {
    /// The goal.
    pub goal: Goal,
    /// The relevant lower bound: the highest load that passes with no failing load below it.
    pub lower: Option<LowerBound>,
    /// The relevant upper bound: the lowest load that fails, in frames per second.
    #[serde(rename = "upper_pps")]
    pub upper: Option<Load>,
    /// Notes on these; empty for a regular result.
    pub irregular: Vec<Irregular>,
}

/// A load that passes, and the rate forwarded at it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LowerBound {
    /// In frames per second.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// The conditional throughput: the rate that all trials but the share allowed to exceed forward at least, in frames per
    /// second. Where no loss is allowed it is the load.
    #[serde(rename = "conditional_throughput_pps")]
    pub conditional_throughput: Load,
}

pub(super) fn goal_outcome(goal: &Goal, target: &Target, records: &Records, scale: &Scale) -> GoalOutcome {
    let bounds = records.bounds(target);
    let lower = bounds.lower.map(|step| {
        let load = scale.load(step);
        let forwarded = load * (1.0 - records.quantile_loss(step, target));
        LowerBound { load: Load(load), conditional_throughput: Load(forwarded) }
    });
    GoalOutcome {
        goal: goal.clone(),
        lower,
        upper: bounds.upper.map(|step| Load(scale.load(step))),
        irregular: irregular(bounds, target, records, scale),
    }
}

fn irregular(bounds: Bounds, target: &Target, records: &Records, scale: &Scale) -> Vec<Irregular> {
    let mut found = Vec::new();
    match bounds {
        Bounds { lower: Some(lower), upper: None } if lower >= scale.steps() => {
            found.push(Irregular::NoUpperBound);
        }
        Bounds { lower: None, upper: Some(0) } => found.push(Irregular::NoLowerBound),
        Bounds { lower: Some(lower), upper: Some(upper) } if upper - lower <= target.width => {}
        _ => found.push(Irregular::Unfinished),
    }
    if let Some(upper) = bounds.upper {
        if !records.device_fails(upper, target) {
            found.push(Irregular::GeneratorLimited);
        }
        if records.has_lower_above(upper, target) {
            found.push(Irregular::LossInversion);
        }
    }
    if [bounds.lower, bounds.upper].into_iter().flatten().any(|step| records.has_duplicates(step)) {
        found.push(Irregular::Duplicates);
    }
    found
}
