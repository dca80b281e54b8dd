//! One end of a dialogue, and its outcome.

use model::event::{EndResult, Event, Probe, Warning};
use model::sample::{Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use wire::{Input, ProtocolError, Session};

/// An end: its machine, and the events it has emitted.
pub struct End<S: ?Sized> {
    /// The events it emitted, in sequence.
    pub events: Vec<Event>,
    /// The error of `input`, if there was one.
    pub error: Option<ProtocolError>,
    /// The time at which it closed.
    pub closed: Option<MonoTime>,
    pub(crate) vanished: bool,
    pub(crate) wake: Option<MonoTime>,
    /// Bytes sent later arrive no earlier than this.
    pub(crate) last_arrival: MonoTime,
    /// The machine.
    pub session: S,
}

impl<S> End<S> {
    pub(crate) fn new(session: S) -> End<S> {
        End {
            events: Vec::new(),
            error: None,
            closed: None,
            vanished: false,
            wake: None,
            last_arrival: MonoTime::ZERO,
            session,
        }
    }
}

impl<S: ?Sized> End<S> {
    /// The end has neither closed nor vanished.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !self.vanished && self.closed.is_none()
    }

    /// The time until which it waits.
    pub(crate) fn waits(&self) -> Option<MonoTime> {
        self.wake.filter(|_| self.is_there())
    }

    /// The result that the peer reported.
    #[must_use]
    pub fn results_of_peer(&self) -> Option<&EndResult> {
        self.events.iter().find_map(|event| match event {
            Event::Result(result) if result.side == Side::Peer => Some(result),
            _ => None,
        })
    }

    /// The figures that the peer reported.
    #[must_use]
    pub fn result_of_peer(&self) -> Option<&SideResult> {
        self.results_of_peer().map(|reported| &reported.result)
    }

    /// The number of intervals that the peer reported.
    #[must_use]
    pub fn samples_of_peer(&self) -> usize {
        self.events.iter().filter(|e| matches!(e, Event::Sample(sample) if sample.side == Side::Peer)).count()
    }

    /// The names of its warnings.
    #[must_use]
    pub fn warnings(&self) -> Vec<&str> {
        let id = |event| {
            if let &Event::Warning(Warning { ref id, .. }) = event { Some(id.as_str()) } else { None }
        };
        self.events.iter().filter_map(id).collect()
    }

    /// Reported offset of the peer's clock and its error, nanoseconds.
    #[must_use]
    pub fn clock_offset(&self) -> Option<(i64, Nanos)> {
        self.events.iter().find_map(|event| match event {
            Event::Probe(Probe::ClockOffset { offset_ns, error, .. }) => Some((*offset_ns, *error)),
            _ => None,
        })
    }
}

impl<'a> End<dyn Session + 'a> {
    pub(crate) fn input(&mut self, now: MonoTime, input: Input<'_>) {
        if !self.is_there() {
            return;
        }
        if let Err(error) = self.session.input(now, input) {
            assert_eq!(self.error, None, "an error after the end: {error}");
            self.error = Some(error);
        }
    }
}
