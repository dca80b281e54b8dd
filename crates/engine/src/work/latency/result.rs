//! The figures of a run, from what its paths gathered and what the host did meanwhile.

use super::far_count::FarCount;
use super::flow::EgressFlow;
use linux::clock::mono_now;
use linux::cpu::{self, CpuSnapshot, CpuTimes, Usage};
use model::latency::disturbance::HostWatch;
use model::latency::{
    Counted, EgressEnds, EgressPath, EgressResult, HostNoise, LatencyMode, late_from_percent,
};
use model::time::MonoTime;
use model::units::{Nanos, PacketRate};
use wire::echo::Exchange;
use wire::native::LatencyObservation;

/// The counters of this host before the run.
pub(crate) struct HostBefore {
    at: MonoTime,
    thread: Usage,
    cpus: Option<CpuSnapshot>,
}

/// The delays that this host caused to the measuring thread, and the CPU time of that thread.
pub(crate) struct HostFigures {
    pub(super) noise: HostNoise,
    /// When it held that thread, as far as the thread could see (`watched`).
    watch: HostWatch,
    watched: bool,
    pub(super) cpu_share: f64,
}

impl HostBefore {
    pub(crate) fn now() -> HostBefore {
        HostBefore { at: mono_now(), thread: Usage::of_thread(), cpus: CpuSnapshot::take().ok() }
    }

    /// `watched`: the thread spun, and so saw when it was held.
    pub(crate) fn since(self, watch: &HostWatch, watched: bool) -> HostFigures {
        let elapsed = mono_now().saturating_since(self.at);
        let thread = Usage::of_thread().since(&self.thread);
        let times = self.cpus.and_then(|before| Some(CpuSnapshot::take().ok()?.since(&before)));
        let times = times.unwrap_or_default();
        let sum = |of: fn(&CpuTimes) -> Nanos| times.iter().map(|cpu| of(cpu).0).sum::<u64>();
        let (total, steal, idle) = (sum(CpuTimes::total), sum(|cpu| cpu.steal), sum(|cpu| cpu.idle));
        let others = total.saturating_sub(idle).saturating_sub(thread.cpu().0);
        let share = |part: u64| if total > 0 { part as f64 / total as f64 } else { 0.0 };
        HostFigures {
            noise: HostNoise {
                involuntary_switches: thread.involuntary_switches,
                steal_share: share(steal),
                others_share: share(others),
                runnable_per_cpu: cpu::runnable().unwrap_or_default() / times.len().max(1) as f64,
                ..watch.noise()
            },
            watch: watch.clone(),
            watched,
            cpu_share: thread.cpu().0 as f64 / elapsed.0.max(1) as f64,
        }
    }
}

/// In which direction messages were lost: by the count in the replies, or by what the far end reports it received.
pub(super) fn split_loss(counted: &mut Counted, answered: Option<FarCount>, received: Option<u64>) {
    if let Some(FarCount { answered, of }) = answered {
        // In which direction messages were lost after the last count is not known.
        let up = (of - answered).min(counted.lost);
        counted.lost_up = Some(up);
        counted.lost_down = Some((counted.lost - up).saturating_sub(counted.asked.saturating_sub(of)));
    }
    if let Some(received) = received {
        counted.far_received = Some(received);
        let up = counted.sent.checked_sub(received);
        // Messages in flight at the end are not lost.
        counted.lost_up = up.map(|up| if counted.asked > 0 { up.min(counted.lost) } else { up });
        let all_asked = counted.asked == counted.sent;
        counted.lost_down = counted.lost_up.filter(|_| all_asked).map(|up| counted.lost.saturating_sub(up));
    }
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
    let one_way = (flow.clock.count() > 0).then(|| flow.clock.finish());
    let far_counted = flow.far_counter.counted();
    let totals = flow.tally.finish(&host.watch, host.watched, elapsed);
    let mut counted = totals.counted;
    split_loss(&mut counted, far_counted, observed.map(|observed| observed.received));
    let median = totals.rtt.map(|rtt| rtt.p50).unwrap_or_default();
    let service = totals.service.and_then(|service| service.distribution());
    let held = host.noise.spoils(elapsed, counted.received, median, &totals.outliers);
    let late = totals.rtt.zip(service).and_then(|(due, sent)| late_from_percent(&due, &sent));
    let spoiled = held.into_iter().chain(late).reduce(f64::min);
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
        service,
        mad: totals.spread.map(|spread| spread.mad),
        iqr: totals.spread.map(|spread| spread.iqr),
        percentiles: totals.percentiles,
        mean: totals.mean,
        histogram: (totals.histogram.count() > 0).then(|| totals.histogram.to_v2_base64()),
        wire: None,
        one_way,
        outliers: totals.outliers,
        silence: totals.outages.iter().copied().max_by_key(|outage| outage.length),
        outages: totals.outages,
        shifts: totals.shifts,
        spoiled_from_percent: spoiled,
        sent_rate: PacketRate::from_count(counted.sent, elapsed),
        received_rate: observed.filter(|_| mode == LatencyMode::Throughput).map(one_way_rate),
    }
}
