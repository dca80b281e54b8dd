//! The connection under an HTTP request: a socket of ours, so that its options apply, its handshakes are timed apart and
//! its `TCP_INFO` can be read at the end.

use super::trouble::{Stall, Trouble};
use crate::error::is_pause;
use crate::host::interrupt::Interrupt;
use linux::clock::mono_now;
use linux::poll::{Interest, wait};
use linux::socket::{TcpOptions, tcp_connect};
use linux::tcp_info::{TcpInfo, tcp_info};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};

/// How connections are opened.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) socket: TcpOptions,
    pub(super) hello: Arc<Hello>,
    /// Time allowed for each connection to open.
    pub(super) connect_timeout: Nanos,
    /// Longest time in which no byte moves.
    pub(super) silence: Nanos,
    pub(super) interrupt: Interrupt,
}

/// How TLS is begun.
#[derive(Debug)]
pub(super) struct Hello {
    /// With a Client Hello as large as browsers send for their post-quantum keys.
    large: Arc<ClientConfig>,
    /// With a small one.
    small: Arc<ClientConfig>,
    /// A large one stalled and a small one did not: why, until somebody takes it.
    stall: Mutex<Option<String>>,
    is_small: AtomicBool,
}

impl Hello {
    pub(super) fn new([large, small]: [ClientConfig; 2]) -> Hello {
        let is_small = AtomicBool::new(false);
        Hello { large: Arc::new(large), small: Arc::new(small), stall: Mutex::default(), is_small }
    }

    /// Why large ones are not sent any more; only once.
    pub(super) fn take_stall(&self) -> Option<String> {
        self.stall.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep_small(&self, stall: String) {
        self.is_small.store(true, Ordering::Relaxed);
        *self.stall.lock().unwrap_or_else(PoisonError::into_inner) = Some(stall);
    }
}

/// Observations of one connection, kept also after the HTTP library has dropped it.
#[derive(Clone, Debug, Default)]
pub(super) struct Probe(Arc<Mutex<Observation>>);

/// The moments of a connection, and what ended it.
#[derive(Debug, Default)]
pub(super) struct Observation {
    pub(super) connect: Option<Nanos>,
    pub(super) tls: Option<Nanos>,
    pub(super) first_sent: Option<MonoTime>,
    pub(super) first_byte: Option<MonoTime>,
    pub(super) last_byte: Option<MonoTime>,
    pub(super) trouble: Option<Trouble>,
    /// A duplicate of the socket: its figures outlive the connection.
    pub(super) socket: Option<TcpStream>,
}

impl Probe {
    pub(super) fn observed(&self) -> MutexGuard<'_, Observation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what went wrong, for which the library has no words.
    fn fail(&self, trouble: Trouble) -> ureq::Error {
        self.observed().trouble.get_or_insert(trouble);
        ureq::Error::ConnectionFailed
    }
}

/// Answers every question for an address with the one that was chosen and timed before.
#[derive(Debug)]
pub(super) struct Pinned(pub(super) SocketAddr);

impl Resolver for Pinned {
    fn resolve(
        &self,
        _: &ureq::http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(self.0);
        Ok(addresses)
    }
}

/// Opens the one connection of a request.
#[derive(Debug)]
pub(super) struct Dial {
    pub(super) setup: Setup,
    pub(super) probe: Probe,
}

impl Connector<()> for Dial {
    type Out = Wire;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Wire>, ureq::Error> {
        let address = *details.addrs.first().ok_or(ureq::Error::HostNotFound)?;
        let host = details.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let stream = self.open(address, details.needs_tls().then_some(host));
        let stream = stream.map_err(|trouble| self.probe.fail(trouble))?;
        let buffers =
            LazyBuffers::new(details.config.input_buffer_size(), details.config.output_buffer_size());
        let (setup, probe) = (self.setup.clone(), self.probe.clone());
        Ok(Some(Wire { stream, buffers, setup, probe, deaf: None }))
    }
}

impl Dial {
    fn open(&self, address: SocketAddr, tls: Option<&str>) -> Result<Stream, Trouble> {
        let socket = self.connect(address)?;
        let (Some(host), hello) = (tls, &self.setup.hello) else { return Ok(Stream::Plain(socket)) };
        let whole = self.setup.silence;
        if hello.is_small.load(Ordering::Relaxed) {
            return self.secure(socket, host, (&hello.small, whole));
        }
        let first = Nanos(whole.0 / 4 * 3);
        let (host, stall) = match self.secure(socket, host, (&hello.large, first)) {
            Err(Trouble::Handshake { host, stall, .. }) => (host, stall),
            other => return other,
        };
        let again = self.connect(address).and_then(|socket| {
            let begun = mono_now();
            let stream = self.secure(socket, &host, (&hello.small, Nanos(whole.0 - first.0)))?;
            Ok((stream, mono_now() - begun))
        });
        match again {
            Ok((stream, took)) => {
                hello.keep_small(format!("TLS with {host} stalled for {first}: {stall}; a small Client Hello was answered after {took}"));
                Ok(stream)
            }
            Err(Trouble::Interrupted) => Err(Trouble::Interrupted),
            Err(_) => Err(Trouble::Handshake { host, waited: whole, stall }),
        }
    }

    fn connect(&self, address: SocketAddr) -> Result<TcpStream, Trouble> {
        let begun = mono_now();
        let socket = tcp_connect(address, &self.setup.socket, self.setup.connect_timeout)?;
        self.probe.observed().connect = Some(mono_now() - begun);
        let step = |e| Trouble::Broken { doing: "set up the connection", source: e };
        socket.set_read_timeout(Some(STEP.to_duration())).map_err(step)?;
        socket.set_write_timeout(Some(STEP.to_duration())).map_err(step)?;
        self.probe.observed().socket = Some(socket.try_clone().map_err(step)?);
        Ok(socket)
    }

    /// TLS's handshake.
    fn secure(
        &self,
        mut socket: TcpStream,
        host: &str,
        (config, silence): (&Arc<ClientConfig>, Nanos),
    ) -> Result<Stream, Trouble> {
        let begun = mono_now();
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Trouble::Tls { host: host.into(), reason: "this is not a host's name".into() })?;
        let reason = |e: &dyn std::fmt::Display| Trouble::Tls { host: host.into(), reason: e.to_string() };
        let mut tls = ClientConnection::new(config.clone(), name).map_err(|e| reason(&e))?;
        while tls.is_handshaking() {
            match tls.complete_io(&mut socket) {
                Ok((0, 0)) => return Err(reason(&"the server closed the connection")),
                Ok(_) => {}
                Err(e) if is_pause(&e) => {
                    if mono_now() - begun > silence {
                        return Err(stalled(&socket, host, silence));
                    }
                    if self.setup.interrupt.is_raised() {
                        return Err(Trouble::Interrupted);
                    }
                }
                Err(e) => return Err(reason(&e)),
            }
        }
        self.probe.observed().tls = Some(mono_now() - begun);
        Ok(Stream::Tls(Box::new(StreamOwned::new(tls, socket))))
    }
}

/// The connection as the HTTP library uses it.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    buffers: LazyBuffers,
    setup: Setup,
    probe: Probe,
    /// The server takes no more: its answer may be there all the same, so the rest of the request is dropped.
    deaf: Option<io::Error>,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Transport for Wire {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), ureq::Error> {
        self.go_on()?;
        self.probe.observed().first_sent.get_or_insert_with(mono_now);
        let (mut sent, mut moved) = (0, mono_now());
        while self.deaf.is_none() && sent < amount {
            match self.stream.write(&self.buffers.output()[sent..amount]) {
                Ok(count) => (sent, moved) = (sent + count, mono_now()),
                Err(e) if is_pause(&e) && self.stream.has_answer() => self.deaf = Some(e),
                Err(e) if is_pause(&e) => self.pause(moved)?,
                Err(e) => self.deaf = Some(e),
            }
        }
        while self.deaf.is_none() {
            match self.stream.flush() {
                Ok(()) => break,
                Err(e) if is_pause(&e) => self.pause(moved)?,
                Err(e) => self.deaf = Some(e),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, ureq::Error> {
        self.go_on()?;
        let waiting = mono_now();
        loop {
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(count) => {
                    self.buffers.input_appended(count);
                    if count > 0 {
                        let mut observed = self.probe.observed();
                        let now = mono_now();
                        observed.first_byte.get_or_insert(now);
                        observed.last_byte = Some(now);
                    }
                    return Ok(count > 0);
                }
                Err(e) if is_pause(&e) => self.pause(waiting)?,
                Err(e) => {
                    // The error that stopped the request is more informative than the one that followed.
                    let source = self.deaf.take().unwrap_or(e);
                    return Err(self.probe.fail(Trouble::Broken { doing: "read the answer", source }));
                }
            }
        }
    }

    fn is_open(&mut self) -> bool {
        // Every transfer has a connection of its own.
        false
    }

    fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }
}

/// Why a handshake stalled, by what the kernel knows of the segments of both ends.
fn stalled(socket: &TcpStream, host: &str, waited: Nanos) -> Trouble {
    let stall = tcp_info(socket).map_or(Stall::Silent { hello: None }, |tcp| Stall::from_tcp(&tcp));
    Trouble::Handshake { host: host.into(), waited, stall }
}

impl Wire {
    /// Unless the user asks for the end, however fast the bytes move.
    fn go_on(&self) -> Result<(), ureq::Error> {
        match self.setup.interrupt.is_raised() {
            true => Err(self.probe.fail(Trouble::Interrupted)),
            false => Ok(()),
        }
    }

    /// Nothing has moved since then: goes on, unless that is long ago.
    fn pause(&self, moved: MonoTime) -> Result<(), ureq::Error> {
        self.go_on()?;
        match mono_now() - moved > self.setup.silence {
            true => Err(self.probe.fail(self.silent())),
            false => Ok(()),
        }
    }

    /// Nothing has moved for long: a request so small that every path carries it shows that nothing arrives.
    fn silent(&self) -> Trouble {
        let waited = self.setup.silence;
        let observed = self.probe.observed();
        let tcp = observed.socket.as_ref().and_then(|socket| tcp_info(socket).ok());
        if tcp.as_ref().is_some_and(is_unread) {
            return Trouble::Unread(waited);
        }
        let lost = tcp.and_then(|tcp| {
            let sent = tcp.bytes_sent?.0.saturating_sub(tcp.bytes_retransmitted?.0);
            let is_small = (1..=SMALL_REQUEST).contains(&sent);
            let is_deaf = tcp.retransmits > 0 && tcp.unacknowledged > 0 && tcp.bytes_received? == Bytes(0);
            (is_small && is_deaf).then_some(Bytes(sent))
        });
        lost.map_or(Trouble::Silence(waited), |sent| Trouble::Unacknowledged { waited, sent })
    }
}

/// The peer has no room for more: a window of less than a segment is closed (RFC 9293 section 3.8.6.2.1). A path that loses packets leaves the
/// last window as it was.
fn is_unread(tcp: &TcpInfo) -> bool {
    let is_closed = tcp.send_window.is_some_and(|window| window.0 < tcp.send_mss.0);
    is_closed && tcp.not_sent.is_some_and(|more| more.0 > 0)
}

impl Stream {
    /// Has something come that can be read at once? With TLS it is not known whether it is an answer.
    fn has_answer(&self) -> bool {
        let Stream::Plain(socket) = self else { return false };
        matches!(wait(&mut [Interest::readable(socket)], Some(mono_now())), Ok(1..))
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(tls) => tls.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(tls) => tls.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(_) => Ok(()),
            Stream::Tls(tls) => tls.flush(),
        }
    }
}

/// Bytes of a request that fit every path, with headers (RFC 791: packets of 576 bytes).
const SMALL_REQUEST: u64 = 500;
/// How often a silent connection is looked at.
const STEP: Nanos = Nanos::from_millis(100);
