//! The extensions of a reply, made of those of the packet that it answers (RFC 8972 section 4).

use super::auth::{Key, MAC_LEN};
use super::observed::Observation;
use super::tlv::{Tlv, Tlvs};

/// Turns the extensions of a sender into those of the reply, in place and of the same size; returns DSCP and ECN of the reply.
/// `asked` and `answered` are the Sequence Numbers of the two base packets, which an HMAC covers too.
pub(super) fn reflect(
    tlvs: &mut [u8],
    asked: u32,
    answered: u32,
    key: Option<&Key>,
    observation: &Observation,
) -> u8 {
    let trust = check(tlvs, asked, key);
    let broken = matches!(trust, Trust::Broken);
    let integrity = if broken { Tlv::INTEGRITY } else { 0 };
    let class = observation.reply_class(if broken { &[] } else { tlvs });
    let mut at = 0;
    while let Some(tlv) = Tlvs::from(tlvs, at).next() {
        let (kind, length) = (tlv.kind, tlv.value.len());
        let malformed = if tlv.is_malformed() { Tlv::MALFORMED } else { 0 };
        let next = at + Tlv::HEADER_LEN + length;
        let value = &mut tlvs[at + Tlv::HEADER_LEN..next];
        // Extensions that somebody on the path may have inserted are not answered.
        let understood = match kind {
            Tlv::EXTRA_PADDING | Tlv::HMAC => true,
            _ => malformed == 0 && !broken && observation.answer(kind, value),
        };
        let unrecognized = if understood { 0 } else { Tlv::UNRECOGNIZED };
        tlvs[at] = unrecognized | malformed | integrity;
        // Bytes behind a malformed extension are returned unchanged.
        at = if malformed == 0 { next } else { tlvs.len() };
    }
    if let Trust::Proved { key, at } = trust {
        let mac = key.mac(&[&answered.to_be_bytes(), &tlvs[..at]]);
        tlvs[at + Tlv::HEADER_LEN..at + Tlv::HEADER_LEN + MAC_LEN].copy_from_slice(&mac);
    }
    class
}

/// The state of the HMAC over the extensions.
enum Trust<'a> {
    /// The HMAC is absent and not needed.
    Unneeded,
    /// The HMAC is present and right.
    Proved { key: &'a Key, at: usize },
    /// The HMAC is wrong, misplaced or missing, or there is no key to check it with.
    Broken,
}

fn check<'a>(tlvs: &[u8], asked: u32, key: Option<&'a Key>) -> Trust<'a> {
    let is_padding = |tlv: &Tlv| tlv.kind == Tlv::EXTRA_PADDING;
    let mut hmac = None;
    for tlv in Tlvs::new(tlvs) {
        // Only padding may follow the HMAC.
        if hmac.is_some() && !is_padding(&tlv) {
            return Trust::Broken;
        }
        if tlv.kind == Tlv::HMAC && !tlv.is_malformed() {
            hmac = Some(tlv);
        }
    }
    match (hmac, key) {
        (None, None) => Trust::Unneeded,
        // An authenticated packet must protect its extensions, except when they are only padding.
        (None, Some(_)) if Tlvs::new(tlvs).all(|tlv| is_padding(&tlv)) => Trust::Unneeded,
        (Some(tlv), Some(key)) if key.proves(tlv.value, &[&asked.to_be_bytes(), &tlvs[..tlv.at]]) => {
            Trust::Proved { key, at: tlv.at }
        }
        _ => Trust::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::Arrival;
    use model::time::MonoTime;
    use proptest::prelude::*;

    fn tlv(flags: u8, kind: u8, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(value.len()).unwrap().to_be_bytes();
        [&[flags, kind], length.as_slice(), value].concat()
    }

    fn reflected(mut tlvs: Vec<u8>, key: Option<&Key>) -> Vec<u8> {
        let arrival = Arrival::new(([192, 0, 2, 1], 9).into(), MonoTime(0));
        reflect(&mut tlvs, 1, 2, key, &Observation { arrival, count: None });
        tlvs
    }

    fn key() -> Key {
        Key::new(b"sixteen bytes or").unwrap()
    }

    #[test]
    fn what_is_understood_loses_u_and_what_is_not_gets_it() {
        let sent = [tlv(0x80, 1, b"abc"), tlv(0x9f, 4, &[0; 4]), tlv(0, 200, b"")].concat();
        let answered = [tlv(0, 1, b"abc"), tlv(0x80, 4, &[0; 4]), tlv(0x80, 200, b"")].concat();
        assert_eq!(reflected(sent, None), answered);
    }

    #[test]
    fn behind_a_malformed_one_nothing_is_touched() {
        let cut = [0x80, 1, 0, 9, 0x80, 1, 0, 0];
        assert_eq!(
            reflected([tlv(0x80, 1, b""), cut.to_vec()].concat(), None)[4..],
            [0x40, 1, 0, 9, 0x80, 1, 0, 0]
        );
        let wrong = [tlv(0x80, 8, &[0; 15]), tlv(0x80, 1, b"")].concat();
        assert_eq!(Tlvs::new(&wrong).map(|tlv| tlv.is_malformed()).collect::<Vec<_>>(), [true]);
        assert_eq!(reflected(wrong, None), [tlv(0x40, 8, &[0; 15]), tlv(0x80, 1, b"")].concat());
        assert_eq!(reflected(vec![0x80, 77, 1, 0], None), [0xc0, 77, 1, 0]);
    }

    #[test]
    fn padding_of_twamp_is_no_extension() {
        assert_eq!(reflected(vec![0; 27], None), [0; 27]);
        assert_eq!(reflected(vec![0x80, 1, 0], None), [0x80, 1, 0]);
        assert_eq!(
            reflected([tlv(0x80, 1, b""), vec![0; 9]].concat(), None),
            [tlv(0, 1, b""), vec![0; 9]].concat()
        );
    }

    #[test]
    fn a_right_hmac_is_answered_by_a_right_hmac() {
        let (key, unknown) = (key(), tlv(0x80, 2, b"abcd"));
        let mac = key.mac(&[&1_u32.to_be_bytes(), &unknown]);
        let after = tlv(0x80, 1, b"padding may follow");
        let answer = reflected([unknown.clone(), tlv(0x80, 8, &mac), after].concat(), Some(&key));
        let mac = key.mac(&[&2_u32.to_be_bytes(), &unknown]);
        assert_eq!(answer, [unknown, tlv(0, 8, &mac), tlv(0, 1, b"padding may follow")].concat());
    }

    #[test]
    fn without_a_right_hmac_every_extension_is_flagged() {
        let (key, padding, unknown) = (key(), tlv(0x80, 1, b"ab"), tlv(0x80, 3, b"cd"));
        let hmac = |before: &[u8]| tlv(0x80, 8, &key.mac(&[&1_u32.to_be_bytes(), before]));
        let all_broken = |tlvs: &[&[u8]], key: Option<&Key>| {
            let answer = reflected(tlvs.concat(), key);
            assert_eq!(Tlvs::new(&answer).count(), tlvs.len());
            for tlv in Tlvs::new(&answer) {
                assert_eq!(tlv.flags & Tlv::INTEGRITY, Tlv::INTEGRITY, "{tlv:?}");
            }
        };
        all_broken(&[&padding, &hmac(&unknown)], Some(&key));
        all_broken(&[&padding, &hmac(&padding)], None);
        all_broken(&[&hmac(b""), &unknown], Some(&key));
        all_broken(&[&hmac(b""), &hmac(&hmac(b""))], Some(&key));
        all_broken(&[&unknown, &padding], Some(&key));
        // Padding alone needs no HMAC.
        assert_eq!(reflected(padding, Some(&key)), tlv(0, 1, b"ab"));
    }

    proptest! {
        #[test]
        fn any_bytes_keep_all_but_flags_and_macs(bytes: Vec<u8>, keyed: bool) {
            let key = key();
            let answer = reflected(bytes.clone(), keyed.then_some(&key));
            prop_assert_eq!(answer.len(), bytes.len());
            let heads: Vec<usize> = Tlvs::new(&bytes).map(|tlv| tlv.at).collect();
            for at in (0..bytes.len()).filter(|at| !heads.contains(at)) {
                prop_assert_eq!(answer[at], bytes[at], "byte {}", at);
            }
        }

        #[test]
        fn extensions_are_read_as_written(parts in proptest::collection::vec((prop::sample::select(&[1_u8, 3, 6, 7, 99][..]), any::<Vec<u8>>()), 0..5)) {
            let bytes = parts.iter().map(|(kind, value)| tlv(0x80, *kind, value)).collect::<Vec<_>>().concat();
            let read: Vec<_> = Tlvs::new(&bytes).map(|tlv| (tlv.kind, tlv.value.to_vec())).collect();
            prop_assert_eq!(read, parts);
        }
    }
}
