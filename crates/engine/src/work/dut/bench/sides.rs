//! From where to where frames go.

use super::super::local::{ipv4, ipv6};
use super::super::port::{Port, Traffic};
use super::options::BenchOptions;
use crate::error::{Failure, Result};
use crate::host::entropy;
use frames::FrameSpec;
use model::dut::TunnelEnds;
use model::framing::Network;
use model::plan::Direction;
use model::units::Bytes;
use std::net::IpAddr;

/// The frames' addresses and tags, at both ports.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    options: BenchOptions,
    last_tag: u32,
}

impl Sides {
    pub(super) fn new(options: &BenchOptions) -> Sides {
        Sides { options: options.clone(), last_tag: 0 }
    }

    /// The frames of one trial in one direction. Each has a tag of its own, so that late frames of an earlier one do not count;
    /// and the next hop is resolved each time, as it may change.
    ///
    /// # Errors
    /// `Kind::Usage` when only one port has an address of this family, `Kind::Unreachable` when the next hop is not found.
    pub(super) fn frames(
        &mut self,
        ports: &mut [Box<dyn Port>; 2],
        direction: Direction,
        network: Network,
        sizes: &[Bytes],
    ) -> Result<Traffic> {
        let (from, to) = ends(direction);
        let (source, destination) = (self.address(ports, from, network)?, self.address(ports, to, network)?);
        let out = self.tunnel(from, network);
        let link_network = if out.is_some() { Network::V6 } else { network };
        let gateway =
            self.options.sides[from].gateways.iter().copied().find(|address| is_of(link_network, address));
        let destination_mac = match (gateway, out) {
            (Some(gateway), _) => ports[from].next_hop(gateway)?,
            (None, Some(tunnel)) => ports[from].next_hop(tunnel.remote.into())?,
            (None, None) if own(&*ports[from], network).is_some() => ports[from].next_hop(destination)?,
            // Without an address it has no neighbours to ask: only what does not route is between.
            (None, None) => ports[to].mac(),
        };
        let sent = FrameSpec {
            source_mac: ports[from].mac(),
            destination_mac,
            source,
            destination,
            hop_limit: HOP_LIMIT,
            ports: self.options.ports,
            vlan: self.options.vlan,
            outer: out.map(|TunnelEnds { local, remote }| (local, remote)),
            sizes: sizes.to_vec(),
            tag: self.tag()?,
        };
        let arrives_in = self.tunnel(to, network).map(|TunnelEnds { local, remote }| (remote, local));
        Ok(Traffic { sent, arrives_in })
    }

    /// The address of a port: the requested one, or its own, or where neither port has one that of a benchmark.
    fn address(&self, ports: &[Box<dyn Port>; 2], side: usize, network: Network) -> Result<IpAddr> {
        let given = |side: usize| {
            let requested =
                self.options.sides[side].addresses.iter().copied().find(|address| is_of(network, address));
            requested.or_else(|| own(&*ports[side], network))
        };
        match (given(side), given(1 - side)) {
            (Some(address), _) => Ok(address),
            // The address is of a host beyond the tunnel, wherever that is.
            (None, Some(_)) if self.tunnel(side, network).is_some() => Ok(benchmark_address(side, network)),
            (None, None) => Ok(benchmark_address(side, network)),
            (None, Some(_)) => Err(Failure::usage(
                format!("{} has no {network} address, and the other port has one", ports[side].facts().name),
                "give both with --address ADDR,ADDR, or leave that IP version out",
            )
            .into()),
        }
    }

    /// The tunnel that packets of this network go through at a port.
    fn tunnel(&self, side: usize, network: Network) -> Option<TunnelEnds> {
        self.options.sides[side].tunnel.filter(|_| network == Network::V4)
    }

    /// The tunnel whose far end each port is, if any.
    pub(super) fn tunnels(&self) -> [Option<TunnelEnds>; 2] {
        [0, 1].map(|side| self.options.sides[side].tunnel)
    }

    /// A tag that distinguishes the frames of one trial from others. It differs from the last one.
    pub(super) fn tag(&mut self) -> Result<u32> {
        let tag = u32::from_be_bytes(entropy()?);
        self.last_tag = if tag == self.last_tag { tag.wrapping_add(1) } else { tag };
        Ok(self.last_tag)
    }
}

/// The places of the ports that send and count in this direction.
pub(super) fn ends(direction: Direction) -> (usize, usize) {
    direction.choose((0, 1), (1, 0))
}

fn own(port: &dyn Port, network: Network) -> Option<IpAddr> {
    port.addresses().into_iter().find(|address| is_of(network, address))
}

fn is_of(network: Network, address: &IpAddr) -> bool {
    address.is_ipv4() == (network == Network::V4)
}

/// An address of the networks set aside for benchmarks: 198.18.0.0/15 (RFC 2544 appendix C), 2001:2::/48 (RFC 5180 section 8).
fn benchmark_address(side: usize, network: Network) -> IpAddr {
    let net = u8::from(side == 1);
    match network {
        Network::V4 => ipv4(net, 1),
        Network::V6 => ipv6(net, 1),
    }
}

/// Time to live and hop limit of the frames: enough for every device between two ports.
const HOP_LIMIT: u8 = 64;
