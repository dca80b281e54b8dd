//! The figures of a run, from what its ways gathered and what the host did meanwhile.

use super::flow::{EgressFlow, FarCount};
use linux::clock::mono_now;
use linux::cpu::{CpuSnapshot, Usage};
use model::latency::disturbance::HostWatch;
use model::latency::{EgressEnds, EgressPath, EgressResult, HostNoise, LatencyMode, LatencyResult};
use model::time::MonoTime;
use model::units::{Nanos, PacketRate};
use wire::echo::Exchange;
use wire::native::LatencyObservation;

/// What this host had done before the run.
pub(crate) struct HostBefore {
    at: MonoTime,
    thread: Usage,
    cpus: Option<CpuSnapshot>,
}

/// What this host did to the measuring thread, and what that thread took.
pub(crate) struct HostFigures {
    noise: HostNoise,
    /// When it held that thread, as far as the thread could see (`watched`).
    watch: HostWatch,
    watched: bool,
    cpu_share: f64,
}

impl HostBefore {
    pub(crate) fn now() -> HostBefore {
        HostBefore { at: mono_now(), thread: Usage::of_thread(), cpus: CpuSnapshot::take().ok() }
    }

    /// `watched`: the thread spun, and so saw when it was held.
    pub(crate) fn since(self, watch: &HostWatch, watched: bool) -> HostFigures {
        let elapsed = mono_now().saturating_since(self.at);
        let thread = Usage::of_thread().since(&self.thread);
        let steal = self.cpus.and_then(|before| {
            let times = CpuSnapshot::take().ok()?.since(&before);
            let total: u64 = times.iter().map(|cpu| cpu.total().0).sum();
            let steal: u64 = times.iter().map(|cpu| cpu.steal.0).sum();
            (total > 0).then(|| steal as f64 / total as f64)
        });
        HostFigures {
            noise: HostNoise {
                involuntary_switches: thread.involuntary_switches,
                steal_share: steal.unwrap_or(0.0),
                ..watch.noise()
            },
            watch: watch.clone(),
            watched,
            cpu_share: thread.cpu().0 as f64 / elapsed.0.max(1) as f64,
        }
    }
}

/// The document of all ways.
pub(crate) fn whole_result(egress_paths: Vec<EgressResult>, host: HostFigures) -> LatencyResult {
    LatencyResult { egress_paths, floor: None, noise: host.noise, cpu_share: host.cpu_share }
}

/// One way's figures. `host`: what this host did meanwhile.
pub(crate) fn egress_result<E: Exchange>(
    egress: &EgressPath,
    mode: LatencyMode,
    flow: EgressFlow<E>,
    ends: EgressEnds,
    elapsed: Nanos,
    observed: Option<LatencyObservation>,
    host: &HostFigures,
) -> EgressResult {
    let one_way = flow.clock.delays();
    let far_counted = flow.far_counted();
    let totals = flow.tally.finish(&host.watch, host.watched, elapsed);
    let mut counted = totals.counted;
    if let Some(FarCount { answered, of }) = far_counted {
        // Of what was lost after the last reply nobody knows where.
        let up = (of - answered).min(counted.lost);
        counted.lost_up = Some(up);
        counted.lost_down = Some((counted.lost - up).saturating_sub(counted.asked.saturating_sub(of)));
    }
    if let Some(observed) = &observed {
        counted.far_received = Some(observed.received);
        counted.lost_up = counted.sent.checked_sub(observed.received);
        let all_asked = counted.asked == counted.sent;
        counted.lost_down = counted.lost_up.filter(|_| all_asked).map(|up| counted.lost.saturating_sub(up));
    }
    let one_way_rate = |observed: LatencyObservation| {
        PacketRate::from_count(observed.received.saturating_sub(1), observed.elapsed)
    };
    EgressResult {
        label: egress.label.clone(),
        host: egress.target.host.clone(),
        ends,
        elapsed,
        counted,
        warm_up: totals.warm_up,
        warm_up_count: totals.warm_up_count,
        level: totals.level,
        rtt: totals.rtt,
        service: totals.service.and_then(|service| service.distribution()),
        mad: totals.spread.map(|spread| spread.mad),
        iqr: totals.spread.map(|spread| spread.iqr),
        percentiles: totals.percentiles,
        mean: totals.mean,
        histogram: (totals.histogram.count() > 0).then(|| totals.histogram.to_v2_base64()),
        wire: None,
        one_way,
        outliers: totals.outliers,
        silence: totals.silence,
        sent_rate: PacketRate::from_count(counted.sent, elapsed),
        received_rate: observed.filter(|_| mode == LatencyMode::Throughput).map(one_way_rate),
    }
}
