//! The number of replies of each session: the state of a stateful reflector (RFC 8762 section 4).

use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;
use std::net::SocketAddr;

/// A session as a reflector on one port identifies it: its sender and its SSID.
pub(super) type Session = (SocketAddr, u16);

/// Counts for a bounded number of sessions. A session that is silent for [`EXPIRY`] is forgotten, and the longest silent ones
/// when there are too many. The count of a forgotten session begins at 0 again, as does that of a sender that restarts: routers
/// send every session from the same port.
#[derive(Debug)]
pub(super) struct Sessions {
    counts: HashMap<Session, Count>,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    next: u32,
    begun: MonoTime,
    last: MonoTime,
    /// The sender's highest number, modulo 2^32.
    highest: u32,
}

impl Count {
    fn new(number: u32, now: MonoTime) -> Count {
        Count { next: 0, begun: now, last: now, highest: number }
    }

    /// Does this number belong to a session that restarts? Evidence is a number further back than packets overtake each other, or
    /// a first number (RFC 8762 section 4.2.1: numbers begin at 0) that is not a late copy of this session's own.
    fn is_over(&self, number: u32, now: MonoTime) -> bool {
        let back = self.highest.wrapping_sub(number).cast_signed();
        let again = number == 0 && back >= 0 && now - self.begun > LATEST_COPY;
        back > MOST_OVERTAKEN || again || now - self.last > EXPIRY
    }
}

impl Sessions {
    /// For at most `most` sessions, at least 1.
    pub(super) fn new(most: usize) -> Sessions {
        Sessions { counts: HashMap::new(), most: most.max(1) }
    }

    /// Number of replies the session has had when the sender's packet with this `number` arrives; counts one more.
    pub(super) fn count(&mut self, session: Session, number: u32, now: MonoTime) -> u32 {
        if !self.counts.contains_key(&session) && self.counts.len() >= self.most {
            self.make_room(now);
        }
        let count = self.counts.entry(session).or_insert(Count::new(number, now));
        if count.is_over(number, now) {
            *count = Count::new(number, now);
        }
        count.last = now;
        if number.wrapping_sub(count.highest).cast_signed() > 0 {
            count.highest = number;
        }
        let this = count.next;
        count.next = this.wrapping_add(1);
        this
    }

    /// Forgets the expired sessions, or else the longest silent eighth: many at a time, so that each packet of a flood of new
    /// senders costs little.
    fn make_room(&mut self, now: MonoTime) {
        let mut times: Vec<MonoTime> = self.counts.values().map(|count| count.last).collect();
        let eighth = times.len() / 8;
        let (_, oldest, _) = times.select_nth_unstable(eighth);
        let limit = (*oldest).max(now - EXPIRY);
        self.counts.retain(|_, count| count.last > limit);
    }
}

/// The time that TWAMP waits before it ends a silent session (REFWAIT, RFC 5357 section 4.2).
const EXPIRY: Nanos = Nanos::from_secs(900);
/// Latest arrival of a copy of a session's first packet.
const LATEST_COPY: Nanos = Nanos::from_secs(1);
/// Most packets by which a packet is overtaken.
const MOST_OVERTAKEN: i32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: u16) -> Session {
        (([192, 0, 2, 1], number).into(), 0)
    }

    #[test]
    fn each_session_counts_for_itself() {
        let mut sessions = Sessions::new(10);
        let at = MonoTime(5);
        assert_eq!([0, 1, 2].map(|number| sessions.count(session(1), number, at)), [0, 1, 2]);
        assert_eq!(sessions.count(session(2), 0, at), 0);
        assert_eq!(sessions.count((session(1).0, 9), 0, at), 0);
        assert_eq!(sessions.count(session(1), 3, at), 3);
    }

    #[test]
    fn silence_ends_a_session() {
        let mut sessions = Sessions::new(10);
        sessions.count(session(1), 0, MonoTime(0));
        assert_eq!(sessions.count(session(1), 1, MonoTime(0) + EXPIRY), 1);
        assert_eq!(sessions.count(session(1), 2, MonoTime(0) + EXPIRY + EXPIRY + Nanos::from_nanos(1)), 0);
    }

    /// The counts of packets of one address and port, at these milliseconds.
    fn counted(packets: &[(u64, u32)]) -> Vec<u32> {
        let mut sessions = Sessions::new(10);
        let at = |ms: u64| MonoTime(0) + Nanos::from_millis(ms);
        packets.iter().map(|(ms, number)| sessions.count(session(1), *number, at(*ms))).collect()
    }

    #[test]
    fn a_sender_that_begins_anew_is_counted_anew() {
        assert_eq!(counted(&[(0, 0), (500, 1), (5_000, 0), (5_500, 1)]), [0, 1, 0, 1]);
        assert_eq!(counted(&[(0, 0), (2_000, 0), (4_000, 0)]), [0, 0, 0], "one packet each");
        assert_eq!(counted(&[(0, 0), (1, 2_000), (2, 3), (3, 4)]), [0, 1, 0, 1], "its first three are lost");
        assert_eq!(counted(&[(0, 70_000), (1, 70_001), (2, 0)]), [0, 1, 0]);
    }

    #[test]
    fn what_the_path_doubles_or_delays_begins_no_session() {
        assert_eq!(counted(&[(0, 0), (1, 0), (2, 1)]), [0, 1, 2], "the first one twice");
        assert_eq!(counted(&[(0, 1), (1, 0), (2, 2)]), [0, 1, 2], "the first one late");
        assert_eq!(counted(&[(0, 0), (9_000, 900), (9_001, 5), (9_002, 901)]), [0, 1, 2, 3]);
        assert_eq!(counted(&[(0, u32::MAX), (2_000, 0), (4_000, 1)]), [0, 1, 2], "beyond 32 bits");
    }

    #[test]
    fn the_longest_silent_make_room() {
        let mut sessions = Sessions::new(16);
        for number in 0..16 {
            sessions.count(session(number), 0, MonoTime(number.into()));
        }
        assert_eq!(sessions.count(session(99), 0, MonoTime(20)), 0);
        assert_eq!(sessions.count(session(15), 1, MonoTime(21)), 1);
        assert_eq!(sessions.count(session(0), 0, MonoTime(22)), 0);
        for number in 100..2000 {
            sessions.count(session(number), 0, MonoTime(number.into()));
            assert!(sessions.counts.len() <= 16);
        }
    }

    #[test]
    fn the_expired_all_go_at_once() {
        let mut sessions = Sessions::new(16);
        for number in 0..16 {
            sessions.count(session(number), 0, MonoTime(number.into()));
        }
        sessions.count(session(99), 0, MonoTime(20) + EXPIRY);
        assert_eq!(sessions.counts.len(), 1);
    }

    #[test]
    fn many_at_the_same_moment_are_still_bounded() {
        let mut sessions = Sessions::new(4);
        for number in 0..100 {
            assert_eq!(sessions.count(session(number), 0, MonoTime(7)), 0);
            assert!(sessions.counts.len() <= 4);
        }
    }
}
