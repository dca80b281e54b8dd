//! `pathmeter lab up`: a topology built and kept.

use super::not_built_yet;
use crate::cli::{Common, LabUpArgs};
use crate::exit::Exit;

/// Builds it.
pub(crate) fn run(_args: &LabUpArgs, _global: &Common) -> anyhow::Result<Exit> {
    not_built_yet("up")
}
