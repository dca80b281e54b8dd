//! `pathmeter lab sweep`: what killed labs left behind.

use crate::exit::Exit;
use cli::{Common, LabSweepArgs};
use engine::error::{Failure, Result};
use lab::state::{Directory, Swept};
use lab_run::refusal::failed;
use std::io::Write;

/// Finds it and takes it away.
pub(crate) fn run(args: &LabSweepArgs, _global: &Common) -> Result<Exit> {
    let directory = Directory::open().map_err(failed)?;
    let mut out = std::io::stdout();
    let (done, Swept { gone, kept }) = match args.dry_run {
        true => ("would be taken away", Swept { gone: directory.stale().map_err(failed)?, kept: Vec::new() }),
        false => ("taken away", directory.sweep().map_err(failed)?),
    };
    for path in &gone {
        writeln!(out, "{done}: {}", path.display())?;
    }
    for (path, why) in &kept {
        writeln!(out, "kept: {}: {why}", path.display())?;
    }
    if gone.is_empty() && kept.is_empty() {
        writeln!(out, "nothing is left behind: namespaces and processes go with the lab")?;
    }
    if !kept.is_empty() {
        let what =
            format!("{} could not be put back", if kept.len() == 1 { "an interface" } else { "interfaces" });
        return Err(Failure::usage(what, "each is named above, with the file that has its cause").into());
    }
    Ok(Exit::Done)
}
