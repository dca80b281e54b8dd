//! Whether a trial shows what the device does, or what the host did to the generator.
//!
//! What the host holds up is sent at once after it, faster than the pace, and a device may lose of that. How long a delay it
//! takes for that depends on the device's queues: one of 256 frames, as virtual interfaces have and cards at the least,
//! absorbs a delay of 256 frames' time. A longer one makes the loss doubtful, unless far more was lost than such delays can
//! explain; and no loss is none however late: a burst that lost nothing is no worse than the pace.

use super::observe::Ran;
use model::dut::{Action, Order, Test};
use model::search::Load;
use model::units::Nanos;

/// Why a trial is to be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Void {
    /// What happened, in words.
    pub(super) why: String,
    /// What is to be done with the last repetition when all are so.
    pub(super) then: Last,
}

/// What a trial is worth that is spoilt each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Last {
    /// It stands, with a word to the reader: something of the host's is in it.
    Noted,
    /// Nothing.
    Fails,
}

/// Why one direction of a trial is void. `ceiling`: the most that its generator was shown to reach.
pub(super) fn judge(order: &Order, load: Load, ran: &Ran, ceiling: Option<Load>) -> Option<Void> {
    // There it is the generator that is slow, and not the host that held it up; and what is sent late is sent little faster
    // than the pace.
    if is_near(load, ceiling) {
        return None;
    }
    let (sent, intended) = (ran.sent.frames, ran.burst.all_frames());
    if sent < intended {
        let why = format!("{sent} of {intended} frames were sent in time");
        return Some(Void { why, then: Last::Noted });
    }
    let planned = ran.burst.needs();
    if ran.sent.time.0 > planned.0 + planned.0 / LONGER {
        return Some(Void { why: format!("{} in place of {planned}", ran.sent.time), then: Last::Noted });
    }
    let held = ran.sent.late.max(GAP.saturating_mul(ran.sent.gaps.into()));
    if held <= load.time_for(QUEUE) {
        return None;
    }
    let explained = held.as_secs_f64() * load.0 * OFTEN;
    let then = match (order.action, order.test) {
        (Action::Flood(_) | Action::Reset(_), _) => return None,
        // The loss is what is asked for; only a delay that matters beside the time that is measured spoils it.
        (Action::Overload { overload, .. }, _) if held.0 < overload.duration.0 / 100 => return None,
        (Action::Overload { .. }, _) => Last::Noted,
        // What queues behind a burst is in the delays, even when nothing is lost.
        (Action::Trial(_), Test::Latency | Test::DelayVariation) => Last::Noted,
        (Action::Trial(_), _) if ran.lost() == 0 || ran.lost() as f64 >= explained => return None,
        // No load is decided by them.
        (Action::Trial(_), Test::Mrr | Test::FrameLoss) => Last::Noted,
        (Action::Trial(_), _) => Last::Fails,
    };
    Some(Void { why: format!("late by {held}"), then })
}

/// Whether a generator with this ceiling can hardly send more.
pub(super) fn is_near(load: Load, ceiling: Option<Load>) -> bool {
    ceiling.is_some_and(|ceiling| load.0 >= ceiling.0 * NEAR)
}

/// A share of the time planned: what takes so much longer was not sent at the load asked for.
const LONGER: u64 = 50;
/// Frames that any device's queue holds.
const QUEUE: u64 = 256;
/// A pause of the generator ([`linux::frames::Sent::gaps`]).
const GAP: Nanos = Nanos(30_000_000);
/// So often at most the longest delay is taken to have happened in one trial.
const OFTEN: f64 = 10.0;
/// Of the ceiling: it scatters from trial to trial.
const NEAR: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::super::super::port::Counted;
    use super::*;
    use linux::frames::{Arrived, Burst, Sent};
    use model::dut::{Frames, Stream};
    use model::framing::Network;
    use model::plan::{Direction, Directions};
    use model::search::Trial;
    use model::units::Bytes;

    /// A second at 100,000 frames/s, where 256 frames take 2.56 ms.
    fn judged(test: Test, action: Action, sent: Sent, received: u64, ceiling: Option<f64>) -> Option<Last> {
        let stream = Stream { network: Network::V4, frames: Frames::of(Bytes(64)), ways: Directions::Up };
        let trial = trial();
        let ran = Ran {
            way: Direction::Up,
            burst: Burst::of(&trial, Nanos::ZERO),
            duration: trial.duration,
            sizes: vec![Bytes(64)],
            sent,
            counted: Counted {
                arrived: Arrived { frames: received, ..Arrived::default() },
                ..Counted::default()
            },
            timed: true,
            reset: None,
        };
        let order = Order { test, stream, action };
        judge(&order, trial.load, &ran, ceiling.map(Load)).map(|void| void.then)
    }

    fn trial() -> Trial {
        Trial::new(Load(100_000.0), Nanos::from_secs(1))
    }

    fn late(micros: u64) -> Sent {
        Sent { frames: 100_000, time: Nanos::from_secs(1), late: Nanos(micros * 1000), gaps: 0 }
    }

    fn throughput(sent: Sent, received: u64) -> Option<Last> {
        judged(Test::Throughput, Action::Trial(trial()), sent, received, Some(1e6))
    }

    #[test]
    fn loss_after_a_long_delay_is_void() {
        assert_eq!(throughput(late(2500), 99_000), None, "a queue absorbs it");
        assert_eq!(throughput(late(2600), 99_000), Some(Last::Fails));
        assert_eq!(throughput(late(2600), 100_000), None, "nothing was lost");
        assert_eq!(throughput(late(2600), 90_000), None, "far more was lost than that explains");
        assert_eq!(throughput(Sent { gaps: 1, ..late(0) }, 99_000), Some(Last::Fails));
    }

    #[test]
    fn what_was_not_sent_is_sent_again_unless_the_generator_can_do_no_more() {
        let long = |millis| throughput(Sent { time: Nanos::from_millis(millis), ..late(0) }, 100_000);
        assert_eq!((long(1020), long(1021)), (None, Some(Last::Noted)));
        let short = Sent { frames: 99_999, ..late(0) };
        assert_eq!(throughput(short, 99_999), Some(Last::Noted));
        let at = |ceiling| judged(Test::Throughput, Action::Trial(trial()), short, 99_999, ceiling);
        assert_eq!((at(Some(110_000.0)), at(Some(112_000.0))), (None, Some(Last::Noted)));
        assert_eq!(at(None), Some(Last::Noted));
        let mrr = judged(Test::Mrr, Action::Trial(trial()), late(50_000), 99_000, Some(100_000.0));
        assert_eq!(mrr, None, "at the ceiling it is always late");
    }

    #[test]
    fn delays_are_spoilt_without_loss_too() {
        for test in [Test::Latency, Test::DelayVariation] {
            assert_eq!(judged(test, Action::Trial(trial()), late(2600), 100_000, None), Some(Last::Noted));
            assert_eq!(judged(test, Action::Trial(trial()), late(2500), 100_000, None), None);
        }
        let loss = judged(Test::FrameLoss, Action::Trial(trial()), late(2600), 99_000, None);
        assert_eq!(loss, Some(Last::Noted));
    }

    #[test]
    fn where_loss_is_wanted_only_long_delays_count() {
        let overload = Action::Overload { overload: trial(), relief: trial() };
        let judged = |action, micros| judged(Test::Recovery, action, late(micros), 50_000, None);
        assert_eq!((judged(overload, 9_000), judged(overload, 11_000)), (None, Some(Last::Noted)));
        assert_eq!(judged(Action::Reset(trial()), 11_000), None);
    }
}
