//! Reading a store that is damaged, or of a later version.

use crate::database::{Access, Database};
use crate::{Content, Location, Result, document};
use model::event::Event;
use std::collections::BTreeSet;
use std::path::Path;

/// The readable contents of such a store. Its file is left unchanged.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// The runs that can be read, with their names, commands and contents.
    pub runs: Vec<(String, String, Content)>,
    /// The names of the runs that exist and cannot be read.
    pub lost: Vec<String>,
}

/// Reads as much as possible, from both ends of every index, as a damaged page ends each pass through it.
///
/// # Errors
/// Nothing can be read.
pub fn salvage(file: &Path) -> Result<Salvaged> {
    let database = Database::open(Location::from(file), Access::Read)?;
    let mut ids = BTreeSet::new();
    let mut failed = None;
    for table in ["runs", "documents"] {
        let key = if table == "runs" { "id" } else { "run" };
        for sort in ["id", "id DESC", "started", "started DESC"] {
            let sort =
                if table == "runs" { sort } else { &sort.replace("id", "run").replace("started", "run") };
            let sql = format!("SELECT {key} FROM {table} ORDER BY {sort}");
            let ended = database.each(&sql, &[], |mut row| ids.extend([row.text(0)]));
            failed = failed.or(ended.err());
        }
    }
    if let Some(error) = failed.filter(|_| ids.is_empty()) {
        return Err(error);
    }
    let mut salvaged = Salvaged::default();
    for id in ids {
        match content(&database, &id) {
            Some((kind, content)) => salvaged.runs.push((id, kind, content)),
            None => salvaged.lost.push(id),
        }
    }
    Ok(salvaged)
}

fn content(database: &Database, id: &str) -> Option<(String, Content)> {
    let first_row = |sql: &str| database.rows(sql, &[id.into()]).ok()?.pop();
    let mut row = first_row("SELECT kind, schema FROM runs WHERE id = $1")
        .or_else(|| first_row("SELECT kind, 'pathmeter/result/1' FROM runs WHERE id = $1"));
    let (kind, schema) = row.as_mut().map(|row| (row.text(0), row.text(1))).unwrap_or_default();
    let packed = first_row("SELECT document FROM documents WHERE run = $1")
        .or_else(|| first_row("SELECT document FROM runs WHERE id = $1 AND document IS NOT NULL"));
    if let Some(mut packed) = packed {
        let found = document::unpack(&schema, &packed.bytes(0)).ok()?;
        return Some((kind, Content::Kept(found)));
    }
    let mut events: Vec<Event> = Vec::new();
    // Reads up to the first event that cannot be read.
    let read =
        database.each("SELECT event FROM events WHERE run = $1 ORDER BY number", &[id.into()], |mut row| {
            events.extend(model::json::read::<Event>(row.text(0).as_bytes()).ok());
        });
    (read.is_ok() && !kind.is_empty() || !events.is_empty()).then_some((kind, Content::Events(events)))
}
