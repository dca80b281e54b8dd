//! Random names that cannot be guessed, and a comparison that does not reveal how much was right.

use std::fs::File;
use std::io::{self, Read};
use subtle::ConstantTimeEq;

/// 32 random bytes in hexadecimal.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares two texts. The time taken reveals their length alone.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_compared_whole() {
        let (one, other) = (random().unwrap(), random().unwrap());
        assert_eq!(one.len(), 64);
        assert!(is_same(&one, &one.clone()) && !is_same(&one, &other));
        assert!(!is_same(&one, &one[..63]) && !is_same("", "a"));
    }
}
