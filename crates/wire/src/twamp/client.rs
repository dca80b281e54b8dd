//! The client: requests one test of a server, starts it, and stops it.

use super::message::{Accept, Accepted, Greeting, Request, START_SESSIONS, SetUp, Start, StartAck, Stop};
use super::violation;
use crate::{Input, Output, ProtocolError, Session};
use model::time::MonoTime;
use model::units::Nanos;

/// The dialogue of one test. It begins with the server's greeting; [`Client::port`] is set once packets may be sent.
#[derive(Debug)]
pub struct Client {
    request: Request,
    state: State,
    heard: Vec<u8>,
    out: Option<Vec<u8>>,
    deadline: Option<MonoTime>,
    /// Port on which the server answers packets.
    port: u16,
    closed: bool,
}

/// The message that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    Start,
    /// `again`: the port that the server offered instead has been requested.
    Accept {
        again: bool,
    },
    Ack,
    /// None: packets are sent.
    Running,
    /// None: the test is over.
    Over,
}

impl Client {
    /// A client whose connection has just been opened.
    pub fn new(request: Request, now: MonoTime) -> Client {
        Client {
            request,
            state: State::Greeting,
            heard: Vec::new(),
            out: None,
            deadline: Some(now + ANSWER_LIMIT),
            port: 0,
            closed: false,
        }
    }

    /// Port that answers packets from now on; `None`: the test has not begun.
    pub fn port(&self) -> Option<u16> {
        (self.state == State::Running).then_some(self.port)
    }

    /// Ends the test, if it has begun, and the dialogue.
    pub fn finish(&mut self) {
        let stop = Stop { accept: Accept::OK, sessions: 1 };
        self.out = (self.state == State::Running).then(|| stop.write().into());
        (self.state, self.deadline) = (State::Over, None);
    }

    /// Length of the message that is due.
    const fn due(&self) -> Option<usize> {
        match self.state {
            State::Greeting => Some(Greeting::LEN),
            State::Start => Some(Start::LEN),
            State::Accept { .. } => Some(Accepted::LEN),
            State::Ack => Some(StartAck::LEN),
            State::Running | State::Over => None,
        }
    }

    fn received(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.heard.extend_from_slice(bytes);
        while let Some(length) = self.due()
            && self.heard.len() >= length
        {
            let message: Vec<u8> = self.heard.drain(..length).collect();
            self.take(now, &message)?;
        }
        // The server sends no unrequested messages; refusing them bounds the memory.
        if self.due().is_none() && !self.heard.is_empty() {
            return Err(violation(format!(
                "{} bytes came while the test ran, when none are due",
                self.heard.len()
            )));
        }
        Ok(())
    }

    fn take(&mut self, now: MonoTime, message: &[u8]) -> Result<(), ProtocolError> {
        self.deadline = Some(now + ANSWER_LIMIT);
        match self.state {
            State::Greeting => {
                choose(Greeting::read(message).modes)?;
                self.say(State::Start, SetUp { mode: UNAUTHENTICATED }.write());
            }
            State::Start => {
                allowed(Start::read(message).accept, "the connection")?;
                self.say(State::Accept { again: false }, self.request.write());
            }
            State::Accept { again } => self.accepted(Accepted::read(message), again)?,
            State::Ack => {
                allowed(StartAck::read(message).accept, "to start the test")?;
                (self.state, self.deadline) = (State::Running, None);
            }
            State::Running | State::Over => {}
        }
        Ok(())
    }

    fn accepted(&mut self, answer: Accepted, again: bool) -> Result<(), ProtocolError> {
        let other = answer.port != 0 && answer.port != self.request.receiver_port;
        if answer.accept != Accept::OK && other && !again {
            // RFC 5357 section 3.5: the port is taken, the offered one is not.
            self.request.receiver_port = answer.port;
            self.say(State::Accept { again: true }, self.request.write());
            return Ok(());
        }
        allowed(answer.accept, "the test")?;
        if answer.port == 0 {
            return Err(violation("it accepts the test on port 0"));
        }
        self.port = answer.port;
        self.say(State::Ack, START_SESSIONS);
        Ok(())
    }

    fn say<const N: usize>(&mut self, state: State, message: [u8; N]) {
        (self.state, self.out) = (state, Some(message.into()));
    }

    /// The message that the server did not send, or did not accept.
    const fn doing(&self) -> &'static str {
        match self.state {
            State::Greeting => "before its TWAMP greeting",
            State::Start => "when the unauthenticated mode was chosen",
            State::Accept { .. } => "when a test was asked for",
            State::Ack => "when the test was started",
            State::Running | State::Over => "during the test, which ends it",
        }
    }
}

impl Session for Client {
    /// An error ends the dialogue.
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        let outcome = match input {
            _ if self.state == State::Over => Ok(()),
            Input::Received(bytes) => self.received(now, bytes),
            Input::Closed => Err(ProtocolError::Closed(self.doing().into())),
            Input::Timer if self.deadline.is_some_and(|deadline| now >= deadline) => {
                let partly = if self.heard.is_empty() { "" } else { ": its message is shorter than TWAMP's" };
                Err(ProtocolError::Timeout(format!("{}{partly}", self.doing())))
            }
            Input::Timer | Input::Work(_) => Ok(()),
            Input::Interrupt(why) => Err(ProtocolError::Stopped(why.into())),
        };
        if outcome.is_err() {
            (self.state, self.deadline) = (State::Over, None);
        }
        outcome
    }

    fn output(&mut self, _: MonoTime) -> Output {
        match self.out.take() {
            Some(message) => Output::Send(message),
            None if self.state == State::Over && !std::mem::replace(&mut self.closed, true) => Output::Close,
            None => Output::WaitUntil(self.deadline),
        }
    }
}

/// Checks that a server of these modes supports ours.
fn choose(modes: u32) -> Result<(), ProtocolError> {
    if modes & UNAUTHENTICATED != 0 {
        return Ok(());
    }
    Err(ProtocolError::Refused(match modes {
        0 => "it wants no connection now (its TWAMP greeting has no modes); look whether its limits or its list of \
              clients are the reason"
            .into(),
        _ => format!(
            "it speaks only authenticated or encrypted TWAMP (modes {modes:#x}), and this end only \
             unauthenticated; allow that there, or use --protocol stamp"
        ),
    }))
}

fn allowed(accept: Accept, what: &str) -> Result<(), ProtocolError> {
    if accept == Accept::OK {
        return Ok(());
    }
    Err(ProtocolError::Refused(format!("{what}: {}", accept.reason())))
}

/// The mode without keys.
pub(super) const UNAUTHENTICATED: u32 = 1;
/// Longest wait for an answer.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);
