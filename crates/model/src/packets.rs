//! Packets as they crossed the wire, from a capture: number, sizes, directions and flows.
//!
//! Sizes are whole IP packets, headers included, without the link's frame. A super-packet that the host's offloads made of many is
//! counted as the many.

mod counter;
mod sizes;

pub use counter::{Observation, Tally};
pub use packet::{PacketProtocol, Pieces};
pub use sizes::{SizeCount, Sizes};

use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The packets to and from the far host that a capture on this host's interface recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketResult {
    /// The interface.
    pub interface: String,
    /// The far host: packets from it and to it, and ICMP errors about them.
    pub peer: IpAddr,
    /// From this host.
    pub up: PacketDirection,
    /// To this host.
    pub down: PacketDirection,
    /// Each flow, in order of appearance.
    pub flows: Vec<PacketFlow>,
    /// Packets of further flows, which have no row of their own.
    pub other_flows: u64,
    /// Frames that the kernel gave to the capture; one may stand for many packets.
    pub frames: u64,
    /// Frames that the kernel could not give to it: its buffer was full.
    pub dropped: u64,
    /// Frames whose packets could not be counted: no headers of IP, or a super-packet of an unknown kind.
    pub unread: u64,
    /// Every frame was given and counted.
    pub complete: bool,
    /// Duration of the capture.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// The file that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcap: Option<PcapFile>,
}

/// Packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PacketDirection {
    /// Packets on the wire.
    pub packets: u64,
    /// Whole IP packets.
    pub bytes: Bytes,
    /// Packets that carry more than headers.
    pub with_payload: u64,
    /// Payload behind the headers of IP and of TCP, UDP or ICMP.
    pub payload: Bytes,
    /// Packets that are fragments.
    pub fragments: u64,
    /// Super-packets among the frames: made of many, or to be cut into many, by this host's offloads.
    pub super_packets: u64,
    /// Packets by size, smallest first.
    pub sizes: Sizes,
}

/// Packets of one flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketFlow {
    /// Between whom. This host's side is `local`; on loopback it is the side that spoke first.
    #[serde(flatten)]
    pub key: FlowKey,
    /// From `local`.
    pub up: PacketDirection,
    /// To `local`.
    pub down: PacketDirection,
}

/// Identity of a flow. Fragments whose first fragment was not captured before them have no ports: they form a flow of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowKey {
    /// Protocol above IP.
    pub protocol: PacketProtocol,
    /// This host's address.
    pub local: IpAddr,
    /// This host's port.
    pub local_port: Option<u16>,
    /// The other address.
    pub remote: IpAddr,
    /// The other port.
    pub remote_port: Option<u16>,
}

/// A pcapng file of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PcapFile {
    /// Its name.
    pub path: String,
    /// Packets in it.
    pub packets: u64,
    /// Super-packets are split into the packets of the wire.
    pub split: bool,
    /// Why it ends before the capture did.
    pub error: Option<String>,
}

impl PacketDirection {
    /// Takes a frame's packets.
    pub fn add(&mut self, pieces: &Pieces, fragment: bool) {
        let packets = pieces.packets();
        self.packets = self.packets.saturating_add(packets);
        self.bytes = self.bytes.saturating_add(Bytes(pieces.bytes()));
        self.payload = self.payload.saturating_add(Bytes(pieces.payload()));
        self.with_payload = self.with_payload.saturating_add(pieces.with_payload());
        self.fragments = self.fragments.saturating_add(if fragment { packets } else { 0 });
        self.super_packets = self.super_packets.saturating_add(u64::from(packets > 1));
        self.sizes.add(pieces.size, pieces.full);
        self.sizes.add(pieces.last, 1);
    }

    /// Takes what another capture counted.
    pub fn merge(&mut self, other: &PacketDirection) {
        self.packets = self.packets.saturating_add(other.packets);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.payload = self.payload.saturating_add(other.payload);
        self.with_payload = self.with_payload.saturating_add(other.with_payload);
        self.fragments = self.fragments.saturating_add(other.fragments);
        self.super_packets = self.super_packets.saturating_add(other.super_packets);
        self.sizes.merge(&other.sizes);
    }

    /// Mean size of a packet.
    pub fn mean_size(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.bytes.0 as f64 / self.packets as f64)
    }
}

impl PacketResult {
    /// Takes what a later capture of the same run saw.
    pub fn merge(&mut self, later: &PacketResult) {
        self.up.merge(&later.up);
        self.down.merge(&later.down);
        self.other_flows = self.other_flows.saturating_add(later.other_flows);
        for flow in &later.flows {
            self.merge_flow(flow);
        }
        self.frames = self.frames.saturating_add(later.frames);
        self.dropped = self.dropped.saturating_add(later.dropped);
        self.unread = self.unread.saturating_add(later.unread);
        self.complete &= later.complete;
        self.elapsed = self.elapsed.saturating_add(later.elapsed);
        self.pcap = later.pcap.clone().or(self.pcap.take());
    }

    fn merge_flow(&mut self, flow: &PacketFlow) {
        if let Some(known) = self.flows.iter_mut().find(|known| known.key == flow.key) {
            known.up.merge(&flow.up);
            known.down.merge(&flow.down);
        } else if self.flows.len() < MOST_FLOWS {
            self.flows.push(flow.clone());
        } else {
            self.other_flows = self.other_flows.saturating_add(flow.up.packets + flow.down.packets);
        }
    }
}

/// Flows with a row of their own; the packets of others are counted together.
pub const MOST_FLOWS: usize = 256;
