//! `-s`: serves many clients at once; the lines of each have its own numbers in brackets.

use super::out::{self, window};
use super::{complain, facts, zone};
use crate::Process;
use crate::iperf2::CommandLine;
use crate::iperf2::output::{Cut, Iperf2Connection, Iperf2Options, Iperf2Role, Iperf2Text};
use crate::out::Out;
use engine::work::echo::server::join;
use engine::work::iperf2::{self, Config, Timing};
use engine::work::observer::{Fact, Observer, SessionEvent, Watcher};
use engine::work::throughput::flows::tcp_options;
use linux::clock::wall_now;
use linux::socket::{UdpOptions, tcp_listen, udp_bind};
use model::event::{Event, Warning};
use model::plan::{ProtocolName, Transport};
use model::units::Bytes;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::iperf2::Traffic;
use wire::{Policy, ProtocolError};

/// The sockets of a server.
pub(super) struct Sockets {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
}

/// Opens the sockets.
///
/// # Errors
/// A sentence for the user.
pub(super) fn listen(line: &CommandLine) -> Result<Sockets, String> {
    let failed = |error: String| format!("listener bind failed: {error}");
    let address = line.listen_address().map_err(|failure| failed(failure.message))?;
    let addresses: Vec<SocketAddr> = (line.both.port..=line.both.last_port.unwrap_or(line.both.port))
        .map(|port| SocketAddr::new(address.ip(), port))
        .collect();
    let udp = line.client.test.transport == Transport::Udp;
    // A working load beside datagrams is TCP, to an address of this host alone.
    let beside = udp && line.client.load.is_some() && !address.ip().is_multicast();
    Ok(Sockets {
        tcp: if udp && !beside { Vec::new() } else { listeners(line, &addresses).map_err(failed)? },
        udp: if udp { datagram_sockets(line, &addresses).map_err(failed)? } else { Vec::new() },
    })
}

fn listeners(line: &CommandLine, addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, String> {
    let options = tcp_options(&line.client.test, &line.local());
    let open = |address: &SocketAddr| tcp_listen(*address, &options, BACKLOG).map_err(|e| e.to_string());
    addresses.iter().map(open).collect()
}

/// Bound to a group, they are members of it.
fn datagram_sockets(line: &CommandLine, addresses: &[SocketAddr]) -> Result<Vec<UdpSocket>, String> {
    let test = &line.client.test;
    let options = UdpOptions {
        device: line.both.device.clone(),
        tos: Some(test.tos).filter(|tos| *tos > 0),
        recv_buffer: test.window.map(|window| Bytes(window.into())),
        reuse_address: true,
        ..UdpOptions::default()
    };
    let open = |address: &SocketAddr| {
        let socket = udp_bind(*address, &options).map_err(|error| error.to_string())?;
        if address.ip().is_multicast() {
            let why = |error| format!("join the multicast group {}: {error}", address.ip());
            join(&socket, address.ip(), None).map_err(why)?;
        }
        Ok(socket)
    };
    addresses.iter().map(open).collect()
}

/// Serves until it is stopped, or the time of `-t` or the number of `-P` is reached.
///
/// # Errors
/// A sentence for the user.
pub(super) fn run(line: &CommandLine, process: Process) -> Result<(), String> {
    let sockets = listen(line)?;
    let mut out = out::open(line)?;
    let options = line.output_options(Iperf2Role::Server, zone(line));
    let transport = line.client.test.transport;
    out.write(&line.settings(window(transport, false, line.client.test.window)).text(&options));
    let rights = (process.confine)().map_err(|error| format!("ERROR: {error:#}"))?;
    let interrupt = (process.interrupt)().map_err(|error| format!("ERROR: catch signals: {error:#}"))?;
    if transport == Transport::Udp && line.server.udp_reverse {
        complain("WARNING: --udp-reverse: a client that forges an address can have UDP sent there");
    }
    let shared = Shared { options, screen: Arc::new(Mutex::new(Screen { out, last: 0 })) };
    let config = Config {
        tcp: sockets.tcp,
        udp: sockets.udp,
        policy: Policy::default(),
        max_tests: if line.server.one_at_a_time { 1 } else { MAX_TESTS },
        unverified: line.server.udp_reverse,
        timeout: line.server.timeout,
        tests: line.server.clients,
        time: line.both.time.filter(|time| time.0 > 0),
        key: line.both.key.as_ref().map(|key| key.clone().into_bytes()),
        local: line.local(),
        timing: Timing {
            delays: line.both.histograms.map(|asked| asked.shape()),
            jitter: line.server.jitter,
            ..Timing::default()
        },
        observer: Arc::new(shared.clone()),
    };
    iperf2::serve(config, rights, &interrupt).map_err(|error| format!("ERROR: {error:#}"))?;
    out::close(&shared.screen().out)
}

/// State that all sessions share.
#[derive(Clone)]
struct Shared {
    options: Iperf2Options,
    screen: Arc<Mutex<Screen>>,
}

struct Screen {
    out: Out,
    /// The highest number in brackets so far.
    last: u32,
}

impl Shared {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Shared {
    fn session(&self, _client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        let text = Iperf2Text::new(self.options.clone(), 1);
        let shared = self.clone();
        Box::new(Session {
            shared,
            text,
            connections: Vec::new(),
            device: None,
            dual: false,
            cut: None,
            trip_bytes: 0,
        })
    }

    fn note(&self, text: &str) {
        complain(text);
    }
}

/// One client.
struct Session {
    shared: Shared,
    text: Iperf2Text,
    connections: Vec<Iperf2Connection>,
    /// The interface towards the client.
    device: Option<String>,
    /// The client requested `-d` or `-r`.
    dual: bool,
    /// How the client's data is cut, and whether its records have times.
    cut: Option<(Cut, bool)>,
    /// Bytes of a request and of its reply.
    trip_bytes: u64,
}

impl Session {
    fn of_event(&mut self, event: &Event) -> String {
        match event {
            Event::Connected(connected) => {
                let mut screen = self.shared.screen();
                // Like iPerf2: a client whose clock is right, or that sends in bursts, has enhanced lines.
                let at_length = self.cut.is_some_and(|(cut, times)| times || matches!(cut, Cut::Bursts(_)));
                let shared = self.shared.options.clone();
                let enhanced = shared.enhanced || at_length;
                let options = Iperf2Options { dual: self.dual, enhanced, ..shared };
                self.text = Iperf2Text::new(options, screen.last + 1);
                if let Some((cut, trip_times)) = self.cut {
                    self.text.cut(cut, trip_times);
                }
                let text = self.text.event(event);
                screen.last = self.text.last_id();
                self.device = connected.host.nic.as_ref().map(|nic| nic.name.clone());
                return text;
            }
            Event::Started(started) => {
                for stream in &started.streams {
                    let known = self.connections.iter().find(|known| known.stream == stream.stream);
                    let mut connection = known.cloned().unwrap_or_default();
                    connection.stream = stream.stream;
                    connection.device.clone_from(&self.device);
                    self.text.connection(connection);
                }
            }
            Event::Warning(Warning { text, .. }) => complain(&format!("WARNING: {text}")),
            _ => {}
        }
        self.text.event(event)
    }

    fn of_fact(&mut self, fact: &Fact) -> String {
        match fact {
            Fact::Connect { stream, took, tcp, .. } => self.connections.push(Iperf2Connection {
                stream: *stream,
                remarks: vec!["reverse".into()],
                took: Some(*took),
                tcp: tcp.map(facts::tcp),
                ..Iperf2Connection::default()
            }),
            Fact::Request { stream, request, tcp, .. } => {
                let back = |request: &wire::iperf2::Request| {
                    matches!(request.traffic, Traffic::Dual | Traffic::Tradeoff)
                };
                self.dual |= request.as_deref().is_some_and(back);
                if let Some(request) = request {
                    self.cut = Some((facts::cut(request.shape), request.trip_times));
                }
                self.connections.push(facts::requested(*stream, request.as_deref(), *tcp));
            }
            Fact::Bouncing { ends, request, tcp } => {
                self.trip_bytes = u64::from(request.size) + u64::from(request.reply.unwrap_or(request.size));
                let connection = Iperf2Connection {
                    ends: Some(*ends),
                    device: self.device.clone(),
                    remarks: facts::bouncing(request),
                    tos: request.tos.unwrap_or(0),
                    tcp: tcp.map(facts::tcp),
                    ..Iperf2Connection::default()
                };
                return self.text.bouncing(connection, wall_now());
            }
            // Both directions are counted, as iPerf2 does.
            Fact::Bounced { span, trips, .. } => return self.text.bounced(*span, trips * self.trip_bytes),
            Fact::Bursts { stream, bursts } => return self.text.bursts(*stream, bursts),
            Fact::Interval(details) => return self.text.interval(details),
            Fact::Total(details) => self.text.totals(details),
            _ => {}
        }
        String::new()
    }
}

impl Watcher for Session {
    fn event(&mut self, event: SessionEvent<'_>) {
        let text = match event {
            SessionEvent::Event(event) => self.of_event(event),
            SessionEvent::Fact(fact) => self.of_fact(fact),
            _ => return,
        };
        self.shared.screen().out.write(&text);
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        match outcome {
            Ok(()) | Err(ProtocolError::Stopped(_)) => {}
            Err(error) => complain(&format!("ERROR: {error}")),
        }
    }
}

const BACKLOG: u16 = 512;
/// Clients at the same time.
const MAX_TESTS: u32 = 256;
