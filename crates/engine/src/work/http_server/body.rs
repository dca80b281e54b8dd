//! The bytes of a transfer: what goes down does not compress, what comes up is counted and thrown away.

use super::{Limits, STOP_STEP};
use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

/// The content of every file: the byte at a place is the same whatever the file's size.
pub(crate) struct Content(Vec<u8>);

impl Content {
    /// Random enough that no compression on the path shortens it (xorshift, Marsaglia 2003).
    pub(crate) fn new() -> Content {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut bytes = Vec::with_capacity(BLOCK);
        while bytes.len() < BLOCK {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend_from_slice(&state.to_le_bytes());
        }
        Content(bytes)
    }

    /// At most so many bytes from this place on.
    pub(crate) fn from(&self, place: u64, most: u64) -> &[u8] {
        let start = usize::try_from(place % BLOCK as u64).unwrap_or(0);
        let rest = &self.0[start..];
        &rest[..rest.len().min(usize::try_from(most).unwrap_or(usize::MAX))]
    }
}

/// How slow a transfer may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Longest time without a byte.
    pub(super) silence: Nanos,
    /// In each such span at least so many bytes move: who sends one now and then holds a place that others need.
    pub(super) span: Nanos,
    /// Bytes of each span.
    pub(super) least: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { silence: Nanos::from_secs(30), span: Nanos::from_secs(30), least: 30 << 10 }
    }
}

impl Pace {
    /// The bytes that must move in a span, where the rate allows so much at most.
    fn least_at(self, rate: Option<BitRate>) -> u64 {
        rate.map_or(self.least, |rate| self.least.min(rate.0 / 16 * self.span.0 / 1_000_000_000))
    }
}

/// One transfer against its limits.
pub(super) struct Meter<'a> {
    limits: &'a Limits,
    pace: Pace,
    stop: &'a AtomicBool,
    started: MonoTime,
    moved: MonoTime,
    /// Begin of the span over which the least rate counts, and the bytes until then.
    span: (MonoTime, u64),
    /// The buffer of uploads.
    buffer: Vec<u8>,
    /// Bytes so far.
    pub(super) bytes: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn new(limits: &'a Limits, pace: Pace, stop: &'a AtomicBool) -> Meter<'a> {
        let now = mono_now();
        Meter { limits, pace, stop, started: now, moved: now, span: (now, 0), buffer: Vec::new(), bytes: 0 }
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Nanos {
        mono_now() - self.started
    }

    /// Sends this part of the content.
    pub(super) fn send(
        &mut self,
        socket: &TcpStream,
        content: &Content,
        from: u64,
        count: u64,
    ) -> io::Result<()> {
        while self.bytes < count {
            let most = self.next(count - self.bytes)?;
            match (&mut &*socket).write(content.from(from + self.bytes, most)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(sent) => self.count(sent),
                Err(e) => self.pause(e)?,
            }
        }
        Ok(())
    }

    /// Takes at most so many bytes, those of `ready` first; the number taken is zero at the end of the stream.
    pub(super) fn take(&mut self, socket: &TcpStream, ready: &mut Vec<u8>, most: u64) -> io::Result<u64> {
        if !ready.is_empty() {
            let count = ready.len().min(usize::try_from(most).unwrap_or(usize::MAX));
            ready.drain(..count);
            self.count(count);
            return Ok(count as u64);
        }
        self.buffer.resize(READ, 0);
        loop {
            let most = usize::try_from(self.next(most)?).unwrap_or(READ).min(READ);
            match (&mut &*socket).read(&mut self.buffer[..most]) {
                Ok(count) => {
                    self.count(count);
                    return Ok(count as u64);
                }
                Err(e) => self.pause(e)?,
            }
        }
    }

    /// Reads ahead what there is, without counting it.
    pub(super) fn fill(&mut self, socket: &TcpStream, ready: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            self.next(1)?;
            match (&mut &*socket).read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.moved = mono_now();
                    ready.extend_from_slice(&buffer[..count]);
                    return Ok(());
                }
                Err(e) => self.pause(e)?,
            }
        }
    }

    /// Waits until the rate allows more, and returns how much.
    fn next(&mut self, most: u64) -> io::Result<u64> {
        let elapsed = self.elapsed();
        if self.stop.load(Ordering::Acquire) || self.limits.time.is_some_and(|limit| elapsed > limit) {
            let text = "the transfer took longer than this server allows";
            return Err(io::Error::new(ErrorKind::TimedOut, text));
        }
        let now = mono_now();
        if now - self.span.0 >= self.pace.span {
            if self.bytes - self.span.1 < self.pace.least_at(self.limits.rate) {
                return Err(io::Error::new(ErrorKind::TimedOut, "the transfer is slower than 1 KiB/s"));
            }
            self.span = (now, self.bytes);
        }
        let Some(rate) = self.limits.rate else { return Ok(most) };
        let due = rate.time_for(Bytes(self.bytes)).unwrap_or(Nanos::MAX);
        std::thread::sleep(due.saturating_sub(elapsed).min(STOP_STEP).to_duration());
        Ok(most.min(step(rate)))
    }

    fn count(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.moved = mono_now();
    }

    /// Nothing moved for a step: goes on, or has waited long enough.
    fn pause(&self, error: io::Error) -> io::Result<()> {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted if mono_now() - self.moved < self.pace.silence => {
                Ok(())
            }
            ErrorKind::WouldBlock => Err(io::Error::new(ErrorKind::TimedOut, "no byte moved for 30 seconds")),
            _ => Err(error),
        }
    }
}

/// About 10 ms of data, so that a limited rate is smooth.
fn step(rate: BitRate) -> u64 {
    (rate.0 / 8 / 100).clamp(1 << 10, BLOCK as u64)
}

const BLOCK: usize = 256 << 10;
const READ: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_same_byte_in_every_part() {
        let content = Content::new();
        let whole: Vec<u8> = [content.from(0, u64::MAX), content.from(0, u64::MAX)].concat();
        for place in [0, 1, 999, BLOCK as u64 - 1, BLOCK as u64, BLOCK as u64 + 5] {
            let start = usize::try_from(place).expect("it is small");
            assert_eq!(content.from(place, 1), &whole[start..=start]);
        }
        assert_eq!(content.from(BLOCK as u64 - 2, 100).len(), 2, "the block ends there");
    }

    #[test]
    fn a_transfer_may_be_as_slow_as_its_rate_demands() {
        let pace = Pace::default();
        assert_eq!(pace.least_at(None), 30 << 10);
        assert_eq!(pace.least_at(Some(BitRate(1_000_000_000))), 30 << 10);
        // 1,000 bit/s are 125 bytes/s; half of it is enough.
        assert_eq!(pace.least_at(Some(BitRate(1_000))), 62 * 30);
    }

    #[test]
    fn the_content_does_not_compress() {
        let mut counts = [0_u32; 256];
        Content::new().from(0, u64::MAX).iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let even = BLOCK as u32 / 256;
        assert!(counts.iter().all(|count| (even * 8 / 10..even * 12 / 10).contains(count)), "{counts:?}");
    }
}
