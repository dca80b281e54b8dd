//! The rows of a document.

/// A table for programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csv {
    /// The header; columns are only ever added at the end.
    pub columns: Vec<&'static str>,
    /// Rows of as many fields.
    pub rows: Vec<Vec<Field>>,
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A number or a word.
    Value(String),
    /// Words of people, which stand in quotes always.
    Prose(String),
}

impl Csv {
    /// Rows of numbers and words under a header.
    pub fn new<R: IntoIterator<Item = String>>(
        columns: &[&'static str],
        rows: impl IntoIterator<Item = R>,
    ) -> Csv {
        let fields = |row: R| row.into_iter().map(Field::Value).collect();
        Csv { columns: columns.to_vec(), rows: rows.into_iter().map(fields).collect() }
    }
}
