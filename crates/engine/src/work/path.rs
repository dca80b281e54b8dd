//! Which packet sizes a path carries, and why no larger: the run of `pathmeter mtu`, and its part in other runs.

mod foreign;
mod legs;
mod native;
mod pieces;
mod service;
mod tcp;
pub(crate) mod trace;

use crate::error::{Result, sentence};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::session::protocol::UNACKNOWLEDGED;
use crate::work::probe::{Prober, briefly, is_absent};
use crate::work::throughput::flows;
use linux::clock::{mono_now, wall_now};
use model::event::{Event, Warning};
use model::path::{PathMethod, PathPlan, PathResult, PathStarted, ServicePlan};
use model::plan::{Direction, LocalOptions};
use model::time::MonoTime;
use native::WayFinder;
use wire::ProtocolError;

/// A run about packet sizes.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// What is to be found out.
    pub plan: &'a PathPlan,
    /// How the ends know each other.
    pub security: &'a Security,
    /// Asks it to stop.
    pub interrupt: &'a Interrupt,
}

/// Runs it. What was found before an error has been told to `sink`.
pub fn run(job: &Job<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    if job.plan.service.is_some() {
        return alone(job, sink);
    }
    let began = (mono_now(), flows::believed_mtu(job.plan.target.address, &job.plan.local).ok());
    let open = |local: &LocalOptions| Prober::open(&job.plan.target, local, job.security, job.interrupt);
    match job.plan.method {
        PathMethod::Native => native(job, open(&job.plan.local)?, began, sink),
        PathMethod::Auto => match open(&briefly(&job.plan.local)) {
            Ok(prober) => native(job, prober, began, sink),
            // Nothing crosses a first hop that is silent, whatever is asked.
            Err(e) if crate::host::reach::is_dead(job.plan.target.address.ip()) => Err(e),
            Err(e) if is_absent(&e) && !job.interrupt.is_raised() => {
                let asking = format!("no pathmeter there ({}): asking with ICMP, UDP and TCP", sentence(&e));
                sink(&Event::progress(asking));
                if let Some(cause @ ProtocolError::Unacknowledged(_)) = e.protocol() {
                    let text = format!("TCP to {}: {cause}; {UNACKNOWLEDGED}.", job.plan.target.address);
                    sink(&Event::Warning(Warning::new("handshake-only", text)));
                }
                alone(job, sink)
            }
            Err(e) => Err(e),
        },
        PathMethod::Icmp | PathMethod::Udp | PathMethod::Tcp => alone(job, sink),
    }
}

/// Asks a host without a pathmeter.
fn alone(job: &Job<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    let plan = job.plan;
    sink(&Event::PathStarted(Box::new(PathStarted {
        wall: wall_now(),
        plan: plan.clone(),
        host: host::describe(Some(plan.target.address.ip())),
        peer: None,
    })));
    let result = match &plan.service {
        Some(wanted) => service_alone(job, wanted, sink)?,
        None => foreign::run(plan, job.interrupt, sink)?,
    };
    sink_learnt(plan, &result, sink);
    sink(&Event::Path(Box::new(result)));
    Ok(())
}

fn service_alone(job: &Job<'_>, wanted: &ServicePlan, sink: &mut dyn FnMut(&Event)) -> Result<PathResult> {
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
    job: &Job<'_>,
    mut prober: Prober,
    (began, believed): (MonoTime, Option<u32>),
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    let Job { plan, interrupt, .. } = *job;
    let mut result = PathResult { method: PathMethod::Native, ..PathResult::default() };
    sink(&Event::PathStarted(Box::new(PathStarted {
        wall: wall_now(),
        plan: PathPlan { method: PathMethod::Native, ..plan.clone() },
        host: host::describe(Some(plan.target.address.ip())),
        peer: prober.peer().cloned(),
    })));
    let outcome = find_all(job, &mut prober, &mut result, sink);
    if let (Ok(()), Some(up)) = (&outcome, &mut result.up) {
        // What the first packets of the session brought about was not there before.
        up.cached_mtu = believed.or(up.cached_mtu);
    }
    result.packets = prober.datagrams();
    if outcome.is_ok() && !interrupt.is_raised() {
        sink(&Event::progress("other flows"));
        legs::look(job, &mut result);
        sink(&Event::progress("segments of TCP, in both directions"));
        tcp::segments(job, &mut prober, &mut result);
        late_messages(&mut prober, &mut result);
    }
    prober.close();
    result.elapsed = mono_now().saturating_since(began);
    sink_learnt(plan, &result, sink);
    if result.up.is_some() || result.down.is_some() {
        sink(&Event::Path(Box::new(result)));
    }
    outcome
}

/// Takes what routers said after the sizes were known. A session that has ended since has no more to say.
fn late_messages(prober: &mut Prober, result: &mut PathResult) {
    for direction in [Direction::Up, Direction::Down] {
        if let Some(one_way) = result.direction_mut(direction) {
            WayFinder::late_messages(prober, direction, one_way).ok();
        }
    }
}

/// Says so when this host's kernel learnt from the probes, which it does not where they are made by hand.
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

fn find_all(
    job: &Job<'_>,
    prober: &mut Prober,
    result: &mut PathResult,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    for direction in [Direction::Up, Direction::Down] {
        sink(&Event::progress(format!("packet sizes and fragments {direction}")));
        find_way(prober, direction, job.plan.largest, &[], result)?;
    }
    tcp::syns(prober, result)
}

/// Finds out what one direction carries.
fn find_way(
    prober: &mut Prober,
    direction: Direction,
    largest: Option<u32>,
    also: &[u32],
    result: &mut PathResult,
) -> Result<()> {
    let (one_way, unknown) = WayFinder::find(prober, direction, largest, also)?;
    result.unknown.extend(unknown);
    *result.direction_mut(direction) = Some(one_way);
    Ok(())
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
        find_way(prober, direction, None, also, &mut result)?;
    }
    result.packets = prober.datagrams() - before;
    result.elapsed = mono_now().saturating_since(began);
    Ok(result)
}
