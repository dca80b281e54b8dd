//! Packets made by hand, IP header included: what no socket would send, such as one fragment alone.

use crate::error::{Named, Result, check, check_len};
use crate::sockaddr::RawAddress;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sends whole IP packets (raw(7), `IPPROTO_RAW`). The kernel routes them and fills in an IPv4 header's checksum and
/// total length; it cuts none into fragments.
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
        let family = if ipv6 { libc::AF_INET6 } else { libc::AF_INET };
        // SAFETY: takes integers alone.
        let fd =
            check(unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_RAW) })
                .named("open a raw socket for", || if ipv6 { "IPv6".into() } else { "IPv4".into() })?;
        // SAFETY: `fd` was just opened and belongs to no one else.
        Ok(RawSender { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Sends one packet, which begins with its IP header.
    ///
    /// # Errors
    /// What `sendto(2)` gives: `EMSGSIZE` above the interface's MTU.
    pub fn send(&self, packet: &[u8], to: IpAddr) -> io::Result<()> {
        let address = RawAddress::new(SocketAddr::new(to, 0));
        let (name, name_len) = address.as_parts();
        let (bytes, len) = (packet.as_ptr().cast(), packet.len());
        // SAFETY: `packet` and `address` are readable, of the stated lengths, and outlive the call.
        check_len(unsafe { libc::sendto(self.fd.as_raw_fd(), bytes, len, 0, name, name_len) }).map(drop)
    }
}

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
        sender.send(&packet, "127.0.0.1".parse().unwrap()).unwrap();
        wait(&mut [Interest::readable(&server)], None).unwrap();
        let mut buffer = [0; 16];
        let (length, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from.port()), (&b"hand"[..], 9));
    }
}
