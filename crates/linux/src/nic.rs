//! Network interfaces: the one toward a destination, its driver, link speed, offloads, queues and counters.

mod bus;
mod ethtool;
mod mode;

pub use bus::{Bus, bus};
pub use mode::LinkMode;

use crate::error::{Named, OsError, Result};
use crate::netlink::{Link, Network};
use ethtool::Ethtool;
use std::io;
use std::net::IpAddr;
use units::{BitRate, Nanos};

/// A network interface with all we know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nic {
    /// The interface as the network stack describes it: name, MTU, state, queues, counters.
    pub link: Link,
    /// Its lasting addresses beyond the link ([`crate::netlink::InterfaceAddress::is_lasting`]).
    pub addresses: Vec<IpAddr>,
    /// The driver's name.
    pub driver: Option<String>,
    /// Speed of the link. `None` when the driver does not know it, and for devices without hardware, whose stated speed
    /// (10 Gbit/s for veth) is nominal and limits nothing.
    pub speed: Option<BitRate>,
    /// How its link runs; empty of devices without hardware.
    pub mode: LinkMode,
    /// The offloads that are on.
    pub offloads: Vec<Offload>,
    /// The source of packet times.
    pub packet_clock: PacketClock,
    /// How long the interface may wait with a received packet for further ones before it interrupts, at most.
    pub coalescing: Option<Nanos>,
    /// No hardware below: loopback, veth, bridge, tunnel, or a VLAN on one of them.
    pub is_virtual: bool,
}

/// The clock that takes the times of packets (`SO_TIMESTAMPING`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketClock {
    /// The kernel alone.
    #[default]
    Kernel,
    /// The interface could, and is not configured to (`hwstamp_ctl`).
    InterfaceOff,
    /// The interface does.
    InterfaceOn,
}

/// Work the interface, or the kernel just above it, does on many packets at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// The interface cuts large TCP segments.
    Tso,
    /// The kernel cuts large segments just before the interface.
    Gso,
    /// The kernel joins received packets of a flow.
    Gro,
    /// The interface joins received packets of a flow, by rules that can be undone.
    GroHardware,
    /// The interface joins received packets of a flow.
    Lro,
    /// The interface cuts large UDP sends (`UDP_SEGMENT`).
    UdpSegmentation,
    /// The kernel joins UDP packets even when it forwards them.
    UdpGroForwarding,
}

impl Offload {
    /// Every offload.
    pub const ALL: &[Self] = &[
        Self::Tso,
        Self::Gso,
        Self::Gro,
        Self::GroHardware,
        Self::Lro,
        Self::UdpSegmentation,
        Self::UdpGroForwarding,
    ];

    /// The name by which ethtool knows it: its short one where it has one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tso => "tso",
            Self::Gso => "gso",
            Self::Gro => "gro",
            Self::GroHardware => "rx-gro-hw",
            Self::Lro => "lro",
            Self::UdpSegmentation => "tx-udp-segmentation",
            Self::UdpGroForwarding => "rx-udp-gro-forwarding",
        }
    }

    /// Whether the kernel's feature of this name is part of it: TSO has one for each family and flavour.
    fn has_feature(self, name: &str) -> bool {
        match self {
            Self::Tso => name.starts_with("tx-tcp") && name.ends_with("segmentation"),
            other => name == other.kernel_name(),
        }
    }

    const fn kernel_name(self) -> &'static str {
        match self {
            Self::Tso => "tx-tcp-segmentation",
            Self::Gso => "tx-generic-segmentation",
            Self::Gro => "rx-gro",
            Self::Lro => "rx-lro",
            other => other.name(),
        }
    }
}

/// Switches an offload of an interface of the calling thread's namespace on or off.
///
/// # Errors
/// Without `CAP_NET_ADMIN`, when the interface is missing, or its driver does not let itself be switched
/// ([`OsError::is_unsupported`]).
pub fn set_offload(interface: &str, offload: Offload, on: bool) -> Result<()> {
    let operation = format!("switch {} {} for", offload.name(), if on { "on" } else { "off" });
    let ethtool = Ethtool::open(interface)?;
    ethtool.set_features(|name| offload.has_feature(name), on).named(&operation, || interface.into())?;
    if ethtool.features().contains(offload.kernel_name()) == on {
        return Ok(());
    }
    let why = io::Error::new(io::ErrorKind::Unsupported, "the driver does not let it be switched");
    Err(OsError::new(operation, interface, why))
}

/// The counters of an interface's driver, by its own names; empty where it has none, and where the interface is missing.
#[must_use]
pub fn driver_counters(interface: &str) -> Vec<(String, u64)> {
    Ethtool::open(interface).ok().and_then(|ethtool| ethtool.counters().ok()).unwrap_or_default()
}

impl Nic {
    /// The interface through which packets to a destination leave.
    ///
    /// # Errors
    /// When no route leads there.
    pub fn toward(destination: IpAddr) -> Result<Self> {
        let mut network = Network::open()?;
        let link = network.link_toward(destination)?;
        Self::describe(&mut network, link)
    }

    /// Every interface of the calling thread's namespace. One that vanishes meanwhile is left out.
    ///
    /// # Errors
    /// The kernel lists none.
    pub fn all() -> Result<Vec<Self>> {
        let mut network = Network::open()?;
        let links = network.links()?;
        Ok(links.into_iter().filter_map(|link| Self::describe(&mut network, link).ok()).collect())
    }

    /// The interface of this name in the calling thread's namespace.
    ///
    /// # Errors
    /// When there is none.
    pub fn named(name: &str) -> Result<Self> {
        let mut network = Network::open()?;
        let link = network.link(name)?;
        Self::describe(&mut network, link)
    }

    /// Whether this offload is on.
    #[must_use]
    pub fn has(&self, offload: Offload) -> bool {
        self.offloads.contains(&offload)
    }

    fn describe(network: &mut Network, link: Link) -> Result<Self> {
        let is_virtual = !has_hardware(&link, &network.links()?, MOST_LAYERS);
        let own = network.addresses()?.into_iter().filter(|own| own.link == link.index && own.is_lasting);
        let ethtool = Ethtool::open(&link.name)?;
        let features = ethtool.features();
        let is_on = |offload: &Offload| features.contains(offload.kernel_name());
        let mode = if is_virtual { LinkMode::default() } else { ethtool.mode() };
        Ok(Self {
            addresses: own.map(|own| own.address).collect(),
            driver: ethtool.driver(),
            speed: mode.speed,
            mode,
            offloads: Offload::ALL.iter().copied().filter(is_on).collect(),
            packet_clock: ethtool.packet_clock(),
            coalescing: ethtool.coalescing(),
            is_virtual,
            link,
        })
    }
}

/// Whether packets on this interface meet hardware: itself, the one below, or a member of the bond.
fn has_hardware(link: &Link, all: &[Link], layers: u32) -> bool {
    let below = |other: &&Link| match link.kind.as_deref() {
        Some("bond" | "team") => other.master == Some(link.index),
        Some("vlan" | "macvlan" | "ipvlan") => link.lower == Some(other.index),
        _ => false,
    };
    match link.kind {
        None => !link.is_loopback,
        Some(_) => layers > 0 && all.iter().filter(below).any(|lower| has_hardware(lower, all, layers - 1)),
    }
}

/// More layers of VLANs and bonds than anybody stacks; ends the search whatever the kernel answers.
const MOST_LAYERS: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn loopback_is_virtual_and_has_no_speed() {
        let nic = Nic::toward(Ipv4Addr::LOCALHOST.into()).expect("loopback is reachable");
        assert_eq!(nic.link.name, "lo");
        assert!(nic.is_virtual && nic.link.is_loopback && nic.link.is_up);
        assert_eq!(nic.speed, None);
        assert!(nic.has(Offload::Gso), "{nic:?}");
        assert!(nic.link.mtu >= 1280);
    }

    #[test]
    fn hardware_is_found_below_vlans_and_bonds() {
        let link = |index, kind: Option<&str>, lower, master| Link {
            index,
            kind: kind.map(str::to_owned),
            lower,
            master,
            ..Link::default()
        };
        let all = [
            link(1, None, None, Some(3)),
            link(2, Some("veth"), Some(9), Some(4)),
            link(3, Some("bond"), None, None),
            link(4, Some("bond"), None, None),
            link(5, Some("vlan"), Some(3), None),
            link(6, Some("vlan"), Some(2), None),
            link(7, Some("vlan"), Some(7), None),
            link(9, Some("veth"), Some(2), None),
        ];
        let hardware: Vec<u32> =
            all.iter().filter(|link| has_hardware(link, &all, MOST_LAYERS)).map(|link| link.index).collect();
        assert_eq!(hardware, [1, 3, 5]);
    }

    #[test]
    fn a_missing_interface_is_named() {
        let error = Nic::named("no-such-link").expect_err("there is no such link");
        assert!(error.to_string().contains("no-such-link"), "{error}");
    }
}
