//! The far end's clock, from the times in its replies, and the one-way delays it gives.

use model::latency::OneWayDelays;
use model::time::MonoTime;
use wire::echo::FarTimes;

/// Collects the times of a way, in memory that does not grow.
#[derive(Debug, Default)]
pub(crate) struct FarClock {}

impl FarClock {
    /// A round trip: sent and come by this end's clock, received and answered by the far end's.
    pub(crate) fn record(&mut self, _sent: MonoTime, _far: FarTimes, _came: MonoTime) {}

    /// The delays, or why there are none; `None`: the far end told no times.
    pub(crate) fn delays(&self) -> Option<OneWayDelays> {
        None
    }
}
