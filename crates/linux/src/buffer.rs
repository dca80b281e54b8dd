//! A page-aligned buffer whose pages are mapped before the measurement starts.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ops::{Deref, DerefMut};

/// Bytes that start on a page and whose pages have all been written to, so that no page fault falls into the data path.
///
/// The content to send is a fixed pseudo-random pattern: neither zero pages nor compressible by links on the path.
#[derive(Debug, Clone)]
#[must_use]
pub struct PageBuffer {
    pages: Box<[Page]>,
    len: usize,
}

impl PageBuffer {
    /// Allocates and fills `len` bytes.
    pub fn new(len: usize) -> Self {
        let pages = vec![Page([0; PAGE]); len.div_ceil(PAGE)].into_boxed_slice();
        let mut buffer = Self { pages, len };
        buffer.fill();
        buffer
    }

    /// Allocates `len` bytes of zeros whose pages are untouched: they take no memory until they are used.
    pub fn untouched(len: usize) -> Self {
        let count = len.div_ceil(PAGE);
        if count == 0 {
            return Self { pages: Box::default(), len };
        }
        let layout =
            Layout::array::<Page>(count).expect("no more bytes are asked for than an address can count");
        // SAFETY: the layout is not empty, a page is plain bytes, for which zeros are a value, and a box of pages is freed
        // with this layout.
        let pages = unsafe {
            let first = alloc_zeroed(layout).cast::<Page>();
            if first.is_null() {
                handle_alloc_error(layout);
            }
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, count))
        };
        Self { pages, len }
    }

    /// Allocates `len` bytes to receive into: every page is resident, and the initial content is not read.
    pub fn blank(len: usize) -> Self {
        let mut buffer = Self::untouched(len);
        // Not zero, which the page holds already and which need not be written.
        buffer.pages.iter_mut().for_each(|page| page.0[0] = 1);
        buffer
    }

    fn fill(&mut self) {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for chunk in self.chunks_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
        }
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the pages are contiguous plain bytes, at least `len` of them, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for PageBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; `&mut self` makes the borrow exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().cast(), self.len) }
    }
}

#[derive(Debug, Clone, Copy)]
#[repr(C, align(4096))]
struct Page([u8; PAGE]);

const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_page_and_is_filled_to_the_last_byte() {
        for len in [0, 1, 4096, 70_001] {
            let buffer = PageBuffer::new(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().addr() % PAGE, 0);
            assert!(len < 64 || buffer[len - 64..].iter().any(|&byte| byte != 0));
            let untouched = PageBuffer::untouched(len);
            assert_eq!((untouched.len(), untouched.as_ptr().addr() % PAGE), (len, 0));
            assert!(untouched.iter().all(|&byte| byte == 0));
            let blank = PageBuffer::blank(len);
            assert_eq!((blank.len(), blank.as_ptr().addr() % PAGE), (len, 0));
            assert!(blank.chunks(PAGE).all(|page| page[0] == 1));
        }
    }

    #[test]
    fn is_writable() {
        let mut buffer = PageBuffer::new(10);
        buffer[9] = 7;
        assert_eq!(buffer.last(), Some(&7));
    }
}
