//! Mixes of frame sizes (IMIX): a repeated sequence in a fixed order.
//!
//! A mix is the sequence itself, as RFC 6985 requires: the same sizes in another order fill buffers differently.

use super::Network;
use crate::Bytes;
use std::fmt::{Display, Formatter};
use thiserror::Error;

/// A sequence of frame sizes (FCS included) that is sent over and over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imix {
    sequence: Vec<Bytes>,
    name: String,
}

impl Imix {
    /// The simple mix: seven small frames, four of 570 bytes, one of 1518. Small is 64, with IPv6 78.
    #[must_use]
    pub fn simple(network: Network) -> Imix {
        let small = match network {
            Network::V4 => Bytes(64),
            Network::V6 => Bytes(78),
        };
        let sequence = [vec![small; 7], vec![Bytes(570); 4], vec![Bytes(1518)]].concat();
        Imix { sequence, name: format!("7:4:1 of {}, 570 and 1518", small.0) }
    }

    /// Reads an IMIX genome (RFC 6985): a letter for each frame, as in `aaaaaaaddddg`, or with counts of a part as in
    /// `7(a)4(d)g`.
    ///
    /// `a` to `j` are 64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000 and 16000 bytes; `z` is the largest frame of the MTU;
    /// capitals are the sizes in `custom`.
    ///
    /// # Errors
    /// When the text is no genome, a size is missing or below 64 bytes, or the sequence has more than 4096 frames.
    pub fn genome(text: &str, mtu: Option<Bytes>, custom: &[(char, Bytes)]) -> Result<Imix, ImixError> {
        let mut sequence = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (count, letters, after) = match first {
                '0'..='9' => counted(rest)?,
                _ => (1, &rest[..first.len_utf8()], &rest[first.len_utf8()..]),
            };
            let sizes: Vec<Bytes> =
                letters.chars().map(|letter| size(letter, mtu, custom)).collect::<Result<_, _>>()?;
            if sizes.len().saturating_mul(count).saturating_add(sequence.len()) > MOST_FRAMES {
                return Err(ImixError::TooLong);
            }
            (0..count).for_each(|_| sequence.extend_from_slice(&sizes));
            rest = after;
        }
        if sequence.is_empty() {
            return Err(ImixError::Form(text.to_owned()));
        }
        Ok(Imix { sequence, name: text.to_owned() })
    }

    /// The sizes in the order of sending.
    #[must_use]
    pub fn sequence(&self) -> &[Bytes] {
        &self.sequence
    }
}

impl Display for Imix {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.name.fmt(f)
    }
}

/// Why a text is not a mix.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImixError {
    /// The text does not consist of letters and counts.
    #[error("read IMIX genome at `{0}`: expected letters, or a count and letters as in 7(a)4(d)g")]
    Form(String),
    /// A letter without a size.
    #[error(
        "read IMIX genome: no size for `{0}`; a to j and z have one (RFC 6985), capitals are yours to give"
    )]
    Letter(char),
    /// `z` is the MTU's frame.
    #[error("read IMIX genome: z is the largest frame, and no MTU is given")]
    NoMtu,
    /// Ethernet has no such frame.
    #[error("read IMIX genome: a frame of {} bytes for `{letter}`: Ethernet's least is 64, FCS included", size.0)]
    Small {
        /// The letter.
        letter: char,
        /// Its size.
        size: Bytes,
    },
    /// The mix exceeds the largest number of frames.
    #[error("read IMIX genome: more than 4096 frames")]
    TooLong,
}

/// Splits `7(aab)` and the rest.
fn counted(text: &str) -> Result<(usize, &str, &str), ImixError> {
    let form = || ImixError::Form(text.to_owned());
    let (count, rest) = text.split_once('(').ok_or_else(form)?;
    let (letters, after) = rest.split_once(')').ok_or_else(form)?;
    let count: usize = count.parse().map_err(|_| form())?;
    if count == 0 || letters.is_empty() { Err(form()) } else { Ok((count, letters, after)) }
}

fn size(letter: char, mtu: Option<Bytes>, custom: &[(char, Bytes)]) -> Result<Bytes, ImixError> {
    let given = || custom.iter().find(|(name, _)| *name == letter).map(|(_, size)| *size);
    let size = match letter {
        'z' => mtu.ok_or(ImixError::NoMtu)? + Bytes(super::ETHERNET),
        'A'..='Z' => given().ok_or(ImixError::Letter(letter))?,
        _ => {
            let row = LETTERS.iter().find(|(name, _)| *name == letter);
            Bytes(row.ok_or(ImixError::Letter(letter))?.1)
        }
    };
    if size < super::MIN_FRAME { Err(ImixError::Small { letter, size }) } else { Ok(size) }
}

/// RFC 6985 section 3.
const LETTERS: [(char, u64); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16_000),
];
const MOST_FRAMES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mean(imix: &Imix) -> f64 {
        imix.sequence().iter().map(|size| size.0).sum::<u64>() as f64 / imix.sequence().len() as f64
    }

    #[test]
    fn the_simple_mixes() {
        let means = [Network::V4, Network::V6].map(|network| format!("{:.3}", mean(&Imix::simple(network))));
        assert_eq!(means, ["353.833", "362.000"]);
        let other = Imix::genome("7(a)4(M)g", None, &[('M', Bytes(594))]).unwrap();
        assert_eq!(format!("{:.2}", mean(&other)), "361.83");
    }

    #[test]
    fn a_genome_is_its_order() {
        let long = Imix::genome("aaaaaaaddddg", None, &[]).unwrap();
        let short = Imix::genome("7(a)4(d)g", None, &[]).unwrap();
        assert_eq!(long.sequence(), short.sequence());
        assert_eq!(long.to_string(), "aaaaaaaddddg");
        assert_eq!(long.sequence(), [vec![Bytes(64); 7], vec![Bytes(512); 4], vec![Bytes(1518)]].concat());
        assert_ne!(long, Imix::genome("addddgaaaaaa", None, &[]).unwrap());
        let all = Imix::genome("abcdefghijz", Some(Bytes(1500)), &[]).unwrap();
        let sizes: Vec<u64> = all.sequence().iter().map(|size| size.0).collect();
        assert_eq!(sizes, [64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16_000, 1518]);
    }

    #[test]
    fn what_is_no_genome_is_refused() {
        let read = |text: &str| Imix::genome(text, None, &[('A', Bytes(63))]).unwrap_err();
        for text in ["", "7", "7a", "7(a", "0(a)", "3()", "99999999999999999999(a)"] {
            assert_eq!(read(text), ImixError::Form(text.to_owned()));
        }
        assert_eq!(read("ak"), ImixError::Letter('k'));
        assert_eq!(read("aB"), ImixError::Letter('B'));
        assert_eq!(read("z"), ImixError::NoMtu);
        assert_eq!(read("A"), ImixError::Small { letter: 'A', size: Bytes(63) });
        assert_eq!(read("4000(abc)"), ImixError::TooLong);
        assert_eq!(Imix::genome("18446744073709551615(ab)", None, &[]), Err(ImixError::TooLong));
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer_and_no_panic(text in "([a-z]|[0-9]{1,3}\\([a-d]{1,3}\\))*|\\PC*") {
            if let Ok(mix) = Imix::genome(&text, Some(Bytes(1500)), &[]) {
                prop_assert!(mean(&mix) >= 64.0);
            }
        }
    }
}
