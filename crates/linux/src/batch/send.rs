//! Sending a block of equal datagrams with as few system calls as the kernel allows.

use crate::buffer::PageBuffer;
use crate::error::{Named, Result, check_len};
use crate::options::describe;
use crate::options::{path_mtu, set_udp_segment};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use units::framing::LARGEST_UDP_PAYLOAD;

/// A block of equal datagrams for one connected socket, handed to the kernel in one call (UDP segmentation offload,
/// `UDP_SEGMENT` in udp(7)) or, where that is refused, in one call each.
///
/// Write the headers with [`GsoSender::segment_mut`], then [`GsoSender::send`]. The payload is a fixed pattern.
///
/// On IPv4, in the default mode of path MTU discovery, the kernel clears DF on joined datagrams (it compares the whole
/// block with the MTU), so routers fragment what they would answer with ICMP had it been sent alone. Set
/// [`crate::options::MtuDiscovery::Do`] or `Probe` where that difference matters.
#[derive(Debug)]
pub struct GsoSender {
    socket: UdpSocket,
    buffer: PageBuffer,
    payload_len: usize,
    /// Datagrams per call.
    per_call: usize,
    fallback: Option<GsoFallback>,
    /// An error met after part of a block had been sent; the next call reports it.
    late: Option<io::Error>,
    /// Datagrams handed over that the device's queue dropped.
    dropped: u64,
}

/// The reason why the kernel takes fewer datagrams per call than requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GsoFallback {
    /// This kernel takes 64 datagrams per call, newer ones 128.
    #[error("the kernel joins at most {OLD_LIMIT} datagrams per send")]
    OlderLimit,
    /// A datagram that IP must fragment cannot be joined with others.
    #[error("the datagrams exceed the path MTU: IP fragments them, and they are sent one by one")]
    ExceedsPathMtu,
    /// The output device or a tunnel cannot complete the checksums of joined datagrams.
    #[error("the network device has no checksum offload for joined datagrams: they are sent one by one")]
    NoChecksumOffload,
    /// The kernel has no segmentation offload for UDP (before Linux 4.18), or not for this socket.
    #[error("the kernel refuses UDP_SEGMENT: the datagrams are sent one by one")]
    Refused,
}

impl GsoSender {
    /// Prepares blocks of datagrams of `payload_len` bytes for `socket`, which must be connected.
    ///
    /// A block holds as many as the kernel takes at once (128, or what 65,507 bytes hold), at most `max_segments`.
    /// With `Some(1)` each datagram has its own call and `UDP_SEGMENT` stays off. While the sender exists, anything
    /// longer than `payload_len` sent through `socket` by others would be cut into datagrams of that length.
    ///
    /// # Errors
    /// `EMSGSIZE` for a payload of 0 or beyond 65,507 bytes, `ENOTCONN` when the socket is not connected. That
    /// segmentation is refused is no error but a [`GsoSender::fallback`].
    pub fn new(socket: &UdpSocket, payload_len: usize, max_segments: Option<usize>) -> Result<Self> {
        if payload_len == 0 || payload_len > LARGEST_SEND {
            let operation = format!("send datagrams of {payload_len} bytes on");
            return Err(io::Error::from_raw_os_error(libc::EMSGSIZE)).named(&operation, || describe(socket));
        }
        socket.peer_addr().named("send without a peer on", || describe(socket))?;
        let fits = (LARGEST_SEND / payload_len).min(NEW_LIMIT);
        let segments = max_segments.unwrap_or(NEW_LIMIT).clamp(1, fits);
        let mut sender = Self {
            socket: socket.try_clone().named("duplicate", || describe(socket))?,
            buffer: PageBuffer::new(segments * payload_len),
            payload_len,
            per_call: segments,
            fallback: None,
            late: None,
            dropped: 0,
        };
        sender.enable();
        Ok(sender)
    }

    /// How many datagrams a block holds; constant.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.buffer.len() / self.payload_len
    }

    /// How many datagrams go into one system call at present; 1 means that segmentation offload is not used.
    #[must_use]
    pub fn datagrams_per_call(&self) -> usize {
        self.per_call
    }

    /// The bytes of one datagram.
    #[must_use]
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// Why [`GsoSender::datagrams_per_call`] is less than [`GsoSender::segments`]. May appear after any send, because
    /// the kernel checks some conditions only then, and because the path MTU may shrink.
    #[must_use]
    pub fn fallback(&self) -> Option<GsoFallback> {
        self.fallback
    }

    /// Datagram `index` of the block, to be written.
    ///
    /// # Panics
    /// When `index` is not below [`GsoSender::segments`].
    #[must_use]
    pub fn segment_mut(&mut self, index: usize) -> &mut [u8] {
        let start = index * self.payload_len;
        &mut self.buffer[start..start + self.payload_len]
    }

    /// How many datagrams the device's queue dropped so far (`ENOBUFS`). The kernel reports this only on a socket that keeps
    /// the network's errors ([`crate::options::set_receive_errors`]).
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Hands the first `count` datagrams of the block to the kernel and returns how many it took, with those that were dropped
    /// at once ([`GsoSender::dropped`]). When it took fewer, the remainder was not sent, and its sequence numbers are to be
    /// used again; the next call returns the reason.
    ///
    /// # Errors
    /// - `ConnectionRefused`, `EHOSTUNREACH`, …: the network's answer to an **earlier** datagram; nothing was sent, and
    ///   sending may go on;
    /// - `EMSGSIZE`: the socket must not fragment, and the datagram exceeds the path MTU.
    pub fn send(&mut self, count: usize) -> io::Result<usize> {
        if let Some(late) = self.late.take() {
            return Err(late);
        }
        let count = count.min(self.segments());
        let mut sent = 0;
        while sent < count {
            let end = count.min(sent + self.per_call);
            match self.hand_over(sent, end) {
                Ok(()) => sent = end,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.dropped += (end - sent) as u64;
                    sent = end;
                }
                Err(error) if self.fall_back(&error) => {}
                Err(error) if sent == 0 => return Err(error),
                Err(error) => {
                    self.late = Some(error);
                    break;
                }
            }
        }
        Ok(sent)
    }

    fn hand_over(&self, start: usize, end: usize) -> io::Result<()> {
        let block = &self.buffer[start * self.payload_len..end * self.payload_len];
        // SAFETY: `block` is readable for its whole length.
        check_len(unsafe {
            libc::send(self.socket.as_raw_fd(), block.as_ptr().cast(), block.len(), libc::MSG_NOSIGNAL)
        })
        .map(drop)
    }

    /// Switches segmentation on, unless it cannot help.
    fn enable(&mut self) {
        if self.per_call == 1 {
            return;
        }
        if self.exceeds_path_mtu() {
            self.one_by_one(GsoFallback::ExceedsPathMtu);
        } else if set_udp_segment(&self.socket, self.payload_len as u16).is_err() {
            self.one_by_one(GsoFallback::Refused);
        }
    }

    /// Returns true when `error` was about sending joined datagrams and a fallback is now in use.
    fn fall_back(&mut self, error: &io::Error) -> bool {
        if self.per_call == 1 {
            return false;
        }
        match error.raw_os_error() {
            Some(libc::EMSGSIZE | libc::EINVAL) if self.exceeds_path_mtu() => {
                self.one_by_one(GsoFallback::ExceedsPathMtu);
            }
            Some(libc::EINVAL) if self.per_call > OLD_LIMIT => {
                self.per_call = OLD_LIMIT;
                self.fallback = Some(GsoFallback::OlderLimit);
            }
            Some(libc::EINVAL | libc::EOPNOTSUPP) => self.one_by_one(GsoFallback::Refused),
            Some(libc::EIO) => self.one_by_one(GsoFallback::NoChecksumOffload),
            _ => return false,
        }
        true
    }

    fn one_by_one(&mut self, reason: GsoFallback) {
        self.per_call = 1;
        self.fallback = Some(reason);
        // Where the kernel does not know the option, there is nothing to switch off.
        let _ = set_udp_segment(&self.socket, 0);
    }

    fn exceeds_path_mtu(&self) -> bool {
        let headers = match self.socket.peer_addr() {
            Ok(SocketAddr::V6(peer)) if peer.ip().to_ipv4_mapped().is_none() => 40 + 8,
            _ => 20 + 8,
        };
        path_mtu(&self.socket).is_ok_and(|mtu| self.payload_len as u64 + headers > mtu.0)
    }
}

impl Drop for GsoSender {
    fn drop(&mut self) {
        if self.per_call > 1 {
            // The socket may live on elsewhere; an option that could be set can be cleared.
            let _ = set_udp_segment(&self.socket, 0);
        }
    }
}

/// The kernel's `UDP_MAX_SEGMENTS`, at present and before.
const NEW_LIMIT: usize = 128;
const OLD_LIMIT: usize = 64;
/// The largest UDP payload of IPv4, which bounds a joined send too (IPv6 allows 20 bytes more).
const LARGEST_SEND: usize = LARGEST_UDP_PAYLOAD as usize;
