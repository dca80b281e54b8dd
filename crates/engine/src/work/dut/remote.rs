//! A port on another host: the tester's end of a session of frames. The other end is [`station`].
//!
//! A thread keeps the dialogue alive while frames are sent and counted, for minutes without a word.

mod converse;
mod convert;
pub mod offers;
pub mod station;

use super::port::{Counted, Port};
use super::spec::PortSpec;
use crate::error::{Context, Error, Failure, Kind, Result, fault};
use crate::host::address::{Family, lookup};
use crate::host::host_port::HostPort;
use crate::session::connect::Security;
use converse::{Conversation, Question};
use frames::{Burst, FrameSpec, Sent, Stop, Watch};
use linux::clock::mono_now;
use linux::poll::Waker;
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::plan::{LocalOptions, Target};
use std::net::IpAddr;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use wire::native;
use wire::native::frames::{Addressing, FramesAsk, FramesPort, FramesReply, FramesWish};

/// How a port on another host is opened.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemoteOptions {
    /// How the control connection is opened.
    pub(crate) local: LocalOptions,
    /// How it is proven.
    pub(crate) security: Security,
    /// Addresses that the interface gets in any case.
    pub(crate) addressing: Addressing,
    /// Addresses that it gets in a family of which it has none.
    pub(crate) fallback: Addressing,
    /// Ends what is being sent.
    pub(crate) stop: Stop,
}

/// An interface of another host.
#[derive(Debug)]
pub(crate) struct RemotePort {
    /// Its name as the user gives it.
    name: String,
    port: FramesPort,
    /// Absent: the port is being closed.
    questions: Option<Sender<Question>>,
    waker: Arc<Waker>,
    /// Why the session ended, once it has.
    over: Arc<OnceLock<String>>,
    thread: Option<JoinHandle<()>>,
}

impl RemotePort {
    /// Opens an interface of the host that the port names, which must offer it: `pathmeter serve --frames-port`.
    ///
    /// # Errors
    /// `Kind::Unreachable` where the host cannot be reached, refuses, or its software is too old.
    pub(crate) fn open(spec: &PortSpec, options: &RemoteOptions) -> Result<RemotePort> {
        let name = spec.to_string();
        let target = target(spec)?;
        let wish = FramesWish {
            interface: spec.at_its_host().to_string(),
            addressing: options.addressing.clone(),
            fallback: options.fallback.clone(),
        };
        let mut conversation = Conversation::open(&target, wish, options).context(name.clone())?;
        let port = conversation.wait_for_port().context(name.clone())?;
        let (questions, asked) = channel();
        let (waker, over) = (conversation.waker.clone(), Arc::<OnceLock<String>>::default());
        let end = over.clone();
        let work = move || {
            if let Err(error) = conversation.run(&asked) {
                end.set(crate::error::sentence(&error)).ok();
            }
        };
        let thread = std::thread::Builder::new().name("far port".into()).spawn(work);
        let thread = Some(thread.context("start a thread for the far port")?);
        Ok(RemotePort { name, port, questions: Some(questions), waker, over, thread })
    }

    /// Changes to the interface for the test, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.port.notes
    }

    /// Asks, and waits for the answer: the machine of the dialogue has a deadline for each.
    fn ask(&self, ask: FramesAsk) -> Result<FramesReply> {
        let (answer, reply) = sync_channel(1);
        let is_sent =
            self.questions.as_ref().is_some_and(|asked| asked.send(Question { ask, answer }).is_ok());
        if !is_sent {
            return Err(self.lost());
        }
        self.waker.wake();
        match reply.recv() {
            Ok(Ok(FramesReply::Refused(refusal))) => Err(Failure {
                kind: if refusal.code == "limit" { Kind::Usage } else { Kind::Unreachable },
                message: format!("{}: {}", self.name, refusal.reason),
                advice: Some(refusal.advice).filter(|advice| !advice.is_empty()),
            }
            .into()),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => Err(error.context(self.name.clone())),
            Err(_) => Err(self.lost()),
        }
    }

    fn begin(&self, ask: FramesAsk) -> Result<()> {
        match self.ask(ask)? {
            FramesReply::Begun {} => Ok(()),
            reply => Err(self.other(&reply)),
        }
    }

    fn lost(&self) -> Error {
        let why = self.over.get().map_or("it does not say why", String::as_str);
        let what = format!("{}: the session with that host is over: {why}", self.name);
        Failure::unreachable(what, "look at the log of `pathmeter serve` there, and begin again").into()
    }

    fn other(&self, reply: &FramesReply) -> Error {
        fault(format!("{}: {reply:?} is not an answer to what was asked", self.name))
    }
}

impl Port for RemotePort {
    fn facts(&self) -> PortFacts {
        PortFacts { name: self.name.clone(), ..self.port.facts.clone() }
    }

    fn mac(&self) -> [u8; 6] {
        self.port.mac
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.port.addresses.clone()
    }

    fn next_hop(&mut self, to: IpAddr) -> Result<[u8; 6]> {
        match self.ask(FramesAsk::NextHop { to })? {
            FramesReply::NextHop { mac } => Ok(mac),
            reply => Err(self.other(&reply)),
        }
    }

    fn sources(&self) -> Vec<SourceKind> {
        self.port.sources.clone()
    }

    fn sinks(&self) -> Vec<SinkKind> {
        self.port.sinks.clone()
    }

    fn count(&mut self, kind: SinkKind, spec: &FrameSpec, frames: u64, watch: Watch) -> Result<()> {
        let times = watch == Watch::Times;
        self.begin(FramesAsk::Count { sink: kind, spec: spec.clone(), frames, times })
    }

    fn counted(&mut self) -> Result<Counted> {
        match self.ask(FramesAsk::Counted {})? {
            FramesReply::Counted(counted) => Ok(convert::counted_in(&counted, mono_now())),
            reply => Err(self.other(&reply)),
        }
    }

    fn send(&mut self, kind: SourceKind, spec: &FrameSpec, burst: &Burst) -> Result<()> {
        self.begin(FramesAsk::Send { source: kind, spec: spec.clone(), burst: convert::limited(burst) })
    }

    fn sent(&mut self) -> Result<Sent> {
        match self.ask(FramesAsk::Sent {})? {
            FramesReply::Sent(sent) => Ok(sent),
            reply => Err(self.other(&reply)),
        }
    }

    fn is_here(&self) -> bool {
        false
    }
}

impl Drop for RemotePort {
    fn drop(&mut self) {
        // The thread closes the session, for which it takes two seconds at most.
        self.questions = None;
        self.waker.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn target(spec: &PortSpec) -> Result<Target> {
    let Some(HostPort { host, port }) = &spec.host else {
        return Err(fault(format!("{spec} is not a port of another host")));
    };
    let address = lookup(host, port.unwrap_or(native::PORT), Family::Any)?;
    Ok(Target { host: host.clone(), address })
}

#[cfg(test)]
mod tests;
