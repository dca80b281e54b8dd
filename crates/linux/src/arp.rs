//! ARP by hand (RFC 826): every hardware address that answers for an IPv4 address on a link, of which the kernel keeps one.

use crate::capture::{bind_to, ignore_outgoing};
use crate::error::{Named, Result};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Sends requests on one interface and hears the replies that arrive there, also those to the kernel's own requests.
#[derive(Debug)]
pub struct Arp {
    fd: OwnedFd,
}

impl Arp {
    /// Opens it on the interface of this number.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `EPROTONOSUPPORT` where the interface is none of Ethernet.
    pub fn open(interface: u32) -> Result<Arp> {
        let named = || format!("a packet socket for ARP on interface {interface}");
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd =
            net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None).named("open", named)?;
        ignore_outgoing(&fd)?;
        match bind_to(&fd, interface, libc::ETH_P_ARP as u16).named("bind", named)? {
            libc::ARPHRD_ETHER => Ok(Arp { fd }),
            _ => Err(io::Error::from_raw_os_error(libc::EPROTONOSUPPORT)).named("use", named),
        }
    }

    /// Asks who has an address. `own`: this interface's hardware address. The request has no sender's address, so that caches learn
    /// nothing from it, and owners of the address alone answer (RFC 5227 section 2.1.1).
    ///
    /// # Errors
    /// The errors of `send(2)`.
    pub fn ask(&self, own: [u8; 6], target: Ipv4Addr) -> io::Result<()> {
        net::send(&self.fd, &request(own, target), SendFlags::empty())?;
        Ok(())
    }

    /// The hardware addresses in replies about this address that came since the last call. Never blocks.
    #[must_use]
    pub fn replies(&self, target: Ipv4Addr) -> Vec<[u8; 6]> {
        let mut frame = [0; FRAME];
        let mut found = Vec::new();
        for _ in 0..MOST_FRAMES {
            let Ok((length, _)) = net::recv(&self.fd, &mut frame, RecvFlags::DONTWAIT) else { break };
            found.extend(reply(&frame[..length.min(FRAME)], target));
        }
        found
    }
}

impl AsFd for Arp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn request(own: [u8; 6], target: Ipv4Addr) -> Vec<u8> {
    let ethernet = [&[0xff; 6][..], &own, &ETHERTYPE].concat();
    [&ethernet[..], &KIND, &[0, 1], &own, &[0; 4], &[0; 6], &target.octets()].concat()
}

/// The hardware address of the sender, of a reply about this address.
fn reply(frame: &[u8], target: Ipv4Addr) -> Option<[u8; 6]> {
    let arp = frame.get(14..)?;
    let is_reply = frame.get(12..14)? == ETHERTYPE && arp.get(..6)? == KIND && arp.get(6..8)? == [0, 2];
    let is_about = arp.get(14..18)? == target.octets();
    arp.get(8..14).filter(|_| is_reply && is_about)?.try_into().ok()
}

/// Ethernet and IPv4, six and four bytes.
const KIND: [u8; 6] = [0, 1, 8, 0, 6, 4];
const ETHERTYPE: [u8; 2] = [8, 6];
/// Ethernet's header and ARP.
const FRAME: usize = 42;
/// Frames that one call reads.
const MOST_FRAMES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_about_the_address_alone_count() {
        let target = Ipv4Addr::new(10, 78, 0, 2);
        let question = request([2, 0, 0, 0, 0, 1], target);
        assert_eq!((question.len(), reply(&question, target)), (FRAME, None), "a request is no reply");
        let mut answer = question;
        answer[21] = 2;
        answer[22..28].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        answer[28..32].copy_from_slice(&target.octets());
        assert_eq!(reply(&answer, target), Some([2, 0, 0, 0, 0, 9]));
        assert_eq!(reply(&answer, Ipv4Addr::new(10, 78, 0, 3)), None);
        for length in 0..FRAME {
            assert_eq!(reply(&answer[..length.min(31)], target), None);
        }
    }
}
