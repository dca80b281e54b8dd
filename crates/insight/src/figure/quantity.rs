//! The kinds of value a figure can have, read and printed.

use model::finding::Status;
use model::limit::LimitKind;
use model::units::{BitRate, Bytes, Nanos, PacketRate, grouped, percent};

/// The quantity that a figure counts; the number behind it is in the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bits per second.
    Rate,
    /// Packets per second.
    Packets,
    /// 0 to 1, also written in percent.
    Share,
    /// Whole things.
    Count,
    /// Bytes.
    Size,
    /// Nanoseconds.
    Time,
    /// A status, by its place among all.
    Verdict,
    /// A kind of limit, by its place among all.
    Limit,
    /// From 0, low, to 2, high.
    Confidence,
}

impl Quantity {
    /// The value is a word, which lists show and no comparison orders.
    #[must_use]
    pub const fn is_word(self) -> bool {
        matches!(self, Quantity::Verdict | Quantity::Limit | Quantity::Confidence)
    }

    /// The value of a text, in the base unit. A number without the unit that it must have is none: `9` of a rate would be
    /// 9 bit/s.
    #[must_use]
    pub fn read(self, text: &str) -> Option<f64> {
        let has_unit = matches!(self, Quantity::Rate | Quantity::Packets | Quantity::Time);
        if has_unit && text.parse::<f64>().is_ok_and(|number| number != 0.0) {
            return None;
        }
        match self {
            Quantity::Rate => text.parse::<BitRate>().ok().map(|rate| rate.0 as f64),
            Quantity::Packets => text.parse::<PacketRate>().ok().map(|rate| rate.0 as f64),
            Quantity::Share => share(text),
            Quantity::Count => text.parse::<u64>().ok().map(|count| count as f64),
            Quantity::Size => text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
            Quantity::Time => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
            Quantity::Verdict => Status::named(text).map(|status| f64::from(status as u8)),
            Quantity::Limit => {
                LimitKind::ALL.iter().position(|kind| kind.to_string() == text).map(|place| place as f64)
            }
            Quantity::Confidence => SURE.iter().position(|word| *word == text).map(|place| place as f64),
        }
    }

    /// The value as people read it.
    #[must_use]
    pub fn print(self, value: f64) -> String {
        let whole = value.round() as u64;
        match self {
            Quantity::Rate => BitRate(whole).to_string(),
            Quantity::Packets => PacketRate(whole).to_string(),
            Quantity::Share => percent(value),
            Quantity::Count => grouped(whole),
            Quantity::Size => size(whole),
            Quantity::Time => Nanos(whole).to_string(),
            Quantity::Verdict => {
                Status::ALL.get(whole as usize).map_or("unknown", |status| status.word()).into()
            }
            Quantity::Limit => {
                LimitKind::ALL.get(whole as usize).map_or_else(|| "unknown".into(), LimitKind::to_string)
            }
            Quantity::Confidence => SURE.get(whole as usize).copied().unwrap_or("unknown").into(),
        }
    }

    /// The unit in which values up to this one are read with ease, and its size in the base unit.
    #[must_use]
    pub fn axis_unit(self, most: f64) -> (&'static str, f64) {
        let units: &[(&str, f64)] = match self {
            Quantity::Rate => &[("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)],
            Quantity::Packets => &[("Mpps", 1e6), ("kpps", 1e3), ("pps", 1.0)],
            Quantity::Time => &[("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)],
            Quantity::Share => &[("%", 0.01)],
            Quantity::Size => &[("bytes", 1.0)],
            Quantity::Count | Quantity::Verdict | Quantity::Limit | Quantity::Confidence => &[("", 1.0)],
        };
        units.iter().find(|(_, size)| most >= *size).or(units.last()).copied().unwrap_or(("", 1.0))
    }

    /// The same for these values.
    #[must_use]
    pub fn axis(self, values: impl Iterator<Item = f64>) -> (&'static str, f64) {
        self.axis_unit(values.fold(0.0, f64::max))
    }

    /// The end of a name in Prometheus, and how many of ours its unit is; figures of JSON have the same unit.
    #[must_use]
    pub fn base_unit(self) -> (&'static str, f64) {
        match self {
            Quantity::Rate => ("_bits_per_second", 1.0),
            Quantity::Packets => ("_packets_per_second", 1.0),
            Quantity::Share => ("_ratio", 1.0),
            Quantity::Count | Quantity::Verdict | Quantity::Limit | Quantity::Confidence => ("", 1.0),
            Quantity::Size => ("_bytes", 1.0),
            Quantity::Time => ("_seconds", 1e9),
        }
    }

    /// Its name in an error.
    #[must_use]
    pub fn what(self) -> &'static str {
        self.description().0
    }

    /// Such a value.
    #[must_use]
    pub fn example(self) -> &'static str {
        self.description().1
    }

    /// Its name in an error, and an example.
    fn description(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Rate => ("a rate with its unit", "9.4Gbit/s"),
            Quantity::Packets => ("a packet rate with its unit", "1.2Mpps"),
            Quantity::Share => ("a share", "0.1% or 0.001"),
            Quantity::Count => ("a whole number", "12"),
            Quantity::Size => ("an amount of bytes", "1472"),
            Quantity::Time => ("a time with its unit", "5ms"),
            Quantity::Verdict => ("one of ok, degraded, broken, problem and void", "ok"),
            Quantity::Limit => ("a kind of limit", "shaper"),
            Quantity::Confidence => ("one of low, medium and high", "high"),
        }
    }
}

/// In the order of [`model::limit::Confidence`].
const SURE: [&str; 3] = ["low", "medium", "high"];

/// A size of packets is written as it is set, an amount of data with its unit.
fn size(bytes: u64) -> String {
    match bytes <= LARGEST_PACKET {
        true => format!("{bytes} bytes"),
        false => Bytes(bytes).to_string(),
    }
}

/// The total length of an IP packet has 16 bits.
const LARGEST_PACKET: u64 = 65_535;

fn share(text: &str) -> Option<f64> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text, 1.0),
    };
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number / scale)
}
