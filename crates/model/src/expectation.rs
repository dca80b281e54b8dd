//! Expectations of a result, and whether they were met.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The outcome of an expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// The expectation as it was written.
    pub expectation: String,
    /// The figure as measured, in its unit; absent: the run has no such figure.
    pub measured: Option<String>,
    /// Whether it was measured and met.
    pub held: bool,
}

impl Display for Checked {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let word = if self.held { "held" } else { "broken" };
        write!(f, "{word}: {} ({})", self.expectation, self.found())
    }
}

impl Checked {
    /// `measured 9.41 Gbit/s`, or that it was not.
    #[must_use]
    pub fn found(&self) -> String {
        match &self.measured {
            Some(measured) => format!("measured {measured}"),
            None => "not measured in this run".into(),
        }
    }
}
