//! `pathmeter lab list`: the topologies, and what this host lacks for them.

use crate::commands::output::write;
use crate::exit::Exit;
use cli::{Common, LabListArgs};
use engine::error::Result;
use lab_run::catalogue::Topologies;

/// Prints the list.
pub(crate) fn run(_args: &LabListArgs, global: &Common) -> Result<Exit> {
    write(&[&Topologies::here()?], global)
}
