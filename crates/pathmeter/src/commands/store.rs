//! The commands of kept runs: `history`, `show`, `label`, `forget`, `export`.

mod export;
mod shown;

pub(crate) use export::export;

use super::output::write;
use crate::exit::Exit;
use cli::{Common, FilterArgs, ForgetArgs, HistoryArgs, LabelArgs, ShowArgs, StoreArgs};
use engine::error::{Error, Failure, Kind, Result};
use linux::clock::wall_now;
use model::history::{Entry, Kept};
use model::time::WallTime;
use model::units::Nanos;
use report::document::Document;
use report::format::history::History;
use report::format::{Noted, document};
use shown::stored;
use std::io::Write;
use std::path::PathBuf;
use store::{Filter, Location, Store, StoreError};

/// Opens the store, and makes it where there is none.
pub(crate) fn open(args: &StoreArgs) -> Result<Store> {
    Store::open(location(args)?).map_err(failed)
}

/// Opens the store that there is, to change it.
pub(crate) fn existing(args: &StoreArgs) -> Result<Store> {
    Store::open(found(args)?).map_err(failed)
}

/// Opens the store that there is, to read it.
pub(crate) fn to_read(args: &StoreArgs) -> Result<Store> {
    Store::open_to_read(found(args)?).map_err(failed)
}

/// Where the store is that there is.
fn found(args: &StoreArgs) -> Result<Location, Failure> {
    let location = location(args)?;
    if location.may_exist() {
        return Ok(location);
    }
    let what = format!("no run is kept here yet: there is no {location}");
    Err(Failure::usage(what, "--save keeps one; --store FILE names another store"))
}

pub(crate) fn location(args: &StoreArgs) -> Result<Location, Failure> {
    let usual = || Some(Location::from(folder()?.join("runs.db")));
    args.named().map(Location::from).or_else(usual).ok_or_else(|| {
        let what = "no store is named, and neither XDG_DATA_HOME nor HOME is set";
        Failure::usage(what, "name it: --store FILE")
    })
}

/// A refusal of the store, with advice.
pub(crate) fn failed(error: StoreError) -> Error {
    let kind = if error.is_unreachable() { Kind::Unreachable } else { Kind::Usage };
    Failure { kind, advice: Some(error.advice()), message: error.to_string() }.into()
}

/// Where a user's data goes (XDG Base Directory Specification).
pub(crate) fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("pathmeter"))
}

/// `pathmeter history`: lists them.
pub(crate) fn history(args: &HistoryArgs, global: &Common) -> Result<Exit> {
    let mut filter = filter(&args.filter)?;
    let location = location(&args.filter.store)?;
    if !location.may_exist() {
        let notes = vec![format!("No run is kept here yet (in {location}): `--save` keeps one.")];
        return write(&[&History { entries: Vec::new(), notes }], global);
    }
    let store = Store::open_to_read(location).map_err(failed)?;
    // One more than is shown reveals whether there are more.
    let limit = filter.limit.unwrap_or(LISTED);
    filter.limit = Some(limit.saturating_add(1));
    let mut entries = store.list(&filter).map_err(failed)?;
    let more = entries.len() as u64 > limit;
    entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut notes = Vec::new();
    if entries.is_empty() {
        notes.push(format!("No such run in {}: `--save` keeps one.", store.location()));
    }
    if more {
        notes.push(format!("There are more than these {limit}: --limit N lists them."));
    }
    write(&[&History { entries, notes }], global)
}

/// `pathmeter show`: what they say.
pub(crate) fn show(args: &ShowArgs, global: &Common) -> Result<Exit> {
    let store = to_read(&args.store)?;
    let found: Vec<(Kept, Entry)> = args.runs.iter().map(|id| stored(&store, id)).collect::<Result<_>>()?;
    let documents: Vec<Noted<'_>> = found.iter().map(noted).collect();
    let documents: Vec<&dyn Document> = documents.iter().map(|noted| noted as &dyn Document).collect();
    write(&documents, global)
}

/// A run with its row.
fn noted((kept, entry): &(Kept, Entry)) -> Noted<'_> {
    Noted { document: document(kept), stored: entry.clone().into() }
}

/// `pathmeter label`: names them.
pub(crate) fn label(args: &LabelArgs, _global: &Common) -> Result<Exit> {
    existing(&args.store)?.label(&args.run, &args.label).map_err(failed)?;
    Ok(Exit::Done)
}

/// `pathmeter forget`: takes them out.
pub(crate) fn forget(args: &ForgetArgs, _global: &Common) -> Result<Exit> {
    let before = args.older_than.as_deref().map(|text| time(text, "--older-than")).transpose()?;
    let store = existing(&args.store)?;
    let mut gone = 0;
    for id in &args.runs {
        store.forget(id).map_err(failed)?;
        gone += 1;
    }
    if let Some(before) = before {
        gone += store.forget_before(before).map_err(failed)?;
    }
    let _ = writeln!(std::io::stderr(), "runs taken out: {gone}");
    Ok(Exit::Done)
}

fn filter(args: &FilterArgs) -> Result<Filter> {
    Ok(Filter {
        kind: args.kind.clone(),
        target: args.target.clone(),
        label: args.label.clone(),
        status: args.verdict.clone(),
        since: args.since.as_deref().map(|text| time(text, "--since")).transpose()?,
        before: args.before.as_deref().map(|text| time(text, "--before")).transpose()?,
        limit: args.limit,
        ..Filter::default()
    })
}

/// A date, a time, or how long ago.
pub(crate) fn time(text: &str, option: &str) -> Result<WallTime, Failure> {
    let date = || format!("{text}T00:00:00Z").parse().ok();
    let days = || text.strip_suffix('d')?.parse::<u64>().ok()?.checked_mul(24 * 3600);
    let ago = days().map(Nanos::from_secs).or_else(|| text.parse::<Nanos>().ok());
    let ago = || ago.map(|ago| WallTime(wall_now().0.saturating_sub(ago.0)));
    text.parse().ok().or_else(date).or_else(ago).ok_or_else(|| {
        let message = format!("{option} {text}: it is neither a date nor a time nor how long ago");
        Failure::usage(
            message,
            format!("write it such as {option} 2026-11-01, {option} 2026-11-01T12:00:00Z or {option} 7d"),
        )
    })
}

/// Runs that a list shows by default.
const LISTED: u64 = 20;
