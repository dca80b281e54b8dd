//! The memory that a machine holds: whatever an unauthenticated peer sends, it is little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that are allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system allocator's own, with the caller's own arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Memory allocated since it was made.
pub struct Held(usize);

impl Held {
    /// Counts from now on.
    #[must_use]
    pub fn from_now() -> Held {
        Held(LIVE.load(Ordering::Relaxed))
    }

    /// Panics when more is held than any dialogue needs, however long it lasts: its results, a message that is not complete.
    pub fn check(&self) {
        let held = LIVE.load(Ordering::Relaxed).saturating_sub(self.0);
        assert!(held <= MOST, "{held} bytes are held");
    }
}

/// Half a mebibyte; the longest inputs here are a tenth of it.
const MOST: usize = 1 << 19;
