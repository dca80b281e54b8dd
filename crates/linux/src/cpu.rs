//! CPU facts: how many, which one, pinning, and where their time went (threads, process, and per CPU with softirq).
//!
//! libc is left for what rustix does not have: `getrusage`, masks of more than 1024 CPUs, and a CPU number that may be unknown.
//! Sources: `getrusage(2)`, `sched_setaffinity(2)`, `proc_stat(5)`.

use crate::error::{Named, OsError, Result, check};
use crate::privilege::setting;
use rustix::param::clock_ticks_per_second;
use rustix::process::setpriority_process;
use std::fs;
use std::io;
use std::mem;
use std::path::Path;
use units::{Bytes, Nanos};

/// The CPUs the calling thread may run on, ascending.
///
/// # Errors
/// When the kernel refuses `sched_getaffinity`, e.g. on a machine of more than 8192 CPUs.
pub fn affinity() -> Result<Vec<usize>> {
    affinity_of(0)
}

/// The last of several CPUs that this thread may use.
#[must_use]
pub fn spare_cpu() -> Option<u32> {
    let cpus = affinity().ok().filter(|cpus| cpus.len() > 1)?;
    cpus.into_iter().max().and_then(|cpu| u32::try_from(cpu).ok())
}

/// The CPUs a thread may run on; 0 is the calling one.
pub fn affinity_of(thread: libc::pid_t) -> Result<Vec<usize>> {
    let mut mask = CpuMask([0; MASK_WORDS]);
    // SAFETY: the kernel writes at most the given size into `mask`, which lives through the call.
    let returned =
        unsafe { libc::sched_getaffinity(thread, mem::size_of_val(&mask.0), mask.0.as_mut_ptr().cast()) };
    check(returned).named("read the CPU affinity of", || thread_name(thread))?;
    Ok(mask.cpus())
}

/// How many CPUs the calling thread may run on; at least one.
#[must_use]
pub fn count() -> usize {
    affinity().map_or(1, |cpus| cpus.len().max(1))
}

/// Ties the calling thread to one CPU.
///
/// # Errors
/// When that CPU does not exist, is offline, or is closed to this process by a cpuset.
pub fn pin_current_thread(cpu: usize) -> Result<()> {
    pin_thread(0, &[cpu])
}

/// Ties a thread to some CPUs; 0 is the calling one.
pub fn pin_thread(thread: libc::pid_t, cpus: &[usize]) -> Result<()> {
    let operation = format!("pin {} to", thread_name(thread));
    let object = || match cpus {
        [cpu] => format!("CPU {cpu}"),
        _ => format!("CPUs {cpus:?}"),
    };
    let mut mask = CpuMask([0; MASK_WORDS]);
    cpus.iter().try_for_each(|cpu| mask.insert(*cpu)).named(&operation, object)?;
    set_affinity(thread, &mask).named(&operation, object)
}

/// Lets a thread run on those of these CPUs that the process may use.
fn set_affinity(thread: libc::pid_t, mask: &CpuMask) -> io::Result<()> {
    // SAFETY: the kernel reads the given size from `mask`, which lives through the call.
    let returned =
        unsafe { libc::sched_setaffinity(thread, mem::size_of_val(&mask.0), mask.0.as_ptr().cast()) };
    check(returned).map(drop)
}

fn thread_name(thread: libc::pid_t) -> String {
    if thread == 0 { "this thread".into() } else { format!("thread {thread}") }
}

/// Lets the calling thread run on every CPU that this process may use: undoes a pin that it was born with.
///
/// # Errors
/// When the kernel refuses `sched_setaffinity`.
pub fn unpin_current_thread() -> Result<()> {
    set_affinity(0, &CpuMask([u64::MAX; MASK_WORDS])).named("unpin", || "this thread".into())
}

/// Sets the calling thread's nice value: from -20, the first to run, to 19.
///
/// # Errors
/// Below the present one without `CAP_SYS_NICE` or `RLIMIT_NICE` (`setpriority(2)`).
pub fn set_nice(value: i32) -> Result<()> {
    setpriority_process(None, value).named("set the nice value of", || "this thread".into())
}

/// The CPU the calling thread runs on just now; `None` where the kernel does not say.
#[must_use]
pub fn current() -> Option<usize> {
    // SAFETY: takes no argument and touches no memory of ours.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The CPU model's name, from `/proc/cpuinfo`.
#[must_use]
pub fn model_name() -> Option<String> {
    parse_model_name(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

/// The frequency governor of a CPU (`performance`, `schedutil`, …); `None` where the kernel does not scale it.
#[must_use]
pub fn governor(cpu: usize) -> Option<String> {
    setting(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor"))
}

/// The frequency of a CPU now and at most, Hz (`scaling_cur_freq`, `cpuinfo_max_freq`); `None` where the kernel does not scale it.
#[must_use]
pub fn frequency(cpu: usize) -> Option<(u64, u64)> {
    let read = |file: &str| number(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"));
    Some((read("scaling_cur_freq")?.saturating_mul(1000), read("cpuinfo_max_freq")?.saturating_mul(1000)))
}

/// How often heat has slowed these CPUs down since boot; `None` where the kernel does not count it.
#[must_use]
pub fn throttle_count(cpus: &[usize]) -> Option<u64> {
    let read = |cpu: &usize| {
        number(format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"))
    };
    cpus.iter().filter_map(read).reduce(u64::saturating_add)
}

/// How long a CPU takes at most to wake up from the sleep states that are enabled (`cpuidle/state*/latency`); `None` where
/// the kernel lists none.
#[must_use]
pub fn deepest_sleep(cpu: usize) -> Option<Nanos> {
    let states = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")).ok()?;
    let exit = |state: fs::DirEntry| {
        let enabled = number(state.path().join("disable")) != Some(1);
        number(state.path().join("latency")).filter(|_| enabled)
    };
    states.flatten().filter_map(exit).max().map(|micros| Nanos(micros.saturating_mul(1000)))
}

/// The number in a file of one line.
fn number(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Threads of the whole host that run or wait for a CPU: the average of the last minute, or the present count if that is
/// larger (`/proc/loadavg`); `None` where it cannot be read.
#[must_use]
pub fn runnable() -> Option<f64> {
    parse_runnable(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Resources that a thread or the whole process has used so far (`getrusage(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Nanos,
    /// CPU time in the kernel on our behalf; softirq work done in passing is counted elsewhere, see [`CpuTimes`].
    pub system: Nanos,
    /// Times we gave the CPU away, e.g. to wait.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from us.
    pub involuntary_switches: u64,
    /// Largest resident memory so far; of the whole process even in the usage of a thread.
    pub peak_rss: Bytes,
}

impl Usage {
    /// Usage of the whole process, finished threads included.
    pub fn of_process() -> Self {
        Self::used_by(libc::RUSAGE_SELF)
    }

    /// Usage of the calling thread.
    pub fn of_thread() -> Self {
        Self::used_by(libc::RUSAGE_THREAD)
    }

    /// Usage of all processes that were started by this one and have been waited for.
    pub fn of_children() -> Self {
        Self::used_by(libc::RUSAGE_CHILDREN)
    }

    /// User and system time together.
    pub fn cpu(&self) -> Nanos {
        self.user + self.system
    }

    /// Usage since `earlier`; `peak_rss` is unchanged.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            peak_rss: self.peak_rss,
        }
    }

    fn used_by(who: libc::c_int) -> Self {
        // SAFETY: all-zero is a valid rusage: it holds integers only.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is a valid rusage for the kernel to fill.
        let returned = unsafe { libc::getrusage(who, &raw mut usage) };
        debug_assert_eq!(returned, 0, "getrusage refuses only a wrong `who`");
        Self {
            user: nanos(usage.ru_utime.tv_sec, usage.ru_utime.tv_usec * 1000),
            system: nanos(usage.ru_stime.tv_sec, usage.ru_stime.tv_usec * 1000),
            voluntary_switches: positive(usage.ru_nvcsw),
            involuntary_switches: positive(usage.ru_nivcsw),
            peak_rss: Bytes(positive(usage.ru_maxrss).saturating_mul(1024)),
        }
    }
}

/// Where the time of one CPU went since boot, or between two snapshots. Resolution: the kernel's tick, mostly 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// Which CPU.
    pub cpu: usize,
    /// Programs, niced ones included; virtual machines too.
    pub user: Nanos,
    /// The kernel on behalf of programs.
    pub system: Nanos,
    /// Hardware interrupts.
    pub irq: Nanos,
    /// Soft interrupts: most of the receiving side of the network stack.
    pub softirq: Nanos,
    /// Time the hypervisor gave to others while this CPU wanted to run.
    pub steal: Nanos,
    /// Nothing to do, or waiting for a disk.
    pub idle: Nanos,
}

impl CpuTimes {
    /// Everything together.
    pub fn total(&self) -> Nanos {
        self.busy() + self.steal + self.idle
    }

    /// Time spent working here: neither idle nor stolen.
    pub fn busy(&self) -> Nanos {
        self.user + self.system + self.irq + self.softirq
    }

    /// The time went where it went since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            cpu: self.cpu,
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            irq: self.irq - earlier.irq,
            softirq: self.softirq - earlier.softirq,
            steal: self.steal - earlier.steal,
            idle: self.idle - earlier.idle,
        }
    }

    /// The share that a part has of the whole, from 0 to 1; zero when no tick passed.
    #[must_use]
    pub fn share(&self, part: Nanos) -> f64 {
        let whole = self.total();
        if whole == Nanos::ZERO { 0.0 } else { part.0 as f64 / whole.0 as f64 }
    }
}

/// All CPUs at one moment (`/proc/stat`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSnapshot {
    /// One entry for each online CPU, ascending.
    pub cpus: Vec<CpuTimes>,
}

impl CpuSnapshot {
    /// Reads `/proc/stat`.
    ///
    /// # Errors
    /// When it cannot be read, or names no CPU.
    pub fn take() -> Result<Self> {
        let text = fs::read_to_string(STAT).named("read", || STAT.into())?;
        let cpus = parse_stat(&text, nanos_per_tick());
        if cpus.is_empty() {
            let reason = io::Error::new(io::ErrorKind::InvalidData, "no CPU in it");
            return Err(OsError::new("read", STAT, reason));
        }
        Ok(Self { cpus })
    }

    /// Where the time of each CPU went since `earlier`; a CPU that was offline then is left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Vec<CpuTimes> {
        let moved = |now: &CpuTimes| {
            let before = earlier.cpus.iter().find(|before| before.cpu == now.cpu)?;
            Some(now.since(before))
        };
        self.cpus.iter().filter_map(moved).collect()
    }
}

/// How many CPUs' worth of time was idle: 1.5 of 2 CPUs, say.
#[must_use]
pub fn idle_cpus(times: &[CpuTimes]) -> f64 {
    times.iter().map(|cpu| cpu.share(cpu.idle)).sum()
}

pub(crate) fn parse_model_name(cpuinfo: &str) -> Option<String> {
    let value_of = |key: &str| {
        let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned()).next()
    };
    // x86 and most others; then what arm, ppc and older boards say.
    ["model name", "Model", "cpu", "Hardware"].into_iter().find_map(value_of)
}

/// `AVERAGE_OF_1_MINUTE OF_5 OF_15 RUNNING/ALL LAST_PID`.
fn parse_runnable(loadavg: &str) -> Option<f64> {
    let mut fields = loadavg.split_whitespace();
    let average: f64 = fields.next()?.parse().ok()?;
    let (running, _) = fields.nth(2)?.split_once('/')?;
    Some(average.max(running.parse().ok()?))
}

pub(crate) fn parse_stat(text: &str, nanos_per_tick: u64) -> Vec<CpuTimes> {
    text.lines().filter_map(|line| parse_stat_line(line, nanos_per_tick)).collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; guest time is within user already.
fn parse_stat_line(line: &str, nanos_per_tick: u64) -> Option<CpuTimes> {
    let mut fields = line.split_whitespace();
    let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> = fields.map_while(|word| word.parse().ok()).collect();
    let time = |column: usize| ticks.get(column).map(|ticks| Nanos(ticks.saturating_mul(nanos_per_tick)));
    Some(CpuTimes {
        cpu,
        user: time(0)? + time(1)?,
        system: time(2)?,
        idle: time(3)? + time(4).unwrap_or_default(),
        irq: time(5).unwrap_or_default(),
        softirq: time(6).unwrap_or_default(),
        steal: time(7).unwrap_or_default(),
    })
}

pub(crate) fn nanos_per_tick() -> u64 {
    1_000_000_000 / clock_ticks_per_second().max(1)
}

fn nanos(seconds: i64, rest: i64) -> Nanos {
    Nanos::from_secs(positive(seconds)) + Nanos(positive(rest))
}

fn positive(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A set of CPUs as the kernel reads it; larger than libc's `cpu_set_t`, which ends at 1024.
struct CpuMask([u64; MASK_WORDS]);

impl CpuMask {
    fn insert(&mut self, cpu: usize) -> io::Result<()> {
        let word = self.0.get_mut(cpu / 64).ok_or(io::ErrorKind::InvalidInput)?;
        *word |= 1 << (cpu % 64);
        Ok(())
    }

    fn cpus(&self) -> Vec<usize> {
        (0..MASK_WORDS * 64).filter(|cpu| self.0[cpu / 64] & (1 << (cpu % 64)) != 0).collect()
    }
}

const MASK_WORDS: usize = 128;
const STAT: &str = "/proc/stat";

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::thread;

    #[test]
    fn the_larger_of_average_and_present_count_is_runnable() {
        assert_eq!(parse_runnable("13.26 12.21 8.14 17/216 2406\n"), Some(17.0));
        assert_eq!(parse_runnable("13.26 12.21 8.14 2/216 2406\n"), Some(13.26));
        assert_eq!(parse_runnable("0.00 0.01"), None);
    }

    #[test]
    fn a_pinned_thread_runs_on_the_cpu_it_was_given() {
        let allowed = affinity().expect("affinity is readable");
        let target = *allowed.last().expect("a thread may run somewhere");
        thread::spawn(move || {
            pin_current_thread(target).expect("an allowed CPU can be pinned to");
            assert_eq!(affinity().expect("affinity is readable"), [target]);
            assert_eq!(current(), Some(target));
            assert_eq!(count(), 1);
        })
        .join()
        .expect("the pinned thread ends well");
    }

    #[test]
    fn a_pin_is_undone() {
        let all = affinity().unwrap();
        pin_current_thread(all[0]).unwrap();
        assert_eq!(affinity().unwrap(), [all[0]]);
        unpin_current_thread().unwrap();
        assert!(affinity().unwrap().len() >= all.len());
    }

    #[test]
    fn a_missing_cpu_is_refused_by_name() {
        let error = pin_current_thread(8191).expect_err("no machine here has so many CPUs");
        assert!(error.to_string().starts_with("pin this thread to CPU 8191: "), "{error}");
        assert!(pin_current_thread(usize::MAX).is_err());
    }

    #[test]
    fn work_is_charged_to_thread_and_process() {
        let (thread, process) = (Usage::of_thread(), Usage::of_process());
        while Usage::of_thread().since(&thread).cpu() < Nanos::from_millis(30) {
            black_box((0..10_000u64).sum::<u64>());
        }
        let used = Usage::of_process().since(&process);
        assert!(used.cpu() >= Nanos::from_millis(20), "{used:?}");
        assert!(Usage::of_thread().cpu() >= Nanos::from_millis(20));
        assert!(used.peak_rss > Bytes(100_000));
    }

    #[test]
    fn reads_stat_of_old_and_new_kernels() {
        let text =
            "cpu  9 9 9 9\ncpu0 10 5 20 100 1 2 3 4 5 0\ncpu12 1 1 1 1\nintr 5\ncpuX 1 1 1 1\ncpu3 1\n";
        let cpus = parse_stat(text, 10);
        assert_eq!(cpus.len(), 2);
        let first = cpus[0];
        assert_eq!(
            (first.user, first.system, first.idle),
            (Nanos::from_nanos(150), Nanos::from_nanos(200), Nanos::from_nanos(1010))
        );
        assert_eq!(
            (first.irq, first.softirq, first.steal),
            (Nanos::from_nanos(20), Nanos::from_nanos(30), Nanos::from_nanos(40))
        );
        assert_eq!(cpus[1].cpu, 12);
    }

    #[test]
    fn shares_are_of_the_whole_or_zero() {
        let times =
            CpuTimes { softirq: Nanos::from_nanos(30), idle: Nanos::from_nanos(70), ..CpuTimes::default() };
        assert!(
            (times.share(times.softirq) - 0.3).abs() < 1e-12 && (times.share(times.idle) - 0.7).abs() < 1e-12
        );
        assert!((idle_cpus(&[times, times]) - 1.4).abs() < 1e-12);
        assert_eq!(idle_cpus(&[CpuTimes::default()]).to_bits(), 0.0f64.to_bits());
    }

    #[test]
    fn this_machine_has_cpus_with_names_and_times() {
        let before = CpuSnapshot::take().expect("/proc/stat is readable");
        let moved = CpuSnapshot::take().expect("/proc/stat is readable").since(&before);
        assert!(!moved.is_empty() && moved.len() <= before.cpus.len());
        assert_eq!(parse_model_name("processor\t: 0\nmodel name\t: Some CPU\n"), Some("Some CPU".into()));
        assert_eq!(parse_model_name(""), None);
    }
}
