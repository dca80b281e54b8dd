//! Ending a trial before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends what watches it; its copies are one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
}

impl Stop {
    /// Ends all that watch it, soon and for good.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Release);
    }

    /// Whether it has been raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }
}
