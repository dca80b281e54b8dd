//! An ordered stack of encapsulations: the layers that fit into each other, and the length of a packet with all of them.

use super::encap::{Carries, Encap, Network, Shape};
use super::{FramingError, parse};
use crate::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Encapsulations from the wire inwards: `vlan,vxlan` is a tagged frame that carries VXLAN, `vxlan,vlan` is VXLAN that
/// carries a tagged frame. Empty for plain Ethernet. At most 16 layers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct Encaps(Vec<Encap>);

/// A packet in its outermost Ethernet frame.
#[derive(Clone, Copy)]
pub(super) struct Wrapped {
    /// The payload of the Ethernet frame, which the link's MTU limits.
    pub(super) packet: u64,
    /// Bytes of tags in the Ethernet header.
    pub(super) tags: u64,
}

impl Encaps {
    /// Plain Ethernet.
    pub const NONE: Encaps = Encaps(Vec::new());

    /// Checks that every layer can sit in the one before it.
    ///
    /// # Errors
    /// When a layer needs Ethernet or an IP version that the one around it does not carry, when a count is out of its
    /// range, or when there are more than 16 layers.
    pub fn new(layers: Vec<Encap>) -> Result<Encaps, FramingError> {
        if layers.len() > MAX_LAYERS {
            return Err(FramingError::TooManyLayers(layers.len()));
        }
        let mut carries = Carries::Ethernet;
        for &layer in &layers {
            layer.check()?;
            if layer.needs_ethernet() && carries != Carries::Ethernet {
                return Err(FramingError::NeedsEthernet(layer.to_string()));
            }
            if let Shape::Around(header) = layer.shape() {
                if let Carries::Only(network) = carries
                    && header.outer != Some(network)
                {
                    return Err(FramingError::Family { inside: layer.to_string(), network });
                }
                carries = header.carries;
            }
        }
        Ok(Encaps(layers))
    }

    /// The layers, from the wire inwards.
    #[must_use]
    pub fn layers(&self) -> &[Encap] {
        &self.0
    }

    /// The largest inner packet that an outer packet of `mtu` bytes holds; `None` when not even an empty one does.
    ///
    /// Tags of the outermost frame do not count against the MTU, those of a frame inside a tunnel do.
    #[must_use]
    pub fn inner_mtu(&self, mtu: Bytes) -> Option<Bytes> {
        let mut inside = false;
        let mut room = mtu.0;
        for layer in &self.0 {
            match layer.shape() {
                Shape::Tag(bytes) if inside => room = room.checked_sub(bytes)?,
                Shape::Tag(_) => {}
                Shape::Around(header) => {
                    room = header.inner_room(room)?;
                    inside = true;
                }
            }
        }
        Some(Bytes(room))
    }

    /// Refuses an innermost packet of a version that the innermost layer does not carry.
    pub(super) fn check_inner(&self, network: Network) -> Result<(), FramingError> {
        let innermost = self.0.iter().rev().find_map(|layer| match layer.shape() {
            Shape::Around(header) => Some(header.carries),
            Shape::Tag(_) => None,
        });
        match innermost {
            Some(Carries::Only(needed)) if needed != network => {
                Err(FramingError::Family { inside: network.to_string(), network: needed })
            }
            _ => Ok(()),
        }
    }

    /// The outermost packet around an inner one of `length` bytes.
    pub(super) fn wrap(&self, length: u64, link_mtu: Option<u64>) -> Wrapped {
        wrap(&self.0, false, length, link_mtu)
    }
}

impl Display for Encaps {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.iter().map(Encap::to_string).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Encaps {
    type Err = FramingError;

    /// Reads layers separated by commas; an empty text is plain Ethernet.
    fn from_str(text: &str) -> Result<Encaps, FramingError> {
        if text.trim().is_empty() {
            return Ok(Encaps::NONE);
        }
        let layers = text.split(',').map(|layer| parse::encap(layer.trim()));
        Encaps::new(layers.collect::<Result<_, _>>()?)
    }
}

impl TryFrom<String> for Encaps {
    type Error = FramingError;
    fn try_from(text: String) -> Result<Encaps, FramingError> {
        text.parse()
    }
}

impl From<Encaps> for String {
    fn from(encaps: Encaps) -> String {
        encaps.to_string()
    }
}

fn wrap(layers: &[Encap], inside: bool, length: u64, room: Option<u64>) -> Wrapped {
    let Some((outermost, rest)) = layers.split_first() else { return Wrapped { packet: length, tags: 0 } };
    match outermost.shape() {
        Shape::Tag(bytes) => {
            let left = room.map(|room| if inside { room.saturating_sub(bytes) } else { room });
            let inner = wrap(rest, inside, length, left);
            Wrapped { tags: inner.tags + bytes, ..inner }
        }
        Shape::Around(header) => {
            let left = room.map(|room| header.inner_room(room).unwrap_or(0));
            let inner = wrap(rest, true, length, left);
            Wrapped { packet: header.wrap(inner.packet + inner.tags, room), tags: 0 }
        }
    }
}

const MAX_LAYERS: usize = 16;
