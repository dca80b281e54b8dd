//! The server's half of a session of frames: a thread that drives one interface as its client asks.

use super::super::local::LocalPort;
use super::super::port::Port;
use super::convert;
use super::offers::{Claim, Offers, refusal, refused};
use crate::error::Result;
use frames::{Stop, Watch};
use linux::poll::Waker;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use wire::native::Refusal;
use wire::native::frames::{FramesAsk, FramesPort, FramesReply, FramesWish};
use wire::work::frames::PortAnswer;

/// One session's interface. Dropped, it sends and counts no more, and is free for others.
#[derive(Debug)]
pub(crate) struct PortAgent {
    /// Absent: no more requests will come.
    orders: Option<Sender<(u32, FramesAsk)>>,
    answers: Receiver<PortAnswer>,
    stop: Stop,
    observed: Arc<Mutex<FramesObservation>>,
    thread: Option<JoinHandle<()>>,
}

/// The summary of a session of frames, for the server's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FramesObservation {
    /// The interface.
    pub interface: String,
    /// Frames sent.
    pub sent: u64,
    /// Frames counted.
    pub counted: u64,
}

/// State of the thread.
struct Work {
    claim: Claim,
    port: LocalPort,
    observed: Arc<Mutex<FramesObservation>>,
}

impl PortAgent {
    /// Takes an interface that is offered and free, and begins to open it. The waker is woken with each answer.
    ///
    /// # Errors
    /// The interface is not offered, or another session has it.
    pub(crate) fn start(
        offers: &Arc<Offers>,
        wish: FramesWish,
        waker: &Arc<Waker>,
    ) -> Result<PortAgent, Refusal> {
        let claim = offers.claim(&wish.interface)?;
        let (orders, asked) = channel();
        let (reply, answers) = channel();
        let stop = Stop::default();
        let observed = Arc::new(Mutex::new(FramesObservation {
            interface: wish.interface.clone(),
            ..FramesObservation::default()
        }));
        let (watched, waker, log) = (stop.clone(), waker.clone(), observed.clone());
        let work = move || {
            // Without a receiver the session is over.
            let emit = |answer| {
                reply.send(answer).ok();
                waker.wake();
            };
            match claim.open(&wish, &watched) {
                Ok(port) => Work { claim, port, observed: log }.run(&asked, &emit),
                Err(error) => emit(PortAnswer::Refused(refused(&error))),
            }
        };
        let thread = std::thread::Builder::new().name("station".into()).spawn(work);
        let thread =
            thread.map_err(|error| refusal("busy", format!("start a thread: {error}"), "try again later"))?;
        Ok(PortAgent { orders: Some(orders), answers, stop, observed, thread: Some(thread) })
    }

    /// Sends a request to the thread; the answer comes later. After a stop, the counts of sent frames can still be requested.
    pub(crate) fn ask(&self, id: u32, ask: FramesAsk) {
        if ask == (FramesAsk::Stop {}) {
            self.stop.raise();
        } else if let Some(orders) = &self.orders {
            // A thread that has ended has reported why.
            orders.send((id, ask)).ok();
        }
    }

    /// The next answer that is there.
    pub(crate) fn answer(&self) -> Option<PortAnswer> {
        self.answers.try_recv().ok()
    }

    /// Sends and counts no more, and gives the interface back; what it did.
    pub(crate) fn finish(self) -> FramesObservation {
        let observed = self.observed.clone();
        drop(self);
        observed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for PortAgent {
    fn drop(&mut self) {
        self.stop.raise();
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A port ends its waits when the stop is raised.
            thread.join().ok();
        }
    }
}

impl Work {
    fn run(mut self, asked: &Receiver<(u32, FramesAsk)>, emit: &dyn Fn(PortAnswer)) {
        emit(PortAnswer::Open(Box::new(self.describe())));
        for (id, ask) in asked {
            let reply = self.carry_out(ask).unwrap_or_else(|error| FramesReply::Refused(refused(&error)));
            emit(PortAnswer::Reply { id, reply });
        }
    }

    fn describe(&self) -> FramesPort {
        FramesPort {
            facts: self.port.facts(),
            mac: self.port.mac(),
            addresses: self.port.addresses(),
            sources: self.port.sources(),
            sinks: self.port.sinks(),
            notes: self.port.notes().to_vec(),
        }
    }

    fn carry_out(&mut self, ask: FramesAsk) -> Result<FramesReply> {
        match ask {
            FramesAsk::NextHop { to } => {
                self.claim.check(&[to])?;
                Ok(FramesReply::NextHop { mac: self.port.next_hop(to)? })
            }
            FramesAsk::Count { sink, spec, frames, times } => {
                let watch = if times { Watch::Times } else { Watch::Counts };
                self.port.count(sink, &spec, frames, watch)?;
                Ok(FramesReply::Begun {})
            }
            FramesAsk::Counted {} => {
                let counted = self.port.counted()?;
                self.log(|observed| observed.counted += counted.arrived.frames);
                Ok(FramesReply::Counted(Box::new(convert::counted_out(&counted))))
            }
            FramesAsk::Send { source, mut spec, burst } => {
                self.claim.check_vlan(spec.vlan)?;
                let tunnel = spec.outer.map(|(_, end)| IpAddr::from(end));
                self.claim.check(&[spec.destination].into_iter().chain(tunnel).collect::<Vec<_>>())?;
                let own = self.port.addresses();
                let begin = spec.outer.map(|(begin, _)| IpAddr::from(begin));
                for source in [spec.source].into_iter().chain(begin) {
                    self.claim.check_source(source, &own)?;
                }
                // Frames of this host say so, whatever the client would have them say.
                spec.source_mac = self.port.mac();
                self.port.send(source, &spec, &burst)?;
                Ok(FramesReply::Begun {})
            }
            FramesAsk::Sent {} => {
                let sent = self.port.sent()?;
                self.log(|observed| observed.sent += sent.frames);
                Ok(FramesReply::Sent(sent))
            }
            FramesAsk::Stop {} => Ok(FramesReply::Begun {}),
        }
    }

    fn log(&self, note: impl FnOnce(&mut FramesObservation)) {
        note(&mut self.observed.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
