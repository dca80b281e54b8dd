//! The control dialogue of a session in which this end works by itself: probes, round trips, frames.

use crate::error::{Result, sentence};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::connect::{Security, connect, native_config};
use crate::session::link::Link;
use crate::session::pump::{Pump, Step};
use crate::work::throughput::flows;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use model::plan::{LocalOptions, ProtocolName, Target};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::UdpSocket;
use wire::native::ClientConfig;
use wire::native::probe::ProbeClient;
use wire::{FlowsRequest, Input, ProtocolError, Session, WorkReply, WorkRequest};

/// An open control connection and the machine that speaks on it.
pub(crate) struct Dialogue<M = ProbeClient> {
    pub(crate) machine: M,
    /// Raised: every wait ends with an error.
    pub(crate) interrupt: Interrupt,
    /// The flows once they are open, of which a session of load has several. The first never blocks.
    pub(crate) flows: Vec<FlowSocket>,
    /// Local ports of UDP that got no answer, where another port did.
    pub(crate) dead_ports: u32,
    pub(crate) pump: Pump,
    target: Target,
    local: LocalOptions,
    messages: Messages,
}

/// The texts of a session's own errors.
#[derive(Clone, Copy)]
pub(crate) struct Messages {
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
        messages: Messages,
        machine: impl FnOnce(ClientConfig, MonoTime) -> M,
    ) -> Result<Dialogue<M>> {
        let link = connect(target, ProtocolName::Native, local, security, interrupt)?;
        let own = host::describe(Some(target.address.ip()));
        let config = native_config(security, &own, &link)?;
        Ok(Dialogue::over(link, machine(config, mono_now()), target, local, interrupt, messages))
    }

    /// Over an open control connection.
    pub(crate) fn over(
        link: Link,
        machine: M,
        target: &Target,
        local: &LocalOptions,
        interrupt: &Interrupt,
        messages: Messages,
    ) -> Dialogue<M> {
        Dialogue {
            machine,
            interrupt: interrupt.clone(),
            flows: Vec::new(),
            dead_ports: 0,
            pump: Pump::new(link),
            target: target.clone(),
            local: local.clone(),
            messages,
        }
    }

    /// Talks until it is done; data on the flow does not wake it meanwhile.
    ///
    /// # Errors
    /// The deadline has passed, the interrupt is raised, or the dialogue is over.
    pub(crate) fn run_until(
        &mut self,
        deadline: MonoTime,
        mut done: impl FnMut(&mut M) -> bool,
    ) -> Result<()> {
        loop {
            let until = self.advance()?;
            if done(&mut self.machine) {
                return Ok(());
            }
            self.wait(until, deadline, None)?;
        }
    }

    /// Carries out the machine's requests; returns when to call again.
    pub(crate) fn advance(&mut self) -> Result<Option<MonoTime>> {
        loop {
            match self.pump.advance(&mut self.machine)? {
                Step::Wait(until) => return Ok(until),
                Step::Over => return Err(ProtocolError::Closed(self.messages.closed.into()).into()),
                Step::Work(WorkRequest::Flows(order)) => {
                    let reply = self.open_flows(&order)?;
                    self.machine.input(mono_now(), Input::Work(reply))?;
                }
                // The owner of the dialogue does the work.
                Step::Work(_) | Step::Event(_) => {}
            }
        }
    }

    fn open_flows(&mut self, order: &FlowsRequest) -> Result<WorkReply> {
        let opened = match flows::connect_all(&order.plan, self.target.address, &self.local) {
            Ok(opened) => opened,
            Err(error) => return Ok(WorkReply::Failed(sentence(&error))),
        };
        self.dead_ports = opened.dead_ports;
        self.flows = opened.flows.iter().map(|flow| flow.socket.clone()).collect();
        if let Some(flow) = self.flows.first() {
            flow.set_nonblocking(true)?;
        }
        Ok(WorkReply::Open(opened.flows.into_iter().map(|flow| flow.info).collect()))
    }

    /// Waits until the machine's time `until`, for data of the server, or for something to read on `watched`; passes them to
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
            return Err(ProtocolError::Timeout(self.messages.late.into()).into());
        }
        if !self.pump.link.has_buffered() {
            let mut interests: Vec<_> = self.pump.interest().into_iter().collect();
            interests.extend(watched.map(Interest::readable));
            let step = until.unwrap_or(deadline).min(deadline).min(now + INTERRUPT_STEP);
            wait(&mut interests, Some(step))?;
        }
        self.hear()
    }

    /// Passes the machine the server's data and the time; does not wait.
    pub(crate) fn hear(&mut self) -> Result<()> {
        Ok(self.pump.hear(&mut self.machine)?)
    }
}

const INTERRUPT_STEP: Nanos = Nanos::from_millis(100);
