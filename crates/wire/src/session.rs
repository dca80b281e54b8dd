//! The control dialogue: bytes and time in; bytes, deadlines and requests for work out.

use crate::work::{WorkReply, WorkRequest};
use model::event::Event;
use model::time::MonoTime;

/// The control dialogue: one role of one protocol.
pub trait Session: Send {
    /// Takes one event. After an error the session is over; the driver takes the remaining outputs (a last message to the peer,
    /// perhaps) and closes.
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError>;

    /// The next output. `WaitUntil` ends the round.
    fn output(&mut self, now: MonoTime) -> Output;
}

/// Events of a session.
#[derive(Debug)]
pub enum Input<'a> {
    /// Bytes of the control connection, in any portions.
    Received(&'a [u8]),
    /// The peer closed the control connection, or it broke.
    Closed,
    /// The time of the last `WaitUntil` has come. May also be given early: then it must have no effect.
    Timer,
    /// This end wants to stop: Ctrl-C, a server shutting down, a limit reached.
    Interrupt(&'a str),
    /// The reply to requested work.
    Work(WorkReply),
}

/// Actions that a session requests of its driver.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "outputs are few, short-lived and never in arrays")]
pub enum Output {
    /// Send these bytes on the control connection.
    Send(Vec<u8>),
    /// Carry out this work.
    Work(WorkRequest),
    /// Report this event.
    Event(Event),
    /// Nothing more to do before this time, unless an input comes. `None`: wait for input alone.
    WaitUntil(Option<MonoTime>),
    /// The dialogue is over: close the control connection.
    Close,
}

impl<T: Into<WorkReply>> From<T> for Input<'_> {
    fn from(reply: T) -> Self {
        Input::Work(reply.into())
    }
}

impl<T: Into<WorkRequest>> From<T> for Output {
    fn from(request: T) -> Output {
        Output::Work(request.into())
    }
}

/// Why a dialogue failed, and which end is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The peer broke the protocol.
    #[error("the peer broke the {protocol} protocol: {what}")]
    Violation {
        /// Protocol name.
        protocol: &'static str,
        /// The violation.
        what: String,
    },
    /// The peer refused, with its reason and what to do about it.
    #[error("the peer refused: {0}")]
    Refused(String),
    /// The two ends have no common version of the protocol: names both versions and which to upgrade.
    #[error("{0}")]
    Version(String),
    /// The peer is busy with another client.
    #[error("the server is busy running another test; try again later")]
    Busy,
    /// The peer ended the test.
    #[error("the peer ended the test: {0}")]
    PeerStopped(String),
    /// The peer closed the connection, or it broke.
    #[error("the peer closed the connection {0}")]
    Closed(String),
    /// The peer did not answer.
    #[error("no answer from the peer {0}")]
    Timeout(String),
    /// The connection opened, but no data that this end sent on it was acknowledged, after so many retransmits.
    #[error(
        "the connection opened, and nothing that this host sent afterwards was acknowledged ({0} retransmits)"
    )]
    Unacknowledged(u32),
    /// The data flows could not be opened.
    #[error("{0}")]
    Flows(String),
    /// This end gave up.
    #[error("stopped: {0}")]
    Stopped(String),
}
