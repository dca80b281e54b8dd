//! `pathmeter lab exec`: a command in a node of a lab that is up.

use super::not_built_yet;
use crate::cli::{Common, LabExecArgs};
use crate::exit::Exit;

/// Runs the command and ends as it does.
pub(crate) fn run(_args: &LabExecArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("exec")
}
