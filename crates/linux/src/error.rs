//! The one error of this crate: which operation on which object the system refused, and why.

use std::io;
use std::net::IpAddr;

/// A refused system call, named so that a user can act on it.
///
/// Displays as `set UDP_SEGMENT on udp 10.0.0.2:5210: Invalid argument (os error 22)`.
#[derive(Debug, thiserror::Error)]
#[error("{operation} {object}: {source}")]
pub struct OsError {
    /// The operation, with its preposition: `set UDP_SEGMENT on`, `open`, `bind`.
    pub operation: String,
    /// The object of the operation: `udp 10.0.0.2:5210`, `/proc/net/snmp`.
    pub object: String,
    /// The reason the system gave.
    pub source: io::Error,
    /// The ICMP message that it comes from, where the kernel reported it.
    pub rejection: Option<Rejection>,
}

/// An ICMP message that ended an attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The router or host that sent it.
    pub from: Option<IpAddr>,
    /// ICMPv6; else ICMP of IPv4.
    pub is_v6: bool,
    /// Its type.
    pub icmp_type: u8,
    /// Its code.
    pub icmp_code: u8,
}

/// Result of the set-up calls of this crate.
pub type Result<T> = std::result::Result<T, OsError>;

impl OsError {
    /// Names a refusal.
    pub fn new(operation: impl Into<String>, object: impl Into<String>, source: io::Error) -> Self {
        Self { operation: operation.into(), object: object.into(), source, rejection: None }
    }

    /// The kernel lacks the requested function (a kind of device, queueing discipline or tunnel): another kernel, or a module,
    /// would. A refusal for want of rights, or for a wrong name, is not this.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.source.kind() == io::ErrorKind::Unsupported
            || matches!(self.errno(), Some(libc::EOPNOTSUPP | libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT))
    }

    /// The error for `ENOENT` where that means that the kernel lacks the function, in these words.
    pub(crate) fn if_lacking(self, why: &str) -> Self {
        match self.errno() {
            Some(libc::ENOENT) => Self { source: io::Error::new(io::ErrorKind::Unsupported, why), ..self },
            _ => self,
        }
    }

    /// The error number (`errno`), when the system gave one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }
}

/// Whether this process, or the system, has as many files open as it may have (`EMFILE`, `ENFILE`).
#[must_use]
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Adds operation and object to a bare I/O result.
pub trait Named<T> {
    /// Turns the error into an [`OsError`]; the object is only worked out when there is one.
    ///
    /// # Errors
    /// The error of `self`, named.
    fn named(self, operation: &str, object: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Named<T> for io::Result<T> {
    fn named(self, operation: &str, object: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| OsError::new(operation, object(), source))
    }
}

impl<T> Named<T> for rustix::io::Result<T> {
    fn named(self, operation: &str, object: impl FnOnce() -> String) -> Result<T> {
        self.map_err(io::Error::from).named(operation, object)
    }
}

/// Turns the `-1` of a system call into the error number behind it.
pub fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

/// Like [`check`], for calls that return a length.
pub fn check_len(returned: isize) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_operation_object_and_reason() {
        let refused: io::Result<()> = Err(io::Error::from_raw_os_error(libc::EINVAL));
        let error = refused.named("set UDP_SEGMENT on", || "udp 10.0.0.2:5210".into()).unwrap_err();
        assert_eq!(error.to_string(), "set UDP_SEGMENT on udp 10.0.0.2:5210: Invalid argument (os error 22)");
        assert_eq!(error.errno(), Some(libc::EINVAL));
        assert!(!error.is_unsupported());
    }

    #[test]
    fn what_the_kernel_lacks_is_not_taken_for_what_it_forbids() {
        let refused = |errno| OsError::new("add", "a device", io::Error::from_raw_os_error(errno));
        assert!(refused(libc::EOPNOTSUPP).is_unsupported());
        assert!(![libc::EPERM, libc::ENOENT, libc::EEXIST].into_iter().any(|n| refused(n).is_unsupported()));
    }
}
