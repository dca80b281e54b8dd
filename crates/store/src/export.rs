//! Runs with all that another store needs, many by one query.

use crate::database::Value;
use crate::document::{damaged, unpacked};
use crate::{Result, Store};
use model::history::{Origin, StoredAs};
use std::collections::HashMap;

/// A run as it is exported.
#[derive(Debug)]
pub struct Exported {
    /// Its row, and the note on it.
    pub stored: StoredAs,
    /// Its document as it was kept, or why it cannot be read; absent: the run has not ended, or was cut off.
    pub document: Option<Result<serde_json::Value>>,
}

impl Store {
    /// The runs of these whole names, in this order; names of no run are left out. One query reads all of them: as many as fit
    /// into memory are named at once.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn exported(&self, ids: &[String]) -> Result<Vec<Exported>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let places: Vec<String> = (1..=ids.len()).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT id, kind, target, label, origin, started, note, document FROM runs \
             LEFT JOIN notes ON notes.run = id LEFT JOIN documents ON documents.run = id WHERE id IN ({})",
            places.join(", ")
        );
        let values: Vec<Value> = ids.iter().map(Into::into).collect();
        let mut found = HashMap::new();
        self.database.each(&sql, &values, |mut row| {
            let stored = StoredAs {
                id: row.text(0),
                kind: row.text(1),
                target: row.text(2),
                label: row.text(3),
                origin: Origin::named(&row.text(4)),
                started: row.time(5),
                note: row.optional_text(6).unwrap_or_default(),
            };
            let packed = row.bytes(7);
            let document = (!packed.is_empty())
                .then(|| unpacked(&packed).map_err(|why| damaged(&self.database, &stored.id, why)));
            found.insert(stored.id.clone(), Exported { stored, document });
        })?;
        Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
    }
}
