//! Where the further flows of a session come from.

use super::member::{Known, Member};
use super::udp_door::{Newcomer, UdpDoor};
use crate::session::registry::{Place, Registry};
use crate::work::throughput::flows;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::mono_now;
use linux::poll::Interest;
use model::plan::{Direction, TestSpec};
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use wire::Policy;
use wire::iperf2::{Request, TcpServer};
use wire::stamp::Clock;

/// Where flows come from.
pub(super) enum Source {
    /// All are there.
    Complete,
    /// The server brings those that belong to it.
    Server(Place<Asked, Member>),
    /// The server of this client opens them (`-d`, `-r`).
    Door(Door),
}

/// Flows that look alike are of one client.
pub(super) type Gathering = Registry<Asked, Member>;

/// What the flows of one client have in common.
pub(super) struct Asked {
    pub(super) address: IpAddr,
    pub(super) request: Request,
    /// When the first of them came.
    pub(super) since: MonoTime,
}

/// A client's open port.
pub(super) struct Door {
    listener: Listener,
    server: IpAddr,
    expected: u32,
    taken: u32,
    /// Until when the rest is waited for.
    until: Option<MonoTime>,
}

enum Listener {
    Tcp(TcpListener),
    Udp(Box<UdpDoor>),
}

impl Door {
    /// Waits on a listener for so many connections of this server.
    pub(super) fn tcp(listener: TcpListener, server: IpAddr, expected: u32) -> std::io::Result<Door> {
        listener.set_nonblocking(true)?;
        Ok(Door { listener: Listener::Tcp(listener), server, expected, taken: 0, until: None })
    }

    /// Waits on a socket for so many flows of this server.
    pub(super) fn udp(door: UdpDoor, server: IpAddr, expected: u32) -> Door {
        Door { listener: Listener::Udp(Box::new(door)), server, expected, taken: 0, until: None }
    }

    /// Flows that have come.
    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    fn take(&mut self, now: MonoTime, clock: Clock, test: &TestSpec) -> Vec<Member> {
        let (server, room) = (self.server, self.expected - self.taken);
        let mut members: Vec<Member> = match &mut self.listener {
            Listener::Tcp(listener) => std::iter::from_fn(|| listener.accept().ok())
                .filter(|(_, from)| from.ip().to_canonical() == server)
                .map(|(socket, _)| {
                    flows::configure_accepted(&socket, test).ok();
                    socket.set_nonblocking(false).ok();
                    let machine = Box::new(TcpServer::new(Policy::default(), clock, now));
                    Member::new(machine, FlowSocket::Tcp(Arc::new(socket)), Direction::Up, Known::Back)
                })
                .take(room as usize)
                .collect(),
            Listener::Udp(door) => door
                .take(clock, |from, _| from.ip() == server)
                .into_iter()
                .map(|newcomer| newcomer.member(test, Direction::Up, Known::Back))
                .take(room as usize)
                .collect(),
        };
        for member in &mut members {
            member.index = self.taken;
            self.taken += 1;
        }
        members
    }
}

impl Newcomer {
    /// The member it becomes.
    pub(super) fn member(self, test: &TestSpec, way: Direction, known: Known) -> Member {
        flows::configure_udp(&self.socket, test, flows::Wish::Peers).ok();
        let member = Member::new(Box::new(self.machine), FlowSocket::Udp(self.socket), way, known);
        Member { wide: self.wide, early: self.early, ..member }
    }
}

impl Source {
    /// The flows that have come since the last call.
    pub(super) fn take(&mut self, now: MonoTime, clock: Clock, test: &TestSpec) -> Vec<Member> {
        match self {
            Source::Complete => Vec::new(),
            Source::Server(place) => place.take(),
            Source::Door(door) => door.take(now, clock, test),
        }
    }

    /// All flows so far are over: may the session end? It is asked again later otherwise. `hurry`: something failed.
    pub(super) fn is_done(&mut self, hurry: bool) -> bool {
        match self {
            Source::Complete => true,
            Source::Server(place) => place.leave(),
            Source::Door(door) => {
                let now = mono_now();
                let until = *door.until.get_or_insert(now + PATIENCE);
                hurry || door.taken == door.expected || now >= until
            }
        }
    }

    /// When it has waited long enough.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        match self {
            Source::Door(door) => door.until,
            Source::Complete | Source::Server(_) => None,
        }
    }

    /// What to watch for more.
    pub(super) fn interest(&self) -> Option<Interest<'_>> {
        let Source::Door(door) = self else { return None };
        (door.taken < door.expected).then(|| match &door.listener {
            Listener::Tcp(listener) => Interest::readable(listener),
            Listener::Udp(door) => Interest::readable(&door.socket),
        })
    }

    /// A door that nobody came through.
    pub(super) fn is_missed(&self) -> bool {
        matches!(self, Source::Door(door) if door.taken() == 0)
    }
}

/// How long a client waits for the return path once the way there is over.
const PATIENCE: Nanos = Nanos(5_000_000_000);
