//! `pathmeter serve`: the other end, for many clients at once.

mod echo;
mod http;
mod iperf2;

use super::dialect::server_output;
use crate::cli::{Common, ServeArgs};
use crate::exit::Exit;
use crate::files::token;
use crate::signals;
use engine::dut::remote::offers::Offers;
use engine::dut::remote::station::FramesSeen;
use engine::error::Failure;
use engine::server::{self, Config, DEFAULT_TESTS, Observer, Watcher};
use engine::tls::{self, ServerTls};
use insight::run_of_events;
use linux::clock::wall_now;
use linux::socket::{TcpOptions, tcp_listen};
use model::event::Event;
use model::plan::{ProtocolName, Transport};
use model::sample::Role;
use model::units::Nanos;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use wire::native::LatencySeen;
use wire::{Policy, ProtocolError, Report};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, _global: &Common) -> anyhow::Result<Exit> {
    let interrupt = signals::interrupt()?;
    // Each connection and each stream is a file. What the kernel refuses here, it will tell when they run out.
    linux::privilege::raise_open_files().ok();
    let tls = tls(args)?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let native = native_listeners(args)?;
    let iperf3 = args.iperf3_port().map(|port| listen(args.bind, port)).transpose()?;
    let beyond = native.iter().chain(&iperf3).any(|l| l.local_addr().is_ok_and(|a| !is_loopback(a.ip())));
    let policy = policy(args, beyond && token.is_none());
    let open = self::policy(args, beyond);
    let offers = Offers::new(&args.frames_port, args.frames_anywhere)?.with_vlans(&args.frames_vlan);
    if beyond && token.is_none() {
        refuse_open_frames(args)?;
    }
    let log = Log;
    let echoes = echo::start(args, &log)?;
    let http = http::start(args, &open)?;
    let iperf2 = iperf2::start(args, &open, &interrupt)?;
    for listener in &native {
        log.note(&format!("listening on {} (TCP and UDP), pathmeter's own protocol", listener.local_addr()?));
    }
    if let Some(listener) = &iperf3 {
        log.note(&format!("listening on {} (TCP and UDP), iPerf3", listener.local_addr()?));
    }
    for port in &args.frames_port {
        log.note(&format!("frames may be sent out of {port} and counted there, for one client at a time"));
    }
    if let Some(tls) = &tls {
        log.note(&format!("clients connect with --fingerprint {}", tls::hex(&tls.fingerprint())));
    }
    if let (true, None, Some(longest)) = (beyond, args.max_time, open.max_time) {
        log.note(&format!(
            "clients that need no token may test for {longest} (--max-time TIME says otherwise)"
        ));
    }
    if token.is_none() && beyond {
        log.note("open to everyone who can reach this host: no token is asked for (--token-file FILE asks for one)");
    }
    if iperf3.is_some() && token.is_some() {
        log.note("the token does not protect the iPerf3 port: that protocol has no such thing");
    }
    let config = Config {
        iperf3: iperf3.into_iter().collect(),
        token,
        tls,
        policy,
        open_policy: open,
        max_tests: args.max_tests.unwrap_or(DEFAULT_TESTS),
        tests: args.one_off.then_some(1),
        offers: Arc::new(offers),
        ..Config::new(native, Arc::new(log))
    };
    let served = server::run(config, &interrupt);
    drop((echoes, http));
    if let Some(iperf2) = iperf2 {
        interrupt.raise();
        iperf2.join().ok();
    }
    served.map(|()| Exit::Done)
}

/// A port for frames that whoever reaches this host could use.
fn refuse_open_frames(args: &ServeArgs) -> Result<(), Failure> {
    if args.frames_port.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        "--frames-port beyond loopback without a token: whoever reaches this host could send frames out of it",
        "give --token-file FILE, the same at both ends, or --bind 127.0.0.1",
    ))
}

/// What clients may ask. `open`: of other hosts, and without having proved anything.
fn policy(args: &ServeArgs, open: bool) -> Policy {
    let max_time = args.max_time.or(open.then_some(LONGEST_OPEN_TEST));
    Policy { max_time, max_rate: args.max_rate, max_streams: None }
}

/// What control connections are encrypted with.
fn tls(args: &ServeArgs) -> anyhow::Result<Option<ServerTls>> {
    match &args.tls_key {
        Some(file) => ServerTls::kept_in(file).map(Some),
        None => args.tls.then(ServerTls::new).transpose(),
    }
}

/// The sockets systemd passed to us, or our own.
fn native_listeners(args: &ServeArgs) -> anyhow::Result<Vec<TcpListener>> {
    let passed = linux::privilege::activation::listeners()?;
    let listeners = if passed.is_empty() { vec![listen(args.bind, args.port)?] } else { passed };
    for listener in &listeners {
        // Before anyone is told to come. A kernel that keeps no SYNs leaves a gap in what `pathmeter mtu` can say.
        linux::options::set_save_syn(listener).ok();
    }
    Ok(listeners)
}

/// Listens on one port, on every address when none is given.
pub(crate) fn listen(bind: Option<IpAddr>, port: u16) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::new(bind.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    tcp_listen(address, &TcpOptions::default(), BACKLOG).map_err(|error| {
        let advice = match error.source.kind() {
            ErrorKind::AddrInUse => {
                format!("another program has the port, `ss -ltnp sport = :{port}` tells which; or give another with -p")
            }
            ErrorKind::AddrNotAvailable => {
                "this host has no such address: `ip address` lists those it has".into()
            }
            ErrorKind::PermissionDenied => "ports below 1024 need root; give another with -p".into(),
            _ => "give another port with -p, or another address with --bind".into(),
        };
        Failure::usage(format!("listen on port {port}: {error}"), advice).into()
    })
}

/// Is this address of this host alone?
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// One line on standard error for everything worth knowing.
struct Log;

impl Observer for Log {
    fn session(&self, client: SocketAddr, protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(SessionLog { client, protocol, events: Vec::new(), seen: None, framed: None })
    }

    fn note(&self, text: &str) {
        // Standard error may be closed: a server goes on without it.
        let _ = writeln!(std::io::stderr(), "{} {text}", wall_now());
    }
}

/// Keeps a session's events until it can be told in one line.
struct SessionLog {
    client: SocketAddr,
    protocol: ProtocolName,
    events: Vec<Event>,
    /// What a latency session has seen.
    seen: Option<LatencySeen>,
    /// What a session of frames did.
    framed: Option<FramesSeen>,
}

impl Watcher for SessionLog {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Warning(warning) => Log.note(&format!("{}: {}", self.name(), warning.text)),
            // What the line at the end is made of. A server that runs for months keeps nothing that comes again and again.
            Event::Connected(_) | Event::Started(_) | Event::Result(_) | Event::Finished(_) => {
                self.events.push(event.clone());
            }
            _ => {}
        }
    }

    fn reflected(&mut self, seen: &LatencySeen) {
        self.seen = Some(*seen);
    }

    fn framed(&mut self, seen: FramesSeen) {
        self.framed = Some(seen);
    }

    fn report(&self, events: &[Event], _extras: &wire::iperf3::Extras) -> Option<Report> {
        server_output(events)
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        // It said hello, asked for nothing and went: the clients' probes of how quickly this server answers.
        let asked = self.protocol != ProtocolName::Native || !self.events.is_empty() || self.framed.is_some();
        if !asked && matches!(outcome, Err(ProtocolError::Closed(_))) {
            return;
        }
        let said = match outcome {
            Ok(()) => String::new(),
            Err(e) => format!(": {e}"),
        };
        Log.note(&format!("{} ({}) {}{said}", self.name(), self.protocol, self.told()));
    }
}

impl SessionLog {
    fn name(&self) -> SocketAddr {
        SocketAddr::new(self.client.ip().to_canonical(), self.client.port())
    }

    /// The session in a few words. This end is the server: what it received came up.
    fn told(&self) -> String {
        if let Some(FramesSeen { interface, sent, counted }) = &self.framed {
            return format!("frames on {interface}: {sent} sent, {counted} counted");
        }
        let run = run_of_events("", "serve", &self.events);
        let Some(plan) = &run.plan else { return "no test".into() };
        if !self.events.iter().any(|event| matches!(event, Event::Started(_))) {
            return match &self.seen {
                Some(seen) => format!(
                    "round trips over {}: {} messages in {}, waited by {}",
                    plan.test.transport, seen.received, seen.elapsed, seen.wait
                ),
                None => "probes, or a test that did not start".into(),
            };
        }
        let ends = [run.summary.local.as_ref(), run.summary.peer.as_ref()];
        let rows = || ends.iter().flatten().flat_map(|end| &end.streams);
        let way = |direction| {
            let moved = |role| rows().filter(move |r| r.direction == direction && r.role == role);
            // What came; where only the sender tells, what went.
            let received = moved(Role::Receiver).next().is_some();
            let role = if received { Role::Receiver } else { Role::Sender };
            let bytes: model::units::Bytes = moved(role).map(|r| r.bytes).sum();
            let elapsed = moved(role).map(|r| r.elapsed).max().unwrap_or_default();
            let udp = moved(role).filter_map(|r| r.udp.as_ref());
            let (datagrams, lost) = udp.fold((0, 0), |(all, lost), u| (all + u.datagrams, lost + u.lost));
            let amount = match plan.test.transport {
                Transport::Tcp => format!("{} bytes", bytes.0),
                Transport::Udp if received => format!("{datagrams} datagrams, {lost} lost"),
                Transport::Udp => format!("{datagrams} datagrams sent"),
            };
            format!("{direction} {} ({amount})", model::units::BitRate::from_bytes(bytes, elapsed))
        };
        let ways: Vec<String> = plan.test.directions.each().map(way).collect();
        let streams =
            if plan.test.streams == 1 { "1 stream" } else { &format!("{} streams", plan.test.streams) };
        format!("{} {streams}, {}", plan.test.transport, ways.join(", "))
    }
}

const BACKLOG: u16 = 512;
/// Longest test of clients of other hosts that have proved nothing, where the operator says nothing.
const LONGEST_OPEN_TEST: Nanos = Nanos::from_secs(600);
