//! Pacing of a burst in user space: the clock is read continuously, and frames that are due are sent at once. After too long a
//! delay the schedule moves, so that the frames that became due meanwhile do not leave in one burst.

use super::{Burst, Sent, Stop};
use linux::clock::mono_now;
use linux::error::Result;
use std::hint::spin_loop;
use std::ops::Range;
use units::Nanos;

/// Sends a burst by `hand_over`, which gets the numbers of frames that are due, `most` at once, and returns how many of them it
/// has sent, from the first on: none when there was no room for any.
///
/// # Errors
/// Those of `hand_over`, which end the burst.
pub(super) fn send(
    burst: &Burst,
    stop: &Stop,
    most: u64,
    hand_over: &mut dyn FnMut(Range<u64>) -> Result<u64>,
) -> Result<Sent> {
    let (all, start, allowance) = (burst.all_frames(), mono_now(), burst.allowance_ps());
    let mut sent = Sent::default();
    let mut held = 0;
    while sent.frames < all && !stop.is_raised() {
        let passed = mono_now() - start;
        if passed > burst.time {
            break;
        }
        let next = sent.frames..all.min(sent.frames.saturating_add(most));
        let at = passed.0.saturating_mul(1000).saturating_sub(held);
        let mut due = due(burst, next.clone(), at);
        if due.is_empty() {
            spin_loop();
            continue;
        }
        let late = at - burst.due_ps(sent.frames);
        let moved = if late > allowance { late } else { 0 };
        if moved > 0 {
            due = self::due(burst, next, at - moved);
        }
        let handed = hand_over(due)?;
        if handed > 0 {
            held += moved;
            if burst.interval_ps > 0 {
                sent.late = sent.late.max(Nanos(late / 1000));
            }
            sent.held = Nanos(held / 1000);
            sent.frames += handed;
            sent.time = passed;
        }
    }
    Ok(sent)
}

/// Those of the next frames that are due at this time of the schedule, in picoseconds.
fn due(burst: &Burst, next: Range<u64>, at: u64) -> Range<u64> {
    let later = next.clone().find(|number| burst.due_ps(*number) > at);
    next.start..later.unwrap_or(next.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pace;
    use linux::clock::sleep_until;

    const FAST: Burst = Burst { frames: 1000, interval_ps: 0, then: None, time: Nanos::from_secs(60) };

    #[test]
    fn only_what_is_due_is_handed_over() {
        let burst =
            Burst { interval_ps: 10_000, then: Some(Pace { frames: 3, interval_ps: 500_000 }), ..FAST };
        let at = |nanos: u64, next| due(&burst, next, nanos * 1000);
        assert_eq!((at(0, 0..64), at(9, 1..65), at(10, 1..65)), (0..1, 1..1, 1..2));
        assert_eq!((at(500, 3..30), at(500, 3..100)), (3..30, 3..51));
        // The thousand take 10 µs; those of the second pace follow.
        assert_eq!((at(10_499, 1000..1003), at(10_500, 1000..1003)), (1000..1001, 1000..1002));
    }

    #[test]
    fn every_number_is_sent_once_and_what_is_refused_again() {
        let (mut numbers, mut calls) = (Vec::new(), 0_u64);
        let mut hand_over = |due: Range<u64>| {
            calls += 1;
            assert!(due.end - due.start <= 64);
            let taken = (calls % 5).min(due.end - due.start);
            numbers.extend(due.take(taken as usize));
            Ok(taken)
        };
        let sent = send(&FAST, &Stop::default(), 64, &mut hand_over).unwrap();
        assert_eq!(sent, Sent { frames: 1000, time: sent.time, ..Sent::default() });
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_pace_is_never_outrun() {
        let burst = Burst { frames: 50, interval_ps: 20_000_000, ..FAST };
        let start = mono_now();
        let mut outrun = false;
        let mut hand_over = |due: Range<u64>| {
            outrun |= Nanos((due.end - 1) * 20_000) > mono_now() - start;
            Ok(due.end - due.start)
        };
        let sent = send(&burst, &Stop::default(), 64, &mut hand_over).unwrap();
        assert!(!outrun && sent.frames == 50 && sent.time >= Nanos::from_micros(980), "{sent:?}");
    }

    /// 20,000 frames per second: a delay of a millisecond, twenty frames, is caught up.
    #[test]
    fn delayed_frames_are_not_sent_at_once() {
        let then = Some(Pace { frames: 500, interval_ps: 100_000_000 });
        let burst = Burst { frames: 1000, interval_ps: 50_000_000, then, ..FAST };
        let (mut times, mut refusals) = (Vec::new(), 0);
        let mut hand_over = |due: Range<u64>| {
            // The host takes the CPU away once, and the device has no room for a while once.
            if due.contains(&300) {
                sleep_until(mono_now() + Nanos::from_millis(20));
            }
            if due.contains(&1200) && refusals < 4 {
                refusals += 1;
                sleep_until(mono_now() + Nanos::from_millis(5));
                return Ok(0);
            }
            times.extend(due.clone().map(|_| mono_now()));
            Ok(due.end - due.start)
        };
        let sent = send(&burst, &Stop::default(), 64, &mut hand_over).unwrap();
        assert_eq!((sent.frames, times.len()), (1500, 1500));
        // The frames that were handed over at once were delayed within the call, and stay within the allowance.
        assert!(sent.held >= Nanos::from_nanos(40_000_000 - 2_000_000), "{sent:?}");
        assert!(sent.late >= Nanos::from_millis(19) && sent.late <= sent.held, "{sent:?}");
        assert!(sent.time >= Nanos(burst.due_ps(1499) / 1000) + sent.held, "{sent:?}");
        // Frames of a millisecond, those that were late by as much, and those that became due while a call took as long.
        let most = 3 * 20 + 1;
        for window in times.windows(most + 1) {
            assert!(window[most] - window[0] > Nanos::from_micros(999), "{:?}", window[most] - window[0]);
        }
    }

    #[test]
    fn the_time_a_stop_and_an_error_end_it() {
        let none = |_| Ok(0);
        let short = Burst { time: Nanos::from_millis(1), ..FAST };
        assert_eq!(send(&short, &Stop::default(), 64, &mut { none }).unwrap(), Sent::default());
        let stop = Stop::default();
        let mut raise = |_| {
            stop.raise();
            Ok(2)
        };
        assert_eq!(send(&FAST, &stop, 64, &mut raise).unwrap().frames, 2);
        let wrong = |_| Err(linux::OsError::new("send", "it", std::io::ErrorKind::Other.into()));
        assert!(send(&FAST, &Stop::default(), 64, &mut { wrong }).is_err());
        let nothing = Burst { frames: 0, ..FAST };
        assert_eq!(send(&nothing, &Stop::default(), 64, &mut { wrong }).unwrap(), Sent::default());
    }
}
