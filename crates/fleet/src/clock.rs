//! The clocks of a host, as something that a test can replace.

use model::time::{MonoTime, WallTime};
use rustix::time::{ClockId, clock_gettime};

/// The clocks of a host.
pub trait Clock: Send + Sync {
    /// Time that only passes, also while the host sleeps.
    fn mono(&self) -> MonoTime;
    /// Returns the wall time.
    fn wall(&self) -> WallTime;
}

/// The clocks of this host: `CLOCK_BOOTTIME`, since a lease lapses while its holder sleeps, too, and `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn mono(&self) -> MonoTime {
        MonoTime(nanoseconds(ClockId::Boottime))
    }

    fn wall(&self) -> WallTime {
        WallTime(nanoseconds(ClockId::Realtime))
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
