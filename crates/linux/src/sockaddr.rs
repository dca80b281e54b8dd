//! Socket addresses as the kernel lays them out, to and from the standard library's types.

use rustix::net;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::BorrowedFd;

/// A `sockaddr_in` or `sockaddr_in6` in the kernel's layout.
///
/// Kept as bytes: both kinds are plain fields in network order, but for the family and the scope.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct RawAddress {
    bytes: [u8; LEN_V6],
    len: usize,
}

impl RawAddress {
    /// The kernel's form of `address`; `flowinfo` is taken as it stands, like the standard library does.
    pub(crate) fn new(address: SocketAddr) -> Self {
        let mut raw = Self { bytes: [0; LEN_V6], len: LEN_V4 };
        raw.bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(v4) => {
                raw.bytes[..2].copy_from_slice(&AF_INET.to_ne_bytes());
                raw.bytes[4..8].copy_from_slice(&v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                raw.len = LEN_V6;
                raw.bytes[..2].copy_from_slice(&AF_INET6.to_ne_bytes());
                raw.bytes[4..8].copy_from_slice(&v6.flowinfo().to_ne_bytes());
                raw.bytes[8..24].copy_from_slice(&v6.ip().octets());
                raw.bytes[24..].copy_from_slice(&v6.scope_id().to_ne_bytes());
            }
        }
        raw
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn as_parts(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        (self.bytes.as_ptr().cast(), libc::socklen_t::try_from(self.len).expect("at most 28"))
    }
}

/// The address in a `sockaddr` of `bytes`; `None` when it is neither IPv4 nor IPv6, or cut short.
pub(crate) fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(array(bytes, 2)?);
    match u16::from_ne_bytes(array(bytes, 0)?) {
        AF_INET => Some(SocketAddrV4::new(Ipv4Addr::from(array::<4>(bytes, 4)?), port).into()),
        AF_INET6 => {
            let (flow, scope) = (u32::from_ne_bytes(array(bytes, 4)?), u32::from_ne_bytes(array(bytes, 24)?));
            Some(SocketAddrV6::new(Ipv6Addr::from(array::<16>(bytes, 8)?), port, flow, scope).into())
        }
        _ => None,
    }
}

/// `connect(2)`; `flowinfo` is taken as it stands, like the standard library does.
pub(crate) fn connect(fd: BorrowedFd<'_>, mut address: SocketAddr) -> io::Result<()> {
    if let SocketAddr::V6(address) = &mut address {
        // Rustix turns it into the byte order of the network.
        address.set_flowinfo(u32::from_be(address.flowinfo()));
    }
    Ok(net::connect(fd, &address)?)
}

/// The address a socket is bound to.
pub(crate) fn local(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    SocketAddr::try_from(net::getsockname(fd)?).map_err(|_| not_ip())
}

/// The address a socket is connected to.
pub(crate) fn peer(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let peer = net::getpeername(fd)?.ok_or_else(not_ip)?;
    SocketAddr::try_from(peer).map_err(|_| not_ip())
}

fn not_ip() -> io::Error {
    io::Error::from_raw_os_error(libc::EAFNOSUPPORT)
}

/// The plain form of an address: IPv4 as such, not mapped into IPv6; IPv6 with its scope and without a flow label.
#[must_use]
pub fn plain(address: SocketAddr) -> SocketAddr {
    match (address.ip().to_canonical(), address) {
        (IpAddr::V6(ip), SocketAddr::V6(v6)) => SocketAddrV6::new(ip, v6.port(), 0, v6.scope_id()).into(),
        (ip, _) => SocketAddr::new(ip, address.port()),
    }
}

/// `N` bytes of `bytes` from `at` on.
pub fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// A request of `ioctl(2)` about the interface of this name, cut to the room before the zero byte that ends it.
pub(crate) fn interface_request(name: &[u8]) -> libc::ifreq {
    // SAFETY: all-zero is a valid ifreq: it holds integers, bytes and null pointers only.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name) {
        *to = from.cast_signed();
    }
    request
}

const LEN_V4: usize = size_of::<libc::sockaddr_in>();
const LEN_V6: usize = size_of::<libc::sockaddr_in6>();
const AF_INET: u16 = libc::AF_INET as u16;
const AF_INET6: u16 = libc::AF_INET6 as u16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernel_layout() {
        for text in ["10.1.2.3:5201", "[fe80::1%7]:65535", "[::ffff:10.0.0.1]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            let raw = RawAddress::new(address);
            assert_eq!(parse(&raw.bytes[..raw.len]), Some(address));
            assert_eq!(parse(&raw.bytes[..raw.len - 1]).is_some(), address.is_ipv4());
        }
        assert_eq!(parse(&[1, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(parse(&[]), None);
    }

    #[test]
    fn a_plain_address_is_not_mapped_and_keeps_its_scope() {
        for (given, expected) in [
            ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
            ("10.0.0.1:2", "10.0.0.1:2"),
            ("[fe80::1%7]:3", "[fe80::1%7]:3"),
        ] {
            assert_eq!(plain(given.parse().unwrap()), expected.parse().unwrap());
        }
    }
}
