//! A CPU, not the path, set the rate: at the sender or at the receiver.

use super::measured::MeasuredDirection;
use super::text::{capital, count, percent};
use super::{Finding, Severity};
use crate::fix;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::limit::LimitKind;
use model::plan::Wait;
use model::sample::{CpuUse, Role, TcpCounters};
use model::units::BitRate;

/// The sender could not send more.
pub(super) fn sender_limited(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    queue_full(one_way).or_else(|| sender_busy(one_way))
}

/// The CPU that sets the rate, in words with its share: of the sender, and of the receiver. Of two that are full it is the one for
/// which the other waits.
pub(crate) fn full_cpus(direction: &MeasuredDirection<'_>) -> [Option<String>; 2] {
    match [bottleneck(direction, Role::Sender), bottleneck(direction, Role::Receiver)] {
        [Some(_), receiver @ Some(_)] if waits_for_receiver(direction) => [None, receiver],
        [sender @ Some(_), Some(_)] => [sender, None],
        one => one,
    }
}

/// The receiver is the slower one of two ends whose CPUs are full: its window stops TCP, datagrams are lost at its host, or its thread is
/// the busier one.
fn waits_for_receiver(one_way: &MeasuredDirection<'_>) -> bool {
    if one_way.udp() {
        return is_overrun(one_way);
    }
    let of_all = |part: fn(&TcpCounters) -> u64| one_way.tcp_rows().map(part).fold(0, u64::saturating_add);
    let (stopped, busy) = (of_all(|tcp| tcp.receive_window_limited.0), of_all(|tcp| tcp.busy.0));
    stopped as f64 >= WAITS * busy.max(1) as f64
        || one_way.busiest_thread(Role::Receiver) > one_way.busiest_thread(Role::Sender)
}

/// The receiver's host lost datagrams that had crossed the path.
fn is_overrun(one_way: &MeasuredDirection<'_>) -> bool {
    let backlog = one_way.receiver.map_or(0, |end| end.kernel.softnet_drops);
    one_way.share_of_sent(one_way.loss().receiver.saturating_add(backlog)) >= NOTICEABLE
}

/// Is the CPU of this end used up by this direction?
pub(super) fn saturated(direction: &MeasuredDirection<'_>, role: Role) -> bool {
    bottleneck(direction, role).is_some()
}

/// Which CPU is used up, in words with its share.
fn bottleneck(direction: &MeasuredDirection<'_>, role: Role) -> Option<String> {
    let cpu = &direction.end(role)?.cpu;
    let thread = if spins(direction, role) { 0.0 } else { direction.busiest_thread(role) };
    let shared_core = thread + cpu.busiest_softirq;
    if thread >= FULL {
        Some(format!("its busiest stream thread used {} of a CPU", percent(thread)))
    } else if cpu.busiest_softirq >= FULL {
        Some(format!("the kernel's packet work (softirq) used {} of a CPU", percent(cpu.busiest_softirq)))
    } else if cpu.busiest_cpu >= FULL && thread > 0.0 && shared_core >= FULL {
        Some(format!(
            "its stream thread ({}) and the kernel's packet work ({}) filled one CPU",
            percent(thread),
            percent(cpu.busiest_softirq)
        ))
    } else {
        whole_host(cpu, spins(direction, role))
    }
}

/// Many streams on few CPUs: no thread is full, all CPUs together are.
fn whole_host(cpu: &CpuUse, spins: bool) -> Option<String> {
    let (used, all) = (cpu.process + cpu.softirq, f64::from(cpu.cpus));
    let full = !spins && all > 0.0 && used >= all * FULL;
    full.then(|| format!("the test and the kernel's packet work used all {} CPUs", cpu.cpus))
}

/// A spinning receiver's thread is always full, which shows nothing.
fn spins(direction: &MeasuredDirection<'_>, role: Role) -> bool {
    role == Role::Receiver && direction.end(role).is_some_and(|end| end.datapath.wait == Some(Wait::Spin))
}

fn sender_busy(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let delivered = !one_way.udp() || one_way.loss().share < DELIVERED;
    if !one_way.unlimited()
        || one_way.at_line_rate()
        || !delivered
        || !one_way.may_be(&[LimitKind::SenderCpu])
    {
        return None;
    }
    let [sender, _] = full_cpus(one_way);
    let why = sender.or_else(|| by_limit(one_way, LimitKind::SenderCpu))?;
    let title = format!(
        "The sender set the rate {}, {}: {why}, and the path may carry more",
        one_way.direction, one_way.figures.goodput
    );
    let finding = Finding::new("sender-limited", Severity::Warning, one_way.direction, title);
    Some(cpu_evidence(finding, one_way, Role::Sender).advise(sender_advice(one_way)))
}

/// The sender's own queue overflowed: the kernel took datagrams and had no room for them.
fn queue_full(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let dropped = one_way.loss().sender;
    let share = one_way.share_of_sent(dropped);
    if share < NOTICEABLE {
        return None;
    }
    let title = format!(
        "The sender's own kernel had no room for {} {} ({} of those sent): they never reached the path",
        count(dropped, "datagram"),
        one_way.direction,
        percent(share)
    );
    let finding = Finding::new("sender-limited", Severity::Warning, one_way.direction, title)
        .with("sender_drops_count", dropped)
        .with("sender_drops_share", share);
    Some(finding.advise(format!(
        "Send slower with `-b`, or give the interface a longer queue: `ip link set {} txqueuelen 10000`.",
        one_way.interface(Role::Sender)
    )))
}

/// The receiver could not take more.
pub(super) fn receiver_limited(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let may_be = one_way.may_be(&[LimitKind::ReceiverCpu, LimitKind::HostDrop]);
    if !one_way.unlimited() || one_way.at_line_rate() || !may_be {
        return None;
    }
    let backlog = one_way.receiver?.kernel.softnet_drops;
    if one_way.udp() && !is_overrun(one_way) {
        return None;
    }
    let [_, receiver] = full_cpus(one_way);
    // Spinning or not, a receiver that loses datagrams already in its host is too slow for them.
    let why = receiver
        .or_else(|| by_limit(one_way, LimitKind::ReceiverCpu))
        .or_else(|| (one_way.udp() && backlog > 0).then(|| backlog_text(backlog)))?;
    let copy = copy_cost(one_way);
    let title = format!(
        "The receiver set the rate {}, {}: {why}, and the path may carry more{}",
        one_way.direction,
        one_way.figures.goodput,
        copy.as_ref().map(CopyCost::text).unwrap_or_default()
    );
    let finding = Finding::new("receiver-limited", Severity::Warning, one_way.direction, title)
        .with("receiver_backlog_drops_count", backlog);
    let finding = match copy {
        None => finding,
        Some(CopyCost { goodput, share }) => {
            finding.with("without_copy_goodput_bps", goodput.0).with("copy_cost_share", share)
        }
    };
    Some(cpu_evidence(finding, one_way, Role::Receiver).advise(receiver_advice(one_way)))
}

/// The cost of copying to the program at a receiver: a limit of the host, never of the path.
struct CopyCost {
    /// The goodput without the copy.
    goodput: BitRate,
    /// By how much the copy makes that less, 0 to 1.
    share: f64,
}

impl CopyCost {
    fn text(&self) -> String {
        let CopyCost { goodput, share } = self;
        if *share < COSTLY {
            return format!(
                "; without the copy to the program it took {goodput}, so the copy is not what limits it"
            );
        }
        format!("; without the copy to the program it took {goodput}, so the copy costs {}", percent(*share))
    }
}

fn copy_cost(one_way: &MeasuredDirection<'_>) -> Option<CopyCost> {
    let repeated = &one_way.run.summary.without_copy;
    let goodput = repeated.iter().find(|repeated| repeated.direction == one_way.direction)?.goodput;
    let with_copy = one_way.figures.goodput.0 as f64;
    let share = (1.0 - with_copy / goodput.0.max(1) as f64).clamp(0.0, 1.0);
    Some(CopyCost { goodput, share })
}

fn backlog_text(drops: u64) -> String {
    format!(
        "its kernel dropped {} before any socket because one CPU could not keep up",
        count(drops, "packet")
    )
}

fn cpu_evidence(finding: Finding, direction: &MeasuredDirection<'_>, role: Role) -> Finding {
    let Some(end) = direction.end(role) else { return finding };
    finding
        .with("goodput_bps", direction.figures.goodput.0)
        .with("busiest_thread_cpus", direction.busiest_thread(role))
        .with("busiest_softirq_cpus", end.cpu.busiest_softirq)
        .with("busiest_cpu_share", end.cpu.busiest_cpu)
        .with("process_cpus", end.cpu.process)
        .with("softirq_cpus", end.cpu.softirq)
        .with("cpus_count", end.cpu.cpus)
}

/// The cause of the limit, where that is a CPU and nothing looks full: a quota.
fn by_limit(one_way: &MeasuredDirection<'_>, kind: LimitKind) -> Option<String> {
    one_way.figures.limit.as_ref().filter(|limit| limit.kind == kind)?.cause.clone()
}

/// The command of the fact that explains the limit.
fn fix_of_limit(one_way: &MeasuredDirection<'_>, kind: LimitKind) -> Option<String> {
    let fix = one_way.figures.limit.as_ref().filter(|limit| limit.kind == kind)?.fix.clone();
    fix.map(|fix| format!("{}.", capital(&fix)))
}

fn sender_advice(direction: &MeasuredDirection<'_>) -> String {
    if let Some(advice) = fix_of_limit(direction, LimitKind::SenderCpu) {
        return advice;
    }
    let cpus = direction.sender.map_or(1, |end| end.cpu.cpus);
    // One call to the kernel (UDP_SEGMENT) takes no more than the largest datagram.
    let fits_twice =
        direction.plan.test.length.is_some_and(|length| length.saturating_mul(2) <= LARGEST_UDP_PAYLOAD);
    if direction.udp() && fits_twice && direction.sender.is_some_and(|end| end.datapath.gso_segments <= 1) {
        return "Hand many datagrams to the kernel at once: without --no-gso or --no-offload, on a kernel with UDP_SEGMENT (4.18).".into();
    }
    more_streams(direction, cpus).unwrap_or_else(|| {
        "This host gives no more with this test; use a host with more or faster CPUs to see the path's limit.".into()
    })
}

fn receiver_advice(direction: &MeasuredDirection<'_>) -> String {
    if let Some(advice) = fix_of_limit(direction, LimitKind::ReceiverCpu) {
        return advice;
    }
    let Some(end) = direction.receiver else { return String::new() };
    if end.cpu.busiest_softirq >= FULL && end.cpu.cpus > 1 {
        let mask = (1_u128 << end.cpu.cpus.min(64)) - 1;
        return format!(
            "Spread the kernel's packet work over the CPUs of the receiver: `echo {mask:x} > /sys/class/net/{}/queues/rx-0/rps_cpus`.",
            direction.interface(Role::Receiver)
        );
    }
    more_streams(direction, end.cpu.cpus).unwrap_or_else(|| {
        "The receiver gives no more with this test; use a host with more or faster CPUs to see the path's limit.".into()
    })
}

/// More streams help while there are CPUs without one.
fn more_streams(direction: &MeasuredDirection<'_>, cpus: u32) -> Option<String> {
    let streams = direction.plan.test.streams;
    (streams < cpus)
        .then(|| format!("Use more streams, a CPU each: `{}`.", fix::streams(cpus.min(MOST_STREAMS))))
}

/// A thread that waits for nothing still loses some per cent to other work on its CPU.
const FULL: f64 = 0.95;
/// A receiver that is slower than TCP stops it by its window for at least this share of the time.
const WAITS: f64 = 0.1;
/// With more UDP loss than this the sender sends enough, and something behind it is the limit.
const DELIVERED: f64 = 0.01;
/// Below one datagram in a thousand, drops do not explain a rate.
const NOTICEABLE: f64 = 0.001;
/// A shorter test differs by this much for other reasons.
const COSTLY: f64 = 0.03;
/// A test has at most so many streams.
const MOST_STREAMS: u32 = 128;
