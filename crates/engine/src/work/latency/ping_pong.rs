//! Ping-pong: the next message, or burst, goes when the replies to the last have come; several ways take turns.

use super::flow::{EgressFlow, Ping};
use super::housekeeping::Housekeeping;
use super::sizes::Sizes;
use crate::work::echo::wait::{SPIN, Waiter};
use linux::clock::{mono_now, sleep_until};
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::Nanos;
use wire::echo::Exchange;

/// Runs until the plan's end, or until every way is dead.
pub(crate) fn run<E: Exchange>(
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    let mut sizes = Sizes::from_plan(housekeeping.plan, housekeeping.started.0);
    let burst = housekeeping.plan.burst.max(1);
    let nanos = u64::from(burst) * 1_000_000_000;
    let step = housekeeping.plan.rate.and_then(|rate| nanos.checked_div(rate.0)).map(Nanos);
    let (mut due, mut rounds) = (housekeeping.started, 0);
    loop {
        let now = mono_now();
        housekeeping.keep(now, flows);
        if housekeeping.is_over(now, rounds * u64::from(burst))
            || flows.iter().all(|flow| flow.dead.is_some())
        {
            return;
        }
        let size = sizes.next_burst();
        for turn in 0..flows.len() as u64 {
            // Another way begins each round, so that none is always the one after a pause.
            let index = ((rounds + turn) % flows.len() as u64) as usize;
            if flows[index].dead.is_none()
                && flows[index].ping(burst, size, housekeeping.reply_timeout(index), waiter) != Ping::Answered
            {
                // Waiting was long: chores may be due.
                housekeeping.keep(mono_now(), flows);
            }
        }
        rounds += 1;
        if let Some(step) = step {
            due = (due + step).max(mono_now() - step);
            pause(due, rounds * u64::from(burst), housekeeping, flows, waiter);
        }
    }
}

/// Waits for the next round, or for the end of the run, chores done meanwhile.
fn pause<E: Exchange>(
    due: MonoTime,
    sent: u64,
    housekeeping: &mut Housekeeping<'_>,
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
) {
    loop {
        let now = mono_now();
        if now >= due || housekeeping.is_over(now, sent) {
            return;
        }
        housekeeping.keep(now, flows);
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
