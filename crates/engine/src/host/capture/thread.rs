//! The thread of a capture: takes frames from the kernel, counts their packets, passes them to the file.

use super::file::PcapWriter;
use linux::capture::{Captor, Capture as Setup, Frame, LinkLayer, PacketKind, Statistics};
use linux::clock::mono_now;
use model::packets::{PacketResult, Tally};
use model::plan::Direction;
use model::time::MonoTime;
use model::units::Nanos;
use packet::Captured;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A capture at work.
pub(super) struct Counting {
    setup: Setup,
    captor: Captor,
    observed: Observation,
    stop: Arc<AtomicBool>,
    begin: MonoTime,
}

/// The counts so far.
struct Observation {
    layer: LinkLayer,
    tally: Tally,
    frames: u64,
    unread: u64,
    file: Option<PcapWriter>,
}

impl Counting {
    pub(super) fn new(
        setup: Setup,
        captor: Captor,
        file: Option<PcapWriter>,
        stop: Arc<AtomicBool>,
    ) -> Counting {
        let observed =
            Observation { layer: captor.layer(), tally: Tally::default(), frames: 0, unread: 0, file };
        Counting { setup, captor, observed, stop, begin: mono_now() }
    }

    /// Captures until it is stopped, and then for as long as the kernel may hold frames back.
    pub(super) fn run(mut self) -> PacketResult {
        while !self.stop.load(Ordering::Relaxed) {
            self.take_until(mono_now() + LOOK);
        }
        let end = mono_now();
        while mono_now() < end + LINGER {
            self.take_until(end + LINGER);
        }
        let elapsed = end.saturating_since(self.begin);
        // The statistics are read last: a frame dropped until now is counted.
        let statistics = self.captor.statistics().unwrap_or_default();
        self.result(elapsed, statistics)
    }

    fn take_until(&mut self, deadline: MonoTime) {
        let observed = &mut self.observed;
        let mut take = |frame: &Frame<'_>| observed.take(frame);
        // An interface that goes down is an error once; it may come up again, and the frames so far are counted.
        let taken = self.captor.frames(deadline, &mut take).unwrap_or(0);
        if let (0, Some(file)) = (taken, &mut self.observed.file) {
            file.flush();
        }
    }

    fn result(self, elapsed: Nanos, statistics: Statistics) -> PacketResult {
        let Observation { tally, frames, unread, file, .. } = self.observed;
        let dropped = statistics.dropped;
        PacketResult {
            interface: self.setup.interface,
            peer: self.setup.peer,
            up: tally.up,
            down: tally.down,
            flows: tally.flows,
            other_flows: tally.other_flows,
            frames,
            dropped,
            unread,
            complete: dropped == 0 && unread == 0,
            elapsed,
            pcap: file.map(|file| file.finish(statistics)),
        }
    }
}

impl Observation {
    fn take(&mut self, frame: &Frame<'_>) {
        let direction = match (self.layer, frame.kind) {
            (_, PacketKind::Foreign) => return,
            (LinkLayer::Loopback, _) => None,
            (_, PacketKind::Outgoing) => Some(Direction::Up),
            (_, PacketKind::Incoming) => Some(Direction::Down),
        };
        self.frames += 1;
        let packet = frame.bytes.get(frame.network..).unwrap_or_default();
        let length = frame.length.saturating_sub(frame.network as u32);
        let offload = frame.offload;
        let captured = Captured::read(packet, length, offload.segmentation, offload.segment);
        match captured.and_then(|captured| model::packets::Observation::from_capture(&captured, direction)) {
            Some(observed) => self.tally.add(&observed),
            None => self.unread += 1,
        }
        if let Some(file) = &mut self.file {
            file.take(frame, captured.as_ref(), direction);
        }
    }
}

/// How often it looks whether it is to stop, and how long a frame may wait for the file.
const LOOK: Nanos = Nanos::from_millis(50);
/// The kernel hands frames over within 50 ms; a busy host needs longer.
const LINGER: Nanos = Nanos::from_millis(120);
