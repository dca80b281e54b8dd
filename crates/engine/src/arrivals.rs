//! The server's desk: where data flows that arrive at the port find the session that waits for them.

use super::flows;
use super::shared::FlowSocket;
use crate::error::{Result, fault};
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use linux::sockaddr::plain;
use linux::socket::{UdpOptions, udp_bind, udp_connect};
use model::plan::Transport;
use model::units::Nanos;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use wire::native::flow::{self, FlowAnswer};
use wire::native::udp::{self, GateAnswer, UdpGate};
use wire::native::{FlowKey, SessionId};
use wire::{FlowHello, FlowPlan, iperf3};

/// A data flow that has arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// Order of arrival over the whole server.
    pub(crate) order: u64,
    /// Its number, where it says so (native).
    pub(crate) stream: Option<u32>,
    /// Its socket.
    pub(crate) socket: FlowSocket,
    /// What to answer when the opening datagram comes again (UDP).
    pub(crate) greeting: Option<Greeting>,
}

/// How a repeated opening datagram is answered.
#[derive(Clone, Debug)]
pub(crate) enum Greeting {
    /// iPerf3's four bytes.
    Iperf3,
    /// The acknowledgement of this presentation.
    Native(flow::FlowHello, FlowKey),
}

/// The flows that have arrived for one session.
#[derive(Debug)]
pub(crate) struct Inbox {
    arrived: Mutex<Vec<Arrival>>,
    waker: Arc<Waker>,
}

/// Sessions that wait for flows.
pub(crate) struct Desk {
    waiting: Mutex<HashMap<Name, Waiting>>,
    freed: Condvar,
    order: AtomicU64,
    gate: UdpGate,
    doors: Mutex<HashMap<SocketAddr, ()>>,
    closed: AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    Iperf3(String),
    Native(SessionId),
}

#[derive(Debug)]
struct Waiting {
    inbox: Arc<Inbox>,
    transport: Transport,
    key: Option<FlowKey>,
    streams: u32,
    /// Presented and taken so far.
    taken: Vec<u32>,
    count: u32,
    local: SocketAddr,
    peer: IpAddr,
}

/// A session's place at the desk; it is given up on drop.
pub(crate) struct Place {
    desk: Arc<Desk>,
    name: Name,
    inbox: Arc<Inbox>,
}

impl Desk {
    /// A desk nobody waits at.
    pub(crate) fn new(secret: [u8; 32]) -> Arc<Desk> {
        Arc::new(Desk {
            waiting: Mutex::default(),
            freed: Condvar::new(),
            order: AtomicU64::new(0),
            gate: UdpGate::new(secret),
            doors: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// A session begins to wait for the flows of its plan. `local` and `peer`: its control connection's ends.
    ///
    /// iPerf3's UDP streams do not say whose they are: sessions of one address wait one after the other.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        plan: &FlowPlan,
        local: SocketAddr,
        peer: SocketAddr,
        waker: &Arc<Waker>,
    ) -> Result<Place> {
        let test = &plan.test;
        let (name, key) = match &plan.hello {
            FlowHello::Iperf3 { cookie } => (Name::Iperf3(cookie.clone()), None),
            FlowHello::Iperf2 => return Err(fault("iPerf2 has no dialogue that flows could belong to")),
            FlowHello::Native { session, key } => (Name::Native(*session), Some(*key)),
        };
        let count = test.streams * if test.directions == model::plan::Directions::Both { 2 } else { 1 };
        let inbox = Arc::new(Inbox { arrived: Mutex::default(), waker: waker.clone() });
        let peer = peer.ip().to_canonical();
        let entry = Waiting {
            inbox: inbox.clone(),
            transport: test.transport,
            key,
            streams: count,
            taken: Vec::new(),
            count: 0,
            local,
            peer,
        };
        if test.transport == Transport::Udp {
            self.open_door(local)?;
        }
        let mut waiting = self.lock();
        let blocked = |all: &mut HashMap<Name, Waiting>| {
            let nameless =
                |n: &Name, w: &Waiting| matches!(n, Name::Iperf3(_)) && w.transport == Transport::Udp;
            nameless(&name, &entry) && all.iter().any(|(n, w)| nameless(n, w) && w.peer == peer)
        };
        let (guard, _) = self
            .freed
            .wait_timeout_while(waiting, TURN_LIMIT, |all| blocked(all))
            .unwrap_or_else(PoisonError::into_inner);
        waiting = guard;
        waiting.insert(name.clone(), entry);
        drop(waiting);
        Ok(Place { desk: self.clone(), name, inbox })
    }

    /// A number for a UDP flow: flows are sorted by it.
    fn next_order(&self) -> u64 {
        self.order.fetch_add(1, Ordering::Relaxed)
    }

    /// Does a session wait for TCP flows of this cookie?
    pub(crate) fn awaits_cookie(&self, cookie: &str) -> bool {
        self.lock().contains_key(&Name::Iperf3(cookie.into()))
    }

    /// Hands an iPerf3 data connection to its session; a socket that nobody waits for is dropped.
    pub(crate) fn deliver_iperf3(&self, cookie: &str, socket: TcpStream, order: u64) {
        let mut waiting = self.lock();
        if let Some(entry) = waiting.get_mut(&Name::Iperf3(cookie.into()))
            && entry.transport == Transport::Tcp
            && entry.count < entry.streams
        {
            entry.deliver(order, None, FlowSocket::Tcp(Arc::new(socket)), None);
        }
    }

    /// Hands a native data connection to its session, and says what to answer the client.
    pub(crate) fn deliver_native(
        &self,
        hello: &flow::FlowHello,
        socket: TcpStream,
        order: u64,
    ) -> FlowAnswer {
        let mut waiting = self.lock();
        let Some(entry) = waiting.get_mut(&Name::Native(hello.session)) else {
            return FlowAnswer::UnknownSession;
        };
        match entry.judge(hello, Transport::Tcp) {
            FlowAnswer::Welcome => {
                use std::io::Write;
                // Answered under the lock, so that nothing else can be sent on the flow before.
                if (&socket).write_all(&[FlowAnswer::Welcome.byte()]).is_ok() {
                    entry.taken.push(hello.stream);
                    entry.deliver(order, Some(hello.stream), FlowSocket::Tcp(Arc::new(socket)), None);
                }
                FlowAnswer::Welcome
            }
            refusal => refusal,
        }
    }

    /// No more doors, and those open close.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Receives UDP openings at one local address. One door for each address that control connections came to,
    /// so that every answer leaves from the address the client knows.
    fn open_door(self: &Arc<Self>, local: SocketAddr) -> Result<()> {
        let local = plain(local);
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.contains_key(&local) {
            return Ok(());
        }
        let socket = udp_bind(local, &UdpOptions { reuse_address: true, ..UdpOptions::default() })?;
        socket.set_nonblocking(true)?;
        let desk = self.clone();
        std::thread::Builder::new().name("udp door".into()).spawn(move || desk.keep_door(&socket))?;
        doors.insert(local, ());
        Ok(())
    }

    fn keep_door(&self, socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        while !self.closed.load(Ordering::Relaxed) {
            if wait(&mut [Interest::readable(socket)], Some(mono_now() + DOOR_STEP)).is_err() {
                return;
            }
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                self.take_opening(socket, &buffer[..length], from);
            }
        }
    }

    fn take_opening(&self, door: &UdpSocket, datagram: &[u8], from: SocketAddr) {
        if iperf3::is_udp_hello(datagram) {
            self.open_iperf3(from);
            return;
        }
        match self.gate.input(from, datagram, mono_now()) {
            GateAnswer::Challenge(answer) => drop(door.send_to(&answer, from)),
            GateAnswer::Open(hello) => self.open_native(&hello, from),
            GateAnswer::Ignore => {}
        }
    }

    fn open_iperf3(&self, from: SocketAddr) {
        let mut waiting = self.lock();
        let ip = from.ip().to_canonical();
        let mine = |(n, w): &(&Name, &mut Waiting)| {
            matches!(n, Name::Iperf3(_))
                && w.transport == Transport::Udp
                && w.peer == ip
                && w.count < w.streams
        };
        let Some((_, entry)) = waiting.iter_mut().find(mine) else { return };
        let Ok(socket) = connected(entry.local, from) else { return };
        if socket.send(&iperf3::UDP_REPLY).is_ok() {
            let order = self.next_order();
            entry.deliver(order, None, FlowSocket::Udp(Arc::new(socket)), Some(Greeting::Iperf3));
        }
    }

    fn open_native(&self, hello: &flow::FlowHello, from: SocketAddr) {
        let mut waiting = self.lock();
        let Some(entry) = waiting.get_mut(&Name::Native(hello.session)) else { return };
        let Some(key) = entry.key.filter(|_| entry.judge(hello, Transport::Udp) == FlowAnswer::Welcome)
        else {
            return;
        };
        let Ok(socket) = connected(entry.local, from) else { return };
        if socket.send(&udp::acknowledge(hello, &key)).is_ok() {
            entry.taken.push(hello.stream);
            let greeting = Some(Greeting::Native(*hello, key));
            entry.deliver(self.next_order(), Some(hello.stream), FlowSocket::Udp(Arc::new(socket)), greeting);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Name, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn judge(&self, hello: &flow::FlowHello, transport: Transport) -> FlowAnswer {
        match &self.key {
            Some(key) if self.transport == transport && hello.proves(transport, key) => {
                let free = hello.stream < self.streams && !self.taken.contains(&hello.stream);
                if free { FlowAnswer::Welcome } else { FlowAnswer::NoSuchStream }
            }
            _ => FlowAnswer::NotProved,
        }
    }

    fn deliver(&mut self, order: u64, stream: Option<u32>, socket: FlowSocket, greeting: Option<Greeting>) {
        self.count += 1;
        let mut arrived = self.inbox.arrived.lock().unwrap_or_else(PoisonError::into_inner);
        arrived.push(Arrival { order, stream, socket, greeting });
        drop(arrived);
        self.inbox.waker.wake();
    }
}

impl Place {
    /// The flows that came since the last call.
    pub(crate) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.inbox.arrived.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.desk.lock().remove(&self.name);
        self.desk.freed.notify_all();
    }
}

impl Arrival {
    /// Answers an opening datagram that came again, since the first answer was lost.
    pub(crate) fn greet_again(&self) {
        let (FlowSocket::Udp(socket), Some(greeting)) = (&self.socket, &self.greeting) else { return };
        let mut buffer = [0; 256];
        // Only what lies there is looked at: a receiver's data waits behind.
        let Ok(length) = socket.peek(&mut buffer) else { return };
        let answer = match greeting {
            Greeting::Iperf3 => iperf3::is_udp_hello(&buffer[..length]).then(|| iperf3::UDP_REPLY.to_vec()),
            Greeting::Native(hello, key) => {
                udp::acknowledge_again(&buffer[..length], hello, key).map(|a| a.to_vec())
            }
        };
        if let Some(answer) = answer {
            socket.recv(&mut buffer).ok();
            socket.send(&answer).ok();
        }
    }
}

/// A socket for what comes from `remote` to `local`, which shares its port with others.
pub(crate) fn connected(local: SocketAddr, remote: SocketAddr) -> Result<UdpSocket> {
    let (local, remote) = (plain(local), plain(remote));
    let socket = udp_bind(local, &UdpOptions { reuse_address: true, ..UdpOptions::default() })?;
    udp_connect(&socket, remote, None)?;
    socket.set_nonblocking(true)?;
    debug_assert!(flows::is_v4(local.ip()) == flows::is_v4(remote.ip()));
    Ok(socket)
}

const DOOR_STEP: Nanos = Nanos(250_000_000);
/// Longest wait for another iPerf3 client of the same address to open its UDP streams.
const TURN_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);
