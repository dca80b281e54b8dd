//! What the first process of a machine must do: mount the kernel's file systems, reap, and turn the machine off.
//!
//! Sources: `mount(2)`, `reboot(2)`, `wait(2)`; the kernel's `Documentation/filesystems/ramfs-rootfs-initramfs.rst`.

use crate::error::{Named, Result, check};
use std::ffi::CString;
use std::io;

/// Mounts a file system that needs no device: `proc`, `sysfs`, `devtmpfs`, `tmpfs`. One mounted there already will do.
///
/// # Errors
/// Without the directory or the right, or when the kernel has no such file system.
pub fn mount(kind: &str, target: &str) -> Result<()> {
    let named = || format!("{kind} on {target}");
    let kind = CString::new(kind).map_err(io::Error::from).named("mount", named)?;
    let target = CString::new(target).map_err(io::Error::from).named("mount", named)?;
    // SAFETY: the strings end with a zero byte and live through the call; no data is passed.
    let mounted = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    match check(mounted) {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
        other => other.named("mount", named).map(drop),
    }
}

/// Waits for any child to end, and tells its process id; `None` when there is no child.
#[must_use]
pub fn reap() -> Option<u32> {
    loop {
        // SAFETY: no status is asked for; nothing of ours is touched.
        match check(unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) }) {
            Ok(child) => return u32::try_from(child).ok(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// Turns the machine off at once. Nothing is written back: for a machine whose files are in memory.
///
/// # Errors
/// Without `CAP_SYS_BOOT`. (In a process namespace of its own it only ends that: `reboot(2)`.)
pub fn power_off() -> Result<()> {
    // SAFETY: takes a number.
    check(unsafe { libc::reboot(libc::LINUX_REBOOT_CMD_POWER_OFF) })
        .named("turn off", || "the machine".into())
        .map(drop)
}
