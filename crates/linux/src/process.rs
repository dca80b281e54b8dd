//! Processes: enclosed with all they start, detached, joined from outside, pinned, signalled without mistaking one.
//!
//! libc is left for what rustix does not have: `fork`, and handlers of signals.
//! Sources: `pid_namespaces(7)`, `setns(2)`, `pidfd_open(2)`, `PR_SET_PDEATHSIG(2const)`, `credentials(7)`.

use crate::error::{Named, OsError, Result, check};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    self, Pid, PidfdFlags, WaitOptions, kill_process_group, pidfd_open, pidfd_send_signal,
};
use rustix::process::{set_parent_process_death_signal, setsid, wait};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{CpuSet, LinkNameSpaceType, UnshareFlags};
use rustix::thread::{move_into_link_name_space, sched_setaffinity, unshare_unsafe};
use rustix::time::Timespec;
use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// Goes on as a process in a PID namespace of its own, so that all it starts, however deep, ends when it ends.
///
/// Three processes stand for one then: the caller, which only waits, runs `at_end` and ends with the same exit code; an
/// init, which collects orphans; and the program, which returns from here. The death of any of them, by SIGKILL too,
/// ends all. Signals that the caller gets are passed on.
///
/// # Errors
/// Without `CAP_SYS_ADMIN`, when this process has other threads, or when no process can be made.
pub fn enclose(at_end: impl FnOnce()) -> Result<()> {
    let object = || "a PID namespace".to_owned();
    alone()?;
    let (watch, alive) = io::pipe().named("make", || "a pipe".into())?;
    // SAFETY: no table of descriptors is left behind.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID) }.named("make", object)?;
    // SAFETY: `alone` found this to be the only thread, so the child may go on as any program.
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

/// Refuses a process with several threads: of these a child made by `fork` would have one, and the locks of all.
fn alone() -> Result<()> {
    let threads = fs::read_dir("/proc/self/task").named("read", || "/proc/self/task".into())?.count();
    let refused = io::Error::other(format!("{threads} threads run, and one alone may be there"));
    if threads == 1 { Ok(()) } else { Err(refused).named("fork", || "this process".into()) }
}

/// The two processes after [`detach`].
#[derive(Debug)]
pub enum Detached {
    /// The process that was: it reads what the other one writes, until that closes.
    Parent(PipeReader),
    /// The new one, which has no terminal, no standard input and no output but this.
    Child(PipeWriter),
}

/// Splits off a process that outlives the caller and its terminal.
///
/// # Errors
/// When this process has other threads, or when no process can be made.
pub fn detach() -> Result<Detached> {
    let object = || "a process of its own".to_owned();
    alone()?;
    let (reader, writer) = io::pipe().named("make", || "a pipe".into())?;
    let null = OpenOptions::new().read(true).write(true).open(NULL).named("open", || NULL.into())?;
    // SAFETY: `alone` found this to be the only thread, so the child may go on as any program.
    if check(unsafe { libc::fork() }).named("make", object)? != 0 {
        return Ok(Detached::Parent(reader));
    }
    drop(reader);
    // A fresh child leads no group, so it is not refused.
    setsid().named("detach", object)?;
    for standard in [dup2_stdin, dup2_stdout, dup2_stderr] {
        standard(&null).named("detach", object)?;
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
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User)).named("enter", object)?;
    }
    move_into_link_name_space(pids.as_fd(), Some(LinkNameSpaceType::ProcessID)).named("enter", object)
}

/// Makes a command run on these CPUs only; none: on any.
pub fn pin(command: &mut Command, cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    let numbers = cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok());
    numbers.filter(|cpu| *cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(cpu));
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) };
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
    const fn number(self) -> process::Signal {
        match self {
            Self::Terminate => process::Signal::TERM,
            Self::Kill => process::Signal::KILL,
        }
    }
}

/// Sends a signal to every process of a group that a child of ours, not yet waited for, leads.
///
/// # Errors
/// When there is no such group any more.
pub fn signal_group(leader: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process_group(pid_of(leader)?, signal.number())?)
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
            Err(Errno::SRCH) => return Ok(None),
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
        match pidfd_send_signal(&self.fd, signal.number()) {
            Err(Errno::SRCH) => Ok(()),
            outcome => outcome.named("signal", || "a process".into()),
        }
    }

    /// Waits until it has ended, at most so long; returns whether it has.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> bool {
        poll_one(&self.fd, timeout).unwrap_or(0) != 0
    }
}

fn open(pid: u32) -> rustix::io::Result<OwnedFd> {
    pidfd_open(pid_of(pid)?, PidfdFlags::empty())
}

/// Converts a process number; 0 belongs to no process and has another meaning for the kernel.
fn pid_of(number: u32) -> rustix::io::Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)
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
    pid.ok_or_else(|| OsError::new("read", OWN, io::Error::other("it is not a number")))
}

/// The first process of the namespace: makes the program, collects what ends, and ends when the program does.
fn be_init(watch: &PipeReader) -> io::Result<()> {
    set_parent_process_death_signal(Some(process::Signal::KILL))?;
    // The parent may have died before that took effect: then the other end of the pipe is closed.
    if poll_one(watch, Duration::ZERO)? != 0 {
        std::process::exit(1);
    }
    // SAFETY: `alone` found this to be the only thread, so the child may go on as any program.
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
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_pid() == child => {
                return status
                    .exit_status()
                    .unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return 1,
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
    // The terminal has signalled the whole group, the child too.
    if !from_terminal {
        // SAFETY: takes numbers and touches no memory.
        unsafe { libc::kill(CHILD.load(Ordering::Relaxed), signal) };
    }
}

fn open_namespace(pid: u32, kind: &str) -> Result<File> {
    let path = format!("/proc/{pid}/ns/{kind}");
    File::open(&path).named("open", || path)
}

/// How many of one descriptor are readable or closed by the other end.
fn poll_one(fd: &impl AsFd, timeout: Duration) -> io::Result<usize> {
    let timeout = Timespec::try_from(timeout).ok();
    Ok(poll(&mut [PollFd::new(fd, PollFlags::IN)], timeout.as_ref())?)
}

/// The child that signals are for.
static CHILD: AtomicI32 = AtomicI32::new(0);
const NULL: &str = "/dev/null";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_other_threads_is_not_forked() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        let enclosed = enclose(|| ()).expect_err("threads run").to_string();
        let detached = detach().expect_err("threads run").to_string();
        drop(stop);
        let _ = other.join();
        for text in [enclosed, detached] {
            assert!(text.contains("threads run, and one alone may be there"), "{text}");
        }
    }

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
        let cpu = *crate::cpu::affinity().expect("the kernel reports it").first().expect("there is one");
        let mut command = Command::new("grep");
        pin(&mut command, &[u32::try_from(cpu).expect("few CPUs")]);
        let output =
            command.args(["Cpus_allowed_list", "/proc/self/status"]).output().expect("grep is everywhere");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.split_whitespace().last(), Some(cpu.to_string().as_str()), "{text}");
    }
}
