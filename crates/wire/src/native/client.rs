//! The client of a throughput test.

use super::caller::{Caller, Kind, Talk};
use super::frame::violation;
use super::link::{ANSWER, Link, opening, silent};
use super::message::{Ask, Message};
use super::ping::Pinger;
use super::run::Run;
use crate::work::throughput::{Reply, Request};
use crate::{ProtocolError, WorkKind, WorkReply};
use model::event::Event;
use model::plan::{Direction, TestSpec};
use model::sample::SideResult;
use model::time::MonoTime;
use model::units::Nanos;

pub use super::entry::ClientConfig;

/// The dialogue of a throughput test, client role. When either end stops it, the results of both are reported first.
pub type Client = Caller<Test>;

/// A throughput test.
#[derive(Debug)]
pub struct Test {
    state: State,
    /// Time at which the server is late, until the test runs.
    deadline: MonoTime,
    spec: TestSpec,
    started: MonoTime,
    has_clock: bool,
}

#[derive(Debug)]
enum State {
    /// Waits until the flows are open at both ends and the burst of pings is answered.
    Opening {
        open: bool,
        ready: bool,
    },
    /// `start` has been sent.
    Starting,
    Running(Box<Run>),
}

impl Client {
    /// Begins the dialogue. `interval` is the time between the server's reports; zero: none.
    pub fn new(config: ClientConfig, spec: TestSpec, interval: Nanos, now: MonoTime) -> Client {
        let ask = Ask::Throughput { spec: Box::new(spec.clone()), interval };
        let state = State::Opening { open: false, ready: false };
        let kind = Test { state, deadline: now, spec, started: now, has_clock: true };
        Caller::begin(config, ask, kind, now)
    }

    /// Leaves out the exchanges of clock readings before the test, which take a round trip.
    #[must_use]
    pub fn without_clock(mut self) -> Client {
        self.kind.has_clock = false;
        self
    }
}

impl Test {
    /// Sends `start` once flows and pings are ready.
    fn start(&mut self, talk: &mut Talk, now: MonoTime) {
        if let State::Opening { open: true, ready: true } = self.state
            && talk.pinger.burst_is_over()
        {
            talk.link.send(&Message::Start {});
            (self.state, self.deadline) = (State::Starting, now + ANSWER);
        }
    }

    fn started(&mut self, talk: &mut Talk, now: MonoTime) {
        self.started = now;
        self.state = State::Running(Box::new(Run::new(self.spec.clone(), Direction::Up, now)));
        talk.link.work(Request::Start);
    }

    fn running(&mut self, talk: &mut Talk, now: MonoTime, reply: Reply) -> Result<(), ProtocolError> {
        let State::Running(run) = &mut self.state else { return Ok(()) };
        run.set_rtt(talk.pinger.rtt.unwrap_or(Nanos::ZERO));
        match reply {
            Reply::Sample(sample) => run.local_sample(&mut talk.link, &sample),
            Reply::Progress { received, .. } => run.received = received,
            Reply::SendersDone(sent) => run.senders_done(&mut talk.link, now, &sent),
            Reply::Measured { result, .. } => return self.measured(talk, now, &result),
        }
        Ok(())
    }

    fn measured(&mut self, talk: &mut Talk, now: MonoTime, result: &SideResult) -> Result<(), ProtocolError> {
        let State::Running(run) = &mut self.state else { return Ok(()) };
        if let Some(offset) = talk.pinger.offset(self.started, now) {
            talk.link.event(Event::Probe(offset));
        }
        run.measured(&mut talk.link, now, result)
    }
}

impl Kind for Test {
    fn granted(&mut self, talk: &mut Talk, now: MonoTime, test: Option<&TestSpec>) {
        if let Some(test) = test {
            self.spec.clone_from(test);
        }
        talk.pinger = if self.has_clock { Pinger::new(now) } else { Pinger::seldom(now) };
        self.deadline = now + opening(&self.spec);
        talk.open(self.spec.clone(), WorkKind::Throughput);
    }

    fn message(&mut self, talk: &mut Talk, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        match (&mut self.state, message) {
            (State::Opening { ready, .. }, Message::Ready {}) => {
                *ready = true;
                self.start(talk, now);
            }
            (State::Starting, Message::Started {}) => self.started(talk, now),
            (State::Running(run), message) => return run.message(&mut talk.link, now, message),
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            _ => return Err(violation("a message that is not due before a test has started".into())),
        }
        Ok(())
    }

    fn reply(&mut self, talk: &mut Talk, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError> {
        match reply {
            WorkReply::Open(_) => {
                if let State::Opening { open, .. } = &mut self.state {
                    *open = true;
                }
                self.start(talk, now);
            }
            WorkReply::Failed(reason) => return Err(talk.failed(reason)),
            WorkReply::Throughput(reply) => return self.running(talk, now, reply),
            // Replies to other kinds of work.
            _ => {}
        }
        Ok(())
    }

    fn pinged(&mut self, talk: &mut Talk, now: MonoTime) {
        self.start(talk, now);
    }

    fn deadline(&self, link: &Link) -> Option<MonoTime> {
        match &self.state {
            State::Opening { .. } | State::Starting => Some(self.deadline),
            State::Running(run) if run.is_alone() => None,
            State::Running(run) => run.deadline().into_iter().chain([link.silence_ends()]).min(),
        }
    }

    fn timeout(&self, link: &Link, now: MonoTime) -> ProtocolError {
        match &self.state {
            State::Opening { .. } => {
                let limit = opening(&self.spec);
                ProtocolError::Timeout(format!("while the data flows were opened, for {limit}"))
            }
            State::Starting => ProtocolError::Timeout(format!("to the start within {ANSWER}")),
            State::Running(_) if now >= link.silence_ends() => silent(),
            State::Running(run) => run.timeout(),
        }
    }

    fn moment(&self) -> &'static str {
        if matches!(self.state, State::Running(_)) { "during the test" } else { "before the test started" }
    }

    fn interrupt(&mut self, talk: &mut Talk, now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        match &mut self.state {
            State::Running(run) => run.interrupt(&mut talk.link, now, reason),
            _ => Err(talk.link.stop(reason)),
        }
    }

    fn lose(&mut self, talk: &mut Talk, error: ProtocolError) -> Result<(), ProtocolError> {
        match &mut self.state {
            State::Running(run) => run.lose(&mut talk.link, error),
            _ => Err(error),
        }
    }

    fn is_alone(&self) -> bool {
        matches!(&self.state, State::Running(run) if run.is_alone())
    }

    fn verdict(&mut self) -> Option<Result<(), ProtocolError>> {
        match &mut self.state {
            State::Running(run) if run.is_over() => Some(run.verdict()),
            _ => None,
        }
    }
}
