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

/// Puts what was read into the store.
pub(super) fn keep(files: &[&Contents], args: &ImportArgs) -> Result<()> {
    let store = open(&args.store)?;
    let (mut new, mut all) = (0_u64, 0_u64);
    let mut put = |measured, stored: StoredAs| -> Result<()> {
        all += 1;
        new += u64::from(insert(&store, measured, stored, args)?);
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
    let _ = writeln!(std::io::stderr(), "kept: {new} of {all} were new");
    Ok(())
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

fn insert(store: &Store, measured: Measured<'_>, stored: StoredAs, args: &ImportArgs) -> Result<bool> {
    let StoredAs { id, kind, target, label, origin, started } = stored;
    let label = args.label.clone().unwrap_or(label);
    let begun = Begun { id, kind, target, label, started };
    store.insert(&begun, origin, measured, &headlines(measured)).map_err(failed)
}

/// A name that the same output has whenever it is read: a UUID of version 5 of what it says (RFC 9562).
fn name_of(measured: Measured<'_>) -> Result<String> {
    let document = measured.value().map_err(std::io::Error::from)?.to_string();
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, document.as_bytes()).to_string())
}
