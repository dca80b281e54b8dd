//! Hypotheses about an unexpected result: the probes of the path and of the hosts after a test, and the answers.

use crate::plan::Direction;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Default of `--explain`: the time for testing the hypotheses of one direction.
pub const DEFAULT_BUDGET: Nanos = Nanos::from_secs(5);

/// The probes that explain a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Explanation {
    /// The hypotheses in the order in which they were tested, the cheapest first.
    pub hypotheses: Vec<Hypothesis>,
    /// Time allowed for each direction.
    #[serde(rename = "budget_ns")]
    pub budget: Nanos,
    /// Time that all probes took.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}

/// One possible reason, and the answer of its probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hypothesis {
    /// Stable name, kebab-case.
    pub id: String,
    /// The direction that it concerns.
    pub direction: Direction,
    /// Whether it holds.
    pub answer: Answer,
    /// Why it could not be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The figures of the probe, by name, units in the name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub evidence: BTreeMap<String, Value>,
    /// Time that the probe took.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Packets that the probe had both ends send.
    pub packets: u64,
}

/// Whether a hypothesis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The hypothesis is the reason, or one of them.
    Holds,
    /// The hypothesis is wrong.
    Refuted,
    /// The probe could not decide it, or was not sent.
    Undecided,
}

impl Explanation {
    /// Adds the answers of a later step.
    pub fn merge(&mut self, later: &Explanation) {
        self.hypotheses.extend(later.hypotheses.iter().cloned());
        self.budget = self.budget.max(later.budget);
        self.elapsed += later.elapsed;
    }

    /// The answer to a hypothesis about a direction.
    #[must_use]
    pub fn answer(&self, id: &str, direction: Direction) -> Option<&Hypothesis> {
        self.hypotheses.iter().rev().find(|one| one.id == id && one.direction == direction)
    }

    /// The figures of a hypothesis that holds in a direction.
    #[must_use]
    pub fn held(&self, id: &str, direction: Direction) -> Option<&Hypothesis> {
        self.answer(id, direction).filter(|one| one.answer == Answer::Holds)
    }
}

impl Hypothesis {
    /// A count or size of its evidence.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<u64> {
        self.evidence.get(name)?.as_u64()
    }
}
