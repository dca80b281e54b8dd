//! Asking running tests to stop, and servers to end.

use frames::Stop;
use linux::clock::mono_now;
use linux::poll::Waker;
use model::units::Nanos;
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

    /// Sleeps for so long, or until it is raised.
    pub(crate) fn sleep(&self, span: Nanos) {
        let end = mono_now() + span;
        while mono_now() < end && !self.is_raised() {
            std::thread::sleep(end.saturating_since(mono_now()).min(STEP).to_duration());
        }
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

/// How long a sleep goes on after it is raised.
const STEP: Nanos = Nanos::from_millis(20);
