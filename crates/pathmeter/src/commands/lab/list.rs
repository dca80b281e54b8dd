//! `pathmeter lab list`: the topologies, what this kernel lacks for them, and the labs that are up.

use super::not_built_yet;
use crate::cli::{Common, LabListArgs};
use crate::exit::Exit;

/// Prints the list.
pub(crate) fn run(_args: &LabListArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("list")
}
