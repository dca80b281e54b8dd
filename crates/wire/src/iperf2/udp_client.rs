//! The client's end of a UDP flow: every datagram carries the test header. Its end is repeated until the server's report arrives;
//! where the server sends, the first datagram is repeated until data arrives.

use super::flow::{DUPLEX_SLOP, Machine, Steps, Watch, bare_head};
use super::{Number, Request, Run, Sending, ServerReport, Traffic, number, put_fin};
use crate::stamp::Clock;
use crate::work::in_band::{FlowCommand, PeerFact};
use crate::{ProtocolError, Sent};
use model::time::MonoTime;
use model::units::Nanos;

/// One flow of a client.
pub struct UdpClient {
    request: Request,
    clock: Clock,
    steps: Steps,
    watch: Watch,
    sending: Sending,
    phase: Phase,
    interrupted: bool,
    /// When data began to move.
    began: MonoTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Requests data until the deadline.
    Asking { until: MonoTime, pause: Nanos },
    /// Data moves.
    Running { sends: bool, receives: bool },
    /// The end was sent so many times, the last with this number; the report is due.
    Ending { tries: u32, number: u64 },
}

impl UdpClient {
    /// A flow whose socket has just been connected.
    #[must_use]
    pub fn new(request: Request, clock: Clock, now: MonoTime) -> UdpClient {
        // With both directions on one socket a report would be taken for data (iPerf2 does the same).
        let no_fin = request.no_fin || request.traffic == Traffic::FullDuplex;
        let request = Request { no_fin, ..request };
        let head = request.bytes();
        UdpClient::begin(request, head, clock, now)
    }

    /// A server's flow back to its client, as [`ConnectBack`](super::FlowOutput::ConnectBack) requests: its datagrams have no header.
    #[must_use]
    pub fn back(request: Request, clock: Clock, now: MonoTime) -> UdpClient {
        let request = Request { traffic: Traffic::Forward, starts_then: false, ..request };
        UdpClient::begin(request, bare_head(), clock, now)
    }

    fn begin(request: Request, head: Vec<u8>, clock: Clock, now: MonoTime) -> UdpClient {
        let sending = request.sending(head);
        let asks = request.traffic == Traffic::Reverse;
        let phase = if asks {
            Phase::Asking { until: now + ASKING, pause: FIRST_PAUSE }
        } else {
            Phase::Running { sends: true, receives: request.server_sends() }
        };
        let steps = Steps::default();
        let mut flow = UdpClient {
            request,
            clock,
            steps,
            watch: Watch::default(),
            sending,
            phase,
            interrupted: false,
            began: now,
        };
        if asks {
            flow.ask(now)
        } else {
            flow.start(now)
        }
        flow
    }

    /// Repeats the first datagram. A server that has it already leaves the repetition unread.
    fn ask(&mut self, now: MonoTime) {
        let Phase::Asking { pause, .. } = &mut self.phase else { return };
        let this = *pause;
        *pause = Nanos(pause.0 * 2).min(LONGEST_PAUSE);
        let mut datagram = self.sending.datagram();
        let stamp = crate::Stamp { sequence: 1, sent: now };
        crate::Datagram::write(super::Numbered { clock: self.clock, wide: true }, stamp, &mut datagram);
        self.steps.push(FlowCommand::Send(datagram));
        self.steps.wait(now, this);
    }

    fn start(&mut self, now: MonoTime) {
        let receives = self.request.server_sends();
        let sends = self.request.client_sends();
        self.began = now;
        self.phase = Phase::Running { sends, receives };
        let sends = sends.then(|| self.sending.clone());
        self.steps.push(FlowCommand::Start(Run { sends, receives, ..Run::default() }));
        self.steps.wait(now, self.request.timeout());
    }

    /// The end, numbered one higher each time, as iPerf2 does.
    fn try_fin(&mut self, now: MonoTime) {
        let Phase::Ending { tries, number } = self.phase else { return };
        if tries == FIN_TRIES {
            self.steps.push(FlowCommand::Note(PeerFact::NoReport));
            self.steps.close();
            return;
        }
        let number = number.saturating_add(1);
        self.phase = Phase::Ending { tries: tries + 1, number };
        self.send_fin(now, number);
        self.steps.wait(now, FIN_PAUSE);
    }

    fn send_fin(&mut self, now: MonoTime, number: u64) {
        let mut datagram = self.sending.datagram();
        put_fin(&mut datagram, number, self.clock.at(now));
        self.steps.push(FlowCommand::Send(datagram));
    }

    /// The reason why the server is gone before the end of its data.
    fn cut_short(&self) -> Option<String> {
        let is_awaited = matches!(self.phase, Phase::Running { receives: true, .. }) && !self.interrupted;
        let heard = self.watch.heard_for(self.began);
        is_awaited.then(|| self.request.cut_short(heard, None, self.watch.observed)).flatten()
    }
}

impl Machine for UdpClient {
    fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    fn received(&mut self, now: MonoTime, datagram: &[u8]) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Asking { .. } if number(datagram, true).is_some() => self.start(now),
            Phase::Asking { .. } => {}
            Phase::Running { sends, .. } if matches!(number(datagram, true), Some(Number::Fin(_))) => {
                self.phase = Phase::Running { sends, receives: false };
                if !sends {
                    self.steps.close();
                }
            }
            Phase::Running { .. } => {}
            Phase::Ending { .. } => {
                if let Some(report) = ServerReport::read(datagram) {
                    self.steps.push(FlowCommand::Note(PeerFact::Report(report)));
                    self.steps.close();
                }
            }
        }
        Ok(())
    }

    /// The server's host reports that the port is unreachable.
    fn ended(&mut self, _now: MonoTime) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Ending { .. } => {
                self.steps.push(FlowCommand::Note(PeerFact::NoReport));
                self.steps.close();
                Ok(())
            }
            Phase::Running { .. } if self.watch.has_received() => Ok(()),
            _ => Err(ProtocolError::Closed("(no UDP server is at its port)".into())),
        }
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        match self.phase {
            Phase::Asking { until, .. } if until <= now => {
                return Err(ProtocolError::Timeout("to the datagrams that ask for data".into()));
            }
            Phase::Asking { .. } => self.ask(now),
            Phase::Ending { .. } => self.try_fin(now),
            // The sender itself detects its end.
            Phase::Running { sends: true, .. } => self.steps.wait(now, self.request.timeout()),
            // The single end that a server sends may be lost.
            Phase::Running { .. } if self.watch.has_received() => {
                self.steps.close();
                if let Some(cut) = self.cut_short() {
                    return Err(ProtocolError::Timeout(format!("{cut}: no datagram came any more")));
                }
            }
            Phase::Running { .. } => {
                return Err(ProtocolError::Timeout("while the test was running: no datagram came".into()));
            }
        }
        Ok(())
    }

    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        let grows = self.watch.progress(received, now) && !self.request.is_timed();
        if grows && matches!(self.phase, Phase::Running { sends: false, .. }) {
            self.steps.wait(now, self.request.timeout());
        }
        Ok(())
    }

    fn sender_done(&mut self, now: MonoTime, sent: Sent) {
        let Phase::Running { sends: true, receives } = self.phase else { return };
        let last = sent.datagrams;
        let duplex = self.request.traffic == Traffic::FullDuplex;
        self.phase = Phase::Running { sends: false, receives };
        if duplex {
            self.send_fin(now, last.saturating_add(1));
            if receives { self.steps.wait(now, DUPLEX_SLOP) } else { self.steps.close() }
        } else if self.request.no_fin {
            self.send_fin(now, last.saturating_add(1));
            self.steps.close();
        } else {
            self.phase = Phase::Ending { tries: 0, number: last };
            self.try_fin(now);
        }
    }

    fn interrupt(&mut self, _now: MonoTime, why: &str) -> Result<(), ProtocolError> {
        if std::mem::replace(&mut self.interrupted, true) {
            return Err(ProtocolError::Stopped(why.into()));
        }
        match self.phase {
            Phase::Running { sends: true, .. } => self.steps.push(FlowCommand::StopSender),
            Phase::Ending { .. } => {}
            _ => self.steps.close(),
        }
        Ok(())
    }
}

/// Time for which a client requests data.
const ASKING: Nanos = Nanos::from_secs(10);
const FIRST_PAUSE: Nanos = Nanos::from_millis(50);
const LONGEST_PAUSE: Nanos = Nanos::from_millis(500);
/// Repetitions of the end, two seconds of them like iPerf2's.
const FIN_TRIES: u32 = 200;
const FIN_PAUSE: Nanos = Nanos::from_millis(10);
