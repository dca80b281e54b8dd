//! The server: it checks the request, sends until the client stops it, and reports its results last.

use crate::iperf3::admit::{admit, time_limit};
use crate::iperf3::cookie::Cookie;
use crate::iperf3::dialogue::{DRAIN_LIMIT, DRAIN_QUIET, Dialogue, LOCAL_WORK, STALL, TIMEOUT, unexpected};
use crate::iperf3::params::{MAX_PARAMS, Params, Refusal};
use crate::iperf3::results::{MAX_RESULTS, Results, StreamRow, stream_id};
use crate::iperf3::state::{ErrorCode, State};
use crate::rate_watch::RateWatch;
use crate::work::throughput::{Expect, Reply, Report, Request, Until};
use crate::{
    FlowHello, FlowPlan, FlowsRequest, Input, Output, Policy, ProtocolError, Session, WorkKind, WorkReply,
};
use model::event::{EndResult, Event};
use model::host::Host;
use model::plan::{Direction, TestSpec, Transport};
use model::sample::{Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;

/// Decides whether an authentication token (base64) is valid.
pub type Verifier = Box<dyn Fn(&str) -> bool + Send>;

/// Configuration of a server.
#[derive(Default)]
pub struct ServerConfig {
    /// Limits for the requests of clients.
    pub policy: Policy,
    /// Present: every client must authenticate.
    pub verifier: Option<Verifier>,
}

/// A server's dialogue with one client, from the moment its cookie has arrived.
///
/// The server emits the client's results as [`Event::Result`]. The agreed parameters are those of
/// [`WorkRequest::Flows`](crate::WorkRequest::Flows).
pub struct Server {
    config: ServerConfig,
    cookie: Cookie,
    talk: Dialogue,
    phase: Phase,
    params: Option<Params>,
    senders_done: bool,
    draining: bool,
    client_results: Option<Results>,
    measured: Option<(SideResult, Option<Report>)>,
    /// Deadline for the parameters, then for the test.
    limit: MonoTime,
    /// Payload bytes moved in all when they last changed, and the time of that change.
    progress: Option<(u64, MonoTime)>,
    /// Watches the rate of the client.
    rate: RateWatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client sends its parameters.
    Agreeing,
    /// The flows open.
    Opening,
    /// Data moves until the client sends `TEST_END`.
    Running,
    /// The client sends its results; this end stops, drains, measures.
    Ending,
    /// Waits for `IPERF_DONE` of the client.
    Displaying,
}

impl Server {
    /// A server whose client has sent its cookie.
    #[must_use]
    pub fn new(config: ServerConfig, cookie: Cookie, now: MonoTime) -> Server {
        let mut talk = Dialogue::default();
        talk.send_state(State::ParamExchange);
        talk.wait(now, IDLE);
        Server {
            config,
            cookie,
            talk,
            phase: Phase::Agreeing,
            params: None,
            senders_done: false,
            draining: false,
            client_results: None,
            measured: None,
            limit: now + TIMEOUT,
            progress: None,
            rate: RateWatch::default(),
        }
    }

    fn test(&self) -> Option<&TestSpec> {
        self.params.as_ref().map(|params| &params.test)
    }

    fn work(&mut self, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError> {
        match reply {
            WorkReply::Open(_) => self.start(now),
            WorkReply::Failed(why) => {
                self.talk.send_error(ErrorCode::ACCEPT);
                return Err(ProtocolError::Flows(why));
            }
            WorkReply::Throughput(Reply::Progress { sent, received, .. }) => {
                return self.note_progress(now, sent, received);
            }
            WorkReply::Throughput(Reply::SendersDone(_)) => {
                self.senders_done = true;
                self.drain_when_ready(now);
            }
            WorkReply::Throughput(Reply::Measured { result, report }) => {
                self.measured = Some((*result, report));
                self.answer_when_ready(now);
            }
            // Samples, and replies to other kinds of work.
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        let mut more = true;
        while more {
            more = match self.phase {
                _ if self.talk.is_stop_next() => self.read_state(now)?,
                Phase::Agreeing => self.read_params(now)?,
                Phase::Ending if self.client_results.is_none() => self.read_results(now)?,
                _ => self.read_state(now)?,
            };
        }
        Ok(())
    }

    fn read_params(&mut self, now: MonoTime) -> Result<bool, ProtocolError> {
        let message = self.talk.message(MAX_PARAMS);
        let message = message.inspect_err(|_| self.talk.send_error(ErrorCode::PARAMS))?;
        match message {
            None => self.talk.wait_until(Some(self.limit.min(now + IDLE))),
            Some(ref json) => self.take_params(now, json).map_err(|refusal| self.refuse(&refusal))?,
        }
        Ok(message.is_some())
    }

    fn read_results(&mut self, now: MonoTime) -> Result<bool, ProtocolError> {
        let message = self.talk.message(MAX_RESULTS);
        let taken = message.and_then(|message| {
            message.map(|json| self.take_results(now, &json)).transpose().map(|taken| taken.is_some())
        });
        taken.inspect_err(|_| self.talk.send_error(ErrorCode::RESULTS))
    }

    fn read_state(&mut self, now: MonoTime) -> Result<bool, ProtocolError> {
        let Some(byte) = self.talk.byte() else { return Ok(false) };
        self.take_state(now, byte)?;
        Ok(true)
    }

    fn take_state(&mut self, now: MonoTime, byte: u8) -> Result<(), ProtocolError> {
        match (State::from_byte(byte), self.phase) {
            (Some(State::ClientTerminate), _) => {
                Err(ProtocolError::PeerStopped("the client was stopped".into()))
            }
            (Some(State::IperfDone), Phase::Displaying) => {
                self.talk.close();
                Ok(())
            }
            (Some(State::IperfDone), _) => Err(ProtocolError::PeerStopped("the client left the test".into())),
            (Some(State::TestEnd), Phase::Running) => {
                self.end(now);
                Ok(())
            }
            _ => {
                self.talk.send_error(ErrorCode::MESSAGE);
                Err(unexpected(byte, self.awaited()))
            }
        }
    }

    fn take_params(&mut self, now: MonoTime, json: &[u8]) -> Result<(), Refusal> {
        let mut params = Params::decode(json)?;
        admit(&self.config.policy, &mut params)?;
        if let Some(verify) = &self.config.verifier
            && !params.extras.auth_token.as_deref().is_some_and(verify)
        {
            return Err(Refusal::with_code(ErrorCode::AUTHORIZATION, "no valid user and password"));
        }
        // The version is all that an iPerf3 client reports of itself.
        let version = params.extras.client_version.as_ref();
        let peer = version.map(|version| Host { version: format!("iPerf3 {version}"), ..Host::default() });
        let plan = FlowPlan {
            test: params.test.clone(),
            hello: FlowHello::Iperf3 { cookie: self.cookie.to_string() },
            senders_wait_for_stop: true,
        };
        let extras = Some(params.extras.clone());
        self.talk.work(FlowsRequest { peer, extras, ..FlowsRequest::new(plan, WorkKind::Throughput) });
        self.talk.send_state(State::CreateStreams);
        self.params = Some(params);
        self.enter(now, Phase::Opening, TIMEOUT);
        Ok(())
    }

    fn refuse(&mut self, refusal: &Refusal) -> ProtocolError {
        self.talk.send_error(refusal.code);
        ProtocolError::Stopped(refusal.to_string())
    }

    fn start(&mut self, now: MonoTime) {
        if self.phase != Phase::Opening {
            return;
        }
        let Some(params) = &self.params else { return };
        self.limit = now + time_limit(&self.config.policy, &params.test);
        self.talk.push(Output::Send(vec![State::TestStart.byte(), State::TestRunning.byte()]));
        self.talk.work(Request::Start);
        self.phase = Phase::Running;
        self.talk.wait_until(Some(self.limit));
    }

    fn note_progress(&mut self, now: MonoTime, sent: u64, received: u64) -> Result<(), ProtocolError> {
        if self.phase != Phase::Running {
            return Ok(());
        }
        let moved = sent.saturating_add(received);
        if self.progress.is_none_or(|(known, _)| known != moved) {
            self.progress = Some((moved, now));
        }
        let stalled = self.progress.map(|(_, last)| last + STALL);
        self.talk.wait_until(stalled.into_iter().chain([self.limit]).min());
        self.watch_rate(now, received)
    }

    /// Ends a test whose client sends above the policy's rate.
    fn watch_rate(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        let allowed = self.config.policy.max_rate;
        if !self.rate.exceeds(now, received, allowed) {
            return Ok(());
        }
        self.talk.send_error(ErrorCode::TOTAL_RATE);
        let allowed = allowed.unwrap_or_default();
        Err(ProtocolError::Stopped(format!("the client sent at a higher rate than the {allowed} allowed")))
    }

    fn end(&mut self, now: MonoTime) {
        self.talk.send_state(State::ExchangeResults);
        if self.sends() && !self.senders_done {
            self.talk.work(Request::StopSenders);
        }
        self.limit = now + TIMEOUT;
        self.enter(now, Phase::Ending, TIMEOUT);
        self.drain_when_ready(now);
    }

    fn take_results(&mut self, now: MonoTime, json: &[u8]) -> Result<(), ProtocolError> {
        let Some(test) = self.test() else { return Ok(()) };
        let results = Results::decode(json)?;
        let result = results.to_side(test, Direction::Up)?;
        let peer = EndResult { side: Side::Peer, result, output_text: None, output_json: None };
        self.talk.push(Output::Event(Event::Result(peer)));
        self.client_results = Some(results);
        self.drain_when_ready(now);
        self.answer_when_ready(now);
        Ok(())
    }

    /// Where this end only sends, its flows close as soon as it has stopped, because the client waits for that. Where it
    /// receives, the client's results contain how much is still to arrive.
    fn drain_when_ready(&mut self, now: MonoTime) {
        let stopped = self.senders_done || !self.sends();
        let reported = self.client_results.is_some() || !self.receives();
        if self.phase == Phase::Ending && stopped && reported && !self.draining {
            self.draining = true;
            self.talk.work(Request::Drain { expect: self.expected(), limit: DRAIN_LIMIT });
            self.talk.wait(now, DRAIN_LIMIT + TIMEOUT);
        }
    }

    fn expected(&self) -> Vec<Expect> {
        let (Some(test), Some(results)) = (self.test(), &self.client_results) else { return Vec::new() };
        let row = |stream| results.streams.iter().find(|row| row.id == stream_id(stream));
        let receiving = test.stream_numbers(Direction::Up);
        receiving.filter_map(|stream| Some(Expect { stream, until: until(test, row(stream)?) })).collect()
    }

    fn answer_when_ready(&mut self, now: MonoTime) {
        if self.phase != Phase::Ending || self.client_results.is_none() {
            return;
        }
        let wanted = self.params.as_ref().is_some_and(|params| params.extras.get_server_output);
        let Some((result, report)) = self.measured.take() else { return };
        let results = Results::of_side(&result, report.filter(|_| wanted));
        self.talk.send_message(&results.encode());
        self.talk.send_state(State::DisplayResults);
        self.enter(now, Phase::Displaying, LOCAL_WORK);
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if !self.talk.is_due(now) {
            return Ok(());
        }
        match self.phase {
            // The client has everything; only its goodbye is missing.
            Phase::Displaying => {
                self.talk.close();
                Ok(())
            }
            Phase::Running if now < self.limit => {
                self.talk.send_error(ErrorCode::NO_DATA);
                Err(ProtocolError::Timeout(format!("while the test was running: no data for {STALL}")))
            }
            Phase::Running => {
                self.talk.send_error(ErrorCode::EXPIRED);
                Err(ProtocolError::Timeout("at the end of the test: the time agreed on is long over".into()))
            }
            Phase::Opening => {
                self.talk.send_error(ErrorCode::ACCEPT);
                Err(ProtocolError::Timeout("while the data streams were opened".into()))
            }
            Phase::Ending if self.draining && self.client_results.is_some() => {
                Err(ProtocolError::Flows("the data flows do not stop".into()))
            }
            Phase::Agreeing | Phase::Ending => {
                Err(ProtocolError::Timeout(format!("while {} was due", self.awaited())))
            }
        }
    }

    fn closed(&mut self) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Displaying => {
                self.talk.close();
                Ok(())
            }
            _ => Err(ProtocolError::Closed(format!("while {} was due", self.awaited()))),
        }
    }

    fn enter(&mut self, now: MonoTime, phase: Phase, span: Nanos) {
        self.phase = phase;
        self.talk.wait(now, span);
    }

    fn sends(&self) -> bool {
        self.test().is_some_and(|test| test.directions.down())
    }

    fn receives(&self) -> bool {
        self.test().is_some_and(|test| test.directions.up())
    }

    fn awaited(&self) -> &'static str {
        match self.phase {
            Phase::Agreeing => "the parameters",
            Phase::Opening => "a data stream",
            Phase::Running => "TestEnd",
            Phase::Ending if self.client_results.is_none() => "the results",
            Phase::Displaying => "IperfDone",
            Phase::Ending => "nothing",
        }
    }
}

/// Outstanding data of a stream, given the amount that the client reports as sent. Its bytes are those of the counted time, so
/// with omitted time their sum is not known.
fn until(test: &TestSpec, row: &StreamRow) -> Until {
    match test.transport {
        Transport::Udp => Until::Sequence(u64::try_from(row.packets).unwrap_or(0), DRAIN_QUIET),
        Transport::Tcp if test.omit == Nanos::ZERO => Until::Bytes(row.bytes, DRAIN_LIMIT),
        Transport::Tcp => Until::Quiet(DRAIN_QUIET),
    }
}

impl Session for Server {
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        if self.talk.over {
            return Ok(());
        }
        let outcome = match input {
            Input::Received(bytes) => {
                self.talk.push_received(bytes);
                self.read(now)
            }
            Input::Closed => self.closed(),
            Input::Timer => self.timer(now),
            Input::Interrupt(why) => {
                self.talk.send_state(State::ServerTerminate);
                Err(ProtocolError::Stopped(why.into()))
            }
            Input::Work(reply) => self.work(now, reply),
        };
        outcome.inspect_err(|_| self.talk.close())
    }

    fn output(&mut self, _now: MonoTime) -> Output {
        self.talk.next()
    }
}

/// Longest pause between two portions of the parameters.
const IDLE: Nanos = Nanos::from_secs(10);
