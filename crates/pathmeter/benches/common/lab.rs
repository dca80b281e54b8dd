//! The track: two network namespaces joined by a veth pair of MTU 1500. It vanishes with the process.

use linux::namespace::Namespace;
use linux::netlink::Network;
use std::net::{IpAddr, Ipv4Addr};

/// Two hosts on one link.
#[derive(Debug)]
pub(crate) struct Lab {
    /// Where clients run.
    pub(crate) near: Namespace,
    /// Where servers run.
    pub(crate) far: Namespace,
}

impl Lab {
    /// Builds it.
    pub(crate) fn build() -> anyhow::Result<Lab> {
        let lab = Lab { near: Namespace::new()?, far: Namespace::new()? };
        let mut near = lab.near.run(Network::open)??;
        let mut far = lab.far.run(Network::open)??;
        near.add_veth(LINK, LINK, &lab.far)?;
        for (network, address) in [(&mut near, NEAR), (&mut far, FAR)] {
            network.set_up("lo")?;
            network.set_mtu(LINK, 1500)?;
            network.set_up(LINK)?;
            network.add_address(LINK, address, 24)?;
        }
        Ok(lab)
    }
}

/// The servers' address, of the range for benchmarks (RFC 2544, appendix C.2.2).
pub(crate) const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));
/// The clients' address.
pub(crate) const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
/// The name of either end of the link.
pub(crate) const LINK: &str = "track0";
