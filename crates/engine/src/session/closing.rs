//! How the sockets of a server end. A socket that is closed with bytes which its peer does not read lives on in the kernel with
//! them, for as long as the peer acknowledges: memory that no budget counts. A thread of its own therefore waits for such
//! sockets, for as long as their bytes are read; bytes that are not read are dropped with the connection.

use crate::session::budget::within;
use linux::clock::mono_now;
use linux::options::{set_reset_on_close, unacknowledged};
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A connected socket, closed as its end of the connection demands.
#[derive(Debug)]
pub(crate) struct Tcp {
    /// Absent while it is dropped.
    socket: Option<TcpStream>,
    /// The far end opened the connection: it may be unauthenticated.
    served: bool,
}

impl Tcp {
    /// The end of a server.
    pub(crate) fn served(socket: TcpStream) -> Tcp {
        Tcp { socket: Some(socket), served: true }
    }
}

/// The end of a client, which closes as the kernel does.
impl From<TcpStream> for Tcp {
    fn from(socket: TcpStream) -> Tcp {
        Tcp { socket: Some(socket), served: false }
    }
}

impl Deref for Tcp {
    type Target = TcpStream;

    fn deref(&self) -> &TcpStream {
        self.socket.as_ref().expect("it is taken when it is dropped, and not before")
    }
}

impl AsFd for Tcp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl Read for Tcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buffer)
    }
}

impl Write for Tcp {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&**self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        let Some(socket) = self.socket.take().filter(|_| self.served) else { return };
        let left = left_over(&socket);
        if left > 0 {
            // The peer hears of the end as it would from close(2).
            socket.shutdown(Shutdown::Write).ok();
            let now = mono_now();
            CLOSING.take(LeftOver { socket, left, began: now, read: now });
        }
    }
}

/// Resets what is still left over: nothing of it stays when this process ends.
pub(crate) fn reset_all() {
    CLOSING.lock().waiting.drain(..).for_each(LeftOver::reset);
}

/// Sockets whose peers have not read everything.
struct Closing(Mutex<State>);

struct State {
    waiting: Vec<LeftOver>,
    is_watched: bool,
}

/// A socket that is at its end.
struct LeftOver {
    socket: TcpStream,
    /// Bytes that are not acknowledged, the end of the stream included.
    left: u64,
    began: MonoTime,
    /// When the peer last read something.
    read: MonoTime,
}

impl Closing {
    fn take(&'static self, left_over: LeftOver) {
        let mut state = self.lock();
        state.waiting.push(left_over);
        state.shed();
        if !state.is_watched {
            let watcher = std::thread::Builder::new().name("closing".into()).stack_size(STACK);
            state.is_watched = watcher.spawn(|| self.watch()).is_ok();
            if !state.is_watched {
                state.waiting.drain(..).for_each(LeftOver::reset);
            }
        }
    }

    /// Until nothing is left over.
    fn watch(&self) {
        loop {
            std::thread::sleep(LOOK_STEP.to_duration());
            let mut state = self.lock();
            let now = mono_now();
            for left_over in std::mem::take(&mut state.waiting) {
                state.waiting.extend(left_over.look(now));
            }
            if state.waiting.is_empty() {
                state.is_watched = false;
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The oldest go first where too much is left over.
    fn shed(&mut self) {
        let mut bytes: u64 = self.waiting.iter().map(|one| one.left).sum();
        let sockets = within(MOST_SOCKETS, linux::privilege::open_files()) as usize;
        while self.waiting.len() > sockets || bytes > MOST_BYTES {
            let oldest = self.waiting.remove(0);
            bytes -= oldest.left;
            oldest.reset();
        }
    }
}

impl LeftOver {
    /// Itself, where it is to be waited for.
    fn look(mut self, now: MonoTime) -> Option<LeftOver> {
        let left = left_over(&self.socket);
        if left == 0 {
            return None;
        }
        if left < self.left {
            (self.left, self.read) = (left, now);
        }
        let is_read = now.saturating_since(self.read) < QUIET && now.saturating_since(self.began) < LONGEST;
        if is_read {
            return Some(self);
        }
        self.reset();
        None
    }

    fn reset(self) {
        set_reset_on_close(&self.socket).ok();
    }
}

/// Bytes that the peer has not acknowledged; none of a connection that is over.
fn left_over(socket: &TcpStream) -> u64 {
    unacknowledged(socket).map_or(0, |bytes| bytes.0)
}

static CLOSING: Closing = Closing(Mutex::new(State { waiting: Vec::new(), is_watched: false }));

const LOOK_STEP: Nanos = Nanos::from_millis(100);
/// A peer that reads nothing for so long reads no more.
const QUIET: Nanos = Nanos::from_secs(2);
/// A peer that reads so slowly has had its time.
const LONGEST: Nanos = Nanos::from_secs(60);
/// Sockets that are left over at most, and what they hold.
const MOST_SOCKETS: u32 = 256;
const MOST_BYTES: u64 = 64 << 20;
const STACK: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    /// A client and the server's end of its connection, whose send buffer is full.
    fn full() -> (TcpStream, Tcp) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = Tcp::served(listener.accept().unwrap().0);
        server.set_nonblocking(true).unwrap();
        while server.write(&[7; 65_536]).is_ok() {}
        (client, server)
    }

    #[test]
    fn a_peer_that_reads_has_everything_and_the_end() {
        let (mut client, server) = full();
        let left = left_over(&server);
        drop(server);
        let mut all = Vec::new();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.read_to_end(&mut all).expect("the stream ends in order");
        assert!(left > 0 && all.len() as u64 >= left, "{} of {left}", all.len());
    }

    #[test]
    fn a_peer_that_does_not_read_is_reset() {
        let (mut client, server) = full();
        let at = (client.local_addr().unwrap(), Instant::now());
        drop(server);
        // The error comes to a socket that is not read from, too.
        while client.take_error().unwrap().is_none() {
            assert!(at.1.elapsed() < Duration::from_secs(20), "it is kept for {}", at.0);
            std::thread::sleep(Duration::from_millis(50));
        }
        let reset =
            std::iter::repeat_with(|| client.read(&mut [0; 65_536])).find(|read| !matches!(read, Ok(1..)));
        assert!(reset.is_some());
    }

    #[test]
    fn too_much_that_is_left_over_goes_at_once() {
        let mut state = State { waiting: Vec::new(), is_watched: true };
        let mut clients = Vec::new();
        for _ in 0..4 {
            let (client, server) = full();
            clients.push(client);
            let socket = server.try_clone().unwrap();
            state.waiting.push(LeftOver {
                socket,
                left: MOST_BYTES / 2,
                began: mono_now(),
                read: mono_now(),
            });
            state.shed();
        }
        assert_eq!(state.waiting.len(), 2);
        state.waiting.drain(..).for_each(LeftOver::reset);
    }
}
