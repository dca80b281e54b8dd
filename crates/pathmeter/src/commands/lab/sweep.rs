//! `pathmeter lab sweep`: what killed labs left behind.

use super::not_built_yet;
use crate::cli::{Common, LabSweepArgs};
use crate::exit::Exit;

/// Finds it and takes it away.
pub(crate) fn run(_args: &LabSweepArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("sweep")
}
