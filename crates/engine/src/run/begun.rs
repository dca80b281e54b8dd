//! A run while it lasts: its events are sent and kept, the first hop is watched and packets are captured meanwhile.

use super::{Measured, Options, limit, run_id};
use crate::error::{Error, Result, too_early};
use crate::host::capture::{self, Capture, CaptureOptions};
use crate::host::interrupt::Interrupt;
use crate::host::reach::{self, Watch};
use insight::run_of_events;
use model::event::Event;
use model::plan::Plan;
use model::reach::Reach;
use std::io::ErrorKind;
use std::net::IpAddr;

/// A run that has begun.
pub(super) struct Begun<'a> {
    sink: &'a mut dyn FnMut(&Event),
    drop_intervals: bool,
    events: Vec<Event>,
}

impl<'a> Begun<'a> {
    pub(super) fn new(options: &Options, sink: &'a mut dyn FnMut(&Event)) -> Begun<'a> {
        Begun { sink, drop_intervals: options.drop_intervals, events: Vec::new() }
    }

    /// Sends an event, and keeps those that the run is made of.
    pub(super) fn event(&mut self, event: &Event) {
        (self.sink)(event);
        let is_kept = match event {
            Event::Progress(_) | Event::HopsSample(_) => false,
            Event::Sample(_) | Event::LatencySample(_) => !self.drop_intervals,
            _ => true,
        };
        if is_kept {
            self.events.push(event.clone());
        }
    }

    /// Sends and keeps several, in order.
    pub(super) fn take(&mut self, events: impl IntoIterator<Item = Event>) {
        events.into_iter().for_each(|event| self.event(&event));
    }

    /// Finds what limits each direction of a test that has ended well.
    pub(super) fn find_limit(&mut self, plan: &Plan, options: &Options) {
        let events = std::mem::take(&mut self.events);
        let found = limit::decide(plan, options, &events, self.sink);
        self.events = events;
        self.take(found);
    }

    /// The events that were kept.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The end of a run of this kind, of which something `was_measured`, or not. `attribute` adds advice to an error; its first
    /// argument is whether the test had begun.
    pub(super) fn end(
        self,
        kind: &str,
        outcome: Result<()>,
        options: &Options,
        was_measured: fn(&Event) -> bool,
        attribute: impl FnOnce(bool, Error) -> Error,
    ) -> Result<Measured> {
        let measured = self.events.iter().any(was_measured);
        match outcome {
            _ if !measured && options.stop.is_raised() => Err(too_early().into()),
            Err(error) if !measured => Err(attribute(false, error)),
            outcome => {
                let run = run_of_events(&run_id()?, kind, &self.events);
                Ok(Measured { run, error: outcome.err().map(|error| attribute(true, error)) })
            }
        }
    }
}

/// Observers while a test runs.
pub(super) struct Watched {
    watch: Option<Watch>,
    capture: Option<Capture>,
}

impl Watched {
    /// Watches the first hop toward a host, and begins to capture.
    ///
    /// # Errors
    /// There is no such interface, or the capture's file cannot be made.
    pub(super) fn start(peer: IpAddr, capture: &CaptureOptions) -> Result<Watched> {
        Ok(Watched { watch: reach::watch(peer), capture: capture::start(capture, peer)? })
    }

    /// Why no packets are captured although they should be.
    pub(super) fn refusal(&self) -> Option<&str> {
        self.capture.as_ref().and_then(Capture::refusal)
    }

    /// Returns the observations, added to the known reachability of the far host. After a failure the kernel is given the time
    /// to find out, unless the far host's answer was the failure.
    pub(super) fn finish(self, failure: Option<&Error>, stop: &Interrupt, known: Reach) -> Vec<Event> {
        if let (true, Some(watch)) = (failure.is_some_and(|error| !is_answered(error)), &self.watch) {
            watch.settle(stop);
        }
        let observed = self.watch.and_then(|watch| watch.finish(known));
        observed.into_iter().chain(self.capture.map(Capture::finish)).collect()
    }
}

/// The far host itself refused: its packets come, and so do those to it.
fn is_answered(error: &Error) -> bool {
    let refused = error.system().map(|system| system.source.kind()) == Some(ErrorKind::ConnectionRefused);
    refused && error.system().is_some_and(|system| system.rejection.is_none())
}
