//! The byte of IP's header that marks packets, as people write it.

use std::str::FromStr;

/// A differentiated services code point, 0 to 63 (RFC 2474).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscp(pub u8);

/// A whole TOS or traffic-class byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TosByte(pub u8);

impl Dscp {
    /// The byte of the IP header that carries it, ECN bits zero.
    #[must_use]
    pub fn tos(self) -> u8 {
        self.0 << 2
    }

    /// Its name, where it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(_, value)| *value == self.0).map(|(name, _)| *name)
    }

    /// The code point of a name of RFC 2474, 2597, 3246, 5865 or 8622, in any letter case.
    #[must_use]
    pub fn named(text: &str) -> Option<Dscp> {
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
}
