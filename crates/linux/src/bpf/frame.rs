//! The frames of a test: Ethernet, IPv4 or IPv6, UDP, and a signature with sequence number and time of sending.
//!
//! Signature, at the beginning of the payload, in network byte order: 4 bytes tag of the trial, 8 bytes sequence number from
//! 0 on, and where there is room 6 bytes of the sender's `CLOCK_MONOTONIC` in nanoseconds, modulo 2^48.

use crate::error::{Named, Result};
use model::units::Bytes;
use std::io;
use std::net::IpAddr;

/// What the frames of a trial are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameSpec {
    /// Ethernet address of the sender.
    pub source_mac: [u8; 6],
    /// Ethernet address of the next hop.
    pub destination_mac: [u8; 6],
    /// From which address; of the same family as `destination`.
    pub source: IpAddr,
    /// To which address.
    pub destination: IpAddr,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// The UDP ports.
    pub ports: Ports,
    /// Size with the FCS, which the kernel does not see: 64 and more, with IPv6 78 and more.
    pub size: Bytes,
    /// Tells this trial's frames from any others.
    pub tag: u32,
}

/// The UDP ports of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ports {
    /// All frames are one flow.
    Fixed {
        /// From which.
        source: u16,
        /// To which.
        destination: u16,
    },
    /// Ports that change with each frame without order, from 1024 to 65535 and to 1 to 49151 (RFC 4814 section 4.5). The same
    /// sequence number has the same ports in every trial.
    Random,
}

impl FrameSpec {
    /// Whether the frames are of IPv6.
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        self.destination.is_ipv6()
    }

    /// Whether there is room for the time of sending: frames of 64 bytes with IPv4, 84 with IPv6.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.length() >= self.payload_at() + TIMED
    }

    /// What the kernel sees of a frame, in bytes.
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.size.0).unwrap_or(usize::MAX).saturating_sub(FCS)
    }

    /// Where the payload begins, and with it the signature.
    pub(super) fn payload_at(&self) -> usize {
        payload_at(self.is_ipv6())
    }

    /// The frame with number 0 and time 0, as sent but for ports, UDP checksum and signature; its UDP checksum is the sum of
    /// all that does not change, not yet complemented.
    pub(super) fn template(&self) -> Result<Vec<u8>> {
        self.check().named("make frames of", || format!("{} bytes to {}", self.size.0, self.destination))?;
        let length = self.length();
        let mut frame = vec![0; length];
        frame[..6].copy_from_slice(&self.destination_mac);
        frame[6..12].copy_from_slice(&self.source_mac);
        let udp = self.payload_at() - UDP;
        let udp_length = (length - udp) as u16;
        let pseudo = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                frame[12..14].copy_from_slice(&0x0800_u16.to_be_bytes());
                frame[14] = 0x45;
                frame[16..18].copy_from_slice(&((length - ETHERNET) as u16).to_be_bytes());
                frame[22] = self.hop_limit;
                frame[23] = PROTOCOL_UDP;
                frame[26..30].copy_from_slice(&source.octets());
                frame[30..34].copy_from_slice(&destination.octets());
                let checksum = !folded(sum(&frame[14..34]));
                frame[24..26].copy_from_slice(&checksum.to_ne_bytes());
                sum(&frame[26..34])
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                frame[12..14].copy_from_slice(&0x86dd_u16.to_be_bytes());
                frame[14] = 0x60;
                frame[18..20].copy_from_slice(&udp_length.to_be_bytes());
                frame[20] = PROTOCOL_UDP;
                frame[21] = self.hop_limit;
                frame[22..38].copy_from_slice(&source.octets());
                frame[38..54].copy_from_slice(&destination.octets());
                sum(&frame[22..54])
            }
            _ => unreachable!("checked: both are of one family"),
        };
        if let Ports::Fixed { source, destination } = self.ports {
            frame[udp..udp + 2].copy_from_slice(&source.to_be_bytes());
            frame[udp + 2..udp + 4].copy_from_slice(&destination.to_be_bytes());
        }
        frame[udp + 4..udp + 6].copy_from_slice(&udp_length.to_be_bytes());
        frame[udp + UDP..udp + UDP + 4].copy_from_slice(&self.tag.to_be_bytes());
        let last = sum(&udp_length.to_be_bytes()) + sum(&[0, PROTOCOL_UDP]);
        let checksum = folded(pseudo + last + sum(&frame[udp..]));
        frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_ne_bytes());
        Ok(frame)
    }

    fn check(&self) -> io::Result<()> {
        let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
        if self.source.is_ipv6() != self.destination.is_ipv6() {
            wrong("source and destination are of different families")
        } else if self.length() < (self.payload_at() + UNTIMED).max(LEAST) {
            wrong("too small: the signature needs 64 bytes with IPv4, 78 with IPv6")
        } else if self.length() > MOST {
            wrong("too large: the kernel makes no live frames above 3200 bytes")
        } else {
            Ok(())
        }
    }
}

/// Where the payload of UDP begins in a frame without tags and options.
pub(super) fn payload_at(ipv6: bool) -> usize {
    ETHERNET + if ipv6 { 40 } else { 20 } + UDP
}

/// The Internet checksum's sum (RFC 1071) in the host's byte order; an odd last byte is taken with a zero.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    bytes.chunks(2).map(|pair| u64::from(word(pair))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Bytes of the signature without time: tag and sequence number.
pub(super) const UNTIMED: usize = 4 + 8;
/// The same with time.
pub(super) const TIMED: usize = UNTIMED + 6;
pub(super) const UDP: usize = 8;
pub(super) const PROTOCOL_UDP: u8 = 17;
const ETHERNET: usize = 14;
const FCS: usize = 4;
const LEAST: usize = 60;
/// A page less headroom, the kernel's own notes and what a socket buffer keeps at its end.
const MOST: usize = 3196;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(size: u64, source: &str, destination: &str) -> FrameSpec {
        FrameSpec {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            hop_limit: 64,
            ports: Ports::Fixed { source: 1234, destination: 7 },
            size: Bytes(size),
            tag: 0x1234_5678,
        }
    }

    #[test]
    fn sizes_and_families_are_checked() {
        let four = |size| spec(size, "198.18.0.1", "198.19.0.1");
        let six = |size| spec(size, "2001:2::1", "2001:2:0:1::1");
        assert_eq!(four(64).template().unwrap().len(), 60);
        assert!(four(64).is_timed() && !six(78).is_timed() && six(84).is_timed());
        assert_eq!(six(78).template().unwrap().len(), 74);
        let error = six(77).template().unwrap_err().to_string();
        assert!(error.contains("make frames of 77 bytes to 2001:2:0:1::1: too small"), "{error}");
        assert!(four(63).template().is_err() && four(9000).template().is_err());
        assert!(spec(64, "198.18.0.1", "2001:2::1").template().is_err());
    }

    /// RFC 791's checksum of a header: the sum of all its words with it is all ones.
    #[test]
    fn the_ip_header_has_its_checksum() {
        let frame = spec(64, "198.18.0.1", "198.19.0.1").template().unwrap();
        assert_eq!(folded(sum(&frame[14..34])), 0xffff);
        assert_eq!(frame[16..18], [0, 46]);
        assert_eq!(frame[38..40], [0, 26]);
        assert_eq!(frame[42..46], [0x12, 0x34, 0x56, 0x78]);
    }
}
