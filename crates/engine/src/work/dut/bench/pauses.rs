//! The pauses around a trial (RFC 2544 section 23), and waiting that can be ended.

use crate::error::{Failure, Kind};
use frames::Stop;
use model::units::Nanos;
use std::time::{Duration, Instant};

/// The pauses of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pauses {
    /// Before the learning frames: step a).
    pub(super) before: Nanos,
    /// After them: step b).
    pub(super) learned: Nanos,
    /// Time for frames still in flight: step d).
    pub(super) residual: Nanos,
    /// For the device to settle: step e).
    pub(super) settle: Nanos,
}

impl Pauses {
    /// Divides the time: the standard's 11 seconds into 2, 2, 2 and 5. With less time, frames in flight still get 200 ms, or
    /// half of all.
    pub(super) fn lasting(all: Nanos) -> Pauses {
        let share = |of: Nanos, part: u64, parts: u64| {
            Nanos((u128::from(of.0) * u128::from(part) / u128::from(parts)) as u64)
        };
        let residual = share(all, 2, 11).max(RESIDUAL.min(share(all, 1, 2)));
        let rest = Nanos(all.0 - residual.0);
        Pauses { before: share(rest, 2, 9), learned: share(rest, 2, 9), residual, settle: share(rest, 5, 9) }
    }
}

/// Waits so long.
///
/// # Errors
/// `Kind::Void` as soon as `stop` is raised.
pub(super) fn wait(time: Nanos, stop: &Stop) -> Result<(), Failure> {
    let end = Instant::now().checked_add(Duration::from_nanos(time.0));
    loop {
        check(stop)?;
        let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(STEP));
    }
}

/// Goes on unless it is to end.
///
/// # Errors
/// `Kind::Void` when `stop` is raised.
pub(super) fn check(stop: &Stop) -> Result<(), Failure> {
    if stop.is_raised() {
        return Err(Failure { kind: Kind::Void, message: "stopped before its end".into(), advice: None });
    }
    Ok(())
}

const RESIDUAL: Nanos = Nanos::from_millis(200);
const STEP: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;
    use model::dut::Times;

    #[test]
    fn the_standard_has_two_two_two_and_five_seconds() {
        let pauses = Pauses::lasting(Times::standard().pause);
        let seconds = |count| Nanos::from_secs(count);
        assert_eq!(
            pauses,
            Pauses { before: seconds(2), learned: seconds(2), residual: seconds(2), settle: seconds(5) }
        );
    }

    #[test]
    fn of_less_most_is_for_what_is_in_flight() {
        let quick = Pauses::lasting(Nanos::from_millis(500));
        assert_eq!(quick.residual, Nanos::from_millis(200));
        let all = quick.before.0 + quick.learned.0 + quick.residual.0 + quick.settle.0;
        assert!(all <= 500_000_000 && all > 499_000_000, "{all}");
        assert_eq!(Pauses::lasting(Nanos::from_millis(10)).residual, Nanos::from_millis(5));
        assert_eq!(Pauses::lasting(Nanos::ZERO).residual, Nanos::ZERO);
    }

    #[test]
    fn waiting_ends_when_stopped() {
        let stop = Stop::default();
        assert_eq!(wait(Nanos::from_millis(1), &stop), Ok(()));
        stop.raise();
        let ended = wait(Nanos::MAX, &stop).expect_err("it was stopped");
        assert_eq!(ended.kind, Kind::Void);
    }
}
