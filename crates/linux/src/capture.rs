//! Capturing packets of one far host on one interface (packet(7)), as the wire has them: offloads are told with each
//! frame.
//!
//! Frames come through a ring shared with the kernel (`TPACKET_V3`): at 15 Gbit/s over veth, copying the headers of
//! the super-packets costs 0.01 s of CPU in 3 s, and `recvmmsg` 0.6 s.

mod filter;
mod ring;

pub use ring::{Frame, Offload, PacketKind};

use crate::error::{Named, Result, check};
use crate::netlink::Network;
use crate::options::{Opt, get_raw, set_int, set_raw};
use crate::poll::{Interest, wait};
use model::time::MonoTime;
use model::units::Bytes;
use ring::Ring;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What to capture, and how much of it.
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

/// What lies before the IP header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLayer {
    /// An Ethernet header.
    Ethernet,
    /// The same, on loopback: nobody knows which way a packet goes, and each is seen once.
    Loopback,
    /// Something else or nothing (tunnels): take the frame from its IP header on.
    Ip,
}

/// What the kernel counted for a capture.
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
        let mut network = Network::open()?;
        let index = network.route_to(peer)?.link;
        Ok(network.link_by_index(index)?.name)
    }

    /// Begins to capture.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`, `ENODEV` when there is no such interface, `ENOMEM`.
    pub fn start(&self) -> Result<Captor> {
        // SAFETY: takes integers alone.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })
            .named("open", || "a packet socket".into())?;
        // SAFETY: `fd` was just opened and belongs to no one else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        filter::attach(&fd, self.peer, self.snap)?;
        set_int(&fd, VNET_HDR, 1)?;
        let ring = Ring::new(&fd, self.memory, self.snap)?;
        let index = Network::open()?.link(&self.interface)?.index;
        let layer = bind(&fd, index).named("capture on", || self.interface.clone())?;
        Ok(Captor { fd, ring, layer, statistics: Statistics::default() })
    }
}

impl Captor {
    /// What lies before the IP header of each frame.
    pub fn layer(&self) -> LinkLayer {
        self.layer
    }

    /// Waits for frames until the deadline or a signal, and gives those that are there to `take`. The kernel hands
    /// frames over in blocks, no later than 50 ms after the first of a block.
    ///
    /// # Errors
    /// What `ppoll(2)` gives; `ENETDOWN` once when the interface goes down, after which the capture goes on.
    pub fn frames(&mut self, deadline: MonoTime, take: &mut dyn FnMut(&Frame<'_>)) -> io::Result<usize> {
        let taken = self.ring.take(take);
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
        Ok(self.ring.take(take))
    }

    /// What the kernel has counted since the start.
    ///
    /// # Errors
    /// What `getsockopt(2)` gives.
    pub fn statistics(&mut self) -> Result<Statistics> {
        let mut raw = [0; 12];
        get_raw(&self.fd, STATISTICS, &mut raw)?;
        // Reading them sets the kernel's to zero.
        let word = |at| crate::sockaddr::array(&raw, at).map_or(0, u32::from_ne_bytes);
        self.statistics.frames += u64::from(word(0));
        self.statistics.dropped += u64::from(word(4));
        Ok(self.statistics)
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

/// Binds to an interface, from where on frames come, and tells what is before their IP headers.
fn bind(fd: &OwnedFd, index: u32) -> io::Result<LinkLayer> {
    // SAFETY: all-zero is a valid sockaddr_ll: it holds numbers only.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_ifindex = i32::try_from(index).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    let mut len = size_of_val(&address) as libc::socklen_t;
    // Not yet heard, and so the kind of link is known before the first frame.
    bind_to(fd, &address)?;
    // SAFETY: `address` has the `len` writable bytes that are announced.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
    let layer = match address.sll_hatype {
        libc::ARPHRD_ETHER => LinkLayer::Ethernet,
        libc::ARPHRD_LOOPBACK => LinkLayer::Loopback,
        _ => LinkLayer::Ip,
    };
    if layer == LinkLayer::Loopback {
        set_int(fd, IGNORE_OUTGOING, 1).map_err(|error| error.source)?;
    }
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    bind_to(fd, &address)?;
    Ok(layer)
}

fn bind_to(fd: &OwnedFd, address: &libc::sockaddr_ll) -> io::Result<()> {
    let len = size_of_val(address) as libc::socklen_t;
    // SAFETY: the kernel reads `len` bytes from `address`, a reference that lives through the call.
    check(unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(address).cast(), len) }).map(drop)
}

const VNET_HDR: Opt = Opt(libc::SOL_PACKET, 15, "PACKET_VNET_HDR");
const STATISTICS: Opt = Opt(libc::SOL_PACKET, 6, "PACKET_STATISTICS");
const IGNORE_OUTGOING: Opt = Opt(libc::SOL_PACKET, 23, "PACKET_IGNORE_OUTGOING");

#[cfg(test)]
mod tests;
