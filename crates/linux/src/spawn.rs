//! What a child process gets and keeps beside its arguments: descriptors, and an end with its parent.

use crate::error::{Named, Result, check};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets a child inherit a descriptor under the number that is returned. The command owns it from here on.
pub fn hand_over(command: &mut Command, descriptor: OwnedFd) -> RawFd {
    let number = descriptor.as_raw_fd();
    let keep = move || {
        // SAFETY: the descriptor is owned by this closure; fcntl is a bare system call, sound between fork and exec.
        check(unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) }).map(drop)
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(keep) };
    number
}

/// Has the kernel kill the child when the **thread** that spawns it ends, however it ends (`PR_SET_PDEATHSIG(2const)`).
pub fn die_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: takes numbers and touches no memory of ours.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
        // SAFETY: takes nothing and cannot fail.
        let now = unsafe { libc::getppid() };
        // The parent may have died before the call above. One outside the child's PID namespace is 0; where it had died that
        // would be 1.
        if now == 0 || u32::try_from(now).is_ok_and(|now| now == parent) {
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
/// What the kernel refuses.
pub fn memory_file() -> Result<File> {
    // SAFETY: the name is a zero-ended string that lives through the call.
    let made = check(unsafe { libc::memfd_create(c"pathmeter".as_ptr(), libc::MFD_CLOEXEC) });
    let descriptor = made.named("make", || "a file in memory".into())?;
    // SAFETY: the descriptor was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
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
