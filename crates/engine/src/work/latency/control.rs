//! The control connection beside a path's round trips, where its protocol has one.

use crate::error::Result;
use model::host::Host;
use wire::native::LatencyObservation;

/// The owner of the control connection: our own server counts what comes, a TWAMP server counts in its replies.
pub(crate) trait Control {
    /// Keeps the dialogue alive; does not wait. To be called every second or so.
    ///
    /// # Errors
    /// The dialogue has ended, and the test with it.
    fn keep_alive(&mut self) -> Result<()>;

    /// The far end's host, where it is known.
    fn peer(&self) -> Option<&Host> {
        None
    }

    /// The messages that the far end has counted, where it reports them.
    ///
    /// # Errors
    /// It does not answer.
    fn observed(&mut self) -> Result<Option<LatencyObservation>> {
        Ok(None)
    }

    /// The same once it has received so many messages, or no more of them come: the last ones may still be in flight, or wait
    /// at the far end.
    ///
    /// # Errors
    /// It does not answer.
    fn observed_since(&mut self, _sent: u64) -> Result<Option<LatencyObservation>> {
        Ok(None)
    }

    /// Sends goodbye.
    fn close(self: Box<Self>);
}
