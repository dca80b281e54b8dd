//! Servers of protocols without a dialogue: SockPerf's on UDP and TCP, STAMP's on UDP.

use super::encrypted::Encrypted;
use super::reflector::{Hooks, stream};
use super::socket::Socket;
use super::wait::Waiter;
use crate::error::{Context, Result, refused};
use crate::host::interrupt::Interrupt;
use crate::session::budget::{self, Budget, Held};
use crate::session::foreign_tls::ForeignTls;
use crate::session::listener::{Accepted, Listener, Service};
pub use crate::session::notes::Note;
use crate::session::notes::Notes;
use linux::clock::{mono_now, wall_now};
use linux::message;
use linux::privilege::drop::Confined;
use linux::sockaddr::plain;
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use wire::echo::{Arrival, Reflect};
use wire::sockperf::Responder;
use wire::stamp;

/// Servers at work in threads of their own, until dropped.
pub struct Servers {
    stop: Arc<AtomicBool>,
    interrupt: Interrupt,
    threads: Vec<JoinHandle<()>>,
    rights: Confined,
}

impl Servers {
    /// None yet. `rights`: what this process has decided to keep of them.
    #[must_use]
    pub fn new(rights: Confined) -> Servers {
        Servers { stop: Arc::default(), interrupt: Interrupt::default(), threads: Vec::new(), rights }
    }

    /// Answers SockPerf's datagrams on this socket.
    pub fn sockperf_datagrams(
        &mut self,
        socket: UdpSocket,
        responder: Responder,
        wait: WaitMode,
        note: &Note,
    ) -> Result<()> {
        self.spawn("sockperf UDP", note, move |stop| datagrams(&socket, responder, wait, stop, |_| {}))
    }

    /// Answers SockPerf's connections on this listener, each in a thread of its own.
    pub fn sockperf_streams(
        &mut self,
        listener: TcpListener,
        responder: Responder,
        (wait, tls): (WaitMode, Option<ForeignTls>),
        note: &Note,
    ) -> Result<()> {
        let mut own = Listener::new(&self.interrupt, Arc::new(Notes::new(note.clone())), self.rights)?;
        let streams = Streams { tls, ..Streams::new(responder, wait, own.closing()) };
        own.add(listener, Arc::new(streams))?;
        self.spawn("sockperf TCP", note, move |_| {
            let served = own.accept_all(None).map_err(io::Error::other);
            own.finish();
            served
        })
    }

    /// Answers STAMP and TWAMP-Light senders on this socket.
    pub fn stamp(
        &mut self,
        socket: UdpSocket,
        key: Option<stamp::Key>,
        stateful: bool,
        note: &Note,
    ) -> Result<()> {
        let reflector = stamp::Reflector::new(stamp::ReflectorOptions {
            clock: wall_clock(),
            format: stamp::Format::Ntp,
            synced: false,
            error: STAMP_ERROR,
            stateful,
            key,
        });
        // The host's clock may be set while the server runs: its time is read anew in every pause.
        let keep = |reflector: &mut stamp::Reflector| reflector.set_clock(wall_clock());
        self.spawn("STAMP", note, move |stop| datagrams(&socket, reflector, WaitMode::Hybrid, stop, keep))
    }

    /// Until the interrupt is raised.
    pub fn run_until(&self, interrupt: &Interrupt) {
        while !interrupt.is_raised() && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(STOP_STEP.to_duration());
        }
    }

    fn spawn(
        &mut self,
        name: &'static str,
        note: &Note,
        serve: impl FnOnce(&Arc<AtomicBool>) -> io::Result<()> + Send + 'static,
    ) -> Result<()> {
        let (stop, note) = (self.stop.clone(), note.clone());
        let work = move || {
            if let Err(e) = serve(&stop) {
                note(&format!("the {name} server ended: {e}"));
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).stack_size(512 << 10);
        self.threads.push(thread.spawn(work).with_context(|| format!("start the {name} server"))?);
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.interrupt.raise();
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// When a connection has been silent for too long, or another one needs its place.
struct Life<'a> {
    held: &'a Held,
    /// The longest silence.
    silence: Nanos,
    /// The last message.
    last: Cell<MonoTime>,
    /// The latest time that was read: while messages come the clock need not be read.
    known: Cell<MonoTime>,
    /// The last one of which the budget knows.
    reported: Cell<MonoTime>,
}

impl Life<'_> {
    fn new(held: &Held, silence: Nanos) -> Life<'_> {
        let now = Cell::new(mono_now());
        Life { held, silence, last: now.clone(), known: now.clone(), reported: now }
    }

    fn is_over(&self) -> bool {
        let last = self.last.get();
        if self.known.replace(last) == last {
            return self.held.must_leave() || mono_now().saturating_since(last) > self.silence;
        }
        if last.saturating_since(self.reported.get()) > REPORT_STEP {
            self.reported.set(last);
            self.held.touch(last, true);
        }
        false
    }
}

/// Answers every sender to this socket, from the address that it sent to. `pause` is called when no message has come for a
/// while.
pub(super) fn datagrams<R: Reflect>(
    socket: &UdpSocket,
    mut reflect: R,
    wait: WaitMode,
    stop: &AtomicBool,
    mut pause: impl FnMut(&mut R),
) -> io::Result<()> {
    message::set_receive_notes(socket).map_err(io::Error::other)?;
    let port = socket.local_addr()?.port();
    linux::options::set_recv_buffer(socket, BUFFER).map_err(io::Error::other)?;
    let mut waiter = Waiter::new(wait);
    let mut buf = vec![0; 1 << 16];
    let mut failures = 0;
    while !stop.load(Ordering::Acquire) {
        let deadline = mono_now() + STOP_STEP;
        let came = match waiter.until(deadline, socket, || message::receive(socket, &mut buf)) {
            Ok(Some(came)) => came,
            Ok(None) => {
                pause(&mut reflect);
                continue;
            }
            // ICMP about an earlier reply: its client has gone.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => continue,
            // No memory for a moment, or the like: clients miss some replies.
            Err(e) if failures == MOST_FAILURES => return Err(e),
            Err(_) => {
                failures += 1;
                std::thread::sleep(STOP_STEP.to_duration());
                continue;
            }
        };
        failures = 0;
        let received = mono_now();
        let Some(from) = came.from else { continue };
        let now = if reflect.stamps() { mono_now() } else { received };
        let to = came.local.map(|local| SocketAddr::new(local.to_canonical(), port));
        let arrival = Arrival { ttl: came.ttl, class: came.class, to, ..Arrival::new(from, received) };
        if let Some(length) = reflect.reflect(arrival, now, &mut buf, came.len) {
            // A reply that the kernel does not take is lost like any other. A group is no source address.
            let local = came.local.filter(|local| !local.to_canonical().is_multicast());
            message::send_from(socket, &buf[..length], from, local, reflect.class()).ok();
        }
    }
    Ok(())
}

/// This host's clocks now.
pub(crate) fn wall_clock() -> stamp::Clock {
    stamp::Clock { mono: mono_now(), wall: wall_now() }
}

/// SockPerf's server of connections.
pub(crate) struct Streams {
    connections: Arc<Budget>,
    responder: Responder,
    wait: WaitMode,
    /// A connection on which nothing comes for so long is closed.
    silence: Nanos,
    stop: Arc<AtomicBool>,
    /// Connections are encrypted.
    tls: Option<ForeignTls>,
}

impl Streams {
    /// Ends when `stop` is raised.
    pub(crate) fn new(responder: Responder, wait: WaitMode, stop: Arc<AtomicBool>) -> Streams {
        Streams {
            connections: Budget::new(budget::connections()),
            responder,
            wait,
            silence: SILENCE,
            stop,
            tls: None,
        }
    }

    fn connection(&self, socket: &Socket, peer: SocketAddr, held: &Held) -> io::Result<()> {
        linux::options::set_nodelay(socket, true).map_err(io::Error::other)?;
        let life = Life::new(held, self.silence);
        let hooks = Hooks::after(|_: &[u8], now| life.last.set(now));
        let over = || self.stop.load(Ordering::Acquire) || life.is_over();
        let mut responder = self.responder.clone();
        closed_by_client(stream(socket, peer, &mut responder, &mut Waiter::new(self.wait), over, hooks))
    }
}

impl Service for Streams {
    fn connections(&self) -> &Arc<Budget> {
        &self.connections
    }

    /// Never trusted: all connections of one address count, also those that have sent something.
    fn serve(&self, accepted: Accepted) -> Result<()> {
        let Accepted { socket, peer, held, .. } = accepted;
        let socket = match &self.tls {
            Some(tls) => Socket::Tls(Arc::new(Encrypted::open(socket, tls.connection()?, HANDSHAKE)?)),
            None => {
                socket.set_nonblocking(true)?;
                Socket::Tcp(Arc::new(socket))
            }
        };
        self.connection(&socket, plain(peer), &held).map_err(|e| refused(format!("{e}; closed")))
    }
}

/// The client has closed: the end of its test, and no error.
fn closed_by_client(outcome: io::Result<()>) -> io::Result<()> {
    outcome.or_else(|e| match e.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => Ok(()),
        _ => Err(e),
    })
}

/// Answers the messages of one connection until it ends, is silent for so long, or the interrupt is raised. `observed` receives
/// every message once it is answered; `look` is called between them, and several times per second where none comes.
///
/// # Errors
/// The client sends something else, or the connection breaks.
pub(crate) fn reflect_on<R: Reflect>(
    socket: &TcpStream,
    mut reflect: R,
    silence: Nanos,
    interrupt: &Interrupt,
    mut observed: impl FnMut(&[u8]),
    look: impl Fn(MonoTime),
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    let peer = socket.peer_addr()?;
    let source = Socket::Tcp(Arc::new(socket.try_clone()?.into()));
    let last = Cell::new(mono_now());
    let hooks = Hooks::after(|message: &[u8], now| {
        last.set(now);
        observed(message);
    });
    let stop = || {
        let now = mono_now();
        look(now);
        interrupt.is_raised() || now.saturating_since(last.get()) > silence
    };
    closed_by_client(stream(&source, peer, &mut reflect, &mut Waiter::new(WaitMode::Hybrid), stop, hooks))
}

/// Joins a multicast group on the interface that has this address, or on the one of the route to the group.
pub fn join(socket: &UdpSocket, group: IpAddr, interface: Option<IpAddr>) -> io::Result<()> {
    match (group, interface) {
        (IpAddr::V4(group), Some(IpAddr::V4(interface))) => socket.join_multicast_v4(&group, &interface),
        (IpAddr::V4(group), _) => socket.join_multicast_v4(&group, &std::net::Ipv4Addr::UNSPECIFIED),
        (IpAddr::V6(group), _) => socket.join_multicast_v6(&group, 0),
    }
}

/// Errors of a socket one after the other: a minute of them.
const MOST_FAILURES: u32 = 600;
const STOP_STEP: Nanos = Nanos::from_millis(100);
/// Longest time for a client to agree on keys.
const HANDSHAKE: Nanos = Nanos::from_secs(10);
/// A connection on which nothing comes for so long is closed.
const SILENCE: Nanos = Nanos::from_secs(60);
/// Time between two words to the budget that something comes.
const REPORT_STEP: Nanos = Nanos::from_millis(500);
const BUFFER: Bytes = Bytes(4 << 20);
/// The assumed error of this host's clock: a host with NTP in its own network is within it.
pub(super) const STAMP_ERROR: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests;
