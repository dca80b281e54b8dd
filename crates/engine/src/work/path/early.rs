//! Sessions that are opened while the first one still opens: on a path whose round trips are long they would take most of the run one after
//! the other.

use super::PathJob;
use super::tcp::Held;
use crate::error::Result;
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::work::probe::{LONG_ROUND_TRIP, Opened, Prober};
use model::plan::Direction;
use std::thread::{Scope, ScopedJoinHandle};

/// A session that opens in a thread of its own.
pub(super) type OpeningProber<'scope> = ScopedJoinHandle<'scope, Result<Prober>>;

/// Sessions that open beside the first one; none on a short path.
pub(super) struct Early<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    job: PathJob<'env>,
    /// A round trip takes so long that sessions are opened early.
    pub(super) is_long: bool,
    /// For the return path.
    pub(super) down: Option<OpeningProber<'scope>>,
    /// For further flows.
    pub(super) legs: Vec<OpeningProber<'scope>>,
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
    /// Nothing yet. `stop`: ends those that open early.
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        job: &PathJob<'env>,
        stop: &'env Interrupt,
    ) -> Self {
        let job = PathJob { interrupt: stop, ..*job };
        // A host's description takes a while the first time, as long as a round trip.
        let far = job.plan.target.address.ip();
        scope.spawn(move || drop(host::describe(Some(far))));
        Early { scope, job, is_long: false, down: None, legs: Vec::new(), tcp: Vec::new() }
    }

    /// The same with nothing opened.
    pub(super) fn again(&self) -> Self {
        let Early { scope, job, .. } = *self;
        Early { scope, job, is_long: false, down: None, legs: Vec::new(), tcp: Vec::new() }
    }

    /// The first session has come so far. Before it is known that a pathmeter answers, three more connections are opened: those that take
    /// longest.
    pub(super) fn note(&mut self, opened: Opened) {
        match opened {
            Opened::Connected(time) if time >= LONG_ROUND_TRIP => {
                self.is_long = true;
                self.down = Some(self.open());
                let directions = [Direction::Up, Direction::Down];
                self.tcp = directions.map(|direction| Held::begin(self.scope, self.job, direction)).into();
            }
            Opened::Greeted if self.is_long => {
                self.legs = (0..FLOWS).map(|_| self.open()).collect();
            }
            Opened::Connected(_) | Opened::Greeted => {}
        }
    }

    fn open(&self) -> OpeningProber<'scope> {
        let PathJob { plan, security, interrupt } = self.job;
        self.scope.spawn(move || Prober::open(&plan.target, &plan.local, security, interrupt))
    }
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
