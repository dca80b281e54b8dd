//! Waiting for a message: by asking again and again, by sleeping, or first the one and then the other.

use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// How one thread waits, and when something kept it from doing so.
#[derive(Debug)]
pub(crate) struct Waiter {
    mode: WaitMode,
    /// When the thread was last seen running.
    seen: MonoTime,
    hiccups: Hiccups,
    /// The last times it was held: from, until. A ring.
    recent: [(MonoTime, MonoTime); RECENT],
    /// When it last slept: whether it was held then is not known.
    slept: MonoTime,
}

/// Times at which a thread that meant to run did not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hiccups {
    /// How many.
    pub(crate) count: u64,
    /// All of them together.
    pub(crate) total: Nanos,
    /// The longest.
    pub(crate) worst: Nanos,
}

impl Waiter {
    /// Waits in this way from now on.
    pub(crate) fn new(mode: WaitMode) -> Waiter {
        let recent = [(MonoTime(0), MonoTime(0)); RECENT];
        Waiter { mode, seen: mono_now(), hiccups: Hiccups::default(), recent, slept: MonoTime(0) }
    }

    /// What kept the thread from running so far.
    pub(crate) fn hiccups(&self) -> Hiccups {
        self.hiccups
    }

    /// The thread runs, and has done nothing long until now that counts as being held.
    pub(crate) fn running(&mut self, now: MonoTime) {
        self.seen = now;
    }

    /// Tries until something came or the deadline has passed (`None`). `attempt` must not block; `sleep_on` is what
    /// becomes readable when it is worth another try.
    ///
    /// # Errors
    /// What `attempt` gives, other than that there is nothing yet, and what poll(2) gives.
    pub(crate) fn until<T>(
        &mut self,
        deadline: MonoTime,
        sleep_on: &impl AsFd,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<Option<T>> {
        let mut began = None;
        loop {
            for _ in 0..TRIES {
                match attempt() {
                    Ok(value) => return Ok(Some(value)),
                    Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                    Err(e) => return Err(e),
                }
                if self.mode == WaitMode::Block {
                    break;
                }
            }
            let now = mono_now();
            self.look(now);
            if now >= deadline {
                return Ok(None);
            }
            let spun = now.saturating_since(*began.get_or_insert(now));
            if self.mode == WaitMode::Block || (self.mode == WaitMode::Hybrid && spun >= SPIN) {
                self.sleep(&mut [Interest::readable(sleep_on)], deadline)?;
            }
        }
    }

    /// Sleeps until something is there to read, or the deadline.
    pub(crate) fn sleep(&mut self, on: &mut [Interest<'_>], deadline: MonoTime) -> io::Result<()> {
        wait(on, Some(deadline))?;
        self.seen = mono_now();
        self.slept = self.seen;
        Ok(())
    }

    /// For how long the thread was held between these times; `None`: it slept, and may have been woken late.
    pub(crate) fn held(&self, from: MonoTime, until: MonoTime) -> Option<Nanos> {
        let both = |hiccup: &(MonoTime, MonoTime)| hiccup.1.min(until) - hiccup.0.max(from);
        (self.slept < from).then(|| Nanos(self.recent.iter().map(|hiccup| both(hiccup).0).sum()))
    }

    /// Was the thread held since it was last seen?
    pub(crate) fn look(&mut self, now: MonoTime) {
        let from = std::mem::replace(&mut self.seen, now);
        let gap = now.saturating_since(from);
        if gap > HICCUP {
            self.recent[self.hiccups.count as usize % RECENT] = (from, now);
            self.hiccups.count += 1;
            self.hiccups.total += gap;
            self.hiccups.worst = self.hiccups.worst.max(gap);
        }
    }
}

/// Tries between two looks at the clock: about 2 µs.
const TRIES: u32 = 8;
/// A thread that is not seen for so long was held.
const HICCUP: Nanos = Nanos(50_000);
/// Times of being held that are remembered one by one.
const RECENT: usize = 32;
/// How long [`WaitMode::Hybrid`] spins.
pub(crate) const SPIN: Nanos = Nanos(50_000);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn every_mode_receives_and_gives_up_in_time() {
        for mode in [WaitMode::Spin, WaitMode::Hybrid, WaitMode::Block] {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.connect(socket.local_addr().unwrap()).unwrap();
            let mut waiter = Waiter::new(mode);
            let mut buf = [0; 8];
            let deadline = mono_now() + Nanos::from_millis(2);
            let nothing = waiter.until(deadline, &socket, || socket.recv(&mut buf)).unwrap();
            assert_eq!(nothing, None, "{mode}");
            assert!(mono_now() >= deadline, "{mode}");
            socket.send(b"abc").unwrap();
            let deadline = mono_now() + Nanos::from_secs(5);
            assert_eq!(waiter.until(deadline, &socket, || socket.recv(&mut buf)).unwrap(), Some(3), "{mode}");
        }
    }

    #[test]
    fn being_held_is_noticed() {
        let mut waiter = Waiter::new(WaitMode::Spin);
        let now = mono_now();
        waiter.running(now);
        waiter.look(now + Nanos(10_000));
        assert_eq!(waiter.hiccups().count, 0);
        waiter.look(now + Nanos(110_000));
        let Hiccups { count, total, worst } = waiter.hiccups();
        assert_eq!((count, total, worst), (1, Nanos(100_000), Nanos(100_000)));
        assert_eq!(waiter.held(now, now + Nanos(200_000)), Some(Nanos(100_000)));
        assert_eq!(waiter.held(now + Nanos(60_000), now + Nanos(70_000)), Some(Nanos(10_000)));
        assert_eq!(waiter.held(now + Nanos(110_000), now + Nanos(120_000)), Some(Nanos::ZERO));
        waiter.sleep(&mut [], mono_now()).unwrap();
        assert_eq!(waiter.held(now, now + Nanos(200_000)), None, "nobody saw");
    }
}
