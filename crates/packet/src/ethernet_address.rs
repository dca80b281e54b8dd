//! Ethernet addresses in JSON: twelve hexadecimal digits. For `#[serde(with = …)]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes the digits.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(address: &[u8; 6], serializer: S) -> Result<S::Ok, S::Error> {
    let number = address.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
    serializer.collect_str(&format_args!("{number:012x}"))
}

/// Reads the digits.
///
/// # Errors
/// There are more or fewer of them, or other characters.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 6], D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_whole = text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u64::from_str_radix(&text, 16).ok().filter(|_| is_whole);
    let [_, _, address @ ..] =
        number.ok_or_else(|| D::Error::custom("expected 12 hexadecimal digits"))?.to_be_bytes();
    Ok(address)
}
