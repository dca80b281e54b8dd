//! The client: it requests the test, decides when it is over, and closes the dialogue.

use crate::iperf3::cookie::Cookie;
use crate::iperf3::dialogue::{DRAIN_LIMIT, DRAIN_QUIET, Dialogue, LOCAL_WORK, STALL, TIMEOUT, unexpected};
use crate::iperf3::params::{Params, block_length, in_whole_buffers};
use crate::iperf3::results::{MAX_RESULTS, Results};
use crate::iperf3::state::{ErrorCode, State};
use crate::work::throughput::{Expect, Extras, Reply, Report, Request, Until};
use crate::{FlowHello, FlowPlan, FlowsRequest, Input, Output, ProtocolError, Session, WorkKind, WorkReply};
use model::event::{EndResult, Event};
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::{Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;

/// Configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// The session's name, made from fresh random bytes.
    pub cookie: Cookie,
    /// The test. Its times go to the server in whole seconds, fractions rounded up; this end keeps them exactly.
    pub test: TestSpec,
    /// The rest of the parameters.
    pub extras: Extras,
}

/// A client's dialogue, from the moment the control connection is open.
///
/// It emits the server's results as [`Event::Result`]. An [`Input::Interrupt`] while the test runs ends it early
/// with all its results; a second one, or one before or after, ends the session with [`ProtocolError::Stopped`].
pub struct Client {
    config: ClientConfig,
    talk: Dialogue,
    phase: Phase,
    /// The server sent `SERVER_ERROR`; its code follows.
    erring: bool,
    flows_open: bool,
    senders_done: bool,
    interrupted: bool,
    /// Time at which the test is over, whatever the data flows do.
    ends: Option<MonoTime>,
    /// Bytes received by this end when they last changed, and the time of that change.
    progress: Option<(u64, MonoTime)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waits for `PARAM_EXCHANGE` of the server.
    Greeting,
    /// Waits for `CREATE_STREAMS` of the server.
    Agreeing,
    /// Waits for `TEST_START` of the server while the flows open, in any order.
    Opening,
    /// Waits for `TEST_RUNNING` of the server while the flows open.
    Starting,
    /// The flows open; the server is ready.
    Ready,
    /// Data moves.
    Running,
    /// This end's senders stop.
    Stopping,
    /// Waits for `EXCHANGE_RESULTS` of the server.
    Ending,
    /// This end drains and measures.
    Draining,
    /// The server sends its results.
    Exchanging,
    /// Waits for `DISPLAY_RESULTS` of the server.
    Displaying,
}

impl Client {
    /// A client whose control connection has just been opened.
    #[must_use]
    pub fn new(config: ClientConfig, now: MonoTime) -> Client {
        let mut talk = Dialogue::default();
        talk.push(Output::Send(config.cookie.to_wire().to_vec()));
        talk.wait(now, TIMEOUT);
        Client {
            config,
            talk,
            phase: Phase::Greeting,
            erring: false,
            flows_open: false,
            senders_done: false,
            interrupted: false,
            ends: None,
            progress: None,
        }
    }

    fn work(&mut self, now: MonoTime, reply: WorkReply) -> Result<(), ProtocolError> {
        match reply {
            WorkReply::Open(_) => {
                self.flows_open = true;
                self.start_when_ready(now);
            }
            WorkReply::Failed(why) => return Err(ProtocolError::Flows(why)),
            WorkReply::Throughput(Reply::Progress { received, omitted, .. }) => {
                self.note_progress(now, received, omitted);
            }
            WorkReply::Throughput(Reply::SendersDone(_)) => self.note_senders_done(now),
            WorkReply::Throughput(Reply::Measured { result, .. }) => self.measured(now, &result),
            // Samples, and replies to other kinds of work.
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        loop {
            if self.erring {
                let Some([code, errno]) = self.talk.error_words() else { return Ok(()) };
                return Err(self.refused(code, errno));
            }
            match self.phase {
                Phase::Exchanging if !self.talk.is_stop_next() => {
                    let Some(message) = self.talk.message(self.results_limit())? else { return Ok(()) };
                    self.take_results(now, &message)?;
                }
                _ => {
                    let Some(byte) = self.talk.byte() else { return Ok(()) };
                    self.take_state(now, byte)?;
                }
            }
        }
    }

    fn take_state(&mut self, now: MonoTime, byte: u8) -> Result<(), ProtocolError> {
        match (State::from_byte(byte), self.phase) {
            (Some(State::ServerError), _) => {
                self.erring = true;
                self.talk.wait(now, LOCAL_WORK);
            }
            (Some(State::AccessDenied), _) => return Err(ProtocolError::Busy),
            (Some(State::ServerTerminate), _) => {
                return Err(ProtocolError::PeerStopped("the server was stopped".into()));
            }
            (Some(State::ParamExchange), Phase::Greeting) => self.send_params(now),
            (Some(State::CreateStreams), Phase::Agreeing) => self.open_flows(now),
            (Some(State::TestStart), Phase::Opening) => self.phase = Phase::Starting,
            (Some(State::TestRunning), Phase::Starting) => {
                self.phase = Phase::Ready;
                self.start_when_ready(now);
            }
            (Some(State::ExchangeResults), Phase::Ending) => self.drain(now),
            (Some(State::DisplayResults), Phase::Displaying) => {
                self.talk.send_state(State::IperfDone);
                self.talk.close();
            }
            _ => return Err(unexpected(byte, self.awaited())),
        }
        Ok(())
    }

    fn send_params(&mut self, now: MonoTime) {
        let params = Params { test: self.config.test.clone(), extras: self.config.extras.clone() };
        self.talk.send_message(&params.encode());
        self.enter(now, Phase::Agreeing, TIMEOUT);
    }

    fn open_flows(&mut self, now: MonoTime) {
        let plan = FlowPlan {
            test: in_whole_buffers(self.config.test.clone()),
            hello: FlowHello::Iperf3 { cookie: self.config.cookie.to_string() },
            senders_wait_for_stop: false,
        };
        self.talk.work(FlowsRequest::new(plan, WorkKind::Throughput));
        self.enter(now, Phase::Opening, TIMEOUT + TIMEOUT);
    }

    fn start_when_ready(&mut self, now: MonoTime) {
        if self.phase != Phase::Ready || !self.flows_open {
            return;
        }
        self.talk.work(Request::Start);
        self.phase = Phase::Running;
        let longest = match self.config.test.end {
            End::Time(time) => time,
            End::Bytes(_) | End::Blocks(_) => Nanos::MAX,
        };
        // Senders keep the time themselves; the deadline is for those that do not stop.
        let margin = if self.sends() { SENDERS_MARGIN } else { Nanos::ZERO };
        self.ends = Some(now + self.config.test.omit + longest + margin);
        self.wait_while_running();
    }

    fn note_progress(&mut self, now: MonoTime, received: u64, omitted: bool) {
        if self.phase != Phase::Running {
            return;
        }
        if self.progress.is_none_or(|(known, _)| known != received) {
            self.progress = Some((received, now));
        }
        let block = u64::from(block_length(&self.config.test));
        let quota = match self.config.test.end {
            End::Time(_) => None,
            End::Bytes(bytes) => Some(bytes.0),
            End::Blocks(blocks) => Some(blocks.saturating_mul(block)),
        };
        if self.receives() && !omitted && quota.is_some_and(|quota| received >= quota) {
            self.stop(now);
        } else {
            self.wait_while_running();
        }
    }

    /// Waits until the end of the test, or until the longest permitted silence where only this end receives.
    fn wait_while_running(&mut self) {
        let stalled =
            self.progress.filter(|_| !self.sends()).map(|(got, last)| last + self.longest_silence(got));
        self.talk.wait_until(self.ends.into_iter().chain(stalled).min());
    }

    /// A server that has sent all requested datagrams falls silent; lost datagrams never arrive.
    fn longest_silence(&self, received: u64) -> Nanos {
        let test = &self.config.test;
        let by_count = !matches!(test.end, End::Time(_));
        if test.transport == Transport::Udp && by_count && received > 0 { LOST_TAIL } else { STALL }
    }

    fn note_senders_done(&mut self, now: MonoTime) {
        self.senders_done = true;
        if self.sends() && matches!(self.phase, Phase::Running | Phase::Stopping) {
            self.end(now);
        }
    }

    fn stop(&mut self, now: MonoTime) {
        if self.sends() && !self.senders_done {
            self.talk.work(Request::StopSenders);
            self.enter(now, Phase::Stopping, LOCAL_WORK);
        } else {
            self.end(now);
        }
    }

    fn end(&mut self, now: MonoTime) {
        self.talk.send_state(State::TestEnd);
        self.enter(now, Phase::Ending, self.timeout());
    }

    /// A sender has nothing to drain: what it sent arrives while it waits for the results.
    fn drain(&mut self, now: MonoTime) {
        let receiving = self.config.test.stream_numbers(Direction::Down);
        let expect = receiving.map(|stream| Expect { stream, until: Until::Quiet(DRAIN_QUIET) }).collect();
        self.talk.work(Request::Drain { expect, limit: DRAIN_LIMIT });
        self.enter(now, Phase::Draining, DRAIN_LIMIT + LOCAL_WORK);
    }

    fn measured(&mut self, now: MonoTime, result: &SideResult) {
        if self.phase == Phase::Draining {
            self.talk.send_message(&Results::of_side(result, None).encode());
            self.enter(now, Phase::Exchanging, self.timeout());
        }
    }

    fn take_results(&mut self, now: MonoTime, message: &[u8]) -> Result<(), ProtocolError> {
        let results = Results::decode(message)?;
        let result = results.to_side(&self.config.test, Direction::Down)?;
        // A server that has received this request from one client sends its report to later ones, too (iPerf3 3.21).
        let report = results.report.filter(|_| self.config.extras.get_server_output);
        let (output_text, output_json) = match report {
            Some(Report::Text(text)) => (Some(text), None),
            Some(Report::Json(json)) => (None, Some(json)),
            None => (None, None),
        };
        let peer = EndResult { side: Side::Peer, result, output_text, output_json };
        self.talk.push(Output::Event(Event::Result(peer)));
        self.enter(now, Phase::Displaying, LOCAL_WORK);
        Ok(())
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if !self.talk.is_due(now) {
            return Ok(());
        }
        let ended = self.ends.is_some_and(|ends| ends <= now);
        match self.phase {
            // All results are here; only the server's goodbye is missing.
            Phase::Displaying => {
                self.talk.close();
                Ok(())
            }
            Phase::Running
                if ended || self.progress.is_some_and(|(got, _)| self.longest_silence(got) < STALL) =>
            {
                self.stop(now);
                Ok(())
            }
            _ if self.erring => Err(self.refused_in_short()),
            Phase::Running => {
                Err(ProtocolError::Timeout(format!("while {}: no data for {STALL}", self.doing())))
            }
            Phase::Stopping | Phase::Draining => {
                Err(ProtocolError::Flows("the data flows do not stop".into()))
            }
            _ => Err(ProtocolError::Timeout(format!("while {}", self.doing()))),
        }
    }

    fn closed(&mut self) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Displaying => {
                self.talk.close();
                Ok(())
            }
            _ if self.erring => Err(self.refused_in_short()),
            _ => Err(ProtocolError::Closed(format!("while {}{}", self.doing(), self.auth_hint()))),
        }
    }

    fn interrupt(&mut self, now: MonoTime, why: &str) -> Result<(), ProtocolError> {
        let running = matches!(self.phase, Phase::Running);
        let first = !std::mem::replace(&mut self.interrupted, true);
        if running && first {
            self.stop(now);
            return Ok(());
        }
        Err(ProtocolError::Stopped(why.into()))
    }

    /// Some errors lack the second word: 3.12 closes behind the code when it refuses a user.
    fn refused_in_short(&mut self) -> ProtocolError {
        match self.talk.error_code() {
            Some(code) => self.refused(code, 0),
            None => ProtocolError::Refused("it reported an error, but not which".into()),
        }
    }

    fn refused(&self, code: i32, errno: i32) -> ProtocolError {
        let system = if errno > 0 { format!(" (system error {errno})") } else { String::new() };
        let hint = if ErrorCode(code) == ErrorCode::AUTHORIZATION { "" } else { self.auth_hint() };
        let text = format!("{}{system}{hint}", ErrorCode(code));
        match self.phase {
            Phase::Greeting | Phase::Agreeing => ProtocolError::Refused(text),
            _ => ProtocolError::PeerStopped(text),
        }
    }

    /// Servers up to 3.21 do not report that they refuse a user: they close, or report some other error.
    fn auth_hint(&self) -> &'static str {
        let tried = self.config.extras.auth_token.is_some();
        if tried && self.phase == Phase::Agreeing {
            "; it may not have accepted the user and password: check name, password, key, padding, and both clocks"
        } else {
            ""
        }
    }

    /// Sends the reason of the end to a server that is still there and does not know it.
    fn say_why(&mut self, error: &ProtocolError) {
        let reported =
            matches!(error, ProtocolError::Closed(_) | ProtocolError::Refused(_) | ProtocolError::Busy);
        if !reported && !matches!(error, ProtocolError::PeerStopped(_)) {
            self.talk.send_state(State::ClientTerminate);
        }
    }

    fn enter(&mut self, now: MonoTime, phase: Phase, span: Nanos) {
        self.phase = phase;
        self.talk.wait(now, span);
    }

    /// After an interrupt this end waits only briefly.
    fn timeout(&self) -> Nanos {
        if self.interrupted { HURRY } else { TIMEOUT }
    }

    fn results_limit(&self) -> usize {
        if self.config.extras.get_server_output { MAX_REPORT } else { MAX_RESULTS }
    }

    fn sends(&self) -> bool {
        self.config.test.directions.up()
    }

    fn receives(&self) -> bool {
        self.config.test.directions.down()
    }

    fn awaited(&self) -> &'static str {
        match self.phase {
            Phase::Greeting => "ParamExchange",
            Phase::Agreeing => "CreateStreams",
            Phase::Opening => "TestStart",
            Phase::Starting => "TestRunning",
            Phase::Ending => "ExchangeResults",
            Phase::Displaying => "DisplayResults",
            _ => "nothing",
        }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Greeting => {
                "the session was opened (is this an iPerf3 server? is it blocked by another client?)"
            }
            Phase::Agreeing => "the test was agreed on",
            Phase::Opening | Phase::Starting | Phase::Ready => "the data streams were opened",
            Phase::Running | Phase::Stopping => "the test was running",
            Phase::Ending | Phase::Draining => "the test was ended",
            Phase::Exchanging | Phase::Displaying => "the results were exchanged",
        }
    }
}

impl Session for Client {
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
            Input::Interrupt(why) => self.interrupt(now, why),
            Input::Work(reply) => self.work(now, reply),
        };
        outcome.inspect_err(|error| {
            self.say_why(error);
            self.talk.close();
        })
    }

    fn output(&mut self, _now: MonoTime) -> Output {
        self.talk.next()
    }
}

/// How much later than due this end's senders may stop by themselves.
const SENDERS_MARGIN: Nanos = Nanos::from_millis(500);
/// Timeout after an interrupt.
const HURRY: Nanos = Nanos::from_secs(5);
/// Datagrams that are still missing after this long are lost.
const LOST_TAIL: Nanos = Nanos::from_secs(3);
/// Bytes of JSON with the server's own report: a day of intervals of a few streams.
const MAX_REPORT: usize = 64 << 20;
