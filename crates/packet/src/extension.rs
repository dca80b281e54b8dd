//! Extensions of ICMP messages (RFC 4884): the MPLS label stack of a packet where it ended (RFC 4950).

use super::checksum::Sum;
use super::{be16, be32};
use serde::{Deserialize, Serialize};

/// An entry of an MPLS label stack (RFC 3032 section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MplsLabel {
    /// The label, 20 bits.
    pub label: u32,
    /// The traffic class, 3 bits.
    pub class: u8,
    /// Bottom of the stack.
    pub bottom: bool,
    /// Its TTL.
    pub ttl: u8,
}

/// The label stack among the extensions of an ICMP message, outermost first; empty without one, and where they are cut or
/// malformed.
///
/// `quote`: the message's copy of the packet behind its headers, which are `headers` bytes long, and the extensions behind that.
/// `at`: where these begin, when the message has that field. Routers older than RFC 4884 put them behind 128 bytes of the packet
/// without the field (its section 5.5); then they count only with a valid checksum.
#[must_use]
pub fn mpls_labels(quote: &[u8], at: Option<usize>, headers: usize) -> Vec<MplsLabel> {
    let start = at.or_else(|| OLD_LENGTH.checked_sub(headers));
    let Some(extensions) = start.and_then(|start| quote.get(start..)) else { return Vec::new() };
    if is_valid(extensions, at.is_some()) { labels(&extensions[HEADER..]) } else { Vec::new() }
}

/// Version 2, and a checksum that is valid or, where the message announces the extensions, absent.
fn is_valid(extensions: &[u8], is_announced: bool) -> bool {
    let Some(sum) = be16(extensions, 2) else { return false };
    let right = Sum::over(extensions).checksum() == 0;
    extensions[0] >> 4 == VERSION && (right && sum != 0 || sum == 0 && is_announced)
}

fn labels(mut objects: &[u8]) -> Vec<MplsLabel> {
    while let (Some(length), Some(kind)) = (be16(objects, 0), be16(objects, 2)) {
        let Some((object, rest)) = objects.split_at_checked(usize::from(length)) else { break };
        let Some(entries) = object.get(OBJECT_HEADER..) else { break };
        if kind == MPLS_STACK {
            let (entries, _) = entries.as_chunks::<4>();
            return entries.iter().take(MOST_LABELS).filter_map(|entry| label(entry)).collect();
        }
        objects = rest;
    }
    Vec::new()
}

/// RFC 3032 section 2.1.
fn label(entry: &[u8]) -> Option<MplsLabel> {
    let word = be32(entry, 0)?;
    let [.., ttl] = word.to_be_bytes();
    let class = ((word >> 9) & 7).to_be_bytes();
    Some(MplsLabel { label: word >> 12, class: class[3], bottom: word & 0x100 != 0, ttl })
}

const VERSION: u8 = 2;
const HEADER: usize = 4;
const OBJECT_HEADER: usize = 4;
/// Class 1, type 1: the incoming stack (RFC 4950 section 2).
const MPLS_STACK: u16 = 0x0101;
const OLD_LENGTH: usize = 128;
/// Larger than the stacks of any network.
const MOST_LABELS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Header, an object of another class, and a stack of two labels: 16,001 with TTL 1 and 24,015 at the bottom with TTL 2.
    fn extensions(sum: bool) -> Vec<u8> {
        let mut bytes = vec![0x20, 0, 0, 0];
        bytes.extend([0, 8, 2, 1, 9, 9, 9, 9]);
        bytes.extend([0, 12, 1, 1]);
        bytes.extend(((16_001_u32 << 12) | 1).to_be_bytes());
        bytes.extend(((24_015_u32 << 12) | (5 << 9) | 0x100 | 2).to_be_bytes());
        if sum {
            let sum = Sum::over(&bytes).checksum();
            bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        bytes
    }

    fn stack() -> Vec<MplsLabel> {
        vec![
            MplsLabel { label: 16_001, class: 0, bottom: false, ttl: 1 },
            MplsLabel { label: 24_015, class: 5, bottom: true, ttl: 2 },
        ]
    }

    #[test]
    fn a_label_stack_is_read_at_the_offset_in_the_message() {
        for sum in [true, false] {
            let quote = [&[7; 40][..], &extensions(sum)].concat();
            assert_eq!(mpls_labels(&quote, Some(40), 28), stack());
        }
    }

    #[test]
    fn old_routers_put_it_behind_128_bytes_and_must_sum_up() {
        for headers in [20, 28, 48] {
            let quote = |sum| [vec![0; 128 - headers], extensions(sum)].concat();
            assert_eq!(mpls_labels(&quote(true), None, headers), stack());
            assert_eq!(mpls_labels(&quote(false), None, headers), []);
        }
    }

    #[test]
    fn what_is_wrong_or_cut_is_not_read() {
        let whole = extensions(true);
        let mut wrong = whole.clone();
        wrong[13] ^= 1;
        assert_eq!(mpls_labels(&wrong, Some(0), 28), []);
        let mut version = extensions(false);
        version[0] = 0x10;
        assert_eq!(mpls_labels(&version, Some(0), 28), []);
        let mut endless = extensions(false);
        endless[5] = 0;
        assert_eq!(mpls_labels(&endless, Some(0), 28), [], "an object of no length");
        assert_eq!(mpls_labels(&whole, Some(100), 28), []);
        assert_eq!(mpls_labels(&[], None, 200), []);
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), at in prop::option::of(0usize..400)) {
            let labels = mpls_labels(&bytes, at, 28);
            prop_assert!(labels.len() <= MOST_LABELS);
        }
    }
}
