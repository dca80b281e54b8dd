//! `pathmeter doctor`: checks of what this host can do for a measurement, why it matters, and the command that fixes a defect.

use super::output::write;
use crate::exit::Exit;
use cli::{Common, DoctorArgs};
use engine::error::Result;
use engine::host::doctor::examine;
use report::format::doctor::Checks;

/// Runs the command.
pub(crate) fn run(_args: &DoctorArgs, global: &Common) -> Result<Exit> {
    write(&[&Checks(&examine())], global)
}
