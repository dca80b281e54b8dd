//! Packets as they lie on the wire: what a capture has to know of a frame, and super-packets cut into what really
//! crossed.
//!
//! Nothing here trusts its input: a packet may be cut short by the capture's snap length, or be no packet at all.

mod captured;
mod checksum;
mod extension;
mod ip;
mod made;
mod split;
mod syn;

pub use captured::{Captured, Segments};
pub use extension::mpls_labels;
pub use ip::{Fragment, Ip};
pub use made::HandMade;
pub use split::Splitter;
pub use syn::syn_options;

/// Two bytes of a big-endian field; nothing when they are not there.
fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// Four bytes of a big-endian field; nothing when they are not there.
fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_be_bytes)
}
