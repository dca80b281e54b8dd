//! The client's exchanges of clock readings with the server: a burst before the test, then five per second.

use super::message::Message;
use model::event::Probe;
use model::stats::clock::{ClockFit, ClockSync, Exchange};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Pinger {
    next_id: u64,
    pub(super) due: MonoTime,
    open: VecDeque<(u64, MonoTime)>,
    clock: ClockSync,
    /// Recent RTT of the control connection, application to application.
    pub(super) rtt: Option<Nanos>,
    gap: Nanos,
}

impl Pinger {
    /// A pinger whose burst begins now.
    pub(super) fn new(now: MonoTime) -> Pinger {
        Pinger {
            next_id: 0,
            due: now,
            open: VecDeque::new(),
            clock: ClockSync::default(),
            rtt: None,
            gap: GAP,
        }
    }

    /// A pinger with the fewest pings that show this end is alive: every ping wakes a thread beside those that measure.
    pub(super) fn seldom(now: MonoTime) -> Pinger {
        Pinger { gap: SELDOM_GAP, next_id: BURST, ..Pinger::new(now) }
    }

    /// The next ping, when it is due.
    pub(super) fn poll(&mut self, now: MonoTime) -> Option<Message> {
        if now < self.due {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.due = now + if self.next_id < BURST { BURST_GAP } else { self.gap };
        if self.open.len() == MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back((id, now));
        Some(Message::Ping { id, t1: now, rtt: self.rtt })
    }

    /// Takes an answer; unrequested and repeated answers are ignored.
    pub(super) fn pong(&mut self, now: MonoTime, id: u64, t2: MonoTime, t3: MonoTime) {
        let Some(at) = self.open.iter().position(|open| open.0 == id) else { return };
        let Some((_, t1)) = self.open.remove(at) else { return };
        let rtt = now - t1;
        self.rtt = Some(self.rtt.map_or(rtt, |smooth| Nanos(smooth.0 / 8 * 7 + rtt.0 / 8)));
        self.clock.record(Exchange { sent: t1, remote_received: t2, remote_sent: t3, received: now });
    }

    /// Is the whole burst answered?
    pub(super) fn burst_is_over(&self) -> bool {
        self.next_id >= BURST && self.open.iter().all(|open| open.0 >= BURST)
    }

    /// The server's clock relative to this one.
    pub(super) fn fit(&self) -> Option<ClockFit> {
        self.clock.fit()
    }

    /// The offset of the server's clock in the middle of a test, with an error that holds during the whole test.
    pub(super) fn offset(&self, started: MonoTime, ended: MonoTime) -> Option<Probe> {
        let fit = self.fit()?;
        let half = Nanos((ended - started).0 / 2);
        let drift = Nanos((fit.drift.abs() * half.0 as f64).ceil() as u64);
        let error = fit.error_at(started).max(fit.error_at(ended)) + drift;
        Some(Probe::ClockOffset { offset_ns: fit.offset_at(started + half), error, exchanges: fit.used })
    }
}

/// Exchanges before the test.
const BURST: u64 = 10;
const BURST_GAP: Nanos = Nanos::from_millis(10);
const GAP: Nanos = Nanos::from_millis(200);
const SELDOM_GAP: Nanos = Nanos::from_secs(3);
/// Twelve seconds of unanswered pings.
const MAX_OPEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_five_a_second() {
        let (mut pinger, mut now, mut times) = (Pinger::new(MonoTime(0)), MonoTime(0), Vec::new());
        for _ in 0..12 {
            times.extend(pinger.poll(now).map(|_| now.0 / 1_000_000));
            assert!(pinger.poll(now).is_none());
            now = pinger.due;
        }
        assert_eq!(times, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 290, 490]);
        assert!(!pinger.burst_is_over());
        (0..10).for_each(|id| pinger.pong(now, id, MonoTime(5), MonoTime(5)));
        assert!(pinger.burst_is_over());
        assert_eq!(pinger.clock.count(), 10);
    }

    #[test]
    fn unrequested_answers_do_not_count() {
        let mut pinger = Pinger::new(MonoTime(0));
        pinger.poll(MonoTime(0));
        pinger.pong(MonoTime(10), 7, MonoTime(1), MonoTime(1));
        pinger.pong(MonoTime(10), 0, MonoTime(1), MonoTime(1));
        pinger.pong(MonoTime(20), 0, MonoTime(1), MonoTime(1));
        assert_eq!((pinger.clock.count(), pinger.rtt), (1, Some(Nanos::from_nanos(10))));
    }
}
