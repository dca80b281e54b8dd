//! SockPerf's text and files, in the shapes sockperf 3.7 and 3.10 print them (checked against both).
//!
//! The lines before the test are [`banner`]'s; after it come [`latency`] (ping-pong, under-load, playback) or
//! [`stream`] (throughput); a server's are [`server`]'s. All are pure functions that give the bytes of standard output.

pub mod banner;
pub mod histogram;
pub mod latency;
mod log;
pub mod server;
pub mod stats;
pub mod stream;
pub mod window;

use model::units::Nanos;

pub use histogram::Bins;
pub use model::latency::LatencyMode as Mode;
pub use window::{Counters, Cut, NoWindow, Observation, Record, Window, window};

/// The version whose output this is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Sockperf 3.7 (Debian 12): of the statistics only the standard deviation.
    V3_7,
    /// Sockperf 3.10.
    #[default]
    V3_10,
}

/// The requested test, as far as the text shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedTest {
    /// The version whose output this is.
    pub version: Version,
    /// The client's sub-command: `pp`, `ul`, `tp` or `pb`.
    pub mode: Mode,
    /// `--full-rtt`: round trips; else half of them.
    pub full_rtt: bool,
    /// `-b`: messages in a burst.
    pub burst: u32,
    /// `--mps`: messages per second; absent: as many as can be.
    pub rate: Option<u32>,
    /// `--reply-every`: one message in so many asks for a reply.
    pub reply_every: u32,
    /// `-m`: bytes.
    pub size: u32,
    /// `-r`: sizes differ by so many bytes.
    pub range: u32,
    /// When the test ends.
    pub end: End,
    /// `--ci_sig_level`: of the confidence interval, percent.
    pub confidence: u32,
    /// `--histogram`.
    pub histogram: Option<Bins>,
    /// `--giga-size`.
    pub giga: bool,
    /// `--increase_output_precision`.
    pub precise: bool,
}

/// When a test ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `-t`: seconds.
    Seconds(u32),
    /// `-n`: observations (3.10).
    Observations(u64),
}

/// A whole run, warm-up and cool-down included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// From the first message to the end of sending.
    pub run_time: Nanos,
    /// Length of the warm-up in it, in milliseconds, as printed ([`banner::warm_up_millis`]).
    pub warm_up_millis: u32,
    /// Messages sent.
    pub sent: u64,
    /// Different messages answered.
    pub received: u64,
}

impl Default for RequestedTest {
    /// The test of `sockperf pp` without options.
    fn default() -> RequestedTest {
        RequestedTest {
            version: Version::default(),
            mode: Mode::PingPong,
            full_rtt: false,
            burst: 1,
            rate: None,
            reply_every: 1,
            size: 14,
            range: 0,
            end: End::Seconds(1),
            confidence: 99,
            histogram: None,
            giga: false,
            precise: false,
        }
    }
}

impl RequestedTest {
    /// Messages per second as in files: for `max` the number that sockperf makes room for.
    fn shown_rate(&self) -> u32 {
        let most = match self.mode {
            Mode::PingPong => MOST_PING_PONG.saturating_mul(self.burst).min(MOST),
            Mode::UnderLoad | Mode::Throughput | Mode::Playback => MOST,
        };
        self.rate.unwrap_or(most)
    }
}

fn micros(time: Nanos) -> f64 {
    time.0 as f64 / 1000.0
}

fn seconds(time: Nanos) -> f64 {
    micros(time) / 1_000_000.0
}

const MOST: u32 = 10_000_000;
const MOST_PING_PONG: u32 = 600_000;
const MAGENTA: &str = "\x1b[2;35m";
const RED: &str = "\x1b[0;31m";
const PLAIN: &str = "\x1b[0m";
/// Between the parts of a file.
const RULE: &str = "------------------------------\n";
