//! A server: what is served where, and to whom.
//!
//! ```no_run
//! use pathmeter_engine::host::interrupt::Interrupt;
//! use pathmeter_engine::server::{Config, Confined, Server};
//! # fn observer() -> std::sync::Arc<dyn pathmeter_engine::work::observer::Observer> { unimplemented!() }
//!
//! let server = Server::bind(Config { iperf3: Some(5201), ..Config::default() })?;
//! server.serve(Confined::enter(None, &[])?, &Interrupt::default(), &observer())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dialogues;
pub mod metrics;
mod sockets;

use crate::error::{Context, Failure, Result};
use crate::host::interrupt::Interrupt;
use crate::session::listener::Listener;
use crate::session::notes::Note;
use crate::session::protocol::{Name, Protocol};
use crate::session::tls::{ServerTls, hex};
use crate::work::dut::remote::offers::Offers;
use crate::work::dut::spec::PortSpec;
use crate::work::echo::server::{Servers, Streams, join};
use crate::work::echo::twamp::Tests;
pub use crate::work::http_server::Page;
use crate::work::http_server::{HttpService, Limits};
use crate::work::iperf2;
use crate::work::observer::{self, Observer};
use dialogues::{DEFAULT_TESTS, Ports};
pub use linux::privilege::drop::Confined;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::WaitMode;
use model::plan::LocalOptions;
use model::units::{BitRate, Nanos};
use sockets::{datagrams, listen, listen_multipath};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use wire::sockperf::{MAX_TCP_LEN, Responder};
use wire::{Policy, native, stamp};

/// The services, their addresses, and their clients. By default: our own protocol, on its port of every address, for everyone.
#[derive(Default)]
pub struct Config {
    /// The address listened on; absent: every one of this host.
    pub bind: Option<IpAddr>,
    /// Port of our own protocol, TCP and UDP; absent: 5210.
    pub native: Option<u16>,
    /// Sockets that listen already, in place of that port (`sd_listen_fds(3)`).
    pub listeners: Vec<TcpListener>,
    /// Port of iPerf3's protocol, TCP and UDP.
    pub iperf3: Option<u16>,
    /// Port of iPerf2's protocol, TCP and UDP.
    pub iperf2: Option<u16>,
    /// iPerf2's clients have UDP sent to them without a proof that they are where they say.
    pub iperf2_udp_reverse: bool,
    /// Port of SockPerf's protocol, TCP and UDP.
    pub sockperf: Option<u16>,
    /// Multicast groups that SockPerf's server joins.
    pub groups: Vec<IpAddr>,
    /// Port of STAMP and TWAMP-Light, UDP.
    pub stamp: Option<u16>,
    /// Port of TWAMP's control connections, TCP.
    pub twamp: Option<u16>,
    /// Key of authenticated STAMP.
    pub stamp_key: Option<stamp::Key>,
    /// STAMP's replies carry the sender's numbers (RFC 8762, section 4.2: stateless).
    pub stamp_stateless: bool,
    /// Port of HTTP, for `transfer` and other tools.
    pub http: Option<u16>,
    /// Metrics, at an address of their own.
    pub metrics: Option<Page>,
    /// Clients of our own protocol must know it.
    pub token: Option<native::Token>,
    /// Control connections of our own protocol are encrypted.
    pub tls: Option<ServerTls>,
    /// Longest test. Absent: ten minutes for clients of other hosts that need no token, any for the others.
    pub max_time: Option<Nanos>,
    /// Highest rate of a test.
    pub max_rate: Option<BitRate>,
    /// Tests at the same time; absent: 64.
    pub max_tests: Option<u32>,
    /// End after one test.
    pub one_off: bool,
    /// Interfaces that clients may send frames out of and count them on.
    pub frames_ports: Vec<PortSpec>,
    /// Those frames may go to any address.
    pub frames_anywhere: bool,
    /// Networks whose addresses they may have beside those for benchmarks: an address and the length of its prefix.
    pub frames_networks: Vec<(IpAddr, u8)>,
    /// VLANs they may be in.
    pub frames_vlans: Vec<u16>,
}

impl Config {
    fn max_tests(&self) -> u32 {
        self.max_tests.unwrap_or(DEFAULT_TESTS)
    }
}

/// A server whose sockets are open.
pub struct Server {
    config: Config,
    sockets: Sockets,
    offers: Offers,
    /// Hosts other than this one can reach it.
    beyond: bool,
}

/// The sockets of each protocol.
struct Sockets {
    native: Vec<TcpListener>,
    iperf3: Option<TcpListener>,
    iperf2: Option<(TcpListener, UdpSocket)>,
    sockperf: Option<(TcpListener, Vec<UdpSocket>)>,
    stamp: Option<UdpSocket>,
    twamp: Option<TcpListener>,
    http: Option<TcpListener>,
    metrics: Option<TcpListener>,
}

impl Sockets {
    /// Where tests are served.
    fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let listeners = self.native.iter().chain(&self.iperf3).chain(&self.twamp).chain(&self.http);
        let listeners = listeners.chain(self.iperf2.iter().map(|(tcp, _)| tcp));
        let listeners = listeners.chain(self.sockperf.iter().map(|(tcp, _)| tcp));
        let addresses = listeners.map(TcpListener::local_addr);
        addresses.chain(self.stamp.iter().map(UdpSocket::local_addr)).filter_map(Result::ok)
    }
}

impl Server {
    /// Opens the sockets. Clients may come from now on, and are answered as soon as it serves.
    ///
    /// # Errors
    /// A port is taken or may not be used; a group, an interface or a limit cannot be had.
    pub fn bind(mut config: Config) -> Result<Server> {
        let sockets = Sockets::open(&mut config)?;
        let mut offers = Offers::new(&config.frames_ports, config.frames_anywhere)?;
        offers.vlans.clone_from(&config.frames_vlans);
        offers.networks.clone_from(&config.frames_networks);
        let beyond = sockets.addresses().any(is_beyond);
        if beyond && config.token.is_none() && !config.frames_ports.is_empty() {
            return Err(Failure::usage(
                "--frames-port beyond loopback without a token: anyone who reaches this host could send frames out of it",
                "give --token-file FILE, the same at both ends, or --bind 127.0.0.1",
            )
            .into());
        }
        Ok(Server { config, sockets, offers, beyond })
    }

    /// Where clients of our own protocol connect to.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> Result<SocketAddr> {
        let listener = self.sockets.native.first().context("no socket of our own protocol")?;
        Ok(listener.local_addr()?)
    }

    /// Serves until it is stopped, or its one test is over; running tests then get their results. `rights`: what this process has
    /// decided to keep of them ([`Confined::enter`], after [`Server::bind`]).
    ///
    /// # Errors
    /// The sockets cannot be used, or no thread can be had.
    pub fn serve(self, rights: Confined, stop: &Interrupt, observer: &Arc<dyn Observer>) -> Result<()> {
        self.notices()?.iter().for_each(|line| observer.note(line));
        let note: Note = {
            let observer = observer.clone();
            Arc::new(move |text| observer.note(text))
        };
        let (limits, open) =
            (self.policy(self.beyond && self.config.token.is_none()), self.policy(self.beyond));
        let Server { config, sockets, offers, .. } = self;
        let mut listener = Listener::new(stop, observer::notes(observer), rights)?;
        let echoes = echoes(&config, rights, (sockets.sockperf, sockets.stamp), &note, &mut listener)?;
        if let Some(socket) = sockets.twamp {
            let service = Tests::new(listener.closing());
            listener.add(socket, Arc::new(service))?;
        }
        if let Some(socket) = sockets.http {
            let limits = Limits { rate: open.max_rate, time: open.max_time, transfers: config.max_tests() };
            let (notes, closing) = (listener.notes(), listener.closing());
            listener.add(socket, HttpService::new(limits, notes, closing))?;
        }
        if let Some((socket, page)) = sockets.metrics.zip(config.metrics.clone()) {
            let (notes, closing) = (listener.notes(), listener.closing());
            listener.add(socket, HttpService::of_page(page, notes, closing))?;
        }
        let has_iperf2 = sockets.iperf2.is_some();
        if let Some(both) = sockets.iperf2 {
            iperf2::open(iperf2_config(&config, both, &open, observer), stop, &mut listener)?;
        }
        let dialogues = dialogues::Config {
            iperf3: sockets.iperf3.into_iter().collect(),
            max_tests: config.max_tests(),
            token: config.token,
            tls: config.tls,
            policy: limits,
            open_policy: open,
            tests: config.one_off.then_some(1),
            offers: Arc::new(offers),
            ..dialogues::Config::new(sockets.native, observer.clone())
        };
        let ports = Ports::open(dialogues, stop, &mut listener)?;
        let served = listener.accept_all(None);
        drop((echoes, ports));
        if has_iperf2 {
            // Its sessions end by nothing else.
            stop.raise();
        }
        listener.finish();
        served
    }

    /// The tests that clients may request. `open`: clients of other hosts that have proved nothing.
    fn policy(&self, open: bool) -> Policy {
        let max_time = self.config.max_time.or(open.then_some(LONGEST_OPEN_TEST));
        Policy { max_time, max_rate: self.config.max_rate, max_streams: None }
    }

    /// Notices to the operator before the first client comes.
    fn notices(&self) -> Result<Vec<String>> {
        let (config, sockets) = (&self.config, &self.sockets);
        let mut lines = Vec::new();
        if let Some((listener, page)) = sockets.metrics.as_ref().zip(config.metrics.as_ref()) {
            lines.push(format!("metrics at http://{}{}", listener.local_addr()?, page.path));
        }
        let listed = |name: Name| Protocol::named(name).listed();
        let mut listens =
            |socket: SocketAddr, what: &str| lines.push(format!("listening on {socket} {what}"));
        if let Some((_, groups)) = &sockets.sockperf {
            let own = groups.last().map(UdpSocket::local_addr).transpose()?;
            own.iter().for_each(|at| listens(*at, &listed(Name::Sockperf)));
        }
        if let Some(socket) = &sockets.stamp {
            let mode = if config.stamp_key.is_some() { "authenticated" } else { "open" };
            let counting = if config.stamp_stateless { "stateless" } else { "stateful" };
            listens(socket.local_addr()?, &format!("{}, {mode}, {counting}", listed(Name::Stamp)));
        }
        let twamp = sockets.twamp.iter().map(|socket| (socket, Name::Twamp, ", unauthenticated"));
        let http = sockets.http.iter().map(|socket| (socket, Name::Http, ": GET /bytes/10M, PUT /"));
        let iperf2 = sockets.iperf2.iter().map(|(socket, _)| (socket, Name::Iperf2, ""));
        let native = sockets.native.iter().map(|socket| (socket, Name::Native, ""));
        let iperf3 = sockets.iperf3.iter().map(|socket| (socket, Name::Iperf3, ""));
        for (socket, name, also) in twamp.chain(http).chain(iperf2).chain(native).chain(iperf3) {
            listens(socket.local_addr()?, &format!("{}{also}", listed(name)));
        }
        for port in &config.frames_ports {
            lines.push(format!(
                "frames may be sent out of {port} and counted there, for one client at a time"
            ));
        }
        lines.extend(self.warnings());
        Ok(lines)
    }

    /// Warnings about open access and missing limits.
    fn warnings(&self) -> Vec<String> {
        let config = &self.config;
        let has_token = config.token.is_some();
        let limited = config.max_rate.is_some() || config.max_time.is_some() || config.max_tests.is_some();
        let tls = config.tls.as_ref();
        let fingerprint =
            tls.map(|tls| format!("clients connect with --fingerprint {}", hex(&tls.fingerprint())));
        let longest = self.policy(self.beyond).max_time.filter(|_| self.beyond && config.max_time.is_none());
        let longest = longest.map(|longest| {
            format!("clients that need no token may test for {longest} (--max-time TIME changes that)")
        });
        let line_if = |is: bool, line: &str| is.then(|| line.to_owned());
        let has_iperf2 = config.iperf2.is_some();
        let served = self.served();
        let has_echo = served.iter().any(|protocol| !protocol.has_limits);
        let unprotected = served.iter().filter(|_| has_token).filter_map(|protocol| protocol.warning());
        let first = [fingerprint, longest, line_if(self.beyond && !has_token, OPEN_TO_ALL)];
        let last = [
            line_if(has_iperf2 && config.iperf2_udp_reverse, REFLECTS),
            line_if(has_iperf2 && !config.iperf2_udp_reverse, REFLECTS_NOT),
            line_if(limited && has_echo, NOT_LIMITED),
        ];
        let (first, last) = (first.into_iter().flatten(), last.into_iter().flatten());
        first.chain(unprotected).chain(last).collect()
    }

    /// The protocols that it speaks beside its own.
    fn served(&self) -> Vec<&'static Protocol> {
        let config = &self.config;
        let ports = [
            (config.iperf3, Name::Iperf3),
            (config.iperf2, Name::Iperf2),
            (config.http, Name::Http),
            (config.sockperf, Name::Sockperf),
            (config.stamp, Name::Stamp),
            (config.twamp, Name::Twamp),
        ];
        ports.into_iter().filter_map(|(port, name)| port.map(|_| Protocol::named(name))).collect()
    }
}

impl Sockets {
    fn open(config: &mut Config) -> Result<Sockets> {
        let bind = config.bind;
        let mut native = std::mem::take(&mut config.listeners);
        if native.is_empty() {
            native.push(listen(bind, config.native.unwrap_or(native::PORT))?);
        }
        for listener in &native {
            // This is set before clients connect. With a kernel that keeps no SYNs, `pathmeter mtu` cannot report their options.
            linux::options::set_save_syn(listener).ok();
        }
        if config.sockperf.is_none() && !config.groups.is_empty() {
            let advice = "add --sockperf, whose clients can send to a group";
            return Err(Failure::usage("--group has no server to join it", advice).into());
        }
        Ok(Sockets {
            native,
            iperf3: config.iperf3.map(|port| listen_multipath(bind, port)).transpose()?,
            iperf2: config
                .iperf2
                .map(|port| {
                    Ok::<_, crate::error::Error>((listen(bind, port)?, iperf2::listen_udp(bind, port)?))
                })
                .transpose()?,
            sockperf: config.sockperf.map(|port| sockperf(bind, port, &config.groups)).transpose()?,
            stamp: config.stamp.map(|port| datagrams(bind, port)).transpose()?,
            twamp: config.twamp.map(|port| listen(bind, port)).transpose()?,
            http: config.http.map(|port| listen(bind, port)).transpose()?,
            metrics: config.metrics.as_ref().map(listen_for).transpose()?,
        })
    }
}

/// A page and nothing else, whose socket is open.
pub struct PageServer {
    page: Page,
    socket: TcpListener,
}

impl PageServer {
    /// Opens its socket.
    ///
    /// # Errors
    /// The address is taken or may not be used.
    pub fn bind(page: Page) -> Result<PageServer> {
        let socket = listen_for(&page)?;
        Ok(PageServer { page, socket })
    }

    /// Where it is read.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }

    /// Answers until it is stopped. `rights`: as for [`Server::serve`].
    ///
    /// # Errors
    /// The socket cannot be used, or no thread can be had.
    pub fn serve(self, rights: Confined, stop: &Interrupt, observer: &Arc<dyn Observer>) -> Result<()> {
        let mut listener = Listener::new(stop, observer::notes(observer), rights)?;
        let (notes, closing) = (listener.notes(), listener.closing());
        listener.add(self.socket, HttpService::of_page(self.page, notes, closing))?;
        let served = listener.accept_all(None);
        listener.finish();
        served
    }
}

fn listen_for(page: &Page) -> Result<TcpListener> {
    listen(Some(page.address.ip()), page.address.port()).context("open the address of --metrics")
}

/// The sockets of SockPerf's server; that of the address listened on is the last for datagrams.
fn sockperf(bind: Option<IpAddr>, port: u16, groups: &[IpAddr]) -> Result<(TcpListener, Vec<UdpSocket>)> {
    let own = datagrams(bind, port)?;
    let mut all = Vec::new();
    for group in groups {
        // A socket at one address of this host hears nothing that is sent to a group.
        let apart = bind.map(|_| datagrams(Some(*group), port)).transpose()?;
        join(apart.as_ref().unwrap_or(&own), *group, bind).map_err(|e| no_group(*group, &e))?;
        all.extend(apart);
    }
    all.push(own);
    Ok((listen(bind, port)?, all))
}

fn no_group(group: IpAddr, error: &std::io::Error) -> Failure {
    let advice = if group.is_multicast() {
        "give the group a route (`ip route add 239.0.0.0/8 dev eth0`), or with --bind the address of an interface"
    } else {
        "groups are 224.0.0.0 to 239.255.255.255, and those that begin with ff"
    };
    Failure::usage(format!("join the multicast group {group}: {error}"), advice)
}

/// Starts the servers of protocols without a dialogue.
fn echoes(
    config: &Config,
    rights: Confined,
    (sockperf, stamp): (Option<(TcpListener, Vec<UdpSocket>)>, Option<UdpSocket>),
    note: &Note,
    listener: &mut Listener,
) -> Result<Servers> {
    let mut servers = Servers::new(rights);
    if let Some((streams, sockets)) = sockperf {
        for socket in sockets {
            servers.sockperf_datagrams(
                socket,
                Responder::new(LARGEST_UDP_PAYLOAD as usize),
                WaitMode::Hybrid,
                note,
            )?;
        }
        let service = Streams::new(Responder::new(MAX_TCP_LEN), WaitMode::Hybrid, listener.closing());
        listener.add(streams, Arc::new(service))?;
    }
    if let Some(socket) = stamp {
        servers.stamp(socket, config.stamp_key.clone(), !config.stamp_stateless, note)?;
    }
    Ok(servers)
}

fn iperf2_config(
    config: &Config,
    (tcp, udp): (TcpListener, UdpSocket),
    open: &Policy,
    observer: &Arc<dyn Observer>,
) -> iperf2::Config {
    iperf2::Config {
        tcp: vec![tcp],
        udp: vec![udp],
        policy: open.clone(),
        max_tests: config.max_tests(),
        unverified: config.iperf2_udp_reverse,
        timeout: None,
        tests: config.one_off.then_some(1),
        time: None,
        key: None,
        local: LocalOptions { interval: Nanos::from_secs(1), ..LocalOptions::default() },
        timing: iperf2::Timing::default(),
        observer: observer.clone(),
    }
}

/// Other hosts can reach it.
fn is_beyond(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

const OPEN_TO_ALL: &str =
    "open to everyone who can reach this host: no token is asked for (--token-file FILE asks for one)";
const REFLECTS: &str = "a client that forges an address can have UDP sent there by the iPerf2 port (--iperf2-udp-reverse): \
                        limit it with --max-rate and --max-time, or by a firewall";
const REFLECTS_NOT: &str = "iPerf2 clients get UDP sent to them (-R, --full-duplex, -d, -r) only from this host or with \
                            a TCP connection beside (--iperf2-udp-reverse serves the others)";
const NOT_LIMITED: &str = "SockPerf, STAMP and TWAMP have no tests that could be limited: --max-rate, --max-time and \
                           --max-tests do not hold there; each message has one reply";
/// Longest test of clients of other hosts that have proved nothing, where the operator sets no limit.
const LONGEST_OPEN_TEST: Nanos = Nanos::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    /// Sockets that were handed over are on loopback, those that it opens are not.
    #[test]
    fn any_port_that_others_reach_has_the_limits_of_an_open_server() {
        let handed = || vec![TcpListener::bind("127.0.0.1:0").expect("a port")];
        let inside = Config { listeners: handed(), ..Config::default() };
        assert!(!Server::bind(inside).expect("a server").beyond);
        let open = Config { listeners: handed(), http: Some(0), ..Config::default() };
        let server = Server::bind(open).expect("a server");
        assert!(server.beyond && server.policy(server.beyond).max_time == Some(LONGEST_OPEN_TEST));
    }
}
