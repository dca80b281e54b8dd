//! The choice of source and sink: made once for each direction and kind of frame, and kept.

use super::super::choose::choose;
use super::super::port::{Port, Traffic};
use crate::error::Result;
use frames::FrameSpec;
use model::dut::{SinkKind, SourceKind, Tools};
use model::plan::Direction;
use model::units::Bytes;
use std::collections::HashMap;

/// The choices so far.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pairs: HashMap<Class, Pair>,
    /// All of them, in the order they were chosen.
    pub(super) tools: Vec<Tools>,
}

/// A source and a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) source: SourceKind,
    pub(super) sink: SinkKind,
}

/// Frames that the same tools can send and count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Class {
    direction: Direction,
    is_ipv6: bool,
    is_timed: bool,
    /// Larger than a page of memory, in which some tools keep a frame.
    is_jumbo: bool,
}

impl Chosen {
    /// The tools for these frames. Where a device lets only smaller ones through, those that work with the smallest: then the
    /// trial shows that these do not arrive.
    ///
    /// # Errors
    /// Those of [`choose`].
    pub(super) fn pair(
        &mut self,
        ports: &mut [Box<dyn Port>; 2],
        direction: Direction,
        traffic: &Traffic,
    ) -> Result<Pair> {
        let class = Class::for_direction(direction, traffic);
        if let Some(pair) = self.pairs.get(&class) {
            return Ok(*pair);
        }
        let tools = match try_all(ports, direction, traffic) {
            Err(refused) if !class.is_jumbo => {
                let sent = FrameSpec { sizes: vec![least(&traffic.sent)], ..traffic.sent.clone() };
                let small = Traffic { sent, ..*traffic };
                try_all(ports, direction, &small).map_err(|_| refused)?
            }
            tried => tried?,
        };
        let pair = Pair { source: tools.source, sink: tools.sink };
        self.pairs.insert(class, pair);
        self.tools.push(tools);
        Ok(pair)
    }

    /// Those that were chosen first for a direction.
    pub(super) fn first_of(&mut self, direction: Direction) -> Option<&mut Tools> {
        self.tools.iter_mut().find(|tools| tools.direction == direction)
    }
}

impl Class {
    fn for_direction(direction: Direction, traffic: &Traffic) -> Class {
        let (sent, arriving) = (&traffic.sent, traffic.arriving());
        let is_jumbo = sent.whole_sizes().chain(arriving.whole_sizes()).any(|size| size.0 > PAGE);
        Class { direction, is_ipv6: sent.is_ipv6(), is_timed: sent.is_timed(), is_jumbo }
    }
}

fn try_all(ports: &mut [Box<dyn Port>; 2], direction: Direction, traffic: &Traffic) -> Result<Tools> {
    let [one, other] = ports;
    match direction {
        Direction::Up => choose(&mut **one, &mut **other, traffic, direction),
        Direction::Down => choose(&mut **other, &mut **one, traffic, direction),
    }
}

/// The smallest frame with these headers that has room for all of the signature.
pub(super) fn least(spec: &FrameSpec) -> Bytes {
    let tag = if spec.vlan.is_some() { 4 } else { 0 };
    Bytes(if spec.is_ipv6() { 84 } else { 64 } + tag)
}

/// Longest frame that fits a page less the space that the kernel keeps in it; the ring of `AF_XDP` has frames of 4096 bytes
/// less some headroom.
const PAGE: u64 = 3200;
