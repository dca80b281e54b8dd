//! Resources of the host that the test used: CPU, softirq, steal, and the kernel counters that moved.

use crate::work::throughput::threads::Stream;
use linux::counters::{Counter, Counters, conntrack_drops, softnet, softnet_since};
use linux::cpu::{CpuSnapshot, CpuTimes, Usage};
use model::limit::{FactName, HostFact};
use model::sample::{CpuUse, KernelCounters, Role};
use model::units::Nanos;

/// The state of the host at the begin of the counted time.
#[derive(Debug)]
pub(crate) struct HostUsage {
    cpus: Option<CpuSnapshot>,
    counters: Option<Counters>,
    softnet: Vec<linux::counters::Softnet>,
    conntrack: u64,
    own: Usage,
}

impl HostUsage {
    /// Begins now; the calling thread's own use is counted as the test's.
    pub(crate) fn start() -> HostUsage {
        HostUsage {
            cpus: CpuSnapshot::take().ok(),
            counters: Counters::snapshot().ok(),
            softnet: softnet().unwrap_or_default(),
            conntrack: conntrack_drops(),
            own: Usage::of_thread(),
        }
    }

    /// The counted time begins only now. The threads' use keeps counting from their start.
    pub(crate) fn restart(&mut self) {
        let own = self.own;
        *self = HostUsage { own, ..HostUsage::start() };
    }

    /// CPU use: threads over `total` (their whole life), the host over `counted`.
    pub(crate) fn cpu(&self, streams: &[Stream], total: Nanos, counted: Nanos) -> CpuUse {
        let usages: Vec<Usage> =
            streams.iter().map(|s| s.counters.usage.get().copied().unwrap_or_default()).collect();
        let own = Usage::of_thread().since(&self.own);
        let share = |time: Nanos| if total.0 == 0 { 0.0 } else { time.0 as f64 / total.0 as f64 };
        let sum =
            |field: fn(&Usage) -> Nanos| share(Nanos(usages.iter().chain([&own]).map(|u| field(u).0).sum()));
        let threads: Vec<f64> = usages.iter().map(|u| share(u.cpu())).collect();
        let mut cpu = CpuUse {
            process: sum(Usage::cpu),
            user: sum(|u| u.user),
            system: sum(|u| u.system),
            busiest_thread: threads.iter().copied().fold(0.0, f64::max),
            threads,
            preemptions: usages.iter().map(|u| u.involuntary_switches).sum(),
            cpus: self.cpus.as_ref().map_or(0, |c| u32::try_from(c.cpus.len()).unwrap_or(u32::MAX)),
            peak_memory: Usage::of_process().peak_rss,
            ..CpuUse::default()
        };
        self.add_host(&mut cpu, counted);
        cpu
    }

    /// Kernel counters that moved since the begin.
    pub(crate) fn kernel(&self) -> KernelCounters {
        let (Some(before), Ok(now)) = (&self.counters, Counters::snapshot()) else {
            return KernelCounters::default();
        };
        let moved = now.since(before);
        let moved_by = |counter: Counter| moved.get(counter).unwrap_or(0);
        let softnet = softnet_since(&softnet().unwrap_or_default(), &self.softnet);
        KernelCounters {
            udp_receive_buffer_errors: moved_by(Counter::UdpRcvbufErrors),
            udp_send_buffer_errors: moved_by(Counter::UdpSndbufErrors),
            fragments_received: moved_by(Counter::ReasmReqds),
            reassembled: moved_by(Counter::ReasmOks),
            reassembly_failures: moved_by(Counter::ReasmFails),
            fragments_created: moved_by(Counter::FragCreates),
            softnet_drops: softnet.iter().map(|s| s.dropped).sum(),
            udp_checksum_errors: moved_by(Counter::UdpInCsumErrors),
            tcp_checksum_errors: moved_by(Counter::TcpInCsumErrors),
            conntrack_drops: conntrack_drops().saturating_sub(self.conntrack),
            reassembly_memory: reassembly_memory(),
        }
    }

    fn add_host(&self, cpu: &mut CpuUse, counted: Nanos) {
        let (Some(before), Ok(now)) = (&self.cpus, CpuSnapshot::take()) else { return };
        if counted < SHORTEST {
            return;
        }
        let cpus = now.since(before);
        let softirq = |one: &CpuTimes| one.share(one.softirq) + one.share(one.irq);
        cpu.softirq = cpus.iter().map(softirq).sum();
        cpu.busiest_softirq = cpus.iter().map(softirq).fold(0.0, f64::max);
        cpu.busiest_cpu = cpus.iter().map(|one| 1.0 - one.share(one.idle)).fold(0.0, f64::max);
        cpu.steal = cpus.iter().map(|one| one.share(one.steal)).sum();
    }
}

/// The CPU on which a receiving thread ran, where the same one took its packets from the interface.
pub(crate) fn shared_cpu(streams: &[Stream]) -> Option<HostFact> {
    let receives = |stream: &&Stream| stream.flow.info.role == Role::Receiver;
    let both = streams.iter().filter(receives).find_map(|stream| {
        let own = *stream.counters.cpu.get()?;
        linux::options::incoming_cpu(&stream.flow.socket).filter(|incoming| *incoming == own)
    });
    both.map(|cpu| HostFact::new(FactName::CpuShared, "", cpu as f64))
}

/// How much memory this host's fragments may take while they wait for others.
fn reassembly_memory() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/net/ipv4/ipfrag_high_thresh").ok()?.trim().parse().ok()
}

/// The kernel counts CPU time in ticks of up to 10 ms: shorter tests say nothing of the host.
const SHORTEST: Nanos = Nanos::from_millis(100);
