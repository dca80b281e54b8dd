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

/// RFC 4180 section 2: a field with a comma, a quote or a line break stands in quotes, quotes in it doubled. What a
/// spreadsheet would take for a formula, and is no number, gets an apostrophe before it, which spreadsheets take for text.
pub(super) fn written(field: Field) -> String {
    match guarded(field) {
        Field::Value(text) if !text.contains([',', '"', '\n', '\r']) => text,
        Field::Value(text) | Field::Prose(text) => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

fn guarded(field: Field) -> Field {
    let is_formula =
        |text: &str| text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    match field {
        Field::Value(text) if is_formula(&text) => Field::Value(format!("'{text}")),
        Field::Prose(text) if is_formula(&text) => Field::Prose(format!("'{text}")),
        field => field,
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

    #[test]
    fn no_field_is_a_formula() {
        for text in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"] {
            let safe = format!("'{text}");
            assert_eq!(written(Field::Prose(text.into())), format!("\"{safe}\""));
            assert!(written(Field::Value(text.into())).trim_start_matches('"').starts_with('\''));
        }
        for number in ["-1.5", "+2", "-0", "1e-9"] {
            assert_eq!(written(Field::Value(number.into())), number);
        }
    }
}
