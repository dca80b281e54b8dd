//! How this end will wait: spinning has the least error, where a CPU is to spare.

use linux::cpu::{CpuSnapshot, count, idle_cpus};
use model::latency::WaitMode;

/// Spin when a CPU is idle, else sleep; with the reason, for people. Beside a load of our own, spin only where its
/// threads and the kernel's have CPUs of their own. Takes a tenth of a second.
pub fn automatic(loaded: bool) -> (WaitMode, String) {
    let Some(idle) = idle() else {
        let text = format!("{} (how busy the CPUs are cannot be read)", reason(WaitMode::Block));
        return (WaitMode::Block, text);
    };
    let enough = if loaded { ENOUGH_BESIDE_LOAD } else { ENOUGH };
    let mode = if count() >= 2 && idle >= enough { WaitMode::Spin } else { WaitMode::Block };
    (mode, format!("{}; {idle:.1} of {} CPUs were idle", reason(mode), count()))
}

/// The cost of a mode of waiting.
pub fn reason(mode: WaitMode) -> &'static str {
    match mode {
        WaitMode::Spin => "least error, takes one CPU",
        WaitMode::Hybrid => "longer round trips pay a wake-up of the CPU",
        WaitMode::Block => "each reply includes a wake-up of the CPU",
    }
}

fn idle() -> Option<f64> {
    let before = CpuSnapshot::take().ok()?;
    std::thread::sleep(LOOK);
    Some(idle_cpus(&CpuSnapshot::take().ok()?.since(&before)))
}

const LOOK: std::time::Duration = std::time::Duration::from_millis(100);
/// Idle CPUs that make spinning harmless.
const ENOUGH: f64 = 0.9;
const ENOUGH_BESIDE_LOAD: f64 = 3.9;
