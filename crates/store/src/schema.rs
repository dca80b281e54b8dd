//! The tables, and the migration of a store of an older version.
//!
//! They are written in SQLite's dialect; `database/server.rs` translates them for PostgreSQL.

use crate::database::Database;
use crate::{Result, StoreError, document};

/// Each step migrates a store from the version of its place (0: empty) to the next. Steps are only ever added.
const STEPS: [&str; 5] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

const FIRST: &str = "CREATE TABLE runs (
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
     CREATE TABLE figures (       -- those that runs are listed with and compared by, in order
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
     ) STRICT, WITHOUT ROWID;";

/// Documents leave the rows, so that lists read little; data for comparisons gets tables of its own.
const SECOND: &str = "CREATE TABLE documents (
         run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
         document BLOB NOT NULL    -- JSON with intervals by columns, zlib
     ) STRICT, WITHOUT ROWID;
     INSERT INTO documents (run, document) SELECT id, document FROM runs WHERE document IS NOT NULL;
     ALTER TABLE runs DROP COLUMN document;
     ALTER TABLE runs ADD COLUMN schema TEXT NOT NULL DEFAULT 'pathmeter/result/1';
     ALTER TABLE runs ADD COLUMN fingerprint TEXT;
     CREATE INDEX runs_by_kind ON runs (kind, started DESC);
     CREATE INDEX runs_by_status ON runs (status, started DESC);
     CREATE TABLE fingerprints (
         id TEXT PRIMARY KEY,      -- UUID of version 5 of the facts
         facts TEXT NOT NULL       -- JSON: names and values
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE histograms (    -- of round trips
         run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
         name TEXT NOT NULL,       -- label of the egress path
         counts BLOB NOT NULL,     -- HdrHistogram V2, compressed, nanoseconds
         PRIMARY KEY (run, name)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE marks (         -- known changes: trends begin anew
         target TEXT NOT NULL,
         at INTEGER NOT NULL,
         note TEXT NOT NULL,
         PRIMARY KEY (target, at)
     ) STRICT, WITHOUT ROWID;
     CREATE TABLE alerts (        -- reported changes of trends, so that each is reported once
         run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
         figure TEXT NOT NULL,
         change TEXT NOT NULL,
         PRIMARY KEY (run, figure, change)
     ) STRICT, WITHOUT ROWID;";

/// Alerts outlive the program that was to deliver them.
const THIRD: &str = "CREATE TABLE outbox (
         run TEXT NOT NULL,
         figure TEXT NOT NULL,
         change TEXT NOT NULL,
         receiver TEXT NOT NULL,   -- a digest: the address may hold a secret
         since INTEGER NOT NULL,   -- nanoseconds since 1970, UTC
         alert TEXT NOT NULL,      -- JSON
         PRIMARY KEY (run, figure, change, receiver)
     ) STRICT, WITHOUT ROWID;";

/// Distinguishes a run that is being measured from one that was cut off, and stores when a `watch` measures next.
const FOURTH: &str =
    "ALTER TABLE runs ADD COLUMN alive INTEGER; -- by the clock of the store: its program was there then
     CREATE TABLE schedules (
         host TEXT NOT NULL,       -- that measures
         target TEXT NOT NULL,
         kind TEXT NOT NULL,
         label TEXT NOT NULL,
         every INTEGER NOT NULL,   -- nanoseconds
         latest INTEGER NOT NULL,  -- begin of the latest round, nanoseconds since 1970, UTC
         due INTEGER NOT NULL,     -- begin of the next one, likewise
         PRIMARY KEY (host, target, kind, label)
     ) STRICT, WITHOUT ROWID;";

/// Notes of users on runs.
const FIFTH: &str = "CREATE TABLE notes (
         run TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
         note TEXT NOT NULL
     ) STRICT, WITHOUT ROWID;";

/// The version of this program's tables.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// Refuses a store of a later version.
pub(crate) fn check(database: &Database) -> Result<i64> {
    let found = database.version()?;
    if found > KNOWN {
        return Err(StoreError::Newer { store: database.location().clone(), found, known: KNOWN });
    }
    Ok(found)
}

/// Migrates the store to this version, all at once: a program that is killed meanwhile leaves it unchanged.
pub(crate) fn migrate(database: &Database) -> Result<()> {
    database.at_once(|| {
        database.claim()?;
        // Another program may have done the same meanwhile.
        let from = usize::try_from(check(database)?).unwrap_or(STEPS.len());
        for step in STEPS.iter().skip(from) {
            database.script(step)?;
        }
        if from == 1 {
            document::describe_all(database)?;
        }
        database.set_version(KNOWN)
    })
}
