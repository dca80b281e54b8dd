//! The server: grants tests to clients of the unauthenticated mode, and decides when packets are answered.

use super::client::UNAUTHENTICATED;
use super::message::{Accept, Accepted, Greeting, Request, START_SESSIONS, SetUp, Start, StartAck, Stop};
use super::violation;
use crate::fixed::put;
use crate::stamp::Timestamp;
use crate::{Input, Output, ProtocolError, Session};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

/// The dialogue with one client. Its requests to the driver are returned by [`Server::take_command`].
#[derive(Debug)]
pub struct Server {
    /// Random part of the tests' names.
    seed: [u8; 12],
    begun: Timestamp,
    state: State,
    heard: Vec<u8>,
    out: VecDeque<Vec<u8>>,
    commands: VecDeque<TwampCommand>,
    deadline: Option<MonoTime>,
    /// Accepted tests that have not ended.
    sessions: u32,
    /// Tests so far.
    number: u32,
    /// The longest time for which one of them requests answers after its end.
    timeout: Nanos,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Greeting sent; waits for the client's choice.
    Greeted,
    /// Waits for a command.
    Ready,
    /// Waits for a test that is being opened.
    Opening,
    /// Tests run.
    Running,
    /// The client is gone, or requests an unsupported mode.
    Over,
}

/// A request to the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwampCommand {
    /// Open a socket; [`Server::opened`] takes the outcome.
    Open(TestRequest),
    /// Answer packets on all of them from now on.
    Begin,
    /// Stop answering once this time has passed.
    End(Nanos),
}

/// A test that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestRequest {
    /// The requested port; 0: any.
    pub port: u16,
    /// DSCP of the replies.
    pub dscp: u8,
}

impl Server {
    /// A server to whom a client has just connected. `seed`: random; `begun`: when the server started.
    pub fn new(seed: [u8; 12], begun: Timestamp, now: MonoTime) -> Server {
        let greeting = Greeting { modes: UNAUTHENTICATED };
        Server {
            seed,
            begun,
            state: State::Greeted,
            heard: Vec::new(),
            out: VecDeque::from([greeting.write().into()]),
            commands: VecDeque::new(),
            deadline: Some(now + COMMAND_LIMIT),
            sessions: 0,
            number: 0,
            timeout: Nanos::ZERO,
            closed: false,
        }
    }

    /// The next request to the driver, to be called after every input.
    pub fn take_command(&mut self) -> Option<TwampCommand> {
        self.commands.pop_front()
    }

    /// Takes the outcome of [`TwampCommand::Open`]: the port on which packets of the test will be answered, or the reason why
    /// there is none.
    ///
    /// # Errors
    /// The client has meanwhile sent a message that is not TWAMP's.
    pub fn opened(&mut self, now: MonoTime, outcome: Result<u16, Accept>) -> Result<(), ProtocolError> {
        if self.state == State::Over {
            // The client has gone meanwhile.
            return Ok(());
        }
        self.number += 1;
        let mut session = [0; 16];
        put(&mut session, 0, self.seed);
        put(&mut session, 12, self.number.to_be_bytes());
        match outcome {
            Ok(port) => {
                self.sessions += 1;
                self.say(Accepted { accept: Accept::OK, port, session }.write());
            }
            Err(accept) => self.refuse(accept),
        }
        self.state = State::Ready;
        self.listen(now)
    }

    fn say<const N: usize>(&mut self, message: [u8; N]) {
        self.out.push_back(message.into());
    }

    fn refuse(&mut self, accept: Accept) {
        self.say(Accepted { accept, port: 0, session: [0; 16] }.write());
    }

    /// Takes all whole messages that have arrived.
    fn listen(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        while let Some(length) = self.due()?
            && self.heard.len() >= length
        {
            let message: Vec<u8> = self.heard.drain(..length).collect();
            self.deadline = Some(now + COMMAND_LIMIT);
            match self.state {
                State::Greeted => self.set_up(SetUp::read(&message)),
                State::Ready | State::Running => self.command(&message)?,
                State::Opening | State::Over => {}
            }
        }
        match self.heard.len() {
            0..=MOST_HEARD => Ok(()),
            length => Err(violation(format!("it sends {length} bytes and does not wait for an answer"))),
        }
    }

    /// Length of the message that is arriving.
    fn due(&self) -> Result<Option<usize>, ProtocolError> {
        Ok(match (self.state, self.heard.first()) {
            (State::Greeted, _) => Some(SetUp::LEN),
            (State::Opening | State::Over, _) | (_, None) => None,
            (_, Some(&Request::COMMAND)) => Some(Request::LEN),
            (_, Some(&Stop::COMMAND)) => Some(Stop::LEN),
            (_, Some(command)) if *command == START_SESSIONS[0] => Some(START_SESSIONS.len()),
            (_, Some(command)) => {
                return Err(violation(format!("command {command} is none of the unauthenticated mode")));
            }
        })
    }

    fn set_up(&mut self, chosen: SetUp) {
        if chosen.mode == 0 {
            // The client supports none of the modes, and ends the dialogue with this answer (RFC 4656 section 3.1).
            self.state = State::Over;
            return;
        }
        let known = chosen.mode == UNAUTHENTICATED;
        let accept = if known { Accept::OK } else { Accept::UNSUPPORTED };
        self.say(Start { accept, begun: self.begun }.write());
        self.state = if known { State::Ready } else { State::Over };
    }

    fn command(&mut self, message: &[u8]) -> Result<(), ProtocolError> {
        match (message[0], self.state) {
            (Request::COMMAND, State::Ready) => match self.checked(message) {
                Ok(test) => {
                    self.commands.push_back(TwampCommand::Open(test));
                    self.state = State::Opening;
                }
                Err(accept) => self.refuse(accept),
            },
            (Stop::COMMAND, State::Running) => {
                self.commands
                    .push_back(TwampCommand::End(std::mem::take(&mut self.timeout).min(LONGEST_TAIL)));
                (self.state, self.sessions) = (State::Ready, 0);
            }
            // No test runs: there is nothing to do.
            (Stop::COMMAND, _) => {}
            (_, State::Ready) if message[0] != Request::COMMAND => {
                let accept = if self.sessions == 0 { Accept::FAILED } else { Accept::OK };
                self.say(StartAck { accept }.write());
                if accept == Accept::OK {
                    self.commands.push_back(TwampCommand::Begin);
                    (self.state, self.deadline) = (State::Running, None);
                }
            }
            _ => return Err(violation(format!("command {} came while tests ran", message[0]))),
        }
        Ok(())
    }

    /// The requested test, if it is allowed. Addresses in it are ignored: packets go only to the client itself, since a forged
    /// address would otherwise receive them, and a client behind a NAT does not know its own.
    fn checked(&mut self, message: &[u8]) -> Result<TestRequest, Accept> {
        let request = Request::read(message).ok_or(Accept::UNSUPPORTED)?;
        let dscp = request.dscp().ok_or(Accept::UNSUPPORTED)?;
        if self.sessions >= MOST_SESSIONS {
            return Err(Accept::NOT_NOW);
        }
        self.timeout = self.timeout.max(request.timeout);
        Ok(TestRequest { port: request.receiver_port, dscp })
    }
}

impl Session for Server {
    /// An error ends the dialogue.
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        let outcome = match input {
            _ if self.state == State::Over => Ok(()),
            Input::Received(bytes) => {
                self.heard.extend_from_slice(bytes);
                self.listen(now)
            }
            // A client may close at any time; its tests end with the connection.
            Input::Closed => {
                (self.state, self.deadline) = (State::Over, None);
                Ok(())
            }
            Input::Timer if self.deadline.is_some_and(|deadline| now >= deadline) => {
                Err(ProtocolError::Timeout("for a minute: it requested nothing".into()))
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
        match self.out.pop_front() {
            Some(message) => Output::Send(message),
            None if self.state == State::Over && !std::mem::replace(&mut self.closed, true) => Output::Close,
            None => Output::WaitUntil(self.deadline.filter(|_| self.state != State::Over)),
        }
    }
}

/// Most tests of one client at a time.
const MOST_SESSIONS: u32 = 4;
/// Bytes that may arrive before they are answered: a few requests at once.
const MOST_HEARD: usize = 1024;
/// Longest time between two commands while nothing runs.
const COMMAND_LIMIT: Nanos = Nanos::from_secs(60);
/// Longest time for which packets are answered after the end.
const LONGEST_TAIL: Nanos = Nanos::from_secs(10);
