//! Virtual devices: bridges, VLANs, tunnels, macvtaps.
//!
//! A device that this kernel lacks is refused with an error that [`crate::OsError::is_unsupported`]. Attribute numbers:
//! `linux/if_link.h`, `linux/if_tunnel.h`.

use super::link::{IFLA_INFO_DATA, IFLA_INFO_KIND, interface};
use super::{Message, Network};
use crate::error::Result;
use std::net::{IpAddr, Ipv6Addr};

/// A VXLAN tunnel between two hosts (RFC 7348).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VxlanSpec {
    /// Number of the virtual network (VNI), 24 bits.
    pub id: u32,
    /// Own outer address.
    pub local: IpAddr,
    /// The other end's outer address, of the same family.
    pub remote: IpAddr,
    /// UDP port of both ends; IANA's is 4789.
    pub port: u16,
}

impl Network {
    /// Makes a bridge without spanning tree, so that its ports forward at once.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the name is taken or longer than 15 bytes, or this kernel has no bridges.
    pub fn add_bridge(&mut self, name: &str) -> Result<()> {
        self.add_device(name, "bridge", None, |data| {
            data.attribute(IFLA_BR_FORWARD_DELAY, &0_u32.to_ne_bytes());
            data.attribute(IFLA_BR_STP_STATE, &0_u32.to_ne_bytes());
        })
    }

    /// Makes an 802.1Q VLAN (id 1 to 4094) on another interface.
    ///
    /// # Errors
    /// Those of [`Network::add_bridge`], or when the interface below is missing.
    pub fn add_vlan(&mut self, name: &str, on: &str, id: u16) -> Result<()> {
        let below = self.link(on)?.index;
        self.add_device(name, "vlan", Some(below), |data| {
            data.attribute(IFLA_VLAN_ID, &id.to_ne_bytes());
        })
    }

    /// Makes a VXLAN tunnel.
    ///
    /// # Errors
    /// Those of [`Network::add_bridge`], or for addresses of two families.
    pub fn add_vxlan(&mut self, name: &str, spec: &VxlanSpec) -> Result<()> {
        self.add_device(name, "vxlan", None, |data| {
            data.attribute(IFLA_VXLAN_ID, &spec.id.to_ne_bytes());
            for (address, [v4, v6]) in [
                (spec.local, [IFLA_VXLAN_LOCAL, IFLA_VXLAN_LOCAL6]),
                (spec.remote, [IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6]),
            ] {
                match address {
                    IpAddr::V4(address) => data.attribute(v4, &address.octets()),
                    IpAddr::V6(address) => data.attribute(v6, &address.octets()),
                };
            }
            data.attribute(IFLA_VXLAN_PORT, &spec.port.to_be_bytes());
        })
    }

    /// Makes an IPv4-in-IPv6 tunnel (RFC 2473, as DS-Lite's B4 and AFTR use it: RFC 6333) that adds exactly the 40 bytes
    /// of an IPv6 header: no encapsulation limit option.
    ///
    /// # Errors
    /// Those of [`Network::add_bridge`].
    pub fn add_ipip6(&mut self, name: &str, local: Ipv6Addr, remote: Ipv6Addr) -> Result<()> {
        self.add_device(name, "ip6tnl", None, |data| {
            data.attribute(IFLA_IPTUN_LOCAL, &local.octets());
            data.attribute(IFLA_IPTUN_REMOTE, &remote.octets());
            data.attribute(IFLA_IPTUN_TTL, &[TUNNEL_HOP_LIMIT]);
            data.attribute(IFLA_IPTUN_FLAGS, &IP6_TNL_F_IGN_ENCAP_LIMIT.to_ne_bytes());
            data.attribute(IFLA_IPTUN_PROTO, &[libc::IPPROTO_IPIP.to_ne_bytes()[0]]);
        })
    }

    /// Makes a WireGuard tunnel without keys; see [`super::configure_wireguard`].
    ///
    /// # Errors
    /// Those of [`Network::add_bridge`].
    pub fn add_wireguard(&mut self, name: &str) -> Result<()> {
        self.add_device(name, "wireguard", None, |_| {})
    }

    /// Makes a macvtap on another interface: a further hardware address of it (bridge mode), with a character device for
    /// a virtual machine ([`crate::tap::Tap::of_macvtap`]).
    ///
    /// # Errors
    /// Those of [`Network::add_bridge`], or when the interface below is missing.
    pub fn add_macvtap(&mut self, name: &str, on: &str) -> Result<()> {
        let below = self.link(on)?.index;
        self.add_device(name, "macvtap", Some(below), |data| {
            data.attribute(IFLA_MACVLAN_MODE, &MACVLAN_MODE_BRIDGE.to_ne_bytes());
        })
    }

    fn add_device(
        &mut self,
        name: &str,
        kind: &str,
        below: Option<u32>,
        fill: impl FnOnce(&mut Message),
    ) -> Result<()> {
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Message::new(libc::RTM_NEWLINK, flags, &interface(0, 0));
        request.string(libc::IFLA_IFNAME, name);
        if let Some(below) = below {
            request.attribute(libc::IFLA_LINK, &below.to_ne_bytes());
        }
        request.nest(libc::IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, kind.as_bytes()).nest(IFLA_INFO_DATA, fill);
        });
        self.ask(&format!("add {kind} device"), name, request).map(drop)
    }
}

const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_VLAN_ID: u16 = 1;
const IFLA_VXLAN_ID: u16 = 1;
const IFLA_VXLAN_GROUP: u16 = 2;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_PORT: u16 = 15;
const IFLA_VXLAN_GROUP6: u16 = 16;
const IFLA_VXLAN_LOCAL6: u16 = 17;
const IFLA_IPTUN_LOCAL: u16 = 2;
const IFLA_IPTUN_REMOTE: u16 = 3;
const IFLA_IPTUN_TTL: u16 = 4;
const IFLA_IPTUN_FLAGS: u16 = 8;
const IFLA_IPTUN_PROTO: u16 = 9;
/// `linux/ip6_tunnel.h`.
const IP6_TNL_F_IGN_ENCAP_LIMIT: u32 = 1;
/// The hop limit that `ip -6 tunnel` sets.
const TUNNEL_HOP_LIMIT: u8 = 64;
const IFLA_MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;
