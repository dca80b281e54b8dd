//! Why a benchmark cannot begin.

use crate::framing::FramingError;
use crate::search::{Load, SearchError};
use crate::units::{Bytes, Nanos, PacketRate};
use thiserror::Error;

/// Why a benchmark cannot begin.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SetupError {
    /// There is nothing to do.
    #[error("plan benchmark: no test is given")]
    NoTests,
    /// There is nothing to send.
    #[error("plan benchmark: no frame size is given")]
    NoStreams,
    /// A mix of nothing.
    #[error("plan benchmark: the mix of {0} has no frames")]
    EmptyMix(String),
    /// A frame too small.
    #[error("plan benchmark: {stream} has frames of {} bytes; they need {} for headers and signature, FCS included", size.0, least.0)]
    Size {
        /// The stream.
        stream: String,
        /// The frame.
        size: Bytes,
        /// The least that will do.
        least: Bytes,
    },
    /// The same again.
    #[error("plan benchmark: {0} is given twice")]
    Twice(String),
    /// The limits are no interval.
    #[error("plan benchmark: the least load ({min}) must be below the most ({max})")]
    Limits {
        /// The least.
        min: PacketRate,
        /// The most.
        max: PacketRate,
    },
    /// The link carries less than the least load.
    #[error("plan benchmark: the least load ({min}) is above what the link carries of {stream} ({rate})")]
    AboveLink {
        /// The least load.
        min: PacketRate,
        /// The stream.
        stream: String,
        /// The rate of the link.
        rate: Load,
    },
    /// Something must be above zero.
    #[error("plan benchmark: {0} must be above 0")]
    Zero(&'static str),
    /// Bursts of a mix say nothing about frames.
    #[error(
        "plan benchmark: back-to-back frames are of one size (RFC 9004), and {0} is a mix; leave out the test or the mix"
    )]
    MixedBursts(String),
    /// A load that is none.
    #[error("plan benchmark: latency at {0} % of the throughput; it must be 1 to 100")]
    Percent(u32),
    /// Latency at no load.
    #[error("plan benchmark: latency at no load; give shares of the throughput in percent")]
    NoPercents,
    /// A service without a profile.
    #[error("plan benchmark: activation of a service needs its profile: at least the committed rate")]
    NoService,
    /// A share beyond the whole.
    #[error("plan benchmark: {name} of the service is {share}; it must be 0 to 1")]
    Share {
        /// Which.
        name: &'static str,
        /// The value given.
        share: f64,
    },
    /// A time that is zero, or longer than a day.
    #[error("plan benchmark: a {what} of {span}; it must be above 0 and at most a day")]
    Time {
        /// The quantity.
        what: &'static str,
        /// The time.
        span: Nanos,
    },
    /// A count that is none, or beyond reason.
    #[error("plan benchmark: {count} {what}; there must be 1 to 1000")]
    Count {
        /// The quantity.
        what: &'static str,
        /// The count given.
        count: u32,
    },
    /// A search without time for a trial.
    #[error(
        "plan benchmark: a search of {search} has no time for one trial of {trial} and its pauses of {pause}"
    )]
    Search {
        /// The time of a search.
        search: Nanos,
        /// The longest trial.
        trial: Nanos,
        /// Its pauses.
        pause: Nanos,
    },
    /// Frames that cannot be carried so.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// A search that makes no sense.
    #[error(transparent)]
    Searching(#[from] SearchError),
}
