//! Why a store cannot be used, naming it and the way out.

use crate::Location;
use std::io;
use std::path::PathBuf;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Its folder cannot be made.
    #[error("make the folder {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another program writes and does not end.
    #[error("the store {store} is locked by another program")]
    Locked {
        /// The store.
        store: Location,
    },
    /// No room.
    #[error("the store {store} cannot grow: the disk is full")]
    Full {
        /// The store.
        store: Location,
    },
    /// It may not be written.
    #[error("the store {store} cannot be written")]
    ReadOnly {
        /// The store.
        store: Location,
    },
    /// It cannot be opened.
    #[error("open the store {store}: {why}")]
    Unopened {
        /// The store.
        store: Location,
        /// What the database reports.
        why: String,
    },
    /// Its server does not answer, or the connection was lost.
    #[error("reach the store {store}: {why}")]
    Unreachable {
        /// The store.
        store: Location,
        /// What the network reports.
        why: String,
    },
    /// Its server does not let this user in.
    #[error("the store {store} refuses this user: {why}")]
    Refused {
        /// The store.
        store: Location,
        /// What the server reports.
        why: String,
    },
    /// Its server has no TLS, or a certificate that is not trusted.
    #[error("the store {store} cannot be trusted: {why}")]
    Untrusted {
        /// The store.
        store: Location,
        /// What is wrong with it.
        why: String,
    },
    /// This program has no client for it.
    #[error("the store {store} needs a pathmeter that was built with the feature `postgres`")]
    NotBuilt {
        /// The store.
        store: Location,
    },
    /// The file is not a store, or damaged.
    #[error("{store} is damaged, or not a store: {why}")]
    Damaged {
        /// The store.
        store: Location,
        /// What the database reports.
        why: String,
    },
    /// A later program made it.
    #[error("the store {store} has version {found}, and this program knows versions up to {known}")]
    Newer {
        /// The store.
        store: Location,
        /// Its version.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// What it holds of a run cannot be read.
    #[error("the run {id} in {store} is damaged: {why}")]
    Run {
        /// The store.
        store: Location,
        /// The run.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// No list could show a run by this label.
    #[error("the label cannot be kept: {why}")]
    Label {
        /// What is wrong with it.
        why: String,
    },
    /// No run of this name.
    #[error("no run is called `{id}`")]
    NoRun {
        /// The name, or its beginning.
        id: String,
    },
    /// More than one run of this beginning.
    #[error("`{id}` is the beginning of {count} runs")]
    Ambiguous {
        /// The beginning.
        id: String,
        /// How many.
        count: usize,
    },
    /// Anything else the database reports.
    #[error("the store {store}: {why}")]
    Other {
        /// The store.
        store: Location,
        /// What the database reports.
        why: String,
    },
}

impl StoreError {
    /// The connection to a server is lost, or was never made: what is to be kept can wait in a store of this host.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, StoreError::Unreachable { .. })
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            StoreError::Folder { .. } | StoreError::ReadOnly { .. } | StoreError::Unopened { .. } => {
                "name a store that this user may write with --store".into()
            }
            StoreError::Locked { .. } => {
                "wait until the other program is done, or name another store with --store".into()
            }
            StoreError::Full { .. } => {
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
            StoreError::NotBuilt { .. } => "name a file with --store FILE".into(),
            StoreError::Damaged { store, .. } => {
                format!("save what can be read: pathmeter export --store {store} -o runs.ndjson; keep new runs in another store")
            }
            StoreError::Newer { store, .. } => {
                format!("use the pathmeter that made it, or save what can be read: pathmeter export --store {store} -o runs.ndjson")
            }
            StoreError::Run { id, .. } => {
                format!("the other runs can be read; take it out: pathmeter forget {id}")
            }
            StoreError::Label { .. } => {
                "give a label of at most 100 characters, all of them printable, such as `before`".into()
            }
            StoreError::NoRun { .. } => "`pathmeter history` lists the runs".into(),
            StoreError::Ambiguous { .. } => "give more of its name; `pathmeter history` lists them".into(),
            StoreError::Other { .. } => "name another store with --store".into(),
        }
    }
}
