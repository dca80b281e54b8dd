//! Which sequence numbers have arrived: a bit for each.

/// The numbers from 0 to a highest one.
#[derive(Debug)]
pub(super) struct Numbers {
    words: Vec<u64>,
}

/// The state of a number before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// The number had not arrived.
    New,
    /// The number had arrived.
    Known,
    /// The number is too high for the record.
    Beyond,
}

impl Numbers {
    /// A record of all numbers below `count`, rounded up and at most a thousand million.
    pub(super) fn new(count: u64) -> Numbers {
        Numbers { words: vec![0; words_for(count) as usize] }
    }

    /// Records that a number has arrived.
    pub(super) fn note(&mut self, number: u64) -> Before {
        let word = usize::try_from(number / 64).ok().and_then(|index| self.words.get_mut(index));
        let Some(word) = word else { return Before::Beyond };
        let bit = 1 << (number % 64);
        let before = if *word & bit == 0 { Before::New } else { Before::Known };
        *word |= bit;
        before
    }

    /// The numbers below `count` that have not arrived, from the lowest.
    pub(super) fn missing(&self, count: u64) -> impl DoubleEndedIterator<Item = u64> {
        let masks = self.words[..self.reach(count)].iter().enumerate();
        masks
            .filter(|(_, word)| **word != u64::MAX)
            .flat_map(|(index, word)| absent(index as u64, *word))
            .filter(move |number| *number < count)
    }

    /// Number of words for the numbers below `count`.
    fn reach(&self, count: u64) -> usize {
        usize::try_from(count.div_ceil(64)).unwrap_or(usize::MAX).min(self.words.len())
    }
}

/// Number of words of 64 bits with a bit for each number below `count`.
pub(crate) fn words_for(count: u64) -> u64 {
    count.div_ceil(64).clamp(1, MOST_WORDS)
}

/// The numbers that have no bit in the word with this index, from the lowest.
pub(crate) fn absent(index: u64, word: u64) -> impl DoubleEndedIterator<Item = u64> {
    (0..64).filter(move |bit| word >> bit & 1 == 0).map(move |bit| index * 64 + bit)
}

/// A thousand million numbers in 128 MiB.
const MOST_WORDS: u64 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_once_and_again_and_some_are_missing() {
        let mut numbers = Numbers::new(130);
        let noted = [0, 63, 64, 63, 129, 191, 192, u64::MAX].map(|number| numbers.note(number));
        use Before::{Beyond, Known, New};
        assert_eq!(noted, [New, New, New, Known, New, New, Beyond, Beyond]);
        let missing: Vec<u64> = numbers.missing(130).collect();
        let expected: Vec<u64> = (0..130).filter(|number| ![0, 63, 64, 129].contains(number)).collect();
        assert_eq!(missing, expected);
        assert_eq!(numbers.missing(130).next_back(), Some(128));
        assert_eq!(numbers.missing(1).next(), None);
        // Numbers beyond the record are not reported.
        assert_eq!(numbers.missing(u64::MAX).next_back(), Some(190));
        for number in 0..192 {
            numbers.note(number);
        }
        assert_eq!(numbers.missing(192).next(), None);
    }
}
