//! `pathmeter lab show`: a topology drawn.

use super::not_built_yet;
use crate::cli::{Common, LabShowArgs};
use crate::exit::Exit;

/// Prints each topology.
pub(crate) fn run(_args: &LabShowArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("show")
}
