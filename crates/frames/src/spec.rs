//! The frames of a test: Ethernet, IPv4 or IPv6, UDP, and a signature with sequence number and time of sending.
//!
//! Signature, at the beginning of the payload, in network byte order: 4 bytes tag of the trial, 8 bytes sequence number from
//! 0 on, and where there is room 6 bytes of the sender's `CLOCK_MONOTONIC` in nanoseconds, modulo 2^48.

use linux::checksum::{folded, sum};
use linux::error::{Named, Result};
use model::units::Bytes;
use std::io;
use std::net::{IpAddr, Ipv6Addr};

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
    /// The tag of a VLAN (IEEE 802.1Q), if any: its number, without priority.
    pub vlan: Option<u16>,
    /// The header of IPv6 around packets of IPv4, if any (RFC 2473, RFC 6333): what a tunnel makes of such a frame.
    pub outer: Option<Outer>,
    /// Sizes with the FCS, which the kernel does not see, sent in turn: 64 and more, with IPv6 78 and more, with a tag 4 more.
    /// The outer header does not count: a frame has the same size before a tunnel and in it, where it is 40 bytes longer.
    pub sizes: Vec<Bytes>,
    /// Tells this trial's frames from any others.
    pub tag: u32,
}

/// From which end of a tunnel to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// The address of the end that puts packets into the tunnel.
    pub source: Ipv6Addr,
    /// The address of the end that takes them out.
    pub destination: Ipv6Addr,
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

    /// Whether there is room for the time of sending in every frame: 64 bytes with IPv4, 84 with IPv6, with a tag 4 more.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.shortest() >= self.offsets().payload + TIMED
    }

    /// The sizes of the frames as they are sent, in turn, with FCS and outer header.
    pub fn whole_sizes(&self) -> impl Iterator<Item = Bytes> {
        let outer = if self.outer.is_some() { OUTER as u64 } else { 0 };
        self.sizes.iter().map(move |size| Bytes(size.0.saturating_add(outer)))
    }

    /// What the kernel sees of each frame, in bytes.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = usize> {
        self.whole_sizes().map(|size| usize::try_from(size.0).unwrap_or(usize::MAX).saturating_sub(FCS))
    }

    /// Whether frames differ in size.
    pub(crate) fn is_mixed(&self) -> bool {
        self.sizes.iter().any(|size| *size != self.sizes[0])
    }

    pub(crate) fn offsets(&self) -> Offsets {
        let packet = ETHERNET + if self.vlan.is_some() { TAG } else { 0 };
        let ip = packet + if self.outer.is_some() { OUTER } else { 0 };
        let udp = ip + if self.is_ipv6() { 40 } else { 20 };
        Offsets { packet, ip, udp, payload: udp + UDP }
    }

    fn shortest(&self) -> usize {
        self.lengths().min().unwrap_or(0)
    }

    /// The longest frame with number 0 and time 0.
    pub(crate) fn template(&self) -> Result<Template> {
        let object = || {
            format!(
                "{:?} bytes to {}",
                self.sizes.iter().map(|size| size.0).collect::<Vec<_>>(),
                self.destination
            )
        };
        self.check().named("make frames of", object)?;
        let Offsets { packet, ip, udp, payload } = self.offsets();
        let mut frame = vec![0; self.lengths().max().unwrap_or(0)];
        // Lengths that differ from frame to frame are left out here, and so out of the sums.
        let length = if self.is_mixed() { None } else { Some(frame.len()) };
        let udp_length = length.map_or([0; 2], |length| ((length - udp) as u16).to_be_bytes());
        frame[..6].copy_from_slice(&self.destination_mac);
        frame[6..12].copy_from_slice(&self.source_mac);
        if let Some(vlan) = self.vlan {
            frame[12..14].copy_from_slice(&0x8100_u16.to_be_bytes());
            frame[14..16].copy_from_slice(&vlan.to_be_bytes());
        }
        frame[packet - 2..packet].copy_from_slice(&self.ether_type().to_be_bytes());
        if let Some(outer) = self.outer {
            let carried = length.map_or(0, |length| (length - ip) as u16);
            write_outer(&mut frame[packet..ip], outer, carried, self.hop_limit);
        }
        let addresses = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let total = length.map_or(0, |length| (length - ip) as u16);
                frame[ip] = 0x45;
                frame[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
                // Else a first fragment, which has the signature, would count as the frame.
                frame[ip + 6..ip + 8].copy_from_slice(&DO_NOT_FRAGMENT.to_be_bytes());
                frame[ip + 8] = self.hop_limit;
                frame[ip + 9] = PROTOCOL_UDP;
                frame[ip + 12..ip + 16].copy_from_slice(&source.octets());
                frame[ip + 16..ip + 20].copy_from_slice(&destination.octets());
                ip + 12..ip + 20
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                frame[ip] = 0x60;
                frame[ip + 4..ip + 6].copy_from_slice(&udp_length);
                frame[ip + 6] = PROTOCOL_UDP;
                frame[ip + 7] = self.hop_limit;
                frame[ip + 8..ip + 24].copy_from_slice(&source.octets());
                frame[ip + 24..ip + 40].copy_from_slice(&destination.octets());
                ip + 8..ip + 40
            }
            _ => unreachable!("checked: both are of one family"),
        };
        if let Ports::Fixed { source, destination } = self.ports {
            frame[udp..udp + 2].copy_from_slice(&source.to_be_bytes());
            frame[udp + 2..udp + 4].copy_from_slice(&destination.to_be_bytes());
        }
        frame[udp + 4..udp + 6].copy_from_slice(&udp_length);
        frame[payload..payload + 4].copy_from_slice(&self.tag.to_be_bytes());
        let pseudo = sum(&frame[addresses]) + sum(&udp_length) + sum(&[0, PROTOCOL_UDP]);
        let udp_sum = folded(pseudo + sum(&frame[udp..]));
        let ip_sum = folded(sum(&frame[ip..udp]));
        if !self.is_ipv6() {
            frame[ip + 10..ip + 12].copy_from_slice(&(!ip_sum).to_ne_bytes());
        }
        Ok(Template { bytes: frame, ip_sum, udp_sum })
    }

    /// The type of what the frames carry.
    pub(crate) fn ether_type(&self) -> u16 {
        if self.is_ipv6() || self.outer.is_some() { 0x86dd } else { 0x0800 }
    }

    fn check(&self) -> io::Result<()> {
        let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
        let Offsets { packet, ip, payload, .. } = self.offsets();
        let least = (payload + UNTIMED).max(LEAST + ip - packet);
        if self.source.is_ipv6() != self.destination.is_ipv6() {
            wrong("source and destination are of different families")
        } else if self.is_ipv6() && self.outer.is_some() {
            wrong("the tunnel is one for IPv4")
        } else if self.sizes.is_empty() || self.sizes.len() > MOST_SIZES {
            wrong("there must be 1 to 4096 sizes")
        } else if self.shortest() < least {
            wrong("too small: the signature needs 64 bytes with IPv4, 78 with IPv6, 4 more with a tag")
        } else if self.lengths().any(|length| length > MOST) {
            wrong("too large: a packet holds 65535 bytes at most")
        } else if self.vlan.is_some_and(|vlan| vlan > 4094) {
            wrong("no VLAN has a number above 4094")
        } else {
            Ok(())
        }
    }
}

/// IPv6's header with IPv4 behind it.
fn write_outer(header: &mut [u8], outer: Outer, carried: u16, hop_limit: u8) {
    header[0] = 0x60;
    header[4..6].copy_from_slice(&carried.to_be_bytes());
    header[6] = PROTOCOL_IPV4;
    header[7] = hop_limit;
    header[8..24].copy_from_slice(&outer.source.octets());
    header[24..40].copy_from_slice(&outer.destination.octets());
}

/// Where headers and payload of a frame begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offsets {
    /// The first header of IP, which is the outer one where there are two.
    pub(crate) packet: usize,
    /// The header of IP that UDP follows.
    pub(crate) ip: usize,
    pub(crate) udp: usize,
    pub(crate) payload: usize,
}

/// A frame, and the sums (RFC 1071, host's byte order) of what does not change from frame to frame.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) bytes: Vec<u8>,
    /// Of the IPv4 header.
    pub(crate) ip_sum: u16,
    /// Of what UDP's checksum covers.
    pub(crate) udp_sum: u16,
}

/// Ports that change with each frame: sixteen bits of the product of its number and [`SCATTER`], spread over a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortRange {
    /// Which bits of the product: those above so many.
    pub(crate) shift: u32,
    pub(crate) first: u16,
    pub(crate) count: u32,
}

pub(crate) const SOURCE_PORTS: PortRange = PortRange { shift: 48, first: 1024, count: 64_512 };
pub(crate) const DESTINATION_PORTS: PortRange = PortRange { shift: 32, first: 1, count: 49_151 };
/// An odd number without pattern: 2^64 divided by the golden ratio.
pub(crate) const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes of the signature without time: tag and sequence number.
pub(crate) const UNTIMED: usize = 4 + 8;
/// The same with time.
pub(crate) const TIMED: usize = UNTIMED + 6;
const UDP: usize = 8;
pub(crate) const PROTOCOL_UDP: u8 = 17;
/// DF among the flags of IPv4 (RFC 791).
const DO_NOT_FRAGMENT: u16 = 0x4000;
/// IPv4 as what a header of IP is followed by (RFC 2003).
pub(crate) const PROTOCOL_IPV4: u8 = 4;
/// The header of IPv6.
const OUTER: usize = 40;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const FCS: usize = 4;
const LEAST: usize = 60;
/// An IP packet holds no more, an Ethernet header before it.
const MOST: usize = 65_535 + ETHERNET;
const MOST_SIZES: usize = 4096;

#[cfg(test)]
impl FrameSpec {
    /// The same frames in a tunnel.
    pub(crate) fn wrapped(self) -> FrameSpec {
        let [source, destination] = ["2001:2::a", "2001:2::b"].map(|address| address.parse().unwrap());
        FrameSpec { outer: Some(Outer { source, destination }), ..self }
    }

    /// Frames to test with.
    pub(crate) fn example(family: u8, vlan: Option<u16>, sizes: &[u64]) -> FrameSpec {
        let addresses =
            if family == 4 { ["198.18.0.1", "198.19.0.1"] } else { ["2001:2::1", "2001:2:0:1::1"] };
        let [source, destination] = addresses.map(|address| address.parse().unwrap());
        FrameSpec {
            source_mac: [2, 0, 0, 0, 0, 1],
            destination_mac: [2, 0, 0, 0, 0, 2],
            source,
            destination,
            hop_limit: 64,
            ports: Ports::Random,
            vlan,
            outer: None,
            sizes: sizes.iter().copied().map(Bytes).collect(),
            tag: 0x1234_5678,
        }
    }
}

#[cfg(test)]
mod tests;
