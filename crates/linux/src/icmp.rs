//! ICMP echo (RFC 792, RFC 4443): a host is requested to send a packet back, and the kernel's notes on the reply are read.

use crate::error::{Named, Result};
use crate::message::{self, Received};
use crate::options::{
    self, IP_RECVERR, IP_RECVFRAGSIZE, IPV6_RECVERR, IPV6_RECVFRAGSIZE, MtuDiscovery, Opt, set_int, set_raw,
};
use crate::sockaddr;
use packet::checksum::Sum;
use packet::icmp::{ECHO_REPLY, ECHO_REPLY_V6, Echo};
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A socket for echo requests to one host: a ping socket where `net.ipv4.ping_group_range` allows one (icmp(7)), else
/// a raw one.
///
/// ICMP errors about its requests are in its error queue and quote them from their ICMP header on; [`EchoSocket::quoted`] reads
/// the quote. Replies carry the size of the largest fragment they came in.
#[derive(Debug)]
pub struct EchoSocket {
    fd: OwnedFd,
    ipv6: bool,
    raw: bool,
    ident: u16,
}

/// An echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// The number of the request.
    pub sequence: u16,
    /// Where its payload begins in the buffer.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The kernel's notes on the packet.
    pub received: Received,
}

impl EchoSocket {
    /// Opens one towards `remote`, from `local` and through `device` where they are given. A raw socket puts `ident`
    /// into its requests; a ping socket is given one by the kernel.
    ///
    /// # Errors
    /// `EPERM` when neither kind is allowed; else what is refused, by name.
    pub fn open(
        remote: SocketAddr,
        local: Option<IpAddr>,
        device: Option<&str>,
        ident: u16,
    ) -> Result<EchoSocket> {
        let ipv6 = remote.is_ipv6();
        let (fd, raw) = match socket(ipv6, SocketType::DGRAM) {
            Ok(fd) => (fd, false),
            // Whatever a ping socket was refused for, a raw one may do.
            Err(_) => (socket(ipv6, SocketType::RAW)?, true),
        };
        if raw {
            only_replies(&fd, ipv6)?;
        }
        device.map_or(Ok(()), |device| options::set_device(&fd, device))?;
        for (v6, v4) in [(IPV6_RECVERR, IP_RECVERR), (IPV6_RECVFRAGSIZE, IP_RECVFRAGSIZE)] {
            set_int(&fd, if ipv6 { v6 } else { v4 }, 1)?;
        }
        let any: IpAddr = if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let local = SocketAddr::new(local.unwrap_or(any), 0);
        net::bind(&fd, &local).named("bind", || format!("icmp {}", local.ip()))?;
        let mut remote = remote;
        remote.set_port(0);
        sockaddr::connect(fd.as_fd(), remote).named("connect to", || format!("icmp {}", remote.ip()))?;
        Ok(EchoSocket { fd, ipv6, raw, ident })
    }

    /// Sets what it does about the path MTU, as [`options::set_mtu_discovery`] does for UDP.
    ///
    /// # Errors
    /// The errors of `setsockopt(2)`.
    pub fn set_mtu_discovery(&self, mode: MtuDiscovery) -> Result<()> {
        options::set_family_mtu_discovery(&self.fd, self.ipv6, mode)
    }

    /// Sends an echo request; `payload` follows its header of [`packet::icmp::HEADER`] bytes. Never blocks.
    ///
    /// # Errors
    /// The errors of `send(2)`.
    pub fn send(&self, sequence: u16, payload: &[u8]) -> io::Result<()> {
        let mut packet = Echo { ident: self.ident, sequence }.request(self.ipv6, payload);
        if self.raw && !self.ipv6 {
            // In all other cases the kernel fills it in.
            let sum = Sum::over(&packet).checksum();
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        net::send(&self.fd, &packet, SendFlags::DONTWAIT)?;
        Ok(())
    }

    /// Takes a packet; `None` when it is no reply to this socket. Never blocks.
    ///
    /// # Errors
    /// The errors of `recvmsg(2)`: `WouldBlock` when nothing is there.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<EchoReply>> {
        let received = message::receive(&self.fd, buffer)?;
        Ok(self.read(&buffer[..received.len], received))
    }

    /// The number and the payload of the request that an entry of the error queue quotes; `None` when it quotes less
    /// than the header, or a request of another socket.
    #[must_use]
    pub fn quoted<'a>(&self, quote: &'a [u8]) -> Option<(u16, &'a [u8])> {
        let (echo, payload) = Echo::of_request(quote).filter(|(echo, _)| self.is_own(*echo))?;
        Some((echo.sequence, payload))
    }

    fn read(&self, packet: &[u8], received: Received) -> Option<EchoReply> {
        let at = if self.raw && !self.ipv6 { ip_header_len(packet)? } else { 0 };
        let (echo, payload) = Echo::of_reply(self.ipv6, packet.get(at..)?)?;
        let (start, end) = (packet.len() - payload.len(), packet.len());
        self.is_own(echo).then_some(EchoReply { sequence: echo.sequence, start, end, received })
    }

    /// A ping socket is given its own alone.
    fn is_own(&self, echo: Echo) -> bool {
        !self.raw || echo.ident == self.ident
    }
}

impl AsFd for EchoSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn socket(ipv6: bool, kind: SocketType) -> Result<OwnedFd> {
    let (family, protocol) = match ipv6 {
        true => (AddressFamily::INET6, ipproto::ICMPV6),
        false => (AddressFamily::INET, ipproto::ICMP),
    };
    net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol))
        .named("open", || "a socket for ICMP echo".into())
}

/// Filters a raw socket, which receives every ICMP message by default: icmp(7), RFC 3542 section 3.2.
fn only_replies(fd: &OwnedFd, ipv6: bool) -> Result<()> {
    if !ipv6 {
        return set_raw(fd, ICMP_FILTER, &(!(1_u32 << ECHO_REPLY)).to_ne_bytes());
    }
    let mut blocked = [u32::MAX; 8];
    blocked[usize::from(ECHO_REPLY_V6 >> 5)] &= !(1 << (ECHO_REPLY_V6 & 31));
    set_raw(fd, ICMP6_FILTER, blocked.map(u32::to_ne_bytes).as_flattened())
}

fn ip_header_len(packet: &[u8]) -> Option<usize> {
    packet.first().map(|first| usize::from(first & 0xf) * 4)
}

/// linux/icmp.h and linux/icmpv6.h; the level of the first is `SOL_RAW`.
const ICMP_FILTER: Opt = Opt(255, 1, "ICMP_FILTER");
const ICMP6_FILTER: Opt = Opt(libc::IPPROTO_ICMPV6, 1, "ICMP6_FILTER");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_queue::{self, QueueEntry};
    use crate::poll::{Interest, wait};

    /// `None` where the system allows no ICMP socket. Raw sockets of other tests see the replies to `ident` too.
    fn open(host: &str, ident: u16) -> Option<EchoSocket> {
        let remote = SocketAddr::new(host.parse().unwrap(), 9);
        match EchoSocket::open(remote, None, None, ident) {
            Ok(socket) => Some(socket),
            Err(e) => {
                assert_eq!(e.errno(), Some(libc::EPERM), "{e}");
                None
            }
        }
    }

    fn reply(socket: &EchoSocket, buffer: &mut [u8]) -> EchoReply {
        loop {
            wait(&mut [Interest::readable(socket)], None).unwrap();
            if let Some(reply) = socket.receive(buffer).unwrap() {
                return reply;
            }
        }
    }

    #[test]
    fn a_request_comes_back_as_it_went() {
        for host in ["127.0.0.1", "::1"] {
            let Some(socket) = open(host, 1) else { return };
            socket.send(513, b"come back").unwrap();
            let mut buffer = [0; 100];
            let reply = reply(&socket, &mut buffer);
            assert_eq!((reply.sequence, &buffer[reply.start..reply.end]), (513, &b"come back"[..]));
            assert_eq!(reply.received.from.unwrap().ip().to_string(), host);
        }
    }

    #[test]
    fn a_reply_in_fragments_reports_the_largest() {
        let Some(socket) = open("::1", 2) else { return };
        socket.set_mtu_discovery(MtuDiscovery::Omit).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let mtu: usize = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        socket.send(1, &vec![7; 60_000]).unwrap();
        let whole = reply(&socket, &mut buffer);
        assert_eq!((whole.end - whole.start, whole.received.fragment.is_some()), (60_000, mtu < 60_048));
    }

    #[test]
    fn a_request_too_long_for_the_interface_is_refused() {
        let Some(socket) = open("127.0.0.1", 3) else { return };
        socket.set_mtu_discovery(MtuDiscovery::Probe).unwrap();
        let error = socket.send(3, &vec![0; 65_520]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
        let mut quote = [0; 16];
        while let Some(entry) = error_queue::take(&socket, &mut quote).unwrap() {
            assert!(matches!(entry, QueueEntry::Error(_)), "{entry:?}");
        }
    }

    #[test]
    fn a_quote_is_read_as_far_as_it_goes() {
        let Some(socket) = open("127.0.0.1", 0x304) else { return };
        assert_eq!(socket.quoted(&[8, 0, 1, 2, 3, 4, 2, 1, 9]), Some((513, &[9][..])));
        assert_eq!(socket.quoted(&[128, 0, 1, 2, 3, 4, 0, 1]), Some((1, &[][..])));
        assert_eq!(socket.quoted(&[8, 0, 1, 2, 9, 9, 0, 1]).is_none(), socket.raw, "of another socket");
        assert_eq!(socket.quoted(&[8, 0, 1, 2, 3, 4, 2]), None);
        assert_eq!(socket.quoted(&[0; 8]), None, "a reply");
        assert_eq!(socket.quoted(&[]), None);
    }
}
