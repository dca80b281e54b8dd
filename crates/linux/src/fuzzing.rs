//! Entry points of the targets in `fuzz/`: decoders of the kernel's messages, over plain bytes. Compiled for them alone.

use crate::capture::{Frame, ring};
use crate::cmsg::ControlMessages;
use crate::cpu;
use crate::error_queue::{self, QueueEntry};
use crate::message::Received;
use crate::nft::expression::counted_packets;
use crate::tcp_info::{self, TcpInfo};
use std::net::SocketAddr;

pub use crate::netlink::fuzzing::netlink_round_trip;

/// Reads a datagram of netlink by every decoder.
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

/// The frames in a block of a capture's memory, each with the bytes that were kept of it.
pub fn captured(block: &[u8], mut take: impl FnMut(&Frame<'_>)) {
    ring::frames(block).for_each(|frame| take(&frame));
}

/// The result of `getsockopt(2)` for a TCP connection.
#[must_use]
pub fn connection(bytes: &[u8]) -> TcpInfo {
    tcp_info::parse(bytes)
}

/// The CPUs in procfs, in the format of `stat` and of `cpuinfo`.
pub fn processors(text: &str) {
    let _ = (cpu::parse_stat(text, 10_000_000), cpu::parse_model_name(text));
}
