//! Rings shared with the kernel: one side writes at the producer's index, the other reads at the consumer's. Each side owns its
//! index and reads the other's.

use super::memory::Mapping;
use linux::error::Result;
use linux::options::Opt;
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// A ring of a socket: the option that creates it, its offset for mmap, and the option for the offsets of its parts.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    /// Its value is the number of entries, a power of two (`EINVAL` for another number).
    pub(super) option: Opt,
    pub(super) page: libc::off_t,
    /// The position of the ring's offsets in `struct xdp_mmap_offsets`.
    pub(super) position: usize,
}

/// Offsets of the parts of a ring in its mapping (`struct xdp_ring_offset`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) producer: usize,
    pub(super) consumer: usize,
    pub(super) entries: usize,
    pub(super) flags: usize,
}

/// A ring into which this process writes.
#[derive(Debug)]
pub(super) struct Producer<T>(pub(super) Queue<T>);

/// A ring from which this process reads.
#[derive(Debug)]
pub(super) struct Consumer<T>(pub(super) Queue<T>);

#[derive(Debug)]
pub(super) struct Queue<T> {
    mapping: Mapping,
    parts: Parts,
    size: u32,
    /// This side's index: it runs on beyond the size and wraps as the kernel's does.
    own: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Queue<T> {
    /// Maps a ring that was created with this size.
    pub(super) fn map(socket: BorrowedFd<'_>, kind: Kind, parts: Parts, size: u32) -> Result<Queue<T>> {
        let length = parts.entries + size as usize * size_of::<T>();
        let mapping = Mapping::shared(length, socket, kind.page)?;
        Ok(Queue { mapping, parts, size, own: 0, entries: PhantomData })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the mapping as `at` checks, aligned as the kernel lays rings out, valid as long as `self`, and used
        // as an atomic by both sides.
        unsafe { AtomicU32::from_ptr(self.mapping.at(at, size_of::<u32>()).cast()) }
    }

    /// The entry at this side's index.
    fn entry(&self) -> *mut T {
        let index = (self.own & (self.size - 1)) as usize;
        self.mapping.at(self.parts.entries + index * size_of::<T>(), size_of::<T>()).cast()
    }
}

impl<T: Copy> Producer<T> {
    /// Writes an entry, which the other side receives after [`Producer::submit`]; returns whether there was room.
    pub(super) fn put(&mut self, entry: T) -> bool {
        if self.waiting() >= self.0.size {
            return false;
        }
        // SAFETY: the entry is within the mapping and aligned, and the kernel has released it, by its index.
        unsafe { self.0.entry().write(entry) };
        self.0.own = self.0.own.wrapping_add(1);
        true
    }

    /// Passes all written entries to the other side.
    pub(super) fn submit(&mut self) {
        self.0.word(self.0.parts.producer).store(self.0.own, Ordering::Release);
    }

    /// Number of entries that the other side has not read yet.
    pub(super) fn waiting(&self) -> u32 {
        // Entries read before are no longer used by the other side.
        self.0.own.wrapping_sub(self.0.word(self.0.parts.consumer).load(Ordering::Acquire))
    }

    /// Whether the kernel reads the ring only when it is called.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.0.word(self.0.parts.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T: Copy> Consumer<T> {
    /// Number of entries that the other side has written and this one has not read, never more than the size.
    pub(super) fn available(&self) -> u32 {
        let produced = self.0.word(self.0.parts.producer).load(Ordering::Acquire);
        produced.wrapping_sub(self.0.own).min(self.0.size)
    }

    /// Reads the entries. The other side may reuse their places when this returns.
    pub(super) fn take(&mut self, mut take: impl FnMut(T)) -> u32 {
        let available = self.available();
        for _ in 0..available {
            // SAFETY: the entry is within the mapping and aligned, and the kernel has written it, by its index.
            take(unsafe { self.0.entry().read() });
            self.0.own = self.0.own.wrapping_add(1);
        }
        self.0.word(self.0.parts.consumer).store(self.0.own, Ordering::Release);
        available
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's layout: its words lie apart, so that the two sides do not share cache lines.
    const PARTS: Parts = Parts { producer: 0, consumer: 64, entries: 192, flags: 128 };

    /// A ring of four without a socket, at this index of both sides.
    fn queue(index: u32) -> Queue<u64> {
        let mapping = Mapping::anonymous(PARTS.entries + 4 * size_of::<u64>()).expect("a page");
        let queue = Queue { mapping, parts: PARTS, size: 4, own: index, entries: PhantomData };
        for at in [PARTS.producer, PARTS.consumer] {
            queue.word(at).store(index, Ordering::Relaxed);
        }
        queue
    }

    /// Beyond the last index the first follows.
    const STARTS: [u32; 3] = [0, 3, u32::MAX - 1];

    #[test]
    fn entries_are_passed_on_when_submitted_and_no_more_than_there_is_room_for() {
        for start in STARTS {
            let mut ring = Producer(queue(start));
            assert_eq!(
                (10..15).map(|entry| ring.put(entry)).collect::<Vec<_>>(),
                [true, true, true, true, false]
            );
            assert_eq!(ring.0.word(PARTS.producer).load(Ordering::Acquire), start);
            ring.submit();
            assert_eq!(ring.0.word(PARTS.producer).load(Ordering::Acquire), start.wrapping_add(4));
            // The kernel takes two.
            ring.0.word(PARTS.consumer).store(start.wrapping_add(2), Ordering::Release);
            assert_eq!(ring.waiting(), 2);
            assert_eq!((15..18).map(|entry| ring.put(entry)).collect::<Vec<_>>(), [true, true, false]);
            let entries: Vec<u64> = (0..4)
                .map(|_| {
                    ring.0.own = ring.0.own.wrapping_sub(1);
                    // SAFETY: the ring is this test's alone, and every entry was put.
                    unsafe { ring.0.entry().read() }
                })
                .collect();
            assert_eq!(entries, [16, 15, 13, 12], "from {start} on, backwards");
            assert!(!ring.needs_wakeup());
            ring.0.word(PARTS.flags).store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
            assert!(ring.needs_wakeup());
        }
    }

    #[test]
    fn what_the_other_side_has_put_is_taken_once() {
        for start in STARTS {
            let mut ring = Consumer(queue(start));
            assert_eq!((ring.available(), ring.take(|entry| panic!("{entry}"))), (0, 0));
            for entry in 20..23_u64 {
                // SAFETY: the ring is this test's alone.
                unsafe { ring.0.entry().write(entry) };
                ring.0.own = ring.0.own.wrapping_add(1);
            }
            ring.0.own = start;
            ring.0.word(PARTS.producer).store(start.wrapping_add(3), Ordering::Release);
            let mut taken = Vec::new();
            assert_eq!(ring.take(|entry| taken.push(entry)), 3);
            assert_eq!(taken, [20, 21, 22]);
            assert_eq!(ring.0.word(PARTS.consumer).load(Ordering::Acquire), start.wrapping_add(3));
            assert_eq!(ring.available(), 0);
            // An index that is out of range is read as a full ring.
            ring.0.word(PARTS.producer).store(start.wrapping_sub(1), Ordering::Release);
            assert_eq!(ring.take(|_| ()), 4);
        }
    }
}
