//! The evidence of one direction, from the document of its test.

use crate::finding::{Growth, MeasuredDirection, full_cpus, is_noisy, outage, progress};
use model::limit::{Evidence, FactName, HostFact, HostFacts, LoadProbing, ObservedHost, TcpSigns, UdpSigns};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::{IntervalSample, Role, SideResult, StreamSample, TcpCounters};
use model::units::{BitRate, Bytes, Nanos};
use model::wire_rate::LINE_RATE;

/// The evidence of one direction; absent: the run has no figures of it.
#[must_use]
pub fn evidence_of(run: &Run, direction: Direction) -> Option<Evidence> {
    let plan = run.throughput()?;
    let one_way = MeasuredDirection::from_run(run, plan, direction)?;
    if one_way.figures.received.bytes.0 == 0 || one_way.figures.receiver_unknown {
        return None;
    }
    let is_tcp = plan.test.transport == Transport::Tcp;
    let payload = one_way.figures.mss.filter(|payload| *payload > 0)?;
    // Datagrams in fragments are lost when one fragment is: their rate is no rate of frames.
    if !is_tcp && one_way.figures.wire.frames_per_packet != Some(1) {
        return None;
    }
    // Frames as the queues of Linux count them: without the FCS.
    let frame = one_way.figures.wire.frame?.saturating_sub(FCS);
    let goodput = one_way.figures.goodput;
    let streams = u64::from(plan.test.streams.max(1));
    let by_each = plan.test.bitrate.into_iter().chain(plan.test.fq_rate).min();
    let in_frames =
        |rate: BitRate| BitRate((rate.0 as f64 * f64::from(frame) / f64::from(payload)).round() as u64);
    Some(Evidence {
        asked: by_each.map(|rate| BitRate(rate.0.saturating_mul(streams))),
        goodput,
        // A sender of datagrams does not know how many arrive, and they arrive alike from the begin.
        rate: in_frames(late_rate(run, direction).filter(|_| is_tcp).unwrap_or(goodput)),
        frame,
        tcp: is_tcp.then(|| signs(&one_way)),
        udp: (!is_tcp)
            .then(|| UdpSigns { datagrams: one_way.figures.sent.datagrams, lost: one_way.loss().path }),
        host: facts(&one_way),
        down: outage::down(&one_way).map(|silence| silence.length),
        load: load_of(run, direction),
        observed: observed(run, direction),
    })
}

/// The evidence of the load of one direction of a latency run; absent: it had none, or that sent nothing.
#[must_use]
pub fn evidence_of_load(run: &Run, direction: Direction) -> Option<Evidence> {
    let loaded = run.summary.loaded.as_ref()?;
    let phase = loaded.alone(direction)?;
    let (idle, rtt) = (loaded.idle()?, phase.rtt.filter(|rtt| rtt.count > 0)?);
    let goodput = phase.goodput(direction).filter(|rate| rate.0 > 0)?;
    let mss = phase.mss.filter(|mss| *mss > 0)?;
    let plan = run.latency()?;
    let ipv6 = !plan.egress_paths.first()?.target.address.ip().to_canonical().is_ipv4();
    let frame = mss + TCP_HEADERS + if ipv6 { IPV6_HEADER } else { IPV4_HEADER } + ETHERNET;
    let in_frames = BitRate((goodput.0 as f64 * f64::from(frame) / f64::from(mss)).round() as u64);
    let tcp = TcpSigns {
        streams: plan.load.as_ref().map_or(1, |load| load.streams),
        mss,
        idle_rtt: Some(idle.p50),
        loaded_rtt: Some(rtt.p50),
        largest_rtt: Some(rtt.max),
        ..TcpSigns::default()
    };
    Some(Evidence {
        goodput,
        rate: in_frames,
        frame,
        tcp: Some(tcp),
        host: HostFacts {
            busy: run.summary.noise.is_some_and(|noise| noise.is_busy()),
            ..HostFacts::default()
        },
        load: load_of(run, direction),
        observed: observed(run, direction),
        ..Evidence::default()
    })
}

/// Does the load raise the round trip by more than the idle path itself varies?
#[must_use]
pub fn is_queue_filled(run: &Run, direction: Direction) -> bool {
    let is_filled = || {
        let loaded = run.summary.loaded.as_ref()?;
        let (idle, rtt) = (loaded.idle()?, loaded.alone(direction)?.rtt.filter(|rtt| rtt.count > 0)?);
        let spread = idle.p90.saturating_sub(idle.p50).saturating_mul(SPREADS);
        Some(rtt.p50.saturating_sub(idle.p50) > LEAST_QUEUE.max(spread))
    };
    is_filled().unwrap_or(false)
}

/// The evidence of a sweep over frame sizes: its fastest row, and what a load after it met.
#[must_use]
pub fn evidence_of_rows(run: &Run) -> Option<Evidence> {
    let measured = || run.summary.rows.iter().filter(|row| row.rate_in_frames() > 0.0);
    let best = measured().max_by(|one, other| one.rate_in_frames().total_cmp(&other.rate_in_frames()))?;
    let line_share = measured().filter_map(|row| row.share).find(|share| *share >= LINE_RATE);
    Some(Evidence {
        goodput: best.goodput,
        rate: BitRate(best.rate_in_frames().round() as u64),
        frame: measured().map(|row| row.frame).max()?.saturating_sub(FCS),
        // Hosts that other work keeps busy delay what arrives, as a queue does.
        host: HostFacts { line_share, busy: run.tests.iter().any(is_noisy), ..HostFacts::default() },
        load: load_of(run, best.direction),
        ..Evidence::default()
    })
}

fn observed(run: &Run, direction: Direction) -> Vec<ObservedHost> {
    run.summary.observed.iter().map(|host| host.in_direction(direction)).collect()
}

fn load_of(run: &Run, direction: Direction) -> Option<LoadProbing> {
    run.summary.load_probing.iter().rev().find(|load| load.direction == direction).cloned()
}

/// The rate in the second half of a test, where intervals show it.
fn late_rate(run: &Run, direction: Direction) -> Option<BitRate> {
    let steps = progress(run, direction);
    let late = &steps[steps.len() / 2..];
    let time = |steps: &[(Nanos, Nanos, Bytes)]| -> Nanos {
        steps.iter().map(|(start, end, _)| end.saturating_sub(*start)).sum()
    };
    let (part, whole) = (time(late), time(&steps));
    let is_half = part.0 as f64 >= whole.0 as f64 * 0.4;
    (is_half && part > Nanos::ZERO && steps.len() > 1)
        .then(|| BitRate::from_bytes(late.iter().map(|one| one.2).sum(), part))
}

fn signs(one_way: &MeasuredDirection<'_>) -> TcpSigns {
    let rows = || one_way.tcp_rows();
    let sum = |field: fn(&TcpCounters) -> u64| rows().map(field).fold(0, u64::saturating_add);
    let busy = sum(|tcp| tcp.busy.0);
    let share = |field: fn(&TcpCounters) -> u64| (sum(field) as f64 / busy.max(1) as f64).min(1.0);
    let spurious = one_way.figures.spurious_retransmits.unwrap_or(0);
    let congestion = one_way.figures.congestion.as_deref().unwrap_or_default();
    let steps = progress(one_way.run, one_way.direction);
    let [late_segments, late_lost] = late_losses(one_way);
    TcpSigns {
        streams: one_way.plan.test.streams.max(1),
        mss: one_way.figures.mss.unwrap_or(0),
        segments: sum(|tcp| tcp.data_segments),
        lost: one_way.figures.retransmits.unwrap_or(0).saturating_sub(spurious),
        marked: one_way.figures.ecn_marks.unwrap_or(0),
        late_segments,
        late_lost,
        reordering: rows().map(|tcp| tcp.reordering).max().unwrap_or(0),
        growing: one_way.unlimited()
            && Growth::from_steps(&steps).is_some_and(|growth| growth.goes_on(one_way)),
        idle_rtt: one_way.idle_rtt().into_iter().chain(shortest(one_way)).min(),
        loaded_rtt: one_way.figures.loaded_rtt,
        largest_rtt: rows().map(|tcp| tcp.max_rtt).max().filter(|rtt| rtt.0 > 0),
        busy: Nanos(busy),
        receive_window: share(|tcp| tcp.receive_window_limited.0),
        late_receive_window: late_receive_window(one_way),
        send_buffer: share(|tcp| tcp.send_buffer_limited.0),
        largest_window: rows().map(|tcp| tcp.max_send_window).sum(),
        largest_cwnd: rows().map(|tcp| tcp.max_cwnd).sum(),
        buffer: one_way.sender.map(|end| end.datapath.send_buffer).unwrap_or_default(),
        is_loss_based: ["cubic", "reno", "htcp", "westwood", "bic"].contains(&congestion),
        variation: variation(&steps[steps.len() / 2..]),
    }
}

/// Segments sent and lost in the second half of the intervals.
fn late_losses(one_way: &MeasuredDirection<'_>) -> [u64; 2] {
    let own = |row: &&StreamSample| row.direction == one_way.direction && row.role == Role::Sender;
    let of_interval = |interval: &IntervalSample| {
        let rows = interval.streams.iter().filter(own).filter_map(|row| row.tcp.as_ref());
        rows.fold([0; 3], |[segments, again, spurious], tcp| {
            let known = tcp.spurious_retransmits.unwrap_or(0);
            [segments + tcp.data_segments, again + tcp.retransmits, spurious + known]
        })
    };
    let sent: Vec<[u64; 3]> =
        one_way.run.intervals.iter().map(of_interval).filter(|[segments, ..]| *segments > 0).collect();
    let late = &sent[sent.len() / 2..];
    let [segments, again, spurious] = [0, 1, 2].map(|figure| late.iter().map(|one| one[figure]).sum::<u64>());
    [segments, again.saturating_sub(spurious)]
}

/// The share of the last whole interval in which the receiver's window stopped TCP.
fn late_receive_window(one_way: &MeasuredDirection<'_>) -> f64 {
    let rows = one_way.run.intervals.iter().rev().flat_map(|interval| &interval.streams);
    let own = rows.filter(|row| row.direction == one_way.direction && row.role == Role::Sender);
    let mut counters = own.filter_map(|row| row.tcp.as_ref()).filter(|tcp| tcp.busy.0 >= LONG_ENOUGH.0);
    counters.next().map_or(0.0, |tcp| tcp.receive_window_limited.0 as f64 / tcp.busy.0 as f64)
}

/// The kernel's own least round trip, which the intervals have; the smoothed one may never have met an empty queue.
fn shortest(one_way: &MeasuredDirection<'_>) -> Option<Nanos> {
    let rows = one_way.run.intervals.iter().flat_map(|interval| &interval.streams);
    let own = rows.filter(|row| row.direction == one_way.direction && row.role == Role::Sender);
    own.filter_map(|row| Some(row.tcp.as_ref()?.min_rtt)).filter(|rtt| rtt.0 > 0).min()
}

/// How the rate varies from interval to interval.
fn variation(steps: &[(Nanos, Nanos, Bytes)]) -> Option<f64> {
    let rates: Vec<f64> = steps
        .iter()
        .map(|(start, end, bytes)| bytes.0 as f64 / end.saturating_sub(*start).0.max(1) as f64)
        .collect();
    (rates.len() >= FEW_INTERVALS).then(|| super::signs::variation(&rates))
}

fn facts(one_way: &MeasuredDirection<'_>) -> HostFacts {
    let kernel = |role: Role| one_way.end(role).map(|end| &end.kernel);
    let dropped = [Role::Sender, Role::Receiver]
        .into_iter()
        .filter_map(kernel)
        .map(|all| all.softnet_drops)
        .fold(0, u64::saturating_add);
    let segments = one_way.tcp_rows().map(|tcp| tcp.data_segments).fold(0, u64::saturating_add);
    let [sender_full, receiver_full] = full_cpus(one_way);
    HostFacts {
        line_share: one_way.figures.wire.line_rate_share.filter(|_| one_way.at_line_rate()),
        link: one_way.run.summary.link.as_ref().map(|link| link.rate),
        sender_full,
        receiver_full,
        dropped: dropped as f64 / segments.max(1) as f64,
        busy: is_noisy(one_way.run),
        sender: of_end(one_way.sender),
        receiver: of_end(one_way.receiver),
        lost_by_size: one_way.full_packet().filter(|_| one_way.is_lost_by_size()),
    }
}

/// The facts that an end reports of itself, and those that follow from its CPU time.
fn of_end(end: Option<&SideResult>) -> Vec<HostFact> {
    let Some(end) = end else { return Vec::new() };
    let steal = HostFact::new(FactName::CpuSteal, "", end.cpu.steal).of_whole(f64::from(end.cpu.cpus));
    end.facts.iter().cloned().chain([steal]).collect()
}

/// A shorter rest of an interval shows little.
const LONG_ENOUGH: Nanos = Nanos::from_millis(100);
const FCS: u32 = 4;
const ETHERNET: u32 = 14;
const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;
/// TCP's header with the timestamps that Linux sends (RFC 7323).
const TCP_HEADERS: u32 = 32;
/// A queue that is shorter does not show on most paths …
const LEAST_QUEUE: Nanos = Nanos::from_millis(1);
/// … and one within so many distances of the idle p90 from its median does not on this one.
const SPREADS: u64 = 3;
const FEW_INTERVALS: usize = 3;
