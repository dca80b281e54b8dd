//! `pathmeter compare`: two sets of runs, with an honest word for each figure.

use super::import::of_file;
use super::output::write;
use super::store::{existing, failed, get};
use crate::cli::{Common, CompareArgs, StoreArgs};
use crate::exit::Exit;
use engine::error::{Failure, Result};
use model::run::Run;
use report::format::compared::Compared;
use report::import::Known;
use std::path::Path;
use store::{Filter, StoreError};

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, global: &Common) -> Result<Exit> {
    let (base, other) = (set(&args.base, &args.store)?, set(&args.other, &args.store)?);
    let compared = Compared::of((&args.base, &base), (&args.other, &other));
    write(&[&compared], global)?;
    Ok(if args.baseline && compared.is_worse() { Exit::Regression } else { Exit::Done })
}

/// The runs of a file, of a label, or the one of a name.
pub(super) fn set(name: &str, store: &StoreArgs) -> Result<Vec<Run>> {
    if Path::new(name).is_file() {
        let imported = of_file(Path::new(name), Known::default())?;
        return Ok(imported.into_iter().map(|one| one.run).collect());
    }
    let store = existing(store)?;
    let labelled = Filter { label: Some(name.into()), ..Filter::default() };
    let entries = store.list(&labelled).map_err(failed)?;
    if !entries.is_empty() {
        return entries.iter().map(|entry| get(&store, &entry.id)).collect();
    }
    match store.get(name) {
        Ok(stored) => Ok(vec![get(&store, &stored.entry.id)?]),
        Err(StoreError::NoRun { .. }) => Err(Failure::usage(
            format!("no kept run has the label or name `{name}`, and no file is called so"),
            "`pathmeter history` lists runs with their names and labels",
        )
        .into()),
        Err(error) => Err(failed(error)),
    }
}
