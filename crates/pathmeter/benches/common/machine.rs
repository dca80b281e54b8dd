//! Is the machine ours alone? Waiting until it is idle, and how much others used of it during a run.

use super::turns::Measured;
use linux::cpu::{CpuSnapshot, CpuTimes, Usage};
use model::units::Nanos;
use std::time::{Duration, Instant};

/// Waits until every CPU was idle for a moment; false when that did not come in time.
fn wait_until_idle(deadline: Instant) -> anyhow::Result<bool> {
    while Instant::now() < deadline {
        let before = CpuSnapshot::take()?;
        std::thread::sleep(LOOK);
        let busy = |cpu: &CpuTimes| (cpu.busy() + cpu.steal).0 as f64 / cpu.total().0.max(1) as f64;
        if CpuSnapshot::take()?.since(&before).iter().all(|cpu| busy(cpu) < IDLE_SHARE) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Measures; again, on an idle machine, while others disturbed it and until the timeout. The least disturbed of these.
pub(crate) fn undisturbed(
    timeout: Duration,
    once: impl Fn() -> anyhow::Result<Measured>,
) -> anyhow::Result<Measured> {
    let mut best = once()?;
    let deadline = Instant::now() + timeout;
    while is_disturbed(best.foreign) && wait_until_idle(deadline)? {
        let again = once()?;
        if again.foreign < best.foreign {
            best = again;
        }
    }
    Ok(best)
}

/// The machine in one line.
pub(crate) fn describe() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: String, name: &str| {
        text.lines().find_map(|line| {
            Some(line.strip_prefix(name)?.trim_matches(['=', ':', ' ', '\t', '"']).to_owned())
        })
    };
    let memory = after(read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kib: f64 = memory.trim_end_matches(" kB").parse().unwrap_or(0.0);
    format!(
        "{} CPUs ({}), {:.0} GiB, Linux {}, {}",
        linux::cpu::count(),
        linux::cpu::model_name().unwrap_or_else(|| "unknown".into()),
        kib / f64::from(1 << 20),
        read("/proc/sys/kernel/osrelease").trim(),
        after(read("/etc/os-release"), "PRETTY_NAME").unwrap_or_else(|| "unknown system".into()),
    )
}

/// Others used so much of the machine that the figure is doubtful.
pub(crate) fn is_disturbed(foreign: f64) -> bool {
    foreign > FOREIGN_LIMIT
}

/// The state of the machine at the begin of a run.
#[derive(Debug)]
pub(crate) struct Watch {
    cpus: CpuSnapshot,
    own: Usage,
    began: Instant,
}

impl Watch {
    /// Begins now.
    pub(crate) fn start() -> anyhow::Result<Watch> {
        Ok(Watch { cpus: CpuSnapshot::take()?, own: Usage::of_process(), began: Instant::now() })
    }

    /// CPU time that others used since the begin, and the hypervisor took, as a share of one CPU. `tools`: what the
    /// measured processes used.
    pub(crate) fn foreign(&self, tools: Nanos) -> anyhow::Result<f64> {
        let mine = tools + Usage::of_process().since(&self.own).cpu();
        let used = CpuSnapshot::take()?.since(&self.cpus);
        // A program's time holds the interrupts served in passing.
        let programs: u64 = used.iter().map(|c| c.busy().0).sum();
        let stolen: u64 = used.iter().map(|c| c.steal.0).sum();
        let foreign = programs.saturating_sub(mine.0) + stolen;
        Ok(foreign as f64 / self.began.elapsed().as_nanos() as f64)
    }

    /// CPU time that the hypervisor took since the begin, as a share of one CPU.
    pub(crate) fn stolen(&self) -> anyhow::Result<f64> {
        let used = CpuSnapshot::take()?.since(&self.cpus);
        let stolen: u64 = used.iter().map(|cpu| cpu.steal.0).sum();
        Ok(stolen as f64 / self.began.elapsed().as_nanos() as f64)
    }
}

const LOOK: Duration = Duration::from_millis(200);
const FOREIGN_LIMIT: f64 = 0.12;
const IDLE_SHARE: f64 = 0.06;
