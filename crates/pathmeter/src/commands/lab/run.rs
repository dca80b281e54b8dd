//! `pathmeter lab run`: topologies built, measured, judged and compared.

use super::not_built_yet;
use crate::cli::{Common, LabRunArgs};
use crate::exit::Exit;

/// Measures every topology.
pub(crate) fn run(_args: &LabRunArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("run")
}
