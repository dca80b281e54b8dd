//! Ending a trial before its time.

pub(crate) mod timer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timer::Timer;

/// A flag that ends what watches it; its copies are one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    raised: AtomicBool,
    /// Of threads that stay in a system call and do not see the flag.
    timers: Mutex<Vec<Arc<Timer>>>,
}

impl Stop {
    /// Ends all that watch it, soon and for good. Not to be called in a signal handler: it takes a lock.
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

    /// From now on until [`Stop::forget`] the timer interrupts its thread when this is raised. When it has been raised before,
    /// it does not: the flag is to be looked at after this.
    pub(crate) fn interrupt(&self, timer: Arc<Timer>) {
        self.timers().push(timer);
    }

    /// Ends what [`Stop::interrupt`] began.
    pub(crate) fn forget(&self, timer: &Arc<Timer>) {
        self.timers().retain(|other| !Arc::ptr_eq(other, timer));
    }

    fn timers(&self) -> MutexGuard<'_, Vec<Arc<Timer>>> {
        self.shared.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
