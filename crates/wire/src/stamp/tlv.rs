//! Extensions behind a base packet, and how a reflector returns them (RFC 8972 section 4).
//!
//! Each is `flags (1 byte) | type (1) | length of the value (2) | value`. The reflector understands Extra Padding, HMAC and the
//! types that it can answer; it returns every other one with the flag U.

use super::auth::MAC_LEN;

/// One extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tlv<'a> {
    /// Offset behind the base packet, bytes.
    pub at: usize,
    /// [`Tlv::UNRECOGNIZED`], [`Tlv::MALFORMED`], [`Tlv::INTEGRITY`].
    pub flags: u8,
    /// [`Tlv::EXTRA_PADDING`], [`Tlv::HMAC`] or another of the registry.
    pub kind: u8,
    /// The value; its present part when it is [cut](Tlv::is_malformed).
    pub value: &'a [u8],
    cut: bool,
}

/// The extensions of a packet, in sequence. A malformed one is the last.
///
/// Bytes of type 0 (reserved) without the flag U, which every sender sets, are not an extension: TWAMP pads with zeros.
#[derive(Clone, Debug)]
pub struct Tlvs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Tlv<'_> {
    /// Flag U: not understood. Set by a sender, cleared by a reflector that understands the type.
    pub const UNRECOGNIZED: u8 = 0x80;
    /// Flag M: its length is not valid.
    pub const MALFORMED: u8 = 0x40;
    /// Flag I: the HMAC over the extensions is wrong.
    pub const INTEGRITY: u8 = 0x20;
    /// Type of the padding to a size (RFC 8972 section 4.1).
    pub const EXTRA_PADDING: u8 = 1;
    /// Type of the extension for addresses and ports (RFC 8972 section 4.2).
    pub const LOCATION: u8 = 2;
    /// Type of the extension for the traffic class (RFC 8972 section 4.4).
    pub const CLASS_OF_SERVICE: u8 = 4;
    /// Type of the extension for counts at both ends (RFC 8972 section 4.5).
    pub const DIRECT_MEASUREMENT: u8 = 5;
    /// Type of the HMAC over the extensions (RFC 8972 section 4.8).
    pub const HMAC: u8 = 8;
    /// Bytes before the value.
    pub const HEADER_LEN: usize = 4;

    /// Is its length invalid: beyond the packet, or wrong for its type?
    pub fn is_malformed(&self) -> bool {
        let length = self.value.len();
        self.cut || (self.kind == Tlv::HMAC && length != MAC_LEN) || !self.fits()
    }

    /// Can the value of an extension of this type have this length?
    fn fits(&self) -> bool {
        match self.kind {
            Tlv::LOCATION => self.value.len() >= PORTS_LEN,
            Tlv::CLASS_OF_SERVICE => self.value.len() == 4,
            Tlv::DIRECT_MEASUREMENT => self.value.len() == 12,
            _ => true,
        }
    }
}

impl<'a> Tlvs<'a> {
    /// The extensions in these bytes, which follow the base packet.
    pub const fn new(bytes: &'a [u8]) -> Tlvs<'a> {
        Tlvs { bytes, at: 0 }
    }

    /// Those that begin at this place.
    pub(super) const fn from(bytes: &'a [u8], at: usize) -> Tlvs<'a> {
        Tlvs { bytes, at }
    }
}

impl<'a> Iterator for Tlvs<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        let at = self.at;
        let ([flags, kind, length @ ..], value) = self.bytes.get(at..)?.split_first_chunk::<4>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if *kind == 0 && flags & Tlv::UNRECOGNIZED == 0 {
            return None;
        }
        let cut = length > value.len();
        let tlv = Tlv { at, flags: *flags, kind: *kind, value: &value[..length.min(value.len())], cut };
        self.at = if tlv.is_malformed() { self.bytes.len() } else { at + Tlv::HEADER_LEN + length };
        Some(tlv)
    }
}

/// Turns all of `bytes`, at least [`Tlv::HEADER_LEN`] of them, into one Extra Padding, whose content stays unchanged.
pub(super) fn write_padding(bytes: &mut [u8]) {
    let length = u16::try_from(bytes.len() - Tlv::HEADER_LEN).unwrap_or(u16::MAX);
    bytes[..2].copy_from_slice(&[Tlv::UNRECOGNIZED, Tlv::EXTRA_PADDING]);
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
}

/// The two ports of a location.
pub(super) const PORTS_LEN: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_one_extension_of_the_whole_size() {
        let mut bytes = [9; 7];
        write_padding(&mut bytes);
        assert_eq!(bytes, [0x80, 1, 0, 3, 9, 9, 9]);
        let mut bytes = [9; 4];
        write_padding(&mut bytes);
        assert_eq!(bytes, [0x80, 1, 0, 0]);
    }
}
