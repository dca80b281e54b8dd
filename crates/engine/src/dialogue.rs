//! The control dialogue of a session in which this end works by itself: probes, round trips, frames.

use super::connect::{Security, connect, native_config};
use super::flows;
use super::host;
use super::interrupt::Interrupt;
use super::link::Link;
use super::shared::FlowSocket;
use crate::error::{Error, Result, sentence};
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use model::plan::{LocalOptions, ProtocolName, Target};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::UdpSocket;
use wire::native::ClientConfig;
use wire::native::probe::ProbeClient;
use wire::{Input, Output, ProtocolError, Session};

/// An open control connection and the machine that speaks on it.
pub(crate) struct Dialogue<M = ProbeClient> {
    pub(crate) machine: M,
    /// Raised: every wait ends with an error.
    pub(crate) interrupt: Interrupt,
    /// The flow once it is open, which never blocks.
    pub(crate) flow: Option<FlowSocket>,
    pub(crate) link: Link,
    target: Target,
    local: LocalOptions,
    words: Words,
}

/// What a session's own errors say.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    /// The server closed when it should not have.
    pub(crate) closed: &'static str,
    /// A deadline has passed.
    pub(crate) late: &'static str,
}

impl<M: Session> Dialogue<M> {
    /// Connects. `machine` begins the session.
    pub(crate) fn open(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
        words: Words,
        machine: impl FnOnce(ClientConfig, MonoTime) -> M,
    ) -> Result<Dialogue<M>> {
        let link = connect(target, ProtocolName::Native, local, security, interrupt)?;
        let own = host::describe(Some(target.address.ip()));
        let config = native_config(security, &own, &link)?;
        Ok(Dialogue {
            machine: machine(config, mono_now()),
            interrupt: interrupt.clone(),
            flow: None,
            link,
            target: target.clone(),
            local: local.clone(),
            words,
        })
    }

    /// Does what the machine wants; when it wants to be asked again.
    pub(crate) fn advance(&mut self) -> Result<Option<MonoTime>> {
        loop {
            match self.machine.output(mono_now()) {
                Output::Send(bytes) => {
                    let written = self.link.write(&bytes, mono_now() + WRITE_LIMIT);
                    written.map_err(|error| self.broken(&error))?;
                }
                Output::OpenFlows(plan) => {
                    match flows::connect_all(&plan, self.target.address, &self.local) {
                        Ok(flows) => {
                            let infos: Vec<_> = flows.iter().map(|f| f.info.clone()).collect();
                            self.flow = flows.first().map(|f| f.socket.clone());
                            match &self.flow {
                                Some(FlowSocket::Tcp(socket)) => socket.set_nonblocking(true)?,
                                Some(FlowSocket::Udp(socket)) => socket.set_nonblocking(true)?,
                                None => {}
                            }
                            self.machine.input(mono_now(), Input::FlowsOpen(&infos))?;
                        }
                        Err(e) => self.machine.input(mono_now(), Input::FlowsFailed(&sentence(&e)))?,
                    }
                }
                Output::WaitUntil(until) => return Ok(until),
                Output::Close => return Err(ProtocolError::Closed(self.words.closed.into()).into()),
                // Such a session has none of these.
                Output::StartFlows
                | Output::StopSenders
                | Output::Drain { .. }
                | Output::Datagram { .. }
                | Output::ReportPath { .. }
                | Output::Reflect(_)
                | Output::CountReflected
                | Output::Port(_)
                | Output::Event(_) => {}
            }
        }
    }

    /// Why nothing can be written any more: what the server said before it went, where it said something.
    fn broken(&mut self, error: &std::io::Error) -> Error {
        match self.hear() {
            Err(said) if said.protocol().is_some() => said,
            _ => ProtocolError::Closed(format!("{}: {error}", self.words.closed)).into(),
        }
    }

    /// Waits until the machine's time `until`, for what the server says, or for something to read on `watched`; tells
    /// the machine.
    ///
    /// # Errors
    /// The deadline has passed, or the interrupt is raised.
    pub(crate) fn wait(
        &mut self,
        until: Option<MonoTime>,
        deadline: MonoTime,
        watched: Option<&UdpSocket>,
    ) -> Result<()> {
        let now = mono_now();
        if self.interrupt.is_raised() {
            return Err(ProtocolError::Stopped("interrupted".into()).into());
        }
        if now >= deadline {
            return Err(ProtocolError::Timeout(self.words.late.into()).into());
        }
        if !self.link.has_buffered() {
            let mut interests = vec![Interest::readable(self.link.socket())];
            interests.extend(watched.map(Interest::readable));
            let step = until.unwrap_or(deadline).min(deadline).min(now + INTERRUPT_STEP);
            wait(&mut interests, Some(step))?;
        }
        self.hear()
    }

    /// Tells the machine what the server has said and what time it is; does not wait.
    pub(crate) fn hear(&mut self) -> Result<()> {
        let mut buffer = [0; 4096];
        while let Some(length) = self.link.read(&mut buffer)? {
            let input = if length == 0 { Input::Closed } else { Input::Received(&buffer[..length]) };
            self.machine.input(mono_now(), input)?;
            if length == 0 {
                break;
            }
        }
        Ok(self.machine.input(mono_now(), Input::Timer)?)
    }
}

const WRITE_LIMIT: Nanos = Nanos(5_000_000_000);
const INTERRUPT_STEP: Nanos = Nanos(100_000_000);
