//! Which source and which sink: tried with bursts through the device, never assumed.

mod messages;

use super::port::{Port, Traffic};
use crate::error::{Failure, Result};
use frames::{Burst, Watch};
use linux::clock::mono_now;
use model::dut::{SinkKind, SourceKind, Tools, Tried};
use model::plan::Direction;
use model::units::{Bytes, Nanos, PacketRate};

/// Tries what the ports can, and takes the sink that sees the most, and the fastest of the sources whose frames arrive.
///
/// # Errors
/// `Kind::Usage` for frames that do not fit an interface; `Kind::Unreachable` where nothing can be sent or counted, or
/// nothing comes out of the device: with what to look at.
pub(crate) fn choose(
    from: &mut dyn Port,
    to: &mut dyn Port,
    traffic: &Traffic,
    direction: Direction,
) -> Result<Tools> {
    messages::check_size(from, &traffic.sent)?;
    messages::check_size(to, &traffic.arriving())?;
    let (sources, sinks) = (from.sources(), to.sinks());
    let mut trial = Trial { from, to, traffic: traffic.clone(), tried: Vec::new(), reached: false };
    trial.teach(&sources, &sinks);
    let Some(sink) = trial.best_sink(&sources, &sinks) else {
        return Err(trial.failure().into());
    };
    let source = trial.fastest(&sources, sink);
    messages::explain(&mut trial.tried, &trial.from.facts().name, sink);
    Ok(Tools { direction, source, sink, tried: trial.tried, alone: None })
}

/// The trying of pairs.
struct Trial<'a> {
    from: &'a mut dyn Port,
    to: &'a mut dyn Port,
    /// With a tag of its own for each burst, so that what is late is not counted with the next.
    traffic: Traffic,
    tried: Vec<Tried>,
    /// Something has come out of the device.
    reached: bool,
}

impl Trial<'_> {
    /// Sends a few frames until one arrives, for some seconds at most: devices that have to ask for the far port's address, or
    /// to learn where it is, lose the first ones. Those of `AF_PACKET` reach every driver.
    fn teach(&mut self, sources: &[SourceKind], sinks: &[SinkKind]) {
        let (Some(source), Some(sink)) = (sources.last(), sinks.last()) else { return };
        let until = mono_now() + LEARNING;
        while !self.reached && mono_now() < until {
            if self.burst(*source, *sink, &TEACHING).refused.is_some() {
                return;
            }
        }
    }

    /// The first sink that sees all, or as much as the next one; or else the one that sees the most. None where none sees
    /// anything.
    fn best_sink(&mut self, sources: &[SourceKind], sinks: &[SinkKind]) -> Option<SinkKind> {
        let mut best = (0.0, None);
        for sink in sinks {
            let mut most: f64 = 0.0;
            // Where nothing came so far, the source that every driver takes is enough to say so.
            let last = if best.1.is_none() && !self.tried.iter().all(|tried| tried.refused.is_some()) {
                sources.len().saturating_sub(1)
            } else {
                0
            };
            for source in &sources[last..] {
                most = most.max(self.slow(*source, *sink));
            }
            if most >= ALL {
                return Some(*sink);
            }
            // Two ways to count that see the same: it is the device that loses the rest.
            if best.1.is_some() && (most - best.0).abs() <= best.0 * SAME {
                break;
            }
            if most > best.0 {
                best = (most, Some(*sink));
            }
        }
        best.1
    }

    /// The source of the highest ceiling, of those that come near the best in what arrives.
    fn fastest(&mut self, sources: &[SourceKind], sink: SinkKind) -> SourceKind {
        let with_sink = |tried: &&Tried| tried.sink == sink;
        let most = self.tried.iter().filter(with_sink).map(share).fold(0.0, f64::max);
        let deliver: Vec<SourceKind> = self
            .tried
            .iter()
            .filter(with_sink)
            .filter(|tried| share(tried) >= most * ALMOST)
            .map(|tried| tried.source)
            .collect();
        let mut fastest = (sources[0], None);
        for source in deliver {
            let flood = self.burst(source, sink, &FLOOD);
            let ceiling = rate(flood.sent, flood.time);
            if let Some(row) = self.tried.iter_mut().find(|row| (row.source, row.sink) == (source, sink)) {
                row.ceiling_pps = ceiling;
            }
            if ceiling.is_some() && ceiling > fastest.1 {
                fastest = (source, ceiling);
            }
        }
        fastest.0
    }

    /// Tries a pair at a rate that any device forwards, and notes it. Returns the share that arrived: the best one of some
    /// tries, as the host may delay frames in flight too.
    fn slow(&mut self, source: SourceKind, sink: SinkKind) -> f64 {
        let mut row = self.burst(source, sink, &SLOW);
        for _ in 1..TRIES {
            // A host that was busy loses some, never all.
            if row.refused.is_some() || row.received == 0 || share(&row) >= ALL {
                break;
            }
            let again = self.burst(source, sink, &SLOW);
            if share(&again) > share(&row) {
                row = again;
            }
        }
        let share = share(&row);
        self.tried.push(row);
        share
    }

    fn burst(&mut self, source: SourceKind, sink: SinkKind, burst: &Burst) -> Tried {
        let spec = &mut self.traffic.sent;
        spec.tag = spec.tag.wrapping_add(1);
        let frame = spec.sizes.iter().max().copied().unwrap_or(Bytes(0));
        let mut row = Tried {
            source,
            sink,
            frame,
            sent: 0,
            received: 0,
            time: Nanos::ZERO,
            ceiling_pps: None,
            refused: None,
        };
        let outcome = self.send_and_count(&mut row, burst);
        row.refused = outcome.err().map(|error| crate::error::sentence(&error));
        self.reached |= row.received > 0;
        row
    }

    fn send_and_count(&mut self, row: &mut Tried, burst: &Burst) -> Result<()> {
        self.to.count(row.sink, &self.traffic.arriving(), burst.all_frames(), Watch::Counts)?;
        let sent = self.from.send(row.source, &self.traffic.sent, burst).and_then(|()| self.from.sent());
        if let Ok(sent) = &sent {
            self.wait_for_those_in_flight(sent.frames);
        }
        // Also where nothing was sent, so that the sink goes.
        let counted = self.to.counted();
        let sent = sent?;
        (row.sent, row.time) = (sent.frames, sent.time);
        row.received = counted?.arrived.distinct();
        Ok(())
    }

    /// Until all have come, or no more can be.
    fn wait_for_those_in_flight(&self, sent: u64) {
        let until = mono_now() + IN_FLIGHT;
        while mono_now() < until && self.to.arrived().is_none_or(|arrived| arrived < sent) {
            std::thread::sleep(STEP.to_duration());
        }
    }

    fn failure(&self) -> Failure {
        messages::failure(&self.tried, &self.from.facts(), &self.to.facts(), &self.traffic)
    }
}

/// How much of what was sent arrived.
fn share(tried: &Tried) -> f64 {
    if tried.sent == 0 { 0.0 } else { tried.received as f64 / tried.sent as f64 }
}

/// Frames per second, where the last of so many was sent this long after the first.
pub(super) fn rate(frames: u64, time: Nanos) -> Option<PacketRate> {
    let seconds = time.as_secs_f64();
    (frames > 1 && seconds > 0.0).then(|| PacketRate(((frames - 1) as f64 / seconds).round() as u64))
}

/// Ten frames, a millisecond apart.
const TEACHING: Burst =
    Burst { frames: 10, interval_ps: 1_000_000_000, then: None, time: Nanos::from_secs(1) };
/// 2000 frames at 20,000 a second.
const SLOW: Burst = Burst { frames: 2000, interval_ps: 50_000_000, then: None, time: Nanos::from_secs(1) };
/// The largest rate for a twentieth of a second.
const FLOOD: Burst = Burst { frames: 1_000_000, interval_ps: 0, then: None, time: Nanos::from_millis(50) };
/// RFC 2544 section 23 waits two seconds after learning frames; some devices ask again only then.
const LEARNING: Nanos = Nanos::from_secs(3);
/// Frames that a device holds longer than this at a low load are not waited for.
const IN_FLIGHT: Nanos = Nanos::from_millis(200);
/// Between two looks whether all have come.
const STEP: Nanos = Nanos::from_millis(5);
/// A share that is as good as all.
const ALL: f64 = 0.999;
/// Another source's share that is as good as the best. One that a driver does not take loses all or nearly all; some in a
/// hundred are lost when the host holds a generator up.
const ALMOST: f64 = 0.9;
/// Shares of two ways to count that differ by no more than this share of the first are the same.
const SAME: f64 = 0.02;
/// Tries of a pair of which some frames did not arrive.
const TRIES: u32 = 4;

#[cfg(test)]
mod tests;
