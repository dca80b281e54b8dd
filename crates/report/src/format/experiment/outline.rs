//! The outline of a plan that is not carried out, as a document.

use crate::document::{Block, Cell, Column, Csv, CsvCell, Document, Head, Table, field, json_value};
use model::experiment::{Outline, OutlinePath, OutlineRow};
use model::units::{Bytes, Nanos, count};
use serde_json::Value;

impl Document for Outline {
    fn head(&self) -> Head {
        Head { kind: "plan".into(), title: self.title.clone(), depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Paragraph(amount(self))];
        blocks.extend([Block::Heading("Paths".into()), Block::Table(paths(&self.paths))]);
        let title = match (self.interleaved, self.repetitions) {
            (_, 1) => "Runs, in their order".to_owned(),
            (true, often) => format!("Runs, in their order: all of them, {often} times"),
            (false, often) => format!("Runs, in their order: each {often} times before the next"),
        };
        blocks.extend([Block::Heading(title), Block::Table(rows(&numbered(self)))]);
        blocks
    }

    fn csv(&self) -> Csv {
        let cells: [CsvCell<NumberedRow<'_>>; 8] = [
            CsvCell("row", |(at, _)| at.to_string()),
            CsvCell("path", |(_, row)| row.path.clone()),
            CsvCell("test", |(_, row)| row.test.clone()),
            CsvCell("settings", |(_, row)| settings(row, "=", " ")),
            CsvCell("what", |(_, row)| row.what.clone()),
            CsvCell("time_ns", |(_, row)| field(&row.time)),
            CsvCell("payload_bytes", |(_, row)| field(&row.bytes)),
            CsvCell("refused", |(_, row)| field(&row.refused)),
        ];
        Csv::of_cells(&cells, &numbered(self))
    }

    /// Schema `pathmeter/experiment-plan/1`.
    fn value(&self) -> Value {
        json_value(self)
    }
}

/// How much it is.
fn amount(outline: &Outline) -> String {
    let runs = count(outline.runs, "run");
    let time = match (outline.is_time_known, outline.time) {
        (true, time) => format!("about {time}"),
        (false, Nanos::ZERO) => "their time is not known".into(),
        (false, time) => format!("about {time}, and as long as those need that end by amount"),
    };
    let bytes = match (outline.are_bytes_known, outline.bytes) {
        (true, Bytes::ZERO) => "hardly any payload".into(),
        (true, bytes) => format!("{bytes} of payload"),
        (false, Bytes::ZERO) => "as much payload as the path carries".into(),
        (false, bytes) => format!("{bytes} of payload, and in the other runs as much as the path carries"),
    };
    let limits = [
        outline.time_limit.map(|limit| format!("No run is started that would end after {limit}.")),
        outline.bytes_limit.map(|limit| format!("No run begins after {limit} of payload.")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    format!("{runs}; {time}; {bytes}. {}", limits.join(" ")).trim_end().to_owned()
}

fn paths(paths: &[OutlinePath]) -> Table {
    let columns = ["path", "from", "to", "address", "by"].map(Column::left);
    let row = |path: &OutlinePath| {
        let by: Vec<String> = [&path.bind, &path.device].into_iter().flatten().cloned().collect();
        let address = path.address.clone().unwrap_or_else(|| "-".into());
        vec![path.name.clone(), path.from.clone(), path.to.clone(), address, by.join(", ")]
    };
    let notes = paths.iter().filter_map(|path| Some(format!("{}: {}", path.name, path.refused.as_ref()?)));
    Table::new(columns.into(), paths.iter().map(row).collect())
        .with_spare(&["from", "by"])
        .with_notes(notes.collect())
}

/// The place of a row, from 1, and the row.
type NumberedRow<'a> = (usize, &'a OutlineRow);

fn rows(rows: &[NumberedRow<'_>]) -> Table {
    let cells: [Cell<NumberedRow<'_>>; 7] = [
        Cell("row", true, |(at, _)| Some(at.to_string())),
        Cell("path", false, |(_, row)| Some(row.path.clone())),
        Cell("test", false, |(_, row)| Some(row.test.clone())),
        Cell("values", false, |(_, row)| Some(settings(row, " ", ", "))),
        Cell("what", false, |(_, row)| Some(row.what.clone())),
        Cell("time", true, |(_, row)| Some(row.time.map_or_else(|| "?".into(), |time| time.to_string()))),
        Cell("payload", true, |(_, row)| {
            Some(row.bytes.map_or_else(|| "?".into(), |bytes| bytes.to_string()))
        }),
    ];
    Table::of_cells("", &cells, rows).unwrap_or_default().with_spare(&["payload", "what"])
}

/// The values of a row by name.
fn settings(row: &OutlineRow, is: &str, and: &str) -> String {
    row.settings.iter().map(|one| format!("{}{is}{}", one.name, one.value)).collect::<Vec<_>>().join(and)
}

fn numbered(outline: &Outline) -> Vec<NumberedRow<'_>> {
    (1..).zip(&outline.rows).collect()
}
