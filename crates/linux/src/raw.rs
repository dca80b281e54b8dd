//! Packets made by hand, IP header included, which no other socket would send, such as one fragment alone; and receiving the ICMP
//! messages that no other socket gets.

use crate::error::{Named, Result};
use crate::message;
use crate::options::{MtuDiscovery, Opt, set_family_mtu_discovery, set_raw};
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Sends whole IP packets (raw(7), `IPPROTO_RAW`). The kernel routes them and fills in an IPv4 header's checksum and
/// total length; it cuts none into fragments, and sends what the interface carries whatever path MTU it believes in.
#[derive(Debug)]
pub struct RawSender {
    fd: OwnedFd,
}

impl RawSender {
    /// Opens a sender of one family.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`.
    pub fn open(ipv6: bool) -> Result<RawSender> {
        let family = if ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
        let fd = net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(ipproto::RAW))
            .named("open a raw socket for", || if ipv6 { "IPv6".into() } else { "IPv4".into() })?;
        set_family_mtu_discovery(&fd, ipv6, MtuDiscovery::Probe)?;
        Ok(RawSender { fd })
    }

    /// Sends one packet, which begins with its IP header, to an address whose port does not matter.
    ///
    /// # Errors
    /// The errors of `sendto(2)`: `EMSGSIZE` above the interface's MTU.
    pub fn send(&self, packet: &[u8], to: SocketAddr) -> io::Result<()> {
        let mut to = to;
        to.set_port(0);
        net::sendto(&self.fd, packet, SendFlags::empty(), &to)?;
        Ok(())
    }
}

impl AsFd for RawSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Hears the ICMP errors of some types that come to this host (RFC 792, RFC 4443), whichever flow they are about: also those that
/// no socket is given, since they quote another address than it has.
#[derive(Debug)]
pub struct IcmpErrors {
    fd: OwnedFd,
    is_ipv6: bool,
}

/// One ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpMessage {
    /// Where it begins in the buffer, with its ICMP header.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Sender of the packet.
    pub from: Option<IpAddr>,
    /// TTL or hop limit that it arrived with.
    pub ttl: Option<u8>,
}

impl IcmpErrors {
    /// Begins to listen for these types, of ICMP below 32.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`.
    pub fn open(is_ipv6: bool, types: &[u8]) -> Result<IcmpErrors> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (family, protocol, name) = match is_ipv6 {
            true => (AddressFamily::INET6, ipproto::ICMPV6, "ICMPv6"),
            false => (AddressFamily::INET, ipproto::ICMP, "ICMP"),
        };
        let fd = net::socket_with(family, SocketType::RAW, flags, Some(protocol))
            .named("open a raw socket for", || name.into())?;
        let listener = IcmpErrors { fd, is_ipv6 };
        // A bit for each type, set: not wanted (raw(7), RFC 3542 section 3.2).
        let mut filter = [u32::MAX; 8];
        for kind in types {
            filter[usize::from(kind >> 5)] &= !(1 << (kind & 31));
        }
        match is_ipv6 {
            true => set_raw(&listener.fd, ICMPV6_FILTER, filter.map(u32::to_ne_bytes).as_flattened())?,
            false => set_raw(&listener.fd, ICMP_FILTER, &filter[0].to_ne_bytes())?,
        }
        message::set_receive_notes(&listener.fd)?;
        Ok(listener)
    }

    /// Takes one message. Never blocks.
    ///
    /// # Errors
    /// The errors of `recvmsg(2)`: `WouldBlock` when nothing is there.
    pub fn receive(&self, buf: &mut [u8]) -> io::Result<IcmpMessage> {
        let received = message::receive(&self.fd, buf)?;
        // A raw socket of IPv4 is given the IP header too.
        let header = buf.first().filter(|_| !self.is_ipv6).map_or(0, |first| usize::from(first & 0xf) * 4);
        let (start, from) = (header.min(received.len), received.from.map(|from| from.ip()));
        Ok(IcmpMessage { start, end: received.len, from, ttl: received.ttl })
    }
}

impl AsFd for IcmpErrors {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// linux/icmp.h; its level is `SOL_RAW`.
const ICMP_FILTER: Opt = Opt(255, 1, "ICMP_FILTER");
const ICMPV6_FILTER: Opt = Opt(libc::IPPROTO_ICMPV6, 1, "ICMPV6_FILTER");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{Interest, wait};
    use std::net::UdpSocket;

    #[test]
    fn a_datagram_made_by_hand_arrives() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = match RawSender::open(false) {
            Err(e) => return assert_eq!(e.errno(), Some(libc::EPERM), "{e}"),
            Ok(sender) => sender,
        };
        let [high, low] = server.local_addr().unwrap().port().to_be_bytes();
        let ip = [0x45, 0, 0, 32, 0, 9, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1];
        let packet = [&ip[..], &[0, 9, high, low, 0, 12, 0, 0], b"hand"].concat();
        sender.send(&packet, server.local_addr().unwrap()).unwrap();
        wait(&mut [Interest::readable(&server)], None).unwrap();
        let mut buffer = [0; 16];
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.port()), (&b"hand"[..], 9));
    }
}
