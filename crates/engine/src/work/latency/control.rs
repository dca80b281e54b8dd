//! The control connection beside a path's round trips, where its protocol has one.

use super::session::LatencySession;
use super::twamp::TwampSession;
use crate::error::Result;
use model::host::Host;
use wire::native::LatencyObservation;

/// The owner of the control connection.
pub(crate) enum Control {
    /// Our own server, which counts what comes.
    Native(Box<LatencySession>),
    /// A TWAMP server, which counts in its replies.
    Twamp(Box<TwampSession>),
}

impl Control {
    /// Keeps the dialogue alive; does not wait. To be called every second or so.
    ///
    /// # Errors
    /// The dialogue has ended, and the test with it.
    pub(crate) fn keep_alive(&mut self) -> Result<()> {
        match self {
            Control::Native(session) => session.keep_alive(),
            Control::Twamp(session) => session.keep_alive(),
        }
    }

    /// The far end's host, where it is known.
    pub(crate) fn peer(&self) -> Option<&Host> {
        match self {
            Control::Native(session) => session.peer(),
            Control::Twamp(_) => None,
        }
    }

    /// The messages that the far end has counted, where it reports them.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn observed(&mut self) -> Result<Option<LatencyObservation>> {
        match self {
            Control::Native(session) => session.observed().map(Some),
            Control::Twamp(_) => Ok(None),
        }
    }

    /// The same once it has received so many messages, or no more of them come.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) fn observed_since(&mut self, sent: u64) -> Result<Option<LatencyObservation>> {
        match self {
            Control::Native(session) => session.observed_since(sent).map(Some),
            Control::Twamp(_) => Ok(None),
        }
    }

    /// Sends goodbye.
    pub(crate) fn close(self) {
        match self {
            Control::Native(session) => session.close(),
            Control::Twamp(session) => session.close(),
        }
    }
}
