//! Where connections of every protocol come in: one loop accepts them, each gets a thread of its own, so that a silent or
//! hostile one delays no other, and its resources before the first request are taken from a budget.

use crate::error::is_pause;
use crate::error::{Context, Result, refused, sentence};
use crate::host::interrupt::Interrupt;
use crate::session::budget::{self, Budget, Held};
use crate::session::closing::{self, Tcp};
use crate::session::notes::Notes;
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use linux::privilege::drop::Confined;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A service for the connections of a port.
pub(crate) trait Service: Send + Sync {
    /// The budget of which every connection takes one; it may be shared by several ports.
    fn connections(&self) -> &Arc<Budget>;

    /// Serves one connection to its end.
    ///
    /// # Errors
    /// An error for the log, about this client.
    fn serve(&self, accepted: Accepted) -> Result<()>;

    /// How a connection that cannot be taken hears why; empty: its protocol has no words for that.
    fn refusal(&self, _why: &str) -> Vec<u8> {
        Vec::new()
    }

    /// Whether it has served its number of clients: then the listener ends.
    fn is_done(&self) -> bool {
        false
    }
}

/// A connection that has just come.
pub(crate) struct Accepted {
    pub(crate) socket: Tcp,
    pub(crate) peer: SocketAddr,
    /// Its number, in order of arrival.
    pub(crate) order: u64,
    /// Its part of the budget.
    pub(crate) held: Held,
}

/// Where first datagrams come in.
pub(crate) trait DatagramPort: Send {
    /// The socket to poll.
    fn socket(&self) -> &UdpSocket;

    /// Takes what has come.
    fn take(&mut self, threads: &mut SessionThreads);

    /// Like [`Service::is_done`].
    fn is_done(&self) -> bool {
        false
    }
}

/// The sockets of a server, and everybody who has come there.
pub(crate) struct Listener {
    ports: Vec<Port>,
    datagram_ports: Vec<Box<dyn DatagramPort>>,
    threads: SessionThreads,
    order: u64,
    waker: Arc<Waker>,
    interrupt: Interrupt,
    closing: Arc<AtomicBool>,
}

/// A socket, and what serves those who come there.
struct Port {
    socket: TcpListener,
    service: Arc<dyn Service>,
    /// No connection is accepted until then: the last try failed.
    rests_until: Option<MonoTime>,
}

/// The threads of all who have come.
pub(crate) struct SessionThreads {
    handles: Vec<JoinHandle<()>>,
    notes: Arc<Notes>,
}

/// How many more sessions a server is to serve.
#[derive(Debug)]
pub(crate) struct Quota {
    /// Absent: any number.
    left: Option<AtomicU32>,
    waker: Arc<Waker>,
}

impl Listener {
    /// Without a port; it ends when the interrupt is raised. `_rights`: this process has decided what it keeps of them.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub(crate) fn new(interrupt: &Interrupt, notes: Arc<Notes>, _rights: Confined) -> Result<Listener> {
        // Each connection and each stream is a file. A refusal of the kernel here shows later, when they run out.
        linux::privilege::raise_open_files().ok();
        let waker = Arc::new(Waker::new()?);
        interrupt.watch(&waker);
        Ok(Listener {
            ports: Vec::new(),
            datagram_ports: Vec::new(),
            threads: SessionThreads { handles: Vec::new(), notes },
            order: 0,
            waker,
            interrupt: interrupt.clone(),
            closing: Arc::default(),
        })
    }

    /// Connections that come here are served by that.
    ///
    /// # Errors
    /// The errors of fcntl(2).
    pub(crate) fn add(&mut self, socket: TcpListener, service: Arc<dyn Service>) -> Result<()> {
        socket.set_nonblocking(true).context("make a listener non-blocking")?;
        self.ports.push(Port { socket, service, rests_until: None });
        Ok(())
    }

    /// Datagrams may come here, too.
    pub(crate) fn add_datagram_port(&mut self, port: Box<dyn DatagramPort>) {
        self.datagram_ports.push(port);
    }

    /// A quota whose end is noticed at once.
    pub(crate) fn quota(&self, sessions: Option<u32>) -> Quota {
        Quota { left: sessions.map(AtomicU32::new), waker: self.waker.clone() }
    }

    /// Where lines on clients go.
    pub(crate) fn notes(&self) -> Arc<Notes> {
        self.threads.notes.clone()
    }

    /// Raised when it accepts no more: for those whom the interrupt does not reach.
    pub(crate) fn closing(&self) -> Arc<AtomicBool> {
        self.closing.clone()
    }

    /// Accepts until the interrupt is raised, a service is done, or this time has come.
    ///
    /// # Errors
    /// poll(2) fails.
    pub(crate) fn accept_all(&mut self, until: Option<MonoTime>) -> Result<()> {
        let outcome = self.accept_until(until);
        self.closing.store(true, Ordering::Release);
        outcome
    }

    /// Waits for the sessions, which have noticed that the server ends; they get time to send their clients the results.
    pub(crate) fn finish(self) {
        let deadline = mono_now() + STOP_LIMIT;
        let mut cut = 0;
        for thread in self.threads.handles {
            while !thread.is_finished() && mono_now() < deadline {
                std::thread::sleep(STOP_STEP);
            }
            if thread.is_finished() {
                thread.join().ok();
            } else {
                cut += 1;
            }
        }
        if cut > 0 {
            self.threads.notes.note(&format!("{cut} connections did not end in time and were cut"));
        }
        closing::reset_all();
    }

    fn accept_until(&mut self, until: Option<MonoTime>) -> Result<()> {
        while !self.is_over(until) {
            let now = mono_now();
            let awake = self.ports.iter().filter(|port| port.is_awake(now));
            let mut interests: Vec<Interest<'_>> =
                awake.map(|port| Interest::readable(&port.socket)).collect();
            interests.extend(self.datagram_ports.iter().map(|port| Interest::readable(port.socket())));
            interests.push(Interest::readable(&*self.waker));
            // A thread that has ended keeps its stack until it is looked after.
            let look = (!self.threads.handles.is_empty()).then(|| mono_now() + LOOK_STEP);
            let rests = self.ports.iter().filter_map(|port| port.rests_until.filter(|rests| *rests > now));
            wait(&mut interests, until.into_iter().chain(look).chain(rests).min())
                .context("wait for clients")?;
            drop(interests);
            self.waker.drain();
            self.threads.handles.retain(|thread| !thread.is_finished());
            for port in &mut self.ports {
                port.accept(&mut self.order, &mut self.threads);
            }
            for port in &mut self.datagram_ports {
                port.take(&mut self.threads);
            }
        }
        Ok(())
    }

    fn is_over(&self, until: Option<MonoTime>) -> bool {
        self.interrupt.is_raised()
            || self.ports.iter().any(|port| port.service.is_done())
            || self.datagram_ports.iter().any(|port| port.is_done())
            || until.is_some_and(|until| mono_now() >= until)
    }
}

impl Port {
    fn is_awake(&self, now: MonoTime) -> bool {
        self.rests_until.is_none_or(|rests| rests <= now)
    }

    fn accept(&mut self, order: &mut u64, threads: &mut SessionThreads) {
        if !self.is_awake(mono_now()) {
            return;
        }
        for _ in 0..ACCEPTS_AT_ONCE {
            let (socket, peer) = match self.socket.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {
                    continue;
                }
                Err(e) => {
                    // Out of descriptors or memory: those we have will end; do not spin on the error meanwhile, and go on
                    // with the datagrams of those who are there.
                    threads.notes.note_again(&format!("accept: {e}"));
                    self.rests_until = Some(mono_now() + ACCEPT_PAUSE);
                    return;
                }
            };
            let socket = Tcp::served(socket);
            *order += 1;
            match budget::enter(self.service.connections(), peer.ip()) {
                Ok(held) => {
                    let (service, order) = (self.service.clone(), *order);
                    threads.start(peer, move || service.serve(Accepted { socket, peer, order, held }));
                }
                Err(full) => {
                    threads.notes.note_from(peer, &format!("{full}, closed"));
                    send_refusal(&socket, &self.service.refusal(full));
                }
            }
        }
    }
}

impl SessionThreads {
    /// Runs something in a thread of its own; what goes wrong is noted.
    pub(crate) fn start(&mut self, peer: SocketAddr, work: impl FnOnce() -> Result<()> + Send + 'static) {
        let notes = self.notes.clone();
        let work = move || {
            if let Err(error) = work() {
                notes.note_from(peer, &sentence(&error));
            }
        };
        match std::thread::Builder::new().name("session".into()).stack_size(STACK).spawn(work) {
            Ok(thread) => self.handles.push(thread),
            // The others go on being served, and so will be those that come later.
            Err(error) => self.notes.note_from(peer, &format!("no thread for it, closed: {error}")),
        }
    }
}

impl Quota {
    /// One session that counts is over.
    pub(crate) fn less(&self) {
        if let Some(left) = &self.left {
            left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| Some(left.saturating_sub(1))).ok();
            self.waker.wake();
        }
    }

    /// No more are to be served.
    pub(crate) fn is_done(&self) -> bool {
        self.left.as_ref().is_some_and(|left| left.load(Ordering::Acquire) == 0)
    }
}

/// Sends a refusal without waiting: a new connection has room for a short text. Linux delivers it to the peer even where the
/// peer's own bytes, unread here, reset the connection.
fn send_refusal(mut socket: &TcpStream, words: &[u8]) {
    if !words.is_empty() && socket.set_nonblocking(true).is_ok() {
        socket.write_all(words).ok();
    }
}

/// The result of a wait for a new client's bytes.
pub(crate) enum Heard {
    /// This number of bytes.
    Bytes(usize),
    /// None yet.
    Pause,
    /// None any more: it has closed, or this server stops.
    End,
}

/// Waits a moment for the next of a new client's first bytes.
///
/// # Errors
/// The client must make room for another, or was silent until the deadline.
pub(crate) fn hear(
    mut socket: &TcpStream,
    buffer: &mut [u8],
    (held, interrupt): (&Held, &Interrupt),
    deadline: MonoTime,
) -> Result<Heard> {
    if interrupt.is_raised() {
        return Ok(Heard::End);
    }
    if held.must_leave() {
        return Err(refused(LEFT));
    }
    if mono_now() >= deadline {
        return Err(refused("sent nothing for ten seconds, closed"));
    }
    socket.set_read_timeout(Some(FIRST_BYTES_STEP))?;
    match socket.read(buffer) {
        Ok(0) => Ok(Heard::End),
        Ok(length) => Ok(Heard::Bytes(length)),
        Err(e) if is_pause(&e) => Ok(Heard::Pause),
        Err(e) if e.kind() == ErrorKind::ConnectionReset => Ok(Heard::End),
        Err(e) => Err(e.into()),
    }
}

/// Why a client that had not begun was closed.
pub(crate) const LEFT: &str = "it had sent nothing for a while, and another client needed its place";
/// How long a newcomer may take to say what it wants.
pub(crate) const FIRST_BYTES_LIMIT: Nanos = Nanos::from_secs(10);
/// Between two looks whether it is to leave. Each look of thousands that are silent costs the server a turn on a CPU.
pub(crate) const FIRST_BYTES_STEP: Duration = Duration::from_secs(1);
/// Connections of one port that are accepted before looking at the others.
const ACCEPTS_AT_ONCE: usize = 64;
/// Between two looks for threads that have ended, while there are threads.
const LOOK_STEP: Nanos = Nanos::from_millis(500);
/// Between two tries of a port that could not accept.
const ACCEPT_PAUSE: Nanos = Nanos::from_millis(100);
/// Time for running tests to end after an interrupt.
const STOP_LIMIT: Nanos = Nanos::from_secs(15);
const STOP_STEP: Duration = Duration::from_millis(10);
const STACK: usize = 512 << 10;

#[cfg(test)]
pub(crate) mod tests;
