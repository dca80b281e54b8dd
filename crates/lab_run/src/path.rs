//! The path in a topology's file: its encapsulation, and the places where it is shaped.

use lab::topology::{DeviceKind, End, Node, Shape, Topology};
use model::framing::{Encap, Encaps, Network};
use model::plan::Direction;
use model::units::{BitRate, Nanos};

/// The end of a link that holds packets of one direction to a rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shaped {
    pub(super) end: End,
    pub(super) rate: BitRate,
}

/// The slowest shaped end of each direction, up and down.
pub(super) fn shaped(topology: &Topology) -> [Option<Shaped>; 2] {
    let mut slowest = [None, None];
    for link in &topology.links {
        let [one, other] = &link.sides;
        let up = distance(topology, &one.end.node) <= distance(topology, &other.end.node);
        for (direction, side) in if up { [0, 1] } else { [1, 0] }.into_iter().zip(&link.sides) {
            let Some(rate) = side.shape.rate else { continue };
            if slowest[direction].as_ref().is_none_or(|known: &Shaped| rate < known.rate) {
                slowest[direction] = Some(Shaped { end: side.end.clone(), rate });
            }
        }
    }
    slowest
}

/// The place of a direction in pairs of figures.
pub(super) fn place(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

/// Whether a path of this topology has delays that scatter.
pub(super) fn has_jitter(topology: &Topology) -> bool {
    let scatters = |shape: &Shape| shape.jitter > Some(Nanos::ZERO) || shape.reorder > 0.0;
    topology.sides().any(|side| scatters(&side.shape))
}

/// Links between the measuring node and this one.
fn distance(topology: &Topology, node: &str) -> usize {
    let paths = topology.paths_from(&topology.from);
    paths.iter().find(|path| path.last() == Some(&node)).map_or(usize::MAX, Vec::len)
}

/// The encapsulation of a family's packets on the link that all of them cross, from the outermost header.
pub(super) fn encaps(topology: &Topology, family: Network) -> Encaps {
    // Each tunnel has two ends: the node with the most of them has a whole stack.
    let stacks = topology.nodes.iter().map(|node| stack(node, family));
    let stack = stacks.max_by_key(Vec::len).unwrap_or_default();
    Encaps::new(stack).unwrap_or(Encaps::NONE)
}

fn stack(node: &Node, family: Network) -> Vec<Encap> {
    let outer = |address: std::net::IpAddr| if address.is_ipv4() { Network::V4 } else { Network::V6 };
    let layer = |kind: &DeviceKind| match kind {
        DeviceKind::Vlan { .. } => Some(Encap::Vlan),
        DeviceKind::Vxlan { local, .. } => Some(Encap::Vxlan(outer(*local))),
        // IPv6 goes beside the tunnel: this is what carries IPv4 in a network of IPv6.
        DeviceKind::Ipip6 { .. } => (family == Network::V4).then_some(Encap::Ipip6 { encap_limit: false }),
        DeviceKind::Wireguard { endpoint, .. } => Some(Encap::WireGuard(outer(endpoint.ip()))),
        DeviceKind::Bridge { .. } | DeviceKind::Macvtap { .. } => None,
    };
    node.devices.iter().filter_map(|device| layer(&device.kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped(name: &str) -> Topology {
        lab::shipped::find(name).expect("it is shipped")
    }

    #[test]
    fn the_up_direction_leaves_by_the_end_that_is_nearer_to_the_measuring_node() {
        let ends = shaped(&shipped("bufferbloat")).map(|side| side.map(|side| (side.end.node, side.rate)));
        let rate = BitRate(20_000_000);
        assert_eq!(ends, [Some(("r1".to_owned(), rate)), Some(("r2".to_owned(), rate))]);
        assert_eq!(shaped(&shipped("forward")), [None, None]);
    }

    #[test]
    fn tunnels_wrap_the_families_they_carry() {
        let layers = |name, family| encaps(&shipped(name), family).to_string();
        assert_eq!(layers("forward", Network::V4), "");
        assert_eq!(layers("vlan", Network::V6), "vlan");
        assert_eq!(layers("vxlan", Network::V6), "vxlan");
        assert_eq!(
            (layers("ipip6", Network::V4), layers("ipip6", Network::V6)),
            ("ipip6".into(), String::new())
        );
        assert_eq!(layers("wireguard", Network::V4), "wireguard");
    }
}
