//! The commands of kept runs: `history`, `show`, `label`, `forget`, `export`.

use super::output::{deliver, write};
use crate::cli::{Common, ExportArgs, FilterArgs, ForgetArgs, HistoryArgs, LabelArgs, ShowArgs, StoreArgs};
use crate::exit::Exit;
use engine::error::{Error, Failure, Kind, Result};
use insight::run_of_events;
use linux::clock::wall_now;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use report::document::Document;
use report::format::RunDocument;
use report::format::history::History;
use std::io::Write;
use std::path::PathBuf;
use store::{Content, Filter, Store, StoreError, Stored};

/// Opens the store, and makes it where there is none.
pub(crate) fn open(args: &StoreArgs) -> Result<Store> {
    Store::open(&file(args)?).map_err(failed)
}

/// Opens the store that there is, to read it.
pub(crate) fn existing(args: &StoreArgs) -> Result<Store> {
    let file = file(args)?;
    if !file.exists() {
        let what = format!("no run is kept here yet: there is no {}", file.display());
        return Err(Failure::usage(what, "--save keeps one; --store FILE names another store").into());
    }
    Store::open(&file).map_err(failed)
}

fn file(args: &StoreArgs) -> Result<PathBuf, Failure> {
    args.named().or_else(usual).ok_or_else(|| {
        let what = "no store is named, and neither XDG_DATA_HOME nor HOME says where one would be";
        Failure::usage(what, "name it: --store FILE")
    })
}

/// A refusal of the store, with the way out.
pub(crate) fn failed(error: StoreError) -> Error {
    Failure { kind: Kind::Usage, advice: Some(error.advice()), message: error.to_string() }.into()
}

/// Where a user's data goes (XDG Base Directory Specification).
fn usual() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("pathmeter/runs.db"))
}

/// `pathmeter history`: lists them.
pub(crate) fn history(args: &HistoryArgs, global: &Common) -> Result<Exit> {
    let mut filter = filter(&args.filter)?;
    let file = file(&args.filter.store)?;
    if !file.exists() {
        let notes = vec![format!("No run is kept here yet (in {}): `--save` keeps one.", file.display())];
        write(&[&History { entries: Vec::new(), notes }], global)?;
        return Ok(Exit::Done);
    }
    let store = open(&args.filter.store)?;
    // One more than is shown tells whether there are more.
    let limit = filter.limit.unwrap_or(LISTED);
    filter.limit = Some(limit.saturating_add(1));
    let mut entries = store.list(&filter).map_err(failed)?;
    let more = entries.len() as u64 > limit;
    entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let mut notes = Vec::new();
    if entries.is_empty() {
        notes.push(format!("No such run in {}: `--save` keeps one.", store.file().display()));
    }
    if more {
        notes.push(format!("There are more than these {limit}: --limit N lists them."));
    }
    write(&[&History { entries, notes }], global)?;
    Ok(Exit::Done)
}

/// `pathmeter show`: what they say.
pub(crate) fn show(args: &ShowArgs, global: &Common) -> Result<Exit> {
    let store = existing(&args.store)?;
    let runs: Vec<Run> = args.runs.iter().map(|id| get(&store, id)).collect::<Result<_>>()?;
    let documents: Vec<RunDocument<'_>> = runs.iter().map(|run| RunDocument { run, shown: false }).collect();
    let documents: Vec<&dyn Document> = documents.iter().map(|one| one as &dyn Document).collect();
    write(&documents, global)?;
    Ok(Exit::Done)
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

/// `pathmeter export`: lines of JSON. A run that cannot be read does not keep the others from being written.
pub(crate) fn export(args: &ExportArgs, global: &Common) -> Result<Exit> {
    let store = existing(&args.filter.store)?;
    let (mut lines, mut exit) = (Vec::new(), Exit::Done);
    for entry in store.list(&filter(&args.filter)?).map_err(failed)? {
        match get(&store, &entry.id) {
            Ok(run) => {
                serde_json::to_writer(&mut lines, &run).map_err(std::io::Error::from)?;
                lines.push(b'\n');
            }
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "{}", crate::exit::Told(&error));
                exit = Exit::of(&error);
            }
        }
    }
    deliver(global, &lines)?;
    Ok(exit)
}

/// A run; of one that has not ended what was measured until then.
pub(crate) fn get(store: &Store, id: &str) -> Result<Run> {
    let Stored { entry, content } = store.get(id).map_err(failed)?;
    Ok(match content {
        Content::Run(run) => *run,
        Content::Events(events) => run_of_events(&entry.id, &entry.kind, &events),
    })
}

fn filter(args: &FilterArgs) -> Result<Filter> {
    Ok(Filter {
        kind: args.kind.clone(),
        target: args.target.clone(),
        label: args.label.clone(),
        status: args.verdict.clone(),
        since: args.since.as_deref().map(|text| time(text, "--since")).transpose()?,
        before: None,
        limit: args.limit,
    })
}

/// A date, a time, or how long ago.
fn time(text: &str, option: &str) -> Result<WallTime, Failure> {
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

/// Runs that a list shows where nothing else is asked for.
const LISTED: u64 = 20;
