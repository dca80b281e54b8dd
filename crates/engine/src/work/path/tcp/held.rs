//! A test of TCP that is opened before it is known whether it is wanted, and that starts when it is.

use super::super::PathJob;
use super::{Exchanged, Refused, exchange, or_alone};
use linux::clock::mono_now;
use model::event::Event;
use model::plan::Direction;
use model::time::MonoTime;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use wire::native::Client;
use wire::{Input, Output, ProtocolError, Session, WorkReply};

/// A test that is held.
pub(in crate::work::path) struct Held<'scope> {
    direction: Direction,
    gate: Gate,
    thread: ScopedJoinHandle<'scope, Result<Exchanged, Refused>>,
}

/// Leave to start.
#[derive(Clone)]
pub(super) struct Gate(Arc<AtomicU8>);

/// A session that starts when its gate opens, and that ends with the peer's results, which come last: goodbyes would take another round
/// trip.
struct Guarded {
    session: Box<dyn Session>,
    gate: Gate,
    /// The flows are open, which the session has yet to hear.
    opened: Option<WorkReply>,
    has_results: bool,
}

impl<'scope> Held<'scope> {
    /// Opens it.
    pub(in crate::work::path) fn begin<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        job: PathJob<'env>,
        direction: Direction,
    ) -> Held<'scope> {
        let gate = Gate(Arc::new(AtomicU8::new(SHUT)));
        let of_thread = gate.clone();
        let thread = scope.spawn(move || exchange(&job, direction, None, &of_thread));
        Held { direction, gate, thread }
    }
}

/// Starts those that are wanted, and ends the others. `vanishing`: of these it is known that nothing arrives.
pub(super) fn start(
    job: &PathJob<'_>,
    held: Vec<Held<'_>>,
    [wanted, vanishing]: [&[Direction]; 2],
) -> Vec<(Direction, Option<Exchanged>)> {
    for one in &held {
        let state = match wanted.contains(&one.direction) {
            true if vanishing.contains(&one.direction) => BRIEF,
            true => OPEN,
            false => REFUSED,
        };
        one.gate.0.store(state, Ordering::Release);
    }
    let ended =
        held.into_iter().map(|one| (one.direction, one.thread.join().unwrap_or(Err(Refused::ForGood))));
    let ended: Vec<_> = ended.filter(|(direction, _)| wanted.contains(direction)).collect();
    ended.into_iter().map(|(direction, outcome)| (direction, or_alone(job, direction, outcome))).collect()
}

impl Gate {
    /// One that is open from the beginning.
    pub(super) fn open() -> Gate {
        Gate(Arc::new(AtomicU8::new(OPEN)))
    }

    /// Whether this is its state: [`SHUT`], [`REFUSED`] or [`BRIEF`].
    pub(super) fn is(&self, state: u8) -> bool {
        self.0.load(Ordering::Acquire) == state
    }

    /// Holds a session. The two clocks are of no use to it.
    pub(super) fn guard(&self, session: Client) -> Box<dyn Session> {
        let session = Box::new(session.without_clock());
        Box::new(Guarded { session, gate: self.clone(), opened: None, has_results: false })
    }
}

impl Session for Guarded {
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError> {
        match input {
            Input::Work(reply @ WorkReply::Open(_)) if self.gate.is(SHUT) => {
                self.opened = Some(reply);
                return Ok(());
            }
            other => self.session.input(now, other)?,
        }
        match self.opened.take_if(|_| !self.gate.is(SHUT)) {
            Some(reply) => self.session.input(now, Input::Work(reply)),
            None => Ok(()),
        }
    }

    fn output(&mut self, now: MonoTime) -> Output {
        let output = self.session.output(now);
        self.has_results |= matches!(output, Output::Event(Event::Result(_)));
        match output {
            Output::WaitUntil(_) if self.has_results => Output::Close,
            Output::WaitUntil(until) if self.opened.is_some() => {
                Output::WaitUntil(until.into_iter().chain([mono_now() + LOOK]).min())
            }
            other => other,
        }
    }
}

/// Leave is yet to be given.
pub(super) const SHUT: u8 = 0;
const OPEN: u8 = 1;
/// There will be no leave.
pub(super) const REFUSED: u8 = 2;
/// Leave is given for a short time.
pub(super) const BRIEF: u8 = 3;
/// Time between two looks at the gate.
const LOOK: Nanos = Nanos::from_millis(5);
