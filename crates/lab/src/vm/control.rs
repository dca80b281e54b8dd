//! The host's end of the talk with a virtual machine: commands started in it, what they write, how they end.

use super::frame::{Ended, Frame, Kind};
use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Output and end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VmOutput {
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Its end; `None`: it runs.
    pub ended: Option<Ended>,
    /// Whether it wrote more than 64 MiB that was not taken: the excess is lost.
    pub cut: bool,
}

/// The host's end. Many threads may use it.
#[derive(Debug)]
pub(super) struct Control {
    socket: Mutex<UnixStream>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: bool,
    lost: bool,
    last_stream: u32,
    /// Output and end of each command in the machine, as far as they were not taken.
    streams: HashMap<u32, VmOutput>,
}

/// Why nothing came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Silence {
    /// Time is up.
    Late,
    /// The machine is gone.
    Lost,
}

impl Control {
    /// Takes the near end of the serial port.
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        // A machine that hangs reads nothing.
        socket.set_write_timeout(Some(WRITE_LIMIT))?;
        let shared = Arc::new(Shared::default());
        let (mut reader, for_reader) = (socket.try_clone()?, Arc::clone(&shared));
        thread::Builder::new().name("machine".into()).spawn(move || {
            while let Ok(Some(frame)) = Frame::read(&mut reader) {
                for_reader.take(frame);
            }
            for_reader.lock().lost = true;
            for_reader.changed.notify_all();
        })?;
        Ok(Self { socket: Mutex::new(socket), shared })
    }

    pub(super) fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut *self.socket.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts a stream; its frames are kept until [`Self::forget`].
    pub(super) fn open(&self) -> u32 {
        let mut state = self.shared.lock();
        state.last_stream += 1;
        let number = state.last_stream;
        state.streams.insert(number, VmOutput::default());
        number
    }

    pub(super) fn forget(&self, stream: u32) {
        self.shared.lock().streams.remove(&stream);
    }

    /// Waits until the machine listens.
    pub(super) fn wait_ready(&self, limit: Duration) -> Result<(), Silence> {
        self.shared.wait(limit, |state| state.ready.then_some(()))
    }

    /// Waits until something is found in the stream of a command.
    pub(super) fn wait<T>(
        &self,
        stream: u32,
        limit: Duration,
        mut find: impl FnMut(&mut VmOutput) -> Option<T>,
    ) -> Result<T, Silence> {
        self.shared.wait(limit, |state| find(state.streams.get_mut(&stream)?))
    }

    /// Whether the machine is gone.
    pub(super) fn is_lost(&self) -> bool {
        self.shared.lock().lost
    }

    /// Uses what a command has written that was not taken, and its end if it has ended.
    pub(super) fn with<T>(&self, stream: u32, act: impl FnOnce(&mut VmOutput) -> T) -> Option<T> {
        self.shared.lock().streams.get_mut(&stream).map(act)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(&self, limit: Duration, mut find: impl FnMut(&mut State) -> Option<T>) -> Result<T, Silence> {
        let began = Instant::now();
        let mut state = self.lock();
        loop {
            if let Some(found) = find(&mut state) {
                return Ok(found);
            }
            if state.lost {
                return Err(Silence::Lost);
            }
            let left =
                limit.checked_sub(began.elapsed()).filter(|left| !left.is_zero()).ok_or(Silence::Late)?;
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take(&self, frame: Frame) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let stream = state.streams.get_mut(&frame.stream);
        match (frame.kind, stream) {
            (Kind::Ready, _) => state.ready = true,
            (Kind::Stdout, Some(stream)) => stream.cut |= !keep(&mut stream.stdout, &frame.payload),
            (Kind::Stderr, Some(stream)) => stream.cut |= !keep(&mut stream.stderr, &frame.payload),
            (Kind::Ended, Some(stream)) => {
                stream.ended = Some(serde_json::from_slice(&frame.payload).unwrap_or_else(Ended::failed));
            }
            // The frame belongs to a command that is no longer waited for, or is not for the host.
            _ => {}
        }
        self.changed.notify_all();
    }
}

/// Whether there was room.
fn keep(into: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let fits = into.len() + bytes.len() <= MOST_OUTPUT;
    if fits {
        into.extend_from_slice(bytes);
    }
    fits
}

const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// Most output that is kept of each stream of a command until it is taken.
const MOST_OUTPUT: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_comes_in_order_and_its_end_last() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let control = Control::new(near).unwrap();
        assert_eq!(control.wait_ready(Duration::ZERO), Err(Silence::Late));
        Frame::new(Kind::Ready, 0, Vec::new()).write(&mut far).unwrap();
        control.wait_ready(Duration::from_secs(10)).unwrap();

        let stream = control.open();
        Frame::new(Kind::Stdout, stream, b"one ".to_vec()).write(&mut far).unwrap();
        Frame::new(Kind::Stdout, stream + 1, b"of no stream".to_vec()).write(&mut far).unwrap();
        Frame::new(Kind::Stdout, stream, b"two".to_vec()).write(&mut far).unwrap();
        let ended = Ended { code: Some(3), ..Ended::default() };
        Frame::json(Kind::Ended, stream, &ended).unwrap().write(&mut far).unwrap();
        control.wait(stream, Duration::from_secs(10), |stream| stream.ended.clone()).unwrap();
        let all = control.with(stream, std::mem::take).unwrap();
        assert_eq!((all.stdout.as_slice(), all.ended), (&b"one two"[..], Some(ended)));

        let other = control.open();
        drop(far);
        assert_eq!(
            control.wait(other, Duration::from_secs(10), |stream| stream.ended.clone()),
            Err(Silence::Lost)
        );
    }
}
