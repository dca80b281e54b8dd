//! A set of results by one name: the outputs in a file, a label, a kept run, or what filters let through.

use super::import::{contents, documents};
#[cfg(feature = "store")]
use super::store::{failed, location, time};
use cli::StoreArgs;
use engine::error::{Failure, Result};
#[cfg(feature = "store")]
use engine::host::host_port::kept_name;
#[cfg(feature = "device")]
use model::dut::DutReport;
use model::history::{Kept, Sample};
use report::expect::sample;
use report::import::Known;
use std::path::Path;
#[cfg(feature = "store")]
use store::{Content, Filter, Store, StoreError};

/// A set that is not empty.
pub(super) enum Set {
    /// Read from a file, in its order.
    Read(Vec<Kept>),
    /// Those of a store.
    #[cfg(feature = "store")]
    Stored(Box<Store>, Box<Filter>),
}

/// The set that a name stands for.
///
/// # Errors
/// There is none, or it cannot be read.
pub(super) fn find(name: &str, store: &StoreArgs) -> Result<Set> {
    if Path::new(name).is_file() {
        return Ok(Set::Read(documents(contents(Path::new(name), Known::default())?)));
    }
    stored(name, store)
}

impl Set {
    /// The samples for comparisons; those of a store are read without its documents.
    pub(super) fn samples(&self) -> Result<Vec<Sample>> {
        match self {
            Set::Read(all) => Ok(all.iter().map(|one| sample(one.measured())).collect()),
            #[cfg(feature = "store")]
            Set::Stored(store, filter) => store.samples(filter).map_err(failed),
        }
    }

    /// Its documents: those of a file in its order, those of a store from the oldest on. A run that has not ended has none.
    pub(super) fn documents(self) -> Result<Vec<Kept>> {
        match self {
            Set::Read(all) => Ok(all),
            #[cfg(feature = "store")]
            Set::Stored(store, filter) => {
                let ids = store.ids(&filter).map_err(failed)?;
                let contents = ids.iter().rev().map(|id| Ok(store.get(id).map_err(failed)?.content));
                let contents = contents.collect::<Result<Vec<Content>>>()?;
                Ok(contents.into_iter().filter_map(Content::into_document).collect())
            }
        }
    }

    /// The latest report of devices.
    #[cfg(feature = "device")]
    pub(super) fn device(self) -> Result<Option<DutReport>> {
        let mut reports = self.documents()?.into_iter().filter_map(|one| match one {
            Kept::Device(report) => Some(*report),
            Kept::Run(_) | Kept::Lab(_) => None,
        });
        Ok(reports.next_back())
    }
}

#[cfg(not(feature = "store"))]
fn stored(name: &str, _store: &StoreArgs) -> Result<Set> {
    let what =
        format!("no file is called `{name}`, and this pathmeter was built without a store (feature `store`)");
    Err(Failure::usage(what, "name a file of outputs that `pathmeter import` reads").into())
}

#[cfg(feature = "store")]
fn stored(name: &str, args: &StoreArgs) -> Result<Set> {
    let location = location(args)?;
    if !location.may_exist() {
        let what = format!(
            "`{name}` is neither a file nor a kept run: no run is kept here yet ({location} does not exist)"
        );
        return Err(Failure::usage(what, "--save keeps one; --store FILE names another store").into());
    }
    let store = Box::new(Store::open_to_read(location).map_err(failed)?);
    let has = |filter: &Filter| store.count(filter).map(|count| count > 0).map_err(failed);
    if let Some(filter) = filter(name)? {
        return if has(&filter)? { Ok(Set::Stored(store, filter.into())) } else { Err(none(name).into()) };
    }
    let labelled = Filter { label: Some(name.into()), ..Filter::default() };
    if has(&labelled)? {
        return Ok(Set::Stored(store, labelled.into()));
    }
    match store.full_id(name) {
        Ok(id) => Ok(Set::Stored(store, Filter { id: Some(id), ..Filter::default() }.into())),
        Err(StoreError::NoRun(_)) => Err(none(name).into()),
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
            "target" => filter.target = Some(kept_name(value)),
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
