//! Frames through packet sockets (packet(7)): with any driver, and slower than all other sources and sinks.

mod receive;
mod ring;
mod source;

pub(super) use source::PacketSource;

use super::reader::Reader;
use super::tally::Tally;
use super::{FrameSpec, Watch, fit};
use linux::capture::{filter, ignore_outgoing, open_socket};
use linux::clock::{mono_now, wall_now};
use linux::error::Result;
use model::dut::SinkKind;
use packet::frame::TIMED;
use receive::Batches;
use std::os::fd::OwnedFd;
use units::Nanos;
use units::time::{MonoTime, WallTime};

/// A sink with a ring that the kernel fills.
pub(super) fn ring_sink(spec: &FrameSpec, frames: u64, watch: Watch, interface: u32) -> Result<Reader> {
    let captor = ring::open(socket(spec)?, snap(spec), interface)?;
    Reader::start(SinkKind::PacketRing, interface, Box::new(captor), Tally::new(spec, frames, watch, 1))
}

/// A sink that reads frames from the kernel, many per call.
pub(super) fn sink(spec: &FrameSpec, frames: u64, watch: Watch, interface: u32) -> Result<Reader> {
    let batches = Batches::open(socket(spec)?, snap(spec), interface)?;
    Reader::start(SinkKind::Packet, interface, Box::new(batches), Tally::new(spec, frames, watch, 1))
}

/// A socket that receives the frames with the trial's tag, and no outgoing ones.
fn socket(spec: &FrameSpec) -> Result<OwnedFd> {
    fit::template(spec)?;
    let offsets = spec.offsets();
    let socket =
        open_socket(&filter::of_word((offsets.payload - offsets.packet) as u32, spec.tag, snap(spec)))?;
    ignore_outgoing(&socket)?;
    Ok(socket)
}

/// Bytes captured of each frame.
fn snap(spec: &FrameSpec) -> u32 {
    (spec.offsets().payload + TIMED) as u32
}

/// Converts times of the wall clock, which the kernel has for packets, to the monotonic clock, whose times the frames carry. To
/// be read again for every batch, as the wall clock may be set.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    wall: WallTime,
    mono: MonoTime,
}

impl Clocks {
    /// Reads both clocks at one time: the wall clock between two readings of the monotonic one that are as close as possible.
    fn now() -> Clocks {
        let mut best = None;
        for _ in 0..MOST_READINGS {
            let before = mono_now();
            let wall = wall_now();
            let span = mono_now() - before;
            if best.is_none_or(|(least, _)| span < least) {
                best = Some((span, Clocks { wall, mono: before + Nanos(span.0 / 2) }));
            }
            if span < CLOSE {
                break;
            }
        }
        best.map(|(_, clocks)| clocks).expect("they are read at least once")
    }

    fn mono(&self, time: WallTime) -> MonoTime {
        MonoTime(self.mono.0.saturating_add(time.0).saturating_sub(self.wall.0))
    }
}

/// Largest distance of two readings without an interruption between them.
const CLOSE: Nanos = Nanos::from_nanos(500);
const MOST_READINGS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_one_clock_is_one_of_the_other() {
        let clocks = Clocks { wall: WallTime(1_000_000), mono: MonoTime(500) };
        let mono = |wall| clocks.mono(WallTime(wall)).0;
        assert_eq!((mono(1_000_007), mono(999_990), mono(5)), (507, 490, 0));
        let (before, clocks, after) = (mono_now(), Clocks::now(), mono_now());
        assert!(before <= clocks.mono && clocks.mono <= after);
    }
}
