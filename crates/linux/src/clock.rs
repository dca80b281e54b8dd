//! The two clocks, sleeping to an instant, and the clock source of the kernel.
//!
//! They are read through libc: it stands in the path of every packet, and its call of the vDSO is the one we have measured.

use crate::error::{Named, Result};
use rustix::io::Errno;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;
use std::io;
use std::num::NonZeroU64;
use units::Nanos;
use units::time::{MonoTime, WallTime};

/// Now on `CLOCK_MONOTONIC` (about 20 ns through the vDSO).
#[must_use]
pub fn mono_now() -> MonoTime {
    MonoTime(read(libc::CLOCK_MONOTONIC))
}

/// Now on `CLOCK_REALTIME`, the clock of the kernel's packet timestamps.
pub fn wall_now() -> WallTime {
    WallTime(read(libc::CLOCK_REALTIME))
}

/// Sleeps until `due` of the monotonic clock (`clock_nanosleep` with `TIMER_ABSTIME`), so that a series of due times
/// does not drift. Returns at once when `due` has passed; a signal does not end the sleep.
pub fn sleep_until(due: MonoTime) {
    let due = timespec(Nanos(due.0));
    while clock_nanosleep_absolute(ClockId::Monotonic, &due) == Err(Errno::INTR) {}
}

/// Sets how late the kernel may wake the calling thread in order to group wake-ups (`PR_SET_TIMERSLACK`, default
/// 50 µs). Zero would restore the default, so it is taken as 1 ns.
///
/// # Errors
/// The errors of `prctl(2)`.
pub fn set_timer_slack(slack: Nanos) -> Result<()> {
    let slack = NonZeroU64::new(slack.0).unwrap_or(NonZeroU64::MIN);
    set_current_timer_slack(Some(slack)).named("set timer slack of", || "this thread".into())
}

/// The clock source of the kernel: `tsc`, `kvm-clock`, `hpet`, …
///
/// # Errors
/// When sysfs is not there to be read.
pub fn clock_source() -> Result<String> {
    std::fs::read_to_string(CLOCK_SOURCE)
        .map(|text| text.trim().to_owned())
        .named("read", || CLOCK_SOURCE.into())
}

/// A span as the kernel's pair of seconds and nanoseconds.
#[must_use]
pub fn timespec(span: Nanos) -> Timespec {
    let rest = i64::try_from(span.0 % NANOS_PER_SECOND).expect("below a thousand million");
    Timespec { tv_sec: i64::try_from(span.0 / NANOS_PER_SECOND).unwrap_or(i64::MAX), tv_nsec: rest }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours and large enough for what the call writes.
    let returned = unsafe { libc::clock_gettime(clock, &mut time) };
    debug_assert_eq!(returned, 0, "{}", io::Error::last_os_error());
    u64::try_from(time.tv_sec).unwrap_or(0) * NANOS_PER_SECOND + u64::try_from(time.tv_nsec).unwrap_or(0)
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn clocks_run_forward() {
        let (mono, wall) = (mono_now(), wall_now());
        assert!(mono_now() >= mono);
        let expected = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        assert!(u128::from(wall.0) <= expected);
        assert!(expected - u128::from(wall.0) < 60_000_000_000);
    }

    #[test]
    fn sleeps_to_the_instant_and_not_at_all_for_the_past() {
        let due = mono_now() + Nanos::from_millis(2);
        sleep_until(due);
        assert!(mono_now() >= due);
        sleep_until(MonoTime(0));
    }

    #[test]
    fn timer_slack_is_taken() {
        set_timer_slack(Nanos::ZERO).unwrap();
        assert_eq!(rustix::thread::current_timer_slack(), Ok(1));
    }

    #[test]
    fn spans_split_into_seconds_and_nanoseconds() {
        let time = timespec(Nanos::from_millis(2_500));
        assert_eq!((time.tv_sec, time.tv_nsec), (2, 500_000_000));
    }
}
