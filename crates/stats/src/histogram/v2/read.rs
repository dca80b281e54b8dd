//! Reading HdrHistogram's V2 form from untrusted sources: bounded in memory and time.

use super::super::Histogram;
use super::{COMPRESSED, HEADER, LONGEST, PLAIN, V2Error};
use flate2::bufread::ZlibDecoder;
use std::io::{BufReader, Read, Take};

/// Reads either form.
pub(super) fn histogram(bytes: &[u8]) -> Result<Histogram, V2Error> {
    let mut bytes = bytes;
    match u32::from_be_bytes(array(&mut bytes)?) {
        PLAIN => plain(&mut bytes),
        COMPRESSED => {
            let length = u32::from_be_bytes(array(&mut bytes)?) as usize;
            let packed = bytes.get(..length).ok_or(V2Error::Truncated)?;
            // Unpacked in small portions: a decompression bomb is read no further than its first surplus bucket.
            let mut unpacked = BufReader::new(ZlibDecoder::new(packed));
            match u32::from_be_bytes(array(&mut unpacked)?) {
                PLAIN => {
                    let histogram = plain(&mut unpacked)?;
                    // The end of the stream, where its checksum is compared.
                    unpacked.read(&mut [0]).map_err(|_| V2Error::Truncated)?;
                    Ok(histogram)
                }
                cookie => Err(V2Error::Cookie(cookie)),
            }
        }
        cookie => Err(V2Error::Cookie(cookie)),
    }
}

/// Reads the part behind the cookie of the plain form.
fn plain(source: &mut dyn Read) -> Result<Histogram, V2Error> {
    let length = u32::from_be_bytes(array(source)?);
    let offset = u32::from_be_bytes(array(source)?);
    let digits = u32::from_be_bytes(array(source)?);
    let lowest = u64::from_be_bytes(array(source)?);
    let highest = u64::from_be_bytes(array(source)?);
    let _ratio: [u8; 8] = array(source)?;
    let header = |field, value| Err(V2Error::Header { field, value });
    if offset != 0 {
        return header("normalizing index offset", offset.into());
    }
    // Java's own bounds: the unit and the linear part have to fit 61 bits.
    if lowest == 0 || lowest > 1 << 40 {
        return header("lowest discernible value", lowest);
    }
    if highest < lowest.saturating_mul(2) || highest > i64::MAX as u64 {
        return header("highest trackable value", highest);
    }
    let digits = u8::try_from(digits).unwrap_or(u8::MAX);
    let empty = Histogram::new(digits, highest).map_err(V2Error::Digits)?;
    Counts::new(empty, lowest.ilog2()).read(&mut source.take(length.into()))
}

/// Fills a histogram from counts in another layout, which has a unit of `2^unit`.
struct Counts {
    histogram: Histogram,
    unit: u32,
    /// The next bucket of the other layout.
    next: u64,
    most: u64,
}

impl Counts {
    fn new(histogram: Histogram, unit: u32) -> Counts {
        let half = 1 << histogram.half_magnitude;
        let last = histogram.index(histogram.highest >> unit) + 1;
        let most = (last.next_multiple_of(half) as u64).min(MOST_COUNTS);
        Counts { histogram, unit, next: 0, most }
    }

    fn read(mut self, source: &mut Take<&mut dyn Read>) -> Result<Histogram, V2Error> {
        while let Some(number) = zigzag(source)? {
            if number < 0 {
                self.next = self.next.saturating_add(number.unsigned_abs());
                continue;
            }
            if self.next >= self.most {
                return Err(V2Error::Range { index: self.next, most: self.most });
            }
            self.put(number as u64)?;
            self.next += 1;
        }
        // Older versions of HdrHistogram_c counted the header into the length.
        if source.limit() != 0 && source.limit() != HEADER as u64 {
            return Err(V2Error::Truncated);
        }
        Ok(self.histogram)
    }

    /// Counts the values of the next bucket: at its middle for the mean, at its ends for minimum and maximum.
    fn put(&mut self, count: u64) -> Result<(), V2Error> {
        if count == 0 {
            return Ok(());
        }
        let total = self.histogram.total.checked_add(count).filter(|total| *total <= MOST_VALUES);
        let total = total.ok_or(V2Error::Total)?;
        let (low, high) = self.histogram.values_of(self.next as usize).into_inner();
        let widest = u64::MAX >> self.unit;
        let low = low.min(widest) << self.unit;
        let high = (high.min(widest) << self.unit) | ((1 << self.unit) - 1);
        let middle = low + (high - low).div_ceil(2);
        let (min, max) = (self.histogram.min, self.histogram.max);
        self.histogram.record_n(middle.min(self.histogram.highest), count);
        (self.histogram.min, self.histogram.max) = (min.min(low), max.max(high));
        debug_assert_eq!(self.histogram.total, total, "record_n adds its count");
        Ok(())
    }
}

/// The next number; `None` at the end.
fn zigzag(source: &mut dyn Read) -> Result<Option<i64>, V2Error> {
    let mut value = 0_u64;
    for place in 0..LONGEST {
        let mut byte = [0];
        match source.read(&mut byte) {
            Ok(0) if place == 0 => return Ok(None),
            Ok(1) => {}
            _ => return Err(V2Error::Truncated),
        }
        let last = place == LONGEST - 1;
        let bits = if last { byte[0] } else { byte[0] & 0x7f };
        value |= u64::from(bits) << (7 * place);
        if last || byte[0] < 0x80 {
            break;
        }
    }
    Ok(Some((value >> 1) as i64 ^ -((value & 1) as i64)))
}

fn array<const N: usize>(source: &mut dyn Read) -> Result<[u8; N], V2Error> {
    let mut bytes = [0; N];
    source.read_exact(&mut bytes).map_err(|_| V2Error::Truncated)?;
    Ok(bytes)
}

/// 32 MiB, and as much again while the list grows: enough for five digits of two hours in nanoseconds.
const MOST_COUNTS: u64 = 1 << 22;
/// No test counts more, and many such histograms can still be merged.
const MOST_VALUES: u64 = 1 << 53;
