//! Giving up rights that are no longer needed.
//!
//! libc is left for `getpwnam`, and for the change of user: it changes every thread, where rustix changes one.
//! Sources: `capabilities(7)`, `credentials(7)`, `prctl(2)`, `capget(2)`, `getpwnam(3)`.

use super::{Capability, permitted};
use crate::error::{Named, Result, check};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_no_new_privs,
};
use std::ffi::CString;
use std::io;
use std::ptr;

/// Who a process is for the kernel's checks of files and signals.
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
}

/// Goes on as this user, for good: with the capabilities kept of those the process has, and with none that a program it
/// starts could gain. Threads that run already keep none, so it comes before those that need some.
///
/// # Errors
/// What the kernel refuses: a process that is not root, or a user that this user namespace does not know (`EINVAL`).
pub fn go_on_as(user: User, kept: &[Capability]) -> Result<()> {
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
/// What the kernel refuses, or without `/proc`.
pub fn keep(kept: &[Capability]) -> Result<()> {
    let object = || "capabilities".into();
    let bits = kept.iter().fold(0, |bits, capability| bits | capability.bit()) & permitted()?;
    let all = CapabilitySet::from_bits_retain(bits);
    let sets = CapabilitySets { effective: all, permitted: all, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).named("give up", object)?;
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
        let unknown = User::named("nobody knows him").unwrap_err();
        assert!(unknown.to_string().contains("the user nobody knows him"), "{unknown}");
        assert!(User::named("a\0b").is_err());
    }
}
