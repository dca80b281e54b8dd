//! The rights that building a lab needs, and that nothing outlives it.

use crate::borrow::put_back_all;
use linux::OsError;
use linux::namespace;
use linux::privilege::{Capabilities, Capability};
use linux::process;

/// Why a lab cannot be built by this user.
#[derive(Debug, thiserror::Error)]
#[error("a lab makes its own network, which needs root or user namespaces: {source}")]
pub struct Unprivileged {
    /// The kernel's error.
    pub source: OsError,
}

impl Unprivileged {
    /// Advice.
    pub const ADVICE: &str = "run it with sudo, or allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 on \
                              Debian, sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, \
                              sysctl user.max_user_namespaces=10000 elsewhere)";
}

/// Makes this process able to build labs: nothing for root; an ordinary user becomes root of a user namespace.
///
/// Must be called before the first thread is started, and changes the process for good: an ordinary user's network is
/// then empty but for the lab.
///
/// # Errors
/// When the host allows neither.
pub fn gain() -> Result<(), Unprivileged> {
    let refused = |source| Unprivileged { source };
    let rights = Capabilities::of_this_thread().map_err(refused)?;
    if rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin) {
        return Ok(());
    }
    namespace::try_user_namespace().map_err(refused)?;
    namespace::enter_user_namespace().map_err(refused)
}

/// Like [`gain`], and encloses the process ([`process::enclose`]): however it ends, SIGKILL too, all processes that it started in a
/// lab end with it, and so the lab vanishes. Interfaces that it had taken from the host are restored.
///
/// # Errors
/// The errors are those of [`gain`].
pub fn gain_and_enclose() -> Result<(), Unprivileged> {
    gain()?;
    process::enclose(put_back_all).map_err(|source| Unprivileged { source })
}
