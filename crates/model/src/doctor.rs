//! What a host can and cannot do for a measurement: the checks of `pathmeter doctor`.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Check {
    /// Stable name, kebab-case.
    pub name: &'static str,
    /// The verdict.
    pub status: Status,
    /// What was found.
    pub found: String,
    /// What it means for measurements.
    pub why_it_matters: &'static str,
    /// The command that mends it, where there is one.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Measurements work, but slower, or less exact, or without some part.
    Warn,
    /// Something pathmeter promises does not work here.
    Fail,
}

impl Status {
    /// The verdict in a word, as documents have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}
