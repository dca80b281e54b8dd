//! Big-endian words and times of day at fixed places.

use model::time::WallTime;

/// The word at `at`; `None`: the bytes end before.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// The half word at `at`.
pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_be_bytes(*half))
}

/// Writes a word.
pub(super) fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

/// Writes a half word.
pub(super) fn put_half(bytes: &mut [u8], at: usize, half: u16) {
    bytes[at..at + 2].copy_from_slice(&half.to_be_bytes());
}

/// Seconds and microseconds since 1970; `None`: the bytes end before, or are not a time of day (zero, a million microseconds, or
/// the all-ones of an empty field).
pub(super) fn time(bytes: &[u8], at: usize) -> Option<WallTime> {
    let (seconds, micros) = (word(bytes, at)?, word(bytes, at + 4)?);
    let valid = seconds > 0 && micros < MICROS_PER_SECOND;
    valid.then(|| WallTime(u64::from(seconds) * NANOS_PER_SECOND + u64::from(micros) * 1000))
}

/// Writes a time of day, cut to microseconds. Seconds wrap around in 2106.
pub(super) fn put_time(bytes: &mut [u8], at: usize, time: WallTime) {
    put(bytes, at, (time.0 / NANOS_PER_SECOND) as u32);
    put(bytes, at + 4, (time.0 % NANOS_PER_SECOND / 1000) as u32);
}

pub(super) const NANOS_PER_SECOND: u64 = 1_000_000_000;
pub(super) const MICROS_PER_SECOND: u32 = 1_000_000;
