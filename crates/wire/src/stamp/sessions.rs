//! How many replies each session has had: what makes a reflector stateful (RFC 8762 section 4).

use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;
use std::net::SocketAddr;

/// A session as a reflector on one port knows it: its sender and its SSID.
pub(super) type Session = (SocketAddr, u16);

/// Counts for a bounded number of sessions. A session that is silent for [`EXPIRY`] is forgotten, and the longest
/// silent ones when there are too many; one that is forgotten begins at 0 again.
#[derive(Debug)]
pub(super) struct Sessions {
    counts: HashMap<Session, Count>,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Count {
    next: u32,
    last: MonoTime,
}

impl Sessions {
    /// For at most `most` sessions, at least 1.
    pub(super) fn new(most: usize) -> Sessions {
        Sessions { counts: HashMap::new(), most: most.max(1) }
    }

    /// How many replies the session has had; counts one more.
    pub(super) fn count(&mut self, session: Session, now: MonoTime) -> u32 {
        if !self.counts.contains_key(&session) && self.counts.len() >= self.most {
            self.make_room(now);
        }
        let count = self.counts.entry(session).or_insert(Count { next: 0, last: now });
        if now - count.last > EXPIRY {
            count.next = 0;
        }
        count.last = now;
        let this = count.next;
        count.next = this.wrapping_add(1);
        this
    }

    /// Forgets the expired sessions, or else the longest silent eighth: many at a time, so that a flood of new senders
    /// costs each packet little.
    fn make_room(&mut self, now: MonoTime) {
        let mut times: Vec<MonoTime> = self.counts.values().map(|count| count.last).collect();
        let eighth = times.len() / 8;
        let (_, oldest, _) = times.select_nth_unstable(eighth);
        let limit = (*oldest).max(now - EXPIRY);
        self.counts.retain(|_, count| count.last > limit);
    }
}

/// As long as TWAMP waits before it ends a silent session (REFWAIT, RFC 5357 section 4.2).
const EXPIRY: Nanos = Nanos::from_secs(900);

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
        assert_eq!([0, 1, 2].map(|_| sessions.count(session(1), at)), [0, 1, 2]);
        assert_eq!(sessions.count(session(2), at), 0);
        assert_eq!(sessions.count((session(1).0, 9), at), 0);
        assert_eq!(sessions.count(session(1), at), 3);
    }

    #[test]
    fn silence_ends_a_session() {
        let mut sessions = Sessions::new(10);
        sessions.count(session(1), MonoTime(0));
        assert_eq!(sessions.count(session(1), MonoTime(0) + EXPIRY), 1);
        assert_eq!(sessions.count(session(1), MonoTime(0) + EXPIRY + EXPIRY + Nanos(1)), 0);
    }

    #[test]
    fn the_longest_silent_make_room() {
        let mut sessions = Sessions::new(16);
        for number in 0..16 {
            sessions.count(session(number), MonoTime(number.into()));
        }
        assert_eq!(sessions.count(session(99), MonoTime(20)), 0);
        assert_eq!(sessions.count(session(15), MonoTime(21)), 1);
        assert_eq!(sessions.count(session(0), MonoTime(22)), 0);
        for number in 100..2000 {
            sessions.count(session(number), MonoTime(number.into()));
            assert!(sessions.counts.len() <= 16);
        }
    }

    #[test]
    fn the_expired_all_go_at_once() {
        let mut sessions = Sessions::new(16);
        for number in 0..16 {
            sessions.count(session(number), MonoTime(number.into()));
        }
        sessions.count(session(99), MonoTime(20) + EXPIRY);
        assert_eq!(sessions.counts.len(), 1);
    }

    #[test]
    fn many_at_the_same_moment_are_still_bounded() {
        let mut sessions = Sessions::new(4);
        for number in 0..100 {
            assert_eq!(sessions.count(session(number), MonoTime(7)), 0);
            assert!(sessions.counts.len() <= 4);
        }
    }
}
