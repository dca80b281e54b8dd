//! `pathmeter lab sweep`: what killed labs left behind.

use super::failure::failed;
use crate::cli::{Common, LabSweepArgs};
use crate::exit::Exit;
use engine::error::Result;
use lab::state::Directory;
use std::io::Write;

/// Finds it and takes it away.
pub(crate) fn run(args: &LabSweepArgs, _global: &Common) -> Result<Exit> {
    let directory = Directory::open().map_err(failed)?;
    let found = if args.dry_run { directory.stale() } else { directory.sweep() }.map_err(failed)?;
    let mut out = std::io::stdout();
    let done = if args.dry_run { "would be taken away" } else { "taken away" };
    for path in &found {
        writeln!(out, "{done}: {}", path.display())?;
    }
    if found.is_empty() {
        writeln!(out, "nothing is left behind: namespaces and processes go with the lab")?;
    }
    Ok(Exit::Done)
}
