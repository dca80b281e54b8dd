//! Receiving several messages per system call, each perhaps many datagrams joined by the kernel (UDP GRO).

use crate::buffer::PageBuffer;
use crate::clock::mono_now;
use crate::cmsg::{Control, ControlMessages, control_len, empty_header};
use crate::error::check;
use crate::message::{IP_FRAGMENT, IPV6_FRAGMENT};
use crate::poll::{self, Interest};
use crate::timestamp::{NicTime, packet_times};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use units::Nanos;
use units::time::WallTime;

/// Buffers for eight messages of up to 64 KiB; receiving allocates nothing.
///
/// The content of a [`Message`] depends on the options that are on for the socket: `set_udp_gro` and
/// `set_receive_fragment_size` of [`crate::options`], `set_receive_notes` of [`crate::message`], and `set_receive_time` or
/// `set_timestamping` of [`crate::timestamp`].
#[derive(Debug)]
pub struct BatchReceiver {
    data: PageBuffer,
    control: Box<[Control<CONTROL>; BATCH]>,
    filled: [Filled; BATCH],
}

/// How to wait while no datagram has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Return at once: the caller spins.
    Spin,
    /// Sleep, for at most this long.
    Block(Nanos),
}

/// A message: one datagram, or several of one sender joined by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The payload of all its datagrams, one after another.
    pub data: &'a [u8],
    /// The payload of each datagram but the last, which may be shorter.
    pub segment_size: usize,
    /// When the kernel received it (the first, if joined), on `CLOCK_REALTIME`.
    pub kernel_time: Option<WallTime>,
    /// When the network card received it, on the card's own clock.
    pub nic_time: Option<NicTime>,
    /// The largest IP fragment it came in, in bytes with header; `None` when it was not fragmented.
    pub fragment_size: Option<u32>,
    /// The traffic class of its datagrams, DSCP and ECN: the kernel joins only those of one class.
    pub class: Option<u8>,
    /// The message was longer than the buffer and has been cut.
    pub truncated: bool,
}

impl BatchReceiver {
    /// Allocates the buffers (512 KiB).
    #[must_use]
    pub fn new() -> Self {
        Self {
            data: PageBuffer::blank(BATCH * MESSAGE),
            control: Box::new([Control([0; CONTROL]); BATCH]),
            filled: [Filled::default(); BATCH],
        }
    }

    /// Takes up to eight messages and returns how many; 0 when none came within the wait (a signal ends it too).
    ///
    /// # Errors
    /// The errors of `recvmmsg(2)`: on a connected socket also the network's answer to an earlier send, such as
    /// `ConnectionRefused`, after which receiving may go on.
    pub fn recv(&mut self, socket: &UdpSocket, wait: Wait) -> io::Result<usize> {
        let mut outcome = self.take(socket);
        if let (Err(error), Wait::Block(span)) = (&outcome, wait)
            && error.kind() == io::ErrorKind::WouldBlock
        {
            poll::wait(&mut [Interest::readable(socket)], Some(mono_now() + span))?;
            outcome = self.take(socket);
        }
        match outcome {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(0)
            }
            other => other,
        }
    }

    /// Message `index` of the last [`BatchReceiver::recv`].
    ///
    /// # Panics
    /// When `index` is not below 8; one that the last receive did not fill is stale.
    #[must_use]
    pub fn message(&self, index: usize) -> Message<'_> {
        let filled = self.filled[index];
        let start = index * MESSAGE;
        let data = &self.data[start..start + filled.len];
        let mut message = Message {
            data,
            segment_size: data.len(),
            kernel_time: None,
            nic_time: None,
            fragment_size: None,
            class: None,
            truncated: filled.truncated,
        };
        ControlMessages::new(&self.control[index].0[..filled.control_len]).for_each(|note| {
            match (note.level, note.kind) {
                (libc::SOL_UDP, libc::UDP_GRO) => message.segment_size = note.word().unwrap_or(0) as usize,
                (libc::SOL_IP, IP_FRAGMENT) | (libc::SOL_IPV6, IPV6_FRAGMENT) => {
                    message.fragment_size = note.word().filter(|&size| size > 0);
                }
                // One byte of IPv4, a word of IPv6.
                (libc::SOL_IP, libc::IP_TOS) | (libc::SOL_IPV6, libc::IPV6_TCLASS) => {
                    message.class = note.data.first().copied();
                }
                _ => {
                    if let Some(times) = packet_times(&note) {
                        (message.kernel_time, message.nic_time) = (times.kernel, times.nic);
                    }
                }
            }
        });
        message
    }

    fn take(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let mut vectors = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: MESSAGE }; BATCH];
        let mut headers = [libc::mmsghdr { msg_hdr: empty_header(), msg_len: 0 }; BATCH];
        let buffers = self.data.chunks_exact_mut(MESSAGE).zip(self.control.iter_mut());
        for ((header, vector), (data, control)) in headers.iter_mut().zip(&mut vectors).zip(buffers) {
            vector.iov_base = data.as_mut_ptr().cast();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
        let flags = libc::MSG_DONTWAIT as _;
        let (fd, count) = (socket.as_raw_fd(), BATCH as libc::c_uint);
        // SAFETY: each header points at a vector and a control buffer of its own, and each vector at its own part of
        // `data`; all have the stated length and outlive the call. No timeout is given.
        let received =
            check(unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), count, flags, std::ptr::null_mut()) })?;
        let received = usize::try_from(received).unwrap_or(0).min(BATCH);
        for (filled, header) in self.filled.iter_mut().zip(&headers[..received]) {
            *filled = Filled {
                len: (header.msg_len as usize).min(MESSAGE),
                control_len: control_len(&header.msg_hdr).min(CONTROL),
                truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
        }
        Ok(received)
    }
}

impl Default for BatchReceiver {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Message<'a> {
    /// The datagrams in order of arrival; a message of no bytes is one empty datagram.
    pub fn segments(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        let empty = self.data.is_empty().then_some(self.data);
        self.data.chunks(self.segment_size.max(1)).chain(empty)
    }

    /// How many datagrams it holds.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.data.len().div_ceil(self.segment_size.max(1)).max(1)
    }
}

/// How much of a message's buffers the kernel filled.
#[derive(Debug, Clone, Copy, Default)]
struct Filled {
    len: usize,
    control_len: usize,
    truncated: bool,
}

/// Messages per call.
const BATCH: usize = 8;
/// No UDP payload, joined or not, is longer.
const MESSAGE: usize = 65_536;
/// Room for GRO size, time and fragment size, with as much to spare.
const CONTROL: usize = 256;
