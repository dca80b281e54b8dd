//! What can still be read of a store that is damaged, or of a later version.

use crate::database::{Access, Database};
use crate::{Content, Location, Result, document};
use model::event::Event;
use std::collections::BTreeSet;
use std::path::Path;

/// What was read of such a store. Its file is as it was.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// The runs that can be read, with their names, commands and contents.
    pub runs: Vec<(String, String, Content)>,
    /// The names of those that are there, and cannot be read.
    pub lost: Vec<String>,
}

/// Reads what can be read, from both ends of every index, as a damaged page ends each way through it.
///
/// # Errors
/// Nothing of it can be read.
pub fn salvage(file: &Path) -> Result<Salvaged> {
    let database = Database::open(Location::from(file), Access::Read)?;
    let mut ids = BTreeSet::new();
    let mut failed = None;
    for table in ["runs", "documents"] {
        let key = if table == "runs" { "id" } else { "run" };
        for order in ["id", "id DESC", "started", "started DESC"] {
            let order =
                if table == "runs" { order } else { &order.replace("id", "run").replace("started", "run") };
            let sql = format!("SELECT {key} FROM {table} ORDER BY {order}");
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
    let one = |sql: &str| database.rows(sql, &[id.into()]).ok()?.pop();
    let mut row = one("SELECT kind, schema FROM runs WHERE id = $1")
        .or_else(|| one("SELECT kind, 'pathmeter/result/1' FROM runs WHERE id = $1"));
    let (kind, schema) = row.as_mut().map(|row| (row.text(0), row.text(1))).unwrap_or_default();
    let packed = one("SELECT document FROM documents WHERE run = $1")
        .or_else(|| one("SELECT document FROM runs WHERE id = $1 AND document IS NOT NULL"));
    if let Some(mut packed) = packed {
        let found = document::unpack(&schema, &packed.bytes(0)).ok()?;
        return Some((kind, Content::Kept(found)));
    }
    let mut events: Vec<Event> = Vec::new();
    // Up to the first that cannot be read.
    let read =
        database.each("SELECT event FROM events WHERE run = $1 ORDER BY number", &[id.into()], |mut row| {
            events.extend(model::json::read::<Event>(row.text(0).as_bytes()).ok());
        });
    (read.is_ok() && !kind.is_empty() || !events.is_empty()).then_some((kind, Content::Events(events)))
}
