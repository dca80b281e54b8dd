//! Common part of the clients of every kind of session: entry, pings and goodbye.

use super::entry::{ClientConfig, Entry, Granted};
use super::link::{LEAVING, Link};
use super::message::{Ask, Limits, Message};
use super::ping::Pinger;
use crate::hex::SessionId;
use crate::work::Refusal;
use crate::{FlowHello, FlowPlan, FlowsRequest, Input, Output, ProtocolError, Session, WorkKind, WorkReply};
use model::host::Host;
use model::plan::TestSpec;
use model::stats::clock::ClockFit;
use model::time::MonoTime;

/// The dialogue of a client: of a throughput test ([`Client`](super::Client)), of probes and round trips
/// ([`ProbeClient`](super::probe::ProbeClient)), or of frames ([`FramesClient`](super::frames::FramesClient)).
///
/// The error of [`Session::input`] is the outcome: `Stopped` after [`Input::Interrupt`], `PeerStopped` when the
/// server ended the session.
#[derive(Debug)]
pub struct Caller<K> {
    pub(super) talk: Talk,
    phase: Phase,
    entry: Entry,
    pub(super) kind: K,
}

/// The connection as a kind of session sees it.
#[derive(Debug)]
pub struct Talk {
    pub(super) link: Link,
    pub(super) pinger: Pinger,
    pub(super) granted: Option<Granted>,
}

#[derive(Debug)]
enum Phase {
    /// Waits until the server has accepted.
    Entering,
    /// The kind of session handles the messages.
    Granted,
    /// `bye` has been sent.
    Leaving {
        deadline: MonoTime,
        verdict: Result<(), ProtocolError>,
    },
    Over,
}

/// The behaviour of a client that depends on the kind of session.
pub trait Kind: Send {
    /// The server has accepted. `test`: the throughput test as finally requested.
    fn granted(&mut self, talk: &mut Talk, now: MonoTime, test: Option<&TestSpec>);

    /// Takes a message of the server.
    ///
    /// # Errors
    /// The message is not due.
    fn message(&mut self, talk: &mut Talk, now: MonoTime, message: Message) -> Result<(), ProtocolError>;

    /// Takes the reply to requested work.
    ///
    /// # Errors
    /// The session cannot go on.
    fn reply(&mut self, talk: &mut Talk, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError>;

    /// Time at which the server is late.
    fn deadline(&self, link: &Link) -> Option<MonoTime>;

    /// The error of a late server.
    fn timeout(&self, link: &Link, now: MonoTime) -> ProtocolError;

    /// Phase of the session, for the error when the server closes.
    fn moment(&self) -> &'static str;

    /// Called after each comparison of the two clocks.
    fn pinged(&mut self, _talk: &mut Talk, _now: MonoTime) {}

    /// Handles the request of this end to stop.
    ///
    /// # Errors
    /// The session stops at once.
    fn interrupt(&mut self, talk: &mut Talk, _now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        Err(talk.link.stop(reason))
    }

    /// Handles the loss of the server's control connection.
    ///
    /// # Errors
    /// The session is over; otherwise this end's own results are still to be reported.
    fn lose(&mut self, _talk: &mut Talk, error: ProtocolError) -> Result<(), ProtocolError> {
        Err(error)
    }

    /// True: the server is lost, and only this end's own results are waited for.
    fn is_alone(&self) -> bool {
        false
    }

    /// The outcome of the session, once it has ended.
    fn verdict(&mut self) -> Option<Result<(), ProtocolError>> {
        None
    }
}

impl Talk {
    /// The flows of a session that has just been granted.
    pub(super) fn open(&mut self, test: TestSpec, kind: WorkKind) {
        let Some(Granted { session, key, host }) = &self.granted else { return };
        let hello = FlowHello::Native { session: *session, key: *key };
        let plan = FlowPlan { test, hello, senders_wait_for_stop: false };
        let request = FlowsRequest { peer: Some(host.clone()), ..FlowsRequest::new(plan, kind) };
        self.link.work(request);
    }

    /// Ends the session, whose flows could not be opened, and reports the reason to the server.
    pub(super) fn failed(&mut self, reason: String) -> ProtocolError {
        self.link.refuse(Refusal::new("flows", &reason, ""));
        ProtocolError::Flows(reason)
    }
}

impl<K: Kind> Caller<K> {
    /// Begins the dialogue.
    pub(super) fn begin(config: ClientConfig, ask: Ask, kind: K, now: MonoTime) -> Caller<K> {
        let mut link = Link::new(now);
        let entry = Entry::new(config, ask, &mut link, now);
        let talk = Talk { link, pinger: Pinger::new(now), granted: None };
        Caller { talk, phase: Phase::Entering, entry, kind }
    }

    /// Name of the session, once granted: from the opening of the flows on.
    pub fn session(&self) -> Option<SessionId> {
        self.talk.granted.as_ref().map(|granted| granted.session)
    }

    /// The server's host, once granted.
    pub fn peer_host(&self) -> Option<&Host> {
        self.talk.granted.as_ref().map(|granted| &granted.host)
    }

    /// The server's software; empty before its hello.
    pub fn peer_software(&self) -> &str {
        &self.entry.software
    }

    /// The server's limits, once its hello has arrived.
    pub fn limits(&self) -> &Limits {
        &self.entry.limits
    }

    /// The server's clock relative to this one, once there are enough exchanges.
    pub fn clock(&self) -> Option<ClockFit> {
        self.talk.pinger.fit()
    }

    /// True: the kind of session handles the messages.
    pub(super) fn is_granted(&self) -> bool {
        matches!(self.phase, Phase::Granted)
    }

    /// Sends `bye`.
    pub(super) fn say_bye(&mut self, now: MonoTime, verdict: Result<(), ProtocolError>) {
        self.talk.link.send(&Message::Bye {});
        self.phase = Phase::Leaving { deadline: now + LEAVING, verdict };
    }

    fn receive(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.talk.link.receive(now, bytes);
        while !self.is_deaf() {
            let step = match self.talk.link.decoder.next_message() {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => self.message(now, message),
                Err(error) => Err(error),
            };
            step.or_else(|error| self.fail(error))?;
            self.settle(now);
        }
        Ok(())
    }

    /// True: messages of the peer are ignored.
    fn is_deaf(&self) -> bool {
        match self.phase {
            Phase::Granted => self.kind.is_alone(),
            Phase::Over => true,
            Phase::Entering | Phase::Leaving { .. } => false,
        }
    }

    fn message(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        match (&self.phase, message) {
            (Phase::Entering, message) => {
                if let Some(granted) = self.entry.message(&mut self.talk.link, now, message)? {
                    self.talk.granted = Some(granted);
                    self.phase = Phase::Granted;
                    self.kind.granted(&mut self.talk, now, self.entry.test());
                }
                Ok(())
            }
            (Phase::Leaving { .. }, Message::Bye {}) => self.leave(),
            (Phase::Leaving { .. } | Phase::Over, _) => Ok(()),
            (Phase::Granted, Message::Refuse(refusal)) => Err(super::link::refused(&refusal)),
            (Phase::Granted, Message::Pong { id, t2, t3, .. }) => {
                self.talk.pinger.pong(now, id, t2, t3);
                self.kind.pinged(&mut self.talk, now);
                Ok(())
            }
            (Phase::Granted, message) => self.kind.message(&mut self.talk, now, message),
        }
    }

    /// Sends `bye` when the session is over.
    fn settle(&mut self, now: MonoTime) {
        if self.is_granted()
            && let Some(verdict) = self.kind.verdict()
        {
            self.say_bye(now, verdict);
        }
    }

    /// Closes with the outcome of the session.
    fn leave(&mut self) -> Result<(), ProtocolError> {
        match self.close() {
            Phase::Leaving { verdict, .. } => verdict,
            _ => Ok(()),
        }
    }

    fn close(&mut self) -> Phase {
        if !matches!(self.phase, Phase::Over) {
            self.talk.link.push(Output::Close);
        }
        std::mem::replace(&mut self.phase, Phase::Over)
    }

    /// Handles the loss of the peer: an error at once, or after this end's own result has been reported.
    fn fail(&mut self, error: ProtocolError) -> Result<(), ProtocolError> {
        if matches!(error, ProtocolError::Violation { .. }) {
            self.talk.link.refuse(Refusal::new("protocol", error.to_string(), ""));
        }
        if self.is_granted() { self.kind.lose(&mut self.talk, error) } else { Err(error) }
    }

    fn closed(&mut self) -> Result<(), ProtocolError> {
        let when = match self.phase {
            Phase::Leaving { .. } | Phase::Over => return self.leave(),
            Phase::Entering => "before it accepted the test",
            Phase::Granted => self.kind.moment(),
        };
        self.fail(ProtocolError::Closed(when.into()))
    }

    fn deadline(&self) -> Option<MonoTime> {
        match &self.phase {
            Phase::Entering => Some(self.entry.deadline),
            Phase::Granted => self.kind.deadline(&self.talk.link),
            Phase::Leaving { deadline, .. } => Some(*deadline),
            Phase::Over => None,
        }
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        match &self.phase {
            Phase::Entering => self.fail(self.entry.timeout()),
            Phase::Granted => self.fail(self.kind.timeout(&self.talk.link, now)),
            Phase::Leaving { .. } | Phase::Over => self.leave(),
        }
    }

    fn interrupt(&mut self, now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Granted => self.kind.interrupt(&mut self.talk, now, reason),
            Phase::Leaving { .. } | Phase::Over => self.leave(),
            Phase::Entering => Err(self.talk.link.stop(reason)),
        }
    }

    fn take(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Received(bytes) => self.receive(now, bytes),
            Input::Closed => self.closed(),
            Input::Timer => self.timer(now),
            Input::Interrupt(reason) => self.interrupt(now, reason),
            Input::Work(reply) if self.is_granted() => self.kind.reply(&mut self.talk, now, reply),
            Input::Work(_) => Ok(()),
        }
    }
}

impl<K: Kind> Session for Caller<K> {
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if matches!(self.phase, Phase::Over) {
            return Ok(());
        }
        let result = self.take(now, input);
        self.settle(now);
        result.inspect_err(|_| drop(self.close()))
    }

    fn output(&mut self, now: MonoTime) -> Output {
        let pinging = self.is_granted() && !self.kind.is_alone();
        if pinging && let Some(ping) = self.talk.pinger.poll(now) {
            self.talk.link.send(&ping);
        }
        let due = pinging.then_some(self.talk.pinger.due);
        let next = self.talk.link.pop();
        next.unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}
