//! The cookie: 36 characters the client makes, which name its session on every TCP connection.

use std::fmt::{Display, Formatter};

/// Bytes of a cookie on the wire: 36 characters and a NUL.
pub const COOKIE_LEN: usize = TEXT_LEN + 1;

/// A session's name.
///
/// iPerf3's own cookies consist of the letters a to z and the digits 2 to 7; those of other implementations may hold any
/// printable ASCII character except the space.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cookie(String);

impl Cookie {
    /// A cookie from random bytes, five bits of each.
    ///
    /// ```
    /// let cookie = pathmeter_wire::iperf3::Cookie::from_entropy(&[31; 36]);
    /// assert_eq!(cookie.as_str(), "777777777777777777777777777777777777");
    /// ```
    #[must_use]
    pub fn from_entropy(entropy: &[u8; 36]) -> Cookie {
        Cookie(entropy.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
    }

    /// The cookie in a peer's first bytes; `None` when they are not 36 printable characters and a NUL.
    #[must_use]
    pub fn from_wire(bytes: &[u8; COOKIE_LEN]) -> Option<Cookie> {
        let (text, end) = bytes.split_at(TEXT_LEN);
        let valid = end == [0] && text.iter().all(u8::is_ascii_graphic);
        valid.then(|| Cookie(text.iter().copied().map(char::from).collect()))
    }

    /// The bytes a connection begins with.
    #[must_use]
    pub fn to_wire(&self) -> [u8; COOKIE_LEN] {
        let mut bytes = [0; COOKIE_LEN];
        bytes[..TEXT_LEN].copy_from_slice(self.0.as_bytes());
        bytes
    }

    /// The 36 characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Cookie {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

const TEXT_LEN: usize = 36;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_alphabet_has_each_character_once() {
        let mut observed = ALPHABET.to_vec();
        observed.sort_unstable();
        observed.dedup();
        assert_eq!(observed.len(), 32);
    }

    #[test]
    fn foreign_bytes_are_no_cookie() {
        let good = Cookie::from_entropy(&[9; 36]).to_wire();
        for (at, byte) in [(0, 0), (0, b' '), (35, 0x7f), (35, 0xc3), (36, b'a')] {
            let mut bad = good;
            bad[at] = byte;
            assert_eq!(Cookie::from_wire(&bad), None, "{byte} at {at}");
        }
    }

    proptest! {
        #[test]
        fn a_cookie_survives_the_wire(entropy: [[u8; 9]; 4]) {
            let entropy: [u8; 36] = entropy.concat().try_into().expect("four times nine");
            let cookie = Cookie::from_entropy(&entropy);
            prop_assert_eq!(Cookie::from_wire(&cookie.to_wire()), Some(cookie));
        }
    }
}
