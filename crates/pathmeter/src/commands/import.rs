//! `pathmeter import`: outputs of other tools, told as if they were runs of our own.

#[cfg(feature = "store")]
mod keep;

use super::output::write;
use crate::cli::{Common, ImportArgs, OutputsArgs};
use crate::exit::{Exit, Told};
use engine::error::{Context, Failure, Result};
use report::document::Document;
use report::import::{Imported, Known, read};
use std::io::{Read, Write};
use std::path::Path;

/// Prints every output of every file. A file that holds none does not keep the others from being read.
pub(crate) fn run(args: &ImportArgs, global: &Common) -> Result<Exit> {
    let (runs, worst) = read_all(&args.outputs);
    let documents: Vec<&dyn Document> = runs.iter().map(|(_, one)| one as &dyn Document).collect();
    write(&documents, global)?;
    #[cfg(feature = "store")]
    if args.save {
        keep::keep(&runs, args)?;
    }
    Ok(worst)
}

/// Every output of every file, with the file's name. What is wrong with a file goes to standard error and into the exit
/// code, and the others are read all the same.
pub(super) fn read_all(args: &OutputsArgs) -> (Vec<(String, Imported)>, Exit) {
    let known = Known { link: args.link, mss: args.mss };
    let (mut runs, mut worst) = (Vec::new(), Exit::Done);
    for file in &args.files {
        match of_file(file, known) {
            Ok(imported) => runs.extend(imported.into_iter().map(|one| (file.display().to_string(), one))),
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "{}", Told(&error));
                worst = Exit::of(&error);
            }
        }
    }
    (runs, worst)
}

/// Every output of a file.
///
/// # Errors
/// When it cannot be read or holds none.
pub(super) fn of_file(file: &Path, known: Known) -> Result<Vec<Imported>> {
    let (name, bytes) = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).context("read standard input")?;
        ("standard input".to_owned(), bytes)
    } else {
        let name = file.display().to_string();
        let bytes = std::fs::read(file).with_context(|| format!("read {name}"))?;
        (name, bytes)
    };
    read(&name, &String::from_utf8_lossy(&bytes), known).map_err(|error| {
        let advice = "see `pathmeter import --help` for the outputs that are read";
        Failure::usage(error.to_string(), advice).into()
    })
}
