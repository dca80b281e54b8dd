//! The client's end of a TCP flow: the header goes first, then data moves. A server's acknowledgement may be pending and is read,
//! since closing with unread bytes would reset the connection.

use super::flow::{Machine, Steps, TIMEOUT, Watch};
use super::{Ack, AckRead, Request, Run};
use crate::work::in_band::{FlowCommand, PeerFact};
use crate::{ProtocolError, Sent};
use model::time::MonoTime;
use model::units::Nanos;

/// One connection of a client.
pub struct TcpClient {
    request: Request,
    steps: Steps,
    watch: Watch,
    /// First bytes of the server; absent: they were read, or need not be read here.
    heard: Option<Vec<u8>>,
    sending: bool,
    receiving: bool,
    interrupted: bool,
    began: MonoTime,
}

impl TcpClient {
    /// A connection that has just been opened.
    #[must_use]
    pub fn new(request: Request, now: MonoTime) -> TcpClient {
        let header = request.bytes();
        TcpClient::begin(request, header, now)
    }

    /// A server's connection back to its client, as [`ConnectBack`](super::FlowOutput::ConnectBack) requests: data from the first byte.
    #[must_use]
    pub fn back(request: Request, now: MonoTime) -> TcpClient {
        let request = Request { traffic: super::Traffic::Forward, starts_then: false, ..request };
        TcpClient::begin(request, Vec::new(), now)
    }

    fn begin(request: Request, header: Vec<u8>, now: MonoTime) -> TcpClient {
        let mut steps = Steps::default();
        let (sending, receiving) = (request.client_sends(), request.server_sends());
        let run = Run {
            sends: sending.then(|| request.sending(Vec::new())),
            receives: receiving,
            sent: header.len() as u64,
            ..Run::default()
        };
        if !header.is_empty() {
            steps.push(FlowCommand::Send(header));
        }
        steps.push(FlowCommand::Start(run));
        steps.wait(now, request.timeout());
        let heard = (!receiving).then(Vec::new);
        TcpClient {
            request,
            steps,
            watch: Watch::default(),
            heard,
            sending,
            receiving,
            interrupted: false,
            began: now,
        }
    }

    /// The reason why the server that closes the connection now is gone before the end of its data.
    fn cut_short(&self, now: MonoTime) -> Option<String> {
        if self.interrupted || !self.request.server_sends() {
            return None;
        }
        let heard = self.watch.heard_for(self.began);
        let ended = now.saturating_since(self.began);
        self.request.cut_short(heard, Some(ended), self.watch.observed)
    }
}

impl Machine for TcpClient {
    fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    fn received(&mut self, _now: MonoTime, bytes: &[u8]) -> Result<(), ProtocolError> {
        let Some(heard) = &mut self.heard else { return Ok(()) };
        heard.extend_from_slice(bytes);
        match Ack::read(heard) {
            AckRead::More => return Ok(()),
            AckRead::Ack(ack, _) => self.steps.push(FlowCommand::Note(PeerFact::Ack(ack))),
            AckRead::None => {}
        }
        self.heard = None;
        Ok(())
    }

    fn ended(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        let cut = self.cut_short(now).filter(|_| self.receiving);
        self.receiving = false;
        if let Some(cut) = cut {
            return Err(ProtocolError::Closed(cut));
        }
        if self.sending && !self.request.server_sends() {
            // A server does not announce the end of a test: it is gone.
            return Err(ProtocolError::Closed("while this end was sending".into()));
        }
        if !self.sending {
            self.steps.close();
        }
        Ok(())
    }

    fn timer(&mut self, now: MonoTime) -> Result<(), ProtocolError> {
        if self.sending && !self.request.is_timed() {
            // The sender itself detects that it is stuck.
            self.steps.wait(now, self.request.timeout());
            return Ok(());
        }
        if !self.sending && (!self.request.server_sends() || self.watch.has_received()) {
            // All data was sent; a server that leaves the connection open takes nothing away from that. The close of a server
            // that sends shows by itself that it has sent everything.
            self.steps.close();
            if self.receiving && !self.interrupted {
                let heard = self.watch.heard_for(self.began);
                return Err(ProtocolError::Timeout(self.request.fell_silent(heard, self.watch.observed)));
            }
            return Ok(());
        }
        let nothing = if self.sending { "the server takes nothing" } else { "the server sends nothing" };
        Err(ProtocolError::Timeout(format!("while the test was running: {nothing}")))
    }

    fn progress(&mut self, now: MonoTime, received: u64) -> Result<(), ProtocolError> {
        if self.watch.progress(received, now) && !self.request.is_timed() {
            self.steps.wait(now, self.request.timeout());
        }
        Ok(())
    }

    fn sender_done(&mut self, now: MonoTime, _sent: Sent) {
        if std::mem::replace(&mut self.sending, false) {
            self.steps.push(FlowCommand::Shutdown);
            self.steps.wait(now, TIMEOUT);
        }
        // A server that also sends may have ended before.
        if self.request.server_sends() && !self.receiving {
            self.steps.close();
        }
    }

    fn interrupt(&mut self, now: MonoTime, why: &str) -> Result<(), ProtocolError> {
        if std::mem::replace(&mut self.interrupted, true) {
            return Err(ProtocolError::Stopped(why.into()));
        }
        if self.sending {
            self.steps.push(FlowCommand::StopSender);
            self.steps.wait(now, HURRY);
        } else {
            self.steps.close();
        }
        Ok(())
    }
}

/// Longest wait at the end after an interrupt.
const HURRY: Nanos = Nanos::from_secs(5);
