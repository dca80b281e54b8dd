//! A sink with a thread of its own, which reads frames from an interface and counts them until it is dropped.

use super::tally::Tally;
use super::{Arrived, Sink};
use linux::capture::Statistics;
use linux::clock::{mono_now, sleep_until};
use linux::error::{Named, OsError, Result};
use linux::options::take_error;
use linux::poll::{Interest, Waker, wait};
use model::dut::SinkKind;
use std::fmt::{Debug, Formatter};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use units::Nanos;

/// A method of reading frames from an interface.
pub(super) trait Receive: Send {
    /// The sockets whose readiness shows that there are frames.
    fn sockets(&self) -> Vec<BorrowedFd<'_>>;

    /// Counts all frames that have been handed over, and returns their number. Never blocks.
    fn take(&mut self, tally: &mut Tally) -> io::Result<u64>;

    /// The frames for this socket so far, and how many of them it lost.
    fn statistics(&mut self) -> Result<Statistics>;
}

/// The sink.
pub(super) struct Reader {
    kind: SinkKind,
    interface: u32,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Signalled to end the thread.
    end: Waker,
}

struct State {
    receive: Box<dyn Receive>,
    tally: Tally,
    taken: u64,
    /// The error that ended the thread early.
    failed: Option<io::Error>,
}

impl Reader {
    /// Begins to read. The thread may run on the CPUs of the calling one.
    ///
    /// # Errors
    /// Without further descriptors or threads.
    pub(super) fn start(
        kind: SinkKind,
        interface: u32,
        receive: Box<dyn Receive>,
        tally: Tally,
    ) -> Result<Reader> {
        let object = || format!("{kind} on interface {interface}");
        let sockets: io::Result<Vec<OwnedFd>> =
            receive.sockets().iter().map(|socket| socket.try_clone_to_owned()).collect();
        let sockets = sockets.named("start", object)?;
        let state = Mutex::new(State { receive, tally, taken: 0, failed: None });
        let shared = Arc::new(Shared { state, end: Waker::new()? });
        let of_thread = shared.clone();
        let thread = Builder::new().name("pm-sink".into()).spawn(move || of_thread.read(&sockets));
        let thread = Some(thread.named("start", object)?);
        Ok(Reader { kind, interface, shared, thread })
    }

    /// The state once all frames are counted that had arrived at the call.
    fn settled(&self) -> Result<MutexGuard<'_, State>> {
        let wrong = |why: String| {
            let object = format!("frames on interface {}, {}", self.interface, self.kind);
            Err(OsError::new("count", object, io::Error::other(why)))
        };
        let deadline = mono_now() + TIMEOUT;
        let mut meant = None;
        loop {
            let mut state = self.shared.lock();
            if let Some(error) = &state.failed {
                return wrong(error.to_string());
            }
            if let Err(error) = state.take() {
                return wrong(error.to_string());
            }
            let statistics = state.receive.statistics()?;
            if statistics.dropped > 0 {
                let lost = statistics.dropped;
                return wrong(format!(
                    "it could not keep up and lost {lost} of them itself: send fewer per second"
                ));
            }
            if state.tally.joined > 0 {
                return wrong("the interface joins frames: switch off its rx-udp-gro-forwarding".into());
            }
            if state.taken >= *meant.get_or_insert(statistics.frames) {
                return Ok(state);
            }
            drop(state);
            if mono_now() > deadline {
                return wrong("the kernel counted some that it never handed over".into());
            }
            sleep_until(mono_now() + Nanos::from_millis(1));
        }
    }
}

impl Sink for Reader {
    fn kind(&self) -> SinkKind {
        self.kind
    }

    fn arrived(&self) -> Result<Arrived> {
        Ok(self.settled()?.tally.arrived.clone())
    }

    fn last_missing(&self, frames: u64) -> Result<Option<u64>> {
        Ok(self.settled()?.tally.numbers.missing(frames).next_back())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.end.wake();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic; and if it did, the count would be lost with it.
            let _ = thread.join();
        }
    }
}

impl Debug for Reader {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("kind", &self.kind).field("interface", &self.interface).finish()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The work of the thread until it is to end.
    fn read(&self, sockets: &[OwnedFd]) {
        loop {
            let taken = self.lock().take();
            let outcome = match taken {
                Ok(0) => self.wait(sockets),
                taken => taken.map(drop),
            };
            if let Err(error) = outcome {
                self.lock().failed = Some(error);
                return;
            }
            if self.end.drain() {
                return;
            }
        }
    }

    /// Waits for frames or for the end.
    fn wait(&self, sockets: &[OwnedFd]) -> io::Result<()> {
        let mut interests: Vec<Interest<'_>> = sockets.iter().map(Interest::readable).collect();
        interests.push(Interest::readable(&self.end));
        wait(&mut interests, Some(mono_now() + TIMEOUT))?;
        for (socket, interest) in sockets.iter().zip(&interests) {
            if !interest.is_error() {
                continue;
            }
            let error = take_error(&socket.as_fd()).map_err(|error| error.source)?;
            match error {
                // The interface may come up again.
                Some(error) if error.raw_os_error() == Some(libc::ENETDOWN) => {}
                Some(error) => return Err(error),
                None => sleep_until(mono_now() + Nanos::from_millis(1)),
            }
        }
        Ok(())
    }
}

impl State {
    fn take(&mut self) -> io::Result<u64> {
        let taken = self.receive.take(&mut self.tally)?;
        self.taken += taken;
        Ok(taken)
    }
}

/// Longer than the kernel keeps frames in a block that is not full.
const TIMEOUT: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests;
