//! Reads the large documents.
//!
//! `serde_json` compiles a reader for each type and each source of text anew, and those of a run are half a megabyte
//! each. Through a [`serde_json::Value`] there is one.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a document from UTF-8 text.
///
/// # Errors
/// It is not JSON (the error has line and column), or not such a document (the error has none).
pub fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice::<Value>(text).and_then(serde_json::from_value)
}
