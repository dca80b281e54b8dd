//! Packets made by hand, IP header included: what no socket would send, such as one fragment alone. And the ICMPv6
//! messages that no other socket is given.

use crate::cmsg;
use crate::error::{Named, Result};
use crate::options::{MtuDiscovery, Opt, set_family_mtu_discovery, set_raw};
use packet::icmp::PACKET_TOO_BIG_V6;
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
    /// What `sendto(2)` gives: `EMSGSIZE` above the interface's MTU.
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

/// Hears every ICMPv6 packet-too-big message that comes to this host (RFC 4443 section 3.2), whichever flow it is about.
#[derive(Debug)]
pub struct TooBigListener {
    fd: OwnedFd,
}

impl TooBigListener {
    /// Begins to listen.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`.
    pub fn open() -> Result<TooBigListener> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = net::socket_with(AddressFamily::INET6, SocketType::RAW, flags, Some(ipproto::ICMPV6))
            .named("open a raw socket for", || "ICMPv6".into())?;
        let listener = TooBigListener { fd };
        // A bit for each type, set: not wanted (RFC 3542 section 3.2).
        let mut filter = [u8::MAX; 32];
        filter[..4].copy_from_slice(&(!(1_u32 << PACKET_TOO_BIG_V6)).to_ne_bytes());
        set_raw(&listener.fd, ICMPV6_FILTER, &filter)?;
        Ok(listener)
    }

    /// Takes one message, from its ICMPv6 header on, and its sender. Never blocks.
    ///
    /// # Errors
    /// What `recvmsg(2)` gives: `WouldBlock` when nothing is there.
    pub fn receive(&self, buf: &mut [u8]) -> io::Result<(usize, Option<IpAddr>)> {
        let received = cmsg::receive(self.fd.as_fd(), buf, &mut [], libc::MSG_DONTWAIT)?;
        Ok((received.len, received.address.map(|address| address.ip())))
    }
}

impl AsFd for TooBigListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

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
