//! An error as a document, for programs that read JSON.

use serde::Serialize;

/// The document in the place of a result: why there is none.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Error"))]
pub struct ErrorDocument {
    /// The error.
    pub error: ErrorBody,
}

/// An error.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// A stable word: `usage`, `unreachable`, `void` or `internal`. The exit code follows from it.
    pub code: &'static str,
    /// The error with its causes, on one line.
    pub text: String,
    /// The advice; absent: nothing is known to help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
