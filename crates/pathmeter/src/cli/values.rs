//! Values of options that are no plain numbers: formats, DSCP, TOS byte, CPU list, fingerprint.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use model::path::from_hex;
use report::format::{FORMATS, Format, by_name};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Takes the name of a format of the table.
pub(super) fn format_parser() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names).map(|name| by_name(&name).expect("only names of the table are taken"))
}

/// What `--format` is for, with every name of the table.
pub(super) fn format_help() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let (last, others) = names.split_last().expect("the table has rows");
    format!("How the result is written: {} or {last}", others.join(", "))
}

/// A differentiated services code point, 0 to 63 (RFC 2474).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dscp(pub(crate) u8);

/// A whole TOS or traffic-class byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TosByte(pub(crate) u8);

/// CPU numbers, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<u32>);

/// Bytes: a text, `hex:` and hexadecimal digits, or `@` and the name of a file that holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern(pub(crate) Vec<u8>);

/// The SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(pub(crate) [u8; 32]);

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

impl Dscp {
    /// The byte of the IP header that carries it, ECN bits zero.
    pub(crate) fn tos(self) -> u8 {
        self.0 << 2
    }

    /// The code point of a name of RFC 2474, 2597, 3246, 5865 or 8622, in any letter case.
    pub(crate) fn named(text: &str) -> Option<Dscp> {
        NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|&(_, value)| Dscp(value))
    }
}

impl FromStr for Dscp {
    type Err = String;

    fn from_str(text: &str) -> Result<Dscp, String> {
        let number = || text.parse().ok().filter(|&value| value < 64).map(Dscp);
        Dscp::named(text).or_else(number).ok_or_else(|| {
            "expected a name (be, le, ef, va, cs0 to cs7, af11 to af43) or a number from 0 to 63".into()
        })
    }
}

impl FromStr for TosByte {
    type Err = String;

    fn from_str(text: &str) -> Result<TosByte, String> {
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        let value = match hex {
            Some(digits) => u8::from_str_radix(digits, 16),
            None => text.parse(),
        };
        value.map(TosByte).map_err(|_| "expected a byte: 0 to 255 or 0x00 to 0xff".into())
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (cpu(first), cpu(last)) {
                (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
                _ => return Err(format!("`{part}`: expected CPU numbers such as 0,2-3, below {MAX_CPUS}")),
            }
        }
        Ok(CpuList(cpus))
    }
}

fn cpu(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|&number| number < MAX_CPUS)
}

impl FromStr for Fingerprint {
    type Err = String;

    /// 64 hexadecimal digits, with colons or without, after `sha256:` or not.
    fn from_str(text: &str) -> Result<Fingerprint, String> {
        let wrong = || "expected the 64 hexadecimal digits that `pathmeter serve --tls` prints".to_owned();
        let text = text.strip_prefix("sha256:").or_else(|| text.strip_prefix("SHA256:")).unwrap_or(text);
        let digits: Vec<u8> = text
            .chars()
            .filter(|&c| c != ':')
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(wrong))
            .collect::<Result<_, _>>()?;
        let bytes: Vec<u8> = digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)).collect();
        if digits.len() != 64 {
            return Err(wrong());
        }
        bytes.try_into().map(Fingerprint).map_err(|_| wrong())
    }
}

impl Display for Fingerprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

const MAX_CPUS: u32 = 8192;

const NAMES: [(&str, u8); 24] = [
    ("be", 0),
    ("le", 1),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("va", 44),
    ("ef", 46),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_by_name_and_number() {
        for (text, tos) in
            [("ef", 0xb8), ("EF", 0xb8), ("af41", 0x88), ("cs7", 0xe0), ("va", 0xb0), ("46", 0xb8), ("0", 0)]
        {
            assert_eq!(text.parse::<Dscp>().map(Dscp::tos), Ok(tos), "{text}");
        }
        for text in ["64", "-1", "af44", "", "0x2e"] {
            assert!(text.parse::<Dscp>().is_err(), "{text}");
        }
        assert_eq!("0xb8".parse(), Ok(TosByte(0xb8)));
        assert_eq!("255".parse(), Ok(TosByte(255)));
        assert!("256".parse::<TosByte>().is_err());
    }

    #[test]
    fn assured_forwarding_follows_its_formula() {
        for class in 1..=4_u8 {
            for drop in 1..=3 {
                assert_eq!(Dscp::named(&format!("af{class}{drop}")), Some(Dscp(8 * class + 2 * drop)));
            }
        }
    }

    #[test]
    fn cpu_lists() {
        assert_eq!("0,2-4,1".parse(), Ok(CpuList(vec![0, 2, 3, 4, 1])));
        for text in ["", "a", "3-1", "0,", "0-99999999999", "-1"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
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
