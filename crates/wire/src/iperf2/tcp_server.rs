//! The server's end of a TCP flow, whose kind is given by its first bytes. Also the client's end of a connection back (`-d`,
//! `-r`), which begins with data.

use super::flow::{A_DAY, FlowOutput, Machine, SILENCE, STALL, Steps, TIMEOUT, Watch};
use super::{Ack, AckTimes, Header, Request, Run, Traffic, Version, is_bounceback};
use crate::stamp::Clock;
use crate::work::in_band::FlowCommand;
use crate::{Policy, ProtocolError, Sent};
use model::plan::Transport;
use model::time::MonoTime;

/// One connection that a server has accepted.
#[must_use]
pub struct TcpServer {
    policy: Policy,
    clock: Clock,
    key: Option<Vec<u8>>,
    /// The request of this end and the time it was made, where this is the client's end of a connection back.
    awaited: Option<(Request, MonoTime)>,
    steps: Steps,
    watch: Watch,
    phase: Phase,
    /// Bytes of the portions that hold the header.
    opening: u64,
    /// Time at which the flow is over, whatever arrives.
    limit: MonoTime,
    /// The sender was stopped for good.
    stopping: bool,
    sending: bool,
    receiving: bool,
}

enum Phase {
    /// The first bytes arrive.
    Opening(Vec<u8>),
    /// Data moves as requested; a plain client's amount is not known.
    Running(Option<Box<Request>>),
    /// The connection is another machine's.
    Bouncing,
}

impl TcpServer {
    /// A connection that has just been accepted.
    pub fn new(policy: Policy, clock: Clock, now: MonoTime) -> TcpServer {
        let mut steps = Steps::default();
        steps.wait(now, TIMEOUT);
        TcpServer {
            policy,
            clock,
            key: None,
            awaited: None,
            steps,
            watch: Watch::default(),
            phase: Phase::Opening(Vec::new()),
            opening: 0,
            limit: now + A_DAY,
            stopping: false,
            sending: false,
            receiving: true,
        }
    }

    /// Serves only clients with this key (`--permit-key`), if there is one.
    pub fn with_key(self, key: Option<Vec<u8>>) -> TcpServer {
        TcpServer { key, ..self }
    }

    /// A connection back, if one is awaited, which was accepted now: it is to carry the requested data.
    pub(super) fn awaited(self, asked: Option<Request>, now: MonoTime) -> TcpServer {
        TcpServer { awaited: asked.map(|asked| (asked, now)), ..self }
    }

    fn admit(&mut self, now: MonoTime, request: Request, received: u64) -> Result<(), ProtocolError> {
        if self.key.is_some() && request.key != self.key {
            return Err(self.no_key());
        }
        let max = self.policy.max_streams.unwrap_or(u32::MAX);
        if request.streams > max {
            return Err(ProtocolError::Stopped(format!(
                "the client asks for {} streams and {max} are allowed",
                request.streams
            )));
        }
        if request.starts_too_late(self.clock.at(now)) {
            let why = "the client asks for a start that is more than a minute ahead";
            return Err(ProtocolError::Stopped(why.into()));
        }
        self.limit = now + request.time_limit(&self.policy);
        let request = request.within(&self.policy);
        if request.wants_ack() {
            self.steps.push(FlowCommand::Send(self.ack(&request, now).bytes()));
        }
        self.steps.push(FlowOutput::Request(Some(Box::new(request.clone()))));
        if request.traffic == Traffic::Dual {
            self.steps.push(FlowOutput::ConnectBack(Box::new(request.clone())));
        }
        self.start(now, Some(request), received);
        Ok(())
    }

    fn start(&mut self, now: MonoTime, request: Option<Request>, received: u64) {
        if let Some((asked, began)) = self.awaited.as_ref().filter(|(asked, _)| asked.is_timed()) {
            // The server has no time but that, whatever its own first bytes announce.
            self.limit = self.limit.min(*began + asked.timeout());
        }
        let sending = request.as_ref().filter(|request| request.server_sends());
        let sends = sending.map(|request| request.sending(Vec::new()));
        let header = sending.filter(|request| request.has_records()).map_or_else(Vec::new, own_header);
        (self.sending, self.receiving) =
            (sends.is_some(), request.as_ref().is_none_or(Request::client_sends));
        let max_rate = self.policy.max_rate;
        let receive_rate = request.as_ref().map_or(max_rate, |request| request.share_of_rate(&self.policy));
        let run = Run { sends, receives: self.receiving, sent: header.len() as u64, received, receive_rate };
        if !header.is_empty() {
            self.steps.push(FlowCommand::Send(header));
        }
        self.steps.push(FlowCommand::Start(run));
        self.phase = Phase::Running(request.map(Box::new));
        self.opening = received;
        self.wait(now);
    }

    /// A client that is to send is over when its data stops, soon where only a header has arrived; a client that only receives,
    /// when its time is over.
    fn wait(&mut self, now: MonoTime) {
        let starts_later = matches!(&self.phase, Phase::Running(Some(request)) if request.starts_then);
        let silence = if self.watch.has_received() || starts_later { STALL + SILENCE } else { SILENCE };
        let silent = if self.receiving { now + silence } else { self.limit };
        self.steps.wait_until(silent.min(self.limit));
    }

    /// Ends the reception of data.
    fn finish(&mut self, now: MonoTime) {
        if self.sending {
            self.steps.push(FlowCommand::StopSender);
            self.steps.wait(now, TIMEOUT);
            return;
        }
        if let Phase::Running(Some(request)) = &self.phase
            && request.traffic == Traffic::Tradeoff
        {
            self.steps.push(FlowOutput::ConnectBack(request.clone()));
        }
        self.steps.close();
    }

    fn ack(&self, request: &Request, now: MonoTime) -> Ack {
        let here = self.clock.at(now);
        let sent = request.start.filter(|_| request.trip_times);
        Ack {
            version: Version::OURS,
            times: sent.map(|sent| AckTimes { sent, received: here, acknowledged: here }),
        }
    }

    fn no_key(&self) -> ProtocolError {
        ProtocolError::Stopped("the client does not know this server's key (--permit-key)".into())
    }
}

impl Machine for TcpServer {
    fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    fn received(&mut self, now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        let Phase::Opening(first) = &mut self.phase else { return Ok(()) };
        first.extend_from_slice(bytes);
        match is_bounceback(first) {
            None => return Ok(()),
            Some(true) if self.key.is_none() => {
                self.steps.push(FlowOutput::Bounce(std::mem::take(first)));
                self.phase = Phase::Bouncing;
                return Ok(());
            }
            Some(_) => {}
        }
        let received = first.len() as u64;
        match Request::read(Transport::Tcp, first) {
            Header::More(_) => Ok(()),
            Header::Request(request, _) => self.admit(now, *request, received),
            Header::Plain if self.key.is_none() => {
                self.limit = now + self.policy.max_time.unwrap_or(A_DAY);
                self.steps.push(FlowOutput::Request(None));
                self.start(now, None, received);
                Ok(())
            }
            Header::Plain => Err(self.no_key()),
            Header::Foreign => Err(ProtocolError::Violation {
                protocol: super::PROTOCOL,
                what: "its first bytes are no test header".into(),
            }),
        }
    }

    fn ended(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        match &self.phase {
            Phase::Opening(first) if first.is_empty() => self.steps.close(),
            Phase::Opening(_) => {
                return Err(ProtocolError::Closed("before the test header was complete".into()));
            }
            Phase::Bouncing => self.steps.close(),
            Phase::Running(_) if self.sending && !self.receiving => {
                return Err(ProtocolError::PeerStopped(
                    "it closed the connection while this end was sending".into(),
                ));
            }
            Phase::Running(_) => {
                let received = self.watch.observed.saturating_add(self.opening);
                let cut = self.awaited.as_ref().and_then(|(asked, began)| {
                    let ended = now.saturating_since(*began);
                    asked.cut_short(self.watch.heard_for(*began), Some(ended), received)
                });
                self.receiving = false;
                if let Some(cut) = cut {
                    return Err(ProtocolError::Closed(cut));
                }
                self.finish(now);
            }
        }
        Ok(())
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if let (Some((asked, began)), Phase::Running(_)) = (&self.awaited, &self.phase) {
            let received = self.watch.observed.saturating_add(self.opening);
            let silent = asked.fell_silent(self.watch.heard_for(*began), received);
            return Err(ProtocolError::Timeout(silent));
        }
        match &self.phase {
            // Its own loop detects that the client is gone.
            Phase::Bouncing => {
                self.steps.wait(now, STALL);
                Ok(())
            }
            Phase::Opening(_) => Err(ProtocolError::Timeout("with a test header".into())),
            // All data was sent; whether the client closes is irrelevant.
            Phase::Running(Some(request)) if !self.sending && request.server_sends() => {
                self.steps.close();
                Ok(())
            }
            Phase::Running(_) if self.sending && now >= self.limit && !self.stopping => {
                self.stopping = true;
                self.steps.push(FlowCommand::StopSender);
                self.steps.wait(now, TIMEOUT);
                Ok(())
            }
            Phase::Running(_) if now >= self.limit => {
                let end = "at the end of the time it asked for, or that this server allows (--max-time)";
                Err(ProtocolError::Timeout(end.into()))
            }
            Phase::Running(_) => {
                Err(ProtocolError::Timeout("while the test was running: nothing comes".into()))
            }
        }
    }

    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        let running = matches!(self.phase, Phase::Running(_)) && !self.stopping;
        let more = self.watch.progress(received.saturating_sub(self.opening), now);
        if more && running && self.receiving {
            self.wait(now);
        }
        Ok(())
    }

    fn sender_done(&mut self, now: MonoTime, _sent: Sent) {
        if std::mem::replace(&mut self.sending, false) {
            self.steps.push(FlowCommand::Shutdown);
            self.steps.wait(now, TIMEOUT);
        }
        if matches!(&self.phase, Phase::Running(Some(r)) if r.client_sends()) && !self.receiving {
            self.finish(now);
        }
    }

    fn interrupt(&mut self, now: MonoTime, why: &str) -> Result<(), ProtocolError> {
        if self.sending {
            self.steps.push(FlowCommand::StopSender);
            self.steps.wait(now, TIMEOUT);
            return Ok(());
        }
        Err(ProtocolError::Stopped(why.into()))
    }
}

/// Records are announced by the header before them, also where the server sends.
fn own_header(request: &Request) -> Vec<u8> {
    let forward = Request { traffic: Traffic::Forward, peer_detect: false, key: None, ..request.clone() };
    Request { version: Some(Version::OURS), starts_then: false, ..forward }.bytes()
}
