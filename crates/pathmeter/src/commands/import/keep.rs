//! Outputs of other tools, and of other hosts, put into the store.

use super::super::store::{failed, open};
use crate::cli::ImportArgs;
use engine::error::Result;
use linux::clock::wall_now;
use model::history::{Measured, Origin};
use model::run::Run;
use report::expect::headlines;
use report::import::{Imported, Tool};
use std::io::Write;
use store::Begun;
use uuid::Uuid;

/// Puts what was read into the store.
pub(super) fn keep(runs: &[(String, Imported)], args: &ImportArgs) -> Result<()> {
    let store = open(&args.store)?;
    let mut new = 0_u64;
    for (_, Imported { run, tool, .. }) in runs {
        let own = *tool == Tool::Pathmeter;
        let begun = Begun {
            id: if own { run.id.clone() } else { name_of(run)? },
            kind: run.kind.clone(),
            target: run.target(),
            label: args.label.clone().unwrap_or_default(),
            started: run.started.unwrap_or_else(wall_now),
        };
        let origin = if own { Origin::Measured } else { Origin::Imported };
        new += u64::from(store.insert(&begun, origin, Measured::Run(run), &headlines(run)).map_err(failed)?);
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
