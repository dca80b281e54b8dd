//! Control messages: the side notes the kernel attaches to a received message (cmsg(3)).
//!
//! They are read through libc: rustix reads a few kinds of these messages, and none that describes a packet.

use crate::error::check_len;
use crate::sockaddr::{self, array};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// One control message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlMessage<'a> {
    /// The protocol level: `SOL_SOCKET`, `SOL_IP`, `SOL_UDP`, ….
    pub level: i32,
    /// The kind within the level.
    pub kind: i32,
    /// The content, in the kernel's layout.
    pub data: &'a [u8],
}

/// Walks over the control messages in a buffer the kernel filled; ends at the first that does not fit.
#[derive(Debug, Clone)]
pub struct ControlMessages<'a>(&'a [u8]);

impl<'a> ControlMessages<'a> {
    /// Reads from the filled part of a control buffer.
    #[must_use]
    pub fn new(filled: &'a [u8]) -> Self {
        Self(filled)
    }
}

impl<'a> Iterator for ControlMessages<'a> {
    type Item = ControlMessage<'a>;

    fn next(&mut self) -> Option<ControlMessage<'a>> {
        let len = usize::from_ne_bytes(array(self.0, 0)?);
        let level = i32::from_ne_bytes(array(self.0, size_of::<usize>())?);
        let kind = i32::from_ne_bytes(array(self.0, size_of::<usize>() + 4)?);
        let data = self.0.get(HEADER..len)?;
        self.0 = self.0.get(len.next_multiple_of(size_of::<usize>())..).unwrap_or(&[]);
        Some(ControlMessage { level, kind, data })
    }
}

impl ControlMessage<'_> {
    /// The content as the kernel's `int`, or its `unsigned int`.
    #[must_use]
    pub fn word(&self) -> Option<u32> {
        array(self.data, 0).map(u32::from_ne_bytes)
    }
}

/// `recvmsg(2)` with a control buffer: the bytes written to the data buffer, the control messages, and the sender, or for the
/// error queue the destination of what failed.
pub(crate) fn receive<'c, const N: usize>(
    fd: BorrowedFd<'_>,
    data: &mut [u8],
    control: &'c mut Control<N>,
    flags: libc::c_int,
) -> io::Result<(usize, ControlMessages<'c>, Option<SocketAddr>)> {
    let mut name = [0_u8; size_of::<libc::sockaddr_in6>()];
    let mut iov = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    let mut header = empty_header();
    header.msg_name = name.as_mut_ptr().cast();
    header.msg_namelen = libc::socklen_t::try_from(name.len()).map_err(io::Error::other)?;
    header.msg_iov = &mut iov;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = N as _;
    // SAFETY: `header` points at `name`, `iov` with `data`, and `control`, all writable, ours and of the stated length.
    let len = check_len(unsafe { libc::recvmsg(fd.as_raw_fd(), &mut header, flags) })?;
    let notes = ControlMessages::new(&control.0[..control_len(&header).min(N)]);
    Ok((len.min(data.len()), notes, sockaddr::parse(&name)))
}

/// A control buffer, aligned for the headers in it.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub struct Control<const N: usize>(pub [u8; N]);

/// Bytes of control messages according to a header; its field is as wide as the C library has it.
pub fn control_len(header: &libc::msghdr) -> usize {
    fn size(len: impl TryInto<usize>) -> usize {
        len.try_into().unwrap_or(0)
    }
    size(header.msg_controllen)
}

/// A message header that points nowhere.
pub fn empty_header() -> libc::msghdr {
    // SAFETY: `msghdr` holds integers and pointers alone, for which zero is a valid value.
    unsafe { std::mem::zeroed() }
}

/// Where the content starts: a length, a level and a kind before it.
const HEADER: usize = size_of::<libc::cmsghdr>();

#[cfg(test)]
mod tests {
    use super::*;

    fn message(len: usize, level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes =
            [len.to_ne_bytes().as_slice(), &level.to_ne_bytes(), &kind.to_ne_bytes(), data].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn walks_over_padding_to_the_next_message() {
        let bytes =
            [message(HEADER + 4, 17, 104, &[1, 0, 0, 0]), message(HEADER + 8, 1, 2, &[9; 8])].concat();
        let found: Vec<_> = ControlMessages::new(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].level, found[0].kind, found[0].word()), (17, 104, Some(1)));
        assert_eq!(found[1], ControlMessage { level: 1, kind: 2, data: &[9; 8] });
    }

    #[test]
    fn ends_at_lengths_that_cannot_be() {
        for len in [0, 1, HEADER - 1, HEADER + 9, usize::MAX] {
            let bytes = message(len, 1, 2, &[9; 8]);
            assert_eq!(ControlMessages::new(&bytes).count(), 0, "length {len}");
        }
        let whole = message(HEADER + 8, 1, 2, &[9; 8]);
        for cut in 0..whole.len() {
            assert_eq!(ControlMessages::new(&whole[..cut]).count(), 0, "cut to {cut}");
        }
    }
}
