//! Other work on the hosts disturbed the measurement.

use super::text::percent;
use super::{Finding, Severity};
use crate::plan::Direction;
use crate::run::Run;
use crate::sample::SideResult;
use crate::units::Nanos;

/// The hypervisor took CPU time, or other processes pushed the stream threads aside: one finding for both ends.
pub(super) fn host_noise(run: &Run) -> Vec<Finding> {
    let ends = [("this host", "local", &run.summary.local), ("the peer", "peer", &run.summary.peer)];
    let disturbed: Vec<_> = ends
        .iter()
        .filter_map(|(name, prefix, end)| end.as_ref().map(|end| (*name, *prefix, Noise::of(end))))
        .filter(|(.., noise)| noise.stolen() || noise.pushed_aside())
        .collect();
    (!disturbed.is_empty()).then(|| finding(&disturbed)).into_iter().collect()
}

/// What disturbed one end.
struct Noise {
    /// CPUs that the hypervisor gave to others.
    steal: f64,
    cpus: u32,
    /// Involuntary switches of a stream thread, each second.
    preemptions: f64,
}

impl Noise {
    fn of(end: &SideResult) -> Noise {
        let elapsed = end.streams.iter().map(|row| row.elapsed).max().unwrap_or(Nanos(0)).as_secs_f64();
        let threads = end.streams.len().max(1) as f64;
        let preemptions = if elapsed > 0.0 { end.cpu.preemptions as f64 / elapsed / threads } else { 0.0 };
        Noise { steal: end.cpu.steal, cpus: end.cpu.cpus, preemptions }
    }

    fn stolen(&self) -> bool {
        self.steal >= STOLEN
    }

    fn pushed_aside(&self) -> bool {
        self.preemptions >= PUSHED_ASIDE
    }

    fn text(&self, end: &str) -> String {
        let stolen = format!("the hypervisor took {} of a CPU from {end}", percent(self.steal));
        let pushed =
            format!("other work interrupted each stream of {end} {:.0} times a second", self.preemptions);
        match (self.stolen(), self.pushed_aside()) {
            (true, true) => format!("{stolen} and {pushed}"),
            (true, false) => stolen,
            _ => pushed,
        }
    }
}

fn finding(ends: &[(&str, &str, Noise)]) -> Finding {
    let stolen = ends.iter().any(|(.., noise)| noise.stolen());
    let severity = if stolen { Severity::Warning } else { Severity::Info };
    let texts: Vec<String> = ends.iter().map(|(name, _, noise)| noise.text(name)).collect();
    let title = format!("The hosts were disturbed: {}", texts.join("; "));
    let base = Finding::new("host-noise", severity, Direction::Up, title).everywhere();
    let finding = ends.iter().fold(base, |finding, (_, prefix, noise)| {
        finding
            .with(&format!("{prefix}_steal_cpus"), noise.steal)
            .with(&format!("{prefix}_preemptions_per_second"), noise.preemptions)
            .with(&format!("{prefix}_cpus_count"), noise.cpus)
    });
    finding.advise(if stolen {
        "Repeat when the neighbours are quiet, or on a host with CPUs of its own; take the median of several runs."
    } else {
        "Stop other work on the host, or keep CPUs for the streams: `--affinity 2,3`."
    })
}

/// A twentieth of a CPU stolen is more than the differences worth measuring.
const STOLEN: f64 = 0.05;
/// The scheduler's shortest slice is about a millisecond: a hundred interruptions cost a tenth of the time or more.
const PUSHED_ASIDE: f64 = 100.0;
