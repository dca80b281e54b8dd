//! The autonomous system that announces an address, from a file of prefixes.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::net::IpAddr;
use thiserror::Error;

/// An autonomous system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AsOrigin {
    /// Its number.
    pub number: u32,
    /// Its name, where the file has one; else empty.
    pub name: String,
}

/// Prefixes and the AS of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsTable {
    /// By first address; ranges may lie in one another.
    ranges: Vec<Range>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    first: IpAddr,
    last: IpAddr,
    origin: AsOrigin,
}

/// A line without a prefix and an AS.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "line {line}: `{text}` is not `PREFIX AS [NAME]` (192.0.2.0/24 AS64496 Example), `ADDRESS LENGTH AS`, nor \
     `FIRST LAST AS [COUNTRY NAME]`"
)]
pub struct AsTableError {
    /// Which, from 1 on.
    pub line: usize,
    /// Beginning of the line.
    pub text: String,
}

impl AsTable {
    /// Reads a file: on each line a prefix with its AS and name, as people write it; an address, the length of the prefix
    /// and the AS, as CAIDA's `pfx2as` has them; or the first and the last address, the AS, a country and a name, as those
    /// of iptoasn.com. Empty lines and those that begin with `#` count nothing, nor does AS 0.
    ///
    /// # Errors
    /// The first line that is none of these.
    pub fn parse(text: &str) -> Result<AsTable, AsTableError> {
        let mut ranges = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let range = parse_line(line);
            let range =
                range.ok_or_else(|| AsTableError { line: at + 1, text: line.chars().take(60).collect() })?;
            ranges.extend((range.origin.number > 0).then_some(range));
        }
        // The shortest prefix comes first among those that begin at one address.
        ranges.sort_by_key(|range| (range.first, Reverse(range.last)));
        Ok(AsTable { ranges })
    }

    /// The AS of the longest prefix that an address lies in.
    #[must_use]
    pub fn origin(&self, address: IpAddr) -> Option<&AsOrigin> {
        let address = address.to_canonical();
        let end = self.ranges.partition_point(|range| range.first <= address);
        // Ranges that begin nearer are inside those that begin further away, so that the first found is the longest.
        let holds = |range: &&Range| range.last >= address && range.first.is_ipv4() == address.is_ipv4();
        self.ranges[..end].iter().rev().find(holds).map(|range| &range.origin)
    }
}

fn parse_line(line: &str) -> Option<Range> {
    let mut fields = line.splitn(3, |c: char| c.is_whitespace() || c == ',').map(str::trim);
    let (first, second, rest) = (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
    let (word, name) = rest.split_once(|c: char| c.is_whitespace() || c == ',').unwrap_or((rest, ""));
    if let Some((address, length)) = first.split_once('/') {
        return range(address.parse().ok()?, length.parse().ok()?, number(second)?, rest);
    }
    let address: IpAddr = first.parse().ok()?;
    if let Ok(length) = second.parse() {
        return range(address, length, number(word)?, name);
    }
    let last: IpAddr = second.parse().ok()?;
    let ordered = address.is_ipv4() == last.is_ipv4() && address <= last;
    // A country of two letters stands before the name.
    let name = name.trim().split_once(char::is_whitespace).map_or(name, |(_, name)| name);
    let origin = AsOrigin { number: number(word)?, name: name.trim().into() };
    ordered.then_some(Range { first: address, last, origin })
}

/// `AS64496`, `64496`, of several (`64496_64497`, `64496,64497`) the first.
fn number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("AS").or_else(|| word.strip_prefix("as")).unwrap_or(word);
    digits.split(['_', ',', '{', '}']).find(|part| !part.is_empty())?.parse().ok()
}

fn range(address: IpAddr, length: u32, number: u32, name: &str) -> Option<Range> {
    let (first, last) = match address {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(length).unwrap_or(0);
            (length <= 32).then_some(())?;
            let bits = address.to_bits();
            (IpAddr::V4((bits & !host).into()), IpAddr::V4((bits | host).into()))
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(length).unwrap_or(0);
            (length <= 128).then_some(())?;
            let bits = address.to_bits();
            (IpAddr::V6((bits & !host).into()), IpAddr::V6((bits | host).into()))
        }
    };
    Some(Range { first, last, origin: AsOrigin { number, name: name.trim().into() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(table: &AsTable, address: &str) -> Option<(u32, String)> {
        table.origin(address.parse().unwrap()).map(|origin| (origin.number, origin.name.clone()))
    }

    #[test]
    fn three_kinds_of_lines_are_read() {
        let text = "# prefixes\n192.0.2.0/24 AS64496 Example Net\n\n198.51.100.0\t25\t64497_64498\n\
                    203.0.113.0\t203.0.113.255\t64499\tDE\tTest Three\n2001:db8::/32,64500,Docs\n10.0.0.0\t8\t0";
        let table = AsTable::parse(text).unwrap();
        assert_eq!(found(&table, "192.0.2.200"), Some((64496, "Example Net".into())));
        assert_eq!(found(&table, "198.51.100.127"), Some((64497, String::new())));
        assert_eq!(found(&table, "203.0.113.9"), Some((64499, "Test Three".into())));
        assert_eq!(found(&table, "2001:db8:1::1"), Some((64500, "Docs".into())));
        for outside in ["198.51.100.128", "192.0.3.0", "10.1.1.1", "::1"] {
            assert_eq!(found(&table, outside), None, "{outside}");
        }
    }

    #[test]
    fn the_longest_prefix_counts() {
        let table = AsTable::parse("10.0.0.0/8 1\n10.1.0.0/16 2\n10.1.2.0/24 3\n10.0.0.0/9 1").unwrap();
        for (address, number) in [("10.1.2.3", 3), ("10.1.3.3", 2), ("10.2.0.0", 1)] {
            assert_eq!(found(&table, address).unwrap().0, number, "{address}");
        }
        let mapped: IpAddr = "::ffff:10.1.2.3".parse().unwrap();
        assert_eq!(table.origin(mapped).unwrap().number, 3);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for line in
            ["10.0.0.0/33 1", "10.0.0.0/8", "x/8 1", "10.0.0.9 10.0.0.1 5", "10.0.0.1 ::1 5", "::/129 1", "1"]
        {
            let error = AsTable::parse(&format!("10.0.0.0/8 1\n{line}")).unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (2, line));
        }
    }

    proptest! {
        #[test]
        fn any_text_does_no_harm(text in any::<String>(), address: IpAddr) {
            if let Ok(table) = AsTable::parse(&text) {
                let _ = table.origin(address);
            }
        }

        #[test]
        fn an_address_lies_in_its_own_prefix(address: IpAddr, length in 0u32..=128) {
            let length = if address.is_ipv4() { length.min(32) } else { length };
            let table = AsTable::parse(&format!("{address}/{length} 7")).unwrap();
            prop_assert_eq!(table.origin(address).map(|origin| origin.number), (!is_mapped(address)).then_some(7));
        }
    }

    /// Such an address is looked up as the IPv4 address that it is.
    fn is_mapped(address: IpAddr) -> bool {
        address.is_ipv6() && address.to_canonical().is_ipv4()
    }
}
