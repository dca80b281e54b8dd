//! Packets and frames on the wire, as bytes: headers read and written, checksums, packets for raw sockets, test frames,
//! super-packets split into the packets that really crossed, and capture files.
//!
//! Input is never trusted: a packet may be cut short by a capture's snap length, or not be a packet at all.

mod captured;
pub mod checksum;
pub mod ethernet_address;
mod extension;
pub mod frame;
pub mod header;
pub mod icmp;
mod ip;
mod made;
mod neighbour;
pub mod pcapng;
mod split;
mod syn;

pub use captured::{Captured, Pieces, Segments};
pub use extension::{MplsLabel, mpls_labels};
pub use ip::{Fragment, Ip, PacketProtocol};
pub use made::HandMade;
pub use neighbour::NeighbourState;
pub use split::Splitter;
pub use syn::{Syn, links_crossed, syn_options};

/// Two bytes of a big-endian field; `None` when they are missing.
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// Four bytes of a big-endian field; `None` when they are missing.
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}
