//! Network namespaces held by a descriptor, and user namespaces for those who are not root.
//!
//! A namespace made here has no name and no file: when the last descriptor and socket in it are closed it vanishes,
//! with every interface, route and filter in it, however the process ends. So there is nothing to sweep.
//!
//! libc is left for what rustix does not have: `fork`, `_exit`, and two requests of `ioctl`.
//! Sources: `network_namespaces(7)`, `user_namespaces(7)`, `setns(2)`.

use crate::error::{Named, OsError, Result, check};
use crate::sockaddr::interface_request;
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{self, AddressFamily, SocketType};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, getegid, geteuid, set_dumpable_behavior, waitpid};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;

/// A network namespace, kept alive by this value.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes an empty network namespace: a loopback interface that is down, and nothing else.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`; see [`enter_user_namespace`] for the alternative.
    pub fn new() -> Result<Self> {
        on_a_thread(|| {
            // SAFETY: no table of descriptors is left behind; only this short-lived thread changes namespace.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.named("make", || "a network namespace".into())?;
            Self::current()
        })
    }

    /// The network namespace the calling thread is in.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn current() -> Result<Self> {
        const OWN: &str = "/proc/thread-self/ns/net";
        let file = File::open(OWN).named("open", || OWN.into())?;
        Ok(Self { fd: file.into() })
    }

    /// The network namespace that a file stands for: `/run/netns/NAME` (`ip-netns(8)`), `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// When there is no such file, or it is not a network namespace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let object = || path.as_ref().display().to_string();
        // A pipe would else wait for its other end.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        let namespace = Self::from(file.named("open", object)?);
        // SAFETY: the descriptor is open; this request takes no argument.
        let kind = check(unsafe { libc::ioctl(namespace.fd.as_raw_fd(), NS_GET_NSTYPE) });
        if kind.is_ok_and(|kind| kind == libc::CLONE_NEWNET) {
            return Ok(namespace);
        }
        let why = io::Error::new(io::ErrorKind::InvalidInput, "it is not a network namespace");
        Err(OsError::new("open", object(), why))
    }

    /// Whether both are one namespace.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn is_same(&self, other: &Self) -> Result<bool> {
        let identity = |of: &Self| {
            let file = File::from(of.fd.try_clone()?);
            file.metadata().map(|about| (about.dev(), about.ino()))
        };
        let compared = identity(self).and_then(|own| Ok(own == identity(other)?));
        compared.named("compare", || "network namespaces".into())
    }

    /// Moves the calling thread, and only it, into this namespace for good. Threads it starts begin there too. To stay where
    /// one is needs no privilege.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN` over the namespace.
    pub fn enter(&self) -> Result<()> {
        let entered = enter(self.fd.as_fd());
        if entered == Err(Errno::PERM) && Self::current()?.is_same(self)? {
            return Ok(());
        }
        entered.named("enter", || "a network namespace".into())
    }

    /// Runs `work` on a thread of its own inside this namespace and waits for its value. Sockets opened by it stay here.
    ///
    /// # Errors
    /// When the namespace cannot be entered.
    ///
    /// # Panics
    /// When `work` does.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        on_a_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Makes a command start inside this namespace.
    ///
    /// # Errors
    /// When no further descriptor can be opened; a refusal to enter shows when the command is spawned.
    pub fn spawn_inside(&self, command: &mut Command) -> Result<()> {
        let namespace = self.fd.try_clone().named("keep", || "a network namespace".into())?;
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(move || Ok(enter(namespace.as_fd())?)) };
        Ok(())
    }

    /// Sets a `net.` system setting of this namespace: `("net/ipv4/ip_forward", "1")`.
    ///
    /// # Errors
    /// When the setting does not exist here, is read-only, or takes no such value.
    pub fn set_sysctl(&self, setting: &str, value: &str) -> Result<()> {
        // /proc/sys/net shows the namespace of the thread that opens it.
        self.run(|| {
            let path = format!("/proc/sys/{setting}");
            fs::write(&path, value).named("write", || path)
        })?
    }
}

impl From<File> for Namespace {
    /// A namespace that another process has open, as `/proc/PID/ns/net` or a descriptor of it under `/proc/PID/fd`. Any other
    /// file is refused when it is entered.
    fn from(file: File) -> Self {
        Self { fd: file.into() }
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Makes this process root of a new user namespace with an empty network namespace, so that it may make further ones.
///
/// Nothing outside changes: files are still reached with the rights of the calling user.
///
/// # Errors
/// When the process has started threads (the kernel wants a single one), or the host forbids user namespaces.
pub fn enter_user_namespace() -> Result<()> {
    become_root_of_user_namespace().named("make", || "a user namespace".into())
}

/// Makes a command start as root of a new user namespace with an empty network namespace; works from any thread.
pub fn spawn_in_user_namespace(command: &mut Command) {
    // SAFETY: the function makes bare system calls and allocates nothing.
    unsafe { command.pre_exec(become_root_of_user_namespace) };
}

/// Whether this user may make a user namespace with a network in it. Really tried, in a child process.
///
/// # Errors
/// Why not, in the kernel's words.
pub fn try_user_namespace() -> Result<()> {
    let operation = "make";
    let object = || "a user namespace".to_owned();
    // SAFETY: the child makes bare system calls, allocates nothing, and ends without returning.
    let child = check(unsafe { libc::fork() }).named(operation, object)?;
    if child == 0 {
        let code = match become_root_of_user_namespace().and_then(|()| use_network()) {
            Ok(()) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
        };
        // SAFETY: ends the child at once, running nothing of the parent's.
        unsafe { libc::_exit(code) };
    }
    let ended = retry_on_intr(|| waitpid(Pid::from_raw(child), WaitOptions::empty()))
        .named("wait for", || "the child that tries a user namespace".into())?;
    match ended.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        Some(code) => Err(OsError::new(operation, object(), io::Error::from_raw_os_error(code))),
        None => Err(OsError::new(operation, object(), io::Error::other("the child that tried was killed"))),
    }
}

fn enter(namespace: BorrowedFd<'_>) -> rustix::io::Result<()> {
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
}

/// Async-signal-safe, so that it can be done between fork and exec: system calls only, nothing allocated.
fn become_root_of_user_namespace() -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    // After a change of user or with file capabilities /proc/self belongs to root (PR_SET_DUMPABLE(2const)).
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    // SAFETY: no table of descriptors is left behind.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }?;
    // Without this an ordinary user may not map a group (user_namespaces(7)).
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_map(c"/proc/self/uid_map", uid)?;
    write_map(c"/proc/self/gid_map", gid)
}

/// Sets the loopback up: some hosts allow the namespace and then refuse every right in it (AppArmor).
fn use_network() -> io::Result<()> {
    let socket = net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut request = interface_request(b"lo");
    request.ifr_ifru.ifru_flags = UP;
    // SAFETY: the kernel reads `request`, which lives through the call.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) }).map(drop)
}

/// Root inside is this user outside; no other user is mapped.
fn write_map(path: &CStr, outside: u32) -> io::Result<()> {
    let mut line = [0; 24];
    let mut rest = &mut line[..];
    write!(rest, "0 {outside} 1")?;
    let length = 24 - rest.len();
    write_file(path, &line[..length])
}

fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

/// Runs `work` on a thread of its own, for what changes the thread for good, and waits for its value.
pub(crate) fn on_a_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

const UP: libc::c_short = 1;
/// `linux/nsfs.h`, `ioctl_ns(2)`.
const NS_GET_NSTYPE: libc::Ioctl = 0xb703;
