//! The Internet checksum (RFC 1071), without unit: the sum of 16-bit words, in the host's byte order.

/// Of whole words; an odd last byte is taken with a zero. Sums of parts that begin at even places add up.
pub fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
    bytes.chunks(2).map(|pair| u64::from(word(pair))).sum()
}

/// The carries added in. `!folded(sum)`, in the host's byte order, is the checksum as it stands in a header.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).expect("folded to 16 bits above")
}
