//! Waiting for a message: by asking again and again, by sleeping, or first the one and then the other.

use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use model::latency::WaitMode;
use model::latency::disturbance::{Disturbance, HostWatch};
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// How one thread waits, and when something kept it from doing so.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// How it waits.
    pub(crate) mode: WaitMode,
    /// Time zero of what the host did.
    started: MonoTime,
    /// When the thread was last known to run.
    observed: MonoTime,
    /// Nothing came until the last deadline: [`WaitMode::Hybrid`] does not spin before there is something again.
    idle: bool,
    /// Times in which the thread was kept from running, since the start.
    pub(crate) watch: HostWatch,
}

impl Waiter {
    /// Waits in this mode from now on.
    pub(crate) fn new(mode: WaitMode) -> Waiter {
        Waiter::since(mode, mono_now())
    }

    /// The same, for a test that began at a given time.
    pub(crate) fn since(mode: WaitMode, started: MonoTime) -> Waiter {
        Waiter { mode, started, observed: mono_now(), idle: false, watch: HostWatch::default() }
    }

    /// The thread runs, and has done nothing long until now that counts as being held.
    pub(crate) fn running(&mut self, now: MonoTime) {
        self.observed = now;
    }

    /// Tries until something came or the deadline has passed (`None`). `attempt` must not block; `sleep_on` is what
    /// becomes readable when it is worth another try.
    ///
    /// # Errors
    /// The errors of `attempt`, except that nothing is there yet, and those of poll(2).
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
                    Ok(value) => {
                        self.idle = false;
                        return Ok(Some(value));
                    }
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
                self.idle = true;
                return Ok(None);
            }
            let spun = now.saturating_since(*began.get_or_insert(now));
            if self.mode == WaitMode::Block || (self.mode == WaitMode::Hybrid && (self.idle || spun >= SPIN))
            {
                self.sleep(&mut [Interest::readable(sleep_on)], deadline)?;
            }
        }
    }

    /// Sleeps until something is there to read, or the deadline.
    pub(crate) fn sleep(&mut self, on: &mut [Interest<'_>], deadline: MonoTime) -> io::Result<()> {
        wait(on, Some(deadline))?;
        self.observed = mono_now();
        Ok(())
    }

    /// Was the thread held since the last call? Only one that spins can detect it: the kernel works for others on the time of
    /// one that sleeps and sends, and nothing is wrong with that.
    pub(crate) fn look(&mut self, now: MonoTime) {
        let from = std::mem::replace(&mut self.observed, now);
        let length = now.saturating_since(from);
        if length > HICCUP && self.mode == WaitMode::Spin {
            let start = from.saturating_since(self.started);
            self.watch.record(Disturbance { start, length });
        }
    }
}

/// Tries between two looks at the clock: about 2 µs.
const TRIES: u32 = 8;
/// A thread without a call for so long was held.
const HICCUP: Nanos = Nanos::from_micros(50);
/// How long [`WaitMode::Hybrid`] spins.
pub(crate) const SPIN: Nanos = Nanos::from_micros(50);

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
        let start = mono_now();
        let mut waiter = Waiter::since(WaitMode::Spin, start);
        waiter.running(start + Nanos::from_nanos(5));
        waiter.look(start + Nanos::from_micros(10));
        assert_eq!(waiter.watch.noise().hiccups, 0);
        waiter.look(start + Nanos::from_micros(110));
        let noise = waiter.watch.noise();
        assert_eq!(
            (noise.hiccups, noise.hiccup_total, noise.hiccup_worst),
            (1, Nanos::from_micros(100), Nanos::from_micros(100))
        );
        assert_eq!(waiter.watch.held(Nanos::from_micros(60), Nanos::from_micros(70)), Nanos::from_micros(10));
        waiter.sleep(&mut [], mono_now()).unwrap();
        waiter.look(mono_now());
        assert_eq!(waiter.watch.noise().hiccups, 1, "sleeping is no hiccup");
    }
}
