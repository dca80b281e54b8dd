//! Everything inside one node: its settings, devices, addresses, routes, filters, and what its links do to packets.

use crate::error::LabError;
use crate::keys::Keys;
use crate::topology::{Device, DeviceKind, Filter, Node, Route, Side};
use crate::{filter, shape, tunnel};
use linux::namespace::Namespace;
use linux::netlink::{Network, RouteSpec, VxlanSpec, WireguardPeer, WireguardSpec, configure_wireguard};
use linux::nft::{DroppedFragments, FragmentFilter};
use linux::nic::{Offload, set_offload};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Resources of a configured node: its filters and hidden parts live as long as this does.
#[derive(Debug, Default)]
pub struct Configured {
    /// Settings of the file that this kernel does not support, and the replacement of each, in plain words.
    pub notes: Vec<String>,
    /// The filter of fragments, and its counts.
    fragments: Option<Mutex<FragmentFilter>>,
    /// Namespaces behind a tunnel's device.
    hidden: Vec<Namespace>,
}

impl Configured {
    /// Counts of the fragments that the filter dropped so far; `None`: there is none.
    pub(crate) fn dropped_fragments(&self) -> linux::Result<Option<DroppedFragments>> {
        let count =
            |filter: &Mutex<FragmentFilter>| filter.lock().unwrap_or_else(PoisonError::into_inner).dropped();
        self.fragments.as_ref().map(count).transpose()
    }
}

/// Configures a node whose links are there, as `sides` name them: the same for a namespace of this host and, inside a
/// virtual machine, for its own.
///
/// # Errors
/// What the kernel lacks, or refuses; programs that are missing.
pub fn configure(
    node: &Node,
    sides: &[&Side],
    namespace: &Namespace,
    keys: &Keys,
) -> Result<Configured, LabError> {
    let inside = namespace.run(|| Step::new(node, sides, namespace, keys)?.all());
    inside.map_err(LabError::in_node(&node.name))?
}

/// The work in one namespace, whose network the calling thread is in.
struct Step<'a> {
    node: &'a Node,
    sides: &'a [&'a Side],
    namespace: &'a Namespace,
    keys: &'a Keys,
    network: Network,
    has_ipv6: bool,
    done: Configured,
}

impl<'a> Step<'a> {
    fn new(
        node: &'a Node,
        sides: &'a [&'a Side],
        namespace: &'a Namespace,
        keys: &'a Keys,
    ) -> Result<Self, LabError> {
        let network = Network::open().map_err(LabError::in_node(&node.name))?;
        let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
        Ok(Self { node, sides, namespace, keys, network, has_ipv6, done: Configured::default() })
    }

    fn all(mut self) -> Result<Configured, LabError> {
        self.basics().map_err(LabError::in_node(&self.node.name))?;
        self.links().map_err(LabError::in_node(&self.node.name))?;
        for device in &self.node.devices {
            self.device(device)?;
        }
        self.paths().map_err(LabError::in_node(&self.node.name))?;
        self.filters()?;
        for side in self.sides {
            self.shape(side)?;
        }
        Ok(self.done)
    }

    /// Settings that must not depend on the host's, and the loopback.
    fn basics(&mut self) -> linux::Result<()> {
        for (setting, value) in BASICS_IPV4 {
            self.namespace.set_sysctl(setting, value)?;
        }
        let forwards = if self.node.forwards { "1" } else { "0" };
        self.namespace.set_sysctl("net/ipv4/ip_forward", forwards)?;
        if self.has_ipv6 {
            for (setting, value) in BASICS_IPV6 {
                self.namespace.set_sysctl(&format!("net/ipv6/conf/default/{setting}"), value)?;
            }
            self.namespace.set_sysctl("net/ipv6/conf/all/forwarding", forwards)?;
        }
        self.network.set_up("lo")
    }

    /// The ends of the links are there already, and down; but for those that are devices of the node.
    fn links(&mut self) -> linux::Result<()> {
        let made = |side: &&&Side| !self.node.devices.iter().any(|device| device.name == side.end.device);
        for side in self.sides.iter().filter(made) {
            let name = &side.end.device;
            if self.has_ipv6 {
                for (setting, value) in BASICS_IPV6 {
                    self.namespace.set_sysctl(&format!("net/ipv6/conf/{name}/{setting}"), value)?;
                }
            }
            if let Some(mac) = side.mac {
                self.network.set_mac(name, mac)?;
            }
            self.network.set_mtu(name, side.mtu)?;
            if let Some(on) = side.offload {
                offloads(name, on)?;
            }
            self.network.set_up(name)?;
        }
        Ok(())
    }

    fn device(&mut self, device: &Device) -> Result<(), LabError> {
        let in_node = LabError::in_node(&self.node.name);
        self.add(device)?;
        if let Some(mtu) = device.mtu {
            self.network.set_mtu(&device.name, mtu).map_err(&in_node)?;
        }
        self.network.set_up(&device.name).map_err(&in_node)
    }

    fn add(&mut self, Device { name, kind, mtu }: &Device) -> Result<(), LabError> {
        let in_node = LabError::in_node(&self.node.name);
        let network = &mut self.network;
        if matches!(kind, DeviceKind::Ipip6 { .. }) && !self.has_ipv6 {
            return Err(LabError::NotOnThisKernel { node: self.node.name.clone(), needs: "IPv6".into() });
        }
        match kind {
            DeviceKind::Bridge { ports } => network
                .add_bridge(name)
                .and_then(|()| ports.iter().try_for_each(|port| network.set_master(port, Some(name)))),
            DeviceKind::Vlan { on, id } => network.add_vlan(name, on, *id),
            DeviceKind::Vxlan { id, local, remote, port } => {
                let spec = VxlanSpec { id: *id, local: *local, remote: *remote, port: *port };
                network.add_vxlan(name, &spec)
            }
            DeviceKind::Macvtap { on } => network.add_macvtap(name, on),
            DeviceKind::Ipip6 { local, remote } => match network.add_ipip6(name, *local, *remote) {
                Err(lacking) if lacking.is_unsupported() => {
                    let ends = tunnel::Ends { name, local: *local, remote: *remote, mtu: *mtu };
                    let hidden = tunnel::build(&ends, network, self.namespace).map_err(&in_node)?;
                    self.done.hidden.push(hidden);
                    self.done.notes.push(format!("node {}: {name} is carried by SRv6 (reduced encapsulation), the same on the wire: this kernel has no ip6tnl", self.node.name));
                    return Ok(());
                }
                other => other,
            },
            DeviceKind::Wireguard { port, peer, endpoint } => {
                let own = self.node.end(name);
                let peer = WireguardPeer { public_key: self.keys.public(peer)?, endpoint: *endpoint };
                let private_key = self.keys.private(&own);
                let spec = WireguardSpec { private_key, port: *port, peer: Some(peer) };
                network.add_wireguard(name).and_then(|()| configure_wireguard(name, &spec).map(drop))
            }
        }
        .map_err(in_node)
    }

    /// Sets the file's sysctls, addresses, neighbours and routes.
    fn paths(&mut self) -> linux::Result<()> {
        for (setting, value) in &self.node.settings {
            self.namespace.set_sysctl(&setting.replace('.', "/"), value)?;
        }
        let mut left_out = false;
        for entry in &self.node.addresses {
            if self.can(entry.address, &mut left_out) {
                self.network.add_address(&entry.device, entry.address, entry.prefix)?;
            }
        }
        for entry in &self.node.neighbours {
            if self.can(entry.address, &mut left_out) {
                self.network.add_neighbour(&entry.device, entry.address, entry.mac)?;
            }
        }
        for route in &self.node.routes {
            if self.can(network_of(route).0, &mut left_out) {
                self.network.add_route_spec(&route_spec(route))?;
            }
        }
        if left_out {
            let note = format!("node {}: without IPv6, which this kernel does not have", self.node.name);
            self.done.notes.push(note);
        }
        Ok(())
    }

    fn can(&self, address: IpAddr, left_out: &mut bool) -> bool {
        let can = self.has_ipv6 || address.is_ipv4();
        *left_out |= !can;
        can
    }

    fn filters(&mut self) -> Result<(), LabError> {
        for entry in &self.node.filters {
            match entry {
                Filter::Fragments => {
                    let installed = FragmentFilter::install().map_err(LabError::in_node(&self.node.name))?;
                    self.done.fragments = Some(installed.into());
                }
                Filter::Rules(rules) => filter::rules(&self.node.name, rules, self.namespace)?,
            }
        }
        Ok(())
    }

    fn shape(&mut self, side: &Side) -> Result<(), LabError> {
        let chain = shape::disciplines(&side.shape, side.mtu);
        if chain.is_empty() {
            return Ok(());
        }
        let set = self.network.set_qdiscs(&side.end.device, &chain);
        set.map_err(LabError::in_node(&self.node.name))
    }
}

/// Switched as far as the driver has them; for L2 cases what matters is that no packet is larger than the MTU.
fn offloads(interface: &str, on: bool) -> linux::Result<()> {
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro, Offload::UdpSegmentation] {
        match set_offload(interface, offload, on) {
            Err(error) if error.is_unsupported() => {}
            other => other?,
        }
    }
    Ok(())
}

/// A route without network and gateway is all of IPv4 over a device, as through an IPv4 tunnel.
fn network_of(route: &Route) -> (IpAddr, u8) {
    match (route.to, route.via) {
        (Some(network), _) => network,
        (None, Some(IpAddr::V6(_))) => (IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED), 0),
        (None, _) => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    }
}

/// A route of the file as the kernel takes it.
#[must_use]
pub fn route_spec(route: &Route) -> RouteSpec {
    RouteSpec {
        to: Some(network_of(route)),
        via: route.via,
        device: route.device.clone(),
        mtu: route.mtu,
        ..RouteSpec::default()
    }
}

/// A new namespace copies the host's: reverse path filters and redirects would differ from host to host.
const BASICS_IPV4: &[(&str, &str)] = &[
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/default/send_redirects", "0"),
];
/// Duplicate address detection takes two seconds, and the host may have IPv6 switched off by default.
const BASICS_IPV6: &[(&str, &str)] = &[("disable_ipv6", "0"), ("accept_dad", "0"), ("dad_transmits", "0")];
