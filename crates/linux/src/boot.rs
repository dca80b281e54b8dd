//! Duties of the first process of a machine: it mounts the kernel's file systems, reaps children, and turns the machine off.
//!
//! Sources: `mount(2)`, `reboot(2)`, `wait(2)`; the kernel's `Documentation/filesystems/ramfs-rootfs-initramfs.rst`.

use crate::error::{Named, Result};
use rustix::io::{Errno, retry_on_intr};
use rustix::mount::MountFlags;
use rustix::process::{WaitOptions, wait};
use rustix::system::{RebootCommand, reboot};

/// Mounts a file system that needs no device: `proc`, `sysfs`, `devtmpfs`, `tmpfs`. One mounted there already will do.
///
/// # Errors
/// Without the directory or the right, or when the kernel has no such file system.
pub fn mount(kind: &str, target: &str) -> Result<()> {
    match rustix::mount::mount(kind, target, kind, MountFlags::empty(), None) {
        Err(Errno::BUSY) => Ok(()),
        other => other.named("mount", || format!("{kind} on {target}")),
    }
}

/// Waits for any child to end, and returns its process id; `None` when there is no child.
#[must_use]
pub fn reap() -> Option<u32> {
    let (child, _) = retry_on_intr(|| wait(WaitOptions::empty())).ok()??;
    u32::try_from(child.as_raw_pid()).ok()
}

/// Turns the machine off at once. Nothing is written back: for a machine whose files are in memory.
///
/// # Errors
/// Without `CAP_SYS_BOOT`. (In a process namespace of its own it only ends that: `reboot(2)`.)
pub fn power_off() -> Result<()> {
    reboot(RebootCommand::PowerOff).named("turn off", || "the machine".into())
}
