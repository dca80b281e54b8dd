//! Counting: what arrived of a trial.

use linux::error::Result;
use model::dut::SinkKind;
use stats::histogram::Histogram;
use units::Nanos;
use units::time::MonoTime;

/// Counts the frames of one trial on one interface, from its making to its end.
pub trait Sink: Send {
    /// How it counts.
    fn kind(&self) -> SinkKind;

    /// What has arrived so far. To be asked when the sending has ended and what is still under way has come.
    ///
    /// # Errors
    /// What the kernel gives; or that it could not keep up, so that the count is not the interface's.
    fn arrived(&self) -> Result<Arrived>;

    /// The numbers below `frames` that have not come, the lowest `most` of them.
    ///
    /// # Errors
    /// As [`Sink::arrived`].
    fn missing(&self, frames: u64, most: usize) -> Result<Vec<u64>>;

    /// The highest number below `frames` that has not come.
    ///
    /// # Errors
    /// As [`Sink::arrived`].
    fn last_missing(&self, frames: u64) -> Result<Option<u64>>;
}

/// What a sink is to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Only counts: what a search for the highest rate needs.
    Counts,
    /// Counts and times of arrival: delays, their variation, the longest silence. Reading the clock and sorting into
    /// histograms costs each frame some 40 ns of the CPU that receives it.
    Times,
}

/// What arrived.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Frames of the trial, duplicates included.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: u64,
    /// Frames whose number had come before.
    pub duplicates: u64,
    /// Frames that came after one with a higher number, on the same CPU (RFC 4737).
    pub reordered: u64,
    /// Frames with numbers too high for it to be known whether they came twice.
    pub unchecked: u64,
    /// Frames of others, left to the stack; without those that the kernel keeps away from the sink (all but the XDP sinks are
    /// given what bears the trial's tag alone).
    pub others: u64,
    /// One-way delays in nanoseconds, when times are watched and the frames carry theirs; true only when both clocks are this
    /// host's. Minimum, maximum and mean are exact, the rest to the histogram's precision.
    pub delays: Option<Histogram>,
    /// Each delay less the one before on the same CPU (RFC 3393), as the two histograms of those below zero, without their
    /// sign, and of the others.
    pub variation: Option<(Histogram, Histogram)>,
    /// The longest time without a frame between two of the trial, when times are watched.
    pub silence: Option<Silence>,
}

/// The time between two frames that came one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When the last frame before came, `CLOCK_MONOTONIC` of this host.
    pub last: MonoTime,
    /// When the first one after came.
    pub first: MonoTime,
}

impl Arrived {
    /// Frames of the trial that came, each counted once.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.frames.saturating_sub(self.duplicates)
    }
}

impl Silence {
    /// How long it was.
    #[must_use]
    pub fn time(&self) -> Nanos {
        self.first - self.last
    }
}
