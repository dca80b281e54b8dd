//! A journal: the result of each step of long work, written to a file as it arrives. A run that was cut off, by `kill -9` or a
//! power cut, goes on from there.
//!
//! The first line of JSON names the work, then there is one for each step. The last line may be torn: its step is done again.

use crate::error::{Context, Error, Failure, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A journal that is being written. `E`: what came of a step.
#[derive(Debug)]
pub struct Journal<E> {
    path: PathBuf,
    file: File,
    /// The results of the steps before, in their order.
    known: VecDeque<E>,
    /// Why nothing is written any more.
    broken: Option<io::Error>,
    /// No step is in it yet.
    is_empty: bool,
}

impl<E: Serialize + DeserializeOwned> Journal<E> {
    /// Begins one of this work.
    ///
    /// # Errors
    /// `Kind::Usage`: there is one already, of a run that was cut off, or none can be written.
    pub fn begin(path: &Path, head: &impl Serialize) -> Result<Journal<E>> {
        // A journal without a measured step can be overwritten: nothing is lost.
        let is_empty = std::fs::read_to_string(path).is_ok_and(|text| text.lines().nth(1).is_none());
        let mut options = OpenOptions::new();
        let options = if is_empty { options.truncate(true) } else { options.create_new(true) };
        let made = options.write(true).open(path);
        let mut file = made.map_err(|error| refused(path, &error))?;
        written(&mut file, head).map_err(|error| refused(path, &error))?;
        Ok(Journal { path: path.to_owned(), file, known: VecDeque::new(), broken: None, is_empty: true })
    }

    /// Goes on with that of a run of the same work. `what` names the work, as in `another benchmark`.
    ///
    /// # Errors
    /// `Kind::Usage`: there is none, or it is of another work.
    pub fn resume<H>(path: &Path, head: &H, what: &str) -> Result<Journal<E>>
    where
        H: DeserializeOwned + PartialEq,
    {
        let no = |what: String| Failure::usage(format!("--resume: {}: {what}", path.display()), ANOTHER);
        let text = std::fs::read_to_string(path).map_err(|error| no(error.to_string()))?;
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let mut lines = text[..whole].lines();
        let found: H = serde_json::from_str(lines.next().unwrap_or_default())
            .map_err(|_| no("it is not a journal".into()))?;
        if found != *head {
            return Err(no(format!("it is the journal of another {what}")).into());
        }
        let known: serde_json::Result<VecDeque<E>> = lines.map(serde_json::from_str).collect();
        let known = known.map_err(|error| no(format!("a line cannot be read: {error}")))?;
        let file = OpenOptions::new().append(true).open(path).map_err(|error| no(error.to_string()))?;
        file.set_len(whole as u64).map_err(|error| no(error.to_string()))?;
        let is_empty = known.is_empty();
        Ok(Journal { path: path.to_owned(), file, known, broken: None, is_empty })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many steps were done before, and are not taken from it yet.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// Takes the result of the next step that was done before.
    pub fn recall(&mut self) -> Option<E> {
        self.known.pop_front()
    }

    /// Writes down the result of a step. The first failure is returned; the measurement goes on.
    pub fn write(&mut self, entry: &E) -> Option<Error> {
        if self.broken.is_some() {
            return None;
        }
        self.is_empty = false;
        let error = written(&mut self.file, entry).err()?;
        let reported =
            Error::from(io::Error::from(error.kind())).context(format!("write {}", self.path.display()));
        self.broken = Some(error);
        Some(reported)
    }
}

impl<E> Journal<E> {
    /// Everything was done, and is kept elsewhere.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("remove {}", self.path.display()))
    }
}

impl<E> Drop for Journal<E> {
    fn drop(&mut self) {
        if self.is_empty {
            // An error here leaves a file that the next run may write over.
            self.remove().ok();
        }
    }
}

/// Writes a line of JSON, which is on the disk then.
fn written(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_data()
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(
            format!("{} holds what a run that was cut off has measured", path.display()),
            "go on with it by the same command and --resume, or remove the file",
        ),
        _ => Failure::usage(format!("write {}: {error}", path.display()), "nothing was measured"),
    }
}

/// The advice where a journal is of another run.
pub(crate) const ANOTHER: &str =
    "give the command line and the -o FILE of the run that was cut off; its journal is FILE.journal";
