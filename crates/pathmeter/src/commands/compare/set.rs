//! A set of runs: a file, a label, a run, or what filters let through.

use crate::cli::StoreArgs;
use crate::commands::import::of_file;
#[cfg(feature = "store")]
use crate::commands::store::{failed, time, to_read};
use engine::error::{Failure, Result};
use model::history::Sample;
use report::expect::sample;
use report::import::Known;
use std::path::Path;
#[cfg(feature = "store")]
use store::{Filter, StoreError};

/// The runs that a name stands for.
///
/// # Errors
/// There are none.
pub(super) fn read(name: &str, store: &StoreArgs) -> Result<Vec<Sample>> {
    if Path::new(name).is_file() {
        let imported = of_file(Path::new(name), Known::default())?;
        return Ok(imported.iter().map(|one| sample(&one.run)).collect());
    }
    kept(name, store)
}

#[cfg(not(feature = "store"))]
fn kept(name: &str, _store: &StoreArgs) -> Result<Vec<Sample>> {
    let what =
        format!("no file is called `{name}`, and this pathmeter was built without a store (feature `store`)");
    Err(Failure::usage(what, "name a file of outputs that `pathmeter import` reads").into())
}

#[cfg(feature = "store")]
fn kept(name: &str, args: &StoreArgs) -> Result<Vec<Sample>> {
    let store = to_read(args)?;
    let samples = |filter: &Filter| store.samples(filter).map_err(failed);
    if let Some(filter) = filter(name)? {
        let found = samples(&filter)?;
        return if found.is_empty() { Err(none(name).into()) } else { Ok(found) };
    }
    let labelled = samples(&Filter { label: Some(name.into()), ..Filter::default() })?;
    if !labelled.is_empty() {
        return Ok(labelled);
    }
    match store.full_id(name) {
        Ok(id) => samples(&Filter { id: Some(id), ..Filter::default() }),
        Err(StoreError::NoRun { .. }) => Err(none(name).into()),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(feature = "store")]
fn none(name: &str) -> Failure {
    Failure::usage(
        format!("no kept run has the label or name `{name}`, and no file is called so"),
        "`pathmeter history` lists runs with their names and labels",
    )
}

/// `KEY=VALUE,…`; `None` of what does not begin with a key.
#[cfg(feature = "store")]
fn filter(text: &str) -> Result<Option<Filter>, Failure> {
    let is_filter = text.split_once('=').is_some_and(|(key, _)| KEYS.contains(&key));
    if !is_filter {
        return Ok(None);
    }
    let mut filter = Filter::default();
    for term in text.split(',') {
        let wrong = || {
            Failure::usage(
                format!("`{term}` in the set `{text}` is not one of {}", KEYS.join("=, ") + "="),
                "write it such as target=far.example,since=7d",
            )
        };
        let (key, value) = term.split_once('=').ok_or_else(wrong)?;
        match key {
            "label" => filter.label = Some(value.into()),
            "target" => filter.target = Some(value.into()),
            "kind" => filter.kind = Some(value.into()),
            "verdict" => filter.status = Some(value.into()),
            "since" => filter.since = Some(time(value, "since")?),
            "before" => filter.before = Some(time(value, "before")?),
            "last" => filter.limit = Some(value.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        }
    }
    Ok(Some(filter))
}

#[cfg(feature = "store")]
const KEYS: [&str; 7] = ["label", "target", "kind", "verdict", "since", "before", "last"];
