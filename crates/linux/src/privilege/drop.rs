//! Giving up rights that are no longer needed.
//!
//! libc is left for `getpwnam`, and for the change of user: it changes every thread, where rustix changes one.
//! Sources: `capabilities(7)`, `credentials(7)`, `prctl(2)`, `capget(2)`, `getpwnam(3)`.

use super::{Capability, is_root, status, user_id};
use crate::error::{Named, OsError, Result, check};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
    set_keep_capabilities, set_no_new_privs,
};
use std::ffi::CString;
use std::io;
use std::ptr;

/// The user and group of a process in the kernel's checks of files and signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub id: u32,
    /// The number of its group.
    pub group: u32,
}

impl User {
    /// The user that owns nothing, where `/etc/passwd` has no `nobody`.
    pub const NOBODY: User = User { id: 65534, group: 65534 };

    /// Looks a user up by name, or by number.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<User> {
        if let Ok(id) = name.parse() {
            return Ok(User { id, group: id });
        }
        let object = || format!("the user {name}");
        let no_such = || io::Error::new(io::ErrorKind::NotFound, "no such user");
        let text = CString::new(name).map_err(|_| no_such()).named("find", object)?;
        // SAFETY: all-zero is a valid passwd: pointers and numbers.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut buffer = vec![0; ENTRY];
        let mut found = ptr::null_mut();
        // SAFETY: `text` ends with a zero byte; the entry, its buffer of the length given and the result live through the call.
        let code = unsafe {
            libc::getpwnam_r(text.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
        };
        match (code, found.is_null()) {
            (0, false) => Ok(User { id: entry.pw_uid, group: entry.pw_gid }),
            (0, true) => Err(no_such()).named("find", object),
            (code, _) => Err(io::Error::from_raw_os_error(code)).named("find", object),
        }
    }

    /// The user as whom a process of root goes on where none is named.
    #[must_use]
    pub fn nobody() -> User {
        User::named("nobody").unwrap_or(User::NOBODY)
    }
}

/// Proof that this process keeps no more rights than it was decided to keep. Every server of unauthenticated peers requires
/// one, so that none starts without that decision.
#[derive(Clone, Copy, Debug)]
pub struct Confined(());

impl Confined {
    /// Goes on for good as this user, where one is given and this is root; with the capabilities of `kept` that the process has,
    /// with none in the bounding set, and with none that a program it starts could gain. It must come before any thread is
    /// started: the kernel keeps capabilities for each thread.
    ///
    /// # Errors
    /// Threads run already; what the kernel refuses: a user that this user namespace does not know (`EINVAL`).
    pub fn enter(user: Option<User>, kept: &[Capability]) -> Result<Confined> {
        alone()?;
        empty_bounding_set()?;
        match user.filter(|user| is_root() && user.id != user_id()) {
            Some(user) => go_on_as(user, kept)?,
            None => keep(kept)?,
        }
        Ok(Confined(()))
    }

    /// Keeps all rights, on purpose: what is served is for this process alone, or its user requested that.
    #[must_use]
    pub fn with_all_rights() -> Confined {
        Confined(())
    }
}

/// This thread is the only one.
fn alone() -> Result<()> {
    let tasks = std::fs::read_dir("/proc/self/task").named("read", || "/proc/self/task".into())?;
    match tasks.count() {
        1 => Ok(()),
        count => {
            let why =
                io::Error::other(format!("{count} threads run already, and each has rights of its own"));
            Err(OsError::new("give up", "the rights of this process", why))
        }
    }
}

/// Takes every capability out of what this process could ever have. A process without the right to do that has no capability to
/// lose.
fn empty_bounding_set() -> Result<()> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Ok(()) => {}
            // The kernel knows no further ones.
            Err(rustix::io::Errno::INVAL) => return Ok(()),
            // A container may have taken that right from its root, too. `no_new_privs` holds in any case.
            Err(rustix::io::Errno::PERM) => return Ok(()),
            Err(error) => return Err(error).named("empty", || "the bounding set of capabilities".into()),
        }
    }
    Ok(())
}

/// Goes on as this user, for good: with the capabilities kept of those the process has, and with none that a program it
/// starts could gain. Threads that run already keep none, so it comes before those that need some.
///
/// # Errors
/// The kernel's refusal: a process that is not root, or a user that this user namespace does not know (`EINVAL`).
fn go_on_as(user: User, kept: &[Capability]) -> Result<()> {
    let object = || format!("user {}", user.id);
    // Without it the change of user takes every capability away.
    set_keep_capabilities(true).named("go on as", object)?;
    // SAFETY: an empty list of groups is not read.
    check(unsafe { libc::setgroups(0, ptr::null()) }).named("leave the groups of root for", object)?;
    // SAFETY: takes numbers only.
    check(unsafe { libc::setresgid(user.group, user.group, user.group) }).named("go on as", object)?;
    // SAFETY: takes numbers only; the C library changes every thread.
    check(unsafe { libc::setresuid(user.id, user.id, user.id) }).named("go on as", object)?;
    keep(kept)
}

/// Gives up every capability but those of these that the process may have, for good. Holds for the calling thread and those it starts.
///
/// # Errors
/// The kernel's refusal, or without `/proc`.
fn keep(kept: &[Capability]) -> Result<()> {
    let object = || "capabilities".into();
    let has = status("CapPrm:")?;
    let bits = kept.iter().fold(0, |bits, capability| bits | capability.bit()) & has;
    let all = CapabilitySet::from_bits_retain(bits);
    let sets = CapabilitySets { effective: all, permitted: all, inheritable: CapabilitySet::empty() };
    match set_capabilities(None, sets) {
        // A service's filter of system calls may refuse it where there is nothing more to give up.
        Err(rustix::io::Errno::PERM) if has == bits => {}
        outcome => outcome.named("give up", object)?,
    }
    set_no_new_privs(true).named("give up", object)
}

/// Room for the strings of an entry of `/etc/passwd`, bytes.
const ENTRY: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_by_number() {
        assert_eq!(User::named("root").unwrap(), User { id: 0, group: 0 });
        assert_eq!(User::named("4711").unwrap(), User { id: 4711, group: 4711 });
        let unknown = User::named("no such user").unwrap_err();
        assert!(unknown.to_string().contains("the user no such user"), "{unknown}");
        assert!(User::named("a\0b").is_err());
    }

    /// A test has its thread beside that of the runner.
    #[test]
    fn a_process_with_threads_is_not_taken_for_confined() {
        let refused = Confined::enter(None, &[]).unwrap_err().to_string();
        assert!(refused.contains("threads run already"), "{refused}");
    }
}
