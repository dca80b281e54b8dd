//! `pathmeter lab prepare`: a kernel for virtual machines, downloaded and unpacked.

use crate::exit::Exit;
use cli::{Common, LabPrepareArgs};
use engine::error::{Error, Failure, Kind, Result};
use lab::vm::{Kernel, QemuProgram, VmError, fetch_kernel};
use std::io::Write;

/// Fetches a kernel where one is wanted, and prints the parts of virtual machines.
pub(crate) fn run(args: &LabPrepareArgs, _global: &Common) -> Result<Exit> {
    let kernel = match Kernel::find() {
        Ok(kernel) if !args.again => kernel,
        _ => fetch_kernel().map_err(failed)?,
    };
    let mut out = std::io::stdout();
    writeln!(out, "kernel: {} ({})", kernel.release, kernel.image.display())?;
    let qemu = QemuProgram::find().map_err(failed)?;
    writeln!(out, "qemu: {}", qemu.path.display())?;
    Ok(Exit::Done)
}

fn failed(error: VmError) -> Error {
    let advice = match &error {
        VmError::NoQemu { package, .. } => Some(format!("apt-get install {package}")),
        VmError::Download { .. } => Some("`apt-get update` as root brings the lists of packages".to_owned()),
        _ => None,
    };
    Failure { kind: Kind::Void, message: error.to_string(), advice }.into()
}
