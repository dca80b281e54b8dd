//! `pathmeter import`: outputs of other tools, told as if they were runs of our own.

#[cfg(feature = "store")]
mod keep;

#[cfg(feature = "web")]
pub(super) use keep::{Counts, keep_all};

use super::output::write;
use crate::exit::{self, Exit};
use cli::{Common, ImportArgs, OutputsArgs};
use engine::error::{Context, Failure, Result};
use model::finding::Status;
use model::history::{Kept, StoredAs};
use report::document::Document;
use report::format::document;
use report::import::{Imported, Known, read, reports, stored, texts};
use std::io::Read;
use std::path::Path;

/// Prints every output of every file. A file that holds none does not keep the others from being read.
pub(crate) fn run(args: &ImportArgs, global: &Common) -> Result<Exit> {
    let (files, worst) = read_all(&args.outputs);
    let reports: Vec<Box<dyn Document + '_>> =
        files.iter().flat_map(|(_, held)| &held.reports).map(|(_, kept)| document(kept)).collect();
    let runs = files.iter().flat_map(|(_, held)| &held.runs).map(|one| one as &dyn Document);
    let documents: Vec<&dyn Document> = runs.chain(reports.iter().map(AsRef::as_ref)).collect();
    write(&documents, global)?;
    #[cfg(feature = "store")]
    if args.save {
        let contents: Vec<&Contents> = files.iter().map(|(_, held)| held).collect();
        keep::keep(&contents, args)?;
    }
    let mut runs = files.iter().flat_map(|(_, held)| &held.runs);
    let is_void = runs.any(|one| one.run.verdict.status == Status::Void);
    Ok(if worst == Exit::Done && is_void { Exit::Void } else { worst })
}

/// What a file holds.
#[derive(Debug)]
pub(super) struct Contents {
    /// Runs of paths: our own, and outputs of other tools.
    pub(super) runs: Vec<Imported>,
    /// Our own reports of devices and topologies, and the line that each begins in.
    pub(super) reports: Vec<(usize, Kept)>,
    /// How a store had what stands in a line.
    pub(super) stored: Vec<(usize, StoredAs)>,
}

impl Contents {
    /// Those of another member of an archive behind these.
    fn extend(&mut self, other: Contents) {
        self.runs.extend(other.runs);
        self.reports.extend(other.reports);
        self.stored.extend(other.stored);
    }

    /// How a store had what stands in a line.
    #[cfg(feature = "store")]
    fn stored_as(&self, line: usize) -> Option<&StoredAs> {
        self.stored.iter().find(|(of, _)| *of == line).map(|(_, stored)| stored)
    }

    /// All of it in the order of the file.
    pub(super) fn documents(self) -> Vec<Kept> {
        let runs = self.runs.into_iter().map(|one| (one.line, Kept::Run(Box::new(one.run))));
        let mut all: Vec<(usize, Kept)> = runs.chain(self.reports).collect();
        all.sort_by_key(|(line, _)| *line);
        all.into_iter().map(|(_, kept)| kept).collect()
    }
}

/// What every file holds, with the file's name. What is wrong with one goes to standard error and into the exit code, and the
/// others are read all the same.
pub(super) fn read_all(args: &OutputsArgs) -> (Vec<(String, Contents)>, Exit) {
    let known = Known { link: args.link, mss: args.mss };
    let (mut files, mut worst) = (Vec::new(), Exit::Done);
    for file in &args.files {
        match contents(file, known) {
            Ok(held) => files.push((file.display().to_string(), held)),
            Err(error) => {
                exit::report(&error);
                worst = Exit::from_error(&error);
            }
        }
    }
    (files, worst)
}

/// What a file holds.
///
/// # Errors
/// When it cannot be read, or holds nothing that is known.
pub(super) fn contents(file: &Path, known: Known) -> Result<Contents> {
    let (name, bytes) = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("read standard input")?;
        ("standard input".to_owned(), bytes)
    } else {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).with_context(|| format!("read {name}"))?;
        (name, bytes)
    };
    of_bytes(&name, bytes, known)
}

/// What the bytes of a file of this name hold.
///
/// # Errors
/// They hold nothing that is known.
pub(super) fn of_bytes(name: &str, bytes: Vec<u8>, known: Known) -> Result<Contents> {
    let texts = texts(bytes).map_err(|looks| unreadable(format!("{name} is not read: it is {looks}")))?;
    let mut all = Contents { runs: Vec::new(), reports: Vec::new(), stored: Vec::new() };
    let mut failed = None;
    for (member, text) in texts {
        let name = member.map_or_else(|| name.to_owned(), |member| format!("{name}/{member}"));
        match of_text(&name, &text, known) {
            Ok(held) => all.extend(held),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    // A README beside outputs in an archive is none of them.
    match failed.filter(|_| all.runs.is_empty() && all.reports.is_empty()) {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

fn of_text(name: &str, text: &str, known: Known) -> Result<Contents> {
    let reports = reports(text);
    let runs = match read(name, text, known) {
        Err(_) if !reports.is_empty() => Vec::new(),
        runs => runs.map_err(|error| unreadable(error.to_string()))?,
    };
    Ok(Contents { runs, reports, stored: stored(text) })
}

fn unreadable(what: String) -> Failure {
    Failure::usage(what, "see `pathmeter import --help` for the outputs that are read")
}
