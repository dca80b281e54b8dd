//! A topology, checked: every name in it exists, every address fits its place.
//!
//! Files are read by [`Topology::parse`]; the form of the file is described in `docs/lab.md`.

mod check;
mod file;
mod parse;

pub(crate) use check::contains;
pub use model::toml_file::{Fault, FileError as TopologyError};

use model::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// A network on one host, and what is expected of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its name: that of its file, without `.toml`.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Purpose, in a few sentences.
    pub about: String,
    /// The node that measures.
    pub from: String,
    /// The node that answers.
    pub to: String,
    /// The node under test: the one whose CPU and drops are reported.
    pub device_under_test: Option<String>,
    /// Every node, in the order of the file.
    pub nodes: Vec<Node>,
    /// Every link, in the order of the file.
    pub links: Vec<Link>,
    /// Commands of any tool that measure in it.
    pub tools: Vec<Tool>,
    /// Expected results of a measurement.
    pub expect: Expect,
}

impl Topology {
    /// The node of this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The ends of all links.
    pub fn sides(&self) -> impl Iterator<Item = &Side> {
        self.links.iter().flat_map(|link| &link.sides)
    }

    /// The ends of links that a node has.
    #[must_use]
    pub fn sides_of(&self, node: &str) -> Vec<&Side> {
        self.sides().filter(|side| side.end.node == node).collect()
    }

    /// The shortest path from a node to each that links join it to, itself first: the names of the nodes along it.
    #[must_use]
    pub fn paths_from<'a>(&'a self, node: &'a str) -> Vec<Vec<&'a str>> {
        let mut paths = vec![vec![node]];
        let mut next = 0;
        while let Some(path) = paths.get(next).cloned() {
            for link in &self.links {
                let [one, other] = link.sides.each_ref().map(|side| side.end.node.as_str());
                for (near, far) in [(one, other), (other, one)] {
                    if path.last() == Some(&near) && paths.iter().all(|path| path.last() != Some(&far)) {
                        paths.push(path.iter().copied().chain([far]).collect());
                    }
                }
            }
            next += 1;
        }
        paths
    }

    /// The devices that are made in nodes.
    fn made(&self) -> impl Iterator<Item = (End, &Device)> {
        self.nodes.iter().flat_map(Node::made)
    }
}

/// A host, router or switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique in the topology.
    pub name: String,
    /// Where it lives.
    pub place: NodePlace,
    /// Whether it forwards packets of both families between its links.
    pub forwards: bool,
    /// CPUs its processes may run on; empty: any.
    pub cpus: Vec<u32>,
    /// `net.` settings: `("net.ipv4.tcp_mtu_probing", "1")`.
    pub settings: Vec<(String, String)>,
    /// Devices made in it beside the ends of its links, in the order they are made.
    pub devices: Vec<Device>,
    /// Addresses of its devices and links.
    pub addresses: Vec<Address>,
    /// Its routes.
    pub routes: Vec<Route>,
    /// Neighbours it need not ask for.
    pub neighbours: Vec<Neighbour>,
    /// Packets that it drops.
    pub filters: Vec<Filter>,
}

impl Node {
    /// A device of it.
    #[must_use]
    pub fn end(&self, device: &str) -> End {
        End { node: self.name.clone(), device: device.to_owned() }
    }

    fn made(&self) -> impl Iterator<Item = (End, &Device)> {
        self.devices.iter().map(|device| (self.end(&device.name), device))
    }
}

/// Where a node lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NodePlace {
    /// A network namespace of this host.
    Namespace,
    /// A virtual machine on this host; its links end at its virtio NICs.
    Machine(Machine),
    /// Not made here: a real device, configured by hand by `instructions`.
    External {
        /// The settings of the device.
        instructions: String,
    },
    /// A remote host on which `pathmeter serve` runs.
    Remote {
        /// Its address and port.
        address: SocketAddr,
    },
}

impl NodePlace {
    /// A virtual machine.
    #[must_use]
    pub fn is_machine(&self) -> bool {
        matches!(self, NodePlace::Machine(_))
    }

    /// Not made here.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, NodePlace::External { .. })
    }
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory: Bytes,
}

/// A device inside a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Kind of device.
    pub kind: DeviceKind,
    /// Its MTU; absent: the kernel's choice.
    pub mtu: Option<u32>,
}

/// The kind of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum DeviceKind {
    /// A switch between devices of the same node.
    Bridge {
        /// Its ports.
        ports: Vec<String>,
    },
    /// 802.1Q on another device.
    Vlan {
        /// The device below.
        on: String,
        /// VLAN id, 1 to 4094.
        id: u16,
    },
    /// VXLAN, point to point (RFC 7348).
    Vxlan {
        /// VNI, 24 bits.
        id: u32,
        /// Own outer address.
        local: IpAddr,
        /// The other end's outer address.
        remote: IpAddr,
        /// UDP port, 4789 by default.
        port: u16,
    },
    /// IPv4 in IPv6 (RFC 2473, DS-Lite: RFC 6333), without encapsulation limit.
    Ipip6 {
        /// Own outer IPv6 address.
        local: std::net::Ipv6Addr,
        /// The other end's outer IPv6 address.
        remote: std::net::Ipv6Addr,
    },
    /// WireGuard with one peer; keys are made when it is built.
    Wireguard {
        /// UDP port.
        port: u16,
        /// Node and device at the other end.
        peer: End,
        /// The other end's outer address and port.
        endpoint: SocketAddr,
    },
    /// A macvtap (bridge mode) on another device; the NIC of a machine, or a tap for it.
    Macvtap {
        /// The device below.
        on: String,
    },
}

/// A device of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct End {
    /// The node.
    pub node: String,
    /// The device in it.
    pub device: String,
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.node, self.device)
    }
}

/// A cable between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its two ends: what each is, and what happens to packets that leave by it.
    pub sides: [Side; 2],
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// The node, and the name of its interface.
    pub end: End,
    /// MTU of the interface.
    pub mtu: u32,
    /// Hardware address; absent: the kernel's choice.
    pub mac: Option<[u8; 6]>,
    /// Segmentation and receive offloads (TSO, GSO, GRO, UDP segmentation); absent: the kernel's default.
    pub offload: Option<bool>,
    /// Treatment of packets that leave here.
    pub shape: Shape,
    /// A real interface of this host to move in, for a node beside an external one.
    pub real: Option<String>,
}

/// Treatment of packets that leave a link by one of its ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Rate of frames without FCS, as the kernel counts them.
    pub rate: Option<BitRate>,
    /// Delay of every packet.
    pub delay: Option<Nanos>,
    /// Deviation of the delay, in both directions.
    pub jitter: Option<Nanos>,
    /// Share of packets lost, 0 to 1.
    pub loss: f64,
    /// Share of packets sent twice, 0 to 1.
    pub duplicate: f64,
    /// Share of packets sent at once, ahead of delayed ones, 0 to 1.
    pub reorder: f64,
    /// Room for packets that wait for the rate.
    pub queue: Option<Queue>,
}

/// Room for waiting packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Queue {
    /// The amount that leaves in this time.
    Time(Nanos),
    /// Bytes.
    Bytes(Bytes),
    /// Packets.
    Packets(u32),
}

/// An address of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The device.
    pub device: String,
    /// The address.
    pub address: IpAddr,
    /// Length of the network's prefix.
    pub prefix: u8,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The network; absent: every address of the gateway's family.
    pub to: Option<(IpAddr, u8)>,
    /// The next hop.
    pub via: Option<IpAddr>,
    /// The device; absent: the one the next hop is on.
    pub device: Option<String>,
    /// MTU of the route.
    pub mtu: Option<u32>,
}

/// A neighbour known beforehand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The device it is on.
    pub device: String,
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address.
    pub mac: [u8; 6],
}

/// A rule by which a node drops packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filter {
    /// IP fragments are dropped when forwarded, in both families.
    Fragments,
    /// A ruleset in the language of `nft(8)`.
    Rules(String),
}

/// A command of any tool, run in the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name in the tables.
    pub name: String,
    /// The command in the answering node, from before the measurement until after it; absent: none.
    pub serve: Option<Vec<String>>,
    /// The command in the measuring node.
    pub run: Vec<String>,
}

/// Expected results of a measurement. Absent: no expectation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Path MTU, bytes, exact: over IPv4 and over IPv6, each up and down.
    pub path_mtu: [Option<[u32; 2]>; 2],
    /// Rate of the frames on the shaped link, up and down, within 3 %.
    pub rate: Option<[BitRate; 2]>,
    /// Round-trip delay that the links add, within 0.2 ms.
    pub delay: Option<Nanos>,
    /// Share of packets lost on the path, up and down, with what chance allows.
    pub loss: Option<[f64; 2]>,
    /// Whether the far end answers over IPv4 and over IPv6.
    pub reachable: [bool; 2],
    /// Ids of findings that must be raised.
    pub findings: Vec<String>,
    /// Ids of findings that must not be raised.
    pub absent: Vec<String>,
}

#[cfg(test)]
mod tests;
