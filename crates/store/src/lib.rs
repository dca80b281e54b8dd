//! Stored runs: the only SQL of pathmeter.
//!
//! A store is one file (SQLite, in WAL mode, so that several programs may use it at once), or a database of a PostgreSQL server.
//! A run is written while it is measured: its events are appended, so that a crash loses no more than the last second. When it
//! ends, its document takes their place, in one transaction with its row.
//!
//! | wanted | call |
//! |---|---|
//! | a list with filters and figures, page by page | [`Store::list`], [`Store::count`] |
//! | one run's document | [`Store::get`] |
//! | figures, fingerprints and histograms of many runs | [`Store::samples`] |
//! | a run that is being measured | [`Store::begin`], [`Recorder`] |
//! | a run that was measured elsewhere | [`Store::insert`] |
//! | the readable parts of a damaged file | [`salvage`] |
//!
//! A `Store` is a connection: it may be sent to another thread, and each thread opens its own.
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

mod compact;
mod database;
mod document;
mod error;
mod export;
mod label;
mod location;
mod marks;
mod note;
mod query;
mod record;
mod salvage;
mod schedule;
mod schema;

pub use error::StoreError;
pub use export::Exported;
pub use location::Location;
pub use marks::{Alerted, Change, KnownChange, Undelivered};
pub use model::history::Mark;
pub use query::{Filter, ListOrder, Names};
pub use record::{Placed, Recorder};
pub use salvage::{Salvaged, salvage};
pub use schedule::{Schedule, ScheduleKey};

use database::{Access, Database, Value};
use document::damaged;
use model::event::Event;
use model::history::{Entry, Headline, Kept, Measured, Origin, Sample};
use model::time::WallTime;
use std::path::{Path, PathBuf};

/// The result of the calls of this crate.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A store of runs.
#[derive(Debug)]
pub struct Store {
    database: Database,
}

/// The identity of a run when it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Begun {
    /// Its name, unique.
    pub id: String,
    /// The command: `throughput`, `measure`.
    pub kind: String,
    /// The far end, as the user wrote it.
    pub target: String,
    /// A label that groups runs; empty: none.
    pub label: String,
    /// Start, wall clock of this host.
    pub started: WallTime,
}

/// A run of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its row.
    pub entry: Entry,
    /// Its results.
    pub content: Content,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Its document.
    Kept(Kept),
    /// The run has not ended, or was cut off: its events so far.
    Events(Vec<Event>),
}

/// Treatment of an ended run of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Stays,
    Replaced,
}

impl Content {
    /// The document, where the run has ended.
    #[must_use]
    pub fn into_document(self) -> Option<Kept> {
        let Content::Kept(kept) = self else { return None };
        Some(kept)
    }
}

impl Store {
    /// Opens a store, and creates it where there is none. A store of an older version is migrated.
    ///
    /// # Errors
    /// The store cannot be written or reached, is not a store, is damaged, or has a later version; it is left unchanged then.
    pub fn open(location: impl Into<Location>) -> Result<Store> {
        let database = Database::open(location.into(), Access::Write)?;
        let found = schema::check(&database)?;
        database.share()?;
        if found < schema::KNOWN {
            schema::migrate(&database)?;
        }
        Ok(Store { database })
    }

    /// Opens a store that was there before: where its file has vanished, no empty one takes its place.
    ///
    /// # Errors
    /// The same as [`Store::open`]; or the file is gone.
    pub fn reopen(location: &Location) -> Result<Store> {
        if !location.may_exist() {
            return Err(StoreError::Gone(location.clone()));
        }
        Store::open(location)
    }

    /// Opens a store to read it, also one that this user may not write.
    ///
    /// # Errors
    /// The same as [`Store::open`]; a store of an older version must be opened for writing once, to be migrated.
    pub fn open_to_read(location: impl Into<Location>) -> Result<Store> {
        let location = location.into();
        match Store::open(&location) {
            Err(StoreError::ReadOnly(_) | StoreError::Unopened { .. }) if location.file().is_some() => {
                let database = Database::open(location.clone(), Access::Read)?;
                match schema::check(&database)? {
                    schema::KNOWN => Ok(Store { database }),
                    _ => Err(StoreError::ReadOnly(location)),
                }
            }
            opened => opened,
        }
    }

    /// The store's location.
    #[must_use]
    pub fn location(&self) -> &Location {
        self.database.location()
    }

    /// Begins a run. Its events are stored as they arrive, and its document when it ends. `waiting`: a file that takes the run
    /// when this store is a server that becomes unreachable.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(self, begun: &Begun, waiting: Option<PathBuf>) -> Result<Recorder> {
        label::check(&begun.label)?;
        self.add(begun, Origin::Measured)?;
        let waiting = waiting.filter(|_| self.location().file().is_none());
        Recorder::begin(self, begun, waiting)
    }

    /// Puts a run that has ended into the store, its row and its document at once; an existing run of this name stays unchanged,
    /// unless it has not ended. True: the run is new.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn insert(
        &self,
        begun: &Begun,
        origin: Origin,
        measured: Measured<'_>,
        figures: &[Headline],
    ) -> Result<bool> {
        label::check(&begun.label)?;
        self.put(begun, origin, measured, figures, Ended::Stays)
    }

    /// Stores an expected run that has no result: it stays without one until [`Store::insert`] brings it. True: the run is new.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn expect(&self, begun: &Begun) -> Result<bool> {
        label::check(&begun.label)?;
        Ok(self.add(begun, Origin::Measured)? > 0)
    }

    fn put(
        &self,
        begun: &Begun,
        origin: Origin,
        measured: Measured<'_>,
        figures: &[Headline],
        ended: Ended,
    ) -> Result<bool> {
        let packed = document::packed(measured).map_err(|why| damaged(&self.database, &begun.id, why))?;
        self.database.at_once(|| {
            let is_new = self.add(begun, origin)? > 0;
            let has_ended = "SELECT run FROM documents WHERE run = $1";
            if !is_new
                && ended == Ended::Stays
                && !self.database.rows(has_ended, &[(&begun.id).into()])?.is_empty()
            {
                return Ok(false);
            }
            record::finish(&self.database, &begun.id, measured, packed, figures)?;
            Ok(true)
        })
    }

    /// Moves every run that has ended from a store of this host into this one. Returns their number.
    ///
    /// # Errors
    /// Either store cannot be read or written. Runs moved until then are in this one.
    pub fn deliver(&self, waiting: &Path) -> Result<u64> {
        let other = Store::open(waiting)?;
        let mut delivered = 0;
        for id in other.ids(&Filter::default())? {
            let Stored { entry, content } = other.get(&id)?;
            let begun = Begun {
                id: entry.id,
                kind: entry.kind,
                target: entry.target,
                label: entry.label,
                started: entry.started,
            };
            let Some(kept) = content.into_document() else { continue };
            // Its label was checked when it began.
            self.put(&begun, entry.origin, kept.measured(), &entry.figures, Ended::Stays)?;
            self.set_note(&id, &entry.note)?;
            other.forget(&id)?;
            delivered += 1;
        }
        Ok(delivered)
    }

    /// Adds a row without a document, unless there is one of this name; returns how many are new.
    fn add(&self, begun: &Begun, origin: Origin) -> Result<u64> {
        let sql = "INSERT INTO runs (id, kind, target, label, origin, started) VALUES ($1, $2, $3, $4, $5, $6) \
                   ON CONFLICT (id) DO NOTHING";
        let Begun { id, kind, target, label, started } = begun;
        let started = database::to_sql(*started).into();
        let values: [Value; 6] =
            [id.into(), kind.into(), target.into(), label.into(), origin.name().into(), started];
        self.database.execute(sql, &values)
    }

    /// Records that a run is being measured now.
    fn beat(&self, id: &str) -> Result<()> {
        let update = format!("UPDATE runs SET alive = {} WHERE id = $1", self.database.now());
        self.database.execute(&update, &[id.into()]).map(drop)
    }

    /// Runs `act` as one transaction: many runs are inserted at once.
    ///
    /// # Errors
    /// Those of `act`; or the store cannot be written.
    pub fn at_once<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        self.database.at_once(act)
    }

    /// Data for a comparison or a trend of the runs that a filter selects, the latest first: without their documents, in four
    /// queries, however many they are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn samples(&self, filter: &Filter) -> Result<Vec<Sample>> {
        let mut samples = self.series(filter)?;
        query::add_histograms(&self.database, filter, &mut samples)?;
        Ok(samples)
    }

    /// A run, by its name or the beginning of its name.
    ///
    /// # Errors
    /// There is none, or several; the store cannot be read, or its data of the run is damaged.
    pub fn get(&self, id: &str) -> Result<Stored> {
        let id = self.full_id(id)?;
        let gone = || StoreError::NoRun(id.clone());
        let entry = query::entry(&self.database, &id)?.ok_or_else(gone)?;
        let select = "SELECT schema, document FROM documents JOIN runs ON run = id WHERE run = $1";
        let content = match self.database.rows(select, &[(&id).into()])?.pop() {
            Some(mut row) => {
                let found = document::unpack(&row.text(0), &row.bytes(1));
                Content::Kept(found.map_err(|why| damaged(&self.database, &id, why))?)
            }
            None => Content::Events(self.events(&id)?),
        };
        Ok(Stored { entry, content })
    }

    /// Gives a run another label; empty: none.
    ///
    /// # Errors
    /// The same as [`Store::get`]; or the store cannot be written.
    pub fn label(&self, id: &str, label: &str) -> Result<()> {
        let id = self.full_id(id)?;
        self.label_all(&[id], label).map(drop)
    }

    /// Gives runs another label, all or none; incomplete names are skipped. Returns the number of runs.
    ///
    /// # Errors
    /// The label is not valid; or the store cannot be written.
    pub fn label_all(&self, ids: &[String], label: &str) -> Result<u64> {
        label::check(label)?;
        let update = "UPDATE runs SET label = $1 WHERE id = $2";
        self.each(ids, |id| self.database.execute(update, &[label.into(), id.into()]))
    }

    /// Removes runs from the store, all or none; incomplete names are skipped. Returns the number of runs.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_all(&self, ids: &[String]) -> Result<u64> {
        self.each(ids, |id| self.database.execute("DELETE FROM runs WHERE id = $1", &[id.into()]))
    }

    /// Calls `act` for each run in one transaction, and sums its results.
    fn each(&self, ids: &[String], act: impl Fn(&str) -> Result<u64>) -> Result<u64> {
        self.database.at_once(|| ids.iter().try_fold(0, |count, id| Ok(count + act(id)?)))
    }

    /// Removes a run from the store.
    ///
    /// # Errors
    /// The same as [`Store::get`]; or the store cannot be written.
    pub fn forget(&self, id: &str) -> Result<()> {
        let id = self.full_id(id)?;
        self.forget_all(&[id]).map(drop)
    }

    /// Removes every run that began before this time. Returns their number.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn forget_before(&self, time: WallTime) -> Result<u64> {
        self.database.execute("DELETE FROM runs WHERE started < $1", &[database::to_sql(time).into()])
    }

    /// The whole name of the one run whose name begins with `beginning`.
    ///
    /// # Errors
    /// There is none, or several; the store cannot be read.
    pub fn full_id(&self, beginning: &str) -> Result<String> {
        let mut found = query::beginning(&self.database, beginning)?;
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(StoreError::NoRun(beginning.into())),
            _ => Err(StoreError::Ambiguous { id: beginning.into(), count: found.len() }),
        }
    }

    fn events(&self, id: &str) -> Result<Vec<Event>> {
        let read = |text: &String| {
            model::json::read(text.as_bytes()).map_err(|why| damaged(&self.database, id, why))
        };
        query::events(&self.database, id)?.iter().map(read).collect()
    }
}
