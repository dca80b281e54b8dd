//! Sessions that are opened while the first one still opens: on a path whose round trips are long they would take most of the run one after
//! the other.

use super::PathJob;
use super::tcp::Held;
use crate::error::Result;
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::work::probe::{LONG_ROUND_TRIP, Opened, Prober};
use model::plan::Direction;
use model::units::Nanos;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Scope, ScopedJoinHandle};

/// A session that opens in a thread of its own.
pub(super) type OpeningProber<'scope> = ScopedJoinHandle<'scope, Result<Prober>>;

/// Sessions that open beside the first one; none on a short path.
pub(super) struct Early<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    job: PathJob<'env>,
    /// Gets the time in which the first connection opened.
    connected: Option<Sender<Nanos>>,
    beside: Option<ScopedJoinHandle<'scope, Option<Beside<'scope>>>>,
    /// A round trip takes so long that sessions are opened early.
    pub(super) is_long: bool,
    /// For further flows.
    pub(super) legs: Vec<OpeningProber<'scope>>,
}

/// Sessions that are opened as soon as the first connection has taken long.
pub(super) struct Beside<'scope> {
    /// For the return path.
    pub(super) down: OpeningProber<'scope>,
    /// TCP, up and down.
    pub(super) tcp: Vec<Held<'scope>>,
}

/// Raised when it goes out of use: nothing that opened early outlives the run.
pub(super) struct Stopping(pub(super) Interrupt);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.raise();
    }
}

impl<'scope, 'env: 'scope> Early<'scope, 'env> {
    /// Nothing yet, but where the first connection takes long, three more are opened at once: those that take longest. `stop`: ends
    /// those that open early.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        job: &PathJob<'env>,
        stop: &'env Interrupt,
    ) -> Self {
        let job = PathJob { interrupt: stop, ..*job };
        // A host's description takes a while the first time, as long as a round trip.
        let far = job.plan.target.address.ip();
        scope.spawn(move || drop(host::describe(Some(far))));
        let (connected, first) = mpsc::channel();
        let beside = scope.spawn(move || {
            let is_long = match first.recv_timeout(LONG_ROUND_TRIP.to_duration()) {
                Ok(time) => time >= LONG_ROUND_TRIP,
                Err(RecvTimeoutError::Timeout) => !job.interrupt.is_raised(),
                Err(RecvTimeoutError::Disconnected) => false,
            };
            is_long.then(|| Beside {
                down: open(scope, job),
                tcp: [Direction::Up, Direction::Down]
                    .map(|direction| Held::begin(scope, job, direction))
                    .into(),
            })
        });
        let (connected, beside) = (Some(connected), Some(beside));
        Early { scope, job, connected, beside, is_long: false, legs: Vec::new() }
    }

    /// The same with nothing opened.
    pub(super) fn again(&self) -> Self {
        let Early { scope, job, .. } = *self;
        Early { scope, job, connected: None, beside: None, is_long: false, legs: Vec::new() }
    }

    /// The first session has come so far.
    pub(super) fn note(&mut self, opened: Opened) {
        match opened {
            Opened::Connected(time) => {
                self.is_long = time >= LONG_ROUND_TRIP;
                self.connected.take().map(|connected| connected.send(time));
            }
            Opened::Greeted if self.is_long => {
                self.legs = (0..FLOWS).map(|_| open(self.scope, self.job)).collect();
            }
            Opened::Greeted => {}
        }
    }

    /// Those that are open or opening.
    pub(super) fn beside(&mut self) -> Option<Beside<'scope>> {
        self.connected = None;
        self.beside.take()?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Ends those that are opening, which are of no use.
    pub(super) fn stop(&mut self) {
        self.connected = None;
        self.job.interrupt.raise();
    }
}

fn open<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    job: PathJob<'env>,
) -> OpeningProber<'scope> {
    let PathJob { plan, security, interrupt } = job;
    scope.spawn(move || Prober::open(&plan.target, &plan.local, security, interrupt))
}

/// The session that was opened early, or one that is opened now.
pub(super) fn prober(early: Option<OpeningProber<'_>>, job: &PathJob<'_>) -> Result<Prober> {
    match early {
        Some(opening) => opening.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        None => Prober::open(&job.plan.target, &job.plan.local, job.security, job.interrupt),
    }
}

/// With the first one five: of two equal paths one is missed by all in one of 16 looks.
pub(super) const FLOWS: usize = 4;
