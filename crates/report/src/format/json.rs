//! JSON: the document as it is, indented; several as an array.

use super::Style;
use crate::document::Document;

/// The document, or an array of them.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    match documents {
        [one] => one.json(),
        several => {
            let all: Vec<String> =
                several.iter().map(|document| indented(document.json().trim_end())).collect();
            if all.is_empty() { "[]\n".into() } else { format!("[\n{}\n]\n", all.join(",\n")) }
        }
    }
}

/// Two columns further to the right.
pub(super) fn indented(text: &str) -> String {
    let mut indented = String::with_capacity(text.len() + text.len() / 8);
    for line in text.lines() {
        indented.push_str(if indented.is_empty() { "  " } else { "\n  " });
        indented.push_str(line);
    }
    indented
}
