//! Where the further flows of a session come from.

use super::active_flow::{ActiveFlow, Known};
use super::udp_listener::{NewFlow, UdpListener};
use crate::session::registry::{FlowRegistry, Slot};
use crate::work::throughput::flows;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::poll::Interest;
use model::plan::{Direction, TestSpec};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use wire::iperf2::Request;

/// Where flows come from.
pub(super) enum Source {
    /// All are there.
    Complete,
    /// The server brings those that belong to it.
    Server(Slot<ClientRequest, ActiveFlow>),
    /// The server of this client opens them (`-d`, `-r`).
    ReturnListener(ReturnListener),
}

/// Flows that look alike are of one client.
pub(super) type Gathering = FlowRegistry<ClientRequest, ActiveFlow>;

/// The address and request that the flows of one client share.
pub(super) struct ClientRequest {
    pub(super) address: IpAddr,
    pub(super) request: Request,
    /// When the first of them came.
    pub(super) since: MonoTime,
}

/// A client's open port.
pub(super) struct ReturnListener {
    listener: Listener,
    server: IpAddr,
    expected: u32,
    taken: u32,
    /// Until when the rest is waited for.
    until: Option<MonoTime>,
}

/// Its socket, which does not block.
pub(super) enum Listener {
    Tcp(TcpListener),
    Udp(Box<UdpListener>),
}

impl ReturnListener {
    /// Waits for so many flows of this server.
    pub(super) fn new(listener: Listener, server: IpAddr, expected: u32) -> ReturnListener {
        ReturnListener { listener, server, expected, taken: 0, until: None }
    }

    fn take(&mut self, test: &TestSpec) -> Vec<ActiveFlow> {
        let (server, room) = (self.server, self.expected - self.taken);
        let mut active_flows: Vec<ActiveFlow> = match &mut self.listener {
            Listener::Tcp(listener) => std::iter::from_fn(|| listener.accept().ok())
                .filter(|(_, from)| from.ip().to_canonical() == server)
                .map(|(socket, _)| {
                    flows::configure_accepted(&socket, test).ok();
                    socket.set_nonblocking(false).ok();
                    let flow =
                        ActiveFlow::new(FlowSocket::Tcp(Arc::new(socket.into())), Direction::Up, Known::Back);
                    ActiveFlow { first: Some(Vec::new()), ..flow }
                })
                .take(room as usize)
                .collect(),
            Listener::Udp(listener) => listener
                .take(|from, _| (from.ip() == server).then_some(()))
                .into_iter()
                .map(|(new_flow, ())| new_flow.flow(test, Direction::Up, Known::Back))
                .take(room as usize)
                .collect(),
        };
        for flow in &mut active_flows {
            flow.index = self.taken;
            self.taken += 1;
        }
        active_flows
    }
}

impl NewFlow {
    /// The member it becomes.
    pub(super) fn flow(self, test: &TestSpec, direction: Direction, known: Known) -> ActiveFlow {
        flows::configure_udp(&self.socket, test, flows::Wish::Peers).ok();
        let flow = ActiveFlow::new(FlowSocket::Udp(self.socket), direction, known);
        ActiveFlow { first: self.early.first().cloned(), wide: self.wide, early: self.early, ..flow }
    }
}

impl Source {
    /// The flows that have come since the last call.
    pub(super) fn take(&mut self, test: &TestSpec) -> Vec<ActiveFlow> {
        match self {
            Source::Complete => Vec::new(),
            Source::Server(slot) => slot.take(),
            Source::ReturnListener(listener) => listener.take(test),
        }
    }

    /// All flows so far are over: may the session end? Otherwise it is called again later. `hurry`: something failed.
    pub(super) fn is_done(&mut self, hurry: bool) -> bool {
        match self {
            Source::Complete => true,
            Source::Server(slot) => slot.leave(),
            Source::ReturnListener(listener) => {
                let now = mono_now();
                let until = *listener.until.get_or_insert(now + TIMEOUT);
                hurry || listener.taken == listener.expected || now >= until
            }
        }
    }

    /// When it has waited long enough.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        match self {
            Source::ReturnListener(listener) => listener.until,
            Source::Complete | Source::Server(_) => None,
        }
    }

    /// The socket to poll for more flows.
    pub(super) fn interest(&self) -> Option<Interest<'_>> {
        let Source::ReturnListener(listener) = self else { return None };
        (listener.taken < listener.expected).then(|| match &listener.listener {
            Listener::Tcp(listener) => Interest::readable(listener),
            Listener::Udp(listener) => Interest::readable(&listener.socket),
        })
    }

    /// Whether no flow came through the listener.
    pub(super) fn is_missed(&self) -> bool {
        matches!(self, Source::ReturnListener(listener) if listener.taken == 0)
    }
}

/// How long a client waits for the return path once the forward path is over.
const TIMEOUT: Nanos = Nanos::from_secs(5);
