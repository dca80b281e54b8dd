//! Ping-pong: the next message, or burst, goes when the replies to the last have come; several ways take turns.

use super::housekeeping::Housekeeping;
use super::lane::{Lane, Ping};
use super::sizes::Sizes;
use crate::work::echo::wait::{SPIN, Waiter};
use linux::clock::{mono_now, sleep_until};
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::Nanos;
use wire::echo::Exchange;

/// Runs until the plan's end, or until every way is dead.
pub(crate) fn run<E: Exchange>(
    lanes: &mut [Lane<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    let mut sizes = Sizes::of(housekeeping.plan, housekeeping.started.0);
    let burst = housekeeping.plan.burst.max(1);
    let nanos = u64::from(burst) * 1_000_000_000;
    let step = housekeeping.plan.rate.and_then(|rate| nanos.checked_div(rate.0)).map(Nanos);
    let (mut due, mut rounds) = (housekeeping.started, 0);
    loop {
        let now = mono_now();
        housekeeping.keep(now, lanes);
        if housekeeping.is_over(now, rounds * u64::from(burst))
            || lanes.iter().all(|lane| lane.dead.is_some())
        {
            return;
        }
        let size = sizes.next_burst();
        for turn in 0..lanes.len() as u64 {
            // Another way begins each round, so that none is always the one after a pause.
            let index = ((rounds + turn) % lanes.len() as u64) as usize;
            if lanes[index].dead.is_none()
                && lanes[index].ping(burst, size, housekeeping.patience(index), waiter) != Ping::Answered
            {
                // Waiting was long: chores may be due.
                housekeeping.keep(mono_now(), lanes);
            }
        }
        rounds += 1;
        if let Some(step) = step {
            due = (due + step).max(mono_now() - step);
            pause(due, rounds * u64::from(burst), housekeeping, lanes, waiter);
        }
    }
}

/// Waits for the next round, or for the end of the run, chores done meanwhile.
fn pause<E: Exchange>(
    due: MonoTime,
    sent: u64,
    housekeeping: &mut Housekeeping<'_>,
    lanes: &mut [Lane<E>],
    waiter: &mut Waiter,
) {
    loop {
        let now = mono_now();
        if now >= due || housekeeping.is_over(now, sent) {
            return;
        }
        housekeeping.keep(now, lanes);
        let early = if housekeeping.plan.wait == WaitMode::Block { Nanos::ZERO } else { SPIN };
        let until = (due - early).min(housekeeping.due()).min(now + LONGEST_NAP);
        if until > now {
            sleep_until(until);
        }
        waiter.running(mono_now());
    }
}

/// An interrupt is heard, and the end seen, after this at the latest.
const LONGEST_NAP: Nanos = Nanos(100_000_000);
