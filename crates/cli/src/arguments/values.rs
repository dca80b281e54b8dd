//! Values of options that are no plain numbers: formats, patterns of bytes, fingerprints.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use model::path::from_hex;
use model::units::{BitRate, Bytes, UnitError};
use report::format::{FORMATS, Format, by_name};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Takes the name of a format of the table.
pub(super) fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names).map(|name| by_name(&name).expect("only names of the table are taken"))
}

/// Takes the words of a table, each with its value and what it is; one about which the table has no text is another spelling.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    words: &'static [(&str, T, &str)],
) -> impl TypedValueParser<Value = T> {
    let names =
        words.iter().map(|(word, _, about)| PossibleValue::new(*word).help(*about).hide(about.is_empty()));
    PossibleValuesParser::new(names).map(|typed| {
        let found = words.iter().find(|(word, ..)| *word == typed);
        found.expect("only words of the table are taken").1
    })
}

/// Help of `--format`, with every name of the table.
pub(super) fn format_help() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let (last, others) = names.split_last().expect("the table has rows");
    format!("How the result is written: {} or {last}", others.join(", "))
}

/// The speed of a link. A bare number would be bits per second, of which no link has so few.
pub(super) fn link_speed(text: &str) -> Result<BitRate, String> {
    let speed: BitRate = text.parse().map_err(|error: UnitError| error.to_string())?;
    match speed.0 {
        // None at all is refused where it is used.
        0 | 1_000.. => Ok(speed),
        _ => Err(format!("{speed} is the speed of no link: write its unit, such as 25G or 100M")),
    }
}

/// A size below 4 GiB, which is more than any packet, block or buffer has.
pub(super) fn size(text: &str) -> Result<u32, String> {
    let size: Bytes = text.parse().map_err(|error: UnitError| error.to_string())?;
    u32::try_from(size.0).map_err(|_| format!("{} bytes are more than can be", size.0))
}

/// A share of a hundred, from 0 to 100, with or without its sign.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>().ok();
    number.filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(|| "expected 0 to 100".into())
}

/// Bytes: a text, `hex:` and hexadecimal digits, or `@` and the name of a file that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub Vec<u8>);

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        if let Some(file) = text.strip_prefix('@') {
            return std::fs::read(file).map(Pattern).map_err(|e| format!("read {file}: {e}"));
        }
        let Some(digits) = text.strip_prefix("hex:") else { return Ok(Pattern(text.into())) };
        from_hex(digits)
            .map(Pattern)
            .ok_or_else(|| "after hex: come pairs of hexadecimal digits, such as hex:0aff".into())
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    /// 64 hexadecimal digits, with colons or without, after `sha256:` or not.
    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let wrong = "expected the 64 hexadecimal digits that `pathmeter serve --tls` prints";
        let text = text.strip_prefix("sha256:").or_else(|| text.strip_prefix("SHA256:")).unwrap_or(text);
        let bytes = from_hex(&text.replace(':', "")).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Fingerprint).ok_or_else(|| wrong.into())
    }
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_has_a_unit() {
        assert_eq!(link_speed("25G"), Ok(BitRate(25_000_000_000)));
        assert_eq!(link_speed("9600"), Ok(BitRate(9600)));
        for text in ["25", "999", "fast"] {
            assert!(link_speed(text).is_err(), "{text}");
        }
        assert!(link_speed("25").unwrap_err().ends_with("such as 25G or 100M"));
    }

    #[test]
    fn bytes_are_a_text_or_pairs_of_digits() {
        assert_eq!("hello".parse(), Ok(Pattern(b"hello".to_vec())));
        assert_eq!("hex:0aFF".parse(), Ok(Pattern(vec![0x0a, 0xff])));
        for text in ["hex:0", "hex:0aff1", "hex:+f", "hex:-1", "hex:0x", "hex:zz"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn fingerprints_read_back() {
        let plain = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        let colons = plain
            .as_bytes()
            .chunks(2)
            .map(|pair| String::from_utf8_lossy(pair))
            .collect::<Vec<_>>()
            .join(":");
        let read: Fingerprint = plain.parse().expect("64 digits");
        assert_eq!(read.to_string(), plain);
        assert_eq!(colons.to_uppercase().parse(), Ok(read));
        assert_eq!(format!("sha256:{plain}").parse(), Ok(read));
        for text in ["", "00", &plain[1..], &plain.replace('f', "g"), "é"] {
            assert!(text.parse::<Fingerprint>().is_err(), "{text}");
        }
    }
}
