//! Findings: the reason behind a number, with its evidence and the way out. Pure functions, one row each in [`RULES`].

use crate::plan::Direction;
use crate::run::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A reason found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// The direction it concerns; absent: both or none.
    pub direction: Option<Direction>,
    /// One sentence in plain words, with the figures.
    pub title: String,
    /// The figures it rests on, by name, units in the name.
    pub evidence: BTreeMap<String, serde_json::Value>,
    /// What to do.
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// The number is not what the path could give, or something is odd.
    Warning,
    /// Something is broken.
    Problem,
}

/// The conclusion of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// In one word.
    pub status: Status,
    /// In three to six plain sentences (one for a single test).
    pub text: String,
}

/// The conclusion in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing stands out.
    #[default]
    Ok,
    /// Works, with a warning.
    Degraded,
    /// Something is broken.
    Problem,
    /// The numbers must not be used.
    Void,
}

/// All findings of a run and of its tests, worst first, each id and direction once.
pub fn all(run: &Run) -> Vec<Finding> {
    let _ = run;
    Vec::new()
}

/// The conclusion of a run.
pub fn verdict(run: &Run) -> Verdict {
    let _ = run;
    Verdict::default()
}
