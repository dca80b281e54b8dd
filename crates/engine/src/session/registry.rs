//! The flow registry: sessions that wait for data flows, and the one that a flow which has arrived belongs to. Each protocol
//! identifies them itself: `work/arrivals.rs` for those with a dialogue, `work/iperf2/server.rs` for those without.

use linux::poll::Waker;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Sessions that wait for flows `F`, each known by what it expects, `W`.
pub(crate) struct FlowRegistry<W, F> {
    waiting: Mutex<Vec<Pending<W, F>>>,
    freed: Condvar,
    tickets: AtomicU64,
}

/// A session that waits.
pub(crate) struct Pending<W, F> {
    /// Which flows are its own.
    pub(crate) expected: W,
    ticket: u64,
    /// Those that it has not taken yet.
    arrived: Vec<F>,
    count: u32,
    most: u32,
    waker: Arc<Waker>,
}

/// A session's place in the registry; it is given up on drop.
pub(crate) struct Slot<W, F> {
    registry: Arc<FlowRegistry<W, F>>,
    ticket: u64,
}

/// The registry locked, so that a flow finds its session or becomes one in one step.
pub(crate) struct Locked<'a, W, F> {
    registry: &'a Arc<FlowRegistry<W, F>>,
    waiting: MutexGuard<'a, Vec<Pending<W, F>>>,
}

impl<W, F> FlowRegistry<W, F> {
    /// An empty registry.
    pub(crate) fn new() -> Arc<FlowRegistry<W, F>> {
        Arc::new(FlowRegistry {
            waiting: Mutex::default(),
            freed: Condvar::new(),
            tickets: AtomicU64::new(0),
        })
    }

    /// Looks at those who wait.
    pub(crate) fn lock(self: &Arc<Self>) -> Locked<'_, W, F> {
        Locked { registry: self, waiting: self.guard() }
    }

    /// The same once no session is there with which the new one could be confused, or after this time.
    pub(crate) fn lock_when_free(
        self: &Arc<Self>,
        limit: Duration,
        confused: impl Fn(&W) -> bool,
    ) -> Locked<'_, W, F> {
        let is_blocked = |all: &mut Vec<Pending<W, F>>| all.iter().any(|waiting| confused(&waiting.expected));
        let waited = self.freed.wait_timeout_while(self.guard(), limit, is_blocked);
        Locked { registry: self, waiting: waited.unwrap_or_else(PoisonError::into_inner).0 }
    }

    fn guard(&self) -> MutexGuard<'_, Vec<Pending<W, F>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W, F> Locked<'_, W, F> {
    /// The first session of which this holds.
    pub(crate) fn find(&mut self, is_it: impl Fn(&Pending<W, F>) -> bool) -> Option<&mut Pending<W, F>> {
        self.waiting.iter_mut().find(|waiting| is_it(waiting))
    }

    /// A session begins to wait for so many flows; `waker` rings at each.
    pub(crate) fn enter(&mut self, expected: W, most: u32, waker: Arc<Waker>) -> Slot<W, F> {
        let ticket = self.registry.tickets.fetch_add(1, Ordering::Relaxed);
        self.waiting.push(Pending { expected, ticket, arrived: Vec::new(), count: 0, most, waker });
        Slot { registry: self.registry.clone(), ticket }
    }
}

impl<W, F> Pending<W, F> {
    /// Flows that have come, taken or not.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Flows that it waits for in all.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// May one more come?
    pub(crate) fn has_room(&self) -> bool {
        self.count < self.most
    }

    /// This flow is its own.
    pub(crate) fn deliver(&mut self, flow: F) {
        self.count += 1;
        self.arrived.push(flow);
        self.waker.wake();
    }
}

impl<W, F> Slot<W, F> {
    /// The flows that came since the last call.
    pub(crate) fn take(&self) -> Vec<F> {
        let mut waiting = self.registry.guard();
        let mine = waiting.iter_mut().find(|waiting| waiting.ticket == self.ticket);
        mine.map(|waiting| std::mem::take(&mut waiting.arrived)).unwrap_or_default()
    }

    /// Ends the wait, if no flow has come that it has not taken; returns whether that is so.
    pub(crate) fn leave(&self) -> bool {
        let mut waiting = self.registry.guard();
        waiting.retain(|waiting| waiting.ticket != self.ticket || !waiting.arrived.is_empty());
        self.registry.freed.notify_all();
        waiting.iter().all(|waiting| waiting.ticket != self.ticket)
    }
}

impl<W, F> Drop for Slot<W, F> {
    fn drop(&mut self) {
        self.registry.guard().retain(|waiting| waiting.ticket != self.ticket);
        self.registry.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waker() -> Arc<Waker> {
        Arc::new(Waker::new().expect("a waker"))
    }

    #[test]
    fn a_flow_goes_to_the_session_that_waits_for_it_and_to_no_other() {
        let registry: Arc<FlowRegistry<&str, u32>> = FlowRegistry::new();
        let a = registry.lock().enter("a", 2, waker());
        let b = registry.lock().enter("b", 2, waker());
        for (name, flow) in [("a", 1), ("b", 2), ("a", 3)] {
            registry.lock().find(|w| w.expected == name).expect("it waits").deliver(flow);
        }
        assert_eq!((a.take(), b.take()), (vec![1, 3], vec![2]));
        assert!(registry.lock().find(|w| w.expected == "a" && w.has_room()).is_none(), "a is full");
        assert_eq!(registry.lock().find(|w| w.expected == "b").map(|w| (w.count(), w.most())), Some((1, 2)));
        drop(a);
        assert!(registry.lock().find(|w| w.expected == "a").is_none(), "its slot is given up");
    }

    #[test]
    fn a_session_leaves_only_when_it_has_taken_all_that_came() {
        let registry: Arc<FlowRegistry<(), u32>> = FlowRegistry::new();
        let slot = registry.lock().enter((), 2, waker());
        registry.lock().find(|_| true).expect("it waits").deliver(7);
        assert!(!slot.leave());
        assert_eq!(slot.take(), [7]);
        assert!(slot.leave());
        assert!(registry.lock().find(|_| true).is_none(), "nothing can come any more");
        assert!(slot.leave() && slot.take().is_empty());
    }

    #[test]
    fn sessions_that_could_be_confused_wait_for_each_other() {
        let registry: Arc<FlowRegistry<&str, u32>> = FlowRegistry::new();
        let first = registry.lock().enter("same", 1, waker());
        let long = Duration::from_secs(60);
        let second = std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let mut locked = registry.lock_when_free(long, |expected| *expected == "same");
                assert!(locked.find(|w| w.expected == "same").is_none(), "the first has gone");
                locked.enter("same", 1, waker())
            });
            drop(first);
            waits.join().expect("it ran")
        });
        let mut other = registry.lock_when_free(long, |expected| *expected == "other");
        other.find(|w| w.expected == "same").expect("the second waits").deliver(1);
        drop(other);
        assert_eq!(second.take(), [1]);
        let soon = Duration::from_millis(1);
        assert!(
            registry.lock_when_free(soon, |_| true).find(|_| true).is_some(),
            "it does not wait for ever"
        );
    }
}
