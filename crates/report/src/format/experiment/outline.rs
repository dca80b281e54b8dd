//! The outline of a plan that is not carried out, as a document.

use crate::document::{Block, Column, Csv, Document, Head, Table, json_value};
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
        blocks.extend([Block::Heading(title), Block::Table(rows(&self.rows))]);
        blocks
    }

    fn csv(&self) -> Csv {
        let row = |(at, row): (usize, &OutlineRow)| {
            let settings = row.settings.iter().map(|one| format!("{}={}", one.name, one.value));
            [
                (at + 1).to_string(),
                row.path.clone(),
                row.test.clone(),
                settings.collect::<Vec<_>>().join(" "),
                row.what.clone(),
                row.time.map(|time| time.0.to_string()).unwrap_or_default(),
                row.bytes.map(|bytes| bytes.0.to_string()).unwrap_or_default(),
                row.refused.clone().unwrap_or_default(),
            ]
        };
        Csv::new(CSV, self.rows.iter().enumerate().map(row))
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

fn rows(rows: &[OutlineRow]) -> Table {
    let columns = [
        Column::right("row"),
        Column::left("path"),
        Column::left("test"),
        Column::left("values"),
        Column::left("what"),
        Column::right("time"),
        Column::right("payload"),
    ];
    let row = |(at, row): (usize, &OutlineRow)| {
        let settings = row.settings.iter().map(|one| format!("{} {}", one.name, one.value));
        let time = row.time.map(|time| time.to_string());
        let bytes = row.bytes.map(|bytes| bytes.to_string());
        vec![
            (at + 1).to_string(),
            row.path.clone(),
            row.test.clone(),
            settings.collect::<Vec<_>>().join(", "),
            row.what.clone(),
            time.unwrap_or_else(|| "?".into()),
            bytes.unwrap_or_else(|| "?".into()),
        ]
    };
    Table::new(columns.into(), rows.iter().enumerate().map(row).collect()).with_spare(&["payload", "what"])
}

const CSV: [&str; 8] = ["row", "path", "test", "settings", "what", "time_ns", "payload_bytes", "refused"];
