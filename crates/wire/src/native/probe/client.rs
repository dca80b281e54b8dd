//! The client of a probe or latency session. This end handles the control connection; its driver handles the datagrams.

use super::schedule::{check, duration};
use super::{ProbeSend, SizeCount, latency_test, load_test};
use crate::native::caller::{Caller, Kind, Talk};
use crate::native::client::ClientConfig;
use crate::native::frame::violation;
use crate::native::link::{ANSWER, Link, opening, silent};
use crate::native::message::{Ask, Message};
use crate::native::ping::Pinger;
use crate::work::load::StepReport;
use crate::work::probes::PathObservation;
use crate::work::round_trips::LatencyObservation;
use crate::{ProtocolError, WorkKind, WorkReply};
use model::latency::LatencySpec;
use model::limit::StepRequest;
use model::plan::{TestSpec, Transport};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

/// The dialogue of a probe session, client role. Once it is ready, the driver sends probes and echoes over the one UDP flow as it
/// likes, requests datagrams from the server, and queries which of its own arrived. In a latency session it sends SockPerf's
/// messages ([`crate::sockperf::Client::native`]) over the flow, and the server answers.
pub type ProbeClient = Caller<Probes>;

/// Probes, or round trips.
#[derive(Debug)]
pub struct Probes {
    state: State,
    /// Time at which the server is late.
    deadline: MonoTime,
    replies: VecDeque<ProbeReply>,
    latency: Option<LatencySpec>,
    is_load: bool,
}

/// The server's replies.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeReply {
    /// The requested datagrams are sent.
    Sent {
        /// Number of the request.
        id: u32,
        /// Sizes its kernel refused to send whole.
        too_big: Vec<u32>,
    },
    /// Probes that have arrived at the server.
    Observation {
        /// The client's number of its datagrams.
        id: u32,
        /// Distinct probes, by size.
        received: Vec<SizeCount>,
    },
    /// The server's facts about the path.
    Path(Box<PathObservation>),
    /// The server's counts of the messages of a latency session.
    Reflected(LatencyObservation),
    /// The server's figures of a step of load.
    Load(Box<StepReport>),
}

#[derive(Debug)]
enum State {
    Opening {
        open: bool,
        ready: bool,
    },
    /// A latency session: waits until the server answers messages.
    Starting,
    /// The dialogue is open; the number counts the requests without a reply.
    Ready(u32),
}

impl ProbeClient {
    /// Begins the dialogue.
    pub fn new(config: ClientConfig, now: MonoTime) -> ProbeClient {
        Caller::begin(config, Ask::Probe {}, Probes::new(None, now), now)
    }

    /// Begins the dialogue of a session of load.
    pub fn load(config: ClientConfig, now: MonoTime) -> ProbeClient {
        let probes = Probes { is_load: true, ..Probes::new(None, now) };
        Caller::begin(config, Ask::Load {}, probes, now)
    }

    /// Begins the dialogue of a latency session.
    pub fn latency(config: ClientConfig, spec: LatencySpec, now: MonoTime) -> ProbeClient {
        let ask = Ask::Latency { spec: Box::new(spec.clone()) };
        Caller::begin(config, ask, Probes::new(Some(spec), now), now)
    }

    /// The flow is open and the server listens.
    pub fn is_ready(&self) -> bool {
        self.is_granted() && matches!(self.kind.state, State::Ready(_))
    }

    /// Requests datagrams from the server; [`ProbeReply::Sent`] follows.
    ///
    /// # Errors
    /// The request is out of range, or the session is not ready.
    pub fn request(&mut self, now: MonoTime, send: ProbeSend) -> Result<(), ProtocolError> {
        check(&send).map_err(|what| ProtocolError::Flows(format!("order of probes: {what}")))?;
        let time = duration(&send);
        self.ask(now, time, Message::ProbeSend(send))
    }

    /// Queries which of this client's probes of this number have arrived; [`ProbeReply::Observation`] follows.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report(&mut self, now: MonoTime, id: u32) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::ProbeReport { id })
    }

    /// Queries the server's facts about the path to this end; [`ProbeReply::Path`] follows. Routers at which probes ended are
    /// reported for the request `since` and later ones.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report_path(&mut self, now: MonoTime, since: u32) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::PathReport { since })
    }

    /// Queries the server's counts of the messages of a latency session; [`ProbeReply::Reflected`] follows.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report_latency(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::LatencyReport {})
    }

    /// Has the server send these steps of load from now on; none: nothing more.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn send_load(&mut self, now: MonoTime, steps: Vec<StepRequest>) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::LoadSend { steps })?;
        if let State::Ready(waiting) = &mut self.kind.state {
            // This message has no reply.
            *waiting -= 1;
        }
        Ok(())
    }

    /// Queries the server's figures of a step of load; [`ProbeReply::Load`] follows.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report_load(&mut self, now: MonoTime, step: u32) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::LoadReport { step })
    }

    /// The next answer of the server.
    pub fn take_reply(&mut self) -> Option<ProbeReply> {
        self.kind.replies.pop_front()
    }

    /// Ends the session.
    pub fn finish(&mut self, now: MonoTime) {
        if self.is_ready() {
            self.say_bye(now, Ok(()));
        }
    }

    fn ask(&mut self, now: MonoTime, time: Nanos, message: Message) -> Result<(), ProtocolError> {
        let granted = self.is_granted();
        let (State::Ready(waiting), true) = (&mut self.kind.state, granted) else {
            return Err(ProtocolError::Flows("the probe session is not ready".into()));
        };
        *waiting += 1;
        // Four times the requested time: the server's own limit on rates may slow it down.
        self.kind.deadline = self.kind.deadline.max(now) + time.saturating_mul(4) + ANSWER;
        self.talk.link.send(&message);
        Ok(())
    }
}

impl Probes {
    fn new(latency: Option<LatencySpec>, now: MonoTime) -> Probes {
        let state = State::Opening { open: false, ready: false };
        Probes { state, deadline: now, replies: VecDeque::new(), latency, is_load: false }
    }

    fn opened(&mut self, link: &mut Link, now: MonoTime) {
        if !matches!(self.state, State::Opening { open: true, ready: true }) {
            return;
        }
        (self.state, self.deadline) = if self.latency.is_some() {
            link.send(&Message::Start {});
            (State::Starting, now + ANSWER)
        } else {
            (State::Ready(0), now)
        };
    }

    /// Takes a reply. An unrequested one violates the protocol: such replies could fill the memory.
    fn answered(&mut self, reply: ProbeReply) -> Result<(), ProtocolError> {
        let State::Ready(waiting @ 1..) = &mut self.state else {
            return Err(violation("an answer without a question".into()));
        };
        *waiting -= 1;
        self.replies.push_back(reply);
        Ok(())
    }
}

impl Kind for Probes {
    fn granted(&mut self, talk: &mut Talk, now: MonoTime, _test: Option<&TestSpec>) {
        let (test, pinger, kind) = match &self.latency {
            Some(spec) => (latency_test(spec), Pinger::seldom(now), WorkKind::RoundTrips),
            None if self.is_load => (load_test(), Pinger::seldom(now), WorkKind::Load),
            None => (TestSpec::new(Transport::Udp), Pinger::new(now), WorkKind::Probes),
        };
        talk.pinger = pinger;
        self.deadline = now + opening(&test);
        talk.open(test, kind);
    }

    fn message(&mut self, talk: &mut Talk, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        let reply = match (&mut self.state, message) {
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (State::Opening { ready, .. }, Message::Ready {}) => {
                *ready = true;
                self.opened(&mut talk.link, now);
                return Ok(());
            }
            (State::Starting, Message::Started {}) => {
                (self.state, self.deadline) = (State::Ready(0), now);
                return Ok(());
            }
            (State::Ready(_), Message::ProbeSent { id, too_big }) => ProbeReply::Sent { id, too_big },
            (State::Ready(_), Message::ProbeObservation { id, received }) => {
                ProbeReply::Observation { id, received }
            }
            (State::Ready(_), Message::LoadObservation(report)) => ProbeReply::Load(report),
            (State::Ready(_), Message::PathObservation(observed)) => {
                ProbeReply::Path(Box::new(observed.sane()))
            }
            (State::Ready(_), Message::LatencyObservation(observed)) => ProbeReply::Reflected(observed),
            _ => return Err(violation("a message that is not due in a probe session".into())),
        };
        self.answered(reply)
    }

    fn reply(&mut self, talk: &mut Talk, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError> {
        match reply {
            WorkReply::Open(_) => {
                if let State::Opening { open, .. } = &mut self.state {
                    *open = true;
                }
                self.opened(&mut talk.link, now);
            }
            WorkReply::Failed(reason) => return Err(talk.failed(reason)),
            // The driver handles the flow.
            _ => {}
        }
        Ok(())
    }

    fn deadline(&self, link: &Link) -> Option<MonoTime> {
        Some(match self.state {
            State::Opening { .. } | State::Starting => self.deadline,
            State::Ready(0) => link.silence_ends(),
            State::Ready(_) => link.silence_ends().min(self.deadline),
        })
    }

    fn timeout(&self, link: &Link, now: MonoTime) -> ProtocolError {
        match self.state {
            State::Opening { .. } => ProtocolError::Timeout("while the probe flow was opened".into()),
            State::Starting => ProtocolError::Timeout("to the start of the round trips".into()),
            State::Ready(_) if now >= link.silence_ends() => silent(),
            State::Ready(_) => ProtocolError::Timeout("about the probes it was asked for".into()),
        }
    }

    fn moment(&self) -> &'static str {
        if self.latency.is_some() { "during the round trips" } else { "during the probes" }
    }
}
