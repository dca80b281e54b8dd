//! Why a store cannot be used, with the store's name and the remedy.

use crate::Location;
use std::io;
use std::path::PathBuf;

/// Errors of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Its folder cannot be created.
    #[error("make the folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Its file was there, and is not any more.
    #[error("the store {0} is gone")]
    Gone(Location),
    /// Another program writes and does not end.
    #[error("the store {0} is locked by another program")]
    Locked(Location),
    /// The disk is full.
    #[error("the store {0} cannot grow: the disk is full")]
    Full(Location),
    /// The store may not be written.
    #[error("the store {0} cannot be written")]
    ReadOnly(Location),
    /// The store cannot be opened.
    #[error("open the store {store}: {why}")]
    Unopened {
        /// The store.
        store: Location,
        /// The report of the database.
        why: String,
    },
    /// Its server does not answer, or the connection was lost.
    #[error("reach the store {store}: {why}")]
    Unreachable {
        /// The store.
        store: Location,
        /// The report of the network.
        why: String,
    },
    /// Its server refuses this user.
    #[error("the store {store} refuses this user: {why}")]
    Refused {
        /// The store.
        store: Location,
        /// The report of the server.
        why: String,
    },
    /// Its server has no TLS, or a certificate that is not trusted.
    #[error("the store {store} cannot be trusted: {why}")]
    Untrusted {
        /// The store.
        store: Location,
        /// The fault.
        why: String,
    },
    /// This program is built without a client for it.
    #[error("the store {0} needs a pathmeter that was built with the feature `postgres`")]
    NotBuilt(Location),
    /// The file is not a store, or damaged.
    #[error("{store} is damaged, or not a store: {why}")]
    Damaged {
        /// The store.
        store: Location,
        /// The report of the database.
        why: String,
    },
    /// A later program created it.
    #[error("the store {store} has version {found}, and this program knows versions up to {known}")]
    Newer {
        /// The store.
        store: Location,
        /// Its version.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// The stored parts of a run cannot be read.
    #[error("the run {id} in {store} is damaged: {why}")]
    Run {
        /// The store.
        store: Location,
        /// The run.
        id: String,
        /// The fault.
        why: String,
    },
    /// A run with this label could not be listed.
    #[error("the label cannot be kept: {0}")]
    Label(String),
    /// A note that could not be read.
    #[error("the note cannot be kept: {0}")]
    Note(String),
    /// No run of this name.
    #[error("no run is called `{0}`")]
    NoRun(String),
    /// More than one run of this beginning.
    #[error("`{id}` is the beginning of {count} runs")]
    Ambiguous {
        /// The beginning.
        id: String,
        /// Their number.
        count: usize,
    },
    /// Any other error of the database.
    #[error("the store {store}: {why}")]
    Other {
        /// The store.
        store: Location,
        /// The report of the database.
        why: String,
    },
}

impl StoreError {
    /// The connection to a server is lost, or was never made: runs can wait in a store of this host.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, StoreError::Unreachable { .. })
    }

    /// The remedy.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            StoreError::Folder { .. } | StoreError::ReadOnly(_) | StoreError::Unopened { .. } => {
                "name a store that this user may write with --store".into()
            }
            StoreError::Gone(_) => {
                "put it back where it was, or keep a run there to begin an empty one: pathmeter measure HOST --save".into()
            }
            StoreError::Locked(_) => {
                "wait until the other program is done, or name another store with --store".into()
            }
            StoreError::Full(_) => {
                "free some room, or take old runs out: pathmeter forget --older-than 30d".into()
            }
            StoreError::Unreachable { .. } => {
                "see that the server runs and the URL is right, or keep the run in a file: --store FILE".into()
            }
            StoreError::Refused { .. } => {
                "give the user and password in the URL (postgres://USER:PASSWORD@HOST/DATABASE) or in PGPASSWORD".into()
            }
            StoreError::Untrusted { .. } => {
                "name the certificate of the authority that signed the server's: ?sslmode=verify-full&sslrootcert=FILE in the URL".into()
            }
            StoreError::NotBuilt(_) => "name a file with --store FILE".into(),
            StoreError::Damaged { store, .. } => {
                format!("save what can be read: pathmeter export --store {store} -o runs.ndjson; keep new runs in another store")
            }
            StoreError::Newer { store, .. } => {
                format!("use the pathmeter that made it, or save what can be read: pathmeter export --store {store} -o runs.ndjson")
            }
            StoreError::Run { id, .. } => {
                format!("the other runs can be read; take it out: pathmeter forget {id}")
            }
            StoreError::Label(_) => {
                "give a label of at most 100 characters, all of them printable, such as `before`".into()
            }
            StoreError::Note(_) => "give a note of at most 2000 printable characters".into(),
            StoreError::NoRun(_) => "`pathmeter history` lists the runs".into(),
            StoreError::Ambiguous { .. } => "give more of its name; `pathmeter history` lists them".into(),
            StoreError::Other { .. } => "name another store with --store".into(),
        }
    }
}
