//! Runs that stay: the only SQL of pathmeter.
//!
//! A store is one file (SQLite, in WAL mode, so that several programs may use it at once). A run is written as it
//! happens: its events are appended, and what was measured before a crash is found again. When it ends, its document
//! takes their place.
//!
//! ```
//! use pathmeter_store::{Filter, Store};
//! # let directory = tempfile::tempdir()?;
//! # let file = directory.path().join("runs.db");
//! let store = Store::open(&file)?;
//! for entry in store.list(&Filter::default())? {
//!     println!("{} {} {}", entry.id, entry.kind, entry.target);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod query;
mod record;
mod schema;

pub use error::StoreError;
pub use query::Filter;
pub use record::Recorder;

use model::event::Event;
use model::history::{Entry, Headline, Origin};
use model::run::Run;
use model::time::WallTime;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the calls of this crate return.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A store of runs.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    file: PathBuf,
}

/// What a run is called when it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Begun {
    /// Its name, unique.
    pub id: String,
    /// The command: `throughput`, `measure`.
    pub kind: String,
    /// The far end, as the user wrote it.
    pub target: String,
    /// A word that holds runs together; empty: none.
    pub label: String,
    /// Begin, wall clock of this host.
    pub started: WallTime,
}

/// A run of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its row.
    pub entry: Entry,
    /// What was measured.
    pub content: Content,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Its document.
    Run(Box<Run>),
    /// It has not ended, or was cut off: what happened until then.
    Events(Vec<Event>),
}

impl Store {
    /// Opens a store, and makes it where there is none. One of an older version is brought to this one.
    ///
    /// # Errors
    /// The file cannot be written, is no store, is damaged, or is of a newer version.
    pub fn open(file: &Path) -> Result<Store> {
        if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            let made = std::fs::create_dir_all(folder);
            made.map_err(|source| StoreError::Folder { folder: folder.to_owned(), source })?;
        }
        let db = Connection::open(file).map_err(|error| StoreError::of(file, error))?;
        let store = Store { db, file: file.to_owned() };
        store.set_up().map_err(|error| store.error(error))?;
        store.check_version()?;
        Ok(store)
    }

    /// Where it is.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Begins a run. Its events are kept as they come, and its document when it ends.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(self, begun: &Begun) -> Result<Recorder> {
        self.add(begun, Origin::Measured, "")?;
        Ok(Recorder::new(self, &begun.id))
    }

    /// Puts a run that has ended into the store; one that is there already stays as it is. True: it is new.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn insert(&self, begun: &Begun, origin: Origin, run: &Run, figures: &[Headline]) -> Result<bool> {
        let new = self.add(begun, origin, "ON CONFLICT (id) DO NOTHING")? > 0;
        if new {
            self.finish(&begun.id, run, figures)?;
        }
        Ok(new)
    }

    /// A row without a document. `conflict`: what is done where the name is taken, in SQL; else that is an error.
    fn add(&self, begun: &Begun, origin: Origin, conflict: &str) -> Result<usize> {
        let columns = "id, kind, target, label, origin, started";
        let sql = format!("INSERT INTO runs ({columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6) {conflict}");
        let Begun { id, kind, target, label, started } = begun;
        let values = params![id, kind, target, label, origin.name(), query::to_sql(*started)];
        self.write(|db| db.execute(&sql, values))
    }

    /// The runs that a filter lets through, the latest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>> {
        query::list(&self.db, filter).map_err(|error| self.error(error))
    }

    /// A run, by its name or by the beginning of it.
    ///
    /// # Errors
    /// There is none, or several; the store cannot be read, or what it holds of the run is damaged.
    pub fn get(&self, id: &str) -> Result<Stored> {
        let id = self.full_id(id)?;
        let entry = query::entry(&self.db, &id).map_err(|error| self.error(error))?;
        let document = self.read("SELECT document FROM runs WHERE id = ?1", &id)?;
        let content = match document {
            Some(packed) => {
                Content::Run(Box::new(record::unpack(&packed).map_err(|why| self.damaged(&id, why))?))
            }
            None => Content::Events(self.events(&id)?),
        };
        Ok(Stored { entry, content })
    }

    /// Gives a run another label; empty: none.
    ///
    /// # Errors
    /// As [`Store::get`]; or the store cannot be written.
    pub fn label(&self, id: &str, label: &str) -> Result<()> {
        let id = self.full_id(id)?;
        self.write(|db| db.execute("UPDATE runs SET label = ?2 WHERE id = ?1", params![id, label])).map(drop)
    }

    /// Takes a run out of the store.
    ///
    /// # Errors
    /// As [`Store::get`]; or the store cannot be written.
    pub fn forget(&self, id: &str) -> Result<()> {
        let id = self.full_id(id)?;
        self.write(|db| db.execute("DELETE FROM runs WHERE id = ?1", params![id])).map(drop)
    }

    /// Takes every run out that began before this time. The count of them.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_before(&self, time: WallTime) -> Result<u64> {
        self.write(|db| db.execute("DELETE FROM runs WHERE started < ?1", params![query::to_sql(time)]))
            .map(|count| count as u64)
    }

    /// The whole name of the one run whose name begins so.
    fn full_id(&self, beginning: &str) -> Result<String> {
        let mut found = query::ids(&self.db, beginning).map_err(|error| self.error(error))?;
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(StoreError::NoRun { id: beginning.into() }),
            _ => Err(StoreError::Ambiguous { id: beginning.into(), count: found.len() }),
        }
    }

    fn events(&self, id: &str) -> Result<Vec<Event>> {
        let events = query::events(&self.db, id).map_err(|error| self.error(error))?;
        let read = |text: &String| serde_json::from_str(text).map_err(|why| self.damaged(id, why));
        events.iter().map(read).collect()
    }

    fn read(&self, sql: &str, id: &str) -> Result<Option<Vec<u8>>> {
        let row = self.db.query_row(sql, params![id], |row| row.get(0)).optional();
        row.map(Option::flatten).map_err(|error| self.error(error))
    }

    fn write<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        act(&self.db).map_err(|error| self.error(error))
    }

    fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::of(&self.file, error)
    }

    fn damaged(&self, id: &str, why: impl ToString) -> StoreError {
        StoreError::Run { file: self.file.clone(), id: id.into(), why: why.to_string() }
    }

    fn set_up(&self) -> rusqlite::Result<()> {
        self.db.busy_timeout(PATIENCE)?;
        self.db.pragma_update(None, "foreign_keys", true)?;
        self.db.pragma_update(None, "journal_mode", "WAL")?;
        // In WAL mode a crash of the host may take the last runs with it, and never the file.
        self.db.pragma_update(None, "synchronous", "NORMAL")
    }
}

/// How long another program may hold the store.
const PATIENCE: Duration = Duration::from_secs(5);
