//! JSON: each document as it is, indented.

use super::Style;
use crate::document::Document;

/// One document after the other.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    documents.iter().map(|document| document.json()).collect()
}
