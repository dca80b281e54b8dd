//! Events that a session reports while it runs, at either end and whatever its protocol.

mod facts;

pub use super::throughput::timed::{Burst, FrameCount, HistogramKind, TimedBins};
pub use facts::{Detail, Fact, Spread, TcpStart};

use crate::session::notes::Notes;
use crate::work::dut::remote::station::FramesObservation;
use model::event::Event;
use model::plan::ProtocolName;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::native::LatencyObservation;
use wire::{ProtocolError, Report, iperf3};

/// Something that happened in a session, in order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum SessionEvent<'a> {
    /// An event of any test.
    Event(&'a Event),
    /// A fact of an iPerf2 test.
    Fact(&'a Fact),
    /// Requests of an iPerf3 client beside the test, before the first event.
    Extras(&'a iperf3::Extras),
    /// A session of round trips is over, with these counts of its messages.
    Reflected(&'a LatencyObservation),
    /// A session of frames is over, and has done this.
    Framed(&'a FramesObservation),
}

/// Watches a server at work.
pub trait Observer: Send + Sync {
    /// A client has come; the returned watcher receives all events of its session.
    fn session(&self, client: SocketAddr, protocol: ProtocolName) -> Box<dyn Watcher>;
    /// A connection was turned away, or something happened outside of a session: a line for the log.
    fn note(&self, text: &str);
    /// A connection was turned away, or ended before any request: each of them, where the log has a line on some.
    fn turned_away(&self) {}
}

/// The log of a server: lines and counts go to its observer.
pub(crate) fn notes(observer: &Arc<dyn Observer>) -> Arc<Notes> {
    let (lines, count) = (observer.clone(), observer.clone());
    Arc::new(Notes::counted(Arc::new(move |text| lines.note(text)), Box::new(move || count.turned_away())))
}

/// Watches one session.
pub trait Watcher {
    /// Something happened.
    fn event(&mut self, event: SessionEvent<'_>);
    /// This end's report of the session as the text or JSON of its tool, which an iPerf3 client requested.
    fn report(&self, _events: &[Event], _extras: &iperf3::Extras) -> Option<Report> {
        None
    }
    /// The session has ended.
    fn ended(&mut self, _outcome: Result<(), &ProtocolError>) {}
}

/// Reports nothing, nor do its sessions: for servers whose clients report everything.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn session(&self, _client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(Silent)
    }

    fn note(&self, _text: &str) {}
}

impl Watcher for Silent {
    fn event(&mut self, _event: SessionEvent<'_>) {}
}

/// Hands everything of a client's session on: its outcome is what the call returns.
pub(crate) struct ToListener<'a>(pub(crate) &'a mut dyn FnMut(SessionEvent<'_>));

impl Watcher for ToListener<'_> {
    fn event(&mut self, event: SessionEvent<'_>) {
        (self.0)(event);
    }
}

/// Hands the events of a client's session on: its outcome is what the call returns.
pub(crate) struct ToSink<F>(pub(crate) F);

impl<F: FnMut(&Event)> Watcher for ToSink<F> {
    fn event(&mut self, event: SessionEvent<'_>) {
        if let SessionEvent::Event(event) = event {
            (self.0)(event);
        }
    }
}
