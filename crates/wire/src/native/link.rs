//! One end of the control connection: messages in, outputs out, and the time of the peer's last message.

use super::VERSIONS;
use super::frame::{Decoder, MAX_UNAUTHENTICATED_FRAME, encode, greeting};
use super::message::Message;
use crate::work::Refusal;
use crate::{Output, ProtocolError, WorkRequest};
use model::event::Event;
use model::plan::TestSpec;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

#[derive(Debug)]
pub struct Link {
    pub(super) decoder: Decoder,
    outputs: VecDeque<Output>,
    heard: MonoTime,
    greeted: bool,
}

impl Link {
    pub(super) fn new(now: MonoTime) -> Link {
        Link {
            decoder: Decoder::with_limit(MAX_UNAUTHENTICATED_FRAME),
            outputs: VecDeque::new(),
            heard: now,
            greeted: false,
        }
    }

    /// Sends the greeting, once.
    pub(super) fn greet(&mut self) {
        if !self.greeted {
            self.greeted = true;
            self.push(Output::Send(greeting(VERSIONS).to_vec()));
        }
    }

    pub(super) fn send(&mut self, message: &Message) {
        self.push(Output::Send(encode(message)));
    }

    /// Ends the session from this end: the peer gets the reason, and the caller the error.
    pub(super) fn stop(&mut self, reason: &str) -> ProtocolError {
        self.send(&Message::Stop { reason: reason.into() });
        ProtocolError::Stopped(reason.into())
    }

    /// Sends the peer the reason why the dialogue ends.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        self.greet();
        self.send(&Message::Refuse(refusal));
    }

    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Requests work.
    pub(super) fn work(&mut self, request: impl Into<WorkRequest>) {
        self.push(Output::Work(request.into()));
    }

    /// Emits an event.
    pub(super) fn event(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    pub(super) fn receive(&mut self, now: MonoTime, bytes: &[u8]) {
        self.heard = now;
        self.decoder.push(bytes);
    }

    /// End of the silence that the peer is allowed.
    pub(super) fn silence_ends(&self) -> MonoTime {
        self.heard + SILENCE
    }
}

/// The error of a silent peer.
pub(super) fn silent() -> ProtocolError {
    ProtocolError::Timeout(format!("for {SILENCE}; it has vanished"))
}

/// A refusal of the peer as an error of this end.
pub(super) fn refused(refusal: &Refusal) -> ProtocolError {
    if refusal.code == "busy" { ProtocolError::Busy } else { ProtocolError::Refused(refusal.text()) }
}

/// Longest wait for an answer in the dialogue before and after the test.
pub(super) const ANSWER: Nanos = Nanos::from_secs(10);
/// Longest time to open the data flows of a test, which may be opened one after the other.
pub(super) fn opening(spec: &TestSpec) -> Nanos {
    let flows = u64::from(spec.streams) * spec.directions.each().count() as u64;
    Nanos::from_secs(30) + Nanos::from_millis(500).saturating_mul(flows)
}

/// Longest wait for the peer to close after the last message.
pub(super) const LEAVING: Nanos = Nanos::from_secs(2);
/// Silence during a test after which the peer counts as gone: longer than routers take to fail over, with TCP's next
/// retransmission after it.
const SILENCE: Nanos = Nanos::from_secs(15);
