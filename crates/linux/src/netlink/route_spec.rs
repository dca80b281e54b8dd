//! Routes with everything they may have: gateway, device, MTU, and SRv6 encapsulation (RFC 8986).
//!
//! Numbers: `linux/rtnetlink.h`, `linux/lwtunnel.h`, `linux/seg6_iptunnel.h`, `linux/seg6_local.h`.

use super::address::family_and_bytes;
use super::route::{RTAX_MTU, route};
use super::{Message, Network};
use crate::error::{OsError, Result};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A route to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteSpec {
    /// The network; absent: every address of the gateway's family.
    pub to: Option<(IpAddr, u8)>,
    /// The next hop; absent: the network is on the device's link.
    pub via: Option<IpAddr>,
    /// The device; absent: the one the next hop is on.
    pub device: Option<String>,
    /// MTU of the route.
    pub mtu: Option<u32>,
    /// Encapsulation of the packets of this route.
    pub encap: Option<Encap>,
    /// The table it is in, for packets that a rule leads there ([`super::Rule`]); absent: the main one.
    pub table: Option<u8>,
}

/// Segment routing over IPv6, which with one segment is IPv4 in IPv6 on the wire, as an `ip6tnl` makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encap {
    /// Puts packets into IPv6 toward these segments, the first one first (H.Encaps.Red: RFC 8986 §5.2). A single segment
    /// is the outer destination, and there is no routing header.
    Seg6 {
        /// Where to, at least one.
        segments: Vec<Ipv6Addr>,
    },
    /// Takes IPv4 packets out of IPv6 and hands them to an IPv4 neighbour (End.DX4: RFC 8986 §4.5).
    EndDx4 {
        /// The neighbour; 0.0.0.0: wherever the packet's own destination leads.
        next_hop: Ipv4Addr,
    },
}

impl Network {
    /// Makes a route.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the gateway is on no link, the route is there already, or the kernel has no SRv6.
    pub fn add_route_spec(&mut self, spec: &RouteSpec) -> Result<()> {
        let request = self.route_request(spec)?;
        self.ask("add route", &spec.to_string(), request).map(drop)
    }

    fn route_request(&mut self, spec: &RouteSpec) -> Result<Message> {
        let wrong = |why| Err(OsError::new("understand route", spec.to_string(), io::Error::other(why)));
        let family = match (spec.to, spec.via) {
            (Some((to, _)), Some(via)) if to.is_ipv4() != via.is_ipv4() => {
                return wrong("network and gateway are of different families");
            }
            (Some((address, _)), _) | (None, Some(address)) => family_and_bytes(address).0,
            (None, None) => return wrong("it has neither network nor gateway"),
        };
        if matches!(&spec.encap, Some(Encap::Seg6 { segments }) if !(1..=MOST_SEGMENTS).contains(&segments.len()))
        {
            return wrong("it needs 1 to 16 segments");
        }
        let mut body = route(family, spec.to.map_or(0, |(_, prefix)| prefix));
        body[4] = spec.table.unwrap_or(libc::RT_TABLE_MAIN);
        body[5] = libc::RTPROT_BOOT;
        body[6] = match spec.via {
            None if family == libc::AF_INET.to_ne_bytes()[0] => libc::RT_SCOPE_LINK,
            _ => libc::RT_SCOPE_UNIVERSE,
        };
        body[7] = libc::RTN_UNICAST;
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Message::new(libc::RTM_NEWROUTE, flags, &body);
        if let Some((to, _)) = spec.to {
            request.attribute(libc::RTA_DST, &family_and_bytes(to).1);
        }
        if let Some(via) = spec.via {
            request.attribute(libc::RTA_GATEWAY, &family_and_bytes(via).1);
        }
        if let Some(device) = &spec.device {
            request.attribute(libc::RTA_OIF, &self.link(device)?.index.to_ne_bytes());
        }
        if let Some(mtu) = spec.mtu {
            request.nest(libc::RTA_METRICS, |metrics| {
                metrics.attribute(RTAX_MTU, &mtu.to_ne_bytes());
            });
        }
        if let Some(encap) = &spec.encap {
            encap.append(&mut request);
        }
        Ok(request)
    }
}

impl Encap {
    fn append(&self, request: &mut Message) {
        match self {
            Self::Seg6 { segments } => {
                request.attribute(RTA_ENCAP_TYPE, &LWTUNNEL_ENCAP_SEG6.to_ne_bytes());
                request.nest(RTA_ENCAP, |encap| {
                    encap.attribute(SEG6_IPTUNNEL_SRH, &seg6(segments));
                });
            }
            Self::EndDx4 { next_hop } => {
                request.attribute(RTA_ENCAP_TYPE, &LWTUNNEL_ENCAP_SEG6_LOCAL.to_ne_bytes());
                request.nest(RTA_ENCAP, |encap| {
                    encap.attribute(SEG6_LOCAL_ACTION, &SEG6_LOCAL_ACTION_END_DX4.to_ne_bytes());
                    encap.attribute(SEG6_LOCAL_NH4, &next_hop.octets());
                });
            }
        }
    }
}

/// `struct seg6_iptunnel_encap`: the mode and a routing header (RFC 8754 §2), which has its segments last one first.
fn seg6(segments: &[Ipv6Addr]) -> Vec<u8> {
    let count = u8::try_from(segments.len()).expect("it was checked to be at most 16");
    let mut bytes = SEG6_IPTUN_MODE_ENCAP_RED.to_ne_bytes().to_vec();
    // Next header (the kernel's to fill in), length in 8 bytes beyond the first 8, type, segments left, last entry,
    // flags, tag.
    bytes.extend([0, 2 * count, ROUTING_TYPE_SEGMENT, count - 1, count - 1, 0, 0, 0]);
    bytes.extend(segments.iter().rev().flat_map(Ipv6Addr::octets));
    bytes
}

impl fmt::Display for RouteSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some((address, prefix)) => write!(out, "{address}/{prefix}")?,
            None => write!(out, "default")?,
        }
        match &self.encap {
            Some(Encap::Seg6 { segments }) => {
                let segments: Vec<String> = segments.iter().map(Ipv6Addr::to_string).collect();
                write!(out, " encap seg6 {}", segments.join(","))?;
            }
            Some(Encap::EndDx4 { next_hop }) => write!(out, " encap seg6local End.DX4 {next_hop}")?,
            None => {}
        }
        if let Some(via) = self.via {
            write!(out, " via {via}")?;
        }
        match &self.device {
            Some(device) => write!(out, " on {device}"),
            None => Ok(()),
        }
    }
}

const MOST_SEGMENTS: usize = 16;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
const LWTUNNEL_ENCAP_SEG6: u16 = 5;
const LWTUNNEL_ENCAP_SEG6_LOCAL: u16 = 7;
const SEG6_IPTUNNEL_SRH: u16 = 1;
const SEG6_IPTUN_MODE_ENCAP_RED: u32 = 3;
const ROUTING_TYPE_SEGMENT: u8 = 4;
const SEG6_LOCAL_ACTION: u16 = 1;
const SEG6_LOCAL_NH4: u16 = 4;
const SEG6_LOCAL_ACTION_END_DX4: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routing_header_has_its_segments_last_one_first() {
        let [first, last] = [1, 2].map(|host| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host));
        let bytes = seg6(&[first, last]);
        assert_eq!(bytes[4..12], [0, 4, 4, 1, 1, 0, 0, 0]);
        assert_eq!((&bytes[12..28], &bytes[28..]), (&last.octets()[..], &first.octets()[..]));
    }
}
