//! The fold of a capture: one packet or super-packet after the other is counted by direction, flow and size.

use super::{FlowKey, MOST_FLOWS, PacketDirection, PacketFlow, PacketProtocol, Pieces};
use crate::plan::Direction;
use packet::Captured;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// One frame as the counts need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Direction; absent where the interface does not report it (loopback): then the first packet of a flow goes up.
    pub direction: Option<Direction>,
    /// Protocol above IP.
    pub protocol: PacketProtocol,
    /// The sender.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// Ports of source and destination, where it has them.
    pub ports: Option<(u16, u16)>,
    /// The datagram that it is a fragment of.
    pub fragment: Option<u32>,
    /// Its packets.
    pub pieces: Pieces,
}

/// Counts what a capture sees, in bounded memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// From this host.
    pub up: PacketDirection,
    /// To this host.
    pub down: PacketDirection,
    /// Each flow, in order of appearance, at most [`MOST_FLOWS`].
    pub flows: Vec<PacketFlow>,
    /// Packets of further flows.
    pub other_flows: u64,
    places: HashMap<FlowKey, usize>,
    datagrams: Datagrams,
}

impl Tally {
    /// Takes one frame.
    pub fn add(&mut self, observed: &Observation) {
        let (direction, place) = self.attribute(observed);
        let is_fragment = observed.fragment.is_some();
        direction.choose(&mut self.up, &mut self.down).add(&observed.pieces, is_fragment);
        match place.and_then(|place| self.flows.get_mut(place)) {
            Some(flow) => direction.choose(&mut flow.up, &mut flow.down).add(&observed.pieces, is_fragment),
            None => self.other_flows = self.other_flows.saturating_add(observed.pieces.packets()),
        }
    }

    /// The direction of a frame and the index of its flow; none when there is no room for one more flow.
    fn attribute(&mut self, observed: &Observation) -> (Direction, Option<usize>) {
        let datagram =
            observed.fragment.map(|id| (observed.source, observed.destination, observed.protocol, id));
        if let (None, Some(known)) =
            (observed.ports, datagram.and_then(|datagram| self.datagrams.find(datagram)))
        {
            return (known.0, Some(known.1));
        }
        let direction = observed.direction.unwrap_or_else(|| self.guess(observed));
        let place = self.place(observed.key(direction));
        if let (Some(_), Some(datagram), Some(place)) = (observed.ports, datagram, place) {
            self.datagrams.keep(datagram, (direction, place));
        }
        (direction, place)
    }

    fn guess(&self, observed: &Observation) -> Direction {
        let up = self.places.contains_key(&observed.key(Direction::Up));
        let down = self.places.contains_key(&observed.key(Direction::Down));
        if down && !up { Direction::Down } else { Direction::Up }
    }

    fn place(&mut self, key: FlowKey) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let place = self.flows.len();
        (place < MOST_FLOWS).then(|| {
            self.flows.push(PacketFlow {
                key,
                up: PacketDirection::default(),
                down: PacketDirection::default(),
            });
            self.places.insert(key, place);
            place
        })
    }
}

impl Observation {
    /// The parts of a captured packet that are counted; nothing when its packets on the wire cannot be known.
    pub fn from_capture(captured: &Captured<'_>, direction: Option<Direction>) -> Option<Observation> {
        Some(Observation {
            direction,
            protocol: PacketProtocol::from_number(captured.ip.protocol),
            source: captured.ip.source,
            destination: captured.ip.destination,
            ports: captured.ports,
            fragment: captured.ip.fragment.map(|fragment| fragment.id),
            pieces: captured.pieces()?,
        })
    }

    fn key(&self, direction: Direction) -> FlowKey {
        let (source_port, destination_port) = self.ports.unzip();
        let (near, far) = ((self.source, source_port), (self.destination, destination_port));
        let ((local, local_port), (remote, remote_port)) = direction.choose((near, far), (far, near));
        FlowKey { protocol: self.protocol, local, local_port, remote, remote_port }
    }
}

type Datagram = (IpAddr, IpAddr, PacketProtocol, u32);

/// Which flow the datagrams in fragments belong to; the oldest are forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Datagrams {
    flows: HashMap<Datagram, (Direction, usize)>,
    order: VecDeque<Datagram>,
}

impl Datagrams {
    fn find(&self, datagram: Datagram) -> Option<(Direction, usize)> {
        self.flows.get(&datagram).copied()
    }

    fn keep(&mut self, datagram: Datagram, flow: (Direction, usize)) {
        if self.flows.insert(datagram, flow).is_some() {
            return;
        }
        self.order.push_back(datagram);
        if self.order.len() > MOST_DATAGRAMS
            && let Some(oldest) = self.order.pop_front()
        {
            self.flows.remove(&oldest);
        }
    }
}

/// Datagrams in fragments that are remembered: their fragments come within moments of each other.
const MOST_DATAGRAMS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::PacketResult;
    use crate::units::{Bytes, Nanos};
    use proptest::prelude::*;

    fn observed(ports: Option<(u16, u16)>, fragment: Option<u32>, size: u32) -> Observation {
        Observation {
            direction: Some(Direction::Up),
            protocol: PacketProtocol::Udp,
            source: IpAddr::from([10, 0, 0, 1]),
            destination: IpAddr::from([10, 0, 0, 2]),
            ports,
            fragment,
            pieces: Pieces::whole(size, if ports.is_some() { 28 } else { 20 }),
        }
    }

    #[test]
    fn a_super_packet_counts_as_its_packets() {
        let pieces = Pieces { full: 44, size: 1500, last: 252, headers: 52 };
        let mut tally = Tally::default();
        tally.add(&Observation { pieces, ..observed(Some((1, 2)), None, 0) });
        let direction = &tally.flows[0].up;
        assert_eq!((direction.packets, direction.super_packets, direction.with_payload), (45, 1, 45));
        assert_eq!((direction.bytes, direction.payload), (Bytes(44 * 1500 + 252), Bytes(44 * 1448 + 200)));
        assert_eq!(direction.sizes.largest(), Some(1500));
        assert_eq!(tally.up, *direction);
    }

    #[test]
    fn later_fragments_belong_to_the_flow_of_their_first() {
        let mut tally = Tally::default();
        tally.add(&observed(None, Some(7), 548));
        tally.add(&observed(Some((1, 2)), Some(7), 1500));
        tally.add(&observed(None, Some(7), 548));
        tally.add(&observed(None, Some(8), 548));
        let flows: Vec<_> = tally.flows.iter().map(|f| (f.key.local_port, f.up.fragments)).collect();
        assert_eq!(flows, [(None, 2), (Some(1), 2)]);
        assert_eq!(tally.up.fragments, 4);
    }

    #[test]
    fn on_loopback_the_first_to_speak_speaks_up() {
        let there = Observation { direction: None, ..observed(Some((4000, 53)), None, 60) };
        let back = Observation { ports: Some((53, 4000)), ..there };
        let back = Observation { source: there.destination, destination: there.source, ..back };
        let mut tally = Tally::default();
        [there, back, back].iter().for_each(|packet| tally.add(packet));
        assert_eq!((tally.flows.len(), tally.up.packets, tally.down.packets), (1, 1, 2));
    }

    #[test]
    fn memory_is_bounded() {
        let mut tally = Tally::default();
        for port in 0..20_000 {
            tally.add(&observed(Some((port, 1)), Some(port.into()), 100));
        }
        assert_eq!((tally.flows.len(), tally.other_flows), (MOST_FLOWS, 20_000 - MOST_FLOWS as u64));
        for id in 0..20_000 {
            tally.add(&observed(Some((1, 1)), Some(id), 100));
        }
        assert_eq!(
            (tally.datagrams.flows.len(), tally.datagrams.order.len()),
            (MOST_DATAGRAMS, MOST_DATAGRAMS)
        );
    }

    fn result(packets: &[(bool, u16, u64, u32)]) -> PacketResult {
        let mut tally = Tally::default();
        for (up, port, full, size) in packets {
            let direction = Some(if *up { Direction::Up } else { Direction::Down });
            let pieces = Pieces { full: *full, size: *size, last: size / 2, headers: 28 };
            tally.add(&Observation { direction, pieces, ..observed(Some((*port, *port)), None, 0) });
        }
        PacketResult {
            interface: "eth0".into(),
            peer: IpAddr::from([10, 0, 0, 2]),
            up: tally.up,
            down: tally.down,
            flows: tally.flows,
            other_flows: tally.other_flows,
            frames: packets.len() as u64,
            dropped: 0,
            unread: 0,
            complete: true,
            elapsed: Nanos::from_nanos(1),
            pcap: None,
        }
    }

    proptest! {
        #[test]
        fn two_captures_merged_are_one(
            packets in prop::collection::vec((any::<bool>(), 0u16..400, 0u64..46, 28u32..2000), 0..300),
            cut in 0usize..300,
        ) {
            let (first, second) = packets.split_at(cut.min(packets.len()));
            let (mut merged, whole) = (result(first), result(&packets));
            merged.merge(&result(second));
            for (one, all) in [(&merged.up, &whole.up), (&merged.down, &whole.down)] {
                prop_assert_eq!((one.packets, one.bytes, one.payload), (all.packets, all.bytes, all.payload));
                prop_assert_eq!(one.sizes.packets(), all.packets);
                prop_assert_eq!((one.with_payload, one.super_packets), (all.with_payload, all.super_packets));
            }
            let in_flows: u64 = whole.flows.iter().map(|f| f.up.packets + f.down.packets).sum();
            prop_assert_eq!(in_flows + whole.other_flows, whole.up.packets + whole.down.packets);
        }
    }
}
