//! Counting the frames of a trial that arrive.

use linux::error::Result;
use model::dut::SinkKind;
use stats::histogram::Histogram;
use units::Nanos;
use units::time::MonoTime;

/// Counts the frames of one trial on one interface, as long as it exists.
pub trait Sink: Send {
    /// The kind of the sink.
    fn kind(&self) -> SinkKind;

    /// The arrivals so far. To be called when the sending has ended and the frames in flight have arrived.
    ///
    /// # Errors
    /// The kernel's error; or the sink could not keep up, so that its count is not the interface's.
    fn arrived(&self) -> Result<Arrived>;

    /// The highest number below `frames` that has not arrived.
    ///
    /// # Errors
    /// The same as [`Sink::arrived`].
    fn last_missing(&self, frames: u64) -> Result<Option<u64>>;
}

/// The measurements of a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Counts alone, as for a search for the highest rate.
    Counts,
    /// Counts and times of arrival: delays, their variation, the longest silence. Reading the clock and sorting into
    /// histograms costs each frame some 40 ns of the CPU that receives it.
    Times,
}

/// Frames that arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Frames of the trial, duplicates included.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: u64,
    /// Frames whose number had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after one with a higher number, on the same CPU (RFC 4737).
    pub reordered: u64,
    /// Frames with numbers too high for the check for duplicates.
    pub unchecked: u64,
    /// Other frames, left to the stack; without those that the kernel keeps away from the sink (all but the XDP sinks receive
    /// only frames with the trial's tag).
    pub others: u64,
    /// One-way delays in nanoseconds, when times are recorded and the frames carry theirs; true only when both clocks are this
    /// host's. Minimum, maximum and mean are exact, the rest to the histogram's precision.
    pub delays: Option<Histogram>,
    /// Each delay less the one before on the same CPU (RFC 3393), as the two histograms of those below zero, without their
    /// sign, and of the others.
    pub variation: Option<(Histogram, Histogram)>,
    /// The longest time without a frame between two of the trial, when times are recorded.
    pub silence: Option<Silence>,
}

/// The time between two consecutive frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Arrival of the last frame before, `CLOCK_MONOTONIC` of this host.
    pub last: MonoTime,
    /// Arrival of the first one after.
    pub first: MonoTime,
}

impl Arrived {
    /// Frames of the trial that arrived, each counted once.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.frames.saturating_sub(self.duplicates)
    }
}

impl Silence {
    /// Its length.
    pub fn time(&self) -> Nanos {
        self.first - self.last
    }
}
