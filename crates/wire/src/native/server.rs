//! The server of one session, of either kind.

use super::admit;
use super::auth::{Proof, Token, derive};
use super::frame::{MAX_FRAME, violation};
use super::frames;
use super::frames::server::Framing;
use super::link::{ANSWER, LEAVING, Link, opening, refused, silent};
use super::load;
use super::message::{Ask, Hello, Message};
use super::probe::server::Probing;
use super::probe::{latency_test, load_test};
use super::run::Run;
use crate::hex::{FlowKey, Mac, Nonce, SessionId, short};
use crate::rate_watch::RateWatch;
use crate::work::Refusal;
use crate::work::{self, frames as ports, probes, round_trips, throughput};
use crate::{
    FlowHello, FlowPlan, FlowsRequest, Input, Output, Policy, ProtocolError, Session, WorkKind, WorkReply,
};
use model::host::Host;
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::SideResult;
use model::time::MonoTime;
use model::units::Nanos;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The token clients must know; absent: the server is open to everyone.
    pub token: Option<Token>,
    /// Bytes that only the two ends of this TLS connection know (exported under our own label, RFC 8446 section 7.5); empty
    /// without TLS.
    pub binding: Vec<u8>,
    /// Limits for the requests of clients.
    pub policy: Policy,
    /// The server already runs as many tests as it allows: refuse this one.
    pub busy: bool,
    /// Random bytes, new for each session.
    pub entropy: [u8; 32],
    /// Software and version.
    pub software: String,
    /// This host, reported to accepted clients.
    pub host: Host,
}

/// The dialogue of one session, server role, of the kind that the client requests.
///
/// The error of [`Session::input`] is the outcome: `Stopped` after [`Input::Interrupt`], `PeerStopped` when the client ended the
/// test; both follow the results of both ends.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    link: Link,
    state: State,
    /// Time at which the client is late, where the state has no deadline of its own.
    deadline: MonoTime,
    session: SessionId,
    key: FlowKey,
    ask: Option<Ask>,
    peer: Option<Host>,
    knows_frames: bool,
    /// Whether the client has proved the token; absent: it has not tried to, or need not.
    authenticated: Option<bool>,
    /// Watches the rate of the client; absent once that was exceeded.
    rate: Option<RateWatch>,
}

#[derive(Debug)]
enum State {
    /// Waits for the client's hello.
    Hello,
    /// Waits for the proof of the token over this challenge.
    Auth(Nonce),
    /// Waits for the client's request.
    Test,
    /// Waits until the flows are open.
    Opening,
    /// Waits for the client's `start`.
    Ready,
    Running {
        run: Box<Run>,
        limit: Option<MonoTime>,
    },
    Probing(Box<Probing>),
    Framing(Box<Framing>),
    /// The driver answers the messages of a latency session.
    Reflecting,
    /// All messages are sent; waits for the client's `bye`.
    Leaving(Result<(), ProtocolError>),
    /// The client was refused; waits until it has read that and closes, and ignores its messages.
    Denied(ProtocolError),
    Over,
}

impl Server {
    /// A dialogue with a client that has just connected.
    pub fn new(config: ServerConfig, now: MonoTime) -> Server {
        let session = SessionId::new(short(&derive(&config.entropy, "session")));
        let key = FlowKey::new(derive(&config.entropy, "flow key"));
        Server {
            config,
            link: Link::new(now),
            state: State::Hello,
            deadline: now + ANSWER,
            session,
            key,
            ask: None,
            peer: None,
            knows_frames: false,
            authenticated: None,
            rate: Some(RateWatch::default()),
        }
    }

    /// Name of the session, which its data flows present.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Secret of the session, which authenticates its data flows.
    pub fn key(&self) -> &FlowKey {
        &self.key
    }

    /// The agreed test; `None` before that, and in a probe session.
    pub fn spec(&self) -> Option<&TestSpec> {
        self.ask.as_ref().and_then(Ask::test)
    }

    /// Time between the reports that the client requests; `None`: no reports.
    pub fn interval(&self) -> Option<Nanos> {
        match &self.ask {
            Some(Ask::Throughput { interval, .. }) if *interval > Nanos::ZERO => {
                Some((*interval).max(SHORTEST_INTERVAL))
            }
            _ => None,
        }
    }

    /// Whether the client has proved the token; absent: it has not tried to, or there is none.
    pub fn authenticated(&self) -> Option<bool> {
        self.authenticated
    }

    /// The client's host, once its request has arrived.
    pub fn peer_host(&self) -> Option<&Host> {
        self.peer.as_ref()
    }

    fn receive(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.link.receive(now, bytes);
        loop {
            let next = self.link.decoder.next_message();
            if self.link.decoder.version().is_some() {
                self.link.greet();
            }
            let step = match next {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => self.message(now, message),
                Err(error) => Err(error),
            };
            step.or_else(|error| self.fail(now, error))?;
            if self.is_deaf() {
                return Ok(());
            }
        }
    }

    /// True: messages of the peer are ignored.
    fn is_deaf(&self) -> bool {
        match &self.state {
            State::Running { run, .. } => run.is_alone(),
            state => matches!(state, State::Denied(_) | State::Over),
        }
    }

    fn message(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        match (&mut self.state, message) {
            (
                State::Leaving(_) | State::Probing(_) | State::Framing(_) | State::Reflecting,
                message @ Message::Bye {},
            ) => {
                self.link.send(&message);
                return self.leave();
            }
            (State::Leaving(_) | State::Denied(_) | State::Over, _) => {}
            (_, Message::Refuse(refusal)) => return Err(refused(&refusal)),
            (State::Hello, Message::Hello(hello)) => self.hello(now, hello),
            (State::Auth(challenge), Message::Auth { nonce, mac }) => {
                let challenge = *challenge;
                self.auth(now, challenge, nonce, mac);
            }
            (State::Test, Message::Test { ask, host }) => self.test(now, ask, host),
            (_, Message::Ping { id, t1, rtt }) if self.ask.is_some() => self.ping(now, id, t1, rtt),
            (State::Ready, Message::Start {}) => self.start(now),
            (State::Running { run, .. }, message) => {
                run.message(&mut self.link, now, message)?;
                self.settle(now);
            }
            (_, Message::Stop { reason }) => return Err(ProtocolError::PeerStopped(reason)),
            (State::Probing(_), message) => return self.probe(now, message),
            (State::Framing(framing), Message::FramesAsk { id, ask }) => {
                return framing.ask(&mut self.link, now, id, ask).map_err(violation);
            }
            (State::Framing(_), _) => {
                return Err(violation("a message that is not due in a session of frames".into()));
            }
            (State::Reflecting, Message::LatencyReport {}) => self.link.work(round_trips::Request::Count),
            _ => return Err(violation("a message that is not due before a test has started".into())),
        }
        Ok(())
    }

    fn hello(&mut self, now: MonoTime, hello: Hello) {
        self.knows_frames = hello.knows(frames::FEATURE);
        let challenge = Nonce::new(derive(&self.config.entropy, "server nonce"));
        let required = self.config.token.is_some();
        self.link.send(&Message::Hello(Hello {
            software: self.config.software.clone(),
            features: vec![frames::FEATURE.into(), load::FEATURE.into()],
            challenge: required.then_some(challenge),
            limits: Some(admit::limits(&self.config.policy)),
        }));
        self.enter(if required { State::Auth(challenge) } else { State::Test }, now + ANSWER);
    }

    fn enter(&mut self, state: State, deadline: MonoTime) {
        (self.state, self.deadline) = (state, deadline);
    }

    fn auth(&mut self, now: MonoTime, server: Nonce, client: Nonce, mac: Mac) {
        let Some(token) = &self.config.token else { return };
        let proof = Proof { token, server, client, binding: &self.config.binding };
        let proved = mac.proves(&proof.of_client());
        self.authenticated = Some(proved);
        if proved {
            self.link.send(&Message::Proof { mac: proof.of_server() });
            self.enter(State::Test, now + ANSWER);
            return;
        }
        self.deny(
            now,
            Refusal::new("auth", "the token is not this server's", "give the right one with --token-file"),
        );
    }

    fn test(&mut self, now: MonoTime, ask: Ask, host: Host) {
        if let Err(refusal) = self.admit(&ask) {
            return self.deny(now, refusal);
        }
        self.link.decoder.set_limit(MAX_FRAME);
        let accept = Message::Accept { session: self.session, key: self.key, host: self.config.host.clone() };
        let flows = match &ask {
            Ask::Frames(wish) => {
                self.state = State::Framing(Box::new(Framing::new(&self.config.policy, now)));
                self.link.work(ports::PortRequest::Open(wish.clone()));
                None
            }
            Ask::Throughput { spec, .. } => Some(((**spec).clone(), WorkKind::Throughput)),
            Ask::Latency { spec } => Some((latency_test(spec), WorkKind::RoundTrips)),
            Ask::Load {} => Some((load_test(), WorkKind::Load)),
            Ask::Probe {} | Ask::Unknown => Some((TestSpec::new(Transport::Udp), WorkKind::Probes)),
        };
        self.ask = Some(ask);
        if let Some((test, kind)) = flows {
            self.enter(State::Opening, now + opening(&test));
            let hello = FlowHello::Native { session: self.session, key: self.key };
            let plan = FlowPlan { test, hello, senders_wait_for_stop: false };
            let (peer, interval) = (Some(host.clone()), self.interval());
            self.link.work(FlowsRequest { peer, interval, ..FlowsRequest::new(plan, kind) });
        }
        self.peer = Some(host);
        self.link.send(&accept);
    }

    fn admit(&self, ask: &Ask) -> Result<(), Refusal> {
        if self.config.busy {
            return Err(Refusal::new("busy", "as many tests run as this server allows", "try again later"));
        }
        match ask {
            Ask::Throughput { spec, .. } => admit::check(spec, &self.config.policy),
            Ask::Latency { spec } => admit::check_latency(spec, &self.config.policy),
            Ask::Probe {} => Ok(()),
            Ask::Load {} => admit::check_streams(&load_test(), &self.config.policy),
            Ask::Frames(wish) if self.knows_frames => frames::check_wish(wish),
            Ask::Frames(_) => Err(Refusal::new(
                "unsupported",
                "a session of frames, where hello did not name that feature",
                "upgrade the client",
            )),
            Ask::Unknown => Err(Refusal::new(
                "unsupported",
                "this server does not know that kind of session",
                "upgrade it",
            )),
        }
    }

    fn flows_open(&mut self, now: MonoTime) {
        if !matches!(self.state, State::Opening) {
            return;
        }
        self.link.send(&Message::Ready {});
        if matches!(self.ask, Some(Ask::Probe {} | Ask::Load {})) {
            self.state = State::Probing(Box::new(Probing::new(&self.config.policy, now)));
        } else {
            self.enter(State::Ready, now + START);
        }
    }

    fn flows_failed(&mut self, now: MonoTime, reason: String) {
        self.link.refuse(Refusal::new("flows", &reason, ""));
        self.enter(State::Denied(ProtocolError::Flows(reason)), now + LEAVING);
    }

    fn start(&mut self, now: MonoTime) {
        if let Some(Ask::Latency { spec }) = &self.ask {
            let time = admit::latency_time(spec, &self.config.policy);
            let most = spec.rate.filter(|_| self.config.policy.max_rate.is_some());
            self.link.work(round_trips::Request::Reflect { spec: (**spec).clone(), most });
            self.link.send(&Message::Started {});
            self.enter(State::Reflecting, now + time + LATENCY_SLACK);
        }
        let Some(spec) = self.spec().cloned() else { return };
        let limit = match spec.end {
            End::Time(_) => None,
            End::Bytes(_) | End::Blocks(_) => Some(now + admit::longest(&self.config.policy)),
        };
        self.state = State::Running { run: Box::new(Run::new(spec, Direction::Down, now)), limit };
        self.link.send(&Message::Started {});
        self.link.work(throughput::Request::Start);
    }

    fn ping(&mut self, now: MonoTime, id: u64, t1: MonoTime, rtt: Option<Nanos>) {
        if let State::Running { run, .. } = &mut self.state {
            run.set_rtt(rtt.unwrap_or(Nanos::ZERO));
        }
        self.link.send(&Message::Pong { id, t1, t2: now, t3: now });
    }

    fn probe(&mut self, now: MonoTime, message: Message) -> Result<(), ProtocolError> {
        let is_load = matches!(self.ask, Some(Ask::Load {}));
        let State::Probing(probing) = &mut self.state else { return Ok(()) };
        match message {
            Message::ProbeSend(send) => probing.request(now, send).map_err(violation),
            Message::ProbeReport { id } => {
                self.link.send(&Message::ProbeObservation { id, received: probing.ledger.received(id) });
                Ok(())
            }
            Message::LoadSend { steps } if is_load => {
                let steps = probing.load.take(steps).map_err(violation)?;
                self.link.work(work::load::Request::Send(steps));
                Ok(())
            }
            Message::LoadReport { step } if is_load => {
                self.link.work(work::load::Request::Report(step));
                Ok(())
            }
            Message::PathReport { since } => {
                self.link.work(probes::Request::ReportPath { since });
                Ok(())
            }
            _ => Err(violation("a message that is not due in a probe session".into())),
        }
    }

    /// Takes the driver's reply about the interface of a session of frames.
    fn port(&mut self, now: MonoTime, answer: ports::PortAnswer) {
        let State::Framing(framing) = &mut self.state else { return };
        if let Err(refusal) = framing.answer(&mut self.link, now, answer) {
            self.deny(now, refusal);
        }
    }

    fn settle(&mut self, now: MonoTime) {
        if let State::Running { run, .. } = &mut self.state
            && run.is_over()
        {
            let verdict = run.verdict();
            self.enter(State::Leaving(verdict), now + ANSWER);
        }
    }

    /// Refuses, and leaves the client time to read the reason.
    fn deny(&mut self, now: MonoTime, refusal: Refusal) {
        let error = ProtocolError::Stopped(format!("refused the client: {}", refusal.text()));
        self.link.refuse(refusal);
        self.enter(State::Denied(error), now + LEAVING);
    }

    /// Closes with the outcome of the session.
    fn leave(&mut self) -> Result<(), ProtocolError> {
        self.link.push(Output::Close);
        match std::mem::replace(&mut self.state, State::Over) {
            State::Leaving(verdict) => verdict,
            State::Denied(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Handles the loss of the peer: an error at once, or after this end's own result has been reported, or after the peer had
    /// time to read the reason.
    fn fail(&mut self, now: MonoTime, error: ProtocolError) -> Result<(), ProtocolError> {
        let code = match error {
            ProtocolError::Version(_) => Some("version"),
            ProtocolError::Violation { .. } => self.link.decoder.version().map(|_| "protocol"),
            _ => None,
        };
        if let Some(code) = code {
            self.link.refuse(Refusal::new(code, error.to_string(), ""));
        }
        match &mut self.state {
            State::Running { run, .. } => run.lose(&mut self.link, error),
            State::Leaving(_) | State::Denied(_) => self.leave(),
            State::Over => Err(error),
            _ if code.is_none() => Err(error),
            _ => {
                self.enter(State::Denied(error), now + LEAVING);
                Ok(())
            }
        }
    }

    fn closed(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        let when = match self.state {
            State::Leaving(_) | State::Denied(_) => return self.leave(),
            State::Running { .. } => "during the test",
            State::Probing(_) => "during the probes",
            State::Reflecting => "during the round trips",
            State::Framing(_) => "during a session of frames",
            _ => "before a test started",
        };
        self.fail(now, ProtocolError::Closed(when.into()))
    }

    fn deadline(&self) -> Option<MonoTime> {
        let silence = self.link.silence_ends();
        match &self.state {
            State::Running { run, .. } if run.is_alone() => None,
            State::Running { run, limit } => {
                [run.deadline(), *limit].into_iter().flatten().chain([silence]).min()
            }
            State::Probing(probing) => Some(probing.deadline.min(silence)),
            State::Framing(framing) => Some(framing.deadline().min(silence)),
            State::Reflecting => Some(self.deadline.min(silence)),
            State::Over => None,
            _ => Some(self.deadline),
        }
    }

    /// Ends a test whose client sends more than it requested and this server allows.
    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        self.running(|run, _| run.received = received);
        let Some(allowed) = self.config.policy.max_rate else { return Ok(()) };
        let mut watch = self.rate.take();
        if watch.as_mut().is_some_and(|watch| watch.exceeds(now, received, Some(allowed))) {
            return self.interrupt(now, &format!("the highest rate this server allows is {allowed}"));
        }
        self.rate = watch;
        Ok(())
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        let error = match &mut self.state {
            State::Hello => late("its greeting", ANSWER),
            State::Auth(_) => late("the proof of the token", ANSWER),
            State::Test => late("its request", ANSWER),
            State::Opening => ProtocolError::Timeout("while its data flows were waited for".into()),
            State::Ready => late("the start of the test", START),
            State::Running { .. } | State::Probing(_) | State::Reflecting | State::Framing(_)
                if now >= self.link.silence_ends() =>
            {
                silent()
            }
            State::Running { limit: limit @ Some(_), .. } if limit.is_some_and(|limit| now >= limit) => {
                *limit = None;
                let allowed = admit::longest(&self.config.policy);
                return self.interrupt(now, &format!("the longest test this server allows is {allowed}"));
            }
            State::Running { run, .. } => run.timeout(),
            State::Probing(_) => return self.interrupt(now, "the time for probes is over"),
            State::Reflecting => return self.interrupt(now, "the time asked for is over"),
            State::Framing(framing) => {
                let reason = framing.late();
                return self.interrupt(now, reason);
            }
            State::Leaving(_) | State::Denied(_) | State::Over => return self.leave(),
        };
        self.fail(now, error)
    }

    fn interrupt(&mut self, now: MonoTime, reason: &str) -> Result<(), ProtocolError> {
        match &mut self.state {
            State::Running { run, .. } => return run.interrupt(&mut self.link, now, reason),
            State::Leaving(_) | State::Denied(_) => return self.leave(),
            _ => self.link.greet(),
        }
        Err(self.link.stop(reason))
    }

    /// Calls `step` with the test, if it runs.
    fn running(&mut self, step: impl FnOnce(&mut Run, &mut Link)) {
        if let State::Running { run, .. } = &mut self.state {
            step(run, &mut self.link);
        }
    }

    fn measured(&mut self, now: MonoTime, result: &SideResult) -> Result<(), ProtocolError> {
        let State::Running { run, .. } = &mut self.state else { return Ok(()) };
        run.measured(&mut self.link, now, result)
    }

    fn take(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Received(_) if self.is_deaf() => {}
            Input::Received(bytes) => return self.receive(now, bytes),
            Input::Closed => return self.closed(now),
            Input::Timer => return self.timer(now),
            Input::Interrupt(reason) => return self.interrupt(now, reason),
            Input::Work(reply) => return self.work(now, reply),
        }
        Ok(())
    }

    fn work(&mut self, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError> {
        match reply {
            WorkReply::Open(_) => self.flows_open(now),
            WorkReply::Failed(reason) => self.flows_failed(now, reason),
            WorkReply::Throughput(reply) => return self.moved(now, reply),
            WorkReply::Probes(reply) => self.probed(reply),
            WorkReply::RoundTrips(observed) => self.link.send(&Message::LatencyObservation(observed)),
            WorkReply::Frames(answer) => self.port(now, answer),
            WorkReply::Load(report) => self.link.send(&Message::LoadObservation(report)),
            WorkReply::InBand(_) => {}
        }
        Ok(())
    }

    fn moved(&mut self, now: MonoTime, reply: throughput::Reply) -> Result<(), ProtocolError> {
        match reply {
            throughput::Reply::Sample(_) if self.interval().is_none() => {}
            throughput::Reply::Sample(sample) => self.running(|run, link| run.local_sample(link, &sample)),
            throughput::Reply::Progress { received, .. } => return self.progress(now, received),
            throughput::Reply::SendersDone(sent) => {
                self.running(|run, link| run.senders_done(link, now, &sent))
            }
            throughput::Reply::Measured { result, .. } => return self.measured(now, &result),
        }
        Ok(())
    }

    fn probed(&mut self, reply: probes::Reply) {
        let State::Probing(probing) = &mut self.state else { return };
        match reply {
            probes::Reply::Datagram { bytes, fragment } => {
                if let Some(echo) = probing.datagram(&bytes, fragment) {
                    self.link.work(echo);
                }
            }
            probes::Reply::TooBig(size) => probing.too_big(size),
            probes::Reply::PathObservation(observed) => self.link.send(&Message::PathObservation(observed)),
        }
    }
}

impl Session for Server {
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
        let mut due = None;
        if let State::Probing(probing) = &mut self.state {
            probing.poll(now, &mut self.link);
            due = probing.due();
        }
        self.link
            .pop()
            .unwrap_or_else(|| Output::WaitUntil([self.deadline(), due].into_iter().flatten().min()))
    }
}

fn late(what: &str, after: Nanos) -> ProtocolError {
    ProtocolError::Timeout(format!("after {after} of waiting for {what}"))
}

/// Longest time between open flows and the client's start: its last handshake and its burst of pings.
const START: Nanos = Nanos::from_secs(30);
/// Time beyond the test of a latency session, for the messages before it and the last replies, its report and goodbye.
const LATENCY_SLACK: Nanos = Nanos::from_secs(30);
/// Shortest time between the reports that a client may request.
const SHORTEST_INTERVAL: Nanos = Nanos::from_millis(100);
