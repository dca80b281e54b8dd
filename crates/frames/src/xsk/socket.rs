//! One `AF_XDP` socket: its memory, its rings, its binding to a queue of an interface.

use super::memory::{CHUNK, Umem};
use super::queue::{Consumer, Kind, Parts, Producer, Queue};
use linux::clock::{mono_now, sleep_until};
use linux::error::{Named, Result, check, check_len};
use linux::options::{Opt, get_int, get_raw, set_int, set_raw};
use linux::sockaddr::array;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use units::Nanos;

/// The socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    pub(super) umem: Umem,
    chunks: u32,
}

impl Socket {
    /// A socket with memory for this many frames, a power of two; its rings have as many entries.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `EAFNOSUPPORT` where the kernel lacks `AF_XDP`, `ENOMEM`.
    pub(super) fn open(chunks: u32) -> Result<Socket> {
        // SAFETY: takes integers alone.
        let fd = check(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })
            .named("open", || "an AF_XDP socket".into())?;
        // SAFETY: `fd` was just opened and belongs to no one else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let umem = Umem::new(chunks)?;
        let (start, length) = umem.place();
        // `struct xdp_umem_reg`: memory, size of a chunk, headroom, flags, length of metadata.
        let registration_fields = [CHUNK as u32, 0, 0, 0].map(u32::to_ne_bytes).concat();
        let registration = [&start.to_ne_bytes()[..], &length.to_ne_bytes(), &registration_fields].concat();
        // The kernel keeps the pages for as long as the socket needs them, even when they are unmapped before.
        set_raw(&fd, Opt(libc::SOL_XDP, libc::XDP_UMEM_REG, "XDP_UMEM_REG"), &registration)?;
        // A socket cannot be bound without these two.
        set_int(&fd, FILL.option, chunks)?;
        set_int(&fd, COMPLETION.option, chunks)?;
        Ok(Socket { fd, umem, chunks })
    }

    /// The ring for frames to send, and the ring by which their chunks return.
    pub(super) fn sending(&self) -> Result<(Producer<libc::xdp_desc>, Consumer<u64>)> {
        set_int(&self.fd, TX.option, self.chunks)?;
        Ok((Producer(self.ring(TX)?), Consumer(self.ring(COMPLETION)?)))
    }

    /// The ring of received frames, and the ring that gives the kernel chunks for them: all of them at first.
    pub(super) fn receiving(&self) -> Result<(Consumer<libc::xdp_desc>, Producer<u64>)> {
        set_int(&self.fd, RX.option, self.chunks)?;
        let rx = Consumer(self.ring(RX)?);
        let mut fill = Producer(self.ring(FILL)?);
        for chunk in self.umem.chunks() {
            fill.put(chunk);
        }
        fill.submit();
        Ok((rx, fill))
    }

    /// Binds to a queue of an interface. A queue that another socket has just left may not be free yet.
    ///
    /// # Errors
    /// `EBUSY` when another socket is bound for longer than a second; `EINVAL` when there is no such queue; `EOPNOTSUPP` when the
    /// driver does not share memory as `flags` require.
    pub(super) fn bind(&self, interface: u32, queue: u32, flags: u16) -> Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of_val(&address) as libc::socklen_t;
        let deadline = mono_now() + TIMEOUT;
        loop {
            // SAFETY: the kernel reads `length` bytes from `address`, which lives through the call.
            let bound =
                check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), length) });
            match bound {
                Err(busy) if busy.raw_os_error() == Some(libc::EBUSY) && mono_now() < deadline => {
                    sleep_until(mono_now() + Nanos::from_millis(10));
                }
                bound => {
                    let object = || format!("an AF_XDP socket to queue {queue} of interface {interface}");
                    return bound.map(drop).named("bind", object);
                }
            }
        }
    }

    /// Whether the driver uses the memory itself.
    pub(super) fn is_zero_copy(&self) -> Result<bool> {
        let options = get_int(&self.fd, Opt(libc::SOL_XDP, libc::XDP_OPTIONS, "XDP_OPTIONS"))?;
        Ok(options & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Has the kernel read the ring of frames to send. A lack of room is not an error.
    pub(super) fn wake_sending(&self) -> io::Result<()> {
        let (fd, flags, null) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT, std::ptr::null());
        // SAFETY: nothing is sent but what the rings hold, and no address is read.
        let woken = unsafe { libc::sendto(fd, null, 0, flags, null.cast(), 0) };
        allow_for_now(woken)
    }

    /// Has the driver read the ring of chunks to fill.
    pub(super) fn wake_receiving(&self) -> io::Result<()> {
        let (fd, flags, null) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT, std::ptr::null_mut());
        // SAFETY: nothing is received but by the rings, and no address is written.
        let woken = unsafe { libc::recvfrom(fd, null, 0, flags, null.cast(), null.cast()) };
        allow_for_now(woken)
    }

    /// Frames for this socket that were lost since it was created (`struct xdp_statistics`).
    pub(super) fn lost(&self) -> Result<u64> {
        let mut raw = [0; 48];
        get_raw(&self.fd, Opt(libc::SOL_XDP, libc::XDP_STATISTICS, "XDP_STATISTICS"), &mut raw)?;
        let counter = |position: usize| array(&raw, position * 8).map_or(0, u64::from_ne_bytes);
        // Dropped, no room in the ring, no chunk: a zero-copy driver counts the last instead of dropped frames.
        let starved = if self.is_zero_copy()? { counter(4) } else { 0 };
        Ok(counter(0) + counter(3) + starved)
    }

    /// Maps a ring that was created with as many entries as there are chunks.
    fn ring<T: Copy>(&self, kind: Kind) -> Result<Queue<T>> {
        Queue::map(self.fd.as_fd(), kind, self.parts(kind)?, self.chunks)
    }

    fn parts(&self, kind: Kind) -> Result<Parts> {
        let mut raw = [0; 128];
        let offsets = Opt(libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, "XDP_MMAP_OFFSETS");
        let length = get_raw(&self.fd, offsets, &mut raw)?;
        if length < raw.len() {
            let old = Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel is older than 5.4"));
            return old.named("map", || "the rings of an AF_XDP socket".into());
        }
        let part = |number: usize| {
            let at = (kind.position * 4 + number) * 8;
            array(&raw, at).map_or(0, u64::from_ne_bytes) as usize
        };
        Ok(Parts { producer: part(0), consumer: part(1), entries: part(2), flags: part(3) })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn allow_for_now(returned: isize) -> io::Result<()> {
    const FOR_NOW: [libc::c_int; 4] = [libc::EAGAIN, libc::EBUSY, libc::ENOBUFS, libc::EINTR];
    match check_len(returned) {
        Err(error) if error.raw_os_error().is_some_and(|errno| FOR_NOW.contains(&errno)) => Ok(()),
        outcome => outcome.map(drop),
    }
}

const RX: Kind = kind(libc::XDP_RX_RING, "XDP_RX_RING", libc::XDP_PGOFF_RX_RING, 0);
const TX: Kind = kind(libc::XDP_TX_RING, "XDP_TX_RING", libc::XDP_PGOFF_TX_RING, 1);
const FILL: Kind =
    kind(libc::XDP_UMEM_FILL_RING, "XDP_UMEM_FILL_RING", libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t, 2);
const COMPLETION: Kind = kind(
    libc::XDP_UMEM_COMPLETION_RING,
    "XDP_UMEM_COMPLETION_RING",
    libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
    3,
);
const TIMEOUT: Nanos = Nanos::from_secs(1);

const fn kind(option: libc::c_int, name: &'static str, page: libc::off_t, position: usize) -> Kind {
    Kind { option: Opt(libc::SOL_XDP, option, name), page, position }
}
