//! The rows of a document.

use super::json_value;
use serde::Serialize;
use serde_json::Value;

/// A table for programs. Columns have names and their order means nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Csv {
    /// The header: each name carries its unit.
    pub columns: Vec<String>,
    /// Rows of as many fields; an empty one is not known or does not apply.
    pub rows: Vec<Vec<String>>,
}

impl Csv {
    /// Rows of words under a header.
    pub fn new<C: Into<String>, R: IntoIterator<Item = String>>(
        columns: impl IntoIterator<Item = C>,
        rows: impl IntoIterator<Item = R>,
    ) -> Csv {
        Csv {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().collect()).collect(),
        }
    }

    /// A row for each thing, of columns with their names.
    pub(crate) fn of_cells<T>(cells: &[CsvCell<T>], of: &[T]) -> Csv {
        let row = |one: &T| -> Vec<String> { cells.iter().map(|cell| (cell.1)(one)).collect() };
        Csv::new(cells.iter().map(|cell| cell.0), of.iter().map(row))
    }

    /// A row for each value: its fields are columns by their serialised names. Several structs in a tuple stand side by side.
    ///
    /// # Panics
    /// When a field holds more than one value, which no row has.
    pub fn from_rows<R: Serialize + Default>(rows: impl IntoIterator<Item = R>) -> Csv {
        let rows: Vec<R> = rows.into_iter().collect();
        // A header is written with a row: where there is none, with one that is left out again.
        let written = if rows.is_empty() { table(&[R::default()]) } else { table(&rows) };
        let mut lines =
            csv::ReaderBuilder::new().has_headers(false).from_reader(written.as_slice()).into_records();
        let mut line = || {
            let record = lines.next()?.expect("what was written here can be read");
            Some(record.iter().map(str::to_owned).collect::<Vec<_>>())
        };
        let columns = line().unwrap_or_default();
        let records: Vec<_> = std::iter::from_fn(line).collect();
        Csv { columns, rows: if rows.is_empty() { Vec::new() } else { records } }
    }

    /// The columns of another table behind these: both have a row for each thing.
    pub(crate) fn beside(mut self, other: Csv) -> Csv {
        self.columns.extend(other.columns);
        self.rows.iter_mut().zip(other.rows).for_each(|(row, more)| row.extend(more));
        self
    }

    /// The rows of all, one after the other, under every column that any of them has.
    pub fn joined(parts: impl IntoIterator<Item = Csv>) -> Csv {
        let mut joined = Csv::default();
        for Csv { columns, rows } in parts {
            let places: Vec<usize> = columns.into_iter().map(|name| joined.place(name)).collect();
            joined.rows.extend(rows.into_iter().map(|row| {
                let mut fields = vec![String::new(); places.iter().max().map_or(0, |last| last + 1)];
                places.iter().zip(row).for_each(|(&place, field)| fields[place] = field);
                fields
            }));
        }
        let width = joined.columns.len();
        joined.rows.iter_mut().for_each(|row| row.resize(width, String::new()));
        joined
    }

    /// Where the column stands; a new one comes to stand last.
    fn place(&mut self, name: String) -> usize {
        self.columns.iter().position(|column| *column == name).unwrap_or_else(|| {
            self.columns.push(name);
            self.columns.len() - 1
        })
    }
}

/// A column: its name, and the field of a row.
pub(crate) struct CsvCell<T>(pub(crate) &'static str, pub(crate) fn(&T) -> String);

/// The field of a value as it is serialised: a number, or the word of documents for a case, such as an outcome.
pub(crate) fn field(value: &impl Serialize) -> String {
    match json_value(value) {
        Value::Null => String::new(),
        Value::String(text) => text,
        // An exponent has no plus in CSV.
        value => value.to_string().replace("e+", "e"),
    }
}

/// The text of what is known; else none.
pub(crate) fn or_empty(known: Option<impl ToString>) -> String {
    known.map(|known| known.to_string()).unwrap_or_default()
}

fn table<R: Serialize>(rows: &[R]) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().for_each(|row| writer.serialize(row).expect("a row has a value for each column"));
    writer.into_inner().expect("memory takes what is written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Serialize)]
    struct Where {
        host: &'static str,
    }

    #[derive(Default, Serialize)]
    struct Rate {
        rate_bps: Option<u64>,
        note: String,
    }

    #[derive(Default, Serialize)]
    struct Time {
        note: &'static str,
        rtt_ns: u64,
    }

    #[test]
    fn structs_side_by_side_and_tables_one_below_the_other() {
        let rates =
            Csv::from_rows([(Where { host: "a" }, Rate { rate_bps: None, note: "x,\"y\"\nz".into() })]);
        assert_eq!(
            rates,
            Csv::new(["host", "rate_bps", "note"], [["a", "", "x,\"y\"\nz"].map(String::from)])
        );
        let times = Csv::from_rows([(Where { host: "b" }, Time { note: "n", rtt_ns: 7 })]);
        let both = Csv::joined([rates, times]);
        assert_eq!(both.columns, ["host", "rate_bps", "note", "rtt_ns"]);
        assert_eq!(both.rows, [["a", "", "x,\"y\"\nz", ""], ["b", "", "n", "7"]]);
    }

    #[test]
    fn a_header_needs_no_row() {
        assert_eq!(
            Csv::from_rows(Vec::<Rate>::new()),
            Csv::new(["rate_bps", "note"], Vec::<[String; 2]>::new())
        );
    }
}
