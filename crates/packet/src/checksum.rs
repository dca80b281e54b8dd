//! The Internet checksum (RFC 1071), of the headers of IPv4, ICMP, TCP and UDP.

use std::net::IpAddr;
use std::ops::Add;

/// The ones' complement sum of parts that begin at even places: each but the last is of even length.
///
/// Words are added in the host's byte order, in which the sum of the RFC is the same number with swapped bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// The sum of these bytes; an odd last one is padded with zero.
    #[must_use]
    pub fn over(bytes: &[u8]) -> Sum {
        let (words, rest) = bytes.as_chunks::<2>();
        let sum: u64 = words.iter().map(|word| u64::from(u16::from_ne_bytes(*word))).sum();
        let rest = rest.first().map_or(0, |byte| u64::from(u16::from_ne_bytes([*byte, 0])));
        // A packet has far fewer than 2^47 words.
        Sum(sum + rest)
    }

    /// The sum of the pseudo-header that TCP, UDP and ICMPv6 cover (RFC 9293 section 3.1, RFC 8200 section 8.1), with `length`
    /// bytes of them.
    #[must_use]
    pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: u32) -> Sum {
        let end = |address| match address {
            IpAddr::V4(address) => Sum::over(&address.octets()),
            IpAddr::V6(address) => Sum::over(&address.octets()),
        };
        end(source) + end(destination) + Sum::over(&length.to_be_bytes()) + Sum::over(&[0, protocol])
    }

    /// The sum with its carries: 16 bits in the host's byte order, to be continued with [`Sum::from`].
    #[must_use]
    pub fn folded(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// The value of the checksum's field when it was added as zero; 0 when the field was added with its right value.
    #[must_use]
    pub fn checksum(self) -> u16 {
        u16::from_be(!self.folded())
    }

    /// The same for UDP, where 0 would mean that there is no checksum (RFC 768).
    #[must_use]
    pub fn of_udp(self) -> u16 {
        match self.checksum() {
            0 => u16::MAX,
            sum => sum,
        }
    }
}

impl Add for Sum {
    type Output = Sum;

    fn add(self, other: Sum) -> Sum {
        Sum(self.0 + other.0)
    }
}

impl From<u16> for Sum {
    fn from(folded: u16) -> Sum {
        Sum(folded.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_come_out() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(Sum::over(&header).checksum(), 0xb861);
        let of_the_rfc = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::over(&of_the_rfc).checksum(), !0xddf2);
    }

    #[test]
    fn an_odd_byte_counts_as_the_high_one() {
        assert_eq!(Sum::over(&[1]).checksum(), !0x0100);
        assert_eq!(Sum::over(&[]).checksum(), 0xffff);
    }

    #[test]
    fn none_of_udp_is_zero() {
        assert_eq!((Sum::over(&[0xff, 0xff]).checksum(), Sum::over(&[0xff, 0xff]).of_udp()), (0, 0xffff));
        assert_eq!(Sum::over(&[0x12, 0x34]).of_udp(), !0x1234);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_the_sum_with_its_checksum_is_nothing(
            mut bytes in prop::collection::vec(any::<u8>(), 2..200),
            cut in 0usize..100,
        ) {
            bytes[..2].fill(0);
            let (head, tail) = bytes.split_at((cut * 2).min(bytes.len()));
            let sum = Sum::over(head) + Sum::over(tail);
            prop_assert_eq!(sum, Sum::over(&bytes));
            prop_assert_eq!((Sum::from(Sum::over(head).folded()) + Sum::over(tail)).folded(), sum.folded());
            let checksum = sum.checksum();
            bytes[..2].copy_from_slice(&checksum.to_be_bytes());
            prop_assert_eq!(Sum::over(&bytes).checksum(), 0);
        }
    }
}
