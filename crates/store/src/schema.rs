//! The tables, and how a store of an older version becomes one of this.

use crate::{Result, Store, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Each step brings a store from the version of its place (0: empty) to the next. Only ever extended.
const STEPS: [&str; 1] = ["CREATE TABLE runs (
         id TEXT PRIMARY KEY,
         kind TEXT NOT NULL,
         target TEXT NOT NULL,
         label TEXT NOT NULL,
         origin TEXT NOT NULL,
         started INTEGER NOT NULL, -- nanoseconds since 1970, UTC
         finished INTEGER,
         status TEXT,              -- of the verdict; absent: it has not ended
         verdict TEXT,
         document BLOB             -- JSON, zlib
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX runs_by_start ON runs (started DESC, id);
     CREATE INDEX runs_by_label ON runs (label, started DESC);
     CREATE INDEX runs_by_target ON runs (target, started DESC);
     CREATE TABLE figures (       -- those of a row of the list, in order
         run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
         number INTEGER NOT NULL,
         name TEXT NOT NULL,
         value REAL NOT NULL,
         text TEXT NOT NULL,       -- with its unit
         PRIMARY KEY (run, number)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE events (        -- of runs that have not ended
         run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
         number INTEGER NOT NULL,
         event TEXT NOT NULL,      -- JSON
         PRIMARY KEY (run, number)
     ) STRICT, WITHOUT ROWID;"];

impl Store {
    /// Brings the store to this version.
    pub(crate) fn check_version(&self) -> Result<()> {
        let known = STEPS.len() as i64;
        let found = self.write(version)?;
        if found > known {
            return Err(StoreError::Newer { file: self.file.clone(), found, known });
        }
        // Another program may do the same at this moment: the version is read again once the store is ours.
        if found < known { self.write(migrate) } else { Ok(()) }
    }
}

fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn migrate(db: &Connection) -> rusqlite::Result<()> {
    let change = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let from = usize::try_from(version(&change)?).unwrap_or(STEPS.len());
    for step in STEPS.iter().skip(from) {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "user_version", STEPS.len() as i64)?;
    change.commit()
}
