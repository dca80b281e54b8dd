//! TCP on a path: what each SYN promised and what arrived of it, and whether full segments cross.

use crate::client;
use crate::connect::Security;
use crate::interrupt::Interrupt;
use crate::probe::Prober;
use linux::tcp_info::TcpInfo;
use model::event::Event;
use model::path::{Discovery, PathPlan, PathResult, PathWay, TcpWay, Unknown};
use model::plan::{Direction, Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::sample::{Role, StreamResult};
use model::summary::Summary;
use model::units::{Bytes, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::native::PathSeen;

/// Reads both SYNs of the control connection.
pub(crate) fn syns(prober: &mut Prober, result: &mut PathResult) -> anyhow::Result<()> {
    let here = prober.sender(Direction::Up)?;
    let there = prober.sender(Direction::Down)?;
    let control = prober.control();
    let ipv6 = prober.is_ipv6();
    if let Some(way) = &mut result.up {
        let seen = there.syn;
        way.tcp = Some(TcpWay {
            mss_sent: here.announced_mss,
            mss_received: seen.and_then(|syn| syn.mss),
            syn: seen,
            ..way_of(&here, control.as_ref())
        });
    }
    if let Some(way) = &mut result.down {
        let mss_sent = there.announced_mss;
        way.tcp = Some(TcpWay {
            mss_sent,
            mss_received: control.as_ref().and_then(|tcp| heard(tcp, mss_sent, ipv6)),
            ..way_of(&there, control.as_ref())
        });
    }
    Ok(())
}

fn way_of(sender: &PathSeen, control: Option<&TcpInfo>) -> TcpWay {
    let timestamps = control.is_some_and(|tcp| tcp.options.timestamps);
    TcpWay { timestamps, mtu_probing: sender.mtu_probing, ..TcpWay::default() }
}

/// The MSS that came with the server's SYN: what this end's segments are limited to, unless its own belief of the path
/// is what limits them; then it is at least that, and taken to be as sent.
fn heard(tcp: &TcpInfo, sent: Option<u32>, ipv6: bool) -> Option<u32> {
    let options = if tcp.options.timestamps { TIMESTAMPS } else { 0 };
    let used = u32::try_from(tcp.send_mss.0).ok()? + options;
    let own = u32::try_from(tcp.path_mtu.0).ok()?.saturating_sub(if ipv6 { 60 } else { 40 });
    if used < own { Some(used) } else { sent }
}

/// Sends a little over TCP each way, to see the segments that cross. Not where they would teach this host's or the
/// server's kernel a smaller path MTU that its routers tell: that is known to work, and the kernel is to be left as it
/// was.
pub(crate) fn segments(
    plan: &PathPlan,
    security: &Security,
    interrupt: &Interrupt,
    result: &mut PathResult,
) -> anyhow::Result<()> {
    for direction in [Direction::Up, Direction::Down] {
        let mss = result.way(direction.reversed()).and_then(|way| way.tcp.as_ref()?.mss_received);
        let Some(way) = result.way_mut(direction) else { continue };
        if interrupt.is_raised() {
            return Ok(());
        }
        if would_learn(way, mss) {
            let what = "the largest TCP segment that crosses".into();
            let why = "not tried: the routers tell the path MTU, as TCP would learn at once, and what it learns stays \
                       in the kernel for ten minutes"
                .into();
            result.unknown.push(Unknown { direction: Some(direction), what, why });
            continue;
        }
        let Some(summary) = exchange(plan, security, interrupt, direction) else { continue };
        if let Some(way) = result.way_mut(direction) {
            take(way, &summary, direction);
        }
    }
    Ok(())
}

fn would_learn(way: &PathWay, mss: Option<u32>) -> bool {
    let headers = if way.ipv6 { 60 } else { 40 };
    let largest = mss.map(|mss| mss.saturating_add(headers));
    matches!(way.discovery, Discovery::Works | Discovery::Lies)
        && way.path_mtu.is_some_and(|mtu| largest.is_none_or(|largest| largest > mtu))
}

/// Sends [`AMOUNT`] one way. `None`: the connection could not be opened.
fn exchange(
    plan: &PathPlan,
    security: &Security,
    interrupt: &Interrupt,
    direction: Direction,
) -> Option<Summary> {
    let directions = if direction == Direction::Up { Directions::Up } else { Directions::Down };
    let test = Plan {
        target: plan.target.clone(),
        protocol: ProtocolName::Native,
        test: TestSpec {
            directions,
            end: End::Bytes(AMOUNT),
            length: AMOUNT.0 as u32,
            ..TestSpec::new(Transport::Tcp)
        },
        local: LocalOptions { interval: Nanos::ZERO, ..plan.local.clone() },
    };
    let mut events: Vec<Event> = Vec::new();
    let (given_up, over) = (Interrupt::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let began = linux::clock::mono_now();
            while !over.load(Ordering::Relaxed) {
                if interrupt.is_raised() || linux::clock::mono_now().saturating_since(began) > LIMIT {
                    given_up.raise();
                    return;
                }
                std::thread::sleep(STEP);
            }
        });
        let extras = wire::iperf3::Extras::default();
        // How it ended is in the events; an error without any leaves nothing to tell.
        client::run(&test, security, &extras, &given_up, &mut |event| events.push(event.clone())).ok();
        over.store(true, Ordering::Relaxed);
    });
    let summary = Summary::of(&events);
    (summary.local.is_some() || summary.peer.is_some()).then_some(summary)
}

fn take(way: &mut PathWay, summary: &Summary, direction: Direction) {
    let (sender, receiver) = match direction {
        Direction::Up => (&summary.local, &summary.peer),
        Direction::Down => (&summary.peer, &summary.local),
    };
    let row = |end: &Option<model::sample::SideResult>, role: Role| -> Option<StreamResult> {
        end.as_ref()?.streams.iter().find(|row| row.role == role).cloned()
    };
    let (sent, received) = (row(sender, Role::Sender), row(receiver, Role::Receiver));
    let tcp = way.tcp.get_or_insert_default();
    let arrived = received.as_ref().map_or(Bytes(0), |row| row.bytes);
    let counters = |row: &Option<StreamResult>| row.as_ref().and_then(|row| row.tcp.clone());
    let (at_sender, at_receiver) = (counters(&sent), counters(&received));
    tcp.retransmits = at_sender.as_ref().map(|tcp| tcp.retransmits);
    tcp.segments = at_sender.as_ref().map(|tcp| tcp.data_segments);
    tcp.stalled = arrived < AMOUNT;
    // Before data the kernel reports 536 (RFC 9293's default).
    tcp.largest_segment = at_receiver.map(|tcp| tcp.receive_mss).filter(|mss| arrived == AMOUNT && *mss > 0);
}

/// Bytes of TCP's timestamps in a segment.
const TIMESTAMPS: u32 = 12;
/// What is sent each way in one write: a dozen segments of Ethernet, which fit every send buffer.
const AMOUNT: Bytes = Bytes(16 << 10);
/// The receiver waits three seconds for the next byte; this bounds whatever else may stall.
const LIMIT: Nanos = Nanos::from_secs(10);
const STEP: std::time::Duration = std::time::Duration::from_millis(5);
