//! The bpf(2) system call and the parts of its argument that are used here (`union bpf_attr` in `linux/bpf.h`).

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// The commands of the system call.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(super) enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    ProgramLoad = 5,
    ProgramTestRun = 10,
    LinkCreate = 28,
}

#[derive(Default)]
#[repr(C)]
pub(super) struct MapCreate {
    pub(super) kind: u32,
    pub(super) key_size: u32,
    pub(super) value_size: u32,
    pub(super) entries: u32,
    pub(super) flags: u32,
}

#[derive(Default)]
#[repr(C)]
pub(super) struct MapElement {
    pub(super) map: u32,
    pub(super) padding: u32,
    pub(super) key: u64,
    pub(super) value: u64,
    pub(super) flags: u64,
}

#[derive(Default)]
#[repr(C)]
pub(super) struct ProgramLoad {
    pub(super) kind: u32,
    pub(super) count: u32,
    pub(super) instructions: u64,
    pub(super) licence: u64,
    pub(super) log_level: u32,
    pub(super) log_size: u32,
    pub(super) log: u64,
    pub(super) kernel_version: u32,
    pub(super) flags: u32,
    pub(super) name: [u8; 16],
}

#[derive(Default)]
#[repr(C)]
pub(super) struct TestRun {
    pub(super) program: u32,
    pub(super) returned: u32,
    pub(super) size_in: u32,
    pub(super) size_out: u32,
    pub(super) data_in: u64,
    pub(super) data_out: u64,
    pub(super) repeat: u32,
    pub(super) duration: u32,
    pub(super) context_size_in: u32,
    pub(super) context_size_out: u32,
    pub(super) context_in: u64,
    pub(super) context_out: u64,
    pub(super) flags: u32,
    pub(super) cpu: u32,
    pub(super) batch: u32,
    pub(super) padding: u32,
}

#[derive(Default)]
#[repr(C)]
pub(super) struct LinkCreate {
    pub(super) program: u32,
    pub(super) interface: u32,
    pub(super) kind: u32,
    pub(super) flags: u32,
}

/// Calls the kernel with one of the structures above.
///
/// # Safety
/// `argument` must be the structure of this command, and every address in it valid for what the command does with it.
pub(super) unsafe fn bpf<T>(command: Command, argument: &mut T) -> io::Result<i32> {
    // SAFETY: the caller vouches for the addresses inside; the structure itself is ours and of the stated length.
    let returned =
        unsafe { libc::syscall(libc::SYS_bpf, command as i32, &raw mut *argument, size_of::<T>()) };
    i32::try_from(returned).ok().filter(|returned| *returned >= 0).ok_or_else(io::Error::last_os_error)
}

/// The same for commands that return a file descriptor.
///
/// # Safety
/// As [`bpf`]; the command must be one that returns a new descriptor.
pub(super) unsafe fn bpf_fd<T>(command: Command, argument: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller vouches for the argument.
    let fd = unsafe { bpf(command, argument) }?;
    // SAFETY: the kernel just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
