//! One end of a dialogue, and what became of it.

use model::event::{EndResult, Event, Probe, Warning};
use model::sample::{Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use wire::{Input, ProtocolError, Session};

/// An end: its machine, and what it has said.
pub struct End<S: ?Sized> {
    /// What it told, in order.
    pub events: Vec<Event>,
    /// The error of `input`, if there was one.
    pub error: Option<ProtocolError>,
    /// When it closed.
    pub closed: Option<MonoTime>,
    pub(crate) vanished: bool,
    pub(crate) wake: Option<MonoTime>,
    /// Nothing sent to it earlier arrives later.
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
    /// Neither closed nor vanished.
    #[must_use]
    pub fn is_there(&self) -> bool {
        !self.vanished && self.closed.is_none()
    }

    /// Until when it waits.
    pub(crate) fn waits(&self) -> Option<MonoTime> {
        self.wake.filter(|_| self.is_there())
    }

    /// The result that the peer told of.
    #[must_use]
    pub fn told_by_peer(&self) -> Option<&EndResult> {
        self.events.iter().find_map(|event| match event {
            Event::Result(result) if result.side == Side::Peer => Some(result),
            _ => None,
        })
    }

    /// What the peer measured, as it told.
    #[must_use]
    pub fn result_of_peer(&self) -> Option<&SideResult> {
        self.told_by_peer().map(|reported| &reported.result)
    }

    /// How many intervals the peer told of.
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

    /// Offset of the peer's clock and its error, nanoseconds, as told.
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
