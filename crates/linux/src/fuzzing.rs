//! What the targets in `fuzz/` reach: the decoders of what the kernel says, over plain bytes. Compiled for them alone.

use crate::cmsg::ControlMessages;
use crate::error_queue::{self, QueueEntry};
use crate::message::Received;
use crate::nft::expression::counted_packets;
use std::net::SocketAddr;

pub use crate::netlink::fuzzing::netlink_round_trip;

/// Reads a datagram of netlink in every way in which one is read.
pub fn netlink(datagram: &[u8]) {
    crate::netlink::fuzzing::netlink(datagram, |rule| {
        let _ = counted_packets(rule);
    });
}

/// The entry that [`error_queue::take`] makes of these control messages.
#[must_use]
pub fn queue_entry(control: &[u8], quoted: usize, destination: Option<SocketAddr>) -> QueueEntry {
    error_queue::read(ControlMessages::new(control), quoted, destination)
}

/// The message that [`crate::message::receive`] makes of these control messages.
#[must_use]
pub fn message(control: &[u8], len: usize, from: Option<SocketAddr>) -> Received {
    Received::read(ControlMessages::new(control), len, from)
}
