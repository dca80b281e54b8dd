//! Things that come many times, counted by kind.

/// The kinds of things in the order in which each came first, and how many there were.
#[derive(Clone, Debug)]
pub(super) struct Tally<T> {
    kinds: Vec<(T, u64)>,
    all: u64,
}

impl<T> Default for Tally<T> {
    fn default() -> Tally<T> {
        Tally { kinds: Vec::new(), all: 0 }
    }
}

impl<T: PartialEq> Tally<T> {
    /// Counts one. Beyond many kinds the number alone is kept.
    pub(super) fn push(&mut self, one: T) {
        self.all += 1;
        let has_room = self.kinds.len() < MOST_KINDS;
        match self.kinds.iter_mut().find(|(known, _)| *known == one) {
            Some((_, count)) => *count += 1,
            None if has_room => self.kinds.push((one, 1)),
            None => {}
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all == 0
    }

    pub(super) fn first(&self) -> Option<&T> {
        self.kinds.first().map(|(one, _)| one)
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &(T, u64)> {
        self.kinds.iter()
    }

    /// The number of those of some kinds.
    pub(super) fn count_of(&self, is: impl Fn(&T) -> bool) -> u64 {
        self.kinds.iter().filter(|(one, _)| is(one)).map(|(_, count)| count).sum()
    }
}

const MOST_KINDS: usize = 256;
