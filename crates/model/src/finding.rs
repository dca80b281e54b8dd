//! Findings: the reason behind a number, with its evidence and advice; and the conclusion of a run. The rules that raise them are
//! in the crate `insight`.

use crate::plan::Direction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A reason found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[must_use]
pub struct Finding {
    /// Stable name.
    pub id: String,
    /// Severity.
    pub severity: Severity,
    /// The direction it concerns; absent: both or none.
    pub direction: Option<Direction>,
    /// Label of the egress path of a latency run it concerns; absent: all of them, or a run without egress paths.
    #[serde(rename = "way", default, skip_serializing_if = "Option::is_none")]
    pub egress: Option<String>,
    /// One sentence in plain words, with the figures.
    pub title: String,
    /// The figures it rests on, by name, units in the name.
    pub evidence: BTreeMap<String, Value>,
    /// Advice.
    pub advice: String,
}

impl Finding {
    /// A finding without evidence and advice yet. Direction `None`: it is about both directions or none.
    pub fn new(
        id: &str,
        severity: Severity,
        direction: impl Into<Option<Direction>>,
        title: String,
    ) -> Finding {
        Finding {
            id: id.into(),
            severity,
            direction: direction.into(),
            egress: None,
            title,
            evidence: BTreeMap::new(),
            advice: String::new(),
        }
    }

    /// The same about one egress path of a latency run.
    pub fn on(mut self, egress: &str) -> Finding {
        self.egress = Some(egress.into());
        self
    }

    /// Adds a figure; the name ends with its unit.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Finding {
        self.evidence.insert(name.into(), value.into());
        self
    }

    /// Adds a figure that may not be known.
    pub fn with_known(self, name: &str, value: Option<impl Into<Value>>) -> Finding {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds what to do.
    pub fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = advice.into();
        self
    }
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// In one word.
    pub status: Status,
    /// In three to six plain sentences (one for a single test).
    pub text: String,
}

/// The conclusion in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing stands out.
    #[default]
    Ok,
    /// Works, with a warning.
    Degraded,
    /// The figures are not as the user expects (`--expect`).
    Broken,
    /// Something does not work.
    Problem,
    /// The numbers must not be used.
    Void,
}

impl Status {
    /// All of them, the best first.
    pub const ALL: [Status; 5] =
        [Status::Ok, Status::Degraded, Status::Broken, Status::Problem, Status::Void];

    /// The one with this word.
    #[must_use]
    pub fn named(word: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.word() == word)
    }

    /// The word that documents have for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Degraded => "degraded",
            Status::Broken => "broken",
            Status::Problem => "problem",
            Status::Void => "void",
        }
    }
}
