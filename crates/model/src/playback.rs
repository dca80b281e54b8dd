//! A playback: messages of given sizes at given times, from a file of lines `seconds, bytes`.
//!
//! The format is sockperf's (`sockperf playback --data-file`), and so are its rules: a line that begins with `#` and an
//! empty one mean nothing, times are in seconds and rise strictly from above 0, a message has 14 to 64000 bytes. What
//! follows the size in a line is passed over.

use crate::units::Nanos;
use thiserror::Error;

/// A message of a playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// When it is due, since the start.
    pub at: Nanos,
    /// Bytes.
    pub size: u32,
}

/// Why a playback cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlaybackError {
    /// A line is not a time and a size.
    #[error(
        "line {line}: can't read time and size in `{text}`: expected seconds, bytes, such as `0.25, 1400`"
    )]
    Syntax {
        /// From 1 on.
        line: usize,
        /// The text in the file.
        text: String,
    },
    /// A time is not later than that of the message before, or the first is not later than 0.
    #[error("line {0}: the time must be later than that of the message before, and the first later than 0")]
    Order(usize),
    /// A message is too short or too long.
    #[error("line {line}: illegal size {size}: a message has {SHORTEST} to {LONGEST} bytes")]
    Size {
        /// From 1 on.
        line: usize,
        /// The size in the file.
        size: i64,
    },
    /// There is no message at all.
    #[error("there is no message in it")]
    Empty,
}

/// Reads a playback.
///
/// # Errors
/// At the first line that breaks a rule.
pub fn parse(text: &str) -> Result<Vec<Item>, PlaybackError> {
    let mut items: Vec<Item> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let syntax = || PlaybackError::Syntax { line, text: text.chars().take(80).collect() };
        let (seconds, size) = time_and_size(text).ok_or_else(syntax)?;
        let last = items.last().map_or(Nanos::ZERO, |item| item.at);
        // Twenty years at most: beyond, nanoseconds run out.
        let at = Nanos((seconds * 1e9).round().clamp(0.0, 6e17) as u64);
        if at <= last {
            return Err(PlaybackError::Order(line));
        }
        let legal = u32::try_from(size).ok().filter(|size| (SHORTEST..=LONGEST).contains(size));
        items.push(Item { at, size: legal.ok_or(PlaybackError::Size { line, size })? });
    }
    if items.is_empty() { Err(PlaybackError::Empty) } else { Ok(items) }
}

/// `0.5, 100` with or without spaces; only the comma is a must.
fn time_and_size(line: &str) -> Option<(f64, i64)> {
    let (time, rest) = line.split_once(',')?;
    let rest = rest.trim_start();
    let sign = usize::from(rest.starts_with(['-', '+']));
    let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let seconds: f64 = time.trim().parse().ok()?;
    let size = rest[..sign + digits].parse().ok()?;
    seconds.is_finite().then_some((seconds, size))
}

/// Least size of a message, bytes: sockperf's header.
const SHORTEST: u32 = 14;
/// Largest size of a message, bytes: sockperf's limit.
const LONGEST: u32 = 64_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_and_sizes() {
        let items = parse("# time, size\n\n0.001, 14\n0.5,64000\n  1e0 , 200 and more\r\n").unwrap();
        let expected = [(1_000_000, 14), (500_000_000, 64_000), (1_000_000_000, 200)];
        assert_eq!(items, expected.map(|(at, size)| Item { at: Nanos(at), size }));
    }

    #[test]
    fn what_sockperf_refuses_is_refused() {
        assert_eq!(parse("0.0, 14\n"), Err(PlaybackError::Order(1)));
        assert_eq!(parse("-1, 14\n"), Err(PlaybackError::Order(1)));
        assert_eq!(parse("#\n0.1, 14\n0.1, 14\n"), Err(PlaybackError::Order(3)));
        assert_eq!(parse("0.2, 14\n0.1, 14\n"), Err(PlaybackError::Order(2)));
        assert_eq!(parse("0.1, 13\n"), Err(PlaybackError::Size { line: 1, size: 13 }));
        assert_eq!(parse("0.1, 64001\n"), Err(PlaybackError::Size { line: 1, size: 64_001 }));
        assert_eq!(parse("0.1, -5\n"), Err(PlaybackError::Size { line: 1, size: -5 }));
        for text in ["0.1 14", "0.1,", "x, 14", ",14", " ", "nan, 14", "inf, 14"] {
            let refused = parse(text);
            assert!(matches!(refused, Err(PlaybackError::Syntax { line: 1, .. })), "{text}: {refused:?}");
        }
        assert_eq!(parse("# nothing\n"), Err(PlaybackError::Empty));
        assert_eq!(
            parse("soon, 14").unwrap_err().to_string(),
            "line 1: can't read time and size in `soon, 14`: expected seconds, bytes, such as `0.25, 1400`"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn what_is_written_is_read(gaps in prop::collection::vec((1_u64..10_000_000, 14_u32..=64_000), 1..50)) {
            let mut at = 0;
            let mut next = |(gap, size)| {
                at += gap;
                Item { at: Nanos(at * 1000), size }
            };
            let items: Vec<Item> = gaps.into_iter().map(&mut next).collect();
            let line = |item: &Item| format!("{}.{:06}, {}\n", item.at.0 / 1_000_000_000, item.at.0 / 1000 % 1_000_000, item.size);
            let text: String = items.iter().map(line).collect();
            prop_assert_eq!(parse(&text), Ok(items));
        }
    }
}
