//! The settings of an interface in `/sys/class/net` of its network namespace.
//!
//! A sysfs shows the namespace of the thread that mounts it. Here it is mounted on no path: a descriptor holds it, and no other
//! process can reach it (`fsopen(2)`, Linux 5.2).

use linux::error::{Named, OsError, Result, check};
use linux::namespace::Namespace;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// One interface's part of a sysfs.
#[derive(Debug)]
pub(super) struct Sysfs {
    mount: OwnedFd,
    interface: String,
}

impl Sysfs {
    /// The sysfs of an interface in a namespace.
    pub(super) fn of_interface(namespace: &Namespace, interface: &str) -> Result<Sysfs> {
        let object = || "/sys of a network namespace".into();
        let mount = namespace.run(mount)?.named("mount", object)?;
        let sysfs = Sysfs { mount, interface: interface.to_owned() };
        let known = !interface.contains('/') && fs::metadata(sysfs.path("")).is_ok_and(|file| file.is_dir());
        if known {
            Ok(sysfs)
        } else {
            Err(OsError::new("find interface", interface, io::Error::from_raw_os_error(libc::ENODEV)))
        }
    }

    /// Reads a file of the interface.
    pub(super) fn read(&self, file: &str) -> Result<String> {
        let text = fs::read_to_string(self.path(file));
        text.map(|text| text.trim().to_owned()).named("read", || self.name(file))
    }

    /// Writes a file of the interface.
    pub(super) fn write(&self, file: &str, value: &str) -> Result<()> {
        fs::write(self.path(file), value).named("write", || self.name(file))
    }

    fn path(&self, file: &str) -> String {
        format!("/proc/self/fd/{}/class/net/{}/{file}", self.mount.as_raw_fd(), self.interface)
    }

    fn name(&self, file: &str) -> String {
        format!("{file} of interface {}", self.interface)
    }
}

/// A sysfs of the calling thread's network namespace.
fn mount() -> io::Result<OwnedFd> {
    // SAFETY: the name ends in a zero and lives through the call.
    let opened = unsafe { libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), FSOPEN_CLOEXEC) };
    let context = owned(opened)?;
    let (fd, nothing) = (context.as_raw_fd(), std::ptr::null::<libc::c_char>());
    // SAFETY: the descriptor is ours; this command takes neither key nor value.
    let created = unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, nothing, nothing, 0) };
    check(created as libc::c_int)?;
    // SAFETY: takes numbers and touches no memory of ours.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, 0) })
}

fn owned(returned: libc::c_long) -> io::Result<OwnedFd> {
    let fd = check(returned as libc::c_int)?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
