//! A row of figures, as both iPerfs print it.

use super::build::possible;
use super::number::{Printed, rounded};
use model::units::Nanos;

/// A row: `[  5]   0.00-1.00   sec  1.02 GBytes  8.79 Gbits/sec    0   1.37 MBytes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IperfRow<'a> {
    pub(super) id: Id,
    /// The second pair of brackets of iPerf3, `TX-C`, or `*`: the return path of a stream of iPerf2.
    pub(super) role: Option<&'a str>,
    pub(super) start: Nanos,
    pub(super) end: Nanos,
    /// How far off the printed length may be.
    pub(super) half: Nanos,
    pub(super) bytes: Printed,
    pub(super) rate: Option<Printed>,
    /// Everything behind the rate, without the words below.
    rest: &'a str,
    /// Ends with `(omitted)`.
    pub(super) omitted: bool,
    /// Ends with `sender` (true) or `receiver`.
    pub(super) sender: Option<bool>,
    /// At least two blanks stand before `sec`, as iPerf3 prints every interval but long ones.
    pub(super) padded: bool,
}

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// One stream, by its number or socket.
    Stream(u32),
    /// All of them.
    Sum,
}

/// Jitter and losses: `0.019 ms  3/40 (7.5%)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) jitter: Nanos,
    pub(super) lost: i64,
    pub(super) total: i64,
}

impl<'a> IperfRow<'a> {
    /// Reads a line that is one; `None` of any other.
    pub(super) fn from_line(line: &'a str) -> Option<IperfRow<'a>> {
        let Head { id, role, start, end, half, bytes, padded, rest } = Head::from_line(line)?;
        let (number, behind) = first_word(rest);
        let (unit, behind) = first_word(behind);
        let has_rate = unit.contains('/');
        let rate = if has_rate { Printed::rate(number, unit) } else { None };
        let rest = without_blanks(if has_rate { behind } else { rest }).trim_end();
        let (omitted, rest) = without_last(rest, "(omitted)");
        let (sends, rest) = without_last(rest, "sender");
        let (receives, rest) = if sends { (false, rest) } else { without_last(rest, "receiver") };
        let sender = (sends || receives).then_some(sends);
        Some(IperfRow { id, role, start, end, half, bytes, rate, rest, omitted, sender, padded })
    }

    /// Whether a line is a row, and if so whether at least two blanks stand before `sec`.
    pub(super) fn padded(line: &str) -> Option<bool> {
        Head::from_line(line).map(|head| head.padded)
    }

    pub(super) fn elapsed(&self) -> Nanos {
        self.end.saturating_sub(self.start)
    }

    /// The words behind the rate.
    pub(super) fn tokens(&self) -> impl Iterator<Item = &'a str> + Clone {
        self.rest.split_ascii_whitespace()
    }

    /// The word at a place behind the rate.
    pub(super) fn token(&self, place: usize) -> Option<&'a str> {
        self.tokens().nth(place)
    }

    /// The jitter and losses in it.
    pub(super) fn losses(&self) -> Option<Losses> {
        // Most rows are of TCP and have no time behind the rate.
        if !self.rest.contains('/') {
            return None;
        }
        let mut tokens = self.tokens();
        let (mut before, mut jitter) = (None, None);
        for word in tokens.by_ref() {
            if word == "ms" {
                jitter = before;
                break;
            }
            before = Some(word);
        }
        let jitter = Printed::from_text(jitter?);
        let behind: String = tokens.collect();
        let (lost, behind) = behind.split_once('/')?;
        let digits = behind.bytes().enumerate();
        let count =
            digits.take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && *byte == b'-')).count();
        let jitter = jitter.map_or(Nanos::ZERO, |jitter| possible::jitter(jitter.value));
        Some(Losses { jitter, lost: lost.parse().ok()?, total: behind[..count].parse().ok()? })
    }

    /// A count that stands alone behind the rate.
    pub(super) fn count(&self) -> Option<i64> {
        self.token(0)?.parse().ok()
    }
}

/// The first word of a text, and what stands behind it.
fn first_word(text: &str) -> (&str, &str) {
    let text = without_blanks(text);
    text.split_at(text.bytes().position(|byte| byte.is_ascii_whitespace()).unwrap_or(text.len()))
}

/// A text without the blanks at its start, nearly all of which are spaces.
fn without_blanks(text: &str) -> &str {
    let spaces = text.bytes().take_while(|byte| *byte == b' ').count();
    text[spaces..].trim_start()
}

/// Whether a text ends with a word, and the text without it.
fn without_last<'a>(text: &'a str, word: &str) -> (bool, &'a str) {
    let before = text.strip_suffix(word);
    match before.filter(|before| before.is_empty() || before.ends_with(|c: char| c.is_ascii_whitespace())) {
        Some(before) => (true, before.trim_end()),
        None => (false, text),
    }
}

/// The begin of a row, up to its amount.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Head<'a> {
    id: Id,
    role: Option<&'a str>,
    start: Nanos,
    end: Nanos,
    half: Nanos,
    bytes: Printed,
    padded: bool,
    /// Everything behind the amount.
    rest: &'a str,
}

impl<'a> Head<'a> {
    fn from_line(line: &'a str) -> Option<Head<'a>> {
        Head::of_common_shape(line).or_else(|| Head::of_any_shape(line))
    }

    /// Reads a row as nearly all are printed, byte by byte; `None` of every other line, which may be a row all the same.
    fn of_common_shape(line: &'a str) -> Option<Head<'a>> {
        let mut cursor = Cursor { text: line, at: 0 };
        cursor.take("[")?;
        cursor.blanks();
        let id = match cursor.take("SUM") {
            Some(()) => Id::Sum,
            None => Id::Stream(cursor.count()?),
        };
        cursor.take("]")?;
        let role = match cursor.take("[") {
            Some(()) => {
                let role = cursor.run(|byte| byte.is_ascii_alphabetic() || byte == b'-');
                cursor.take("]")?;
                Some(role)
            }
            None => None,
        };
        cursor.blanks();
        let start = cursor.number()?;
        cursor.take("-")?;
        cursor.blanks();
        let end = cursor.number()?;
        let padded = match cursor.blanks() {
            0 => return None,
            blanks => blanks > 1,
        };
        cursor.take("sec ")?;
        cursor.blanks();
        let number = cursor.number()?;
        cursor.take(" ")?;
        cursor.blanks();
        let unit = cursor.run(|byte| byte.is_ascii_alphabetic());
        cursor.take(" ")?;
        let rest = &line[cursor.at..];
        Head::of_parts(id, role, [start, end], padded, number.bytes_of(unit)?, rest)
    }

    fn of_parts(
        id: Id,
        role: Option<&'a str>,
        [start, end]: [Printed; 2],
        padded: bool,
        bytes: Printed,
        rest: &'a str,
    ) -> Option<Head<'a>> {
        let half = half(if start.half > end.half { start } else { end });
        let (start, end) = (start.seconds()?, end.seconds()?);
        (end >= start).then_some(Head { id, role, start, end, half, bytes, padded, rest })
    }

    fn of_any_shape(line: &'a str) -> Option<Head<'a>> {
        let (id, behind) = line.trim_start().strip_prefix('[')?.split_once(']')?;
        let starred = id.contains('*');
        let id = match id.trim() {
            sum if sum.starts_with("SUM") => Id::Sum,
            number => Id::Stream(number.trim_start_matches('*').parse().ok()?),
        };
        let (role, behind) = match behind.strip_prefix('[').and_then(|behind| behind.split_once(']')) {
            Some((role, behind)) => (Some(role.trim()), behind),
            // The mark of a return path of iPerf2.
            None => (starred.then_some("*"), behind),
        };
        // Blanks stand before the end of an interval and behind it.
        let (start, behind) = behind.split_once('-')?;
        let behind = behind.trim_start();
        let (end, behind) = behind.split_at(behind.find(' ')?);
        let unit = behind.trim_start();
        let (padded, figures) = (behind.len() - unit.len() > 1, unit.strip_prefix("sec ")?);
        let (number, figures) = figures.trim_start().split_once(' ')?;
        let figures = figures.trim_start();
        let (unit, rest) = figures.split_once(' ').unwrap_or((figures, ""));
        let times = [Printed::from_text(start.trim())?, Printed::from_text(end)?];
        Head::of_parts(id, role, times, padded, Printed::bytes(number, unit)?, rest)
    }
}

/// A place in a line that moves on over what is read.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Moves over these words where they stand here.
    #[inline]
    fn take(&mut self, words: &str) -> Option<()> {
        self.text.as_bytes()[self.at..].starts_with(words.as_bytes()).then(|| self.at += words.len())
    }

    /// Moves over bytes of a kind, which are ASCII, and returns them.
    #[inline]
    fn run(&mut self, is: impl Fn(u8) -> bool) -> &'a str {
        let from = self.at;
        self.skip(is);
        &self.text[from..self.at]
    }

    /// The same, without them.
    fn skip(&mut self, is: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| is(*byte)) {
            self.at += 1;
        }
    }

    /// Moves over blanks, and returns their number.
    fn blanks(&mut self) -> usize {
        let from = self.at;
        self.skip(|byte| byte == b' ');
        self.at - from
    }

    /// Moves over a whole number of few digits, and returns it.
    fn count(&mut self) -> Option<u32> {
        let digits = self.run(|byte| byte.is_ascii_digit());
        let value = || digits.bytes().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        (1..=FEW_DIGITS).contains(&digits.len()).then(value)
    }

    /// Moves over a number, and returns it.
    #[inline]
    fn number(&mut self) -> Option<Printed> {
        let (printed, length) = Printed::at_begin(&self.text[self.at..]);
        self.at += length;
        printed
    }
}

/// Half of the last digit of a printed time of a row, both ends of which are rounded.
fn half(time: Printed) -> Nanos {
    Nanos(rounded(time.half * 1e9))
}

/// Digits of a number that fits 32 bits, whatever they are.
const FEW_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::super::mutated::mutated;
    use super::*;

    #[test]
    fn rows_of_both() {
        let row = IperfRow::from_line(
            "[  5][TX-C]   0.00-1.00   sec  1.02 GBytes  8.79 Gbits/sec    3   1.37 MBytes       ",
        )
        .unwrap();
        assert_eq!((row.id, row.role, row.padded), (Id::Stream(5), Some("TX-C"), true));
        assert_eq!((row.end, row.count()), (Nanos::from_secs(1), Some(3)));
        let row = IperfRow::from_line(
            "[SUM]  0.0- 1.0 sec  1,02 GBytes  8,79 Gbits/sec   0.019 ms    0/ 1704 (0%)",
        )
        .unwrap();
        assert_eq!((row.id, row.padded), (Id::Sum, false));
        assert_eq!(row.losses(), Some(Losses { jitter: Nanos::from_micros(19), lost: 0, total: 1704 }));
        let row = IperfRow::from_line(
            "[  4]   0.00-10.00  sec  10.1 GBytes  8.70 Gbits/sec  0.000 ms  18658/-90785 (0%)",
        )
        .unwrap();
        assert_eq!(row.losses().unwrap().total, -90_785);
        let row = IperfRow::from_line(
            "[  5]   0.00-1.00   sec  25.8 MBytes   216 Mbits/sec  0.098 ms  18658/21955 (85%)  (omitted)",
        )
        .unwrap();
        assert!(row.omitted && row.losses().unwrap().lost == 18_658);
    }

    #[test]
    fn rows_of_the_common_shape_are_what_they_are_in_any() {
        let lines = [
            "[  5]   1.00-2.00   sec  1.02 GBytes  8.79 Gbits/sec    0   1.37 MBytes",
            "[SUM]   0.00-10.00  sec  10.1 GBytes  8.70 Gbits/sec  0.000 ms  18658/-90785 (0%)",
            "[  5][TX-C]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec    3   1.37 MBytes",
            "[  3]  0.0- 1.0 sec  1.02 GBytes  8.79 Gbits/sec",
            "[ *1] 0.00-1.00 sec  48.0 KBytes   393 Kbits/sec  0.017 ms 0/33 (0%)  4.1/4.0/4.2/0.1 ms",
        ];
        let mut count = 0;
        for line in mutated(&lines) {
            let common = Head::of_common_shape(&line);
            count += usize::from(common.is_some());
            assert!(common.is_none() || common == Head::of_any_shape(&line), "{line:?}: {common:?}");
        }
        assert!(count > 5000, "{count}");
        for line in &lines[..4] {
            assert!(Head::of_common_shape(line).is_some(), "{line}");
        }
    }

    #[test]
    fn what_is_no_row() {
        for line in [
            "",
            "[",
            "[]",
            "[ ID] Interval sec x",
            "[  5] 1-0 sec  1 MBytes  1 Mbits/sec",
            "[  5] 0-1 sec 5",
            "[x] 0-1 sec 1 Bytes 1 bits/sec",
        ] {
            assert_eq!(IperfRow::from_line(line), None, "{line}");
        }
    }
}
