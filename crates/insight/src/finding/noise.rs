//! Other work on the hosts disturbed the measurement.

use super::measured::{MeasuredDirection, measured_directions};
use super::text::{grouped, percent};
use super::{Finding, Severity, cpu, latency};
use crate::fix;
use model::run::Run;
use model::sample::{Role, SideResult};
use model::units::Nanos;

/// The hypervisor took CPU time, or other processes pushed the stream threads aside: one finding for both ends, and one
/// for the measuring thread of a latency run.
pub(super) fn host_noise(run: &Run) -> Vec<Finding> {
    let ends = [("this host", "local", &run.summary.local), ("the peer", "peer", &run.summary.peer)];
    let disturbed: Vec<_> = ends
        .iter()
        .filter_map(|(name, prefix, end)| end.as_ref().map(|end| (*name, *prefix, Noise::from_side(end))))
        .filter(|(.., noise)| noise.stolen() || noise.pushed_aside())
        .collect();
    let of_streams = (!disturbed.is_empty()).then(|| finding(&disturbed, run));
    of_streams.into_iter().chain(latency::noise(run)).collect()
}

/// Other work disturbed one of the ends.
pub(crate) fn is_noisy(run: &Run) -> bool {
    let ends = [&run.summary.local, &run.summary.peer];
    let noise = ends.into_iter().flatten().map(Noise::from_side);
    noise.into_iter().any(|noise| noise.stolen() || noise.pushed_aside())
}

/// The requested rate was reached without a loss: noise has changed no figure.
fn is_reached(run: &Run) -> bool {
    let Some(test) = run.throughput().map(|plan| &plan.test) else { return false };
    let Some(rate) = test.bitrate else { return false };
    let requested = rate.0 as f64 * f64::from(test.streams.max(1));
    test.directions.each().all(|direction| {
        run.summary.direction(direction).is_some_and(|figures| {
            figures.goodput.0 as f64 >= REACHED * requested
                && figures.loss.is_none_or(|loss| loss.share < UNTOUCHED)
        })
    })
}

/// A CPU set the rate of a direction: what others took of it is missing there.
fn explains(run: &Run) -> bool {
    let set_by_cpu = |one_way: MeasuredDirection<'_>| {
        [Role::Sender, Role::Receiver].into_iter().any(|role| cpu::saturated(&one_way, role))
    };
    measured_directions(run).any(set_by_cpu)
}

/// The disturbance of one end.
struct Noise {
    /// CPUs that the hypervisor gave to others.
    steal: f64,
    cpus: u32,
    /// Involuntary switches of a stream thread, each second of the test.
    preemptions: f64,
    /// The same, each second that it ran.
    per_cpu_second: f64,
}

impl Noise {
    fn from_side(end: &SideResult) -> Noise {
        let elapsed = end.streams.iter().map(|row| row.elapsed).max().unwrap_or(Nanos::ZERO).as_secs_f64();
        let threads = end.streams.len().max(1) as f64;
        let each = |time: f64| if time > 0.0 { end.cpu.preemptions as f64 / time } else { 0.0 };
        Noise {
            steal: end.cpu.steal,
            cpus: end.cpu.cpus,
            preemptions: each(elapsed * threads),
            per_cpu_second: each(elapsed * end.cpu.threads.iter().sum::<f64>()),
        }
    }

    fn stolen(&self) -> bool {
        self.steal >= STOLEN
    }

    fn pushed_aside(&self) -> bool {
        self.per_cpu_second >= PUSHED_ASIDE && self.preemptions >= OFTEN
    }

    /// The figures are plausibly not what the path could give: so much of a CPU was missing. Slices of CPU time that other
    /// processes take are in the confidence, not in the verdict.
    fn serious(&self) -> bool {
        self.steal >= MUCH_STOLEN
    }

    fn text(&self, end: &str) -> String {
        let stolen = format!("the hypervisor took {} of a CPU from {end}", percent(self.steal));
        let pushed = format!(
            "other work interrupted each stream of {end} {} times per second",
            whole(self.preemptions)
        );
        match (self.stolen(), self.pushed_aside()) {
            (true, true) => format!("{stolen} and {pushed}"),
            (true, false) => stolen,
            _ => pushed,
        }
    }
}

fn finding(ends: &[(&str, &str, Noise)], run: &Run) -> Finding {
    let stolen = ends.iter().any(|(.., noise)| noise.stolen());
    let serious = !is_reached(run) && explains(run) && ends.iter().any(|(.., noise)| noise.serious());
    let severity = if serious { Severity::Warning } else { Severity::Info };
    let title = match ends {
        [(.., here), (.., peer)] if !stolen => format!(
            "The hosts were busy: other work interrupted each stream {} times per second here, {} at the peer",
            whole(here.preemptions),
            whole(peer.preemptions)
        ),
        _ => {
            let texts: Vec<String> = ends.iter().map(|(name, _, noise)| noise.text(name)).collect();
            format!("The hosts were busy: {}", texts.join("; "))
        }
    };
    let base = Finding::new("host-noise", severity, None, title);
    let finding = ends.iter().fold(base, |finding, (_, prefix, noise)| {
        finding
            .with(&format!("{prefix}_steal_cpus"), noise.steal)
            .with(&format!("{prefix}_preemptions_per_second"), noise.preemptions)
            .with(&format!("{prefix}_preemptions_per_cpu_second"), noise.per_cpu_second)
            .with(&format!("{prefix}_cpus_count"), noise.cpus)
    });
    let few = ends.iter().any(|(.., noise)| noise.cpus < ENOUGH_CPUS);
    finding.advise(match (stolen, fix::stream_cpu(run.host.as_ref()).filter(|_| !few)) {
        (true, _) => {
            "Repeat when the neighbours are quiet, or on a host with CPUs of its own; take the median of several runs.".into()
        }
        (false, None) => "Stop other work on the host, or measure from one with more CPUs.".into(),
        (false, Some(command)) => format!("Stop other work on the host, or keep a CPU for the stream: `{command}`."),
    })
}

/// A rate without decimals.
fn whole(rate: f64) -> String {
    grouped(rate.round() as u64)
}

/// Share of the requested rate.
const REACHED: f64 = 0.99;
/// One datagram in 100,000 shows nothing about a host.
const UNTOUCHED: f64 = 1e-5;
/// A twentieth of a CPU stolen is more than the differences worth measuring.
const STOLEN: f64 = 0.05;
/// A fifth of a CPU is missed wherever a CPU sets the rate.
const MUCH_STOLEN: f64 = 0.2;
/// A thread that has a CPU to itself runs for seconds; one that shares it runs for a slice of some milliseconds.
const PUSHED_ASIDE: f64 = 100.0;
/// A thread that hardly runs is interrupted now and then without harm.
const OFTEN: f64 = 10.0;
/// With fewer there are none to keep for the streams.
const ENOUGH_CPUS: u32 = 4;
