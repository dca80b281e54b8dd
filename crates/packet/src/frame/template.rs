//! The constant part of every frame of a trial.

use super::{FrameError, FrameSpec, Offsets};
use crate::checksum::Sum;
use crate::{Ip, header};
use std::net::IpAddr;

/// A frame, and the sums of its constant part, folded and in the host's byte order ([`Sum::folded`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The longest frame, with number 0 and time 0.
    pub bytes: Vec<u8>,
    /// Sum of the IPv4 header.
    pub ip_sum: u16,
    /// Sum of the bytes that UDP's checksum covers.
    pub udp_sum: u16,
}

impl FrameSpec {
    /// The template of the frames. Lengths that differ from frame to frame are left out, and so out of the sums.
    ///
    /// # Errors
    /// When sizes or addresses are not valid.
    pub fn template(&self) -> Result<Template, FrameError> {
        self.check()?;
        let Offsets { packet, ip, udp, payload } = self.offsets();
        let mut frame = vec![0; self.lengths().max().unwrap_or(0)];
        let whole = frame.len();
        let length_from = |start: usize| if self.is_mixed() { 0 } else { (whole - start) as u16 };
        frame[..6].copy_from_slice(&self.destination_mac);
        frame[6..12].copy_from_slice(&self.source_mac);
        if let Some(vlan) = self.vlan {
            frame[12..14].copy_from_slice(&header::TYPE_VLAN.to_be_bytes());
            frame[14..16].copy_from_slice(&vlan.to_be_bytes());
        }
        frame[packet - 2..packet].copy_from_slice(&self.ether_type().to_be_bytes());
        if let Some((source, destination)) = self.outer {
            let (payload, next, hops) = (length_from(ip), Ip::IPV4, self.hop_limit);
            let outer = header::Ipv6 { label: 0, payload, next, hops, source, destination };
            frame[packet..ip].copy_from_slice(&outer.bytes());
        }
        let (length, of_udp) = (length_from(ip), length_from(udp));
        let ip_sum = self.write_ip(&mut frame[ip..udp], length, of_udp);
        if let Some((source, destination)) = self.ports {
            frame[udp..udp + 2].copy_from_slice(&source.to_be_bytes());
            frame[udp + 2..udp + 4].copy_from_slice(&destination.to_be_bytes());
        }
        frame[udp + 4..udp + 6].copy_from_slice(&of_udp.to_be_bytes());
        frame[payload..payload + 4].copy_from_slice(&self.tag.to_be_bytes());
        let pseudo = Sum::pseudo_header(self.source, self.destination, Ip::UDP, of_udp.into());
        let udp_sum = (pseudo + Sum::over(&frame[udp..])).folded();
        Ok(Template { bytes: frame, ip_sum, udp_sum })
    }

    /// Writes the IP header before UDP; returns the sum of IPv4's without its checksum.
    fn write_ip(&self, bytes: &mut [u8], length: u16, of_udp: u16) -> u16 {
        let (hops, protocol) = (self.hop_limit, Ip::UDP);
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                // Otherwise a first fragment, which has the signature, would count as the frame.
                let place = header::DONT_FRAGMENT;
                let header = header::Ipv4 { length, id: 0, place, hops, protocol, source, destination };
                bytes.copy_from_slice(&header.bytes());
                !u16::from_ne_bytes([bytes[10], bytes[11]])
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let header =
                    header::Ipv6 { label: 0, payload: of_udp, next: protocol, hops, source, destination };
                bytes.copy_from_slice(&header.bytes());
                0
            }
            _ => unreachable!("checked: both are of one family"),
        }
    }
}
