//! `host-noise` of a latency run: what this host did to the measuring thread, and from which percentile on it shows. A
//! note: what the host spoiled is withheld, and the rest stands.

use super::super::text::{capital, count, grouped, percent};
use super::super::{Finding, Severity};
use super::share;
use crate::fix;
use model::latency::{Cause, HostNoise, WaitMode};
use model::run::Run;

/// At most one finding: there is one measuring thread.
pub(in super::super) fn noise(run: &Run) -> Option<Finding> {
    Disturbance::from_run(run).filter(Disturbance::is_worth_reporting).map(|one| one.finding(run))
}

struct Disturbance {
    noise: HostNoise,
    /// Round trips that a hiccup hit, as a share of all: one by each at most, and no more than are in flight when one comes.
    hit: f64,
    /// Time held, as a share of the counted time.
    held: f64,
    switches_per_second: f64,
    /// The measuring thread never slept: a program that took its CPU pre-empted it.
    spun: bool,
    /// A hiccup is long enough to change a round trip.
    matters: bool,
    /// Far round trips, and those of them that this host caused.
    far: u64,
    by_host: u64,
}

impl Disturbance {
    fn from_run(run: &Run) -> Option<Disturbance> {
        let noise = run.summary.noise?;
        let egress_paths = &run.summary.egress_paths;
        let elapsed = egress_paths.iter().map(|egress| egress.elapsed).max()?.as_secs_f64();
        let round_trips =
            egress_paths.iter().fold(0, |sum: u64, egress| sum.saturating_add(egress.counted.received));
        let median = egress_paths.iter().filter_map(|egress| egress.rtt).map(|rtt| rtt.p50).min()?;
        let each = |total: f64| if elapsed > 0.0 { total / elapsed } else { 0.0 };
        let in_flight = each(noise.hiccup_total.as_secs_f64() + noise.hiccups as f64 * median.as_secs_f64());
        let mean = noise.hiccup_total.0 / noise.hiccups.max(1);
        let outliers = || {
            egress_paths.iter().flat_map(|egress| &egress.outliers).filter(|one| one.rtt.0 / 2 >= median.0)
        };
        Some(Disturbance {
            noise,
            hit: share(noise.hiccups, round_trips).min(in_flight).min(1.0),
            held: each(noise.hiccup_total.as_secs_f64()).min(1.0),
            switches_per_second: each(noise.involuntary_switches as f64),
            spun: run.latency().is_some_and(|plan| plan.wait == WaitMode::Spin),
            matters: mean.saturating_mul(SHOWS) >= median.0,
            far: outliers().count() as u64,
            by_host: outliers().filter(|one| one.cause == Cause::Host).count() as u64,
        })
    }

    fn stolen(&self) -> bool {
        self.noise.steal_share >= STOLEN
    }

    fn interrupted(&self) -> bool {
        self.spun && self.noise.involuntary_switches >= A_FEW && self.switches_per_second >= OFTEN
    }

    /// The highest percentiles are this host's: hiccups that show hit so many round trips.
    fn percentile(&self) -> Option<&'static str> {
        let reached = PERCENTILES.iter().find(|(share, _)| self.hit >= *share);
        reached.filter(|_| self.matters).map(|(_, name)| *name)
    }

    /// A spinning thread missed a part of the time.
    fn missed_time(&self) -> bool {
        self.matters && self.held >= MISSED
    }

    fn is_worth_reporting(&self) -> bool {
        self.stolen() || self.interrupted() || self.missed_time() || self.percentile().is_some()
    }

    fn title(&self) -> String {
        let mut parts = Vec::new();
        if self.stolen() {
            parts.push(format!(
                "the hypervisor gave {} of the CPU time to others",
                percent(self.noise.steal_share)
            ));
        }
        if self.interrupted() {
            parts.push(format!(
                "other work interrupted the measuring thread {} times per second",
                grouped(self.switches_per_second.round() as u64)
            ));
        }
        if self.missed_time() {
            parts.push(format!(
                "it kept the measuring thread from running {} of the time",
                percent(self.held)
            ));
        }
        // The evidence of the slowest round trips themselves weighs more than an estimate by frequency.
        let is_borne_out = self.far == 0 || self.by_host * 2 > self.far;
        if let Some(percentile) = self.percentile().filter(|_| is_borne_out) {
            parts.push(format!(
                "it held the measuring thread {} for over 50 µs, at worst {}, so that {percentile} and all above are this host's and not the path's, and are withheld",
                count(self.noise.hiccups, "time"),
                self.noise.hiccup_worst
            ));
        }
        if self.by_host * 2 > self.far && self.far >= A_FEW {
            parts.push(format!(
                "it caused {} of the {} slowest round trips",
                grouped(self.by_host),
                grouped(self.far)
            ));
        }
        capital(&format!("this host was busy: {}", parts.join("; ")))
    }

    fn finding(&self, run: &Run) -> Finding {
        let noise = &self.noise;
        let finding = Finding::new("host-noise", Severity::Info, None, self.title())
            .with("steal_share", noise.steal_share)
            .with("involuntary_switches_per_second", self.switches_per_second)
            .with("hiccups_count", noise.hiccups)
            .with("hiccup_total_ns", noise.hiccup_total.0)
            .with("hiccup_worst_ns", noise.hiccup_worst.0)
            .with("held_share", self.held)
            .with("round_trips_hit_share", self.hit)
            .with("outliers_count", self.far)
            .with("outliers_by_host_count", self.by_host);
        finding.advise(match (self.stolen(), own_cpu(run)) {
            (true, _) => "Repeat when the neighbours are quiet, or on a host with CPUs of its own; trust the minimum and the median more than the tail.".into(),
            (false, Some(command)) => format!("Stop other work on this host, or keep a CPU for the measuring thread: `{command}`."),
            (false, None) => "Stop other work on this host; trust the minimum and the median more than the tail.".into(),
        })
    }
}

/// The command that keeps a CPU for the measuring thread, unless it has one.
pub(super) fn own_cpu(run: &Run) -> Option<String> {
    let is_kept = run.latency().is_some_and(|plan| plan.cpu.is_some());
    fix::latency_cpu(run.host.as_ref()).filter(|_| !is_kept)
}

/// Hiccups whose mean is at least this part of the median show in a round trip.
const SHOWS: u64 = 10;
/// From which share of round trips hit on which percentile is the host's.
const PERCENTILES: [(f64, &str); 3] = [(0.01, "p99"), (0.001, "p99.9"), (NOTED, "p99.99")];
const NOTED: f64 = 0.000_1;
/// Share of all CPUs' time; one in a hundred is felt in p99.
const STOLEN: f64 = 0.01;
/// A spinning thread with a CPU of its own is interrupted about once a second. One that sleeps is mostly interrupted by
/// those it wakes, which harms nothing.
const OFTEN: f64 = 10.0;
const A_FEW: u64 = 3;
/// Share of the counted time, in pieces of over 50 µs: one in a hundred of anything measured at a chance moment is hit.
const MISSED: f64 = 0.01;
