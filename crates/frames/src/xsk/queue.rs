//! Rings shared with the kernel: one side puts at the producer's index, the other takes at the consumer's. Each side owns
//! its index and reads the other's.

use super::memory::Mapping;
use linux::error::Result;
use linux::options::{Opt, set_int};
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Which ring of a socket: the option that makes it, where it is mapped from, and where its parts are said to be.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) option: Opt,
    pub(super) page: libc::off_t,
    /// The position of the ring's offsets in `struct xdp_mmap_offsets`.
    pub(super) position: usize,
}

/// Where the parts of a ring are in its mapping (`struct xdp_ring_offset`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) producer: usize,
    pub(super) consumer: usize,
    pub(super) entries: usize,
    pub(super) flags: usize,
}

/// A ring into which this process puts.
#[derive(Debug)]
pub(super) struct Producer<T>(Queue<T>);

/// A ring out of which this process takes.
#[derive(Debug)]
pub(super) struct Consumer<T>(Queue<T>);

#[derive(Debug)]
struct Queue<T> {
    mapping: Mapping,
    parts: Parts,
    size: u32,
    /// This side's index: it runs on beyond the size and wraps as the kernel's does.
    own: u32,
    entries: PhantomData<T>,
}

impl<T: Copy> Queue<T> {
    fn map(socket: BorrowedFd<'_>, kind: Kind, parts: Parts, size: u32) -> Result<Queue<T>> {
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

/// Has a socket make a ring of so many entries, a power of two.
///
/// # Errors
/// `EINVAL` for another number, `ENOMEM`.
pub(super) fn make(socket: BorrowedFd<'_>, kind: Kind, size: u32) -> Result<()> {
    set_int(&socket, kind.option, size)
}

impl<T: Copy> Producer<T> {
    /// Maps a ring that was made with this size.
    pub(super) fn map(socket: BorrowedFd<'_>, kind: Kind, parts: Parts, size: u32) -> Result<Producer<T>> {
        Queue::map(socket, kind, parts, size).map(Producer)
    }

    /// Puts an entry, which the other side sees after [`Producer::submit`]; whether there was room.
    pub(super) fn put(&mut self, entry: T) -> bool {
        if self.waiting() >= self.0.size {
            return false;
        }
        // SAFETY: the entry is within the mapping and aligned, and the kernel has done with it, as its index says.
        unsafe { self.0.entry().write(entry) };
        self.0.own = self.0.own.wrapping_add(1);
        true
    }

    /// Shows the other side all that was put.
    pub(super) fn submit(&mut self) {
        self.0.word(self.0.parts.producer).store(self.0.own, Ordering::Release);
    }

    /// How many the other side has not taken yet.
    pub(super) fn waiting(&self) -> u32 {
        // What was taken before is no longer read by the other side.
        self.0.own.wrapping_sub(self.0.word(self.0.parts.consumer).load(Ordering::Acquire))
    }

    /// Whether the kernel looks at the ring only when it is called.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.0.word(self.0.parts.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T: Copy> Consumer<T> {
    /// Maps a ring that was made with this size.
    pub(super) fn map(socket: BorrowedFd<'_>, kind: Kind, parts: Parts, size: u32) -> Result<Consumer<T>> {
        Queue::map(socket, kind, parts, size).map(Consumer)
    }

    /// How many the other side has put and this one has not taken, never more than there is room for.
    pub(super) fn available(&self) -> u32 {
        let produced = self.0.word(self.0.parts.producer).load(Ordering::Acquire);
        produced.wrapping_sub(self.0.own).min(self.0.size)
    }

    /// Takes what is there. The other side may put anew in these places when this returns.
    pub(super) fn take(&mut self, mut take: impl FnMut(T)) -> u32 {
        let available = self.available();
        for _ in 0..available {
            // SAFETY: the entry is within the mapping and aligned, and the kernel has written it, as its index said.
            take(unsafe { self.0.entry().read() });
            self.0.own = self.0.own.wrapping_add(1);
        }
        self.0.word(self.0.parts.consumer).store(self.0.own, Ordering::Release);
        available
    }
}
