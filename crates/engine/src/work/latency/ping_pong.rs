//! Ping-pong: the next message, or burst, goes when the replies to the last have come, or do not come for long; several
//! paths take turns. At a rate, messages count from when they were due.

use super::flow::{Burst, EgressFlow, Ping};
use super::housekeeping::Housekeeping;
use super::schedule::wait_for_the_last;
use super::sizes::Sizes;
use crate::work::echo::wait::{SPIN, Waiter};
use linux::clock::{mono_now, sleep_until};
use model::latency::{LatencyPlan, WaitMode};
use model::time::MonoTime;
use model::units::Nanos;
use wire::echo::Exchange;

/// Runs until the plan's end, or until every path is dead.
pub(crate) fn run<E: Exchange>(
    flows: &mut [EgressFlow<E>],
    waiter: &mut Waiter,
    housekeeping: &mut Housekeeping<'_>,
) {
    let mut sizes = Sizes::from_plan(housekeeping.plan, housekeeping.started.0);
    let burst = housekeeping.plan.burst.max(1);
    let mut rhythm = Rhythm::new(housekeeping.plan, burst, housekeeping.started);
    let mut rounds = 0;
    loop {
        let now = mono_now();
        housekeeping.keep(now, flows);
        if housekeeping.is_over(now, rounds * u64::from(burst))
            || flows.iter().all(|flow| flow.dead.is_some())
        {
            break;
        }
        let size = sizes.next_burst();
        let mut answered = true;
        let due = rhythm.due(now);
        for turn in 0..flows.len() as u64 {
            // Another path begins each round, so that none is always the one after a pause.
            let index = ((rounds + turn) % flows.len() as u64) as usize;
            let message = Burst { count: burst, size, due };
            if flows[index].dead.is_none()
                && flows[index].ping(message, housekeeping.pace[index], waiter) != Ping::Answered
            {
                answered = false;
                // Waiting was long: chores may be due.
                housekeeping.keep(mono_now(), flows);
            }
        }
        rounds += 1;
        let usual = flows.iter().map(|flow| flow.tally.round_trips().1).sum::<Nanos>();
        if let Some((due, unsent)) = rhythm.next(mono_now(), answered, usual) {
            flows.iter_mut().for_each(|flow| flow.tally.unsent(unsent * u64::from(burst)));
            pause(due, rounds * u64::from(burst), housekeeping, flows, waiter);
        }
    }
    wait_for_the_last(flows, waiter, housekeeping);
}

/// When rounds are due at the rate asked for.
struct Rhythm {
    step: Option<Nanos>,
    due: MonoTime,
    /// Rounds were left out: the next one counts from when it goes.
    is_missed: bool,
}

impl Rhythm {
    fn new(plan: &LatencyPlan, burst: u32, started: MonoTime) -> Rhythm {
        let nanos = u64::from(burst) * 1_000_000_000;
        Rhythm {
            step: plan.rate.and_then(|rate| nanos.checked_div(rate.0)).map(Nanos),
            due: started,
            is_missed: false,
        }
    }

    /// When the round that goes now was due; `None`: now.
    fn due(&self, now: MonoTime) -> Option<MonoTime> {
        self.step.map(|_| if self.is_missed { now } else { self.due.min(now) })
    }

    /// When the next round is due, and how many will not be sent. One that a late reply delayed goes late and counts from when
    /// it was due. Where a round trip takes longer than the rate allows, or none came, the rounds that were missed are left
    /// out: they would wait for one another, and not for the path.
    fn next(&mut self, now: MonoTime, answered: bool, usual: Nanos) -> Option<(MonoTime, u64)> {
        let step = self.step?;
        self.due += step;
        self.is_missed = self.due < now && !(answered && usual <= step);
        if !self.is_missed {
            return Some((self.due, 0));
        }
        let missed = now.saturating_since(self.due).0 / step.0.max(1);
        self.due += step.saturating_mul(missed);
        Some((self.due.max(now), missed))
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
        let until = (due - early).min(housekeeping.due()).min(now + LONGEST_SLEEP);
        if until > now {
            sleep_until(until);
        }
        waiter.running(mono_now());
    }
}

/// An interrupt is heard, and the end noticed, after this at the latest.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Nanos = Nanos::from_millis(50);

    fn at(millis: u64) -> MonoTime {
        MonoTime(0) + Nanos::from_millis(millis)
    }

    fn rhythm() -> Rhythm {
        Rhythm { step: Some(STEP), due: at(0), is_missed: false }
    }

    #[test]
    fn a_round_held_up_by_a_late_reply_goes_late_and_counts_from_when_it_was_due() {
        let (mut rhythm, usual) = (rhythm(), Nanos::from_millis(2));
        assert_eq!(rhythm.due(at(0)), Some(at(0)));
        // The reply takes 480 ms: nine more rounds were due meanwhile, and none of them is left out.
        let mut now = at(480);
        for round in 1..=9 {
            assert_eq!(rhythm.next(now, true, usual), Some((at(50 * round), 0)));
            assert_eq!(rhythm.due(now), Some(at(50 * round)));
            now += Nanos::from_millis(2);
        }
        assert_eq!(rhythm.next(now, true, usual), Some((at(500), 0)), "it has caught up");
    }

    #[test]
    fn rounds_that_the_path_or_a_loss_leaves_no_time_for_are_left_out_and_counted() {
        // 80 ms each at a rate of 20 a second.
        let mut slow = rhythm();
        assert_eq!(slow.next(at(80), true, Nanos::from_millis(80)), Some((at(80), 0)));
        assert_eq!(slow.due(at(80)), Some(at(80)), "from when it goes");
        assert_eq!(slow.next(at(205), true, Nanos::from_millis(80)), Some((at(205), 2)));
        assert_eq!((slow.due, slow.due(at(205))), (at(200), Some(at(205))), "the rate goes on");
        // No reply for a second.
        let mut lossy = rhythm();
        assert_eq!(lossy.next(at(1_000), false, Nanos::from_millis(2)), Some((at(1_000), 19)));
        let mut unpaced = Rhythm { step: None, due: at(0), is_missed: false };
        assert_eq!((unpaced.due(at(5)), unpaced.next(at(5), true, STEP)), (None, None));
    }
}
