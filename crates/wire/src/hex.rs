//! Identifiers, keys and MACs of fixed length: hexadecimal in JSON, raw bytes on the data flows.

use aws_lc_rs::{constant_time, hmac};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{Debug, Display, Formatter};

/// The name of a session: 16 random bytes, chosen by the server. Prints 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Hex<16>);

/// The secret of a session, by which its data flows are authenticated. Never printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowKey(Hex<32>);

/// A number used once, in the proof of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(Hex<32>);

/// HMAC-SHA-256. Compare with `proves`, which takes constant time; `==` does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mac(Hex<32>);

/// `N` bytes, `2 N` hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Hex<const N: usize>([u8; N]);

impl SessionId {
    /// A session of this name.
    pub const fn new(bytes: [u8; 16]) -> SessionId {
        SessionId(Hex(bytes))
    }

    /// The name as sent on data flows.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0.0
    }
}

impl FlowKey {
    /// A key of these bytes.
    pub const fn new(bytes: [u8; 32]) -> FlowKey {
        FlowKey(Hex(bytes))
    }

    /// The first 16 bytes of HMAC-SHA-256 over the concatenated parts.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 16] {
        short(&hmac_sha256(&self.0.0, parts))
    }
}

impl Nonce {
    /// A nonce of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Nonce {
        Nonce(Hex(bytes))
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0.0
    }
}

impl Mac {
    /// A MAC of these bytes.
    pub const fn new(bytes: [u8; 32]) -> Mac {
        Mac(Hex(bytes))
    }

    /// Compares in a time that does not depend on where they differ.
    pub(crate) fn proves(&self, expected: &Mac) -> bool {
        same(&self.0.0, &expected.0.0)
    }
}

/// HMAC-SHA-256 over the concatenated parts (RFC 2104).
pub(crate) fn hmac_sha256(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut context = hmac::Context::with_key(&key);
    for part in parts {
        context.update(part);
    }
    context.sign().as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes")
}

/// The first half of a MAC.
pub(crate) fn short(mac: &[u8; 32]) -> [u8; 16] {
    mac[..16].try_into().expect("16 of 32 bytes")
}

/// Compares in constant time.
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}

impl<const N: usize> Display for Hex<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> Debug for Hex<N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl<const N: usize> Serialize for Hex<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex<N>, D::Error> {
        let text = String::deserialize(deserializer)?;
        read(&text).ok_or_else(|| D::Error::custom(format!("expected {} hexadecimal digits", 2 * N)))
    }
}

fn read<const N: usize>(text: &str) -> Option<Hex<N>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[high, low]| u8::try_from(digit(high)? * 16 + digit(low)?).ok()).collect();
    Some(Hex(bytes?.try_into().ok()?))
}

impl Display for SessionId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Debug for SessionId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Debug for FlowKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("FlowKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_hexadecimal_digits() {
        let id = SessionId::new(*b"0123456789abcdef");
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, "\"30313233343536373839616263646566\"");
        assert_eq!(serde_json::from_str::<SessionId>(&json).unwrap(), id);
        assert_eq!(serde_json::from_str::<SessionId>(&json.to_uppercase()).unwrap(), id);
    }

    #[test]
    fn what_is_not_hexadecimal_of_the_right_length_is_refused() {
        for text in ["", "3", "303132333435363738396162636465", "3031323334353637383961626364656g", "０１"]
        {
            assert_eq!(read::<16>(text), None, "{text}");
        }
    }

    #[test]
    fn hmac_is_that_of_rfc_4231_case_2() {
        let mac = hmac_sha256(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(Hex(mac).to_string(), expected);
    }

    #[test]
    fn a_key_does_not_print() {
        assert_eq!(format!("{:?}", FlowKey::new([7; 32])), "FlowKey(…)");
    }
}
