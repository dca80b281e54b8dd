//! Capturing packets of one far host on one interface (packet(7)), as they are on the wire: each frame comes with its offloads.
//!
//! libc is left for `sockaddr_ll`, which rustix does not have, and for the ring.
//!
//! Frames come through a ring shared with the kernel (`TPACKET_V3`): at 15 Gbit/s over veth, copying the headers of
//! the super-packets costs 0.01 s of CPU in 3 s, and `recvmmsg` 0.6 s.

pub mod filter;
pub(crate) mod ring;

pub use ring::{Frame, Offload, PacketKind};

use crate::error::{Named, Result, check};
use crate::netlink::Network;
use crate::options::{Opt, get_raw, set_int, set_raw};
use crate::poll::{Interest, wait};
use ring::Ring;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use units::Bytes;
use units::time::MonoTime;

/// The packets to capture, and how much of them to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Name of the interface.
    pub interface: String,
    /// The far host: packets from it and to it, fragments too, and ICMP errors that quote a packet to it.
    pub peer: IpAddr,
    /// Bytes of each frame to keep, from its first.
    pub snap: u32,
    /// Memory for frames that have not been taken yet, at most 256 blocks of 128 KiB, or of 1 MiB where `snap` is large.
    pub memory: Bytes,
}

/// A running capture.
#[derive(Debug)]
pub struct Captor {
    fd: OwnedFd,
    ring: Ring,
    layer: LinkLayer,
    statistics: Statistics,
}

/// The header before the IP header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// An Ethernet header.
    Ethernet,
    /// Cooked frames of loopback: the direction of a packet is not known, and each packet is captured once.
    Loopback,
    /// Something else or nothing (tunnels): take the frame from its IP header on.
    Ip,
}

/// Counters of the kernel for a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that passed the filter, dropped ones included.
    pub frames: u64,
    /// Frames dropped because the memory was full.
    pub dropped: u64,
}

impl Capture {
    /// The interface that packets to the far host leave through.
    ///
    /// # Errors
    /// When no route leads there.
    pub fn interface_toward(peer: IpAddr) -> Result<String> {
        Ok(Network::open()?.link_toward(peer)?.name)
    }

    /// Begins to capture.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` when there is no such interface, `ENOMEM`.
    pub fn start(&self) -> Result<Captor> {
        let fd = open_socket(&filter::of_peer(self.peer, self.snap))?;
        let index = Network::open()?.link(&self.interface)?.index;
        Captor::start(fd, (index, &self.interface), self.snap, self.memory)
    }
}

impl Captor {
    /// Begins to capture `snap` bytes of each frame on an interface, given by index and name, with a socket of
    /// [`open_socket`].
    pub fn start(fd: OwnedFd, interface: (u32, &str), snap: u32, memory: Bytes) -> Result<Captor> {
        let ring = Ring::new(&fd, memory, snap)?;
        let layer = bind(&fd, interface.0).named("capture on", || interface.1.to_owned())?;
        Ok(Captor { fd, ring, layer, statistics: Statistics::default() })
    }

    /// The header before the IP header of each frame.
    pub fn layer(&self) -> LinkLayer {
        self.layer
    }

    /// Waits for frames until the deadline or a signal, and gives those that are there to `take`. The kernel hands
    /// frames over in blocks, no later than 50 ms after the first of a block.
    ///
    /// # Errors
    /// The errors of `ppoll(2)`; `ENETDOWN` once when the interface goes down, after which the capture goes on.
    pub fn frames(&mut self, deadline: MonoTime, take: &mut dyn FnMut(&Frame<'_>)) -> io::Result<usize> {
        let taken = self.take(take);
        if taken > 0 {
            return Ok(taken);
        }
        let mut interest = [Interest::readable(&self.fd)];
        wait(&mut interest, Some(deadline))?;
        if interest[0].is_error()
            && let Some(error) = crate::options::take_error(&self.fd).map_err(|error| error.source)?
        {
            return Err(error);
        }
        Ok(self.take(take))
    }

    /// Gives the frames that are there to `take`; returns how many. Never blocks.
    pub fn take(&mut self, take: &mut dyn FnMut(&Frame<'_>)) -> usize {
        self.ring.take(take)
    }

    /// The counters of the kernel since the start.
    ///
    /// # Errors
    /// The errors of `getsockopt(2)`.
    pub fn statistics(&mut self) -> Result<Statistics> {
        self.statistics.update(&self.fd)?;
        Ok(self.statistics)
    }
}

impl AsFd for Captor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Statistics {
    /// Adds the kernel's counts for a packet socket since the previous call.
    pub fn update(&mut self, fd: &impl AsFd) -> Result<()> {
        let mut raw = [0; 12];
        get_raw(fd, STATISTICS, &mut raw)?;
        // Reading them sets the kernel's to zero.
        let word = |at| crate::sockaddr::array(&raw, at).map_or(0, u32::from_ne_bytes);
        self.frames += u64::from(word(0));
        self.dropped += u64::from(word(4));
        Ok(())
    }
}

/// Whether this process may capture; really tried.
///
/// # Errors
/// Why not: `EPERM` without `CAP_NET_RAW`.
pub fn try_capture() -> Result<()> {
    let capture =
        Capture { interface: "lo".into(), peer: IpAddr::from([127, 0, 0, 1]), snap: 64, memory: Bytes(0) };
    capture.start().map(drop)
}

/// A packet socket that passes what its filter does, each frame with a `struct virtio_net_hdr` before it; not bound yet.
pub fn open_socket(filter: &[libc::sock_filter]) -> Result<OwnedFd> {
    let fd = packet_socket()?;
    filter::attach(&fd, filter)?;
    set_int(&fd, VNET_HDR, 1)?;
    Ok(fd)
}

/// A packet socket that receives nothing: it is of no protocol, and not bound.
pub fn packet_socket() -> Result<OwnedFd> {
    net::socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .named("open", || "a packet socket".into())
}

/// Binds to an interface, from where on frames come, and returns the kind of header before their IP headers.
pub fn bind(fd: &OwnedFd, interface: u32) -> io::Result<LinkLayer> {
    // Not yet heard, and so the kind of link is known before the first frame.
    let layer = match bind_to(fd, interface, 0)? {
        libc::ARPHRD_ETHER => LinkLayer::Ethernet,
        libc::ARPHRD_LOOPBACK => LinkLayer::Loopback,
        _ => LinkLayer::Ip,
    };
    if layer == LinkLayer::Loopback {
        ignore_outgoing(fd).map_err(|error| error.source)?;
    }
    bind_to(fd, interface, libc::ETH_P_ALL as u16)?;
    Ok(layer)
}

/// Keeps the frames that leave the interface away from the socket.
pub fn ignore_outgoing(fd: &OwnedFd) -> Result<()> {
    set_int(fd, IGNORE_OUTGOING, 1)
}

/// Binds a packet socket to an interface and, unless it is 0, a protocol; returns the kind of link (`ARPHRD_*`).
pub fn bind_to(fd: &OwnedFd, interface: u32, protocol: u16) -> io::Result<u16> {
    // SAFETY: all-zero is a valid sockaddr_ll: it holds numbers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = i32::try_from(interface).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    let mut len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes from `address`, which lives through the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
    // SAFETY: `address` has the `len` writable bytes that are announced.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
    Ok(address.sll_hatype)
}

const VNET_HDR: Opt = Opt(libc::SOL_PACKET, 15, "PACKET_VNET_HDR");
const STATISTICS: Opt = Opt(libc::SOL_PACKET, 6, "PACKET_STATISTICS");
const IGNORE_OUTGOING: Opt = Opt(libc::SOL_PACKET, 23, "PACKET_IGNORE_OUTGOING");

#[cfg(test)]
mod tests;
