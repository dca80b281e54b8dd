//! Two ports and a device in namespaces, for tests.

use super::local::{LocalOptions, LocalPort, bridged, routed};
use super::port::Port;
use frames::FrameSpec;
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::nic::{Offload, set_offload};
use model::units::Bytes;
use std::net::IpAddr;

/// The device between the two ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Between {
    Cable,
    Bridge,
    Router,
}

/// Where the ports are: each in a namespace of its own, or both in the first one, where they are `eth0` and `eth1`.
pub(super) struct Fixture {
    pub(super) hosts: [Namespace; 2],
    /// With `near` and `far`.
    pub(super) device: Namespace,
    pub(super) between: Between,
}

impl Fixture {
    /// The fixture, or `None` after saying why not: only for want of permission.
    pub(super) fn new(between: Between) -> Option<Fixture> {
        match Fixture::build(between, false) {
            Ok(fixture) => Some(fixture),
            Err(error) if error.errno() == Some(linux::errno::EPERM) => {
                skip::skip(format!("needs root: {error}"));
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The same with both ports in the first namespace.
    pub(super) fn in_one(between: Between) -> Option<Fixture> {
        Fixture::new(between).map(|_| Fixture::build(between, true).expect("the first one could be made"))
    }

    fn build(between: Between, in_one: bool) -> linux::Result<Fixture> {
        let (hosts, device) = ([Namespace::new()?, Namespace::new()?], Namespace::new()?);
        for namespace in [&hosts[0], &hosts[1], &device] {
            // Else link-local addresses wait two seconds, and neighbour discovery for them.
            namespace.set_sysctl("net/ipv6/conf/default/accept_dad", "0")?;
        }
        let second = if in_one { (&hosts[0], "eth1") } else { (&hosts[1], "eth0") };
        let ends = [(&hosts[0], "eth0", "near"), (second.0, second.1, "far")];
        let mut middle = open(&device)?;
        if between == Between::Cable {
            open(ends[0].0)?.add_veth(ends[0].1, ends[1].1, ends[1].0)?;
        }
        for (host, interface, port) in ends {
            if between != Between::Cable {
                middle.add_veth(port, interface, host)?;
                middle.set_up(port)?;
            }
            open(host)?.set_up(interface)?;
        }
        if between == Between::Bridge {
            middle.add_bridge("br0")?;
            middle.set_up("br0")?;
            for port in ["near", "far"] {
                middle.set_master(port, Some("br0"))?;
            }
        }
        if between == Between::Router {
            for setting in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
                device.set_sysctl(setting, "1")?;
            }
            for (port, net) in [("near", 0), ("far", 1)] {
                for (gateway, prefix) in routed(net).gateways.into_iter().zip([24, 64]) {
                    middle.add_address(port, gateway, prefix)?;
                }
            }
        }
        Ok(Fixture { hosts, device, between })
    }

    /// Lets the device take frames that are no socket buffers.
    pub(super) fn take_live_frames(&self) {
        if self.between == Between::Cable {
            return;
        }
        let set = || ["near", "far"].map(|port| set_offload(port, Offload::Gro, true));
        for set in self.device.run(set).expect("it can be entered") {
            set.expect("a veth has GRO");
        }
    }

    /// Options of the first port (0) or the second (1), with the usual addresses.
    pub(super) fn options(&self, port: u8) -> LocalOptions {
        let fallback = match self.between {
            Between::Router => routed(port),
            _ => bridged(port),
        };
        LocalOptions { fallback, ..LocalOptions::default() }
    }

    /// Opens both ports.
    pub(super) fn ports(&self) -> (LocalPort, LocalPort) {
        let open = |port: u8| {
            let here = |namespace: &Namespace, interface| namespace_has(namespace, interface);
            let (host, interface) = match port {
                1 if here(&self.hosts[0], "eth1") => (&self.hosts[0], "eth1"),
                port => (&self.hosts[usize::from(port)], "eth0"),
            };
            LocalPort::open(again(host), interface, &self.options(port)).expect("it is up")
        };
        (open(0), open(1))
    }
}

/// Frames from one port to the other's first address of a family, by the next hop.
pub(super) fn frames(from: &mut dyn Port, to: &dyn Port, v4: bool, size: u64) -> FrameSpec {
    let first = |port: &dyn Port| {
        port.addresses().into_iter().find(|own| own.is_ipv4() == v4).expect("it has one of this family")
    };
    let (source, destination): (IpAddr, IpAddr) = (first(from), first(to));
    FrameSpec {
        source_mac: from.mac(),
        destination_mac: from.next_hop(destination).expect("the next hop answers"),
        source,
        destination,
        hop_limit: 64,
        ports: None,
        vlan: None,
        outer: None,
        sizes: vec![Bytes(size)],
        tag: 0x706d_0100,
    }
}

pub(super) fn open(namespace: &Namespace) -> linux::Result<Network> {
    namespace.run(Network::open)?
}

/// The same namespace once more.
pub(super) fn again(namespace: &Namespace) -> Namespace {
    namespace.run(Namespace::current).expect("it can be entered").expect("it is there")
}

fn namespace_has(namespace: &Namespace, interface: &str) -> bool {
    open(namespace).and_then(|mut network| network.link(interface)).is_ok()
}
