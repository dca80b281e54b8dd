//! Resources of a child process beside its arguments: inherited descriptors, and an end together with its parent.

use crate::error::{Named, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets a child inherit a descriptor under the number that is returned. The command owns it from here on.
pub fn hand_over(command: &mut Command, descriptor: OwnedFd) -> RawFd {
    let number = descriptor.as_raw_fd();
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(move || Ok(fcntl_setfd(&descriptor, FdFlags::empty())?)) };
    number
}

/// Has the kernel kill the child when the **thread** that spawns it ends, however it ends (`PR_SET_PDEATHSIG(2const)`).
pub fn die_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the call above. One outside the child's PID namespace has no number; where it had
        // died that would be 1.
        if getppid().is_none_or(|now| u32::try_from(now.as_raw_pid()).is_ok_and(|now| now == parent)) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    };
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(tie) };
}

/// A file without a name that lives in memory until it is closed (`memfd_create(2)`).
///
/// # Errors
/// The kernel's refusal.
pub fn memory_file() -> Result<File> {
    let made = memfd_create(c"pathmeter", MemfdFlags::CLOEXEC);
    Ok(made.named("make", || "a file in memory".into())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_child_reads_the_descriptor_it_was_given() {
        let mut file = memory_file().unwrap();
        file.write_all(b"handed over").unwrap();
        file.rewind().unwrap();
        let mut command = Command::new("cat");
        let number = hand_over(&mut command, file.into());
        let output = command.arg(format!("/proc/self/fd/{number}")).output().unwrap();
        assert_eq!(output.stdout, b"handed over");
    }

    #[test]
    fn a_child_ends_with_the_thread_that_spawned_it() {
        let mut child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            die_with_this_thread(command.arg("60").stdout(std::process::Stdio::piped()));
            command.spawn().unwrap()
        })
        .join()
        .unwrap();
        let mut rest = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut rest).unwrap();
        assert!(!child.wait().unwrap().success());
    }
}
