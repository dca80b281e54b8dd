//! iPerf3's text and JSON, in the shapes iPerf3 3.21 prints them (checked against it and against 3.12).

pub mod cjson;
mod ends;
mod json;
mod text;
mod units;

pub use json::{Iperf3JsonStream, iperf3_json};
pub use text::{Iperf3Text, server_banner};

pub use crate::IperfRole as Iperf3Role;

use model::units::Nanos;

/// The options of iPerf3's command line that change what it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iperf3Options {
    /// Client or server.
    pub role: Iperf3Role,
    /// `-T`: put before every line of the client's text, and into JSON.
    pub title: Option<String>,
    /// `--extra-data`: put into JSON.
    pub extra_data: Option<String>,
    /// `-V`: prints more in text.
    pub verbose: bool,
    /// `-f`: the letter of the bitrate's unit, one of `kmgtKMGT`; `a` chooses by size.
    pub unit: char,
    /// `-l` was not given: with `-V` the client prints the datagram size it chose.
    pub default_length: bool,
    /// `-F`: the file that is sent or written.
    pub file: Option<Iperf3File>,
    /// First line of `-V` and JSON's `version`: scripts compare it.
    pub version: String,
    /// Second line of `-V` and JSON's `system_info`.
    pub system_info: String,
}

/// A file in place of made-up data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iperf3File {
    /// Name of the file, as given.
    pub name: String,
    /// Bytes before the test, where it was there.
    pub size: Option<u64>,
}

impl Iperf3File {
    /// Its size, and how much of it these bytes are, percent: all of an empty one. One that is written is as long as what was
    /// received.
    fn share(&self, sending: bool, row: &ends::StreamEnd, bytes: u64) -> (u64, u64) {
        let size = self.size.filter(|_| sending).unwrap_or(row.received);
        (size, bytes.saturating_mul(100).checked_div(size).unwrap_or(100))
    }
}

impl Default for Iperf3Options {
    fn default() -> Iperf3Options {
        Iperf3Options {
            role: Iperf3Role::Client,
            title: None,
            extra_data: None,
            verbose: false,
            unit: 'a',
            default_length: true,
            file: None,
            version: VERSION.into(),
            system_info: String::new(),
        }
    }
}

/// The report interval that stands for one interval of the whole test (`-i 0`): longer than any test.
pub const WHOLE_TEST: Nanos = Nanos::from_secs(1_000_000_000);

/// The requested report interval, seconds.
fn interval_asked(interval: Nanos) -> f64 {
    if interval == WHOLE_TEST { 0.0 } else { interval.as_secs_f64() }
}

/// The version of iPerf3 whose output this is.
pub const VERSION: &str = "iperf 3.21";
