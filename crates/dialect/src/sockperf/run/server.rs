//! A server for SockPerf's clients: answers on all its sockets until it is interrupted, then prints how many messages came.

use super::end::{End, Stepped};
use super::plan::address;
use super::{note, say};
use crate::Process;
use crate::sockperf::output::Version;
use crate::sockperf::output::banner::{self, Ended};
use crate::sockperf::output::server::{self, Session};
use crate::sockperf::{Activity, Both, Server, SocketSpec, version_name};
use engine::error::{Failure, Result};
use engine::session::foreign_tls::{ForeignTls, Suite};
use engine::work::echo::server::{Note, Servers, join};
use linux::clock::mono_now;
use linux::options;
use linux::sockaddr::plain;
use linux::socket::{TcpOptions, UdpOptions, tcp_listen, udp_bind};
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::{BitRate, Bytes};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use wire::sockperf::{Observation, Responder};

/// Serves until the interrupt.
pub(super) fn run(both: &Both, server: &Server, places: &[SocketSpec], process: Process) -> Stepped<()> {
    check(both, server, places)?;
    say(&banner::version(&version_name(both.version)))?;
    pin(server)?;
    let watched = Arc::new(Mutex::new(Watched::new(both.activity, server.gaps)));
    let mut responder = Responder::new(server.max as usize);
    responder.replies = !server.silent;
    let watching = watched.clone();
    let see = move |observed| watching.lock().unwrap_or_else(PoisonError::into_inner).see(observed);
    responder.watch = Some(Arc::new(see));
    let reported: Note = Arc::new(|line: &str| note(line));
    let opened = places.iter().map(|place| open(both, place)).collect::<Stepped<Vec<_>>>()?;
    let rights = (process.confine)().map_err(|error| End::fatal(format!("{error:#}")))?;
    let interrupt = (process.interrupt)().map_err(|e| End::fatal(e.to_string()))?;
    let mut servers = Servers::new(rights);
    let mut listed = Vec::new();
    for (address, socket) in opened {
        listed.push(banner::TestSocket { address, tcp: matches!(socket, Opened::Tcp(..)) });
        serve(&mut servers, socket, (both, &responder, &reported))
            .map_err(|error| cannot_bind(address, &error))?;
    }
    let warm_up = if both.warm_up { banner::WARM_UP } else { "" };
    let waits = banner::server_waits(std::process::id().into(), both.call);
    say(&(banner::server(&listed) + warm_up + &waits))?;
    servers.run_until(&interrupt);
    drop(servers);
    let end = if interrupt.is_raised() { banner::ended(Ended::User) } else { String::new() };
    let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
    say(&(watched.newline() + &end + &watched.summary() + server::EXIT))?;
    if interrupt.is_raised() { Ok(()) } else { Err(End::socket("every socket has failed")) }
}

/// A socket of the server.
enum Opened {
    Tcp(TcpListener, Option<ForeignTls>),
    Udp(std::net::UdpSocket),
}

/// Begins to answer on a socket.
fn serve(
    servers: &mut Servers,
    socket: Opened,
    (both, responder, reported): (&Both, &Responder, &Note),
) -> Result<()> {
    let wait = if both.spin { WaitMode::Spin } else { WaitMode::Block };
    match socket {
        Opened::Tcp(listener, tls) => {
            servers.sockperf_streams(listener, responder.clone(), (wait, tls), reported)
        }
        Opened::Udp(socket) => servers.sockperf_datagrams(socket, responder.clone(), wait, reported),
    }
}

fn cannot_bind(address: SocketAddr, error: &dyn std::fmt::Display) -> End {
    End::socket(format!("Can`t bind socket, IP to bind: {address}: {error}"))
}

/// Opens a socket.
fn open(both: &Both, place: &SocketSpec) -> Stepped<(SocketAddr, Opened)> {
    let address = match &place.host {
        Some(host) => address(host, place.port)?,
        None => SocketAddr::new(anywhere(both.version), place.port),
    };
    let failed = |error: &dyn std::fmt::Display| cannot_bind(address, error);
    if place.tcp {
        let options = TcpOptions { tos: tos(both), ..TcpOptions::default() };
        let listener = tcp_listen(address, &options, BACKLOG).map_err(|e| failed(&e))?;
        shape(&listener, both);
        let tls = both.tls.as_deref().map(|name| Suite::named(name).and_then(ForeignTls::server)).transpose();
        let tls = tls.map_err(|error| End::from_engine(&error))?;
        return Ok((address, Opened::Tcp(listener, tls)));
    }
    let socket = datagram_socket(both, address).map_err(|e| failed(&e))?;
    shape(&socket, both);
    Ok((address, Opened::Udp(socket)))
}

/// Where a server listens by default: since 3.8 on IPv6 too.
fn anywhere(version: Version) -> IpAddr {
    match version {
        Version::V3_7 => Ipv4Addr::UNSPECIFIED.into(),
        Version::V3_10 => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn datagram_socket(both: &Both, address: SocketAddr) -> Result<std::net::UdpSocket> {
    let group = address.ip().is_multicast();
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let bound = SocketAddr::new(if group { any } else { address.ip() }, address.port());
    let reuse_address = both.reuse_address || group;
    let options = UdpOptions { tos: tos(both), reuse_address, ..UdpOptions::default() };
    let socket = udp_bind(bound, &options)?;
    if group {
        let interface = both.multicast.receive.as_deref().map(|text| {
            text.parse().map_err(|_| {
                Failure::usage(format!("{text} is not an address of an interface"), "give its IP address")
            })
        });
        let interface = interface.transpose()?;
        join(&socket, address.ip(), interface)?;
    }
    Ok(socket)
}

/// Applies settings that the kernel may refuse: each refusal is noted, and the server goes on without it.
fn shape(socket: &impl AsFd, both: &Both) {
    let mut done = Vec::new();
    if let Some(size) = both.buffer {
        done.push(options::set_recv_buffer(socket, Bytes(size.into())).map(drop));
        done.push(options::set_send_buffer(socket, Bytes(size.into())).map(drop));
    }
    if let Some(span) = both.busy_poll {
        done.push(options::set_busy_poll(socket, span));
    }
    if let Some(rate) = both.pacing {
        done.push(options::set_max_pacing_rate(socket, BitRate(u64::from(rate) * 8)));
    }
    for error in done.into_iter().filter_map(Result::err) {
        note(&format!("{error}; served without"));
    }
}

fn tos(both: &Both) -> Option<u8> {
    (both.tos > 0).then_some(both.tos)
}

/// All threads are started by this one, and stay where it is.
fn pin(server: &Server) -> Stepped<()> {
    let Some(cpu) = server.cpus.as_ref().and_then(|cpus| cpus.0.first()) else { return Ok(()) };
    linux::cpu::pin_current_thread(*cpu as usize)
        .map_err(|error| End::fatal(format!("Set thread affinity failed: {error}")))
}

/// Checks for options that the server does not support: they are refused where they would change what clients see, else noted.
fn check(both: &Both, server: &Server, places: &[SocketSpec]) -> Stepped<()> {
    if both.multicast.source.is_some() || places.iter().any(|place| place.source.is_some()) {
        return Err(End::bad("a multicast source filter is not served by pathmeter"));
    }
    if both.multicast.receive.as_deref().is_some_and(|text| text.parse::<IpAddr>().is_err()) {
        return Err(End::bad("'--mc-rx-if' takes the address of an interface here, not its number"));
    }
    let more_cpus = server.cpus.as_ref().is_some_and(|cpus| cpus.0.len() > 1);
    let group = places.iter().any(|place| {
        place.host.as_deref().is_some_and(|host| host.parse::<IpAddr>().is_ok_and(|ip| ip.is_multicast()))
    });
    for (wanted, what) in [
        (server.threads > 1, "--threads-num is ignored: each socket and connection has a thread of its own"),
        (more_cpus, "--cpu-affinity: all threads run on the first CPU given"),
        (both.multicast.send.is_some(), "--mc-tx-if is ignored: replies go by the route"),
        (group && !server.unicast_reply, "replies to a group's messages go to their senders alone"),
        (
            !both.nodelay && places.iter().any(|place| place.tcp),
            "--tcp-avoid-nodelay is ignored: replies go at once",
        ),
    ] {
        if wanted {
            note(what);
        }
    }
    Ok(())
}

/// Counts so far.
struct Watched {
    messages: u64,
    activity: Option<Activity>,
    rows: u64,
    since: MonoTime,
    gaps: bool,
    sessions: BTreeMap<SocketAddr, Session>,
}

impl Watched {
    fn new(activity: Option<Activity>, gaps: bool) -> Watched {
        Watched { messages: 0, activity, rows: 0, since: mono_now(), gaps, sessions: BTreeMap::new() }
    }

    fn see(&mut self, observed: Observation) {
        let mut text = if self.gaps { self.gap(observed) } else { String::new() };
        if !observed.warm_up {
            self.messages += 1;
            text += &self.sign_of_life(observed.received);
        }
        if !text.is_empty() {
            // The summary reports whether it could be written.
            say(&text).ok();
        }
    }

    fn gap(&mut self, Observation { from, sequence, warm_up, .. }: Observation) -> String {
        let from = plain(from);
        if let Some(session) = self.sessions.get_mut(&from) {
            return session.message(sequence, warm_up);
        }
        // A flood of forged senders must not fill the memory.
        if self.sessions.len() >= MOST_SESSIONS {
            return String::new();
        }
        let (session, line) = Session::new(from, sequence, warm_up);
        self.sessions.insert(from, session);
        line
    }

    fn sign_of_life(&mut self, now: MonoTime) -> String {
        match self.activity {
            Some(Activity::Dots(each)) if self.messages.is_multiple_of(each) => ".".into(),
            Some(Activity::Rows(each)) if self.messages.is_multiple_of(each) => {
                let took = now.saturating_since(std::mem::replace(&mut self.since, now));
                self.rows += 1;
                server::activity(self.rows - 1, each, took, self.messages)
            }
            _ => String::new(),
        }
    }

    /// After dots.
    fn newline(&self) -> String {
        let dots = matches!(self.activity, Some(Activity::Dots(each)) if self.messages >= each);
        if dots { "\n".into() } else { String::new() }
    }

    fn summary(&self) -> String {
        let gaps: String = self.sessions.values().map(Session::summary).collect();
        server::total(self.messages) + &gaps
    }
}

/// Connections that wait to be accepted, as sockperf.
const BACKLOG: u16 = 10;
/// Clients whose numbers are watched.
const MOST_SESSIONS: usize = 4096;
