//! Memory shared with the kernel: the chunks of frames, and the pages of a ring.

use linux::error::{Named, Result};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Pages mapped into this process.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the pages belong to the mapping alone and are valid on every thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Fresh pages, zero at first.
    pub(super) fn anonymous(length: usize) -> Result<Mapping> {
        // Miri does not support populated pages.
        let populate = if cfg!(miri) { 0 } else { libc::MAP_POPULATE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | populate;
        Mapping::new(length, flags, -1, 0)
    }

    /// Pages that the kernel shares through a socket.
    pub(super) fn shared(length: usize, socket: BorrowedFd<'_>, offset: libc::off_t) -> Result<Mapping> {
        Mapping::new(length, libc::MAP_SHARED | libc::MAP_POPULATE, socket.as_raw_fd(), offset)
    }

    fn new(length: usize, flags: libc::c_int, fd: libc::c_int, offset: libc::off_t) -> Result<Mapping> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: maps new memory at a place of the kernel's choice.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, fd, offset) };
        let mapped = if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped) };
        let mapped = mapped.named("map", || format!("{length} bytes of an AF_XDP socket"))?;
        let start = NonNull::new(mapped.cast()).expect("a mapping is not at address 0");
        Ok(Mapping { start, length })
    }

    /// A place within the mapping.
    ///
    /// # Panics
    /// When `length` bytes from there on are not all within.
    pub(super) fn at(&self, offset: usize, length: usize) -> *mut u8 {
        let end = offset.checked_add(length).expect("an offset is small");
        assert!(end <= self.length, "{offset} + {length} is beyond a mapping of {}", self.length);
        // SAFETY: checked to be within the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is our own, of this length, and nothing borrows it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// The memory that frames are in ("UMEM"): chunks of a page each.
#[derive(Debug)]
pub(super) struct Umem {
    mapping: Mapping,
}

impl Umem {
    pub(super) fn new(chunks: u32) -> Result<Umem> {
        Ok(Umem { mapping: Mapping::anonymous(chunks as usize * CHUNK)? })
    }

    /// The offsets of the chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = u64> + use<> {
        (0..self.mapping.length as u64).step_by(CHUNK)
    }

    /// Address and length, as passed to the kernel.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.mapping.start.as_ptr().expose_provenance() as u64, self.mapping.length as u64)
    }

    /// Bytes at a place counted from the first chunk.
    ///
    /// # Safety
    /// The kernel must not have them: they were never handed to it, or it has given them back.
    ///
    /// # Panics
    /// When they are not all within.
    pub(super) unsafe fn bytes(&mut self, at: u64, length: usize) -> &mut [u8] {
        let start = self.mapping.at(usize::try_from(at).unwrap_or(usize::MAX), length);
        // SAFETY: within the mapping, ours as the caller vouches, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }
}

/// Bytes of a chunk.
pub(super) const CHUNK: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_apart_and_nothing_is_beyond_them() {
        let mut umem = Umem::new(3).expect("three pages");
        let chunks: Vec<u64> = umem.chunks().collect();
        assert_eq!(chunks, [0, 4096, 8192]);
        for (number, chunk) in (1..).zip(&chunks) {
            // SAFETY: no kernel knows of it.
            unsafe { umem.bytes(*chunk, CHUNK) }.fill(number);
        }
        // SAFETY: as above.
        let all = unsafe { umem.bytes(0, 3 * CHUNK) };
        assert_eq!([all[0], all[CHUNK - 1], all[CHUNK], all[3 * CHUNK - 1]], [1, 1, 2, 3]);
        assert_eq!(umem.place().1, 3 * CHUNK as u64);
        for (at, length) in [(0, 3 * CHUNK + 1), (3 * CHUNK, 1), (usize::MAX, 2), (CHUNK, usize::MAX)] {
            let mapping = std::panic::AssertUnwindSafe(&umem.mapping);
            assert!(std::panic::catch_unwind(|| mapping.at(at, length)).is_err(), "{at} + {length}");
        }
    }
}
