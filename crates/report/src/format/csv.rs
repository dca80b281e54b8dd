//! CSV: the rows of documents under their header (RFC 4180, with plain line feeds).

use super::Style;
use crate::document::{Document, Field};

/// The rows of every document; a header stands where it is another than before.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let mut text = String::new();
    let mut header: Vec<&str> = Vec::new();
    for document in documents {
        let csv = document.csv();
        if csv.columns != header {
            text.push_str(&(csv.columns.join(",") + "\n"));
            header = csv.columns;
        }
        for row in csv.rows {
            text.push_str(&(row.into_iter().map(written).collect::<Vec<_>>().join(",") + "\n"));
        }
    }
    text
}

/// RFC 4180 section 2: a field with a comma, a quote or a line break stands in quotes, quotes in it doubled.
fn written(field: Field) -> String {
    match field {
        Field::Value(text) if !text.contains([',', '"', '\n', '\r']) => text,
        Field::Value(text) | Field::Prose(text) => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_as_rfc_4180_asks() {
        assert_eq!(written(Field::Value("plain".into())), "plain");
        assert_eq!(written(Field::Value("a,\"b\"".into())), "\"a,\"\"b\"\"\"");
        assert_eq!(written(Field::Prose("words".into())), "\"words\"");
    }
}
