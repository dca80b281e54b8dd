//! Giving up rights that are no longer needed.
//!
//! Sources: `capabilities(7)`, `credentials(7)`, `prctl(2)`, `capget(2)`, `getpwnam(3)`.

use super::{Capability, permitted};
use crate::error::{Named, Result, check};
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
    // SAFETY: takes numbers only; without it the change of user takes every capability away.
    check(unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1 as libc::c_ulong) }).named("go on as", object)?;
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
    let half = |shift: u32| u32::try_from((bits >> shift) & u64::from(u32::MAX)).unwrap_or(0);
    let sets = [0, 32].map(half).map(|part| Sets { effective: part, permitted: part, inheritable: 0 });
    let header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: the kernel reads a header and two sets of bits, which live through the call.
    let returned = unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) };
    check(i32::try_from(returned).unwrap_or(-1)).named("give up", object)?;
    let (on, none): (libc::c_ulong, libc::c_ulong) = (1, 0);
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none) })
        .named("give up", object)
        .map(drop)
}

/// `struct __user_cap_header_struct`.
#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// `struct __user_cap_data_struct`: 32 capabilities of each set.
#[repr(C)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// `_LINUX_CAPABILITY_VERSION_3`: two of the structures above.
const VERSION_3: u32 = 0x2008_0522;
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
