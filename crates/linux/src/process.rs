//! Processes: enclosed with all they start, detached, joined from outside, pinned, signalled without mistaking one.
//!
//! Sources: `pid_namespaces(7)`, `setns(2)`, `pidfd_open(2)`, `PR_SET_PDEATHSIG(2const)`, `credentials(7)`.

use crate::error::{Named, OsError, Result, check};
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Goes on as a process in a PID namespace of its own, so that all it starts, however deep, ends when it ends.
///
/// Three processes stand for one then: the caller, which only waits, runs `at_end` and ends with the same exit code; an
/// init, which collects orphans; and the program, which returns from here. The death of any of them, by SIGKILL too,
/// ends all. Signals that the caller gets are passed on. Must be called before the first thread is started.
///
/// # Errors
/// Without `CAP_SYS_ADMIN`, or when no process can be made.
pub fn enclose(at_end: impl FnOnce()) -> Result<()> {
    let object = || "a PID namespace".to_owned();
    let (watch, alive) = io::pipe().named("make", || "a pipe".into())?;
    // SAFETY: takes a number and touches no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWPID) }).named("make", object)?;
    // SAFETY: this is the only thread, so the child may go on as any program.
    let init = check(unsafe { libc::fork() }).named("make a process in", object)?;
    if init == 0 {
        drop(alive);
        return be_init(&watch).named("make a process in", object);
    }
    drop(watch);
    pass_signals_on_to(init);
    let code = wait_for(init);
    drop(alive);
    at_end();
    std::process::exit(code)
}

/// What [`detach`] made of the caller.
#[derive(Debug)]
pub enum Detached {
    /// The process that was: it reads what the other one writes, until that closes.
    Parent(PipeReader),
    /// The new one, which has no terminal, no standard input and no output but this.
    Child(PipeWriter),
}

/// Splits off a process that outlives the caller and its terminal. Must be called before the first thread is started.
///
/// # Errors
/// When no process can be made.
pub fn detach() -> Result<Detached> {
    let object = || "a process of its own".to_owned();
    let (reader, writer) = io::pipe().named("make", || "a pipe".into())?;
    let null = OpenOptions::new().read(true).write(true).open(NULL).named("open", || NULL.into())?;
    // SAFETY: this is the only thread, so the child may go on as any program.
    if check(unsafe { libc::fork() }).named("make", object)? != 0 {
        return Ok(Detached::Parent(reader));
    }
    drop(reader);
    // SAFETY: takes nothing; a fresh child leads no group, so it is not refused.
    check(unsafe { libc::setsid() }).named("detach", object)?;
    for standard in 0..=2 {
        // SAFETY: both descriptors are open; what `standard` was is closed, as is meant.
        check(unsafe { libc::dup2(null.as_raw_fd(), standard) }).named("detach", object)?;
    }
    std::env::set_current_dir("/").named("enter", || "/".into())?;
    Ok(Detached::Child(writer))
}

/// Joins the namespaces that another process has given its children: of users where it differs, and of PIDs. Children of
/// the caller are in them from now on; the caller may start no thread any more.
///
/// # Errors
/// When the process has gone, or belongs to another user.
pub fn join(pid: u32) -> Result<()> {
    let user = open_namespace(pid, "user")?;
    let own = fs::read_link("/proc/self/ns/user").named("read", || "/proc/self/ns/user".into())?;
    let path = format!("/proc/{pid}/ns/user");
    let theirs = fs::read_link(&path).named("read", || path)?;
    let pids = open_namespace(pid, "pid_for_children")?;
    let object = || format!("the namespaces of process {pid}");
    if own != theirs {
        // SAFETY: the descriptor is open through the call.
        check(unsafe { libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER) }).named("enter", object)?;
    }
    // SAFETY: the descriptor is open through the call.
    check(unsafe { libc::setns(pids.as_raw_fd(), libc::CLONE_NEWPID) }).named("enter", object).map(drop)
}

/// Makes a command run on these CPUs only; none: on any.
pub fn pin(command: &mut Command, cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    // SAFETY: all-zero is a valid cpu_set_t: it is an array of integers.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).filter(|cpu| *cpu < MOST_CPUS) {
        // SAFETY: the CPU was checked to be within the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    let pin = move || {
        // SAFETY: the kernel reads `set`, which the closure owns; a bare system call, sound between fork and exec.
        check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) }).map(drop)
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(pin) };
}

/// A signal that ends processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`: please end.
    Terminate,
    /// `SIGKILL`: end.
    Kill,
}

impl Signal {
    const fn number(self) -> i32 {
        match self {
            Self::Terminate => libc::SIGTERM,
            Self::Kill => libc::SIGKILL,
        }
    }
}

/// Sends a signal to every process of a group that a child of ours, not yet waited for, leads.
///
/// # Errors
/// When there is no such group any more.
pub fn signal_group(leader: u32, signal: Signal) -> io::Result<()> {
    let group = i32::try_from(leader).map_err(io::Error::other)?;
    // SAFETY: takes numbers and touches no memory.
    check(unsafe { libc::kill(-group, signal.number()) }).map(drop)
}

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Debug)]
pub struct Process {
    fd: OwnedFd,
}

impl Process {
    /// The process of this number that began at this time ([`started_at`]); `None` when it has ended.
    ///
    /// # Errors
    /// When the kernel is older than Linux 5.3, or has no descriptor left.
    pub fn find(pid: u32, started: u64) -> Result<Option<Self>> {
        let fd = match open(pid) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
            other => other.named("open", || format!("process {pid}"))?,
        };
        // Read behind the opening: what has this time now is what was opened.
        Ok((started_at(pid) == Some(started)).then_some(Self { fd }))
    }

    /// A child of ours that was not yet waited for, so that its number is still its own.
    ///
    /// # Errors
    /// When the kernel is older than Linux 5.3, or has no descriptor left.
    pub fn of_child(child: &Child) -> Result<Self> {
        Ok(Self { fd: open(child.id()).named("open", || format!("process {}", child.id()))? })
    }

    /// Sends it a signal; one that has ended meanwhile does not mind.
    ///
    /// # Errors
    /// When it belongs to another user.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let (fd, number) = (self.fd.as_raw_fd(), signal.number());
        let none = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: the descriptor is open; without a siginfo_t the kernel fills one itself.
        let sent = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, number, none, 0) };
        match check(i32::try_from(sent).unwrap_or(-1)) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                Err(OsError::new("signal", "a process", error))
            }
            _ => Ok(()),
        }
    }

    /// Waits until it has ended, at most so long; says whether it has.
    #[must_use]
    pub fn wait(&self, patience: Duration) -> bool {
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        poll_one(&self.fd, milliseconds).unwrap_or(0) != 0
    }
}

fn open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = check(i32::try_from(fd).unwrap_or(-1))?;
    // SAFETY: the kernel has just given us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// When a process began, in clock ticks since the machine did (field 22 of `proc_pid_stat(5)`); `None`: no such process,
/// or only its exit code is left.
#[must_use]
pub fn started_at(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    (fields.next()? != "Z").then_some(())?;
    fields.nth(18)?.parse().ok()
}

/// The number of the calling process as `/proc` shows it, which in a PID namespace is not the one it knows itself by.
///
/// # Errors
/// When `/proc` is not there.
pub fn own_pid() -> Result<u32> {
    const OWN: &str = "/proc/self";
    let target = fs::read_link(OWN).named("read", || OWN.into())?;
    let pid = target.to_str().and_then(|text| text.parse().ok());
    pid.ok_or_else(|| OsError::new("read", OWN, io::Error::other("it is no number")))
}

/// The first process of the namespace: makes the program, collects what ends, and ends when the program does.
fn be_init(watch: &PipeReader) -> io::Result<()> {
    // SAFETY: takes numbers and touches no memory.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })?;
    // The parent may have died before that took effect: then nobody holds the other end of the pipe.
    if poll_one(watch, 0)? != 0 {
        std::process::exit(1);
    }
    // SAFETY: this is the only thread, so the child may go on as any program.
    let program = check(unsafe { libc::fork() })?;
    if program == 0 {
        return Ok(());
    }
    pass_signals_on_to(program);
    std::process::exit(wait_for(program))
}

/// Waits for one child and collects all others; the exit code, or 128 and the signal.
fn wait_for(child: libc::pid_t) -> i32 {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the end of a child.
        match check(unsafe { libc::waitpid(-1, &raw mut status, 0) }) {
            Ok(ended) if ended == child && libc::WIFEXITED(status) => return libc::WEXITSTATUS(status),
            Ok(ended) if ended == child => return 128 + libc::WTERMSIG(status),
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return 1,
            _ => {}
        }
    }
}

fn pass_signals_on_to(child: libc::pid_t) {
    CHILD.store(child, Ordering::Relaxed);
    // SAFETY: all-zero is a valid sigaction: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = pass_on as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the kernel reads `action`; the handler it names makes one system call and touches one atomic.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

extern "C" fn pass_on(signal: i32, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands a valid siginfo_t to the handler.
    let from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    // The terminal has told the whole group, the child too.
    if !from_terminal {
        // SAFETY: takes numbers and touches no memory.
        unsafe { libc::kill(CHILD.load(Ordering::Relaxed), signal) };
    }
}

fn open_namespace(pid: u32, kind: &str) -> Result<File> {
    let path = format!("/proc/{pid}/ns/{kind}");
    File::open(&path).named("open", || path)
}

/// How many of one descriptor have something to tell, or an end to it.
fn poll_one(fd: &impl AsFd, milliseconds: i32) -> io::Result<i32> {
    let mut one = libc::pollfd { fd: fd.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `one` is a single pollfd that lives through the call.
    check(unsafe { libc::poll(&raw mut one, 1, milliseconds) })
}

/// The child that signals are for.
static CHILD: AtomicI32 = AtomicI32::new(0);
const MOST_CPUS: usize = 1024;
const NULL: &str = "/dev/null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_beginning() {
        let mut child =
            Command::new("sleep").arg("600").process_group(0).spawn().expect("sleep is everywhere");
        let started = started_at(child.id()).expect("it runs");
        assert!(Process::find(child.id(), started + 1).expect("the kernel can").is_none());
        let found = Process::find(child.id(), started).expect("the kernel can").expect("it runs");
        assert!(
            !found.wait(Duration::ZERO)
                && !Process::of_child(&child).expect("it is ours").wait(Duration::ZERO)
        );
        signal_group(child.id(), Signal::Kill).expect("it leads its group");
        assert!(found.wait(Duration::from_secs(10)));
        found.signal(Signal::Terminate).expect("the dead do not mind");
        child.wait().expect("it is ours");
        assert!(Process::find(child.id(), started).expect("the kernel can").is_none());
    }

    #[test]
    fn own_number_is_that_of_proc() {
        assert_eq!(own_pid().expect("/proc is there"), std::process::id());
    }

    #[test]
    fn a_pinned_command_stays_on_its_cpu() {
        let cpu = *crate::cpu::affinity().expect("the kernel tells").first().expect("there is one");
        let mut command = Command::new("grep");
        pin(&mut command, &[u32::try_from(cpu).expect("few CPUs")]);
        let output =
            command.args(["Cpus_allowed_list", "/proc/self/status"]).output().expect("grep is everywhere");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.split_whitespace().last(), Some(cpu.to_string().as_str()), "{text}");
    }
}
