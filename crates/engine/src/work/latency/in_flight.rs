//! Messages in flight: when each was sent and whether its reply has come, in memory that is bounded.

use model::time::MonoTime;
use std::collections::BTreeMap;

/// The messages sent last, by number, and all older ones that still wait for a reply.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    slots: Vec<Flight>,
    /// Messages that a later one has pushed out of the table while they waited.
    pushed_out: BTreeMap<u64, Flight>,
    /// Every one of them up to this number is given up.
    pushed_settled: u64,
    /// Those up to this number were forgotten because there were too many: replies to them are ancient.
    forgotten: u64,
    /// Number of the last message before the first one of this table.
    before: u64,
    /// Number of the last message sent.
    last: u64,
    /// Every message up to this one is answered or given up.
    settled: u64,
    /// Highest number answered.
    highest: u64,
    /// Messages so far that wanted a reply.
    asked: u64,
}

/// One message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flight {
    /// Its number.
    pub(crate) number: u64,
    /// Its place among the messages that wanted a reply, from 1.
    pub(crate) place: u64,
    /// When it was due.
    pub(crate) due: MonoTime,
    /// When it was sent.
    pub(crate) sent: MonoTime,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// No reply is wanted, or it has come.
    #[default]
    Done,
    Waiting,
    /// The message counts as lost until its reply arrives.
    GivenUp,
}

/// The kinds of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The first to its message.
    First {
        /// The message.
        flight: Flight,
        /// A later message was answered before.
        reordered: bool,
        /// The message counted as lost until now.
        given_up: bool,
    },
    /// To a message that was forgotten.
    Ancient,
    /// Not the first.
    Duplicate,
    /// To a message that was never sent, or before this table began.
    Foreign,
}

impl InFlight {
    /// Room for this many messages in flight; a power of two is made of it. Their numbers begin after `last`.
    pub(crate) fn new(room: usize, last: u64) -> InFlight {
        let slots = vec![Flight::default(); room.clamp(1024, MOST).next_power_of_two()];
        InFlight {
            slots,
            pushed_settled: last,
            before: last,
            last,
            settled: last,
            highest: last,
            ..InFlight::default()
        }
    }

    /// A message is sent. Returns how many older ones are forgotten and lost, having had to make room.
    pub(crate) fn send(&mut self, number: u64, due: MonoTime, sent: MonoTime, wants_reply: bool) -> u64 {
        self.asked += u64::from(wants_reply);
        let state = if wants_reply { State::Waiting } else { State::Done };
        let flight = Flight { number, place: self.asked, due, sent, state };
        let old = std::mem::replace(self.slot(number), flight);
        self.last = number;
        if old.state == State::Done {
            return 0;
        }
        self.pushed_out.insert(old.number, old);
        if self.pushed_out.len() <= MOST_PUSHED_OUT {
            return 0;
        }
        self.forgotten = self.pushed_out.first_key_value().map_or(self.forgotten, |(number, _)| *number);
        let gone = self.pushed_out.pop_first();
        u64::from(gone.is_some_and(|(_, flight)| flight.state == State::Waiting))
    }

    /// A reply came.
    pub(crate) fn answer(&mut self, number: u64) -> Answer {
        if number <= self.before || number > self.last {
            return Answer::Foreign;
        }
        let reordered = number < self.highest;
        let forgotten = self.forgotten;
        let slot = self.slot(number);
        let flight = if slot.number == number {
            let flight = *slot;
            slot.state = State::Done;
            flight
        } else {
            match self.pushed_out.remove(&number) {
                Some(flight) => flight,
                None if number <= forgotten => return Answer::Ancient,
                None => return Answer::Duplicate,
            }
        };
        if flight.state == State::Done {
            return Answer::Duplicate;
        }
        self.highest = self.highest.max(number);
        Answer::First { flight, reordered, given_up: flight.state == State::GivenUp }
    }

    /// Gives up the messages sent before this time that still wait; returns how many.
    pub(crate) fn expire(&mut self, sent_before: MonoTime) -> u64 {
        let mut given_up = 0;
        for (number, flight) in self.pushed_out.range_mut(self.pushed_settled + 1..) {
            if flight.state == State::Waiting {
                if flight.sent >= sent_before {
                    break;
                }
                flight.state = State::GivenUp;
                given_up += 1;
            }
            self.pushed_settled = *number;
        }
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

    /// Does any message wait?
    pub(crate) fn waits(&mut self) -> bool {
        self.expire(MonoTime(0));
        self.settled < self.last || self.pushed_out.range(self.pushed_settled + 1..).next().is_some()
    }

    /// Those that wait, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Flight> {
        let held = self.last.saturating_sub(self.slots.len() as u64);
        let first = held.max(self.before) + 1;
        let recent = (first..=self.last).map(|number| &self.slots[self.place(number)]);
        self.pushed_out.values().chain(recent).filter(|flight| flight.state == State::Waiting)
    }

    /// The first message from this number on whose reply has not come.
    pub(crate) fn unanswered_from(&self, number: u64) -> Option<&Flight> {
        let held = self.last.saturating_sub(self.slots.len() as u64);
        if number <= held
            && let Some((_, flight)) = self.pushed_out.range(number..).next()
        {
            return Some(flight);
        }
        let mut recent = (number.max(held + 1)..=self.last).map(|number| &self.slots[self.place(number)]);
        recent.find(|flight| flight.state != State::Done)
    }

    /// Messages so far that wanted a reply.
    pub(crate) fn requested(&self) -> u64 {
        self.asked
    }

    fn slot(&mut self, number: u64) -> &mut Flight {
        let place = self.place(number);
        &mut self.slots[place]
    }

    fn place(&self, number: u64) -> usize {
        (number & (self.slots.len() as u64 - 1)) as usize
    }
}

/// 160 MiB of table.
const MOST: usize = 1 << 22;
/// 16 MiB of older ones that wait.
const MOST_PUSHED_OUT: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    fn in_flight() -> InFlight {
        InFlight::new(0, 0)
    }

    /// The facts of a first reply: due, sent, reordered, given up.
    fn first(answer: Answer) -> (u64, u64, bool, bool) {
        let Answer::First { flight, reordered, given_up } = answer else {
            panic!("not the first: {answer:?}")
        };
        (flight.due.0, flight.sent.0, reordered, given_up)
    }

    #[test]
    fn first_and_repeated_replies_are_distinguished_however_late() {
        let mut in_flight = in_flight();
        for number in 1..=4 {
            assert_eq!(in_flight.send(number, MonoTime(number * 10), MonoTime(number * 10 + 1), true), 0);
        }
        assert_eq!(first(in_flight.answer(2)), (20, 21, false, false));
        assert_eq!(first(in_flight.answer(1)), (10, 11, true, false));
        assert_eq!(in_flight.answer(1), Answer::Duplicate);
        assert_eq!(in_flight.waiting().map(|flight| flight.number).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(in_flight.expire(MonoTime(41)), 1, "3 is given up, 4 is not");
        assert_eq!(first(in_flight.answer(3)), (30, 31, false, true));
        assert_eq!(in_flight.answer(3), Answer::Duplicate);
        for number in [0, 5, u64::MAX] {
            assert_eq!(in_flight.answer(number), Answer::Foreign);
        }
        assert_eq!(in_flight.expire(MonoTime(100)), 1);
        assert!(!in_flight.waits());
    }

    #[test]
    fn replies_to_messages_from_before_are_none_of_these() {
        let mut in_flight = InFlight::new(0, 500);
        in_flight.send(501, MonoTime(1), MonoTime(1), true);
        assert_eq!((in_flight.answer(500), in_flight.answer(1)), (Answer::Foreign, Answer::Foreign));
        assert_eq!(first(in_flight.answer(501)), (1, 1, false, false));
    }

    #[test]
    fn a_message_that_wants_no_reply_is_never_lost() {
        let mut in_flight = in_flight();
        in_flight.send(1, MonoTime(1), MonoTime(1), false);
        in_flight.send(2, MonoTime(2), MonoTime(2), true);
        assert_eq!(in_flight.answer(1), Answer::Duplicate);
        assert_eq!(in_flight.unanswered_from(1).map(|flight| flight.number), Some(2));
        assert_eq!((in_flight.expire(MonoTime(9)), in_flight.requested()), (1, 1));
    }

    #[test]
    fn a_message_that_waits_outlasts_any_number_of_later_ones() {
        let mut in_flight = in_flight();
        for number in 1..=100_000 {
            in_flight.send(number, MonoTime(number), MonoTime(number), true);
            if number != 7 {
                first(in_flight.answer(number));
            }
        }
        assert_eq!(in_flight.waiting().map(|flight| flight.number).collect::<Vec<_>>(), [7]);
        assert_eq!(in_flight.answer(8), Answer::Duplicate, "it was answered long ago");
        assert_eq!(first(in_flight.answer(7)), (7, 7, true, false));
        assert!(!in_flight.waits());
    }

    #[test]
    fn memory_is_bounded_and_what_is_forgotten_is_lost_once() {
        let mut in_flight = in_flight();
        let most = (MOST_PUSHED_OUT + 1024) as u64;
        let lost: u64 = (1..=most + 3).map(|n| in_flight.send(n, MonoTime(n), MonoTime(n), true)).sum();
        assert_eq!((lost, in_flight.pushed_out.len()), (3, MOST_PUSHED_OUT));
        assert_eq!(in_flight.expire(MonoTime(u64::MAX)), most);
        assert_eq!(in_flight.answer(1), Answer::Ancient);
        assert!(first(in_flight.answer(4)).3);
    }

    #[test]
    fn giving_up_waits_for_the_deadline_of_each() {
        let mut in_flight = in_flight();
        let lost: u64 = (1..=10).map(|n| in_flight.send(n, MonoTime(n), MonoTime(n), true)).sum();
        assert_eq!(lost, 0);
        assert_eq!(in_flight.expire(MonoTime(0) + Nanos::from_nanos(6)), 5);
        assert_eq!(in_flight.waiting().next().map(|flight| flight.number), Some(6));
    }
}
