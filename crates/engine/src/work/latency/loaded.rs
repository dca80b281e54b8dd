//! Round trips on the idle path and then beside our own TCP load, up, down and both directions, on one time axis; and how
//! responsive the path is meanwhile.
//!
//! | file | what it holds |
//! |---|---|
//! | `load_plan`, `phase` | the load: its plan; its phases, their sessions and probes |
//! | `flowing` | what a session of the load carried when |
//! | `foreign`, `rpm` | probes over connections of their own; the figure of a phase |
//! | `current_phase`, `phase_series` | which phase runs; the round trips moment by moment |

mod current_phase;
mod flowing;
mod foreign;
mod load_plan;
mod phase;
mod phase_series;
mod rpm;

pub(crate) use phase_series::PhaseSeries;

use super::LatencyJob;
use super::flow::EgressFlow;
use super::housekeeping::{Housekeeping, MOST_TIMEOUT};
use super::schedule;
use crate::work::echo::wait::Waiter;
pub(crate) use current_phase::CurrentPhase;
use current_phase::Now;
use flowing::goodput;
use linux::clock::mono_now;
use linux::cpu::unpin_current_thread;
use load_plan::{LoadPlan, Played};
use model::event::{Event, Warning};
use model::latency::{LatencyPlan, LoadPhase, LoadPoint, LoadResult};
use model::plan::{Direction, Directions, End};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use phase_series::{Counts, Moment};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::echo::Exchange;

/// Length of the idle phase of a run beside a load; `None`: there is no load.
pub(crate) fn idle(plan: &LatencyPlan) -> Option<Nanos> {
    let load = plan.load.as_ref()?;
    Some(match plan.end {
        End::Time(time) => time,
        End::Bytes(_) | End::Blocks(_) => load.time.min(LONGEST_IDLE),
    })
}

/// Follows the round trips from the idle phase on, which comes first and is like any other run; `None`: there is no
/// load.
pub(crate) fn follow<E: Exchange>(plan: &LatencyPlan, flows: &mut [EgressFlow<E>]) -> Option<CurrentPhase> {
    let (load, [flow]) = (plan.load.as_ref()?, flows) else { return None };
    let current_phase = CurrentPhase::default();
    current_phase.set(Now::Phase { index: 0, counted: true });
    let width = width(idle(plan)? + load.time.saturating_mul(load.phases.len() as u64));
    let timeout = plan.timeout.unwrap_or(MOST_TIMEOUT);
    flow.tally.follow(PhaseSeries::new(current_phase.clone(), width, timeout));
    Some(current_phase)
}

/// Runs the phases after the idle one; reports [`Event::Load`], with what was measured until something broke.
pub(crate) fn run<E: Exchange>(
    job: &LatencyJob<'_>,
    current_phase: CurrentPhase,
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    current_phase.set(Now::Between);
    let alive = flows.iter().any(|flow| flow.dead.is_none() && flow.tally.heard());
    let played =
        if alive { beside_load(job, &current_phase, flows, waiter, housekeeping) } else { Vec::new() };
    housekeeping.last_sample(mono_now(), flows);
    if let Some(phase_series) = flows.iter_mut().find_map(|flow| flow.tally.take_phase_series()) {
        (housekeeping.sink)(&Event::Load(Box::new(result(phase_series, &played, housekeeping.started))));
    }
}

fn beside_load<E: Exchange>(
    job: &LatencyJob<'_>,
    current_phase: &CurrentPhase,
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) -> Vec<Played> {
    let plan = job.plan;
    let (Some(load), Some(egress)) = (&plan.load, plan.egress_paths.first()) else { return Vec::new() };
    let (stop, over) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
    housekeeping.over = Some(over.clone());
    housekeeping.paced_from = mono_now();
    let load_plan = LoadPlan {
        plan,
        egress,
        load,
        security: job.security,
        interrupt: job.interrupt,
        stop: &stop,
        current_phase,
    };
    let (played, warnings) = std::thread::scope(|scope| {
        let (load_plan, over) = (&load_plan, Over(over));
        let play = move || {
            let _over = over;
            // This thread was started where the measuring thread may be pinned.
            unpin_current_thread().ok();
            phase::play(load_plan)
        };
        let conductor = std::thread::Builder::new().name("conductor".into()).spawn_scoped(scope, play);
        schedule::run(flows, &[], waiter, housekeeping);
        stop.store(true, Ordering::Release);
        conductor.ok().and_then(|conductor| conductor.join().ok()).unwrap_or_else(without_load)
    });
    warnings.into_iter().for_each(|warning| (housekeeping.sink)(&Event::Warning(warning)));
    played
}

/// Reports that the run is over, also when the conductor breaks.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn without_load() -> (Vec<Played>, Vec<Warning>) {
    let text = "the thread that drives the load did not start or broke; measured without load";
    (Vec::new(), vec![Warning::new("load-failed", text)])
}

/// Width of a moment: about [`MOMENTS`] of them, whatever the length of the run.
fn width(total: Nanos) -> Nanos {
    LEAST_WIDTH.saturating_mul(total.0.div_ceil(LEAST_WIDTH.0 * MOMENTS).max(1))
}

fn result(phase_series: PhaseSeries, played: &[Played], started: MonoTime) -> LoadResult {
    let (moments, counts) = phase_series.finish();
    let idle = counts.first().map(|counts| phase(None, counts));
    let loaded = played.iter().map(|played| LoadPhase {
        up: carried(played, Direction::Up),
        down: carried(played, Direction::Down),
        responsiveness: played.responsiveness,
        mss: played.sessions.iter().filter_map(|session| session.mss).max(),
        ..phase(Some(played.load), counts.get(played.index).unwrap_or(&Counts::default()))
    });
    LoadResult {
        phases: idle.into_iter().chain(loaded).collect(),
        series: moments.iter().map(|moment| point(moment, played, started)).collect(),
    }
}

fn phase(load: Option<Directions>, counts: &Counts) -> LoadPhase {
    let at_rank = |rank| counts.rtt.values_at_rank(rank).map(|values| Nanos(*values.start()));
    LoadPhase {
        load,
        rtt: counts.rtt.distribution().map(|rtt| rtt.with_missing(counts.lost(), at_rank)),
        sent: counts.sent,
        lost: counts.lost(),
        up: None,
        down: None,
        responsiveness: None,
        mss: None,
        limit: None,
    }
}

/// While the load stood.
fn carried(played: &Played, direction: Direction) -> Option<BitRate> {
    let (from, until) = played.counted.filter(|_| played.load.each().any(|egress| egress == direction))?;
    Some(goodput(&played.sessions, direction, from, until))
}

fn point(moment: &Moment, played: &[Played], started: MonoTime) -> LoadPoint {
    let (from, until) = (started + moment.begin, started + moment.end);
    let carried = |played: &Played, direction| goodput(&played.sessions, direction, from, until);
    let carries = |played: &&Played| played.load.each().any(|one_way| carried(played, one_way) > BitRate(0));
    let runs = |played: &&Played| matches!(moment.now, Now::Phase { index, .. } if index == played.index);
    // Between two phases: the one whose last data still arrives, or whose first does already.
    let load = played.iter().find(runs).or_else(|| played.iter().rev().find(carries));
    let rate = |direction| {
        let played = load.filter(|played| played.load.each().any(|one_way| one_way == direction))?;
        Some(carried(played, direction))
    };
    LoadPoint {
        at: moment.end,
        load: load.map(|played| played.load),
        rtt: moment.rtt,
        lost: moment.lost,
        up: rate(Direction::Up),
        down: rate(Direction::Down),
    }
}

const LONGEST_IDLE: Nanos = Nanos::from_secs(5);
const LEAST_WIDTH: Nanos = Nanos::from_millis(250);
const MOMENTS: u64 = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_no_more_moments_than_can_be_looked_at() {
        assert_eq!(width(Nanos::from_secs(20)), Nanos::from_millis(250));
        assert_eq!(width(Nanos::from_secs(100)), Nanos::from_millis(250));
        assert_eq!(width(Nanos::from_secs(101)), Nanos::from_millis(500));
        assert_eq!(width(Nanos::from_secs(14_400)), Nanos::from_secs(36));
        assert_eq!(width(Nanos::ZERO), Nanos::from_millis(250));
    }
}
