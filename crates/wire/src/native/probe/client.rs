//! The client of a probe or latency session. It speaks on the control connection; the datagrams themselves are its driver's.

use super::order::{check, duration};
use super::{ProbeSend, SizeCount, latency_test};
use crate::native::client::ClientConfig;
use crate::native::entry::{Entry, Granted};
use crate::native::frame::violation;
use crate::native::hex::SessionId;
use crate::native::link::{ANSWER, LEAVING, Link, opening, refused, silent};
use crate::native::message::{Ask, LatencySeen, Limits, Message, PathSeen, Refusal};
use crate::native::ping::Pinger;
use crate::{FlowHello, FlowPlan, Input, Output, ProtocolError, Session};
use model::host::Host;
use model::latency::LatencySpec;
use model::plan::{TestSpec, Transport};
use model::stats::clock::ClockFit;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

/// The dialogue of a probe session, client role. Once it [is ready](ProbeClient::is_ready) the driver sends probes
/// and echoes over the one UDP flow as it likes, orders some from the server, and asks which arrived. In a latency
/// session it sends SockPerf's messages ([`crate::sockperf::Client::native`]) over the flow, and the server answers.
#[derive(Debug)]
pub struct ProbeClient {
    link: Link,
    state: State,
    entry: Entry,
    granted: Option<Granted>,
    pinger: Pinger,
    replies: VecDeque<ProbeReply>,
    latency: Option<LatencySpec>,
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeReply {
    /// The ordered datagrams are sent.
    Sent {
        /// Of the order.
        id: u32,
        /// Sizes its kernel refused to send whole.
        too_big: Vec<u32>,
    },
    /// These have arrived at the server.
    Seen {
        /// The client's number of its datagrams.
        id: u32,
        /// Distinct ones, by size.
        received: Vec<SizeCount>,
    },
    /// What the server knows of the path.
    Path(Box<PathSeen>),
    /// What has come of the messages of a latency session.
    Reflected(LatencySeen),
}

#[derive(Debug)]
enum State {
    Entering,
    Opening {
        open: bool,
        ready: bool,
        deadline: MonoTime,
    },
    /// A latency session: until the server answers messages.
    Starting {
        deadline: MonoTime,
    },
    Ready {
        waiting: u32,
        deadline: MonoTime,
    },
    Leaving {
        deadline: MonoTime,
    },
    Over,
}

impl ProbeClient {
    /// Begins the dialogue.
    pub fn new(config: ClientConfig, now: MonoTime) -> ProbeClient {
        ProbeClient::begin(config, Ask::Probe {}, None, now)
    }

    /// Begins the dialogue of a latency session.
    pub fn latency(config: ClientConfig, spec: LatencySpec, now: MonoTime) -> ProbeClient {
        ProbeClient::begin(config, Ask::Latency { spec: Box::new(spec.clone()) }, Some(spec), now)
    }

    fn begin(config: ClientConfig, ask: Ask, latency: Option<LatencySpec>, now: MonoTime) -> ProbeClient {
        let mut link = Link::new(now);
        let entry = Entry::new(config, ask, &mut link, now);
        let (granted, replies, pinger) = (None, VecDeque::new(), Pinger::new(now));
        ProbeClient { link, state: State::Entering, entry, granted, pinger, replies, latency }
    }

    /// The flow is open and the server listens.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }

    /// Name of the session, once granted.
    pub fn session(&self) -> Option<SessionId> {
        self.granted.as_ref().map(|granted| granted.session)
    }

    /// The server's host, once granted.
    pub fn peer_host(&self) -> Option<&Host> {
        self.granted.as_ref().map(|granted| &granted.host)
    }

    /// What the server allows, once it has said hello.
    pub fn limits(&self) -> &Limits {
        self.entry.limits()
    }

    /// The server's clock as seen from here, once there are exchanges enough.
    pub fn clock(&self) -> Option<ClockFit> {
        self.pinger.fit()
    }

    /// Orders datagrams from the server; [`ProbeReply::Sent`] follows.
    ///
    /// # Errors
    /// The order is out of range, or the session is not ready.
    pub fn order(&mut self, now: MonoTime, send: ProbeSend) -> Result<(), ProtocolError> {
        check(&send).map_err(|what| ProtocolError::Flows(format!("order of probes: {what}")))?;
        let time = duration(&send);
        self.ask(now, time, Message::ProbeSend(send))
    }

    /// Asks which of this client's probes of this number have arrived; [`ProbeReply::Seen`] follows.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report(&mut self, now: MonoTime, id: u32) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::ProbeReport { id })
    }

    /// Asks what the server knows of the path to this end; [`ProbeReply::Path`] follows. Of the routers at which probes ended
    /// it tells what is about the order `since` or a later one.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report_path(&mut self, now: MonoTime, since: u32) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::PathReport { since })
    }

    /// Asks what has come of the messages of a latency session; [`ProbeReply::Reflected`] follows.
    ///
    /// # Errors
    /// The session is not ready.
    pub fn report_latency(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        self.ask(now, Nanos::ZERO, Message::LatencyReport {})
    }

    /// The next answer of the server.
    pub fn take_reply(&mut self) -> Option<ProbeReply> {
        self.replies.pop_front()
    }

    /// Ends the session.
    pub fn finish(&mut self, now: MonoTime) {
        if self.is_ready() {
            self.link.send(&Message::Bye {});
            self.state = State::Leaving { deadline: now + LEAVING };
        }
    }

    fn ask(&mut self, now: MonoTime, time: Nanos, message: Message) -> Result<(), ProtocolError> {
        let State::Ready { waiting, deadline } = &mut self.state else {
            return Err(ProtocolError::Flows("the probe session is not ready".into()));
        };
        *waiting += 1;
        // Four times as long as asked: the server's own limit on rates may slow it down.
        *deadline = (*deadline).max(now) + time.saturating_mul(4) + ANSWER;
        self.link.send(&message);
        Ok(())
    }

    fn receive(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.link.receive(now, bytes);
        while let Some(message) = self.link.decoder.next_message()? {
            self.message(now, message)?;
        }
        Ok(())
    }

    fn message(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Entering) {
            if let Some(granted) = self.entry.message(&mut self.link, now, message)? {
                self.grant(now, granted);
            }
            return Ok(());
        }
        match (&mut self.state, message) {
            (State::Leaving { .. }, Message::Bye {}) => self.close(),
            (State::Leaving { .. } | State::Over, _) => {}
            (_, Message::Refuse(refusal)) => return Err(refused(&refusal)),
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (_, Message::Pong { id, t2, t3, .. }) => self.pinger.pong(now, id, t2, t3),
            (State::Opening { ready, .. }, Message::Ready {}) => {
                *ready = true;
                self.opened(now);
            }
            (State::Ready { .. }, Message::ProbeSent { id, too_big }) => {
                return self.reply(ProbeReply::Sent { id, too_big });
            }
            (State::Ready { .. }, Message::ProbeSeen { id, received }) => {
                return self.reply(ProbeReply::Seen { id, received });
            }
            (State::Ready { .. }, Message::PathSeen(seen)) => {
                return self.reply(ProbeReply::Path(Box::new(seen.sane())));
            }
            (State::Starting { .. }, Message::Started {}) => {
                self.state = State::Ready { waiting: 0, deadline: now };
            }
            (State::Ready { .. }, Message::LatencySeen(seen)) => {
                return self.reply(ProbeReply::Reflected(seen));
            }
            _ => return Err(violation("a message that is not due in a probe session".into())),
        }
        Ok(())
    }

    fn grant(&mut self, now: MonoTime, granted: Granted) {
        let hello = FlowHello::Native { session: granted.session, key: granted.key };
        let test = self.latency.as_ref().map_or_else(|| TestSpec::new(Transport::Udp), latency_test);
        let plan = FlowPlan { test, hello, senders_wait_for_stop: false };
        self.granted = Some(granted);
        self.pinger = if self.latency.is_some() { Pinger::seldom(now) } else { Pinger::new(now) };
        let deadline = now + opening(&plan.test);
        self.state = State::Opening { open: false, ready: false, deadline };
        self.link.push(Output::OpenFlows(plan));
    }

    fn opened(&mut self, now: MonoTime) {
        if !matches!(self.state, State::Opening { open: true, ready: true, .. }) {
            return;
        }
        self.state = if self.latency.is_some() {
            self.link.send(&Message::Start {});
            State::Starting { deadline: now + ANSWER }
        } else {
            State::Ready { waiting: 0, deadline: now }
        };
    }

    /// An answer nobody waits for is a fault of the server: it could fill the memory.
    fn reply(&mut self, reply: ProbeReply) -> Result<(), ProtocolError> {
        let State::Ready { waiting: waiting @ 1.., .. } = &mut self.state else {
            return Err(violation("an answer without a question".into()));
        };
        *waiting -= 1;
        self.replies.push_back(reply);
        Ok(())
    }

    fn deadline(&self) -> Option<MonoTime> {
        match self.state {
            State::Entering => Some(self.entry.deadline()),
            State::Opening { deadline, .. } | State::Starting { deadline } | State::Leaving { deadline } => {
                Some(deadline)
            }
            State::Ready { waiting: 0, .. } => Some(self.link.silence_ends()),
            State::Ready { deadline, .. } => Some(self.link.silence_ends().min(deadline)),
            State::Over => None,
        }
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        Err(match self.state {
            State::Entering => self.entry.timeout(),
            State::Opening { .. } => ProtocolError::Timeout("while the probe flow was opened".into()),
            State::Starting { .. } => ProtocolError::Timeout("to the start of the round trips".into()),
            State::Ready { .. } if now >= self.link.silence_ends() => silent(),
            State::Ready { .. } => ProtocolError::Timeout("about the probes it was asked for".into()),
            State::Leaving { .. } | State::Over => {
                self.close();
                return Ok(());
            }
        })
    }

    fn flows_failed(&mut self, reason: &str) -> ProtocolError {
        self.link.refuse(Refusal::new("flows", reason, ""));
        ProtocolError::Flows(reason.into())
    }

    fn interrupt(&mut self, reason: &str) -> ProtocolError {
        self.link.send(&Message::Stop { reason: reason.into() });
        ProtocolError::Stopped(reason.into())
    }

    fn take(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Received(bytes) => return self.receive(now, bytes),
            Input::Closed if matches!(self.state, State::Leaving { .. }) => self.close(),
            Input::Closed => {
                let what = if self.latency.is_some() { "round trips" } else { "probes" };
                return Err(ProtocolError::Closed(format!("during the {what}")));
            }
            Input::Timer => return self.timer(now),
            Input::FlowsOpen(_) => {
                if let State::Opening { open, .. } = &mut self.state {
                    *open = true;
                }
                self.opened(now);
            }
            Input::FlowsFailed(reason) => return Err(self.flows_failed(reason)),
            Input::Interrupt(reason) => return Err(self.interrupt(reason)),
            // A probe session has no samples, senders or results.
            Input::LocalSample(_)
            | Input::Progress { .. }
            | Input::Datagram { .. }
            | Input::PathSeen(_)
            | Input::DatagramTooBig(_)
            | Input::Reflected(_)
            | Input::Port(_)
            | Input::SendersDone(_)
            | Input::Measured { .. } => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        self.state = State::Over;
        self.link.push(Output::Close);
    }
}

impl Session for ProbeClient {
    fn peer(&self) -> Option<&Host> {
        self.peer_host()
    }

    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if matches!(self.state, State::Over) {
            return Ok(());
        }
        self.take(now, input).inspect_err(|_| self.close())
    }

    fn output(&mut self, now: MonoTime) -> Output {
        let pinging =
            matches!(self.state, State::Opening { .. } | State::Starting { .. } | State::Ready { .. });
        if pinging && let Some(ping) = self.pinger.poll(now) {
            self.link.send(&ping);
        }
        let due = pinging.then(|| self.pinger.due());
        self.link
            .pop()
            .unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}
