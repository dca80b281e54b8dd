//! The client of a throughput test.

use super::entry::{Entry, Granted};
use super::frame::violation;
use super::hex::SessionId;
use super::link::{ANSWER, LEAVING, Link, opening, refused, silent};
use super::message::{Ask, Limits, Message, Refusal};
use super::ping::Pinger;
use super::run::Run;
use crate::{FlowHello, FlowPlan, Input, Output, ProtocolError, Session};
use model::event::Event;
use model::host::Host;
use model::plan::{Direction, TestSpec};
use model::sample::SideResult;
use model::stats::clock::ClockFit;
use model::time::MonoTime;
use model::units::Nanos;

pub use super::entry::ClientConfig;

/// The dialogue of a throughput test, client role.
///
/// The error of [`Session::input`] is the outcome: `Stopped` after [`Input::Interrupt`], `PeerStopped` when the
/// server ended the test; both come after the results of both ends have been told.
#[derive(Debug)]
pub struct Client {
    link: Link,
    state: State,
    entry: Entry,
    spec: TestSpec,
    granted: Option<Granted>,
    pinger: Pinger,
    started: MonoTime,
}

#[derive(Debug)]
enum State {
    /// Until the server has accepted.
    Entering,
    /// Until the flows are open at both ends and the burst of pings is answered.
    Opening {
        open: bool,
        ready: bool,
        deadline: MonoTime,
    },
    /// `start` is said.
    Starting {
        deadline: MonoTime,
    },
    Running(Box<Run>),
    /// `bye` is said.
    Leaving {
        deadline: MonoTime,
        verdict: Result<(), ProtocolError>,
    },
    Over,
}

impl Client {
    /// Begins the dialogue. `interval` is the time between the server's reports; zero: none.
    pub fn new(config: ClientConfig, spec: TestSpec, interval: Nanos, now: MonoTime) -> Client {
        let mut link = Link::new(now);
        let ask = Ask::Throughput { spec: Box::new(spec.clone()), interval };
        let entry = Entry::new(config, ask, &mut link, now);
        let pinger = Pinger::new(now);
        Client { link, state: State::Entering, entry, spec, granted: None, pinger, started: now }
    }

    /// Name of the session, once granted: from the first `OpenFlows` on.
    pub fn session(&self) -> Option<SessionId> {
        self.granted.as_ref().map(|granted| granted.session)
    }

    /// The server's host, once granted.
    pub fn peer_host(&self) -> Option<&Host> {
        self.granted.as_ref().map(|granted| &granted.host)
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
        self.pinger.rtt()
    }

    /// The server's clock as seen from here, once there are exchanges enough.
    pub fn clock(&self) -> Option<ClockFit> {
        self.pinger.fit()
    }

    fn receive(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.link.receive(now, bytes);
        loop {
            let step = match self.link.decoder.next_message() {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => self.message(now, message),
                Err(error) => Err(error),
            };
            step.or_else(|error| self.fail(error))?;
            if self.is_deaf() {
                return Ok(());
            }
        }
    }

    /// Nothing the peer says matters any more.
    fn is_deaf(&self) -> bool {
        match &self.state {
            State::Running(run) => run.is_alone(),
            state => matches!(state, State::Over),
        }
    }

    fn message(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Entering) {
            if let Some(granted) = self.entry.message(&mut self.link, now, message)? {
                self.grant(now, granted);
            }
            return Ok(());
        }
        match (&mut self.state, message) {
            (State::Leaving { .. }, Message::Bye {}) => return self.leave(),
            (State::Leaving { .. } | State::Over, _) => {}
            (_, Message::Refuse(refusal)) => return Err(refused(&refusal)),
            (_, Message::Pong { id, t2, t3, .. }) => self.pong(now, id, t2, t3),
            (State::Opening { ready, .. }, Message::Ready {}) => {
                *ready = true;
                self.start(now);
            }
            (State::Starting { .. }, Message::Started {}) => self.started(now),
            (State::Running(run), message) => {
                run.message(&mut self.link, now, message)?;
                self.settle(now);
            }
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            _ => return Err(violation("a message that is not due before a test has started".into())),
        }
        Ok(())
    }

    fn grant(&mut self, now: MonoTime, granted: Granted) {
        if let Some(test) = self.entry.test() {
            self.spec.clone_from(test);
        }
        let hello = FlowHello::Native { session: granted.session, key: granted.key };
        self.granted = Some(granted);
        self.pinger = Pinger::new(now);
        self.state = State::Opening { open: false, ready: false, deadline: now + opening(&self.spec) };
        let plan = FlowPlan { test: self.spec.clone(), hello, senders_wait_for_stop: false };
        self.link.push(Output::OpenFlows(plan));
    }

    fn pong(&mut self, now: MonoTime, id: u64, t2: MonoTime, t3: MonoTime) {
        self.pinger.pong(now, id, t2, t3);
        self.start(now);
    }

    /// Says `start` when everything is there.
    fn start(&mut self, now: MonoTime) {
        if let State::Opening { open: true, ready: true, .. } = self.state
            && self.pinger.burst_is_over()
        {
            self.link.send(&Message::Start {});
            self.state = State::Starting { deadline: now + ANSWER };
        }
    }

    fn started(&mut self, now: MonoTime) {
        self.started = now;
        self.state = State::Running(Box::new(Run::new(self.spec.clone(), Direction::Up, now)));
        self.link.push(Output::StartFlows);
    }

    /// Says `bye` when the test is over.
    fn settle(&mut self, now: MonoTime) {
        if let State::Running(run) = &mut self.state
            && run.is_over()
        {
            let verdict = run.verdict();
            self.link.send(&Message::Bye {});
            self.state = State::Leaving { deadline: now + LEAVING, verdict };
        }
    }

    /// Closes, with the verdict on the test.
    fn leave(&mut self) -> Result<(), ProtocolError> {
        self.link.push(Output::Close);
        match std::mem::replace(&mut self.state, State::Over) {
            State::Leaving { verdict, .. } => verdict,
            _ => Ok(()),
        }
    }

    /// The peer cannot be spoken to any more: an error at once, or after this end's own result has been told.
    fn fail(&mut self, error: ProtocolError) -> Result<(), ProtocolError> {
        if matches!(error, ProtocolError::Violation { .. }) {
            self.link.refuse(Refusal::new("protocol", error.to_string(), ""));
        }
        if let State::Running(run) = &mut self.state {
            return run.lose(&mut self.link, error);
        }
        Err(error)
    }

    fn closed(&mut self) -> Result<(), ProtocolError> {
        let when = match self.state {
            State::Leaving { .. } => return self.leave(),
            State::Entering => "before it accepted the test",
            State::Running(_) => "during the test",
            _ => "before the test started",
        };
        self.fail(ProtocolError::Closed(when.into()))
    }

    fn deadline(&self) -> Option<MonoTime> {
        match &self.state {
            State::Entering => Some(self.entry.deadline()),
            State::Opening { deadline, .. }
            | State::Starting { deadline }
            | State::Leaving { deadline, .. } => Some(*deadline),
            State::Running(run) if run.is_alone() => None,
            State::Running(run) => run.deadline().into_iter().chain([self.link.silence_ends()]).min(),
            State::Over => None,
        }
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        let error = match &self.state {
            State::Entering => self.entry.timeout(),
            State::Opening { .. } => {
                let limit = opening(&self.spec);
                ProtocolError::Timeout(format!("while the data flows were opened, for {limit}"))
            }
            State::Starting { .. } => ProtocolError::Timeout(format!("to the start within {ANSWER}")),
            State::Running(_) if now >= self.link.silence_ends() => silent(),
            State::Running(run) => run.timeout(),
            State::Leaving { .. } | State::Over => return self.leave(),
        };
        self.fail(error)
    }

    fn interrupt(&mut self, now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        match &mut self.state {
            State::Running(run) => return run.interrupt(&mut self.link, now, reason),
            State::Leaving { .. } => return self.leave(),
            _ => {}
        }
        self.link.send(&Message::Stop { reason: reason.into() });
        Err(ProtocolError::Stopped(reason.into()))
    }

    fn flows_open(&mut self, now: MonoTime) {
        if let State::Opening { open, .. } = &mut self.state {
            *open = true;
        }
        self.start(now);
    }

    fn flows_failed(&mut self, reason: &str) -> Result<(), ProtocolError> {
        self.link.refuse(Refusal::new("flows", reason, ""));
        Err(ProtocolError::Flows(reason.into()))
    }

    /// Does something with the test, if it runs.
    fn running(&mut self, step: impl FnOnce(&mut Run, &mut Link)) {
        if let State::Running(run) = &mut self.state {
            run.set_rtt(self.pinger.rtt().unwrap_or(Nanos::ZERO));
            step(run, &mut self.link);
        }
    }

    fn measured(&mut self, now: MonoTime, result: &SideResult) -> Result<(), ProtocolError> {
        let State::Running(run) = &mut self.state else { return Ok(()) };
        if let Some(offset) = self.pinger.offset(self.started, now) {
            self.link.push(Output::Event(Event::Probe(offset)));
        }
        run.measured(&mut self.link, now, result)
    }

    fn take(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Received(_) if self.is_deaf() => {}
            Input::Received(bytes) => return self.receive(now, bytes),
            Input::Closed => return self.closed(),
            Input::Timer => return self.timer(now),
            Input::FlowsOpen(_) => self.flows_open(now),
            Input::FlowsFailed(reason) => return self.flows_failed(reason),
            Input::LocalSample(sample) => self.running(|run, link| run.local_sample(link, sample)),
            Input::Progress { received, .. } => self.running(|run, _| run.progress(received)),
            Input::SendersDone(sent) => self.running(|run, link| run.senders_done(link, now, sent)),
            Input::Measured { result, .. } => return self.measured(now, result),
            Input::Interrupt(reason) => return self.interrupt(now, reason),
            Input::Datagram { .. }
            | Input::PathSeen(_)
            | Input::DatagramTooBig(_)
            | Input::Reflected(_)
            | Input::Port(_) => {}
        }
        Ok(())
    }
}

impl Session for Client {
    fn peer(&self) -> Option<&Host> {
        self.peer_host()
    }

    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Over) {
            return Ok(());
        }
        let result = self.take(now, input);
        self.settle(now);
        result.inspect_err(|_| {
            if !matches!(self.state, State::Over) {
                self.state = State::Over;
                self.link.push(Output::Close);
            }
        })
    }

    fn output(&mut self, now: MonoTime) -> Output {
        let pinging = match &self.state {
            State::Opening { .. } | State::Starting { .. } => true,
            State::Running(run) => !run.is_alone(),
            _ => false,
        };
        if pinging && let Some(ping) = self.pinger.poll(now) {
            self.link.send(&ping);
        }
        let due = pinging.then(|| self.pinger.due());
        self.link
            .pop()
            .unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}
