//! Neighbours: hardware addresses of hosts on a link, as ARP (RFC 826) and neighbour discovery (RFC 4861) found them.

use super::address::{address_from, family_and_bytes};
use super::message::{Reply, u16_at, u32_at};
use super::{Message, Netlink, Network};
use crate::error::Result;
use packet::NeighbourState;
use std::net::IpAddr;
use units::Nanos;

/// The kernel's entry for a neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Number of the interface it is on.
    pub link: u32,
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address; none while or because it does not answer.
    pub mac: Option<[u8; 6]>,
    /// How much the kernel trusts the entry (`linux/neighbour.h`).
    pub state: NeighbourState,
    /// How long ago it was last known to answer, where the kernel reports it.
    pub confirmed: Option<Nanos>,
    /// How long ago its entry was last changed, where the kernel reports it.
    pub updated: Option<Nanos>,
}

impl Network {
    /// Sets a neighbour's hardware address permanently, so that the kernel sends no request for it.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when the interface is missing.
    pub fn add_neighbour(&mut self, link: &str, address: IpAddr, mac: [u8; 6]) -> Result<()> {
        let index = self.link(link)?.index;
        let (family, bytes) = family_and_bytes(address);
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let mut request =
            Message::new(libc::RTM_NEWNEIGH, flags, &neighbour(family, index, libc::NUD_PERMANENT));
        request.attribute(libc::NDA_DST, &bytes).attribute(libc::NDA_LLADDR, &mac);
        self.ask(&format!("add neighbour {address} to link"), link, request).map(drop)
    }

    /// Has the kernel ask a neighbour that it knows whether it is still there, as it does by itself once it doubts.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when it is not known.
    pub fn check_neighbour(&mut self, link: u32, address: IpAddr) -> Result<()> {
        let (family, bytes) = family_and_bytes(address);
        let flags = libc::NLM_F_ACK | libc::NLM_F_REPLACE;
        let mut request = Message::new(libc::RTM_NEWNEIGH, flags, &neighbour(family, link, libc::NUD_PROBE));
        request.attribute(libc::NDA_DST, &bytes);
        self.ask("check neighbour", &address.to_string(), request).map(drop)
    }

    /// Every neighbour the namespace knows, of both families.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn neighbours(&mut self) -> Result<Vec<Neighbour>> {
        let request = Message::new(libc::RTM_GETNEIGH, libc::NLM_F_DUMP, &neighbour(0, 0, 0));
        Ok(self.ask("list", "neighbours", request)?.iter().filter_map(parse).collect())
    }
}

/// Changes of neighbours, as the kernel reports them (`RTNLGRP_NEIGH`).
#[derive(Debug)]
pub struct NeighbourChanges {
    netlink: Netlink,
}

impl NeighbourChanges {
    /// Listens in the network namespace of the calling thread, from now on.
    ///
    /// # Errors
    /// When the kernel gives no netlink socket.
    pub fn open() -> Result<Self> {
        let netlink = Netlink::open(libc::NETLINK_ROUTE)?;
        netlink.join(RTNLGRP_NEIGH)?;
        Ok(Self { netlink })
    }

    /// The next changes; none when nothing changes within `timeout`. A deleted entry is reported as
    /// [`NeighbourState::Unknown`].
    ///
    /// # Errors
    /// When the kernel dropped changes (`ENOBUFS`), since too many came at once: dump them all anew.
    pub fn next(&mut self, timeout: Nanos) -> Result<Vec<Neighbour>> {
        let replies = self.netlink.notifications(timeout)?;
        let entry = |reply: &Reply| {
            let deleted = reply.kind == libc::RTM_DELNEIGH;
            let entry = parse(reply)?;
            Some(if deleted { Neighbour { state: NeighbourState::Unknown, ..entry } } else { entry })
        };
        Ok(replies.iter().filter_map(entry).collect())
    }
}

/// `struct ndmsg`: family, 3 bytes of nothing, interface, state, flags, type.
fn neighbour(family: u8, link: u32, state: u16) -> [u8; NDMSG] {
    let mut body = [0; NDMSG];
    body[0] = family;
    body[4..8].copy_from_slice(&link.to_ne_bytes());
    body[8..10].copy_from_slice(&state.to_ne_bytes());
    body
}

pub(super) fn parse(reply: &Reply) -> Option<Neighbour> {
    if !matches!(reply.kind, libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH) {
        return None;
    }
    let attributes = reply.attributes(NDMSG);
    // `struct nda_cacheinfo`: confirmed, used, updated, references.
    let age = |at| attributes.value(libc::NDA_CACHEINFO).and_then(|info| u32_at(info, at)).map(ticks);
    Some(Neighbour {
        link: u32_at(&reply.payload, 4)?,
        // A bridge's table of hardware addresses comes here too, without addresses.
        address: address_from(attributes.value(libc::NDA_DST)?)?,
        mac: attributes.value(libc::NDA_LLADDR).and_then(|mac| mac.try_into().ok()),
        state: state(u16_at(&reply.payload, 8)?),
        confirmed: age(0),
        updated: age(8),
    })
}

/// Times of `struct nda_cacheinfo`, in hundredths of a second (`USER_HZ`).
fn ticks(count: u32) -> Nanos {
    Nanos::from_millis(10).saturating_mul(u64::from(count))
}

fn state(bits: u16) -> NeighbourState {
    match bits {
        libc::NUD_INCOMPLETE => NeighbourState::Incomplete,
        libc::NUD_REACHABLE => NeighbourState::Reachable,
        libc::NUD_STALE => NeighbourState::Stale,
        libc::NUD_DELAY => NeighbourState::Delay,
        libc::NUD_PROBE => NeighbourState::Probe,
        libc::NUD_FAILED => NeighbourState::Failed,
        libc::NUD_NOARP => NeighbourState::NoArp,
        libc::NUD_PERMANENT => NeighbourState::Permanent,
        _ => NeighbourState::Unknown,
    }
}

const NDMSG: usize = 12;
/// `linux/rtnetlink.h`.
const RTNLGRP_NEIGH: u32 = 3;
