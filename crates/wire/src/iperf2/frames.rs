//! Frames and bursts: their settings in a request, and the record in front of each one.

use super::fields::{MICROS_PER_SECOND, put, put_time, time, word};
use model::time::WallTime;
use model::units::Nanos;

/// How frames are sent: each number is a whole part and millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Frames or bursts per second.
    pub rate: Fixed,
    /// Mean size: bits per second for frames, bytes for bursts.
    pub mean: Fixed,
    /// Variance of the size.
    pub variance: Fixed,
    /// Gap between datagrams of a burst.
    pub gap: Fixed,
}

/// A number of at most six decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixed {
    /// The whole part.
    pub whole: u32,
    /// Millionths, below a million.
    pub millionths: u32,
}

/// The record in front of each frame of an isochronous UDP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRecord {
    /// Time between frames; travels in microseconds.
    pub period: Nanos,
    /// When the flow's first frame was due.
    pub start: Option<WallTime>,
    /// Number of the frame before.
    pub previous: u32,
    /// Number of this frame, from 1.
    pub frame: u32,
    /// Bytes of this frame.
    pub size: u32,
    /// Bytes of this frame that are still to come, this datagram's included.
    pub remaining: u32,
}

/// The record in front of each write of a TCP flow with trip times, frames or bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstRecord {
    /// When the flow began.
    pub start: Option<WallTime>,
    /// When this burst was written.
    pub written: Option<WallTime>,
    /// Time between bursts; travels in microseconds.
    pub period: Nanos,
    /// Number of this burst, from 1.
    pub burst: u32,
    /// Bytes of this burst, the record included.
    pub size: u32,
    /// Bytes sent until the end of this burst.
    pub sequence: u64,
}

impl Frames {
    /// Bytes of the settings, and of a [`FrameRecord`].
    pub const LEN: usize = 32;

    /// Writes into the first [`Frames::LEN`] bytes.
    pub(super) fn write(self, bytes: &mut [u8]) {
        for (index, number) in [self.rate, self.mean, self.variance, self.gap].iter().enumerate() {
            put(bytes, 8 * index, number.whole);
            put(bytes, 8 * index + 4, number.millionths);
        }
    }

    /// Reads the settings; missing fields are zero (iPerf2 cuts them off without a start time).
    pub(super) fn read(bytes: &[u8]) -> Frames {
        let number = |at| Fixed {
            whole: word(bytes, at).unwrap_or(0),
            millionths: word(bytes, at + 4).unwrap_or(0) % MICROS_PER_SECOND,
        };
        Frames { rate: number(0), mean: number(8), variance: number(16), gap: number(24) }
    }

    /// Time between two frames; `None`: there is no rate.
    #[must_use]
    pub fn period(self) -> Option<Nanos> {
        let rate =
            u64::from(self.rate.whole) * u64::from(MICROS_PER_SECOND) + u64::from(self.rate.millionths);
        (rate > 0).then(|| Nanos::from_nanos(1_000_000_000_000_000 / rate))
    }
}

impl FrameRecord {
    /// Offset of the record in a datagram: behind the header, whose extension grew in 2.2. `length`: the length that the header
    /// itself gives ([`Request::read`](super::Request::read) with trip times, frames or pacing: 108 or 112, settings not
    /// counted).
    #[must_use]
    pub fn place(version: Option<super::Version>) -> usize {
        if version.is_some_and(|version| version.upper >= FROM_2_2) { 80 } else { 76 }
    }

    /// Writes into the first [`Frames::LEN`] bytes.
    pub fn write(self, bytes: &mut [u8]) {
        put(bytes, 0, (self.period.0 / 1000) as u32);
        put_time(bytes, 4, self.start.unwrap_or_default());
        let fields = [self.previous, self.frame, self.size, self.remaining, 0];
        fields.iter().enumerate().for_each(|(index, word)| put(bytes, 12 + 4 * index, *word));
    }

    /// Reads the record at the front of `bytes`.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<FrameRecord> {
        word(bytes, Frames::LEN - 4)?;
        Some(FrameRecord {
            period: Nanos(u64::from(word(bytes, 0)?) * 1000),
            start: time(bytes, 4),
            previous: word(bytes, 12)?,
            frame: word(bytes, 16)?,
            size: word(bytes, 20)?,
            remaining: word(bytes, 24)?,
        })
    }
}

impl BurstRecord {
    /// Bytes of the record.
    pub const LEN: usize = 92;

    /// Writes into the first [`BurstRecord::LEN`] bytes; the other fields are for the receiver's use.
    pub fn write(self, bytes: &mut [u8]) {
        bytes[..BurstRecord::LEN].fill(0);
        put_time(bytes, 12, self.start.unwrap_or_default());
        put_time(bytes, 20, self.written.unwrap_or_default());
        put(bytes, 40, (self.period.0 / 1000) as u32);
        put(bytes, 44, self.burst);
        put(bytes, 48, self.size);
        put(bytes, 52, self.sequence as u32);
        put(bytes, 56, (self.sequence >> 32) as u32);
    }

    /// Reads the record at the front of `bytes`; `None`: it is incomplete, or its burst would end before the record does.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<BurstRecord> {
        word(bytes, BurstRecord::LEN - 4)?;
        let size = word(bytes, 48)?;
        let record = BurstRecord {
            start: time(bytes, 12),
            written: time(bytes, 20),
            period: Nanos(u64::from(word(bytes, 40)?) * 1000),
            burst: word(bytes, 44)?,
            size,
            sequence: u64::from(word(bytes, 56)?) << 32 | u64::from(word(bytes, 52)?),
        };
        (size as usize >= BurstRecord::LEN).then_some(record)
    }
}

const FROM_2_2: u32 = 0x0002_0002;
