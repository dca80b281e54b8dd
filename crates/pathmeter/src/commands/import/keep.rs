//! Outputs of other tools, and of other hosts, put into the store.

use super::super::store::{failed, open};
use super::Contents;
use cli::ImportArgs;
use engine::error::Result;
use linux::clock::wall_now;
use model::history::{Measured, Origin};
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
    let mut put = |measured, id, origin| -> Result<()> {
        all += 1;
        new += u64::from(insert(&store, measured, id, origin, args)?);
        Ok(())
    };
    for Imported { run, tool, .. } in files.iter().flat_map(|held| &held.runs) {
        let measured = Measured::Run(run);
        // By where it stands an output is known only here.
        let unnamed = Run { id: String::new(), ..run.clone() };
        match tool {
            Tool::Pathmeter => put(measured, run.id.clone(), Origin::Measured)?,
            _ => put(measured, name_of(Measured::Run(&unnamed))?, Origin::Imported)?,
        }
    }
    for (_, kept) in files.iter().flat_map(|held| &held.reports) {
        let measured = kept.measured();
        let id = if measured.id().is_empty() { name_of(measured)? } else { measured.id().to_owned() };
        put(measured, id, Origin::Measured)?;
    }
    let _ = writeln!(std::io::stderr(), "kept: {new} of {all} were new");
    Ok(())
}

fn insert(
    store: &Store,
    measured: Measured<'_>,
    id: String,
    origin: Origin,
    args: &ImportArgs,
) -> Result<bool> {
    let ((kind, target), [started, _]) = (measured.origin(), measured.times());
    let label = args.label.clone().unwrap_or_default();
    let begun = Begun { id, kind, target, label, started: started.unwrap_or_else(wall_now) };
    store.insert(&begun, origin, measured, &headlines(measured)).map_err(failed)
}

/// A name that the same output has whenever it is read: a UUID of version 5 of what it says (RFC 9562).
fn name_of(measured: Measured<'_>) -> Result<String> {
    let document = measured.value().map_err(std::io::Error::from)?.to_string();
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, document.as_bytes()).to_string())
}
