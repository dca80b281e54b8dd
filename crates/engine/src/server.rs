//! The server: accepts on its ports, tells control connections, data flows and strangers apart, and gives every
//! client a thread of its own, so that a silent or hostile one delays nobody.

use super::arrivals::Desk;
use super::driver::{Driver, Opener, Setting};
use super::dut::remote::offers::Offers;
use super::dut::remote::station::FramesSeen;
use super::guests::{Guest, Guests};
use super::host;
use super::interrupt::Interrupt;
use super::link::Link;
use super::tls::ServerTls;
use crate::error::sentence;
use anyhow::Context;
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use model::event::Event;
use model::host::Host;
use model::plan::{LocalOptions, ProtocolName};
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use wire::native::{self, LatencySeen, flow};
use wire::{Policy, ProtocolError, Report, Session, iperf3};

/// What a server is started with.
pub struct Config {
    /// Sockets that speak our own protocol.
    pub native: Vec<TcpListener>,
    /// Sockets that speak iPerf3's.
    pub iperf3: Vec<TcpListener>,
    /// Clients must know it.
    pub token: Option<native::Token>,
    /// Control connections may be encrypted; without TLS they must not.
    pub tls: Option<ServerTls>,
    /// What clients may ask.
    pub policy: Policy,
    /// Tests at the same time.
    pub max_tests: u32,
    /// End after this many sessions that ran.
    pub tests: Option<u32>,
    /// Report interval of this end, and its other choices.
    pub local: LocalOptions,
    /// Interfaces that clients may send frames out of and count them on.
    pub offers: Arc<Offers>,
    /// Makes iPerf3's check of a user.
    pub verifier: Option<Verifier>,
    /// Watches sessions.
    pub observer: Arc<dyn Observer>,
}

impl Config {
    /// A server of our own protocol that lets everybody measure, a few at a time.
    pub fn new(native: Vec<TcpListener>, observer: Arc<dyn Observer>) -> Config {
        Config {
            native,
            iperf3: Vec::new(),
            token: None,
            tls: None,
            policy: Policy::default(),
            max_tests: DEFAULT_TESTS,
            tests: None,
            local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
            offers: Arc::default(),
            verifier: None,
            observer,
        }
    }
}

/// Tells whether an iPerf3 client's authentication token is good.
pub type Verifier = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Watches a server at work.
pub trait Observer: Send + Sync {
    /// A client has come; the watcher returned is told of everything that happens in its session.
    fn session(&self, client: SocketAddr, protocol: ProtocolName) -> Box<dyn Watcher>;
    /// A connection was turned away, or something broke outside of a session.
    fn note(&self, text: &str);
}

/// Watches one session.
pub trait Watcher {
    /// Something happened.
    fn event(&mut self, event: &Event);
    /// What the client asked for beside the test is known (iPerf3), before the first event.
    fn extras(&mut self, _extras: &iperf3::Extras) {}
    /// A latency session is over, and has seen this of its messages.
    fn reflected(&mut self, _seen: &LatencySeen) {}
    /// A session of frames is over, and has done this.
    fn framed(&mut self, _seen: FramesSeen) {}
    /// This end's report of the session, which the client asked for.
    fn report(&self, _events: &[Event], _extras: &iperf3::Extras) -> Option<Report> {
        None
    }
    /// The session has ended.
    fn ended(&mut self, outcome: Result<(), &ProtocolError>);
}

/// A server at work.
struct Server {
    config: Config,
    desk: Arc<Desk>,
    interrupt: Interrupt,
    guests: Arc<Guests>,
    /// Tests that run.
    tests: AtomicU32,
    /// Sessions that may still begin, for `tests`.
    left: AtomicU32,
    waker: Arc<Waker>,
}

/// Serves until the interrupt is raised or the tests asked for are done; running tests then get their results.
pub fn run(config: Config, interrupt: &Interrupt) -> anyhow::Result<()> {
    let waker = Arc::new(Waker::new()?);
    interrupt.watch(&waker);
    let secret = host::entropy()?;
    let server = Arc::new(Server {
        desk: Desk::new(secret),
        interrupt: interrupt.clone(),
        guests: Arc::default(),
        tests: AtomicU32::new(0),
        left: AtomicU32::new(config.tests.unwrap_or(u32::MAX)),
        waker,
        config,
    });
    let mut threads = Vec::new();
    let outcome = server.accept_all(&mut threads);
    server.desk.close();
    interrupt_rest(&server, threads);
    outcome
}

impl Server {
    fn accept_all(self: &Arc<Self>, threads: &mut Vec<JoinHandle<()>>) -> anyhow::Result<()> {
        let native = self.config.native.iter().map(|l| (l, ProtocolName::Native));
        let iperf3 = self.config.iperf3.iter().map(|l| (l, ProtocolName::Iperf3));
        let listeners: Vec<(&TcpListener, ProtocolName)> = native.chain(iperf3).collect();
        for (listener, _) in &listeners {
            listener.set_nonblocking(true).context("make a listener non-blocking")?;
            // A kernel that keeps no SYNs leaves a gap in what `pathmeter mtu` can say, and nothing else.
            linux::options::set_save_syn(*listener).ok();
        }
        while !self.interrupt.is_raised() && self.left.load(Ordering::Acquire) > 0 {
            let mut interests: Vec<Interest<'_>> =
                listeners.iter().map(|(l, _)| Interest::readable(*l)).collect();
            interests.push(Interest::readable(&*self.waker));
            wait(&mut interests, None).context("wait for connections")?;
            self.waker.drain();
            threads.retain(|t| !t.is_finished());
            for (listener, protocol) in &listeners {
                self.accept_from(listener, *protocol, threads);
            }
        }
        Ok(())
    }

    fn accept_from(
        self: &Arc<Self>,
        listener: &TcpListener,
        protocol: ProtocolName,
        threads: &mut Vec<JoinHandle<()>>,
    ) {
        loop {
            let (socket, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::ConnectionAborted || e.kind() == ErrorKind::Interrupted => {
                    continue;
                }
                Err(e) => {
                    // Out of descriptors or memory: those we have will end; do not spin on the error meanwhile.
                    self.config.observer.note(&format!("accept: {e}"));
                    std::thread::sleep(ACCEPT_PAUSE);
                    return;
                }
            };
            let order = self.desk.next_order();
            let mut guest = match self.guests.enter(peer.ip()) {
                Ok(guest) => guest,
                Err(full) => {
                    self.config.observer.note(&format!("{}: {full}", plain(peer)));
                    continue;
                }
            };
            let server = self.clone();
            let serve = move || {
                if let Err(e) = server.welcome(socket, peer, protocol, order, &mut guest) {
                    server.config.observer.note(&format!("{}: {}", plain(peer), sentence(&e)));
                }
            };
            match std::thread::Builder::new().name("session".into()).stack_size(512 << 10).spawn(serve) {
                Ok(thread) => threads.push(thread),
                Err(e) => self.config.observer.note(&format!("start a thread: {e}")),
            }
        }
    }

    /// Finds out what a connection is and serves it.
    fn welcome(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        protocol: ProtocolName,
        order: u64,
        guest: &mut Guest,
    ) -> anyhow::Result<()> {
        match protocol {
            ProtocolName::Native | ProtocolName::Iperf2 | ProtocolName::Foreign => {
                self.welcome_native(socket, peer, order, guest)
            }
            ProtocolName::Iperf3 => self.welcome_iperf3(socket, peer, order, guest),
        }
    }

    fn welcome_native(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        order: u64,
        guest: &mut Guest,
    ) -> anyhow::Result<()> {
        let mut first = Vec::new();
        let deadline = mono_now() + FIRST_BYTES_LIMIT;
        loop {
            match flow::classify(&first) {
                flow::Opening::NeedMore(total) => {
                    if !read_up_to(&socket, &mut first, total, deadline, &self.interrupt)? {
                        return Ok(());
                    }
                }
                flow::Opening::Tls => {
                    let Some(tls) = &self.config.tls else {
                        anyhow::bail!("a client wants TLS, and this server runs without --tls; closed");
                    };
                    return self.converse_native(socket, peer, first, Some(tls.accept()?), guest);
                }
                flow::Opening::Control if self.config.tls.is_some() => {
                    turn_away(&socket, &native::refusal("unsupported", WITHOUT_TLS, GIVE_FINGERPRINT))?;
                    anyhow::bail!("a client came without TLS, and this server demands it; told so");
                }
                flow::Opening::Control => return self.converse_native(socket, peer, first, None, guest),
                flow::Opening::Flow(hello) => {
                    let answered = socket.try_clone()?;
                    let answer = self.desk.deliver_native(&hello, socket, order);
                    if answer != flow::FlowAnswer::Welcome {
                        io::Write::write_all(&mut &answered, &[answer.byte()])?;
                    }
                    return Ok(());
                }
                flow::Opening::Garbage => anyhow::bail!("not pathmeter's protocol, closed"),
            }
        }
    }

    fn welcome_iperf3(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        order: u64,
        guest: &mut Guest,
    ) -> anyhow::Result<()> {
        let mut first = Vec::new();
        let deadline = mono_now() + FIRST_BYTES_LIMIT;
        let cookie = loop {
            match iperf3::classify(&first) {
                iperf3::Classified::Cookie(cookie) => break cookie,
                iperf3::Classified::Foreign => anyhow::bail!("not iPerf3's protocol, closed"),
                iperf3::Classified::More => {
                    if !read_up_to(&socket, &mut first, iperf3::COOKIE_LEN, deadline, &self.interrupt)? {
                        return Ok(());
                    }
                }
            }
        };
        if self.desk.awaits_cookie(cookie.as_str()) {
            self.desk.deliver_iperf3(cookie.as_str(), socket, order);
            return Ok(());
        }
        let Some(place) = TestPlace::take(self) else {
            io::Write::write_all(&mut &socket, &iperf3::access_denied())?;
            anyhow::bail!("turned away: {} tests run already (--max-tests)", self.config.max_tests);
        };
        let verifier = self.config.verifier.clone();
        let config = iperf3::ServerConfig {
            policy: self.config.policy.clone(),
            verifier: verifier.map(|v| -> iperf3::Verifier { Box::new(move |token| v(token)) }),
        };
        let mut session = iperf3::Server::new(config, cookie, mono_now());
        let link = Link::new(socket, Vec::new(), None)?;
        let host = host::describe(Some(peer.ip()));
        self.drive(&mut session, link, peer, (ProtocolName::Iperf3, host), Some(place), guest)
    }

    fn converse_native(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        first: Vec<u8>,
        tls: Option<rustls::Connection>,
        guest: &mut Guest,
    ) -> anyhow::Result<()> {
        let mut link = Link::new(socket, first, tls)?;
        link.handshake(mono_now() + FIRST_BYTES_LIMIT).context("TLS")?;
        let config = native::ServerConfig {
            token: self.config.token.clone(),
            policy: self.config.policy.clone(),
            software: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
            host: host::describe(Some(peer.ip())),
            entropy: host::entropy()?,
            binding: link.binding()?,
            busy: self.tests.load(Ordering::Acquire) >= self.config.max_tests,
        };
        let host = config.host.clone();
        let mut session = native::Server::new(config, mono_now());
        // A client that has asked for nothing yet takes no place: silent ones must not keep others out.
        self.drive(&mut session, link, peer, (ProtocolName::Native, host), None, guest)
    }

    fn drive<'a>(
        &'a self,
        session: &mut dyn Session,
        link: Link,
        peer: SocketAddr,
        (protocol, host): (ProtocolName, Host),
        mut place: Option<TestPlace<'a>>,
        guest: &mut Guest,
    ) -> anyhow::Result<()> {
        let watcher = std::cell::RefCell::new(self.config.observer.session(peer, protocol));
        let setting = Setting {
            opener: Opener::Server(self.desk.clone()),
            local: self.config.local.clone(),
            host,
            interrupt: self.interrupt.clone(),
            admit: Box::new(|probes| {
                guest.admit();
                place = place.take().or_else(|| TestPlace::take(self));
                place.as_mut().map(|place| place.counts |= !probes).is_some()
            }),
            extras: Box::new(|extras| watcher.borrow_mut().extras(extras)),
            sink: Box::new(|event| watcher.borrow_mut().event(event)),
            reflected: Box::new(|seen| watcher.borrow_mut().reflected(seen)),
            framed: Box::new(|seen| watcher.borrow_mut().framed(seen)),
            offers: self.config.offers.clone(),
            report: Box::new(|events, extras| watcher.borrow().report(events, extras)),
        };
        let outcome = Driver::new(session, link, setting)?.run();
        watcher.borrow_mut().ended(outcome.as_ref().copied());
        Ok(())
    }
}

/// One of the tests that may run at the same time; given back on drop.
struct TestPlace<'a> {
    server: &'a Server,
    /// A test was agreed on, so it is one of those after which this server ends (`--one-off`).
    counts: bool,
}

impl TestPlace<'_> {
    fn take(server: &Server) -> Option<TestPlace<'_>> {
        let taken = server.tests.fetch_add(1, Ordering::AcqRel);
        let place = TestPlace { server, counts: false };
        (taken < server.config.max_tests).then_some(place)
    }
}

impl Drop for TestPlace<'_> {
    fn drop(&mut self) {
        self.server.tests.fetch_sub(1, Ordering::AcqRel);
        if self.counts && self.server.config.tests.is_some() {
            let less = |left: u32| Some(left.saturating_sub(1));
            self.server.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).ok();
            self.server.waker.wake();
        }
    }
}

/// Says no to a client that has just come, and leaves it time to read that: closing at once, with unread bytes in the
/// socket, would reset the connection and take the words back.
fn turn_away(socket: &TcpStream, words: &[u8]) -> io::Result<()> {
    socket.set_read_timeout(Some(ACCEPT_PAUSE))?;
    io::Write::write_all(&mut &*socket, words)?;
    socket.shutdown(std::net::Shutdown::Write)?;
    let deadline = mono_now() + TURN_AWAY_LIMIT;
    let mut unread = [0; 4096];
    while mono_now() < deadline {
        match (&*socket).read(&mut unread) {
            Ok(0) => break,
            Err(e) if e.kind() == ErrorKind::ConnectionReset => break,
            _ => {}
        }
    }
    Ok(())
}

/// Reads until `total` bytes are there; false: the peer closed, or this server stops.
fn read_up_to(
    socket: &TcpStream,
    bytes: &mut Vec<u8>,
    total: usize,
    deadline: MonoTime,
    interrupt: &Interrupt,
) -> anyhow::Result<bool> {
    socket.set_read_timeout(Some(FIRST_BYTES_STEP))?;
    let mut buffer = vec![0; total - bytes.len()];
    loop {
        match (&*socket).read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(n) => {
                bytes.extend_from_slice(&buffer[..n]);
                return Ok(true);
            }
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) =>
            {
                if interrupt.is_raised() {
                    return Ok(false);
                }
                anyhow::ensure!(mono_now() < deadline, "said nothing for ten seconds, closed");
            }
            Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Running sessions have seen the interrupt; they get time to give their clients the results.
fn interrupt_rest(server: &Server, threads: Vec<JoinHandle<()>>) {
    let deadline = mono_now() + STOP_LIMIT;
    for thread in threads {
        while !thread.is_finished() && mono_now() < deadline {
            std::thread::sleep(ACCEPT_PAUSE / 10);
        }
        if thread.is_finished() {
            thread.join().ok();
        }
    }
    let left = server.guests.count();
    if left > 0 {
        server.config.observer.note(&format!("{left} connections did not end in time and were cut"));
    }
}

fn plain(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}

const FIRST_BYTES_LIMIT: Nanos = Nanos(10_000_000_000);
const FIRST_BYTES_STEP: std::time::Duration = std::time::Duration::from_millis(250);
/// Longest wait for a client that was told no to go.
const TURN_AWAY_LIMIT: Nanos = Nanos(2_000_000_000);
const WITHOUT_TLS: &str = "this server encrypts its control connections and you came without TLS";
const GIVE_FINGERPRINT: &str = "give --fingerprint HEX, which it printed when it started";
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);
/// Time for running tests to end after an interrupt.
const STOP_LIMIT: Nanos = Nanos(15_000_000_000);
/// Tests at the same time when nobody says otherwise.
pub const DEFAULT_TESTS: u32 = 64;
