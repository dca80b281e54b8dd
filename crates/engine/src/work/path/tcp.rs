//! TCP on a path: what each SYN promised and what arrived of it, and whether full segments cross.

mod held;

pub(super) use held::Held;

use super::PathJob;
use super::native::DirectionSearch;
use crate::error::Result;
use crate::host::interrupt::Interrupt;
use crate::work::client;
use crate::work::probe::flow::TIMESTAMPS;
use crate::work::probe::{Prober, Probes};
use held::Gate;
use linux::tcp_info::TcpInfo;
use model::event::Event;
use model::path::{Bound, Discovery, Flow, PathDirection, PathResult, TcpDirection, Unknown};
use model::plan::{Direction, Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::sample::{Role, SideResult, StreamInfo, StreamResult, TcpCounters};
use model::summary::Summary;
use model::units::{Bytes, Nanos};
use packet::header;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::ProtocolError;
use wire::native::PathObservation;

/// The MSS of both SYNs of the control connection, up and down, from what this end and the far one know of it.
pub(super) fn syns(prober: &Prober, [here, there]: [&PathObservation; 2]) -> [TcpDirection; 2] {
    let control = prober.control();
    let ipv6 = prober.is_ipv6();
    let (observed, mss_sent) = (there.syn, there.announced_mss);
    let up = TcpDirection {
        mss_sent: here.announced_mss,
        mss_received: observed.and_then(|syn| syn.mss),
        syn: observed,
        ..tcp_direction(here, control.as_ref())
    };
    let down = TcpDirection {
        mss_sent,
        mss_received: control.as_ref().and_then(|tcp| heard(tcp, mss_sent, ipv6)),
        ..tcp_direction(there, control.as_ref())
    };
    [up, down]
}

fn tcp_direction(sender: &PathObservation, control: Option<&TcpInfo>) -> TcpDirection {
    let timestamps = control.is_some_and(|tcp| tcp.options.timestamps);
    TcpDirection { timestamps, mtu_probing: sender.mtu_probing, ..TcpDirection::default() }
}

/// The MSS that came with the server's SYN: what this end's segments are limited to, unless its own belief of the path
/// is what limits them; then it is at least that, and taken to be as sent.
fn heard(tcp: &TcpInfo, sent: Option<u32>, ipv6: bool) -> Option<u32> {
    let options = if tcp.options.timestamps { TIMESTAMPS } else { 0 };
    let used = u32::try_from(tcp.send_mss.0).ok()? + options;
    let own = u32::try_from(tcp.path_mtu.0).ok()?.saturating_sub(header::of_tcp(ipv6));
    if used < own { Some(used) } else { sent }
}

/// The results of a little TCP in each direction.
#[derive(Default)]
pub(super) struct Segments {
    wanted: Vec<Direction>,
    unknown: Vec<Unknown>,
    found: Vec<(Direction, Option<Exchanged>)>,
}

/// Sends a little over TCP both directions at once, to see the segments that cross. Not where they would teach this host's or the
/// server's kernel a smaller path MTU that its routers report: that is known to work, and the kernel is to be left as it
/// was.
/// `held`: tests that have been opened, and that wait for leave to start.
pub(super) fn segments(job: &PathJob<'_>, held: Vec<Held<'_>>, known: &PathResult) -> Segments {
    let (wanted, unknown) = directions_to_try(known);
    let vanishing: Vec<Direction> =
        wanted.iter().copied().filter(|direction| vanishes(known, *direction)).collect();
    let found =
        if held.is_empty() { at_once(job, &wanted) } else { held::start(job, held, [&wanted, &vanishing]) };
    Segments { wanted, unknown, found }
}

impl Segments {
    /// Adds what was found, and looks again where TCP did worse than the probes before it.
    pub(super) fn add_to(self, job: &PathJob<'_>, prober: &mut Prober, result: &mut PathResult) {
        result.unknown.extend(self.unknown);
        for (direction, exchanged) in self.found {
            let Some(exchanged) = exchanged else { continue };
            result.packets += exchanged.sent().map_or(0, |tcp| tcp.data_segments);
            if let Some(one_way) = result.direction_mut(direction) {
                take(one_way, &exchanged);
            }
        }
        for direction in self.wanted {
            // A session that broke off has no more: what is known stays.
            if job.interrupt.is_raised() || doubt(job, prober, direction, result).is_err() {
                break;
            }
        }
    }
}

/// The directions in which TCP teaches no kernel; states why not of the others.
fn directions_to_try(result: &PathResult) -> (Vec<Direction>, Vec<Unknown>) {
    let directions = [result.up.as_ref(), result.down.as_ref()];
    let talk = |one_way: &PathDirection| {
        one_way.crosses() >= Some(one_way.headers() + TCP_BESIDE_UDP + CONTROL_SEGMENT)
    };
    let can_talk = directions.iter().flatten().all(|one_way| talk(one_way));
    let (mut wanted, mut unknown) = (Vec::new(), Vec::new());
    for direction in [Direction::Up, Direction::Down] {
        let mss =
            result.in_direction(direction.reversed()).and_then(|one_way| one_way.tcp.as_ref()?.mss_received);
        let Some(one_way) = result.in_direction(direction) else { continue };
        let why = match would_learn(one_way, mss) {
            true => {
                "the routers report the path MTU, as TCP would learn at once, and what it learns stays in the kernel for ten \
                 minutes"
            }
            false if !can_talk => {
                "the path is too small for the messages by which the two ends arrange a test of TCP"
            }
            false => {
                wanted.push(direction);
                continue;
            }
        };
        let (what, why) = (SEGMENT.into(), format!("not tried: {why}"));
        unknown.push(Unknown { direction: Some(direction), what, why });
    }
    (wanted, unknown)
}

/// Both directions side by side; one after the other where the server grants one test at a time.
fn at_once(job: &PathJob<'_>, wanted: &[Direction]) -> Vec<(Direction, Option<Exchanged>)> {
    let begun: Vec<(Direction, Result<Exchanged, Refused>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = wanted
            .iter()
            .map(|&direction| (direction, scope.spawn(move || exchange(job, direction, None, &Gate::open()))))
            .collect();
        let join = |(direction, thread): (_, std::thread::ScopedJoinHandle<'_, _>)| {
            (direction, thread.join().unwrap_or(Err(Refused::ForGood)))
        };
        threads.into_iter().map(join).collect()
    });
    begun.into_iter().map(|(direction, outcome)| (direction, or_alone(job, direction, outcome))).collect()
}

/// The outcome; of a server that granted no place beside the other direction, that of another attempt.
fn or_alone(
    job: &PathJob<'_>,
    direction: Direction,
    outcome: Result<Exchanged, Refused>,
) -> Option<Exchanged> {
    match outcome {
        Err(Refused::ForNow) => exchange(job, direction, None, &Gate::open()).ok(),
        other => other.ok(),
    }
}

/// Where TCP does worse than the probes did before it, the path may have changed meanwhile: the first flow is looked at
/// again. If it is as it was, smaller segments show whether it is their size.
fn doubt(
    job: &PathJob<'_>,
    prober: &mut Prober,
    direction: Direction,
    result: &mut PathResult,
) -> Result<()> {
    let Some(one_way) = result.in_direction(direction) else { return Ok(()) };
    let (mtu, Some(tcp)) = (one_way.crosses(), &one_way.tcp) else { return Ok(()) };
    let stalled = tcp.stalled && one_way.black_hole.is_none();
    // The last look at the sizes came while TCP ran, and found that the path had shrunk.
    let has_shrunk = one_way.changed && one_way.bound == Bound::AtMost;
    if !has_shrunk && (mtu.is_none() || !(stalled || tcp.path_mtu < mtu)) {
        return Ok(());
    }
    let before = prober.datagrams();
    let again = DirectionSearch::size(prober as &mut dyn Probes, direction, one_way)?;
    if has_shrunk || again.is_some_and(|again| Some(again.path_mtu) != mtu) {
        let (later, unknown) = DirectionSearch::find(prober, direction, job.plan.largest, &[])?;
        let earlier = result.direction_mut(direction).replace(later);
        if let (Some(one_way), Some(earlier)) = (result.direction_mut(direction), earlier) {
            let (tcp, cached_mtu, other_flows) = (earlier.tcp, earlier.cached_mtu, earlier.other_flows);
            *one_way =
                PathDirection { changed: true, tcp, cached_mtu, other_flows, ..std::mem::take(one_way) };
        }
        result.unknown.retain(|known| known.direction != Some(direction) || known.what == SEGMENT);
        result.unknown.extend(unknown);
    } else if stalled
        && let Some(one_way) = result.direction_mut(direction)
        && exchange(job, direction, Some(SMALL_MSS), &Gate::open())
            .is_ok_and(|exchanged| exchanged.arrived() >= AMOUNT)
    {
        // The first test ran beside the other direction, and a policer may have dropped its end: by itself it stalls again where the
        // size is the reason.
        if let Ok(again) = exchange(job, direction, None, &Gate::open()) {
            take(one_way, &again);
        }
        if let Some(tcp) = one_way.tcp.as_mut().filter(|tcp| tcp.stalled) {
            tcp.smaller_mss = Some(SMALL_MSS);
        }
    }
    result.packets += prober.datagrams() - before;
    Ok(())
}

/// Full segments of a direction are larger than what crosses, and its sender looks for no smaller ones by itself: nothing of them arrives,
/// however long it is waited for.
fn vanishes(known: &PathResult, direction: Direction) -> bool {
    let Some(one_way) = known.in_direction(direction).filter(|one_way| one_way.black_hole.is_some()) else {
        return false;
    };
    let mss = known.in_direction(direction.reversed()).and_then(|back| back.tcp.as_ref()?.mss_received);
    let segment = mss.map(|mss| mss.saturating_add(header::of_tcp(one_way.ipv6)));
    let is_fixed = one_way.tcp.as_ref().is_some_and(|tcp| tcp.mtu_probing == Some(0));
    is_fixed && segment > one_way.path_mtu && one_way.path_mtu.is_some()
}

fn would_learn(direction: &PathDirection, mss: Option<u32>) -> bool {
    let headers = header::of_tcp(direction.ipv6);
    let largest = mss.map(|mss| mss.saturating_add(headers));
    matches!(direction.discovery, Discovery::Works | Discovery::Lies | Discovery::Partial)
        && direction.path_mtu.is_some_and(|mtu| largest.is_none_or(|largest| largest > mtu))
}

/// Sends [`AMOUNT`] one way, in segments of this size at most, once the gate is open.
fn exchange(
    job: &PathJob<'_>,
    direction: Direction,
    mss: Option<u32>,
    gate: &Gate,
) -> Result<Exchanged, Refused> {
    let PathJob { plan, security, interrupt } = *job;
    let directions = if direction == Direction::Up { Directions::Up } else { Directions::Down };
    let test = Plan {
        target: plan.target.clone(),
        protocol: ProtocolName::Native,
        test: TestSpec {
            directions,
            end: End::Bytes(AMOUNT),
            length: Some(AMOUNT.0 as u32),
            mss,
            ..TestSpec::new(Transport::Tcp)
        },
        local: LocalOptions { interval: Nanos::ZERO, ..plan.local.clone() },
    };
    let mut events: Vec<Event> = Vec::new();
    let (given_up, over) = (Interrupt::default(), AtomicBool::new(false));
    let mut is_busy = false;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut began = linux::clock::mono_now();
            while !over.load(Ordering::Relaxed) {
                if gate.is(held::SHUT) {
                    began = linux::clock::mono_now();
                }
                let limit = if gate.is(held::BRIEF) { BRIEFLY } else { LIMIT };
                let is_late = linux::clock::mono_now().saturating_since(began) > limit;
                if interrupt.is_raised() || gate.is(held::REFUSED) || is_late {
                    given_up.raise();
                    return;
                }
                std::thread::sleep(STEP);
            }
        });
        // How it ended is in the events; an error without any leaves nothing to report.
        let mut sink = |event: &Event| events.push(event.clone());
        let outcome =
            client::run_guarded(&test, security, &given_up, &mut sink, |session| gate.guard(session));
        over.store(true, Ordering::Relaxed);
        let cause = outcome.as_ref().err().and_then(|error| error.protocol());
        is_busy = matches!(cause, Some(ProtocolError::Busy));
    });
    let summary = Summary::from_events(&events);
    let stream = events.iter().find_map(|event| match event {
        Event::Started(started) => started.streams.first().cloned(),
        _ => None,
    });
    let known = summary.local.is_some() || summary.peer.is_some();
    match known {
        true => Ok(Exchanged { direction, summary, stream }),
        false => Err(if is_busy { Refused::ForNow } else { Refused::ForGood }),
    }
}

/// Why nothing came of it.
enum Refused {
    /// The server runs as many tests as it allows.
    ForNow,
    /// The connection could not be opened, or broke before it was of use.
    ForGood,
}

/// The result of a little TCP in one direction.
struct Exchanged {
    direction: Direction,
    summary: Summary,
    stream: Option<StreamInfo>,
}

impl Exchanged {
    fn row(&self, role: Role) -> Option<&StreamResult> {
        let here = (self.direction == Direction::Up) == (role == Role::Sender);
        let end: &Option<SideResult> = if here { &self.summary.local } else { &self.summary.peer };
        end.as_ref()?.streams.iter().find(|row| row.role == role)
    }

    fn arrived(&self) -> Bytes {
        self.row(Role::Receiver).map_or(Bytes(0), |row| row.bytes)
    }

    /// The counters of the end that sent.
    fn sent(&self) -> Option<&TcpCounters> {
        self.row(Role::Sender)?.tcp.as_ref()
    }

    fn flow(&self) -> Option<Flow> {
        let stream = self.stream.as_ref()?;
        let (from, to) = self.direction.choose((stream.local, stream.remote), (stream.remote, stream.local));
        Some(Flow { transport: Transport::Tcp, from, to })
    }
}

fn take(direction: &mut PathDirection, exchanged: &Exchanged) {
    let (arrived, sent) = (exchanged.arrived(), exchanged.sent());
    let received = exchanged.row(Role::Receiver).and_then(|row| row.tcp.as_ref());
    let tcp = direction.tcp.get_or_insert_default();
    tcp.flow = exchanged.flow();
    tcp.retransmits = sent.map(|tcp| tcp.retransmits);
    tcp.segments = sent.map(|tcp| tcp.data_segments);
    tcp.path_mtu = sent.map(|tcp| tcp.path_mtu).filter(|mtu| *mtu > 0);
    tcp.stalled = arrived < AMOUNT;
    // Before data the kernel reports 536 (RFC 9293's default).
    tcp.largest_segment = received.map(|tcp| tcp.receive_mss).filter(|mss| arrived == AMOUNT && *mss > 0);
}

/// Bytes sent in each direction in one write: nine segments of Ethernet, which fit every send buffer and the first window (RFC 6928: ten).
const AMOUNT: Bytes = Bytes(12 << 10);
/// The receiver waits three seconds for the next byte; this bounds whatever else may stall.
const LIMIT: Nanos = Nanos::from_secs(10);
/// Segments that are known to vanish have been retransmitted by then, where a round trip takes less than half of it.
const BRIEFLY: Nanos = Nanos::from_millis(1_800);
const STEP: std::time::Duration = std::time::Duration::from_millis(5);
/// Crosses every IPv6 link with its headers (RFC 8200 section 5), and any path that is of use.
const SMALL_MSS: u32 = 1200;
/// How much longer TCP's header is than UDP's, with timestamps.
const TCP_BESIDE_UDP: u32 = 12 + 12;
/// Largest segment of a control connection ([`linux::stream::SmallSegments`]).
const CONTROL_SEGMENT: u32 = 512;
const SEGMENT: &str = "the largest TCP segment that crosses";
