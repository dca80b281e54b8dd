//! What the clients of every kind of session share: the way in, the pings, and the way out.

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
use model::units::Nanos;

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
    /// Until the server has accepted.
    Entering,
    /// What comes now is of the kind.
    Granted,
    /// `bye` is said.
    Leaving {
        deadline: MonoTime,
        verdict: Result<(), ProtocolError>,
    },
    Over,
}

/// What makes one kind of session of a client.
pub trait Kind: Send {
    /// The server has accepted. `test`: the throughput test as it was asked for in the end.
    fn granted(&mut self, talk: &mut Talk, now: MonoTime, test: Option<&TestSpec>);

    /// A message of the server.
    ///
    /// # Errors
    /// It is not due.
    fn message(&mut self, talk: &mut Talk, now: MonoTime, message: Message) -> Result<(), ProtocolError>;

    /// Something came of the work that was asked for.
    ///
    /// # Errors
    /// The session cannot go on.
    fn reply(&mut self, talk: &mut Talk, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError>;

    /// Then the server is late.
    fn deadline(&self, link: &Link) -> Option<MonoTime>;

    /// With what it is late.
    fn timeout(&self, link: &Link, now: MonoTime) -> ProtocolError;

    /// When it closed, should it close now.
    fn moment(&self) -> &'static str;

    /// The two clocks have been compared once more.
    fn pinged(&mut self, _talk: &mut Talk, _now: MonoTime) {}

    /// This end wants to stop.
    ///
    /// # Errors
    /// It stops at once.
    fn interrupt(&mut self, talk: &mut Talk, _now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        talk.link.send(&Message::Stop { reason: reason.into() });
        Err(ProtocolError::Stopped(reason.into()))
    }

    /// The server cannot be spoken to any more.
    ///
    /// # Errors
    /// That was all; otherwise this end's own results are still to be told.
    fn lose(&mut self, _talk: &mut Talk, error: ProtocolError) -> Result<(), ProtocolError> {
        Err(error)
    }

    /// The server is lost, and only this end's own results are waited for.
    fn is_alone(&self) -> bool {
        false
    }

    /// How the session has ended, once it has.
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

    /// The flows could not be opened: the server is told, and it is the end.
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

    /// The server's software; empty before it has said hello.
    pub fn peer_software(&self) -> &str {
        self.entry.software()
    }

    /// What the server allows, once it has said hello.
    pub fn limits(&self) -> &Limits {
        self.entry.limits()
    }

    /// Recent RTT of the control connection, application to application.
    pub fn rtt(&self) -> Option<Nanos> {
        self.talk.pinger.rtt()
    }

    /// The server's clock as seen from here, once there are exchanges enough.
    pub fn clock(&self) -> Option<ClockFit> {
        self.talk.pinger.fit()
    }

    /// What comes is of the kind.
    pub(super) fn is_granted(&self) -> bool {
        matches!(self.phase, Phase::Granted)
    }

    /// Says `bye`.
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

    /// Nothing the peer says matters any more.
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

    /// Says `bye` when the session is over.
    fn settle(&mut self, now: MonoTime) {
        if self.is_granted()
            && let Some(verdict) = self.kind.verdict()
        {
            self.say_bye(now, verdict);
        }
    }

    /// Closes, with the verdict on the session.
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

    /// The peer cannot be spoken to any more: an error at once, or after this end's own result has been told.
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
            Phase::Entering => Some(self.entry.deadline()),
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
            Phase::Entering => {
                self.talk.link.send(&Message::Stop { reason: reason.into() });
                Err(ProtocolError::Stopped(reason.into()))
            }
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
        let due = pinging.then(|| self.talk.pinger.due());
        let next = self.talk.link.pop();
        next.unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}
