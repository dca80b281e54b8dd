//! iPerf2's text and CSV, in the shapes iPerf 2.1.8 prints them (checked against it).
//!
//! Two things are not copied. A figure that is not known is not made up: its column, or all of the row behind the bandwidth, is
//! left out. Errors of 2.1.8 are corrected: a standard deviation of connect times in milliseconds like the times beside it, and
//! totals of UDP in CSV that are no -1.

mod bounceback;
mod columns;
mod connection;
mod csv;
mod histogram;
mod settings;
mod text;
mod units;

pub use bounceback::{Iperf2Bounceback, Iperf2OneWay};
pub use connection::{Iperf2Connection, connect_times};
pub use histogram::{Iperf2Histogram, Iperf2Percentiles};
pub use settings::{Bounceback, Iperf2Settings, Pace};
pub use text::Iperf2Text;

pub use crate::IperfRole as Iperf2Role;

use model::time::WallTime;

/// The part of the command line that changes the output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iperf2Options {
    /// Client or server.
    pub role: Iperf2Role,
    /// `-e`.
    pub enhanced: bool,
    /// `-f`: the letter of the bandwidth's unit; lower case bits, upper case bytes; `None` chooses by size.
    pub unit: Option<char>,
    /// `-y C`.
    pub csv: bool,
    /// `--sum-only`.
    pub sum_only: bool,
    /// `--hide-ips`.
    pub hide_ips: bool,
    /// `-x`.
    pub exclude: Exclude,
    /// The return path runs on connections of its own (`-d`, `-r`).
    pub dual: bool,
    /// The zone that times of day are printed in.
    pub zone: Zone,
    /// The percentiles of lines of bins.
    pub percentiles: Iperf2Percentiles,
}

/// How the data of a test is cut, as far as its rows show it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Cut {
    /// Not at all, or by `--trip-times` alone.
    #[default]
    Stream,
    /// Frames (`--isochronous`).
    Frames,
    /// Bursts (`--burst-period`), so many a second.
    Bursts(f64),
}

/// Reports that are not printed (`-x CDSV`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// `C`: connections.
    pub connections: bool,
    /// `D`: data.
    pub data: bool,
    /// `S`: settings.
    pub settings: bool,
    /// `V`: the server's.
    pub server: bool,
}

/// A time zone at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Seconds ahead of UTC.
    pub offset: i32,
    /// Its abbreviation.
    pub name: String,
}

impl Default for Zone {
    fn default() -> Zone {
        Zone { offset: 0, name: "UTC".into() }
    }
}

impl Zone {
    /// `2026-11-21 21:39:54 (UTC)`.
    fn date(&self, wall: WallTime) -> String {
        let text = self.local(wall);
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
        format!("{} {} ({})", part(0, 10), part(11, 19), self.name)
    }

    /// `20261121213954`, with `.123` where milliseconds are wanted.
    fn compact(&self, wall: WallTime, millis: bool) -> String {
        let text = self.local(wall);
        let whole = text.get(..19).unwrap_or_default();
        let digits: String = whole.chars().filter(char::is_ascii_digit).collect();
        if millis { format!("{digits}.{:03}", wall.0 / 1_000_000 % 1000) } else { digits }
    }

    /// The local time, printed as if it were UTC.
    fn local(&self, wall: WallTime) -> String {
        let shift = i64::from(self.offset) * 1_000_000_000;
        WallTime(wall.0.saturating_add_signed(shift)).to_string()
    }
}

/// The version of iPerf2 whose output this is, as `-v` prints it.
pub const VERSION: &str = "iperf version 2.1.8 (12 August 2022) pthreads";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_in_a_zone() {
        let wall: WallTime = "2026-11-21T21:39:54.5Z".parse().expect("a time");
        let zone = Zone { offset: 3600, name: "CET".into() };
        assert_eq!(zone.date(wall), "2026-11-21 22:39:54 (CET)");
        assert_eq!(Zone::default().compact(wall, false), "20261121213954");
        assert_eq!(Zone { offset: -3 * 3600, ..zone }.compact(wall, true), "20261121183954.500");
    }
}
