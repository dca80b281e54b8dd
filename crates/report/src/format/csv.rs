//! CSV: the rows of documents as one table (RFC 4180, with plain line feeds).

use super::Style;
use crate::document::{Csv, Document};
use model::host::Host;
use model::run::Run;
use model::time::WallTime;
use serde::Serialize;

/// The columns that the rows of every result begin with: what was measured, where and when.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Source {
    pub(super) run: String,
    started: Option<String>,
    host: String,
    target: String,
    kind: String,
    /// The verdict in a word.
    pub(super) status: &'static str,
}

impl Source {
    /// The source of a result that has neither a name nor a far end.
    pub(super) fn new(kind: &str, started: Option<WallTime>, host: Option<&Host>) -> Source {
        Source {
            kind: kind.to_owned(),
            started: started.map(|time| time.to_string()),
            host: host.map(|host| host.name.clone()).unwrap_or_default(),
            ..Source::default()
        }
    }

    /// The source of a run.
    pub(super) fn of_run(run: &Run) -> Source {
        Source {
            run: run.id.clone(),
            target: run.target(),
            status: run.verdict.status.word(),
            ..Source::new(&run.kind, run.started, run.host.as_ref())
        }
    }
}

/// The rows of every document under one header.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    written(&Csv::joined(documents.iter().map(|document| document.csv())))
}

/// The table as text.
///
/// # Panics
/// Never: memory takes every row, and every row has a field for each column.
pub(super) fn written(table: &Csv) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in std::iter::once(&table.columns).chain(&table.rows) {
        writer
            .write_record(row.iter().map(|field| guarded(field)))
            .expect("a row has a field for each column");
    }
    let bytes = writer.into_inner().expect("memory takes what is written");
    String::from_utf8(bytes).expect("fields are text")
}

/// A field that a spreadsheet would take for a formula, and is not a number, gets an apostrophe before it, which spreadsheets
/// take for text.
fn guarded(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    if is_formula { format!("'{field}") } else { field.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fields: &[&str]) -> String {
        written(&Csv { columns: fields.iter().map(|field| (*field).to_owned()).collect(), rows: Vec::new() })
    }

    #[test]
    fn fields_are_quoted_as_rfc_4180_asks() {
        assert_eq!(line(&["plain", "a,\"b\"", "", "two\nlines"]), "plain,\"a,\"\"b\"\"\",,\"two\nlines\"\n");
    }

    #[test]
    fn no_field_is_a_formula() {
        for text in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(
                line(&["x", text]).trim_start_matches("x,").trim_start_matches('"').starts_with('\''),
                "{text:?}"
            );
        }
        for number in ["-1.5", "+2", "-0", "1e-9"] {
            assert_eq!(line(&["x", number]), format!("x,{number}\n"));
        }
    }
}
