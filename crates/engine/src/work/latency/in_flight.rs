//! Which messages are on their way: what became of each, in memory that does not grow.

use model::time::MonoTime;

/// The messages sent last, by number. One that is pushed out of the table before its reply came counts as lost.
#[derive(Debug)]
pub(crate) struct InFlight {
    slots: Vec<Flight>,
    /// Number of the last message before the first one of this table.
    before: u64,
    /// Number of the last message sent.
    last: u64,
    /// No message up to this one waits for a reply in time any more.
    settled: u64,
    /// Highest number answered.
    highest: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    number: u64,
    due: MonoTime,
    sent: MonoTime,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No reply is wanted, or it has come.
    #[default]
    Done,
    Waiting,
    GivenUp,
}

/// What a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The first, in time.
    InTime {
        /// When its message was due.
        due: MonoTime,
        /// When its message was sent.
        sent: MonoTime,
        /// A later message was answered before.
        reordered: bool,
    },
    /// The first, after it was given up.
    Late,
    /// To a message of so long ago that nothing is known of it.
    Ancient,
    /// Not the first.
    Duplicate,
    /// To a message that was never sent, or before this table began.
    Foreign,
}

impl InFlight {
    /// Room for this many messages on their way; a power of two is made of it. Their numbers begin after `last`.
    pub(crate) fn new(room: usize, last: u64) -> InFlight {
        let slots = vec![Flight::default(); room.clamp(1024, MOST).next_power_of_two()];
        InFlight { slots, before: last, last, settled: last, highest: last }
    }

    /// A message is sent. Says how many older ones are lost, having had to make room.
    pub(crate) fn send(&mut self, number: u64, due: MonoTime, sent: MonoTime, wants_reply: bool) -> u64 {
        let slot = self.slot(number);
        let pushed_out = u64::from(slot.state == State::Waiting);
        let state = if wants_reply { State::Waiting } else { State::Done };
        *slot = Flight { number, due, sent, state };
        self.last = number;
        pushed_out
    }

    /// A reply came.
    pub(crate) fn answer(&mut self, number: u64) -> Answer {
        if number <= self.before || number > self.last {
            return Answer::Foreign;
        }
        let highest = self.highest;
        let slot = self.slot(number);
        if slot.number != number {
            // So old that nobody knows any more whether it was answered.
            return Answer::Ancient;
        }
        let answer = match slot.state {
            State::Waiting => Answer::InTime { due: slot.due, sent: slot.sent, reordered: number < highest },
            State::GivenUp => Answer::Late,
            State::Done => return Answer::Duplicate,
        };
        slot.state = State::Done;
        self.highest = highest.max(number);
        answer
    }

    /// Gives up the messages sent before this time that still wait; says how many.
    pub(crate) fn expire(&mut self, sent_before: MonoTime) -> u64 {
        let mut given_up = 0;
        self.settled = self.settled.max(self.last.saturating_sub(self.slots.len() as u64));
        while self.settled < self.last {
            let slot = self.slot(self.settled + 1);
            if slot.state == State::Waiting {
                if slot.sent >= sent_before {
                    break;
                }
                slot.state = State::GivenUp;
                given_up += 1;
            }
            self.settled += 1;
        }
        given_up
    }

    /// When the oldest message that waits was sent.
    pub(crate) fn oldest(&mut self) -> Option<MonoTime> {
        self.expire(MonoTime(0));
        (self.settled < self.last).then(|| self.slot(self.settled + 1).sent)
    }

    /// The last message was given up, and no reply has come since.
    pub(crate) fn has_given_up_the_last(&mut self) -> bool {
        let last = self.last;
        last > self.before && self.slot(last).state == State::GivenUp
    }

    fn slot(&mut self, number: u64) -> &mut Flight {
        let mask = self.slots.len() as u64 - 1;
        &mut self.slots[(number & mask) as usize]
    }
}

/// 128 MiB of table.
const MOST: usize = 1 << 22;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    fn in_flight() -> InFlight {
        InFlight::new(0, 0)
    }

    #[test]
    fn first_late_and_repeated_replies_are_told_apart() {
        let mut in_flight = in_flight();
        for number in 1..=4 {
            assert_eq!(in_flight.send(number, MonoTime(number * 10), MonoTime(number * 10 + 1), true), 0);
        }
        let first = Answer::InTime { due: MonoTime(20), sent: MonoTime(21), reordered: false };
        assert_eq!(in_flight.answer(2), first);
        let before = Answer::InTime { due: MonoTime(10), sent: MonoTime(11), reordered: true };
        assert_eq!(in_flight.answer(1), before);
        assert_eq!(in_flight.answer(1), Answer::Duplicate);
        assert_eq!(in_flight.oldest(), Some(MonoTime(31)));
        assert_eq!(in_flight.expire(MonoTime(41)), 1, "3 is given up, 4 is not");
        assert_eq!(in_flight.answer(3), Answer::Late);
        assert_eq!(in_flight.answer(3), Answer::Duplicate);
        for number in [0, 5, u64::MAX] {
            assert_eq!(in_flight.answer(number), Answer::Foreign);
        }
        assert_eq!(in_flight.expire(MonoTime(100)), 1);
        assert_eq!(in_flight.oldest(), None);
    }

    #[test]
    fn replies_to_messages_from_before_are_none_of_these() {
        let mut in_flight = InFlight::new(0, 500);
        in_flight.send(501, MonoTime(1), MonoTime(1), true);
        assert_eq!((in_flight.answer(500), in_flight.answer(1)), (Answer::Foreign, Answer::Foreign));
        assert_eq!(
            in_flight.answer(501),
            Answer::InTime { due: MonoTime(1), sent: MonoTime(1), reordered: false }
        );
    }

    #[test]
    fn a_message_that_wants_no_reply_is_never_lost() {
        let mut in_flight = in_flight();
        in_flight.send(1, MonoTime(1), MonoTime(1), false);
        in_flight.send(2, MonoTime(2), MonoTime(2), true);
        assert_eq!(in_flight.answer(1), Answer::Duplicate);
        assert_eq!(in_flight.oldest(), Some(MonoTime(2)));
        assert_eq!(in_flight.expire(MonoTime(9)), 1);
    }

    #[test]
    fn the_table_does_not_grow_and_what_it_pushes_out_is_lost_once() {
        let mut in_flight = in_flight();
        let lost: u64 = (1..=3000).map(|n| in_flight.send(n, MonoTime(n), MonoTime(n), true)).sum();
        assert_eq!((lost, in_flight.slots.len()), (3000 - 1024, 1024));
        assert_eq!(in_flight.expire(MonoTime(u64::MAX)), 1024);
        assert_eq!(in_flight.answer(1), Answer::Ancient);
    }

    #[test]
    fn giving_up_waits_for_the_deadline_of_each() {
        let mut in_flight = in_flight();
        let lost: u64 = (1..=10).map(|n| in_flight.send(n, MonoTime(n), MonoTime(n), true)).sum();
        assert_eq!(lost, 0);
        assert_eq!(in_flight.expire(MonoTime(0) + Nanos(6)), 5);
        assert_eq!(in_flight.oldest(), Some(MonoTime(6)));
    }
}
