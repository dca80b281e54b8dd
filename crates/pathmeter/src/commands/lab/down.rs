//! `pathmeter lab down`: a lab taken away.

use super::not_built_yet;
use crate::cli::{Common, LabDownArgs};
use crate::exit::Exit;

/// Takes them away.
pub(crate) fn run(_args: &LabDownArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("down")
}
