//! `pathmeter lab check`: topology files read and nothing built.

use super::not_built_yet;
use crate::cli::{Common, LabCheckArgs};
use crate::exit::Exit;

/// Reads each file.
pub(crate) fn run(_args: &LabCheckArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("check")
}
