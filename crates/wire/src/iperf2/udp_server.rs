//! The server's end of a UDP flow: begun by a datagram with a positive number, ended by a negative one, which is
//! answered by a report. Also the client's end of a flow back (`-d`, `-r`).
//!
//! Nothing in the protocol proves that the source of a datagram is its sender. So a flow that does not send is over when
//! nothing has come for ten seconds, and its reports are never more than three times what came (RFC 9000 section 8.1).
//! Whether this end may send data to an address is for the driver to know ([`Request::sends_to_source`]).

use super::flow::{A_DAY, DUPLEX_SLOP, FlowOutput, Machine, SILENCE, Steps, TIMEOUT, Watch, bare_head};
use super::{Header, Number, Request, Run, ServerReport, Traffic, is_wide, number, put_fin};
use crate::rate_watch::RateWatch;
use crate::stamp::Clock;
use crate::work::in_band::FlowCommand;
use crate::{Policy, ProtocolError, Sent};
use model::plan::Transport;
use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// One flow that a server has taken up.
pub struct UdpServer {
    /// Absent: the client sent no header.
    request: Option<Request>,
    wide: bool,
    clock: Clock,
    steps: Steps,
    watch: Watch,
    rate: RateWatch,
    /// The most that the client may send in a second.
    max_rate: Option<BitRate>,
    phase: Phase,
    /// Time at which the flow is over, whatever arrives.
    limit: MonoTime,
    /// Payload of the first end, and its number.
    end: (u64, u64),
    /// Payload bytes received, as far as they are known here, and bytes sent in reports.
    heard: u64,
    answered: u64,
    /// The sender was stopped for good.
    stopping: bool,
    /// The request of this end, where it is the client's end of a flow back, and when that came.
    awaited: Option<(Request, MonoTime)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Data moves.
    Running { sends: bool, receives: bool },
    /// The figures are being made.
    Measuring,
    /// The report was sent so many times.
    Reported(ServerReport, u32),
}

impl UdpServer {
    /// Accepts a flow that begins with this datagram; `None`: it does not begin one. Late datagrams of a finished flow have
    /// negative numbers, and foreign datagrams have no number or no time of day.
    #[must_use]
    pub fn new(first: &[u8], policy: &Policy, clock: Clock, now: MonoTime) -> Option<UdpServer> {
        let wide = is_wide(first);
        let (Some(Number::Data(_)), Some(_)) = (number(first, wide), super::fields::time(first, 4)) else {
            return None;
        };
        let request = match Request::read(Transport::Udp, first) {
            Header::Request(request, _) => Some(request),
            Header::Plain => None,
            Header::More(_) | Header::Foreign => return None,
        };
        if let Some(request) = &request {
            let too_many = policy.max_streams.is_some_and(|max| request.streams > max);
            if too_many || request.starts_too_late(clock.at(now)) {
                return None;
            }
        }
        let limit =
            request.as_ref().map_or(policy.max_time.unwrap_or(A_DAY), |request| request.time_limit(policy));
        let max_rate = request.as_ref().map_or(policy.max_rate, |request| request.share_of_rate(policy));
        let mut flow = UdpServer {
            request: request.map(|request| request.within(policy)),
            wide,
            clock,
            steps: Steps::default(),
            watch: Watch::default(),
            rate: RateWatch::default(),
            max_rate,
            phase: Phase::Running { sends: false, receives: true },
            limit: now + limit,
            end: (0, 0),
            heard: 0,
            answered: 0,
            stopping: false,
            awaited: None,
        };
        flow.start(now);
        Some(flow)
    }

    /// A flow back, if one is awaited, which came now: it is to bring what was asked for.
    #[must_use]
    pub(super) fn awaited(self, asked: Option<Request>, now: MonoTime) -> UdpServer {
        UdpServer { awaited: asked.map(|asked| (asked, now)), ..self }
    }

    /// The part that is missing where nothing arrives any more.
    fn fell_silent(&self) -> String {
        let silent = |(asked, began): &(Request, MonoTime)| {
            asked.fell_silent(self.watch.heard_for(*began), self.watch.observed)
        };
        self.awaited.as_ref().map_or_else(|| "at the end of the test: nothing comes".into(), silent)
    }

    fn start(&mut self, now: MonoTime) {
        let request = self.request.as_ref();
        self.steps.push(FlowOutput::Request(request.cloned().map(Box::new)));
        if let Some(request) = request.filter(|request| request.traffic == Traffic::Dual) {
            self.steps.push(FlowOutput::ConnectBack(Box::new(request.clone())));
        }
        let sends = request.filter(|request| request.server_sends());
        let sends = sends.map(|request| request.sending(bare_head()));
        let receives = request.is_none_or(Request::client_sends);
        self.phase = Phase::Running { sends: sends.is_some(), receives };
        self.steps.push(FlowCommand::Start(Run { sends, receives, ..Run::default() }));
        self.wait(now);
    }

    /// A client that is to send is over when its data stops; a client that only receives, when its time is over.
    fn wait(&mut self, now: MonoTime) {
        let silent = match self.phase {
            Phase::Running { receives: true, .. } => now + SILENCE,
            _ => self.limit,
        };
        self.steps.wait_until(silent.min(self.limit));
    }

    fn client_done(&mut self, now: MonoTime, sends: bool) {
        let traffic = self.request.as_ref().map_or(Traffic::Forward, |request| request.traffic);
        if traffic == Traffic::FullDuplex {
            self.phase = Phase::Running { sends, receives: false };
            if sends { self.steps.wait(now, TIMEOUT) } else { self.steps.close() }
        } else if self.request.as_ref().is_some_and(|request| request.no_fin) {
            self.finish();
        } else {
            self.phase = Phase::Measuring;
            self.steps.push(FlowCommand::Measure);
            self.steps.wait(now, TIMEOUT);
        }
    }

    fn report(&mut self, now: MonoTime, report: ServerReport, times: u32) {
        let bytes = report.bytes().to_vec();
        let answered = self.answered.saturating_add(bytes.len() as u64);
        // The source address may be forged.
        if answered <= self.heard.saturating_mul(MOST_FOR_EACH) {
            self.answered = answered;
            self.steps.push(FlowCommand::Send(bytes));
        }
        self.phase = Phase::Reported(report, times + 1);
        self.steps.wait(now, QUIET);
    }

    fn finish(&mut self) {
        if let Some(request) = self.request.as_ref().filter(|request| request.traffic == Traffic::Tradeoff) {
            self.steps.push(FlowOutput::ConnectBack(Box::new(request.clone())));
        }
        self.steps.close();
    }
}

impl Machine for UdpServer {
    fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    fn received(&mut self, now: MonoTime, datagram: &[u8]) -> Result<(), ProtocolError> {
        self.heard = self.heard.saturating_add(datagram.len() as u64);
        match self.phase {
            Phase::Running { receives: true, sends } => {
                if let Some(Number::Fin(number)) = number(datagram, self.wide) {
                    self.end = (datagram.len() as u64, number);
                    self.client_done(now, sends);
                }
            }
            Phase::Reported(report, times) if times < MOST_REPORTS => self.report(now, report, times),
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, _now: MonoTime) -> Result<(), ProtocolError> {
        if matches!(self.phase, Phase::Running { sends: true, .. }) {
            return Err(ProtocolError::PeerStopped("the client has closed its port".into()));
        }
        Ok(())
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        let may_lack_end =
            self.request.as_ref().is_some_and(|request| request.server_sends() || request.no_fin);
        match self.phase {
            // The client has received its report.
            Phase::Reported(..) => self.finish(),
            // The client is gone, or the time is over.
            Phase::Running { sends: true, .. } if !self.stopping => {
                self.stopping = true;
                self.steps.push(FlowCommand::StopSender);
                self.steps.wait(now, TIMEOUT);
            }
            Phase::Running { sends: true, .. } => {
                return Err(ProtocolError::Flows("this end does not stop sending".into()));
            }
            // No end was promised, or that of a full-duplex client is lost.
            Phase::Running { .. } if may_lack_end => self.finish(),
            Phase::Running { .. } => return Err(ProtocolError::Timeout(self.fell_silent())),
            Phase::Measuring => return Err(ProtocolError::Flows("this end does not measure".into())),
        }
        Ok(())
    }

    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        if !matches!(self.phase, Phase::Running { .. }) || self.stopping {
            return Ok(());
        }
        if self.watch.progress(received, now) {
            self.wait(now);
        }
        if self.rate.exceeds(now, received, self.max_rate) {
            return Err(ProtocolError::Stopped(
                "the client sends at a higher rate than this server allows (--max-rate)".into(),
            ));
        }
        Ok(())
    }

    fn sender_done(&mut self, now: MonoTime, sent: Sent) {
        let Phase::Running { sends: true, receives } = self.phase else { return };
        let request = self.request.as_ref();
        let mut fin = request.map_or_else(bare_head, |request| request.sending(bare_head()).datagram());
        put_fin(&mut fin, sent.datagrams.saturating_add(1), self.clock.at(now));
        self.steps.push(FlowCommand::Send(fin));
        self.phase = Phase::Running { sends: false, receives };
        if receives && !self.stopping { self.steps.wait(now, DUPLEX_SLOP) } else { self.steps.close() }
    }

    /// The report counts the end as a datagram, as iPerf2's do: its number is the total. Numbers missing behind the last datagram
    /// that arrived are lost.
    fn measured(&mut self, now: MonoTime, figures: &ServerReport) {
        if self.phase != Phase::Measuring {
            return;
        }
        self.heard = self.heard.saturating_add(figures.bytes);
        let (payload, number) = self.end;
        let behind = number.saturating_sub(1).saturating_sub(figures.datagrams);
        let report = ServerReport {
            bytes: figures.bytes.saturating_add(payload),
            lost: figures.lost.saturating_add(behind),
            datagrams: number.max(figures.datagrams.saturating_add(1)),
            ..*figures
        };
        self.report(now, report, 0);
    }

    fn interrupt(&mut self, _now: MonoTime, why: &str) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Running { sends: true, .. } => {
                self.steps.push(FlowCommand::StopSender);
                Ok(())
            }
            Phase::Running { .. } => Err(ProtocolError::Stopped(why.into())),
            Phase::Measuring | Phase::Reported(..) => Ok(()),
        }
    }
}

/// Most repetitions of a report, and the silence by which the client confirms it, both like iPerf2's.
const MOST_REPORTS: u32 = 9;
const QUIET: Nanos = Nanos::from_millis(250);
/// Bytes of reports for each byte that came, at most (RFC 9000 section 8.1).
const MOST_FOR_EACH: u64 = 3;
