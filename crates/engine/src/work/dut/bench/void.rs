//! Whether a trial shows what the device does at the requested load, or the host kept the generator from sending it.
//!
//! A generator that was delayed goes on at its pace ([`frames::Sent::held`]): its frames never come faster than requested,
//! except for as many as any device's queue holds. So a device that loses frames cannot forward that load. Where all arrived,
//! though, the load was lower than requested, and that is only as good as the real one when it was hardly lower. Such a trial
//! is repeated a few times, and then counts at the load that was offered.

use super::observe::Ran;
use model::dut::{Action, BenchRequest};
use model::search::Load;

/// Why one direction of a trial is to be repeated, in words. `ceiling`: the most that its generator was shown to reach.
pub(super) fn judge(order: &BenchRequest, load: Load, ran: &Ran, ceiling: Option<Load>) -> Option<String> {
    // There it is the generator that is slow, and not the host that held it up.
    if is_near(load, ceiling) {
        return None;
    }
    let (sent, intended) = (ran.sent.frames, ran.burst.all_frames());
    let (planned, held) = (ran.burst.needs(), ran.sent.held);
    let lower = held.as_secs_f64() / (planned + held).as_secs_f64() * 100.0;
    let was_lower = format!("for {held} in all, so that the load was {lower:.1} % lower");
    let short = sent < intended;
    match order.action {
        Action::Flood(_) => None,
        _ if short => Some(format!("{was_lower}, and {sent} of {intended} frames were sent in time")),
        Action::Reset(_) => {
            // Else it would pass for the device's silence.
            let silence = ran.counted.arrived.silence?.time();
            let is_long = held.0 > silence.0 / SILENCE;
            is_long.then(|| format!("for {held} in all, where no frame came for {silence}"))
        }
        _ if held.0 <= planned.0 / SHARE => None,
        // The loss is intended, and shows nothing about the load.
        Action::Overload { .. } => Some(was_lower),
        Action::Trial(_) => (ran.lost() == 0).then_some(was_lower),
    }
}

/// Whether a generator with this ceiling can hardly send more.
pub(super) fn is_near(load: Load, ceiling: Option<Load>) -> bool {
    ceiling.is_some_and(|ceiling| load.0 >= ceiling.0 * NEAR)
}

/// A share of the time planned, 2 %: where the generator was delayed for longer, the load was not the requested one.
const SHARE: u64 = 50;
/// A share of a device's silence, 5 %: a delay no longer than this hardly lengthens it.
const SILENCE: u64 = 20;
/// Share of the ceiling, which scatters from trial to trial.
const NEAR: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::super::super::port::Counted;
    use super::*;
    use frames::{Arrived, Burst, Pace, Sent, Silence};
    use model::dut::{Frames, Stream, Test};
    use model::framing::Network;
    use model::plan::{Direction, Directions};
    use model::search::Trial;
    use model::time::MonoTime;
    use model::units::{Bytes, Nanos};

    /// A second at 100,000 frames/s.
    fn judged(
        test: Test,
        action: Action,
        sent: Sent,
        received: u64,
        silence: Option<Nanos>,
        ceiling: Option<f64>,
    ) -> Option<String> {
        let stream = Stream {
            network: Network::V4,
            frames: Frames::for_payload(Bytes(64)),
            directions: Directions::Up,
        };
        let trial = trial();
        let silence = silence.map(|time| Silence { last: MonoTime(5), first: MonoTime(5) + time });
        let then = match action {
            Action::Overload { relief, .. } => Some(Pace::from_trial(&relief)),
            _ => None,
        };
        let ran = Ran {
            direction: Direction::Up,
            burst: Burst { then, ..Burst::from_trial(&trial, Nanos::ZERO) },
            duration: trial.duration,
            sizes: vec![Bytes(64)],
            sent,
            counted: Counted {
                arrived: Arrived { frames: received, silence, ..Arrived::default() },
                ..Counted::default()
            },
            timed: true,
            reset: None,
            lowered: false,
        };
        let request = BenchRequest { test, stream, action };
        judge(&request, trial.load, &ran, ceiling.map(Load))
    }

    fn trial() -> Trial {
        Trial::new(Load(100_000.0), Nanos::from_secs(1))
    }

    /// All frames sent, delayed for so long.
    fn held(millis: u64) -> Sent {
        let (time, held) = (Nanos::from_millis(1000 + millis), Nanos::from_millis(millis));
        Sent { frames: 100_000, time, late: held, held, gaps: 0 }
    }

    fn judged_alone(test: Test, action: Action, sent: Sent, received: u64) -> Option<String> {
        judged(test, action, sent, received, None, Some(1e6))
    }

    fn throughput(sent: Sent, received: u64) -> Option<String> {
        judged_alone(Test::Throughput, Action::Trial(trial()), sent, received)
    }

    #[test]
    fn a_lower_load_is_void_unless_frames_were_lost_of_it() {
        assert_eq!(throughput(held(20), 100_000), None);
        let why = "for 21.0 ms in all, so that the load was 2.1 % lower";
        assert_eq!(throughput(held(21), 100_000).as_deref(), Some(why));
        assert_eq!(throughput(held(21), 99_999), None, "lost at less than was asked for");
        // However late a frame was, the others kept their pace.
        assert_eq!(throughput(Sent { late: Nanos::from_millis(500), gaps: 3, ..held(20) }, 99_000), None);
        for test in [Test::Latency, Test::DelayVariation] {
            assert_eq!(judged_alone(test, Action::Trial(trial()), held(20), 100_000), None);
            assert!(judged_alone(test, Action::Trial(trial()), held(21), 100_000).is_some());
        }
    }

    #[test]
    fn what_was_not_sent_is_sent_again_unless_the_generator_can_do_no_more() {
        let short = Sent { frames: 99_999, ..held(300) };
        let why = "for 300 ms in all, so that the load was 23.1 % lower, and 99999 of 100000 frames were sent in time";
        assert_eq!(throughput(short, 99_000).as_deref(), Some(why));
        let at = |ceiling| judged(Test::Throughput, Action::Trial(trial()), short, 99_999, None, ceiling);
        assert_eq!(at(Some(110_000.0)), None);
        assert!(at(Some(112_000.0)).is_some() && at(None).is_some());
        let mrr = judged(Test::Mrr, Action::Trial(trial()), held(50), 100_000, None, Some(100_000.0));
        assert_eq!(mrr, None, "at the ceiling it is always stopped there");
    }

    #[test]
    fn loss_that_is_wanted_is_no_excuse() {
        // Two seconds together.
        let overload = Action::Overload { overload: trial(), relief: trial() };
        let recovery = |millis| {
            let sent = Sent { frames: 200_000, ..held(millis) };
            judged_alone(Test::Recovery, overload, sent, 50_000)
        };
        assert!(recovery(40).is_none() && recovery(41).is_some());
    }

    #[test]
    fn a_generators_silence_is_not_the_devices() {
        let reset = |millis, silence| {
            judged(Test::Reset, Action::Reset(trial()), held(millis), 50_000, silence, None)
        };
        let silence = Some(Nanos::from_millis(200));
        assert_eq!((reset(10, silence), reset(11, None)), (None, None));
        let why = "for 11.0 ms in all, where no frame came for 200 ms";
        assert_eq!(reset(11, silence).as_deref(), Some(why));
    }
}
