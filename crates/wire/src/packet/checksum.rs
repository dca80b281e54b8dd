//! The checksum of IP, TCP and UDP (RFC 1071).

use std::net::IpAddr;

/// The ones' complement sum of parts that are each of even length but the last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// The pseudo-header that TCP and UDP cover (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub(super) fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, length: u32) -> Sum {
        let end = |sum: Sum, address| match address {
            IpAddr::V4(address) => sum.add(&address.octets()),
            IpAddr::V6(address) => sum.add(&address.octets()),
        };
        end(end(Sum::default(), source), destination).add(&length.to_be_bytes()).add(&[0, protocol])
    }

    /// Adds a part.
    pub(super) fn add(self, bytes: &[u8]) -> Sum {
        let (words, rest) = bytes.as_chunks::<2>();
        let sum: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
        let rest = rest.first().map_or(0, |byte| u64::from(*byte) << 8);
        // A packet has far fewer than 2^47 words.
        Sum(self.0 + sum + rest)
    }

    /// What the checksum field must hold, the field itself having been added as zero.
    pub(super) fn checksum(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_a_header_comes_out() {
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(Sum::default().add(&header).checksum(), 0xb861);
    }

    #[test]
    fn an_odd_byte_counts_as_the_high_one() {
        assert_eq!(Sum::default().add(&[1]).checksum(), !0x0100);
    }
}
