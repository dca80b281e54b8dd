//! The 16 bytes before the payload of a data datagram: stream, number, time of sending.
//!
//! ```text
//! 0       2                       8                              16
//! | stream | sequence (48 bits)   | sender's clock, nanoseconds   |   all big-endian
//! ```
//!
//! It fits the 18-byte UDP payload of a 64-byte Ethernet frame (IPv4). A stream number is below 256, so the first
//! byte is 0 and no handshake or probe datagram (which begin with `PMTR`) can be taken for data.

use crate::{Datagram, Stamp};
use model::time::MonoTime;

/// Bytes of the header.
pub const HEADER_LEN: usize = 16;

/// Writes and reads the headers of one stream; headers of other streams are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataHeader {
    /// The stream, below 256.
    pub stream: u8,
}

impl Datagram for DataHeader {
    const MIN_LEN: usize = HEADER_LEN;

    fn write(self, stamp: Stamp, buf: &mut [u8]) {
        let first = u64::from(self.stream) << 48 | (stamp.sequence & SEQUENCE_MASK);
        buf[..8].copy_from_slice(&first.to_be_bytes());
        buf[8..HEADER_LEN].copy_from_slice(&stamp.sent.0.to_be_bytes());
    }

    fn read(self, buf: &[u8]) -> Option<Stamp> {
        let (first, rest) = buf.split_first_chunk::<8>()?;
        let (sent, _) = rest.split_first_chunk::<8>()?;
        let first = u64::from_be_bytes(*first);
        let stamp = Stamp { sequence: first & SEQUENCE_MASK, sent: MonoTime(u64::from_be_bytes(*sent)) };
        (first >> 48 == u64::from(self.stream) && stamp.sequence > 0).then_some(stamp)
    }
}

const SEQUENCE_MASK: u64 = (1 << 48) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_these() {
        let mut buf = [0xff; 18];
        DataHeader { stream: 3 }.write(Stamp { sequence: 0x0102, sent: MonoTime(7) }, &mut buf);
        assert_eq!(buf, [0, 3, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0xff, 0xff]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stream: u8, sequence in 1..=SEQUENCE_MASK, sent: u64, length in 16_usize..64) {
            let mut buf = vec![0; length];
            let stamp = Stamp { sequence, sent: MonoTime(sent) };
            DataHeader { stream }.write(stamp, &mut buf);
            prop_assert_eq!(DataHeader { stream }.read(&buf), Some(stamp));
            prop_assert_eq!(DataHeader { stream: stream.wrapping_add(1) }.read(&buf), None);
            prop_assert_eq!(DataHeader { stream }.read(&buf[..15]), None);
        }

        #[test]
        fn a_foreign_datagram_is_rarely_accepted_and_never_a_panic(stream: u8, bytes: Vec<u8>) {
            let read = DataHeader { stream }.read(&bytes);
            let ours = bytes.len() >= 16 && bytes[..2] == [0, stream] && bytes[2..8] != [0; 6];
            prop_assert_eq!(read.is_some(), ours);
        }

        #[test]
        fn handshakes_and_probes_are_not_data(stream: u8, rest: Vec<u8>) {
            let bytes = [b"PMTR".as_slice(), &rest].concat();
            prop_assert_eq!(DataHeader { stream }.read(&bytes), None);
        }
    }
}
