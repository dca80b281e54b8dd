//! Is the machine ours alone? Waiting until it is idle, and how much others used of it during a run.

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

/// Does something that measures and tells what others used of one CPU meanwhile, as a share; does it again while that
/// was too much and the patience lasts. The least disturbed of these. Without patience the first, on whatever machine.
pub(crate) fn undisturbed<T>(
    patience: Duration,
    mut once: impl FnMut() -> anyhow::Result<(T, f64)>,
) -> anyhow::Result<(T, f64)> {
    let mut best: Option<(T, f64)> = None;
    let deadline = Instant::now() + patience;
    loop {
        let idle = patience.is_zero() || wait_until_idle(deadline)?;
        let (run, mut foreign) = once()?;
        if !idle {
            foreign = foreign.max(1.0);
        }
        best = match best {
            Some(best) if best.1 <= foreign => Some(best),
            _ => Some((run, foreign)),
        };
        if let Some(best) = best.take_if(|(_, foreign)| !is_disturbed(*foreign) || Instant::now() >= deadline)
        {
            return Ok(best);
        }
    }
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
}

const LOOK: Duration = Duration::from_millis(200);
const FOREIGN_LIMIT: f64 = 0.12;
const IDLE_SHARE: f64 = 0.06;
