//! The key of the authenticated mode: HMAC-SHA-256 cut to 16 bytes (RFC 8762 section 4.4, RFC 8972 section 4.8).

use aws_lc_rs::{constant_time, hmac};
use std::fmt::{Debug, Formatter};

/// Bytes of an HMAC in a packet or a TLV.
pub(super) const MAC_LEN: usize = 16;

/// Offset of the HMAC in an authenticated packet, behind the bytes it covers.
pub(super) const MAC_AT: usize = 96;

/// A secret shared by sender and reflector. Never printed, never sent.
#[derive(Clone)]
pub struct Key(hmac::Key);

/// The secret is too short to protect anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a STAMP key needs at least {least} bytes; this one has {0}", least = Key::MIN_LEN)]
pub struct KeyError(pub usize);

impl Key {
    /// Length of the shortest accepted secret, bytes: the length of its HMAC.
    pub const MIN_LEN: usize = 16;

    /// A key of these bytes, including white space.
    ///
    /// # Errors
    /// The key is shorter than [`Key::MIN_LEN`].
    pub fn new(secret: &[u8]) -> Result<Key, KeyError> {
        if secret.len() < Key::MIN_LEN {
            return Err(KeyError(secret.len()));
        }
        Ok(Key(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }

    /// Writes the HMAC of an authenticated base packet, with which `packet` begins.
    pub fn sign(&self, packet: &mut [u8]) {
        let mac = self.mac(&[&packet[..MAC_AT]]);
        packet[MAC_AT..MAC_AT + MAC_LEN].copy_from_slice(&mac);
    }

    /// Is `packet` a whole authenticated packet, signed with this key? Takes constant time.
    pub fn has_signed(&self, packet: &[u8]) -> bool {
        let mac = packet.get(MAC_AT..MAC_AT + MAC_LEN);
        mac.is_some_and(|mac| self.proves(mac, &[&packet[..MAC_AT]]))
    }

    /// The HMAC of the concatenated parts.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> [u8; MAC_LEN] {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        context.sign().as_ref()[..MAC_LEN].try_into().expect("HMAC-SHA-256 has 32 bytes")
    }

    /// Is `mac` the HMAC of the parts? Takes constant time.
    pub(super) fn proves(&self, mac: &[u8], parts: &[&[u8]]) -> bool {
        constant_time::verify_slices_are_equal(mac, &self.mac(parts)).is_ok()
    }
}

impl Debug for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 section 4.7, test case 6, whose key is longer than a block; the RFC's value is cut to 16 bytes.
    #[test]
    fn the_mac_is_the_one_of_rfc_4231() {
        let key = Key::new(&[0xaa; 131]).unwrap();
        let data = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let mac = key.mac(&[&data[..11], &data[11..]]);
        let expected =
            [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f];
        assert_eq!(mac, expected);
        assert!(key.proves(&mac, &[data]));
        assert!(!key.proves(&mac, &[&data[1..]]));
        assert!(!key.proves(&mac[..15], &[data]));
    }

    #[test]
    fn a_short_key_is_refused_and_none_is_printed() {
        assert_eq!(Key::new(b"123456789012345").unwrap_err(), KeyError(15));
        assert!(KeyError(15).to_string().contains("at least 16 bytes; this one has 15"));
        assert_eq!(format!("{:?}", Key::new(b"1234567890123456").unwrap()), "Key(…)");
    }
}
