//! Asking running tests to stop, and servers to end.

use frames::Stop;
use linux::poll::Waker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A request to stop, shared by everything that can be stopped.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    wakers: Mutex<Vec<Weak<Waker>>>,
    stop: Stop,
}

impl Interrupt {
    /// Asks everything to stop.
    pub fn raise(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.0.stop.raise();
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.iter().filter_map(Weak::upgrade).for_each(|waker| waker.wake());
    }

    /// Has it been raised?
    pub fn is_raised(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// A flag that is raised with the interrupt, for what sends and counts frames.
    pub fn stop(&self) -> Stop {
        self.0.stop.clone()
    }

    /// This waker is woken when the interrupt is raised, also when it already is.
    pub(crate) fn watch(&self, waker: &Arc<Waker>) {
        let mut wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.retain(|w| w.strong_count() > 0);
        wakers.push(Arc::downgrade(waker));
        drop(wakers);
        if self.is_raised() {
            waker.wake();
        }
    }
}
