//! The server: finds out what each connection and each first datagram is, puts the flows of one client together, and serves
//! each client.

use super::active_flow::{ActiveFlow, Known};
use super::shared::{Server, TestPlace};
use super::source::{ClientRequest, Source};
use super::udp_listener::{NewFlow, UdpListener};
use super::worker::{self, Setting};
use super::{Config, clock, opening};
use crate::error::{Context, Result};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::session::budget::{self, Budget, Held, Limits};
use crate::session::closing::Tcp;
use crate::session::listener::{Accepted, DatagramPort, Listener, Service, SessionThreads};
use crate::session::protocol::{Name, Protocol};
use crate::session::registry::{FlowRegistry, Pending};
use crate::work::observer;
use linux::clock::mono_now;
use linux::poll::Waker;
use linux::privilege::drop::Confined;
use linux::sockaddr::plain;
use model::plan::{Direction, Directions, Plan, ProtocolName, Target, TestSpec, Transport};
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use wire::iperf2::{Group, Request, Traffic};
use wire::stamp::Clock;
use wire::work::in_band::Back;

/// Serves until the interrupt is raised, or the requested tests or time are over; running tests then get their end.
///
/// # Errors
/// The sockets cannot be used.
pub fn serve(config: Config, rights: Confined, interrupt: &Interrupt) -> Result<()> {
    let until = config.time.map(|time| mono_now() + time);
    let mut listener = Listener::new(interrupt, observer::notes(&config.observer), rights)?;
    open(config, interrupt, &mut listener)?;
    let outcome = listener.accept_all(until);
    if until.is_some() && !interrupt.is_raised() {
        interrupt.raise();
    }
    listener.finish();
    outcome
}

/// The same on the sockets of a listener that serves others, too. A session that is done for `tests` ends it.
///
/// # Errors
/// The sockets cannot be used.
pub(crate) fn open(mut config: Config, interrupt: &Interrupt, listener: &mut Listener) -> Result<()> {
    config.policy.max_streams.get_or_insert(MOST_STREAMS);
    let (tcp, udp) = (std::mem::take(&mut config.tcp), std::mem::take(&mut config.udp));
    let server = Arc::new(Server {
        interrupt: interrupt.clone(),
        connections: Budget::new(budget::connections()),
        flows: Budget::new(flows()),
        clients: FlowRegistry::new(),
        tcp_tests: Budget::new(Limits::quarters(config.max_tests, false)),
        udp_tests: Budget::new(Limits::quarters(config.max_tests, false)),
        notes: listener.notes(),
        quota: listener.quota(config.tests),
        config,
    });
    for socket in tcp {
        listener.add(socket, Arc::new(Port(server.clone())))?;
    }
    for socket in udp {
        let port = UdpListener::new(socket, server.config.policy.clone())?;
        listener.add_datagram_port(Box::new(UdpPort { server: server.clone(), listener: port }));
    }
    Ok(())
}

/// Its TCP port.
struct Port(Arc<Server>);

/// Its UDP port.
struct UdpPort {
    server: Arc<Server>,
    listener: UdpListener,
}

impl Service for Port {
    fn connections(&self) -> &Arc<Budget> {
        &self.0.connections
    }

    fn serve(&self, accepted: Accepted) -> Result<()> {
        self.0.welcome(accepted.socket, plain(accepted.peer), accepted.held)
    }

    fn is_done(&self) -> bool {
        self.0.quota.is_done()
    }
}

impl DatagramPort for UdpPort {
    fn socket(&self) -> &UdpSocket {
        &self.listener.socket
    }

    fn take(&mut self, threads: &mut SessionThreads) {
        let server = &self.server;
        for (new_flow, held) in self.listener.take(|from, request| server.admit_flow(from, request)) {
            let from = new_flow.from;
            let (flow, request) = udp_member(new_flow, held);
            if let Some((flow, waker)) = server.join(flow, request.as_ref(), from.ip()) {
                let server = server.clone();
                threads.start(from, move || server.lead(flow, request, waker, clock()));
            }
        }
    }

    fn is_done(&self) -> bool {
        self.server.quota.is_done()
    }
}

impl Server {
    /// A place for a UDP flow. Its first datagram may be forged, so it is sent nothing but a report, unless other evidence
    /// shows that its client is there.
    fn admit_flow(&self, from: SocketAddr, request: Option<&Request>) -> Option<Held> {
        if request.is_some_and(Request::sends_to_source) && !self.is_there(from.ip()) {
            self.notes.note_from(from, UNPROVED);
            return None;
        }
        let held = self.flows.enter(from.ip(), mono_now());
        held.inspect_err(|_| self.notes.note_from(from, "turned away: too many UDP flows")).ok()
    }

    /// Is it known that the client that claims this address is there?
    fn is_there(&self, address: IpAddr) -> bool {
        let connected = address.is_loopback() || self.connections.is_held_by(address);
        Protocol::named(Name::Iperf2).proof.may_send_data(connected, self.config.unverified)
    }

    /// Finds out what a connection is, and serves it or hands it to the client it belongs to.
    fn welcome(&self, socket: Tcp, peer: SocketAddr, held: Held) -> Result<()> {
        let clock = clock();
        let Some((flow, request)) = opening::open(self, socket, (clock, &held))? else { return Ok(()) };
        let flow = ActiveFlow { held: Some(held), ..flow };
        match self.join(flow, request.as_ref(), peer.ip()) {
            Some((flow, source)) => self.lead(flow, request, source, clock),
            None => Ok(()),
        }
    }

    /// Gives a flow to the client it belongs to; otherwise it is given back as the first of its client.
    fn join(
        &self,
        mut flow: ActiveFlow,
        request: Option<&Request>,
        address: IpAddr,
    ) -> Option<(ActiveFlow, (Source, Arc<Waker>))> {
        let waker = match Waker::new() {
            Ok(waker) => Arc::new(waker),
            Err(e) => {
                self.notes.note_limited(flow.peer(), &e.to_string());
                return None;
            }
        };
        let Some(request) = request.filter(|request| request.streams > 1) else {
            return Some((flow, (Source::Complete, waker)));
        };
        let request = Request { start: None, ..request.clone() };
        let now = mono_now();
        let mut clients = self.clients.lock();
        let is_it = |waiting: &Pending<ClientRequest, ActiveFlow>| {
            let expected = &waiting.expected;
            let is_soon = now.saturating_since(expected.since) < GATHERING;
            waiting.has_room() && is_soon && expected.address == address && expected.request == request
        };
        if let Some(waiting) = clients.find(is_it) {
            // The first made the session.
            flow.index = 1 + waiting.count();
            waiting.deliver(flow);
            return None;
        }
        let others = request.streams - 1;
        let place = clients.enter(ClientRequest { address, request, since: now }, others, waker.clone());
        Some((flow, (Source::Server(place), waker)))
    }

    /// Runs the session of a client, and after it the one of the return path, where one was requested.
    fn lead(
        &self,
        flow: ActiveFlow,
        request: Option<Request>,
        (source, waker): (Source, Arc<Waker>),
        clock: Clock,
    ) -> Result<()> {
        let peer = flow.peer();
        let transport = flow.socket.transport();
        let place = TestPlace::take(self, peer.ip(), transport)?;
        let test = test(&flow, request.as_ref());
        let plan = Plan {
            target: Target { host: peer.ip().to_string(), address: peer },
            protocol: ProtocolName::Iperf2,
            test,
            local: self.config.local.clone(),
        };
        let policy = self.config.policy.clone();
        let mut group = Group::server(transport, policy, self.config.key.clone(), clock, mono_now());
        let place_held = (source, &place.held);
        let is_well = self.session(&mut group, plan.clone(), vec![flow], place_held, &waker, clock);
        let back = group.later();
        if !is_well || back.is_empty() || self.interrupt.is_raised() {
            return Ok(());
        }
        let mut active_flows = Vec::new();
        for (request, index) in back.iter().zip(0..) {
            let back = Back { port: request.port, test: request.test() };
            let flow = super::back::connect(&back, peer.ip(), &plan.local, index);
            active_flows.push(flow.context("open the return path")?);
        }
        let test = TestSpec { directions: Directions::Down, ..plan.test.clone() };
        let mut group = Group::back(back, self.config.policy.clone(), clock, mono_now());
        self.session(
            &mut group,
            Plan { test, ..plan },
            active_flows,
            (Source::Complete, &place.held),
            &waker,
            clock,
        );
        Ok(())
    }

    /// Runs it to its end; true: nothing has failed.
    fn session(
        &self,
        group: &mut Group,
        plan: Plan,
        active_flows: Vec<ActiveFlow>,
        (source, held): (Source, &Held),
        waker: &Arc<Waker>,
        clock: Clock,
    ) -> bool {
        let peer = plan.target.address;
        let mut watcher = self.config.observer.session(peer, ProtocolName::Iperf2);
        let is_there = || self.is_there(peer.ip());
        let setting = Setting {
            plan,
            host: host::describe(Some(peer.ip())),
            interrupt: self.interrupt.clone(),
            waker: waker.clone(),
            clock,
            source,
            held: Some(held),
            is_there: &is_there,
            timing: self.config.timing,
            watcher: watcher.as_mut(),
        };
        let outcome = worker::run(group, setting, active_flows);
        watcher.ended(outcome.as_ref().copied());
        outcome.is_ok()
    }
}

fn udp_member(new_flow: NewFlow, held: Held) -> (ActiveFlow, Option<Request>) {
    let request = new_flow.request.clone();
    let test = request.as_ref().map_or_else(|| TestSpec::new(Transport::Udp), |r| r.test());
    let flow = new_flow.flow(&test, Direction::Down, Known::Requested(request.clone()));
    (ActiveFlow { held: Some(held), ..flow }, request.map(|request| *request))
}

/// The test of a session.
fn test(flow: &ActiveFlow, request: Option<&Request>) -> TestSpec {
    let Some(request) = request else { return TestSpec::new(flow.socket.transport()) };
    let test = request.test();
    let directions = if request.traffic == Traffic::Dual { Directions::Both } else { test.directions };
    TestSpec { streams: request.streams.max(1), directions, ..test }
}

const UNPROVED: &str = "refused: it asks for data over UDP, and nothing proves that it is at this address \
                        (`pathmeter serve --iperf2-udp-reverse`, `pathmeter iperf -s --udp-reverse`: such clients are served)";
/// UDP flows: a client may have as many as it may ask for.
fn flows() -> Limits {
    Limits::quarters(budget::within(512, linux::privilege::open_files()), false)
}

/// Most streams of one client.
const MOST_STREAMS: u32 = 128;
/// How long the flows of one client may come one after the other.
const GATHERING: Nanos = Nanos::from_secs(5);
