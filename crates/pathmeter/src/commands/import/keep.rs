//! Outputs of other tools, and of other hosts, put into the store.

use super::super::store::{failed, open};
use super::Contents;
use cli::ImportArgs;
use engine::error::Result;
use linux::clock::wall_now;
use model::history::{Measured, Origin, StoredAs};
use model::run::Run;
use report::expect::headlines;
use report::import::{Imported, Tool};
use std::io::Write;
use store::{Begun, Store};
use uuid::Uuid;

/// How many runs were put into the store.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Counts {
    /// Those that were not there before.
    pub(in super::super) new: u64,
    pub(in super::super) all: u64,
}

/// Puts what was read into the store, and prints the counts.
pub(super) fn keep(files: &[&Contents], args: &ImportArgs) -> Result<()> {
    let Counts { new, all } = keep_all(files, &open(&args.store)?, args.label.as_deref())?;
    let _ = writeln!(std::io::stderr(), "kept: {new} of {all} were new");
    Ok(())
}

/// Puts what was read into a store; `label`: that of all of it, in place of their own.
pub(in super::super) fn keep_all(files: &[&Contents], store: &Store, label: Option<&str>) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut put = |measured, stored: StoredAs| -> Result<()> {
        counts.all += 1;
        counts.new += u64::from(insert(store, measured, stored, label)?);
        Ok(())
    };
    for held in files {
        for Imported { run, tool, line, .. } in &held.runs {
            let measured = Measured::Run(run);
            // By where it stands an output is known only here.
            let unnamed = Run { id: String::new(), ..run.clone() };
            let stored = match tool {
                Tool::Pathmeter => as_before(held, *line, measured)?,
                _ => new_row(measured, name_of(Measured::Run(&unnamed))?, Origin::Imported),
            };
            put(measured, stored)?;
        }
        for (line, kept) in &held.reports {
            put(kept.measured(), as_before(held, *line, kept.measured())?)?;
        }
    }
    Ok(counts)
}

/// As the store had it that it was exported from; a document that stood in none was measured.
fn as_before(held: &Contents, line: usize, measured: Measured<'_>) -> Result<StoredAs> {
    if let Some(stored) = held.stored_as(line) {
        return Ok(stored.clone());
    }
    let id = if measured.id().is_empty() { name_of(measured)? } else { measured.id().to_owned() };
    Ok(new_row(measured, id, Origin::Measured))
}

fn new_row(measured: Measured<'_>, id: String, origin: Origin) -> StoredAs {
    let ((kind, target), [started, _]) = (measured.origin(), measured.times());
    StoredAs { id, kind, target, label: String::new(), origin, started: started.unwrap_or_else(wall_now) }
}

fn insert(store: &Store, measured: Measured<'_>, stored: StoredAs, own: Option<&str>) -> Result<bool> {
    let StoredAs { id, kind, target, label, origin, started } = stored;
    let label = own.map_or(label, str::to_owned);
    let begun = Begun { id, kind, target, label, started };
    store.insert(&begun, origin, measured, &headlines(measured)).map_err(failed)
}

/// A name that the same output has whenever it is read: a UUID of version 5 of what it says (RFC 9562).
fn name_of(measured: Measured<'_>) -> Result<String> {
    let document = measured.value().map_err(std::io::Error::from)?.to_string();
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, document.as_bytes()).to_string())
}
