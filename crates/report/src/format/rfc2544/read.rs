//! A stored report read back.

use model::dut::{DutReport, SCHEMA};
use serde_json::Value;
use thiserror::Error;

/// Why a text is no report of a device.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The text is not JSON.
    #[error("read the report: it is not JSON ({0}); give the file that `pathmeter rfc2544 --json` wrote")]
    Json(serde_json::Error),
    /// The document is another one.
    #[error("read the report: its schema is {0}, not {SCHEMA}")]
    Schema(String),
    /// A part of it is not as the schema requires.
    #[error("read the report: it is not a {SCHEMA}: {0}")]
    Content(serde_json::Error),
}

/// Reads the document of `--json`, or the last line of `--format ndjson`.
///
/// # Errors
/// When it is not JSON, another document, or of another version.
pub fn read(text: &str) -> Result<DutReport, ReadError> {
    let value = value(text)?;
    match value.get("schema") {
        Some(Value::String(schema)) if schema == SCHEMA => {}
        found => {
            let found = found.map_or_else(|| "missing".into(), Value::to_string);
            return Err(ReadError::Schema(found));
        }
    }
    serde_json::from_value(value).map_err(ReadError::Content)
}

fn value(text: &str) -> Result<Value, ReadError> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let whole = serde_json::from_str(text);
    whole.or_else(|error| serde_json::from_str(last).map_err(|_| ReadError::Json(error)))
}
