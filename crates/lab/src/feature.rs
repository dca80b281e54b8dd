//! Features of this host that a topology needs, each tested in a network namespace that vanishes afterwards.

use crate::error::LabError;
use crate::topology::{DeviceKind, Filter, NodePlace, Shape, Topology};
use crate::vm::{Kernel, QemuProgram, VmError};
use crate::{filter, shape};
use linux::namespace::Namespace;
use linux::netlink::{Encap, Network, Qdisc, RouteSpec, VxlanSpec};
use linux::nft::FragmentFilter;
use model::units::{BitRate, Nanos};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// Something that a topology needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Network namespaces, and veth pairs between them.
    Namespaces,
    /// Bridges.
    Bridge,
    /// VLANs (802.1Q).
    Vlan,
    /// VXLAN.
    Vxlan,
    /// IPv4 in IPv6: the kernel's tunnel, or SRv6 in its place.
    Ipip6,
    /// WireGuard.
    Wireguard,
    /// macvtap.
    Macvtap,
    /// Rates.
    Tbf,
    /// Delay, loss, duplicates and reordering.
    Netem,
    /// nf_tables.
    Nftables,
    /// nf_tables, and the program that loads these rules.
    Rules(String),
    /// A virtual machine.
    Machine,
    /// A CPU.
    Cpu(u32),
    /// An interface of this host that leads to a real box.
    Interface(String),
}

/// Why a topology cannot be built here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The missing feature: `sch_netem (CONFIG_NET_SCH_NETEM)`, `the package nftables`.
    pub needs: String,
    /// The host's reason.
    pub reason: String,
    /// A virtual machine on this host would have it.
    pub in_vm: bool,
}

/// The features that a topology needs, each once. IPv6 is not among them: a kernel without it builds the rest, with a note. A node
/// in a virtual machine depends on the machine's kernel, not on this one.
#[must_use]
pub fn needs(topology: &Topology) -> Vec<Feature> {
    let mut needs = vec![Feature::Namespaces];
    for node in &topology.nodes {
        needs.extend(node.cpus.iter().map(|cpu| Feature::Cpu(*cpu)));
        if node.place.is_machine() {
            needs.push(Feature::Machine);
        }
        if node.place == NodePlace::Namespace {
            needs.extend(node.devices.iter().map(|device| of_device(&device.kind)));
            needs.extend(node.filters.iter().map(|filter| match filter {
                Filter::Fragments => Feature::Nftables,
                Filter::Rules(rules) => Feature::Rules(rules.clone()),
            }));
        }
    }
    for side in topology.sides() {
        needs.extend(side.real.clone().map(Feature::Interface));
        if topology.node(&side.end.node).is_some_and(|node| node.place == NodePlace::Namespace) {
            needs.extend(shape::disciplines(&side.shape, side.mtu).iter().filter_map(of_discipline));
        }
    }
    needs.sort();
    needs.dedup();
    needs
}

fn of_discipline(discipline: &Qdisc) -> Option<Feature> {
    match discipline {
        Qdisc::Tbf(_) => Some(Feature::Tbf),
        Qdisc::Netem(_) => Some(Feature::Netem),
        // Every kernel with traffic control has them.
        Qdisc::Pfifo(_) | Qdisc::Bfifo(_) => None,
    }
}

fn of_device(kind: &DeviceKind) -> Feature {
    match kind {
        DeviceKind::Bridge { .. } => Feature::Bridge,
        DeviceKind::Vlan { .. } => Feature::Vlan,
        DeviceKind::Vxlan { .. } => Feature::Vxlan,
        DeviceKind::Ipip6 { .. } => Feature::Ipip6,
        DeviceKind::Wireguard { .. } => Feature::Wireguard,
        DeviceKind::Macvtap { .. } => Feature::Macvtap,
    }
}

/// Answers of this host, each determined once.
#[derive(Debug, Default)]
pub struct Host {
    known: BTreeMap<Feature, Result<(), Lack>>,
}

impl Host {
    /// The features that a topology needs and this host lacks. Without the right to make namespaces none can be tested.
    pub fn lacks(&mut self, topology: &Topology) -> Vec<Lack> {
        let needs = needs(topology);
        let machine_helps = !needs.contains(&Feature::Machine) && self.ask(Feature::Machine).is_ok();
        let mut lacks: Vec<Lack> = Vec::new();
        for feature in needs {
            let is_right = feature == Feature::Namespaces;
            let Err(lack) = self.ask(feature) else { continue };
            if lacks.iter().all(|known| known.needs != lack.needs) {
                lacks.push(Lack { in_vm: lack.in_vm && machine_helps, ..lack });
            }
            if is_right {
                break;
            }
        }
        lacks
    }

    fn ask(&mut self, feature: Feature) -> Result<(), Lack> {
        self.known.entry(feature).or_insert_with_key(Feature::probe).clone()
    }
}

impl Feature {
    /// Tries it. Nothing of this host is changed.
    ///
    /// # Errors
    /// What is needed, and why it cannot be had.
    pub fn probe(&self) -> Result<(), Lack> {
        let lack = |reason: String, in_vm| Lack { needs: self.needs(), reason, in_vm };
        match self {
            Feature::Machine => machine().map_err(|error| lack(error.to_string(), false)),
            Feature::Cpu(cpu) => {
                let exists = Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}")).exists();
                exists.then_some(()).ok_or_else(|| lack("this host has no such CPU".to_owned(), false))
            }
            Feature::Interface(name) => {
                let found = Network::open().and_then(|mut network| network.link(name));
                found.map(drop).map_err(|error| lack(error.to_string(), false))
            }
            Feature::Rules(rules) => {
                let scratch = Namespace::new().map_err(|error| lack(error.to_string(), true))?;
                filter::rules("scratch", rules, &scratch)
                    .map_err(|error| Lack { needs: self.needs_of(&error), ..lack(error.to_string(), true) })
            }
            Feature::Namespaces => self.in_scratch().map_err(|error| lack(error.to_string(), false)),
            _ => self.in_scratch().map_err(|error| lack(error.to_string(), true)),
        }
    }

    /// Tests the kernel's own features.
    fn in_scratch(&self) -> linux::Result<()> {
        let scratch = Namespace::new()?;
        scratch.run(|| {
            let mut network = Network::open()?;
            network.add_veth(BELOW, "peer", &scratch)?;
            network.set_up(BELOW)?;
            match self {
                Feature::Bridge => network.add_bridge(NEW),
                Feature::Vlan => network.add_vlan(NEW, BELOW, 100),
                Feature::Vxlan => network.add_vxlan(NEW, &VXLAN),
                Feature::Ipip6 => ipip6(&mut network),
                Feature::Wireguard => network.add_wireguard(NEW),
                Feature::Macvtap => network.add_macvtap(NEW, BELOW),
                Feature::Tbf => {
                    shaped(&mut network, &Shape { rate: Some(BitRate(1_000_000)), ..Shape::default() })
                }
                Feature::Netem => {
                    shaped(&mut network, &Shape { delay: Some(Nanos::from_millis(1)), ..Shape::default() })
                }
                Feature::Nftables => FragmentFilter::install()?.remove(),
                Feature::Namespaces
                | Feature::Rules(_)
                | Feature::Machine
                | Feature::Cpu(_)
                | Feature::Interface(_) => Ok(()),
            }
        })?
    }

    /// The requirement, in the terms of kernel configuration or of packages.
    fn needs(&self) -> String {
        let requirement = match self {
            Feature::Namespaces => {
                "network namespaces and veth (CONFIG_NET_NS, CONFIG_VETH), and root or user namespaces"
            }
            Feature::Bridge => "bridge (CONFIG_BRIDGE)",
            Feature::Vlan => "8021q (CONFIG_VLAN_8021Q)",
            Feature::Vxlan => "vxlan (CONFIG_VXLAN)",
            Feature::Ipip6 => {
                "ip6_tunnel (CONFIG_IPV6_TUNNEL), or in its place SRv6 (CONFIG_IPV6_SEG6_LWTUNNEL)"
            }
            Feature::Wireguard => "wireguard (CONFIG_WIREGUARD)",
            Feature::Macvtap => "macvtap (CONFIG_MACVTAP)",
            Feature::Tbf => "sch_tbf (CONFIG_NET_SCH_TBF)",
            Feature::Netem => "sch_netem (CONFIG_NET_SCH_NETEM)",
            Feature::Nftables | Feature::Rules(_) => "nf_tables (CONFIG_NF_TABLES) with what its rules use",
            Feature::Machine => "qemu and a kernel for it",
            Feature::Cpu(cpu) => return format!("CPU {cpu}"),
            Feature::Interface(name) => return format!("an interface {name} that leads to the box"),
        };
        requirement.to_owned()
    }

    /// A program that is missing is not the kernel's lack.
    fn needs_of(&self, error: &LabError) -> String {
        match error {
            LabError::ProgramMissing { program, package } => format!("{program} (the package {package})"),
            _ => self.needs(),
        }
    }
}

/// Makes the tunnel as `configure` does: the kernel's own one, or else a route that encapsulates.
fn ipip6(network: &mut Network) -> linux::Result<()> {
    let address = Ipv6Addr::new(0xfd71, 0, 0, 0, 0, 0, 0, 1);
    let other = Ipv6Addr::new(0xfd71, 0, 0, 0, 0, 0, 0, 2);
    if network.add_ipip6(NEW, address, other).is_ok() {
        return Ok(());
    }
    network.add_route_spec(&RouteSpec {
        to: Some((IpAddr::V4(Ipv4Addr::new(192, 0, 2, 0)), 24)),
        device: Some(BELOW.into()),
        encap: Some(Encap::Seg6 { segments: vec![other] }),
        ..RouteSpec::default()
    })
}

fn shaped(network: &mut Network, shape: &Shape) -> linux::Result<()> {
    network.set_qdiscs(BELOW, &shape::disciplines(shape, 1500))
}

const BELOW: &str = "below";
const NEW: &str = "new";
const VXLAN: VxlanSpec = VxlanSpec {
    id: 1,
    local: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    remote: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
    port: 4789,
};

/// The emulator and a kernel for it. Whether that is quick (KVM) is found out when one boots.
fn machine() -> Result<(), VmError> {
    QemuProgram::find()?;
    Kernel::find().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped::find;

    #[test]
    fn what_a_topology_needs_follows_from_what_is_in_it() {
        let features_of = |name: &str| needs(&find(name).unwrap());
        assert_eq!(features_of("direct"), [Feature::Namespaces]);
        assert_eq!(features_of("long-fat"), [Feature::Namespaces, Feature::Tbf, Feature::Netem]);
        assert_eq!(features_of("demo"), [Feature::Namespaces, Feature::Nftables]);
        let macvtap = [Feature::Namespaces, Feature::Macvtap, Feature::Machine];
        assert_eq!(features_of("macvtap"), macvtap);
        assert!(features_of("external-deck").contains(&Feature::Interface("enp1s0".to_owned())));
        assert!(matches!(features_of("lossy").last(), Some(Feature::Rules(_))));
    }

    #[test]
    fn features_that_no_host_has_are_lacking_with_a_reason() {
        for (feature, needs) in [
            (Feature::Cpu(8000), "CPU 8000"),
            (Feature::Interface("nowhere0".to_owned()), "an interface nowhere0 that leads to the box"),
        ] {
            let lack = feature.probe().unwrap_err();
            assert_eq!((lack.needs.as_str(), lack.in_vm), (needs, false));
        }
    }

    /// Whatever this kernel has, asking leaves nothing behind and answers the same again.
    #[test]
    fn probes_answer_and_a_rule_that_is_none_is_refused() {
        if Feature::Namespaces.probe().is_err() {
            skip::skip("it needs root or user namespaces");
            return;
        }
        for feature in [Feature::Bridge, Feature::Vlan, Feature::Ipip6, Feature::Netem, Feature::Tbf] {
            assert_eq!(feature.probe(), feature.probe(), "{feature:?}");
        }
        assert!(
            Feature::Bridge.probe().is_ok() && Feature::Tbf.probe().is_ok(),
            "every kernel we know has these"
        );
        let lack = Feature::Rules("table nonsense {".to_owned()).probe().unwrap_err();
        assert!(lack.needs.contains("nf_tables") || lack.needs.contains("nftables"), "{lack:?}");
    }
}
