//! The current phase of the load: the thread that drives it writes it, the thread that measures reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Shared between the two threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentPhase(Arc<AtomicU32>);

/// A stage of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Now {
    /// Between two phases: connections open or close.
    #[default]
    Between,
    /// In a phase.
    Phase {
        /// Which one; the idle one is 0.
        index: usize,
        /// Its load stands: round trips count.
        counted: bool,
    },
}

impl CurrentPhase {
    /// Sets it.
    pub(crate) fn set(&self, now: Now) {
        let code = match now {
            Now::Between => 0,
            Now::Phase { index, counted } => {
                (u32::try_from(index).unwrap_or(u32::MAX / 2 - 1) + 1) << 1 | u32::from(counted)
            }
        };
        self.0.store(code, Ordering::Release);
    }

    /// Asks it.
    pub(crate) fn get(&self) -> Now {
        match self.0.load(Ordering::Acquire) {
            0 | 1 => Now::Between,
            code => Now::Phase { index: (code >> 1) as usize - 1, counted: code & 1 == 1 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_is_set_is_read() {
        let current_phase = CurrentPhase::default();
        assert_eq!(current_phase.get(), Now::Between);
        for index in [0, 1, 3, 1000] {
            for counted in [false, true] {
                let now = Now::Phase { index, counted };
                current_phase.set(now);
                assert_eq!(current_phase.get(), now);
            }
        }
        current_phase.set(Now::Between);
        assert_eq!(current_phase.get(), Now::Between);
    }
}
