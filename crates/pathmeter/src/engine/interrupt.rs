//! Asking running tests to stop: Ctrl-C, SIGTERM, a server that shuts down.

use linux::frames::Stop;
use linux::poll::Waker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A request to stop, shared by everything that can be stopped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    wakers: Mutex<Vec<Weak<Waker>>>,
    stop: Stop,
}

impl Interrupt {
    /// An interrupt that SIGINT, SIGTERM and SIGHUP raise. A second signal ends the process at once.
    pub(crate) fn on_signals() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt::default();
        let mut signals = signal_hook::iterator::Signals::new([
            signal_hook::consts::SIGINT,
            signal_hook::consts::SIGTERM,
            signal_hook::consts::SIGHUP,
        ])?;
        let raised = interrupt.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                if raised.is_raised() {
                    std::process::exit(128 + signal);
                }
                raised.raise();
            }
        })?;
        Ok(interrupt)
    }

    /// Asks everything to stop.
    pub(crate) fn raise(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        self.0.stop.raise();
        let wakers = self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        wakers.iter().filter_map(Weak::upgrade).for_each(|waker| waker.wake());
    }

    /// Has it been raised?
    pub(crate) fn is_raised(&self) -> bool {
        self.0.asked.load(Ordering::SeqCst)
    }

    /// A flag that is raised with the interrupt, for what sends and counts frames.
    pub(crate) fn stop(&self) -> Stop {
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
