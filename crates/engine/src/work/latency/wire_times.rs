//! Round trips on the wire: a few hundred before the test, timed by the kernel and, where it can, the network card.

use super::flow::{EgressFlow, TimedPing};
use super::tally::Gather;
use crate::work::echo::wait::Waiter;
use linux::clock::mono_now;
use linux::timestamp::{Timestamping, set_timestamping};
use model::latency::WireTimes;
use model::stats::histogram::Histogram;
use model::units::Nanos;
use wire::echo::Exchange;

/// Measures them on one way. `None`: this kernel or the far end gives no times.
pub(crate) fn measure<E: Exchange>(
    flow: &mut EgressFlow<E>,
    size: usize,
    waiter: &mut Waiter,
) -> Option<WireTimes> {
    set_timestamping(&flow.socket, Timestamping { receive: true, transmit: true }).ok()?;
    // A packet that arrives before the kernel has begun to take times carries the time it was read at.
    std::thread::sleep(SETTLE);
    let started = mono_now();
    flow.begin(Gather { started, warm_up: Some(Nanos::ZERO), ..Gather::default() });
    let mut times = Times::default();
    let mut missed = 0;
    for _ in 0..MOST {
        if mono_now() >= started + LONGEST || missed == MOST_MISSED || flow.dead.is_some() {
            break;
        }
        match flow.timed_ping(size, TIMEOUT, waiter) {
            Some(ping) => times.take(&ping),
            None => missed += 1,
        }
    }
    set_timestamping(&flow.socket, Timestamping::default()).ok();
    // A loss among these messages is no loss of the counted ones.
    flow.settle_count(false, size, waiter);
    times.result()
}

/// The round trips timed so far.
#[derive(Default)]
struct Times {
    kernel: Histogram,
    nic: Histogram,
    application: Histogram,
}

impl Times {
    fn take(&mut self, ping: &TimedPing) {
        let kernel = ping.left.kernel.zip(ping.came.kernel).map(|(left, came)| came - left);
        // A clock set in between, or a time taken at the reading: not a round trip.
        let Some(kernel) = kernel.filter(|rtt| *rtt > Nanos::ZERO && *rtt <= ping.application) else {
            return;
        };
        self.kernel.record(kernel.0);
        self.application.record(ping.application.0);
        let nic = ping.left.nic.zip(ping.came.nic).map(|(left, came)| came.0.saturating_sub(left.0));
        if let Some(nic) = nic.filter(|rtt| *rtt > 0 && *rtt <= ping.application.0) {
            self.nic.record(nic);
        }
    }

    fn result(&self) -> Option<WireTimes> {
        let application = self.application.distribution().filter(|times| times.count >= FEWEST)?;
        let hardware = self.nic.count() == self.kernel.count();
        let rtt = if hardware { self.nic.distribution() } else { self.kernel.distribution() }?;
        Some(WireTimes { rtt, application, hardware })
    }
}

const SETTLE: std::time::Duration = std::time::Duration::from_millis(20);
const MOST: u32 = 500;
const LONGEST: Nanos = Nanos::from_millis(400);
const TIMEOUT: Nanos = Nanos::from_secs(1);
/// Replies missed before the rest is left.
const MOST_MISSED: u32 = 2;
/// Round trips that make a distribution.
const FEWEST: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use linux::timestamp::{NicTime, PacketTimes};
    use model::time::WallTime;

    fn ping(application: u64, kernel: (u64, u64), nic: Option<(u64, u64)>) -> TimedPing {
        let times =
            |kernel, nic: Option<u64>| PacketTimes { kernel: Some(WallTime(kernel)), nic: nic.map(NicTime) };
        TimedPing {
            application: Nanos(application),
            left: times(kernel.0, nic.map(|nic| nic.0)),
            came: times(kernel.1, nic.map(|nic| nic.1)),
        }
    }

    #[test]
    fn the_network_cards_times_are_taken_when_it_has_all() {
        let mut times = Times::default();
        times.take(&ping(100, (1000, 1080), Some((5, 65))));
        let result = times.result().unwrap();
        assert_eq!(
            (result.rtt.max, result.application.max, result.hardware),
            (Nanos::from_nanos(60), Nanos::from_nanos(100), true)
        );
        times.take(&ping(100, (1000, 1080), None));
        let result = times.result().unwrap();
        assert_eq!((result.rtt.max, result.hardware), (Nanos::from_nanos(80), false));
    }

    #[test]
    fn times_that_cannot_be_are_left_out() {
        let mut times = Times::default();
        times.take(&ping(100, (1000, 900), None));
        times.take(&ping(100, (1000, 1101), None));
        assert_eq!(times.result(), None);
    }
}
