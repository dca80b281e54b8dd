//! WireGuard tunnels: keys and the one peer, over generic netlink.
//!
//! Sources: `linux/wireguard.h`, `linux/genetlink.h`. Keys are 32 bytes of Curve25519; the kernel works out public ones.

use super::generic::{GENLMSGHDR, generic, open};
use super::message::Reply;
use super::{Message, incomplete};
use crate::error::Result;
use crate::sockaddr::RawAddress;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Own end of a WireGuard tunnel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WireguardSpec {
    /// Own secret: 32 random bytes.
    pub private_key: [u8; 32],
    /// Own UDP port.
    pub port: u16,
    /// The peer; absent: none yet.
    pub peer: Option<WireguardPeer>,
}

/// The far end of a WireGuard tunnel, which may send from and be sent to any inner address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireguardPeer {
    /// Its public key.
    pub public_key: [u8; 32],
    /// Its outer address and UDP port.
    pub endpoint: SocketAddr,
}

impl fmt::Debug for WireguardSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { private_key: _, port, peer } = self;
        out.debug_struct("WireguardSpec").field("port", port).field("peer", peer).finish_non_exhaustive()
    }
}

/// Gives a WireGuard interface of the **calling thread's** namespace its key, port and peer, and returns its public key, which
/// the other end needs. May be called again: once for the key, once with the peer.
///
/// # Errors
/// Without `CAP_NET_ADMIN`, when there is no such interface, or this kernel has no WireGuard
/// ([`crate::OsError::is_unsupported`]).
pub fn configure_wireguard(name: &str, spec: &WireguardSpec) -> Result<[u8; 32]> {
    const ASK: &str = "ask the public key of WireGuard interface";
    let (mut netlink, family) = open("wireguard")?;
    let mut request = generic(family, WG_CMD_SET_DEVICE, libc::NLM_F_ACK);
    request.string(WGDEVICE_A_IFNAME, name);
    request.attribute(WGDEVICE_A_PRIVATE_KEY, &spec.private_key);
    request.attribute(WGDEVICE_A_LISTEN_PORT, &spec.port.to_ne_bytes());
    request.attribute(WGDEVICE_A_FLAGS, &WGDEVICE_F_REPLACE_PEERS.to_ne_bytes());
    if let Some(peer) = &spec.peer {
        request.nest(WGDEVICE_A_PEERS, |peers| {
            peers.nest(0, |entry| peer.append(entry));
        });
    }
    netlink.ask("configure WireGuard interface", name, vec![request], 1)?;

    let mut request = generic(family, WG_CMD_GET_DEVICE, libc::NLM_F_DUMP);
    request.string(WGDEVICE_A_IFNAME, name);
    let replies = netlink.ask(ASK, name, vec![request], 1)?;
    let key = |reply: &Reply| reply.attributes(GENLMSGHDR).value(WGDEVICE_A_PUBLIC_KEY)?.try_into().ok();
    replies.iter().find_map(key).ok_or_else(|| incomplete(ASK, name))
}

impl WireguardPeer {
    fn append(&self, entry: &mut Message) {
        entry.attribute(WGPEER_A_PUBLIC_KEY, &self.public_key);
        entry.attribute(WGPEER_A_FLAGS, &WGPEER_F_REPLACE_ALLOWEDIPS.to_ne_bytes());
        entry.attribute(WGPEER_A_ENDPOINT, RawAddress::new(self.endpoint).as_bytes());
        entry.nest(WGPEER_A_ALLOWEDIPS, |allowed| {
            let everything = [
                (libc::AF_INET, Ipv4Addr::UNSPECIFIED.octets().to_vec()),
                (libc::AF_INET6, Ipv6Addr::UNSPECIFIED.octets().to_vec()),
            ];
            for (family, address) in everything {
                let family = u16::try_from(family).expect("families are small numbers");
                allowed.nest(0, |network| {
                    network.attribute(WGALLOWEDIP_A_FAMILY, &family.to_ne_bytes());
                    network.attribute(WGALLOWEDIP_A_IPADDR, &address);
                    network.attribute(WGALLOWEDIP_A_CIDR_MASK, &[0]);
                });
            }
        });
    }
}

const WG_CMD_GET_DEVICE: u8 = 0;
const WG_CMD_SET_DEVICE: u8 = 1;
const WGDEVICE_A_IFNAME: u16 = 2;
const WGDEVICE_A_PRIVATE_KEY: u16 = 3;
const WGDEVICE_A_PUBLIC_KEY: u16 = 4;
const WGDEVICE_A_FLAGS: u16 = 5;
const WGDEVICE_A_LISTEN_PORT: u16 = 6;
const WGDEVICE_A_PEERS: u16 = 8;
const WGDEVICE_F_REPLACE_PEERS: u32 = 1;
const WGPEER_A_PUBLIC_KEY: u16 = 1;
const WGPEER_A_FLAGS: u16 = 3;
const WGPEER_A_ENDPOINT: u16 = 4;
const WGPEER_A_ALLOWEDIPS: u16 = 9;
const WGPEER_F_REPLACE_ALLOWEDIPS: u32 = 2;
const WGALLOWEDIP_A_FAMILY: u16 = 1;
const WGALLOWEDIP_A_IPADDR: u16 = 2;
const WGALLOWEDIP_A_CIDR_MASK: u16 = 3;
