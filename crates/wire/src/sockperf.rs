//! SockPerf: numbered messages with a 14-byte header, over UDP and TCP, and their echoes, without handshake or times.
//!
//! ```text
//! 0          8       10       14
//! | sequence | flags | length | payload |   all big-endian; length is that of the whole message
//! ```
//!
//! Compatible with sockperf 3.7 and 3.10. A datagram is one message by itself, so a stray one has no effect; sockperf's own
//! server takes all datagrams of a socket for one stream of bytes and can lose synchronisation.
//!
//! The native protocol uses the same messages with [`TIMES`]: the server's clock in the first 16 payload bytes.

mod client;
mod comparing;
mod responder;

pub use client::Client;
pub use comparing::Comparing;
pub use responder::{Observation, Responder, Watch};

use crate::echo::Stray;

/// Bytes of the header, and of the shortest message.
pub const HEADER_LEN: usize = 14;
/// Sockperf's port, UDP and TCP.
pub const PORT: u16 = 11_111;
/// Longest message that sockperf sends over TCP, bytes.
pub const MAX_TCP_LEN: usize = 1_048_575;
/// Shortest message of the native protocol that has room for the server's [`TIMES`], bytes.
pub const TIMES_LEN: usize = HEADER_LEN + 16;

/// Set by the client, cleared in the reply.
pub const CLIENT: u16 = 0x0001;
/// A reply is wanted; the flag stays set in the reply.
pub const PONG: u16 = 0x0002;
/// Not counted, not answered; on multicast sockets only.
pub const WARM_UP: u16 = 0x0004;
/// Native: the reply is to carry the server's clock in bytes 14 to 30, in nanoseconds, big-endian: the time the request arrived,
/// and the time the reply was sent. SockPerf echoes this flag and gives it no meaning.
pub const TIMES: u16 = 0x0008;

/// The first 14 bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// From 1, one more for each message of a client, over all of its sockets. Warm-ups have 0.
    pub sequence: u64,
    /// [`CLIENT`], [`PONG`], [`WARM_UP`], [`TIMES`]; others have no meaning.
    pub flags: u16,
    /// Length of the whole message, bytes.
    pub len: u32,
}

impl Header {
    /// Writes the header into the first [`HEADER_LEN`] bytes.
    ///
    /// # Panics
    /// When `message` is shorter.
    pub fn write(self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.sequence.to_be_bytes());
        message[8..10].copy_from_slice(&self.flags.to_be_bytes());
        message[10..HEADER_LEN].copy_from_slice(&self.len.to_be_bytes());
    }

    /// Reads the header; `None`: `message` is shorter than a header.
    #[must_use]
    pub fn read(message: &[u8]) -> Option<Header> {
        let (sequence, rest) = message.split_first_chunk::<8>()?;
        let (flags, rest) = rest.split_first_chunk::<2>()?;
        let (len, _) = rest.split_first_chunk::<4>()?;
        Some(Header {
            sequence: u64::from_be_bytes(*sequence),
            flags: u16::from_be_bytes(*flags),
            len: u32::from_be_bytes(*len),
        })
    }

    /// Are all of these flags set?
    #[must_use]
    pub const fn has(self, flags: u16) -> bool {
        self.flags & flags == flags
    }

    /// The length of the message, when it is valid and at most `max` bytes.
    fn bounded(self, max: usize) -> Result<usize, Stray> {
        match usize::try_from(self.len) {
            Ok(len) if (HEADER_LEN..=max).contains(&len) => Ok(len),
            _ => Err(Stray::Length { claimed: self.len.into(), had: max }),
        }
    }
}

/// Length of the message that `head` begins, in a stream of messages of at most `max` bytes.
fn frame(head: &[u8], max: usize) -> Result<Option<usize>, Stray> {
    Header::read(head).map(|header| header.bounded(max)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_sockperfs() {
        let mut ping = [0xff; HEADER_LEN + 1];
        Header { sequence: 1, flags: CLIENT | PONG, len: 14 }.write(&mut ping);
        assert_eq!(ping, *b"\0\0\0\0\0\0\0\x01\0\x03\0\0\0\x0e\xff");
    }

    #[test]
    fn a_stream_is_cut_by_the_length_field() {
        let head = |len: u32| {
            let mut head = [0; HEADER_LEN];
            Header { sequence: 9, flags: CLIENT, len }.write(&mut head);
            head
        };
        assert_eq!(frame(&head(14)[..13], 100), Ok(None));
        assert_eq!(frame(&head(14), 100), Ok(Some(14)));
        assert_eq!(frame(&head(100), 100), Ok(Some(100)));
        for claimed in [0, 1, 13, 101, u32::MAX] {
            assert_eq!(frame(&head(claimed), 100), Err(Stray::Length { claimed: claimed.into(), had: 100 }));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(sequence: u64, flags: u16, len: u32, behind: Vec<u8>) {
            let header = Header { sequence, flags, len };
            let mut message = vec![0; HEADER_LEN];
            header.write(&mut message);
            message.extend(behind);
            prop_assert_eq!(Header::read(&message), Some(header));
            prop_assert_eq!(Header::read(&message[..HEADER_LEN - 1]), None);
        }
    }
}
