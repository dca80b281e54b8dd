//! Common parts of both roles: bytes of the control connection in, outputs, and one deadline.

use crate::iperf3::PROTOCOL;
use crate::iperf3::state::{ErrorCode, State, error_message};
use crate::{Output, ProtocolError, WorkRequest};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

/// One end's side of the control connection.
#[derive(Default)]
pub(super) struct Dialogue {
    received: Vec<u8>,
    outputs: VecDeque<Output>,
    deadline: Option<MonoTime>,
    /// The dialogue has ended: no input has an effect any more.
    pub(super) over: bool,
}

impl Dialogue {
    /// Appends bytes of the peer.
    pub(super) fn push_received(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    /// The next byte, if it has arrived.
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.received.first()?;
        self.received.remove(0);
        Some(byte)
    }

    /// Does the peer announce that it stops, where a message is due? No length within our limits begins with such a byte.
    pub(super) fn is_stop_next(&self) -> bool {
        let state = self.received.first().and_then(|byte| State::from_byte(*byte));
        matches!(
            state,
            Some(State::ClientTerminate | State::ServerTerminate | State::ServerError | State::AccessDenied)
        )
    }

    /// The first word of an error whose second word did not arrive.
    pub(super) fn error_code(&mut self) -> Option<i32> {
        let (code, _) = self.received.split_first_chunk()?;
        let code = i32::from_be_bytes(*code);
        self.received.clear();
        Some(code)
    }

    /// The two words of an error, if they have arrived.
    pub(super) fn error_words(&mut self) -> Option<[i32; 2]> {
        let (code, rest) = self.received.split_first_chunk()?;
        let codes = [i32::from_be_bytes(*code), i32::from_be_bytes(*rest.first_chunk()?)];
        self.received.drain(..8);
        Some(codes)
    }

    /// The body of a message (length, then JSON), if all of it has arrived. A length that is zero, negative or above `limit` is
    /// refused before the body arrives.
    pub(super) fn message(&mut self, limit: usize) -> Result<Option<Vec<u8>>, ProtocolError> {
        let Some((length, rest)) = self.received.split_first_chunk() else { return Ok(None) };
        let length = i32::from_be_bytes(*length);
        let size = usize::try_from(length).ok().filter(|size| (1..=limit).contains(size));
        let Some(size) = size else {
            return Err(violation(format!(
                "it announced a message of {length} bytes (1 to {limit} expected)"
            )));
        };
        if rest.len() < size {
            return Ok(None);
        }
        let body = rest[..size].to_vec();
        self.received.drain(..4 + size);
        Ok(Some(body))
    }

    /// Queues an output.
    pub(super) fn push(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    /// Requests work.
    pub(super) fn work(&mut self, request: impl Into<WorkRequest>) {
        self.push(Output::Work(request.into()));
    }

    /// Queues a state to send.
    pub(super) fn send_state(&mut self, state: State) {
        self.push(Output::Send(vec![state.byte()]));
    }

    /// Queues a server's error to send.
    pub(super) fn send_error(&mut self, code: ErrorCode) {
        self.push(Output::Send(error_message(code).to_vec()));
    }

    /// Queues a message to send: its length, then the JSON.
    pub(super) fn send_message(&mut self, json: &[u8]) {
        let length = u32::try_from(json.len()).expect("a report of 4 GiB fits no memory this runs in");
        self.push(Output::Send([&length.to_be_bytes(), json].concat()));
    }

    /// Sets the deadline; `None`: wait for input alone.
    pub(super) fn wait_until(&mut self, deadline: Option<MonoTime>) {
        self.deadline = deadline;
    }

    /// Sets the deadline this far away.
    pub(super) fn wait(&mut self, now: MonoTime, span: Nanos) {
        self.deadline = Some(now + span);
    }

    /// Has the deadline come?
    pub(super) fn is_due(&self, now: MonoTime) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Ends the dialogue: it waits for nothing any more.
    pub(super) fn close(&mut self) {
        self.over = true;
        self.deadline = None;
        self.received = Vec::new();
        self.push(Output::Close);
    }

    /// The next thing to do.
    pub(super) fn next(&mut self) -> Output {
        self.outputs.pop_front().unwrap_or(Output::WaitUntil(self.deadline))
    }
}

/// The error for a violation of the protocol.
pub(super) fn violation(what: impl Into<String>) -> ProtocolError {
    ProtocolError::Violation { protocol: PROTOCOL, what: what.into() }
}

/// The error for a state that arrived where another message was due.
pub(super) fn unexpected(byte: u8, awaited: &str) -> ProtocolError {
    match State::from_byte(byte) {
        Some(state) => violation(format!("it sent {state:?} where {awaited} was due")),
        None => violation(format!("it sent the byte {byte:#04x} where {awaited} was due")),
    }
}

/// Longest drain at the end of a test. iPerf3's ends wait 10 s for each other's results.
pub(super) const DRAIN_LIMIT: Nanos = Nanos::from_secs(8);
/// A stream on which nothing comes for this long has ended.
pub(super) const DRAIN_QUIET: Nanos = Nanos::from_millis(500);
/// Longest wait for the driver's own work: stopping senders, measuring.
pub(super) const LOCAL_WORK: Nanos = Nanos::from_secs(10);
/// Longest wait for a message or a state of the peer that is due.
pub(super) const TIMEOUT: Nanos = Nanos::from_secs(30);
/// A receiver that gets nothing for this long gives up.
pub(super) const STALL: Nanos = Nanos::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with(bytes: &[u8]) -> Dialogue {
        let mut dialogue = Dialogue::default();
        dialogue.push_received(bytes);
        dialogue
    }

    #[test]
    fn impossible_lengths_are_refused_at_once() {
        for length in [[0, 0, 0, 0], [0xff, 0xff, 0xff, 0xff], [0x80, 0, 0, 0], [0, 0, 0, 101]] {
            assert!(matches!(with(&length).message(100), Err(ProtocolError::Violation { .. })));
        }
        assert_eq!(with(&[0, 0, 0, 100]).message(100), Ok(None));
        assert_eq!(with(&[0xff, 0xff, 0xff]).message(100), Ok(None));
    }

    proptest! {
        #[test]
        fn portions_do_not_matter(body in prop::collection::vec(any::<u8>(), 1..50), cut in 0_usize..60) {
            let mut wire = (body.len() as u32).to_be_bytes().to_vec();
            wire.extend_from_slice(&body);
            wire.extend_from_slice(&[14, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]);
            let (first, second) = wire.split_at(cut.min(wire.len()));
            let mut dialogue = with(first);
            let early = dialogue.message(50)?;
            dialogue.push_received(second);
            let message = if early.is_some() { early } else { dialogue.message(50)? };
            prop_assert_eq!(message, Some(body));
            prop_assert_eq!(dialogue.byte(), Some(14));
            prop_assert_eq!(dialogue.error_words(), Some([7, -1]));
            prop_assert_eq!(dialogue.byte(), None);
        }
    }
}
