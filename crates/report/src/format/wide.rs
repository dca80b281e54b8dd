//! Wide CSV: a row for each run, a column for each figure that any of them has.

use super::Style;
use super::csv::written;
use super::history::in_csv;
use crate::document::{Csv, Document};
use model::distinct;
use model::history::Entry;

/// The runs of every document in one table.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let entries: Vec<Entry> = documents.iter().flat_map(|document| document.entries()).collect();
    let figures = entries.iter().flat_map(|entry| &entry.figures);
    let figures = distinct(figures.map(|figure| figure.name.as_str()));
    let columns = COLUMNS.iter().chain(&figures).copied();
    written(&Csv::new(columns, entries.iter().map(|entry| row(entry, &figures))))
}

fn row(entry: &Entry, figures: &[&str]) -> Vec<String> {
    let value = |name: &&str| {
        let figure = entry.figures.iter().find(|figure| figure.name == **name);
        figure.map(in_csv).unwrap_or_default()
    };
    let own = [
        entry.id.clone(),
        entry.started.to_string(),
        entry.finished.map(|time| time.to_string()).unwrap_or_default(),
        entry.kind.clone(),
        entry.target.clone(),
        entry.label.clone(),
        entry.origin.name().into(),
        entry.status.clone().unwrap_or_default(),
    ];
    own.into_iter().chain(figures.iter().map(value)).collect()
}

const COLUMNS: [&str; 8] = ["id", "started", "finished", "kind", "target", "label", "origin", "status"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::history::History;
    use model::history::{Headline, Origin};
    use model::time::WallTime;

    #[test]
    fn a_row_for_each_run_and_nothing_where_nothing_was_measured() {
        let entry = |id: &str, label: &str, figures: &[(&str, f64)]| Entry {
            id: id.into(),
            kind: "latency".into(),
            target: "far".into(),
            label: label.into(),
            origin: Origin::Measured,
            started: WallTime(0),
            finished: None,
            note: String::new(),
            running: false,
            status: Some("ok".into()),
            verdict: None,
            figures: figures
                .iter()
                .map(|(name, value)| Headline { name: (*name).into(), value: *value, text: String::new() })
                .collect(),
        };
        let entries = vec![entry("a", "=1+1", &[("rtt.p50", 1.5)]), entry("b", "", &[("rtt.p99", 2.0)])];
        let text = documents(&[&History { entries, notes: Vec::new() }], &Style::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "id,started,finished,kind,target,label,origin,status,rtt.p50,rtt.p99");
        assert_eq!(lines[1], "a,1970-01-01T00:00:00.000Z,,latency,far,'=1+1,measured,ok,1.5,");
        assert_eq!(lines[2], "b,1970-01-01T00:00:00.000Z,,latency,far,,measured,ok,,2");
    }
}
