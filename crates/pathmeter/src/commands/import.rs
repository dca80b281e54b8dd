//! `pathmeter import`: outputs of other tools, told as if they were runs of our own.

use super::output::write;
use super::store::{failed, open};
use crate::cli::{Common, ImportArgs, OutputsArgs};
use crate::exit::{Exit, Told};
use engine::error::{Context, Failure, Result};
use linux::clock::wall_now;
use model::history::Origin;
use model::run::Run;
use report::document::Document;
use report::expect::headlines;
use report::import::{Imported, Known, Tool, read};
use std::io::{Read, Write};
use std::path::Path;
use store::Begun;
use uuid::Uuid;

/// Prints every output of every file. A file that holds none does not keep the others from being read.
pub(crate) fn run(args: &ImportArgs, global: &Common) -> Result<Exit> {
    let (runs, worst) = read_all(&args.outputs);
    let documents: Vec<&dyn Document> = runs.iter().map(|(_, one)| one as &dyn Document).collect();
    write(&documents, global)?;
    if args.save {
        keep(&runs, args)?;
    }
    Ok(worst)
}

/// Puts what was read into the store.
fn keep(runs: &[(String, Imported)], args: &ImportArgs) -> Result<()> {
    let store = open(&args.store)?;
    let mut new = 0_u64;
    for (_, Imported { run, tool, .. }) in runs {
        let own = *tool == Tool::Pathmeter;
        let begun = Begun {
            id: if own { run.id.clone() } else { name_of(run)? },
            kind: run.kind.clone(),
            target: run.plan.as_ref().map(|plan| plan.target.host.clone()).unwrap_or_default(),
            label: args.label.clone().unwrap_or_default(),
            started: run.started.unwrap_or_else(wall_now),
        };
        let origin = if own { Origin::Measured } else { Origin::Imported };
        new += u64::from(store.insert(&begun, origin, run, &headlines(run)).map_err(failed)?);
    }
    let _ = writeln!(std::io::stderr(), "kept: {new} of {} were new", runs.len());
    Ok(())
}

/// A name that the same output has whenever it is read: a UUID of version 5 of what it says (RFC 9562).
fn name_of(run: &Run) -> Result<String> {
    // By where it stands it is known only here.
    let unnamed = Run { id: String::new(), ..run.clone() };
    let said = serde_json::to_vec(&unnamed).map_err(std::io::Error::from)?;
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, &said).to_string())
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
