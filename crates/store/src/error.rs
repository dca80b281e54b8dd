//! Why a store cannot be used, naming the file and the way out.

use rusqlite::{Error, ErrorCode};
use std::io;
use std::path::{Path, PathBuf};

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
    #[error("the store {} is locked by another program", file.display())]
    Locked {
        /// The file.
        file: PathBuf,
    },
    /// No room.
    #[error("the store {} cannot grow: the disk is full", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// It may not be written.
    #[error("the store {} cannot be written", file.display())]
    ReadOnly {
        /// The file.
        file: PathBuf,
    },
    /// It cannot be opened.
    #[error("open the store {}: {why}", file.display())]
    Unopened {
        /// The file.
        file: PathBuf,
        /// What the database says.
        why: String,
    },
    /// The file is none of ours, or broken.
    #[error("{} is damaged, or no store: {why}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What the database says.
        why: String,
    },
    /// A later program made it.
    #[error("the store {} is of version {found}, and this program knows those up to {known}", file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// What it holds of a run cannot be read.
    #[error("the run {id} in {} is damaged: {why}", file.display())]
    Run {
        /// The file.
        file: PathBuf,
        /// The run.
        id: String,
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
    /// Anything else the database says.
    #[error("the store {}: {why}", file.display())]
    Other {
        /// The file.
        file: PathBuf,
        /// What the database says.
        why: String,
    },
}

impl StoreError {
    pub(crate) fn of(file: &Path, error: Error) -> StoreError {
        let (file, why) = (file.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { file },
            Some(ErrorCode::DiskFull) => StoreError::Full { file },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { file },
            Some(ErrorCode::CannotOpen) => StoreError::Unopened { file, why },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { file, why },
            _ => StoreError::Other { file, why },
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            StoreError::Folder { .. } | StoreError::ReadOnly { .. } | StoreError::Unopened { .. } => {
                "name a store that this user may write with --store FILE".into()
            }
            StoreError::Locked { .. } => {
                "wait until the other program is done, or name another store with --store FILE".into()
            }
            StoreError::Full { .. } => {
                "free some room, or take old runs out: pathmeter forget --older-than 30d".into()
            }
            StoreError::Damaged { file, .. } => {
                let file = file.display();
                format!(
                    "name another store with --store FILE; what can be saved of this one: sqlite3 {file} .recover"
                )
            }
            StoreError::Newer { .. } => {
                "use the pathmeter that made it, or name another store with --store FILE".into()
            }
            StoreError::Run { id, .. } => {
                format!("the other runs can be read; take it out: pathmeter forget {id}")
            }
            StoreError::NoRun { .. } => "`pathmeter history` lists the runs".into(),
            StoreError::Ambiguous { .. } => "give more of its name; `pathmeter history` lists them".into(),
            StoreError::Other { .. } => "name another store with --store FILE".into(),
        }
    }
}
