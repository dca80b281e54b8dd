//! HdrHistogram's V2 form of a histogram: written and read, plain, compressed and in base64.
//!
//! The layout is that of `org.HdrHistogram.AbstractHistogram` (`encodeIntoByteBuffer`, `encodeIntoCompressedByteBuffer`),
//! all numbers big-endian:
//!
//! | bytes | plain | | bytes | compressed |
//! |---|---|---|---|---|
//! | 4 | cookie 0x1c849313 | | 4 | cookie 0x1c849314 |
//! | 4 | length of the counts in bytes | | 4 | length of what follows |
//! | 4 | normalizing index offset, 0 | | | the plain form, zlib (RFC 1950) |
//! | 4 | significant digits | | | |
//! | 8 | lowest discernible value | | | |
//! | 8 | highest trackable value | | | |
//! | 8 | integer to double conversion ratio, 1.0 | | | |
//! | | counts: ZigZag LEB128 of at most 9 bytes, a negative one is a run of zeros | | | |
//!
//! The form carries counts alone: exact minimum, maximum, mean and deviation are lost and come back as the buckets
//! report them, to the histogram's precision.

mod read;
#[cfg(test)]
mod tests;

use super::{Histogram, HistogramError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write;
use thiserror::Error;

/// Why bytes or text are not a histogram.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum V2Error {
    /// Text that is not base64 (RFC 4648 section 4, with padding).
    #[error("read histogram: the text is not base64")]
    Base64,
    /// Neither the plain nor the compressed V2 form with counts of 64 bits.
    #[error("read histogram: cookie {0:#010x} is not 0x1c849313 or 0x1c849314 (HdrHistogram V2)")]
    Cookie(u32),
    /// The bytes end before the histogram does, or their zlib stream is broken.
    #[error("read histogram: cut short or wrongly compressed")]
    Truncated,
    /// A field of the header that this histogram does not support.
    #[error("read histogram: {field} of {value} is not supported")]
    Header {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// The digits are not 1 to 5.
    #[error("read histogram: {0}")]
    Digits(HistogramError),
    /// More counts than the header's highest value has buckets, or than this program keeps.
    #[error("read histogram: count at bucket {index}, of {most}")]
    Range {
        /// The bucket's index.
        index: u64,
        /// Largest number of buckets.
        most: u64,
    },
    /// Counts that add up to more than 2^53.
    #[error("read histogram: more than 2^53 values")]
    Total,
}

impl Histogram {
    /// The V2 form, not compressed.
    #[must_use]
    pub fn to_v2(&self) -> Vec<u8> {
        let counts = self.encoded_counts();
        let highest = self.highest.min(i64::MAX as u64);
        let mut bytes = Vec::with_capacity(HEADER + counts.len());
        bytes.extend_from_slice(&PLAIN.to_be_bytes());
        bytes.extend_from_slice(&(counts.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&0_u32.to_be_bytes());
        bytes.extend_from_slice(&u32::from(self.digits).to_be_bytes());
        bytes.extend_from_slice(&1_u64.to_be_bytes());
        bytes.extend_from_slice(&highest.to_be_bytes());
        bytes.extend_from_slice(&1_f64.to_be_bytes());
        bytes.extend_from_slice(&counts);
        bytes
    }

    /// The compressed V2 form in base64, as histogram logs carry it: `HISTF…`.
    #[must_use]
    pub fn to_v2_base64(&self) -> String {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        let compressed = zlib.write_all(&self.to_v2()).and_then(|()| zlib.finish());
        let compressed = compressed.expect("writing into memory does not fail");
        let length = (compressed.len() as u32).to_be_bytes();
        STANDARD.encode([&COMPRESSED.to_be_bytes(), &length, compressed.as_slice()].concat())
    }

    /// Reads either V2 form; bytes behind its end are ignored.
    ///
    /// Takes at most 64 MiB of memory, whatever the bytes, and time in proportion to their unpacked size, which is bounded by the
    /// number of buckets.
    ///
    /// # Errors
    /// [`V2Error`], when the bytes are not a histogram that this one can hold.
    pub fn from_v2(bytes: &[u8]) -> Result<Histogram, V2Error> {
        read::histogram(bytes)
    }

    /// Reads base64 of either V2 form; white space around it is ignored.
    ///
    /// # Errors
    /// [`V2Error`], as of [`Histogram::from_v2`].
    pub fn from_v2_base64(text: &str) -> Result<Histogram, V2Error> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| V2Error::Base64)?;
        Histogram::from_v2(&bytes)
    }

    /// The counts up to the last that is not zero. Values from 2^63 on, which Java cannot represent, go to the bucket below.
    fn encoded_counts(&self) -> Vec<u8> {
        let last = self.index(i64::MAX as u64);
        let beyond: u64 = self.counts.iter().skip(last + 1).sum();
        let count_of = |index: usize| self.counts[index] + if index == last { beyond } else { 0 };
        let length = self.counts.len().min(last + 1);
        let (mut bytes, mut zeros) = (Vec::new(), 0_i64);
        for count in (0..length).map(count_of) {
            if count == 0 {
                zeros += 1;
                continue;
            }
            if zeros > 0 {
                put_zigzag(&mut bytes, -zeros);
                zeros = 0;
            }
            put_zigzag(&mut bytes, i64::try_from(count).unwrap_or(i64::MAX));
        }
        bytes
    }
}

/// Small magnitudes in few bytes: seven bits in each but the ninth, which has eight.
fn put_zigzag(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..LONGEST - 1 {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// V2, with a word size of 64 bits.
const PLAIN: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED: u32 = 0x1c84_9304 | 0x10;
const HEADER: usize = 40;
/// Bytes of the longest number.
const LONGEST: usize = 9;
