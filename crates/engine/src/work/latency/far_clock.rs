//! The far end's clock, from the times in its replies, and the one-way delays it gives.

use model::latency::OneWayDelays;
use model::latency::one_way::OneWayMeter;
use model::stats::clock::Exchange;
use model::time::MonoTime;
use wire::echo::FarTimes;

/// Collects the times of a path, in memory that does not grow.
#[derive(Debug, Default)]
pub(crate) struct FarClock {
    meter: OneWayMeter,
}

impl FarClock {
    /// A round trip: sent and come by this end's clock, received and answered by the far end's.
    pub(crate) fn record(&mut self, sent: MonoTime, far: FarTimes, came: MonoTime) {
        self.meter.record(Exchange {
            sent,
            // The far end's clock has an epoch of its own: only differences to ours are taken.
            remote_received: MonoTime(far.received.0),
            remote_sent: MonoTime(far.sent.0),
            received: came,
        });
    }

    /// The delays, or why there are none; `None`: the far end sent no times.
    pub(crate) fn delays(&self) -> Option<OneWayDelays> {
        (self.meter.count() > 0).then(|| self.meter.finish())
    }
}
