//! Capabilities of a host that measurements need: the checks of `pathmeter doctor`.

use serde::Serialize;

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Stable name, kebab-case.
    pub name: &'static str,
    /// The verdict.
    pub status: Status,
    /// The state that was found.
    pub found: String,
    /// The consequence for measurements.
    pub why_it_matters: &'static str,
    /// The command that fixes it, where there is one.
    #[serde(rename = "mend")]
    pub fix: Option<String>,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// No fault.
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
