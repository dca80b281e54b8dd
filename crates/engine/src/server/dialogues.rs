//! The server of the protocols with a dialogue (ours and iPerf3's): distinguishes control connections, data flows and unknown
//! connections, and serves them.

use crate::error::{Context, Result, refused};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::budget::{self, Budget, Client, Held, Limits, client_of};
use crate::session::link::Link;
use crate::session::listener::{
    Accepted, FIRST_BYTES_LIMIT, FIRST_BYTES_STEP, Heard, LEFT, Listener, Quota, Service, hear,
};
use crate::session::penalty::Penalties;
use crate::session::protocol::{Hello, Name, Protocol};
use crate::session::tls::{ServerTls, TURNED_AWAY};
use crate::work::arrivals::Arrivals;
use crate::work::driver::Driver;
use crate::work::dut::remote::offers::Offers;
use crate::work::observer::{self, Observer};
use crate::work::workers::{Opener, Setting, Wanted};
use linux::clock::mono_now;
use linux::privilege::drop::Confined;
use model::host::Host;
use model::plan::{LocalOptions, ProtocolName};
use model::units::Nanos;
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use wire::native::{self, flow};
use wire::{Policy, Session, iperf3};

/// Settings of a server.
pub struct Config {
    /// Sockets that speak our own protocol.
    pub native: Vec<TcpListener>,
    /// Sockets that speak iPerf3's.
    pub iperf3: Vec<TcpListener>,
    /// Clients must know it.
    pub token: Option<native::Token>,
    /// Control connections may be encrypted; without TLS they must not.
    pub tls: Option<ServerTls>,
    /// The tests that clients may request.
    pub policy: Policy,
    /// The tests that clients of protocols without a token may request.
    pub open_policy: Policy,
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
            open_policy: Policy::default(),
            max_tests: DEFAULT_TESTS,
            tests: None,
            local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
            offers: Arc::default(),
            verifier: None,
            observer,
        }
    }
}

/// Checks whether an iPerf3 client's authentication token is valid.
pub type Verifier = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A server at work.
struct Server {
    config: Config,
    arrivals: Arc<Arrivals>,
    interrupt: Interrupt,
    connections: Arc<Budget>,
    /// Tests that run, and their streams.
    tests: Arc<Budget>,
    streams: Arc<Budget>,
    penalties: Penalties,
    /// Sessions that may still begin, for `tests`.
    quota: Quota,
}

/// A port of the server.
struct Port {
    server: Arc<Server>,
    protocol: ProtocolName,
}

/// The ports are given to a listener; dropped, they are closed for flows.
pub(crate) struct Ports(Arc<Server>);

/// Serves until the interrupt is raised or the requested number of tests is done; running tests then get their results.
pub fn run(config: Config, rights: Confined, interrupt: &Interrupt) -> Result<()> {
    let mut listener = Listener::new(interrupt, observer::notes(&config.observer), rights)?;
    let ports = Ports::open(config, interrupt, &mut listener)?;
    let outcome = listener.accept_all(None);
    drop(ports);
    listener.finish();
    outcome
}

impl Ports {
    /// The listener serves them from now on.
    ///
    /// # Errors
    /// The system gave no random bytes, or the sockets cannot be used.
    pub(crate) fn open(mut config: Config, interrupt: &Interrupt, listener: &mut Listener) -> Result<Ports> {
        let has_secret = config.token.is_some() || config.verifier.is_some();
        let (native, iperf3) = (std::mem::take(&mut config.native), std::mem::take(&mut config.iperf3));
        let server = Arc::new(Server {
            arrivals: Arrivals::new(host::entropy()?),
            interrupt: interrupt.clone(),
            connections: Budget::new(budget::connections()),
            tests: Budget::new(Limits::quarters(config.max_tests, has_secret)),
            streams: Budget::new(Limits::quarters(
                budget::within(MOST_STREAMS, linux::privilege::open_files()),
                has_secret,
            )),
            penalties: Penalties::default(),
            quota: listener.quota(config.tests),
            config,
        });
        let native = native.into_iter().map(|socket| (socket, ProtocolName::Native));
        let iperf3 = iperf3.into_iter().map(|socket| (socket, ProtocolName::Iperf3));
        for (socket, protocol) in native.chain(iperf3) {
            // A kernel that keeps no SYNs leaves a gap in what `pathmeter mtu` can say, and nothing else.
            linux::options::set_save_syn(&socket).ok();
            listener.add(socket, Arc::new(Port { server: server.clone(), protocol }))?;
        }
        Ok(Ports(server))
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        self.0.arrivals.close();
    }
}

impl Service for Port {
    fn connections(&self) -> &Arc<Budget> {
        &self.server.connections
    }

    fn serve(&self, accepted: Accepted) -> Result<()> {
        // A client that has vanished without a word is given up also where this end only waits for it.
        linux::options::set_keepalive(&accepted.socket, KEEPALIVE, KEEPALIVE_STEP, KEEPALIVE_TRIES).ok();
        match self.protocol {
            ProtocolName::Iperf3 => self.server.welcome_iperf3(accepted),
            _ => self.server.welcome_native(accepted),
        }
    }

    fn refusal(&self, why: &str) -> Vec<u8> {
        match self.protocol {
            ProtocolName::Iperf3 => iperf3::access_denied().into(),
            _ => self.server.words_of_limit(why),
        }
    }

    fn is_done(&self) -> bool {
        self.server.quota.is_done()
    }
}

impl Server {
    fn welcome_native(&self, accepted: Accepted) -> Result<()> {
        let Some(first) = self.first_bytes(&accepted, Name::Native)? else { return Ok(()) };
        match flow::classify(&first) {
            flow::Opening::Tls => {
                let Some(tls) = &self.config.tls else {
                    return Err(refused("a client wants TLS, and this server runs without --tls; closed"));
                };
                self.converse_native(accepted, first, Some(tls.accept()?))
            }
            flow::Opening::Control if self.config.tls.is_some() => {
                turn_away(&accepted.socket, &native::refusal("unsupported", WITHOUT_TLS, GIVE_FINGERPRINT))?;
                Err(refused("a client came without TLS, and this server demands it"))
            }
            flow::Opening::Control => self.converse_native(accepted, first, None),
            flow::Opening::Flow(hello) => {
                let answered = accepted.socket.try_clone()?;
                let answer = self.arrivals.deliver_native(&hello, accepted.socket, accepted.order);
                if answer != flow::FlowAnswer::Welcome {
                    io::Write::write_all(&mut &answered, &[answer.byte()])?;
                }
                Ok(())
            }
            flow::Opening::NeedMore(_) | flow::Opening::Garbage => Ok(()),
        }
    }

    /// Reads the first bytes of a client of this protocol; `None`: it has closed, or this server stops.
    ///
    /// # Errors
    /// The bytes are another protocol's, or nothing arrives.
    fn first_bytes(&self, Accepted { socket, held, .. }: &Accepted, name: Name) -> Result<Option<Vec<u8>>> {
        let (protocol, deadline, mut first) =
            (Protocol::named(name), mono_now() + FIRST_BYTES_LIMIT, Vec::new());
        loop {
            match protocol.hello(&first) {
                Hello::Own => return Ok(Some(first)),
                Hello::More(total) => {
                    let mut buffer = vec![0; total - first.len()];
                    match hear(socket, &mut buffer, (held, &self.interrupt), deadline)? {
                        Heard::Bytes(length) => first.extend_from_slice(&buffer[..length]),
                        Heard::Pause => {}
                        Heard::End => return Ok(None),
                    }
                }
                Hello::Foreign => return Err(refused(foreign(protocol, first, socket))),
            }
        }
    }

    fn welcome_iperf3(&self, accepted: Accepted) -> Result<()> {
        let Some(first) = self.first_bytes(&accepted, Name::Iperf3)? else { return Ok(()) };
        let Accepted { socket, peer, order, mut held } = accepted;
        let iperf3::Classified::Cookie(cookie) = iperf3::classify(&first) else { return Ok(()) };
        if self.arrivals.awaits_cookie(cookie.as_str()) {
            self.arrivals.deliver_iperf3(cookie.as_str(), socket, order);
            return Ok(());
        }
        // A client without room is refused at once, in iPerf3's own form; a place is taken when the flows are open.
        let client = client_of(peer.ip(), self.config.verifier.is_some());
        if !self.tests.has_room(peer.ip(), 1, client) {
            io::Write::write_all(&mut &*socket, &iperf3::access_denied())?;
            return Err(refused(
                "turned away: as many tests run as this server, or one address, may have (--max-tests)",
            ));
        }
        let verifier = self.config.verifier.clone();
        let config = iperf3::ServerConfig {
            policy: self.config.open_policy.clone(),
            verifier: verifier.map(|v| -> iperf3::Verifier { Box::new(move |token| v(token)) }),
        };
        let mut session = iperf3::Server::new(config, cookie, mono_now());
        let link = Link::new(socket, Vec::new(), None)?;
        let host = host::describe(Some(peer.ip()));
        self.drive(&mut session, link, peer, (ProtocolName::Iperf3, host, client), &mut held)
    }

    fn converse_native(
        &self,
        accepted: Accepted,
        first: Vec<u8>,
        tls: Option<rustls::Connection>,
    ) -> Result<()> {
        let client = client_of(accepted.peer.ip(), self.config.token.is_some());
        self.wait_for_penalty(&accepted)?;
        let Accepted { socket, peer, mut held, .. } = accepted;
        let mut link = Link::new(socket, first, tls)?;
        link.handshake(mono_now() + FIRST_BYTES_LIMIT).context("TLS")?;
        let config = native::ServerConfig {
            token: self.config.token.clone(),
            policy: self.config.policy.clone(),
            software: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).into(),
            host: host::describe(Some(peer.ip())),
            entropy: host::entropy()?,
            binding: link.binding()?,
            busy: !self.tests.has_room(peer.ip(), 1, client),
        };
        let host = config.host.clone();
        let mut session = native::Server::new(config, mono_now());
        let driven = self.drive(&mut session, link, peer, (ProtocolName::Native, host, client), &mut held);
        match session.authenticated() {
            Some(true) => self.penalties.succeeded(peer.ip()),
            Some(false) => self.penalties.failed(peer.ip(), mono_now()),
            None => {}
        }
        driven
    }

    /// How a native client hears that it has reached a limit. Plain words are none to one that begins with TLS.
    fn words_of_limit(&self, why: &str) -> Vec<u8> {
        match self.config.tls {
            Some(_) => TURNED_AWAY.into(),
            None => native::refusal("limit", why, "try again later"),
        }
    }

    /// An address that has given wrong tokens is heard again after a while.
    fn wait_for_penalty(&self, Accepted { socket, peer, held, .. }: &Accepted) -> Result<()> {
        let Some(wait) = self.penalties.wait(peer.ip(), mono_now()) else {
            turn_away(socket, &self.words_of_limit("too many attempts after wrong tokens"))?;
            return Err(refused("too many attempts after wrong tokens"));
        };
        let until = mono_now() + wait;
        while mono_now() < until {
            if self.interrupt.is_raised() || held.must_leave() {
                return Err(refused(LEFT));
            }
            std::thread::sleep(FIRST_BYTES_STEP.min((until - mono_now()).to_duration()));
        }
        Ok(())
    }

    fn drive(
        &self,
        session: &mut dyn Session,
        link: Link,
        peer: SocketAddr,
        (protocol, host, client): (ProtocolName, Host, Client),
        connection: &mut Held,
    ) -> Result<()> {
        let mut watcher = self.config.observer.session(peer, protocol);
        let mut slot = None;
        let leave = connection.leave();
        let setting = Setting {
            opener: Opener::Server(self.arrivals.clone()),
            local: self.config.local.clone(),
            host,
            admit: Box::new(|wanted| {
                if !wanted.begins {
                    return self.tests.has_room(peer.ip(), 1, client)
                        && self.streams.has_room(peer.ip(), wanted.streams, client);
                }
                slot = slot.take().or_else(|| TestSlot::take(self, peer.ip(), client, wanted));
                if slot.is_some() {
                    connection.trust();
                }
                slot.is_some()
            }),
            watcher: watcher.as_mut(),
            offers: self.config.offers.clone(),
        };
        let outcome = Driver::new(session, link, setting, &self.interrupt, leave)?.run();
        watcher.ended(outcome.as_ref().copied());
        Ok(())
    }
}

/// One of the tests that may run at the same time; given back on drop.
struct TestSlot<'a> {
    server: &'a Server,
    /// A test was agreed on, so it is one of those after which this server ends (`--one-off`).
    counts: bool,
    _test: Held,
    _streams: Held,
}

impl TestSlot<'_> {
    fn take(server: &Server, source: IpAddr, client: Client, wanted: Wanted) -> Option<TestSlot<'_>> {
        let test = server.tests.take(source, 1, client).ok()?;
        let streams = server.streams.take(source, wanted.streams, client).ok()?;
        Some(TestSlot { server, counts: !wanted.probes, _test: test, _streams: streams })
    }
}

impl Drop for TestSlot<'_> {
    fn drop(&mut self) {
        if self.counts {
            self.server.quota.less();
        }
    }
}

/// Names the protocol of a connection that begins like this at the port of that protocol, for the log.
fn foreign(protocol: &Protocol, mut first: Vec<u8>, socket: &TcpStream) -> String {
    let mut behind = [0; 512];
    // Only the bytes that have arrived are read; there is no wait.
    let more = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut behind)).unwrap_or(0);
    first.extend_from_slice(&behind[..more]);
    let other = protocol.recognise_other(&first).map(|title| format!(" but {title}")).unwrap_or_default();
    format!("not {}{other}, closed", protocol.title)
}

/// Refuses a client that has just connected, and leaves it time to read that: closing at once, with unread bytes in the socket,
/// would reset the connection and discard the message.
fn turn_away(socket: &TcpStream, words: &[u8]) -> io::Result<()> {
    socket.set_read_timeout(Some(TURN_AWAY_STEP))?;
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

/// Longest wait for a refused client to close.
const TURN_AWAY_LIMIT: Nanos = Nanos::from_secs(2);
/// Between two looks whether it has gone.
const TURN_AWAY_STEP: std::time::Duration = std::time::Duration::from_millis(100);
const WITHOUT_TLS: &str = "this server encrypts its control connections and you came without TLS";
const GIVE_FINGERPRINT: &str = "give --fingerprint HEX, which it printed when it started";
/// A silent control connection is probed after this time, and given up after some probes without an answer.
const KEEPALIVE: Nanos = Nanos::from_secs(10);
const KEEPALIVE_STEP: Nanos = Nanos::from_secs(5);
const KEEPALIVE_TRIES: u8 = 4;
/// Tests at the same time without an option.
pub const DEFAULT_TESTS: u32 = 64;
/// Streams of all tests at the same time: each has a thread and buffers.
const MOST_STREAMS: u32 = 1024;
