//! Links (network interfaces): listing them, making veth pairs, MTU, up, moving, deleting.

use super::message::{Attributes, Message, Reply, u32_at, u64_at};
use super::{Network, incomplete};
use crate::error::Result;
use crate::namespace::Namespace;
use std::os::fd::AsRawFd;

/// A network interface as the kernel describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Number of the interface within its namespace.
    pub index: u32,
    /// Name.
    pub name: String,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// Smallest and largest MTU that its driver takes, where reported (Linux 4.19).
    pub mtu_limits: Option<(u32, u32)>,
    /// Kind of a virtual interface: `veth`, `bridge`, `vlan`, `bond`, `tun`, …; absent for hardware.
    pub kind: Option<String>,
    /// The interface below (of a VLAN, macvlan, …), when it is in the same namespace.
    pub lower: Option<u32>,
    /// Hardware address, of those that have one of Ethernet's length.
    pub mac: Option<[u8; 6]>,
    /// The bridge or bond this interface is part of.
    pub master: Option<u32>,
    /// How it shares packets out, of a bond.
    pub bond: Option<Bond>,
    /// Set up by the administrator (`IFF_UP`).
    pub is_up: bool,
    /// Its driver sees the other end (`IFF_LOWER_UP`): at once, where the operational state may follow a second later.
    pub has_carrier: bool,
    /// How often it lost the other end since it was made, where the kernel reports it (Linux 4.16).
    pub carrier_losses: Option<u32>,
    /// The loopback interface.
    pub is_loopback: bool,
    /// RFC 2863 operational state.
    pub state: OperState,
    /// Receive queues.
    pub rx_queues: Option<u32>,
    /// Counters since the interface was made.
    pub statistics: LinkStatistics,
}

/// Whether an interface can carry packets (RFC 2863 `ifOperStatus`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperState {
    /// The driver does not say; loopback and some virtual devices.
    #[default]
    Unknown,
    /// Hardware is missing.
    NotPresent,
    /// No carrier, or set down.
    Down,
    /// The interface below is down.
    LowerLayerDown,
    /// In a test mode.
    Testing,
    /// Waiting for something outside, e.g. 802.1X.
    Dormant,
    /// Carries packets.
    Up,
}

/// How a bond shares packets out among its members (`bonding.rst` of the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bond {
    /// Number of its mode.
    pub mode: u8,
    /// Number of its `xmit_hash_policy`.
    pub hash: u8,
}

impl Bond {
    /// The policy that chooses the member of a packet, where the mode has one: balance-xor, 802.3ad and balance-tlb.
    #[must_use]
    pub fn hash_policy(self) -> Option<&'static str> {
        const NAMES: [&str; 6] = ["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"];
        matches!(self.mode, 2 | 4 | 5).then(|| NAMES.get(usize::from(self.hash)).copied()).flatten()
    }
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets received; with receive offload one may stand for several frames.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames received broken.
    pub rx_errors: u64,
    /// Packets that could not be sent.
    pub tx_errors: u64,
    /// Packets dropped on receiving, in the device or the kernel's backlog.
    pub rx_dropped: u64,
    /// Packets dropped on sending.
    pub tx_dropped: u64,
    /// Frames that collided with others: half duplex.
    pub collisions: u64,
    /// Frames received with a wrong checksum (FCS).
    pub rx_crc: u64,
    /// Frames that overran the device's own memory.
    pub rx_fifo: u64,
    /// Frames the device dropped for want of buffers in the host.
    pub rx_missed: u64,
}

impl LinkStatistics {
    /// How far each counter moved since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            rx_packets: self.rx_packets.saturating_sub(earlier.rx_packets),
            tx_packets: self.tx_packets.saturating_sub(earlier.tx_packets),
            rx_bytes: self.rx_bytes.saturating_sub(earlier.rx_bytes),
            tx_bytes: self.tx_bytes.saturating_sub(earlier.tx_bytes),
            rx_errors: self.rx_errors.saturating_sub(earlier.rx_errors),
            tx_errors: self.tx_errors.saturating_sub(earlier.tx_errors),
            rx_dropped: self.rx_dropped.saturating_sub(earlier.rx_dropped),
            tx_dropped: self.tx_dropped.saturating_sub(earlier.tx_dropped),
            collisions: self.collisions.saturating_sub(earlier.collisions),
            rx_crc: self.rx_crc.saturating_sub(earlier.rx_crc),
            rx_fifo: self.rx_fifo.saturating_sub(earlier.rx_fifo),
            rx_missed: self.rx_missed.saturating_sub(earlier.rx_missed),
        }
    }
}

impl Network {
    /// Every interface of the namespace.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn links(&mut self) -> Result<Vec<Link>> {
        let request = Message::new(libc::RTM_GETLINK, libc::NLM_F_DUMP, &interface(0, 0));
        Ok(self.ask("list", "network links", request)?.iter().filter_map(parse).collect())
    }

    /// The interface of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn link(&mut self, name: &str) -> Result<Link> {
        let mut request = Message::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &interface(0, 0));
        request.string(libc::IFLA_IFNAME, name);
        self.one_link(name, request)
    }

    /// The interface of this number.
    ///
    /// # Errors
    /// When there is none.
    pub fn link_by_index(&mut self, index: u32) -> Result<Link> {
        let request = Message::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &interface(index, 0));
        self.one_link(&format!("number {index}"), request)
    }

    /// Makes a pair of interfaces joined like the ends of a cable: `name` here and `peer` in the other namespace.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN` in both namespaces, or when a name is taken or longer than 15 bytes.
    pub fn add_veth(&mut self, name: &str, peer: &str, peer_namespace: &Namespace) -> Result<()> {
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Message::new(libc::RTM_NEWLINK, flags, &interface(0, 0));
        let namespace = peer_namespace.as_raw_fd().to_ne_bytes();
        request.string(libc::IFLA_IFNAME, name).nest(libc::IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, b"veth").nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |end| {
                    end.raw(&interface(0, 0));
                    end.string(libc::IFLA_IFNAME, peer).attribute(libc::IFLA_NET_NS_FD, &namespace);
                });
            });
        });
        self.ask("add veth pair", &format!("{name}-{peer}"), request).map(drop)
    }

    /// Sets an interface up.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when there is no such interface.
    pub fn set_up(&mut self, name: &str) -> Result<()> {
        self.change("set up link", name, interface(0, libc::IFF_UP), &[])
    }

    /// Makes an interface receive every multicast frame, whether or not a socket joined the group.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when there is no such interface.
    pub fn set_all_multicast(&mut self, name: &str) -> Result<()> {
        self.change("receive all multicast on link", name, interface(0, libc::IFF_ALLMULTI), &[])
    }

    /// Sets the MTU, in bytes of IP packet.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or beyond what the device can.
    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<()> {
        let attribute = (libc::IFLA_MTU, &mtu.to_ne_bytes()[..]);
        self.change(&format!("set MTU {mtu} on link"), name, interface(0, 0), &[attribute])
    }

    /// Moves an interface into another namespace; it arrives down and without addresses.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN` in both, or when the name is taken there.
    pub fn move_link(&mut self, name: &str, to: &Namespace) -> Result<()> {
        let attribute = (libc::IFLA_NET_NS_FD, &to.as_raw_fd().to_ne_bytes()[..]);
        self.change("move to another namespace link", name, interface(0, 0), &[attribute])
    }

    /// Deletes an interface; of a veth pair both ends go.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or for hardware.
    pub fn delete_link(&mut self, name: &str) -> Result<()> {
        let mut request = Message::new(libc::RTM_DELLINK, libc::NLM_F_ACK, &interface(0, 0));
        request.string(libc::IFLA_IFNAME, name);
        self.ask("delete link", name, request).map(drop)
    }

    /// Sets an interface down.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when there is no such interface.
    pub fn set_down(&mut self, name: &str) -> Result<()> {
        let mut body = interface(0, 0);
        body[12..16].copy_from_slice(&libc::IFF_UP.to_ne_bytes());
        self.change("set down link", name, body, &[])
    }

    /// Sets the hardware address.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, for a group or all-zero address, or while the device may not change it.
    pub fn set_mac(&mut self, name: &str, mac: [u8; 6]) -> Result<()> {
        self.change("set the hardware address of link", name, interface(0, 0), &[(libc::IFLA_ADDRESS, &mac)])
    }

    /// Renames an interface.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the name is taken or longer than 15 bytes.
    pub fn set_name(&mut self, name: &str, new: &str) -> Result<()> {
        let index = self.link(name)?.index;
        let mut request = Message::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &interface(index, 0));
        request.string(libc::IFLA_IFNAME, new);
        self.ask(&format!("rename to {new} link"), name, request).map(drop)
    }

    /// Makes an interface a port of a bridge, or of none.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when either is missing, or the bridge would be in a loop.
    pub fn set_master(&mut self, port: &str, bridge: Option<&str>) -> Result<()> {
        let master = bridge.map_or(Ok(0), |bridge| self.link(bridge).map(|bridge| bridge.index))?;
        let operation = format!("make a port of {} link", bridge.unwrap_or("no bridge"));
        self.change(&operation, port, interface(0, 0), &[(libc::IFLA_MASTER, &master.to_ne_bytes())])
    }

    /// Changes the link of this name: flags in the body, and attributes.
    fn change(
        &mut self,
        operation: &str,
        name: &str,
        body: [u8; IFINFOMSG],
        attributes: &[(u16, &[u8])],
    ) -> Result<()> {
        let mut request = Message::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &body);
        request.string(libc::IFLA_IFNAME, name);
        for (kind, value) in attributes {
            request.attribute(*kind, value);
        }
        self.ask(operation, name, request).map(drop)
    }

    fn one_link(&mut self, name: &str, request: Message) -> Result<Link> {
        const OPERATION: &str = "look up link";
        let replies = self.ask(OPERATION, name, request)?;
        replies.iter().find_map(parse).ok_or_else(|| incomplete(OPERATION, name))
    }
}

/// `struct ifinfomsg`: family, device type, number, flags, and which flags to change.
pub(super) fn interface(index: u32, set: i32) -> [u8; IFINFOMSG] {
    let mut body = [0; IFINFOMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&set.to_ne_bytes());
    body[12..16].copy_from_slice(&set.to_ne_bytes());
    body
}

pub(super) fn parse(reply: &Reply) -> Option<Link> {
    let attributes = reply.attributes(IFINFOMSG);
    let flags = u32_at(&reply.payload, 8)?.cast_signed();
    // A lower interface in another namespace has a number that means nothing here.
    let lower = match attributes.value(libc::IFLA_LINK_NETNSID) {
        Some(_) => None,
        None => attributes.u32(libc::IFLA_LINK),
    };
    let index = u32_at(&reply.payload, 4)?;
    Some(Link {
        index,
        name: attributes.string(libc::IFLA_IFNAME)?,
        mtu: attributes.u32(libc::IFLA_MTU)?,
        mtu_limits: mtu_limits(&attributes),
        kind: attributes.inside(libc::IFLA_LINKINFO).string(IFLA_INFO_KIND),
        lower: lower.filter(|lower| *lower != index),
        mac: attributes.value(libc::IFLA_ADDRESS).and_then(|mac| mac.try_into().ok()),
        master: attributes.u32(libc::IFLA_MASTER),
        bond: bond(&attributes.inside(libc::IFLA_LINKINFO)),
        is_up: flags & libc::IFF_UP != 0,
        has_carrier: flags & libc::IFF_LOWER_UP != 0,
        carrier_losses: attributes.u32(IFLA_CARRIER_DOWN_COUNT),
        is_loopback: flags & libc::IFF_LOOPBACK != 0,
        state: oper_state(attributes.value(libc::IFLA_OPERSTATE)),
        rx_queues: attributes.u32(libc::IFLA_NUM_RX_QUEUES),
        statistics: statistics(&attributes),
    })
}

/// A largest MTU of 0 is none: as large as an IP packet can be.
fn mtu_limits(attributes: &Attributes<'_>) -> Option<(u32, u32)> {
    let largest = attributes.u32(libc::IFLA_MAX_MTU)?;
    Some((attributes.u32(libc::IFLA_MIN_MTU)?, if largest == 0 { u32::from(u16::MAX) } else { largest }))
}

/// `linux/if_link.h`.
const IFLA_CARRIER_DOWN_COUNT: u16 = 48;
const IFLA_BOND_MODE: u16 = 1;
const IFLA_BOND_XMIT_HASH_POLICY: u16 = 14;

fn oper_state(value: Option<&[u8]>) -> OperState {
    match value.and_then(<[u8]>::first) {
        Some(1) => OperState::NotPresent,
        Some(2) => OperState::Down,
        Some(3) => OperState::LowerLayerDown,
        Some(4) => OperState::Testing,
        Some(5) => OperState::Dormant,
        Some(6) => OperState::Up,
        _ => OperState::Unknown,
    }
}

/// `struct rtnl_link_stats64`: 64-bit counters in a row.
fn statistics(attributes: &Attributes<'_>) -> LinkStatistics {
    let block = attributes.value(libc::IFLA_STATS64).unwrap_or_default();
    let counter = |position: usize| u64_at(block, position * 8).unwrap_or(0);
    LinkStatistics {
        rx_packets: counter(0),
        tx_packets: counter(1),
        rx_bytes: counter(2),
        tx_bytes: counter(3),
        rx_errors: counter(4),
        tx_errors: counter(5),
        rx_dropped: counter(6),
        tx_dropped: counter(7),
        // Between these are multicast (8), length (10), over (11) and frame errors (13).
        collisions: counter(9),
        rx_crc: counter(12),
        rx_fifo: counter(14),
        rx_missed: counter(15),
    }
}

fn bond(info: &Attributes<'_>) -> Option<Bond> {
    let data = info.inside(IFLA_INFO_DATA);
    let byte = |kind: u16| data.value(kind)?.first().copied();
    (info.string(IFLA_INFO_KIND)? == "bond").then_some(())?;
    Some(Bond { mode: byte(IFLA_BOND_MODE)?, hash: byte(IFLA_BOND_XMIT_HASH_POLICY)? })
}

const IFINFOMSG: usize = 16;
pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// A link as the kernel describes it, with these attributes behind its name and MTU.
    fn described(fill: impl FnOnce(&mut Message)) -> Link {
        let mut message = Message::new(libc::RTM_NEWLINK, 0, &interface(4, libc::IFF_UP));
        message.string(libc::IFLA_IFNAME, "bond0").attribute(libc::IFLA_MTU, &1500u32.to_ne_bytes());
        fill(&mut message);
        let replies = Reply::parse_all(&message.into_bytes(1));
        parse(&replies[0]).expect("a link")
    }

    /// Each counter of `struct rtnl_link_stats64` has its own place as its value.
    #[test]
    fn counters_are_read_where_the_kernel_puts_them() {
        let block: Vec<u8> = (0..24u64).flat_map(u64::to_ne_bytes).collect();
        let link = described(|message| {
            message.attribute(libc::IFLA_STATS64, &block);
        });
        let counters = link.statistics;
        assert_eq!((counters.rx_packets, counters.tx_dropped, counters.collisions), (0, 7, 9));
        assert_eq!((counters.rx_crc, counters.rx_fifo, counters.rx_missed), (12, 14, 15));
        assert_eq!(counters.since(&counters), LinkStatistics::default());
    }

    #[test]
    fn a_bond_has_its_hash_policy() {
        let bond = |mode: u8, hash: u8| {
            let link = described(|message| {
                message.nest(libc::IFLA_LINKINFO, |info| {
                    info.string(IFLA_INFO_KIND, "bond").nest(IFLA_INFO_DATA, |data| {
                        data.attribute(IFLA_BOND_MODE, &[mode])
                            .attribute(IFLA_BOND_XMIT_HASH_POLICY, &[hash]);
                    });
                });
            });
            link.bond.and_then(Bond::hash_policy)
        };
        assert_eq!(bond(4, 0), Some("layer2"));
        assert_eq!(bond(2, 1), Some("layer3+4"));
        assert_eq!(
            (bond(0, 1), bond(4, 99)),
            (None, None),
            "round robin has none, and of a new one no name is known"
        );
        assert_eq!(described(|_| {}).bond, None);
    }
}
