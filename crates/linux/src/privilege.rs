//! The rights of this process and the machine it runs on: capabilities, user namespaces, kernel, clock.
//!
//! Sources: `capabilities(7)`, `proc_pid_status(5)`, `uname(2)`.

pub mod activation;
pub mod drop;

use crate::error::{Named, Result};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::system::uname;
use std::ffi::CStr;
use std::fs;
use std::io;

/// Raises the number of files this process may open (`RLIMIT_NOFILE`, `getrlimit(2)`) to the most it may ask for.
///
/// # Errors
/// The kernel's refusal.
pub fn raise_open_files() -> Result<()> {
    let object = || "the number of open files".into();
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).named("raise", object)
}

/// How many files this process may open now.
#[must_use]
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// A right the kernel gives apart from being root; those that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Change interfaces, routes, filters; force socket buffers beyond their limit.
    NetAdmin,
    /// Open raw and packet sockets.
    NetRaw,
    /// Listen on ports below 1024.
    NetBindService,
    /// Real-time scheduling, pinning of others' threads.
    SysNice,
    /// Make namespaces, among much else.
    SysAdmin,
    /// Load BPF programs.
    Bpf,
}

impl Capability {
    /// Every capability we look at.
    pub const ALL: &[Self] =
        &[Self::NetAdmin, Self::NetRaw, Self::NetBindService, Self::SysNice, Self::SysAdmin, Self::Bpf];

    /// The name as `setcap(8)` takes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name_and_number().0
    }

    const fn bit(self) -> u64 {
        1 << self.name_and_number().1
    }

    const fn name_and_number(self) -> (&'static str, u32) {
        match self {
            Self::NetAdmin => ("cap_net_admin", 12),
            Self::NetRaw => ("cap_net_raw", 13),
            Self::NetBindService => ("cap_net_bind_service", 10),
            Self::SysNice => ("cap_sys_nice", 23),
            Self::SysAdmin => ("cap_sys_admin", 21),
            Self::Bpf => ("cap_bpf", 39),
        }
    }
}

/// The capabilities in force for the calling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    effective: u64,
}

impl Capabilities {
    /// Reads them from `/proc/thread-self/status`.
    ///
    /// # Errors
    /// When `/proc` is not there or holds no `CapEff` line.
    pub fn of_this_thread() -> Result<Self> {
        status("CapEff:").map(|effective| Self { effective })
    }

    /// Whether this one is in force.
    #[must_use]
    pub fn has(self, capability: Capability) -> bool {
        self.effective & capability.bit() != 0
    }
}

/// Whether the effective user is root, here or of the user namespace we are in.
#[must_use]
pub fn is_root() -> bool {
    user_id() == 0
}

/// Number of the effective user, as this user namespace knows it.
#[must_use]
pub fn user_id() -> u32 {
    geteuid().as_raw()
}

/// Kernel and host name (`uname(2)`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uname {
    /// Operating system: `Linux`.
    pub system: String,
    /// Host name.
    pub host: String,
    /// Kernel release: `6.1.0-18-amd64`.
    pub release: String,
    /// Architecture: `x86_64`.
    pub machine: String,
}

impl Uname {
    /// Asks the kernel.
    #[must_use]
    pub fn get() -> Self {
        let name = uname();
        let text = |field: &CStr| field.to_string_lossy().into_owned();
        Self {
            system: text(name.sysname()),
            host: text(name.nodename()),
            release: text(name.release()),
            machine: text(name.machine()),
        }
    }
}

/// Whether io_uring may be used; really tried, for besides `kernel.io_uring_disabled` a container's filter may forbid it.
///
/// # Errors
/// Why not, in the kernel's words.
pub fn try_io_uring() -> Result<()> {
    io_uring::IoUring::new(2).named("make", || "an io_uring".into()).map(drop)
}

/// The one line of a file of settings, trimmed; `None` when it cannot be read.
#[must_use]
pub fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// A set of capabilities of the calling thread.
fn status(line: &str) -> Result<u64> {
    let text = fs::read_to_string(STATUS).named("read", || STATUS.into())?;
    let none = || io::Error::new(io::ErrorKind::InvalidData, format!("no {line} line in it"));
    parse(&text, line).ok_or_else(none).named("read", || STATUS.into())
}

fn parse(status: &str, line: &str) -> Option<u64> {
    let line = status.lines().find_map(|other| other.strip_prefix(line))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

const STATUS: &str = "/proc/thread-self/status";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_files_as_allowed() {
        raise_open_files().expect("a process may raise its own limit to the most");
        let limits = fs::read_to_string("/proc/self/limits").expect("limits are readable");
        let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("it is there");
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(fields[3], fields[4], "{line}");
    }

    #[test]
    fn capabilities_are_bits() {
        let ordinary = parse("Name:\tx\nCapPrm:\tffff\nCapEff:\t0000000000002000\n", "CapEff:");
        let capabilities = Capabilities { effective: ordinary.expect("the line is there") };
        assert!(capabilities.has(Capability::NetRaw));
        assert!(!capabilities.has(Capability::NetAdmin));
        assert_eq!(parse("CapEff:\tzz\n", "CapEff:"), None);
        assert_eq!(parse("", "CapEff:"), None);
    }

    #[test]
    fn the_kernel_names_itself() {
        let uname = Uname::get();
        assert_eq!(uname.system, "Linux");
        assert!(uname.release.starts_with(|letter: char| letter.is_ascii_digit()), "{uname:?}");
    }

    #[test]
    fn trying_a_user_namespace_leaves_this_process_as_it_was() {
        let before = Capabilities::of_this_thread().expect("/proc is there");
        let can = || crate::namespace::try_user_namespace().is_ok();
        assert_eq!(can(), can());
        assert_eq!(Capabilities::of_this_thread().expect("/proc is there"), before);
    }
}
