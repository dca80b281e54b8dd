//! Stopping a trial early.

pub(crate) mod timer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timer::Timer;

/// A flag that stops its watchers; its copies are one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    /// Timers of threads that stay in a system call and do not notice the flag.
    timers: Mutex<Vec<Arc<Timer>>>,
}

impl Stop {
    /// Stops all watchers, soon and for good. Must not be called in a signal handler: it takes a lock.
    pub fn raise(&self) {
        let timers = self.timers();
        self.shared.raised.store(true, Ordering::Release);
        timers.iter().for_each(|timer| timer.interrupt_now());
    }

    /// Whether it has been raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.shared.raised.load(Ordering::Acquire)
    }

    /// Has the timer interrupt its thread when the flag is raised, until [`Stop::forget`]. A flag that was raised before does
    /// not: check it after this call.
    pub(crate) fn interrupt(&self, timer: Arc<Timer>) {
        self.timers().push(timer);
    }

    /// Undoes [`Stop::interrupt`].
    pub(crate) fn forget(&self, timer: &Arc<Timer>) {
        self.timers().retain(|other| !Arc::ptr_eq(other, timer));
    }

    fn timers(&self) -> MutexGuard<'_, Vec<Arc<Timer>>> {
        self.shared.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
