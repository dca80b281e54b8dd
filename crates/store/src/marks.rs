//! What is kept about trends: known changes, and what was told.

use crate::database::Value;
use crate::query::{from_sql, to_sql};
use crate::{Result, Store};
use model::time::WallTime;

/// A known change of a path: trends begin anew here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The far end, as runs name it.
    pub target: String,
    /// When.
    pub at: WallTime,
    /// What changed.
    pub note: String,
}

impl Store {
    /// Keeps a mark; one of the same target and time gets the new note.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn mark(&self, mark: &Mark) -> Result<()> {
        let insert = "INSERT INTO marks (target, at, note) VALUES ($1, $2, $3) \
                      ON CONFLICT (target, at) DO UPDATE SET note = excluded.note";
        let values = [(&mark.target).into(), to_sql(mark.at).into(), (&mark.note).into()];
        self.database.execute(insert, &values).map(drop)
    }

    /// The marks of a target, the earliest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn marks(&self, target: &str) -> Result<Vec<Mark>> {
        let select = "SELECT target, at, note FROM marks WHERE target = $1 ORDER BY at";
        let rows = self.database.rows(select, &[target.into()])?;
        let mark = |mut row: crate::database::Row| Mark {
            target: row.text(0),
            at: from_sql(row.int(1).unwrap_or_default()),
            note: row.text(2),
        };
        Ok(rows.into_iter().map(mark).collect())
    }

    /// The last word that was told of a path itself, or of one of its figures.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_alert(&self, target: &str, kind: &str, label: &str, figure: &str) -> Result<Option<String>> {
        let select = "SELECT change FROM alerts JOIN runs ON run = id \
                      WHERE target = $1 AND kind = $2 AND label = $3 AND figure = $4 ORDER BY started DESC LIMIT 1";
        let values = [target.into(), kind.into(), label.into(), figure.into()];
        Ok(self.database.rows(select, &values)?.pop().map(|mut row| row.text(0)))
    }

    /// Notes that a change of a figure, which this run confirmed, is told now. False: it was told before.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn alert(&self, run: &str, figure: &str, change: &str) -> Result<bool> {
        let insert = "INSERT INTO alerts (run, figure, change) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let values: [Value; 3] = [run.into(), figure.into(), change.into()];
        Ok(self.database.execute(insert, &values)? > 0)
    }
}
