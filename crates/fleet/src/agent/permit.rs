//! The permit of a job that is carried out: it ends by itself when its lease is not renewed, whatever the agent's loop waits for.

use model::time::MonoTime;
use std::sync::atomic::{AtomicU64, Ordering};

/// Until when a job may use what it holds.
#[derive(Debug)]
pub struct Permit {
    until: AtomicU64,
}

impl Permit {
    pub(super) fn new(until: MonoTime) -> Permit {
        Permit { until: AtomicU64::new(until.0) }
    }

    /// Whether the job may go on; `now` is the monotonic clock of the agent's [`Clock`](crate::clock::Clock).
    #[must_use]
    pub fn is_valid(&self, now: MonoTime) -> bool {
        now.0 < self.until.load(Ordering::SeqCst)
    }

    pub(super) fn extend(&self, until: MonoTime) {
        // One that was revoked stays so.
        let _ =
            self.until.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| (last > 0).then_some(until.0));
    }

    pub(super) fn revoke(&self) {
        self.until.store(0, Ordering::SeqCst);
    }
}
