//! What iPerf2's extended reports have of a stream, in an interval or in all, beside what every sample and result has.

/// Of one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDetail {
    /// Stream number.
    pub stream: u32,
    /// Calls that moved data: writes or reads.
    pub calls: u64,
    /// TCP receivers: reads by size, in eighths of the buffer, as `Reads=Dist`.
    pub reads: [u64; 8],
    /// UDP receivers: one-way delays of the datagrams, on the two ends' wall clocks.
    pub delay: Option<DelaySpread>,
    /// Delays of whole bursts over TCP (`--trip-times`); absent: not measured.
    pub bursts: Option<DelaySpread>,
    /// Bytes of those bursts.
    pub burst_bytes: u64,
}

/// Signed nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelaySpread {
    /// How many.
    pub count: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation, where it is known.
    pub stddev: Option<f64>,
}
