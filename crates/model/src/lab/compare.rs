//! Topologies against the first of them, series by series.

use super::{LabTest, Series, Variant};
use crate::framing::Network;
use crate::plan::Direction;
use crate::stats::compare::{Case, Comparison, Rules, table};
use serde::{Deserialize, Serialize};

/// One series of one topology against the same of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Versus {
    /// The topology.
    pub variant: String,
    /// The first one.
    pub base: String,
    /// `pathmeter`, or the name of another tool.
    pub tool: String,
    /// The family.
    pub family: Network,
    /// The test.
    pub test: LabTest,
    /// Direction of the data.
    pub direction: Option<Direction>,
    /// The difference from the first, and its confidence.
    pub comparison: Comparison,
}

/// Compares every series with that of the first topology; all of them are one question.
pub fn versus(variants: &[Variant]) -> Vec<Versus> {
    let Some((first, others)) = variants.split_first() else { return Vec::new() };
    let pairs: Vec<(&Variant, &Series, Vec<f64>, Vec<f64>)> = others
        .iter()
        .flat_map(|variant| variant.series.iter().map(move |series| (variant, series)))
        .filter_map(|(variant, series)| {
            let base = values(first.like(series)?);
            let other = values(series);
            (!base.is_empty() && !other.is_empty()).then_some((variant, series, base, other))
        })
        .collect();
    let cases: Vec<Case<'_>> = pairs
        .iter()
        .map(|(variant, series, base, other)| Case {
            name: &variant.name,
            base,
            other,
            rules: Rules::new(series.goodput.is_some()),
        })
        .collect();
    // Rates and times are never negative, so there is a table.
    let compared = table(&cases).unwrap_or_default();
    pairs
        .iter()
        .zip(compared)
        .map(|((variant, series, ..), row)| versus_row(first, variant, series, row))
        .collect()
}

fn versus_row(first: &Variant, variant: &Variant, series: &Series, comparison: Comparison) -> Versus {
    Versus {
        variant: variant.name.clone(),
        base: first.name.clone(),
        tool: series.tool.clone(),
        family: series.family,
        test: series.test,
        direction: series.direction,
        comparison,
    }
}

/// The values that are compared: rates, or the median round trips.
fn values(series: &Series) -> Vec<f64> {
    if series.goodput.is_some() {
        return series.runs.iter().filter_map(|run| run.goodput).map(|rate| rate.0 as f64).collect();
    }
    series.runs.iter().filter_map(|run| run.rtt_p50).map(|time| time.0 as f64).collect()
}
