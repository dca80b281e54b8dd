//! Which packet sizes a path carries, and why no larger: the run of `pathmeter mtu`, and its part in other runs.

mod early;
mod foreign;
mod legs;
mod native;
mod pieces;
mod service;
mod tcp;
pub(crate) mod trace;

use crate::error::{Error, Result, sentence};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::session::protocol::UNACKNOWLEDGED;
use crate::work::probe::{Opened, Prober, Probes, is_absent};
use crate::work::throughput::flows;
use early::{Early, OpeningProber, Stopping};
use legs::Legs;
use linux::clock::{mono_now, wall_now};
use model::event::{Event, Warning};
use model::host::Host;
use model::path::{
    PathDirection, PathMethod, PathPlan, PathResult, PathStarted, ServicePlan, TcpDirection, Unknown,
};
use model::plan::{Direction, LocalOptions};
use model::time::MonoTime;
use model::units::Nanos;
use native::DirectionSearch;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use tcp::{Held, Segments};
use wire::ProtocolError;
use wire::native::PathObservation;

/// A run about packet sizes.
#[derive(Clone, Copy)]
pub struct PathJob<'a> {
    /// The plan of the measurement.
    pub plan: &'a PathPlan,
    /// How the ends know each other.
    pub security: &'a Security,
    /// Asks it to stop.
    pub interrupt: &'a Interrupt,
}

/// Runs it. What was found before an error has been reported to `sink`.
pub fn run(job: &PathJob<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    if job.plan.service.is_some() {
        return alone(job, sink);
    }
    let began = (mono_now(), flows::believed_mtu(job.plan.target.address, &job.plan.local).ok());
    let stop = Stopping(Interrupt::default());
    std::thread::scope(|scope| {
        // Sessions that open early end before the scope waits for them.
        let stopping = Stopping(stop.0.clone());
        let outcome = with_early(job, Early::new(scope, job, &stop.0), began, sink);
        drop(stopping);
        outcome
    })
}

/// The same. `early`: sessions that open beside the first.
fn with_early<'scope, 'env: 'scope>(
    job: &PathJob<'_>,
    mut early: Early<'scope, 'env>,
    began: (MonoTime, Option<u32>),
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    match job.plan.method {
        PathMethod::Native => {
            let prober = open(job, false, &mut |opened| early.note(opened))?;
            native(job, (prober, early), began, sink)
        }
        PathMethod::Auto => match open(job, true, &mut |opened| early.note(opened)) {
            Ok(prober) => native(job, (prober, early), began, sink),
            // Nothing crosses a first hop that is silent, whatever is asked.
            Err(e) if crate::host::reach::is_dead(job.plan.target.address.ip()) => Err(e),
            Err(e) if is_absent(&e) && !job.interrupt.is_raised() => {
                early.stop();
                let asking = format!("no pathmeter there ({}): asking with ICMP, UDP and TCP", sentence(&e));
                sink(&Event::progress(asking));
                if let Some(cause @ ProtocolError::Unacknowledged(_)) = e.protocol() {
                    let text = format!("TCP to {}: {cause}; {UNACKNOWLEDGED}.", job.plan.target.address);
                    sink(&Event::Warning(Warning::new("handshake-only", text)));
                }
                alone(job, sink).map_err(|silent| match is_refusal(&e) {
                    true => e,
                    false => late_refusal(job).unwrap_or(silent),
                })
            }
            Err(e) => Err(e),
        },
        PathMethod::Icmp | PathMethod::Udp | PathMethod::Tcp => alone(job, sink),
    }
}

/// A router refuses to pass packets on to the far end, which explains a host that answers nothing.
fn is_refusal(error: &Error) -> bool {
    error.system().is_some_and(|refused| host::reach::of_another(refused.rejection).is_some())
}

/// The refusal of a router that looked in vain for the far host on its link, which it reports after three seconds: later than a pathmeter
/// that may not be there is waited for.
fn late_refusal(job: &PathJob<'_>) -> Option<Error> {
    let PathJob { plan, security, interrupt } = *job;
    let limit = plan.local.connect_timeout.unwrap_or(REFUSED_LATE).min(REFUSED_LATE);
    let local = LocalOptions { connect_timeout: Some(limit), ..plan.local.clone() };
    let opened = (!interrupt.is_raised()).then(|| Prober::open(&plan.target, &local, security, interrupt))?;
    opened.err().filter(is_refusal)
}

/// The first session. `is_unsure`: whether a pathmeter is there is not known.
fn open(job: &PathJob<'_>, is_unsure: bool, report: &mut dyn FnMut(Opened)) -> Result<Prober> {
    let PathJob { plan, security, interrupt } = *job;
    Prober::open_and_report(&plan.target, &plan.local, security, interrupt, (is_unsure, report))
}

/// Asks a host without a pathmeter.
fn alone(job: &PathJob<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    let plan = job.plan;
    say_started(plan.clone(), None, sink);
    let result = match &plan.service {
        Some(wanted) => service_alone(job, wanted, sink)?,
        None => foreign::run(plan, job.interrupt, sink)?,
    };
    sink_learnt(plan, &result, sink);
    sink(&Event::Path(Box::new(result)));
    Ok(())
}

fn say_started(plan: PathPlan, peer: Option<&Host>, sink: &mut dyn FnMut(&Event)) {
    let host = host::describe(Some(plan.target.address.ip()));
    let started = PathStarted { wall: wall_now(), plan, host, peer: peer.cloned() };
    sink(&Event::PathStarted(Box::new(started)));
}

fn service_alone(
    job: &PathJob<'_>,
    wanted: &ServicePlan,
    sink: &mut dyn FnMut(&Event),
) -> Result<PathResult> {
    let began = mono_now();
    let limit = service::service(job.plan, wanted, job.interrupt, sink)?;
    Ok(PathResult {
        method: PathMethod::Udp,
        packets: limit.sizes.iter().map(|probe| u64::from(probe.sent)).sum(),
        elapsed: mono_now().saturating_since(began),
        service: Some(limit),
        ..PathResult::default()
    })
}

/// Asks a pathmeter. `began`, `believed`: when its session was begun, and the path MTU that this host's kernel believed in.
fn native(
    job: &PathJob<'_>,
    (mut prober, early): (Prober, Early<'_, '_>),
    (began, believed): (MonoTime, Option<u32>),
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    let PathJob { plan, .. } = *job;
    let mut result = PathResult { method: PathMethod::Native, ..PathResult::default() };
    say_started(PathPlan { method: PathMethod::Native, ..plan.clone() }, prober.peer(), sink);
    let mut dead = prober.dead_ports();
    let later = early.again();
    let outcome = find_all(job, (&mut prober, early), (&mut result, &mut dead), sink);
    // One of several equal paths may drop everything, and the local port decides which is taken.
    for _ in 0..OTHER_PORTS {
        if outcome.is_err() || job.interrupt.is_raised() || silent(&result).is_empty() {
            break;
        }
        let Ok(another) = open(job, false, &mut |_| {}) else { break };
        let packets = prober.datagrams();
        std::mem::replace(&mut prober, another).close();
        let mut again = PathResult { method: PathMethod::Native, packets, ..PathResult::default() };
        let looked = find_all(job, (&mut prober, later.again()), (&mut again, &mut dead), sink);
        if looked.is_ok() && silent(&again).len() < silent(&result).len() {
            (dead, result) = (dead + 1, again);
        }
    }
    let warning = flows::unanswered_ports(dead);
    warning.into_iter().for_each(|warning| sink(&Event::Warning(warning)));
    if let (Ok(()), Some(up)) = (&outcome, &mut result.up) {
        // An MTU that the first packets of the session brought about was not there before.
        up.cached_mtu = believed.or(up.cached_mtu);
    }
    result.packets += prober.datagrams();
    prober.close();
    result.elapsed = mono_now().saturating_since(began);
    sink_learnt(plan, &result, sink);
    if result.up.is_some() || result.down.is_some() {
        sink(&Event::Path(Box::new(result)));
    }
    outcome
}

/// Takes what routers reported after the sizes were known. A session that has ended since has no more to say.
fn late_messages(prober: &mut Prober, result: &mut PathResult) {
    for direction in [Direction::Up, Direction::Down] {
        if let Some(carried) = result.direction_mut(direction) {
            DirectionSearch::late_messages(prober, direction, carried).ok();
        }
    }
}

/// Reports it when this host's kernel learnt from the probes, which it does not where they are made by hand.
fn sink_learnt(plan: &PathPlan, result: &PathResult, sink: &mut dyn FnMut(&Event)) {
    let before = result.up.as_ref().and_then(|direction| direction.cached_mtu);
    let after = flows::believed_mtu(plan.target.address, &plan.local).ok();
    if let (Some(before), Some(after)) = (before, after)
        && after < before
    {
        let text = format!(
            "This host's kernel has learnt a path MTU of {after} bytes from routers' answers to the probes and keeps to \
             it for ten minutes (`ip route flush cache` makes it forget). With CAP_NET_RAW the probes go past its memory."
        );
        sink(&Event::Warning(Warning::new("path-mtu-learnt", text)));
    }
}

/// Looks at both directions, at further flows and at TCP, as far as one does not need the other all at the same time: a round trip may
/// take most of a second. `dead`: counts flows of which nothing arrives.
fn find_all(
    job: &PathJob<'_>,
    (prober, mut early): (&mut Prober, Early<'_, '_>),
    (result, dead): (&mut PathResult, &mut u32),
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    sink(&Event::progress("packet sizes and fragments, both directions"));
    let (early_down, held) =
        early.beside().map_or((None, Vec::new()), |beside| (Some(beside.down), beside.tcp));
    let Early { legs: early_legs, is_long, .. } = early;
    let [here, there] = [prober.sender(Direction::Up)?, prober.sender(Direction::Down)?];
    let [up, down] = tcp::syns(prober, [&here, &there]);
    let of_tcp = |direction| if direction == Direction::Up { up.clone() } else { down.clone() };
    let (report, reports) = mpsc::channel();
    let others = std::thread::scope(|scope| {
        let for_others = report.clone();
        let of_far_end = there.clone();
        let beside = scope.spawn(move || down_beside(job, (early_down, of_far_end), for_others));
        let syns = [up.clone(), down.clone()];
        let others = scope.spawn(move || when_known(job, (early_legs, held), &reports, syns));
        find_direction(prober, Direction::Up, (here, job.plan.largest), result, &report)?;
        wait_for(prober, &beside);
        match beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok((carried, unknown, packets)) => {
                result.unknown.extend(unknown);
                result.packets += packets;
                result.down = Some(carried);
            }
            // The server may grant no second session.
            Err(_) if !job.interrupt.is_raised() => {
                find_direction(prober, Direction::Down, (there, job.plan.largest), result, &report)?;
            }
            Err(error) => return Err(error),
        }
        drop(report);
        sink(&Event::progress("other flows, and segments of TCP"));
        if is_long {
            // The next steps take several round trips, and a query of the far end takes one.
            late_messages(prober, result);
        }
        wait_for(prober, &others);
        Ok(others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    for direction in [Direction::Up, Direction::Down] {
        if let Some(carried) = result.direction_mut(direction) {
            carried.tcp = Some(of_tcp(direction));
        }
    }
    if let Some((legs, segments)) = others {
        *dead += legs.dead;
        legs.add_to(result);
        segments.add_to(job, prober, result);
    }
    if !is_long && !job.interrupt.is_raised() {
        late_messages(prober, result);
    }
    Ok(())
}

/// Looks at other flows and TCP as soon as both directions are known.
fn when_known(
    job: &PathJob<'_>,
    early: (Vec<OpeningProber<'_>>, Vec<Held<'_>>),
    reports: &mpsc::Receiver<(Direction, PathDirection)>,
    [up, down]: [TcpDirection; 2],
) -> Option<(Legs, Segments)> {
    let mut known = PathResult::default();
    for (direction, carried) in reports.iter().take(2) {
        *known.direction_mut(direction) = Some(carried);
    }
    known.up.as_mut()?.tcp = Some(up);
    known.down.as_mut()?.tcp = Some(down);
    (!job.interrupt.is_raised()).then(|| other_flows(job, early, &known))
}

/// Further flows and TCP, side by side.
fn other_flows(
    job: &PathJob<'_>,
    (early, held): (Vec<OpeningProber<'_>>, Vec<Held<'_>>),
    known: &PathResult,
) -> (Legs, Segments) {
    std::thread::scope(|scope| {
        let segments = scope.spawn(|| tcp::segments(job, held, known));
        let legs = legs::look(job, early, known);
        (legs, segments.join().unwrap_or_default())
    })
}

/// The return path over a session of its own. `sender`: what the far end knows of it.
fn down_beside(
    job: &PathJob<'_>,
    (early, sender): (Option<OpeningProber<'_>>, PathObservation),
    report: mpsc::Sender<(Direction, PathDirection)>,
) -> Result<(PathDirection, Vec<Unknown>, u64)> {
    let mut prober = early::prober(early, job)?;
    let mut known = |carried: &PathDirection| {
        // The receiver may have given up.
        report.send((Direction::Down, carried.clone())).ok();
    };
    let wanted = (sender, job.plan.largest);
    let found = DirectionSearch::find_and_report(&mut prober, Direction::Down, wanted, &[], &mut known)?;
    let packets = prober.datagrams();
    prober.close();
    Ok((found.0, found.1, packets))
}

/// Keeps the session alive until the other is done. One that breaks off meanwhile is of no use to what follows, which shows.
fn wait_for<T>(prober: &mut Prober, other: &ScopedJoinHandle<'_, T>) {
    while !other.is_finished() && prober.pause(PAUSE).is_ok() {}
}

/// Finds out what one direction carries; `report`: as soon as its size is known.
fn find_direction(
    prober: &mut Prober,
    direction: Direction,
    wanted: (PathObservation, Option<u32>),
    result: &mut PathResult,
    report: &mpsc::Sender<(Direction, PathDirection)>,
) -> Result<()> {
    let mut known = |carried: &PathDirection| {
        report.send((direction, carried.clone())).ok();
    };
    let (carried, unknown) = DirectionSearch::find_and_report(prober, direction, wanted, &[], &mut known)?;
    result.unknown.extend(unknown);
    *result.direction_mut(direction) = Some(carried);
    Ok(())
}

/// Directions in which nothing of the first flow arrived are looked at from other local ports: of equal paths one may drop everything.
/// Returns from how many ports nothing arrived, where it did from another.
pub(crate) fn look_from_other_ports(
    open: &dyn Fn() -> Result<Prober>,
    found: &mut PathResult,
) -> Result<u32> {
    let (mut tried, mut dead) = (0, 0);
    while tried < OTHER_PORTS && !silent(found).is_empty() {
        tried += 1;
        let directions = silent(found);
        let mut prober = open()?;
        let mut again = measure_directions(&mut prober, &directions, &[])?;
        prober.close();
        found.packets += again.packets;
        for direction in directions {
            let Some(one_way) = again.direction_mut(direction).take() else { continue };
            if one_way.path_mtu.is_some() {
                dead = tried;
                *found.direction_mut(direction) = Some(one_way);
                found.unknown.retain(|unknown| unknown.direction != Some(direction));
                found
                    .unknown
                    .extend(again.unknown.iter().filter(|one| one.direction == Some(direction)).cloned());
            }
        }
    }
    Ok(dead)
}

/// The directions in which nothing arrived.
fn silent(found: &PathResult) -> Vec<Direction> {
    let crosses = |direction| found.in_direction(direction).is_some_and(|one_way| one_way.path_mtu.is_some());
    Direction::BOTH.into_iter().filter(|direction| !crosses(*direction)).collect()
}

/// The part of this in other runs whose far end is no pathmeter: the answers of the host itself show both directions.
pub fn ask_host(plan: &PathPlan, interrupt: &Interrupt) -> Result<PathResult> {
    foreign::run(plan, interrupt, &mut |_| {})
}

/// The part of this in other runs: what some directions carry, without TCP. `also`: packets of these sizes are probed in any case.
pub fn measure_directions(prober: &mut Prober, directions: &[Direction], also: &[u32]) -> Result<PathResult> {
    let (began, before) = (mono_now(), prober.datagrams());
    let mut result = PathResult { method: PathMethod::Native, ..PathResult::default() };
    for &direction in directions {
        let (carried, unknown) = DirectionSearch::find(prober, direction, None, also)?;
        result.unknown.extend(unknown);
        *result.direction_mut(direction) = Some(carried);
    }
    result.packets = prober.datagrams() - before;
    result.elapsed = mono_now().saturating_since(began);
    Ok(result)
}

/// Three attempts at finding a neighbour, a second each, and a little.
const REFUSED_LATE: Nanos = Nanos::from_millis(4_000);
/// Local ports that are tried after one from which nothing arrives.
const OTHER_PORTS: u32 = 4;
/// How long a session is left alone at a time.
const PAUSE: Nanos = Nanos::from_millis(5);
