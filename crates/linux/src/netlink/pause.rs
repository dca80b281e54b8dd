//! Pause frames: how often an interface was made to wait by its neighbour, and made its neighbour wait (family `ethtool`).
//!
//! Source: `linux/ethtool_netlink.h`, IEEE 802.3 annex 31B.

use super::generic::{GENLMSGHDR, generic, open};
use super::incomplete;
use super::message::{Attributes, u64_at};
use crate::error::Result;

/// Pause frames of an interface since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseFrames {
    /// Received: the neighbour made this interface wait.
    pub received: u64,
    /// Sent: this interface made its neighbour wait.
    pub sent: u64,
}

impl PauseFrames {
    /// How many since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            received: self.received.saturating_sub(earlier.received),
            sent: self.sent.saturating_sub(earlier.sent),
        }
    }
}

/// The pause frames of an interface of the **calling thread's** network namespace; `None` where its driver does not count them.
///
/// # Errors
/// Before Linux 5.9, and of a device that has no pause frames at all ([`OsError::is_unsupported`](crate::OsError::is_unsupported)).
pub fn pause_frames(interface: u32) -> Result<Option<PauseFrames>> {
    const OPERATION: &str = "read the pause frames of";
    let (mut netlink, family) = open("ethtool")?;
    let mut request = generic(family, PAUSE_GET, libc::NLM_F_ACK);
    request.nest(PAUSE_HEADER, |header| {
        header
            .attribute(HEADER_DEV_INDEX, &interface.to_ne_bytes())
            .attribute(HEADER_FLAGS, &FLAG_STATS.to_ne_bytes());
    });
    let object = format!("interface {interface}");
    let replies = netlink.ask(OPERATION, &object, vec![request], 1)?;
    let reply = replies.first().ok_or_else(|| incomplete(OPERATION, &object))?;
    Ok(parse(&reply.attributes(GENLMSGHDR)))
}

pub(super) fn parse(attributes: &Attributes<'_>) -> Option<PauseFrames> {
    let counted = attributes.inside(PAUSE_STATS);
    let counter = |kind: u16| u64_at(counted.value(kind)?, 0);
    let (received, sent) = (counter(RX_FRAMES), counter(TX_FRAMES));
    received.or(sent)?;
    Some(PauseFrames { received: received.unwrap_or(0), sent: sent.unwrap_or(0) })
}

const PAUSE_GET: u8 = 21;
const PAUSE_HEADER: u16 = 1;
const PAUSE_STATS: u16 = 5;
const TX_FRAMES: u16 = 2;
const RX_FRAMES: u16 = 3;
const HEADER_DEV_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;
const FLAG_STATS: u32 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::super::message::{Message, Reply};
    use super::*;

    /// Made by hand in the order of `pause_fill_reply` of the kernel: no driver of the machines that tests run on counts them.
    #[test]
    fn counters_are_read_where_the_driver_has_them() {
        let mut message = generic(20, PAUSE_GET + 1, 0);
        message.attribute(2, &[1]).attribute(3, &[1]).attribute(4, &[1]).nest(PAUSE_STATS, |counted| {
            counted.attribute(TX_FRAMES, &7u64.to_ne_bytes()).attribute(RX_FRAMES, &812u64.to_ne_bytes());
        });
        let read = |message: Message| {
            let replies = Reply::parse_all(&message.into_bytes(1));
            parse(&replies[0].attributes(GENLMSGHDR))
        };
        let frames = read(message).expect("they are counted");
        assert_eq!(frames, PauseFrames { received: 812, sent: 7 });
        assert_eq!(
            frames.since(PauseFrames { received: 800, sent: 9 }),
            PauseFrames { received: 12, sent: 0 }
        );
        let mut without = generic(20, PAUSE_GET + 1, 0);
        without.attribute(2, &[0]);
        assert_eq!(read(without), None);
    }

    #[test]
    fn a_device_without_pause_frames_has_no_counters() {
        let answer = pause_frames(1);
        assert!(!matches!(answer, Ok(Some(_))), "loopback has none: {answer:?}");
    }
}
