//! The client's dialogue with a pathmeter server around the round trips: the flow before, the counts after.

use crate::engine::client::{Security, connect, native_config};
use crate::engine::flows;
use crate::engine::host;
use crate::engine::interrupt::Interrupt;
use crate::engine::link::Link;
use crate::engine::shared::FlowSocket;
use crate::exit::sentence;
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use model::host::Host;
use model::latency::{LatencySpec, Way};
use model::plan::{LocalOptions, ProtocolName};
use model::time::MonoTime;
use model::units::Nanos;
use wire::native::LatencySeen;
use wire::native::probe::{ProbeClient, ProbeReply};
use wire::{Input, Output, ProtocolError, Session};

/// A latency session that the server has granted.
pub(crate) struct LatencySession {
    machine: ProbeClient,
    link: Link,
    way: Way,
    local: LocalOptions,
    interrupt: Interrupt,
    flow: Option<FlowSocket>,
}

impl LatencySession {
    /// Opens it, with its one flow.
    pub(crate) fn open(
        way: &Way,
        spec: LatencySpec,
        connect_timeout: Nanos,
        security: &Security,
        interrupt: &Interrupt,
    ) -> anyhow::Result<LatencySession> {
        let local = LocalOptions {
            bind: way.bind,
            device: way.device.clone(),
            connect_timeout: Some(connect_timeout),
            ..LocalOptions::default()
        };
        let link = connect(&way.target, ProtocolName::Native, &local, security)?;
        let own = host::describe(Some(way.target.address.ip()));
        let config = native_config(security, &own, &link)?;
        let machine = ProbeClient::latency(config, spec, mono_now());
        let (way, interrupt) = (way.clone(), interrupt.clone());
        let mut session = LatencySession { machine, link, way, local, interrupt, flow: None };
        session.run_until(mono_now() + OPEN_LIMIT, |s| s.machine.is_ready())?;
        Ok(session)
    }

    /// The flow, whose messages the server answers.
    pub(crate) fn flow(&self) -> anyhow::Result<FlowSocket> {
        self.flow.clone().ok_or_else(|| anyhow::anyhow!("the latency session has no flow"))
    }

    /// The server's host.
    pub(crate) fn peer(&self) -> Option<&Host> {
        self.machine.peer_host()
    }

    /// Keeps the dialogue alive; does not wait. To be called every second or so.
    pub(crate) fn keep_alive(&mut self) -> anyhow::Result<()> {
        self.do_outputs()?;
        self.read()?;
        self.machine.input(mono_now(), Input::Timer)?;
        self.do_outputs()?;
        Ok(())
    }

    /// What the server has seen of the messages.
    pub(crate) fn seen(&mut self) -> anyhow::Result<LatencySeen> {
        self.machine.report_latency(mono_now())?;
        let mut seen = None;
        self.run_until(mono_now() + ANSWER_LIMIT, |session| {
            while let Some(reply) = session.machine.take_reply() {
                if let ProbeReply::Reflected(reply) = reply {
                    seen = Some(reply);
                }
            }
            seen.is_some()
        })?;
        seen.ok_or_else(|| anyhow::anyhow!("the server told nothing"))
    }

    /// What the server has seen once it has seen so many messages, or no more of them come: the last ones may still be
    /// on their way, or wait at the server. After an interrupt too: what was measured is to be told.
    pub(crate) fn seen_of(&mut self, sent: u64) -> anyhow::Result<LatencySeen> {
        self.interrupt = Interrupt::default();
        let mut seen = self.seen()?;
        let (mut quiet, longest) = (0, mono_now() + TAIL_LIMIT);
        while seen.received < sent && quiet < QUIET_LOOKS && mono_now() < longest {
            std::thread::sleep(LOOK.to_duration());
            let now = self.seen()?;
            quiet = if now.received > seen.received { 0 } else { quiet + 1 };
            seen = now;
        }
        Ok(seen)
    }

    /// Says goodbye.
    pub(crate) fn close(mut self) {
        self.machine.finish(mono_now());
        // The server may have gone: nothing hangs on its answer.
        self.interrupt = Interrupt::default();
        self.run_until(mono_now() + GOODBYE, |_| false).ok();
    }

    fn run_until(
        &mut self,
        deadline: MonoTime,
        mut done: impl FnMut(&mut LatencySession) -> bool,
    ) -> anyhow::Result<()> {
        loop {
            let until = self.do_outputs()?;
            if done(self) {
                return Ok(());
            }
            let now = mono_now();
            if self.interrupt.is_raised() {
                return Err(ProtocolError::Stopped("interrupted".into()).into());
            }
            if now >= deadline {
                return Err(ProtocolError::Timeout("about the latency session".into()).into());
            }
            let step = until.unwrap_or(deadline).min(deadline).min(now + INTERRUPT_STEP);
            if !self.link.has_buffered() {
                wait(&mut [Interest::readable(self.link.socket())], Some(step))?;
            }
            self.read()?;
            self.machine.input(mono_now(), Input::Timer)?;
        }
    }

    fn read(&mut self) -> anyhow::Result<()> {
        let mut buffer = [0; 4096];
        while let Some(length) = self.link.read(&mut buffer)? {
            let input = if length == 0 { Input::Closed } else { Input::Received(&buffer[..length]) };
            self.machine.input(mono_now(), input)?;
            if length == 0 {
                break;
            }
        }
        Ok(())
    }

    fn do_outputs(&mut self) -> anyhow::Result<Option<MonoTime>> {
        loop {
            match self.machine.output(mono_now()) {
                Output::Send(bytes) => self.link.write(&bytes, mono_now() + ANSWER_LIMIT)?,
                Output::OpenFlows(plan) => {
                    match flows::connect_all(&plan, self.way.target.address, &self.local) {
                        Ok(flows) => {
                            let infos: Vec<_> = flows.iter().map(|f| f.info.clone()).collect();
                            self.flow = flows.first().map(|f| f.socket.clone());
                            self.machine.input(mono_now(), Input::FlowsOpen(&infos))?;
                        }
                        Err(e) => self.machine.input(mono_now(), Input::FlowsFailed(&sentence(&e)))?,
                    }
                }
                Output::WaitUntil(until) => return Ok(until),
                Output::Close => return Err(ProtocolError::Closed("after the round trips".into()).into()),
                // A latency session has none of these.
                Output::StartFlows
                | Output::StopSenders
                | Output::Drain { .. }
                | Output::Datagram { .. }
                | Output::Reflect(_)
                | Output::CountReflected
                | Output::Event(_) => {}
            }
        }
    }
}

const OPEN_LIMIT: Nanos = Nanos(40_000_000_000);
const ANSWER_LIMIT: Nanos = Nanos(5_000_000_000);
/// Between two looks for messages that are still coming, and how many that see none are enough.
const LOOK: Nanos = Nanos(50_000_000);
const QUIET_LOOKS: u32 = 5;
const TAIL_LIMIT: Nanos = Nanos(15_000_000_000);
const GOODBYE: Nanos = Nanos(200_000_000);
const INTERRUPT_STEP: Nanos = Nanos(100_000_000);
