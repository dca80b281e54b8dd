//! Data flows of sessions with a dialogue: which session one belongs to (ours names its session and proves it with a key,
//! iPerf3's has a cookie over TCP, and over UDP nothing but its address), and where UDP flows come in.

use super::throughput::flows;
use super::throughput::shared::FlowSocket;
use crate::error::{Result, fault};
use crate::session::closing::Tcp;
use crate::session::registry::{self, FlowRegistry};
use linux::clock::mono_now;
use linux::poll::{Interest, Waker, wait};
use linux::sockaddr::plain;
use linux::socket::{UdpOptions, udp_bind, udp_connect};
use model::plan::Transport;
use model::units::Nanos;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use wire::native::flow::{self, FlowAnswer};
use wire::native::udp::{self, GateAnswer, UdpGate};
use wire::native::{FlowKey, SessionId};
use wire::{FlowHello, FlowPlan, iperf3};

/// A data flow that has arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// Order of arrival over the whole server.
    pub(crate) sequence: u64,
    /// Its number, where it has one (native).
    pub(crate) stream: Option<u32>,
    /// Its socket.
    pub(crate) socket: FlowSocket,
    /// The answer when the opening datagram comes again (UDP).
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

/// The flows of a server's sessions.
pub(crate) struct Arrivals {
    sessions: Arc<FlowRegistry<ExpectedFlows, Arrival>>,
    /// The sequence of UDP flows, which are sorted by it.
    sequence: AtomicU64,
    gate: UdpGate,
    udp_listeners: Mutex<HashSet<SocketAddr>>,
    closed: AtomicBool,
}

/// A session's place among those who wait for flows.
pub(crate) type Slot = registry::Slot<ExpectedFlows, Arrival>;

type Pending = registry::Pending<ExpectedFlows, Arrival>;

/// The flows of a session.
pub(crate) struct ExpectedFlows {
    name: Name,
    transport: Transport,
    /// Numbers of the streams that have come.
    taken: Vec<u32>,
    /// The ends of its control connection.
    local: SocketAddr,
    peer: IpAddr,
}

/// The name that identifies a flow.
#[derive(PartialEq)]
enum Name {
    Iperf3(String),
    Native(SessionId, FlowKey),
}

impl Arrivals {
    /// An empty table. `secret` is the key of the answers to first datagrams.
    pub(crate) fn new(secret: [u8; 32]) -> Arc<Arrivals> {
        Arc::new(Arrivals {
            sessions: FlowRegistry::new(),
            sequence: AtomicU64::new(0),
            gate: UdpGate::new(secret),
            udp_listeners: Mutex::default(),
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
    ) -> Result<Slot> {
        let test = &plan.test;
        let name = match &plan.hello {
            FlowHello::Iperf3 { cookie } => Name::Iperf3(cookie.clone()),
            FlowHello::Iperf2 => return Err(fault("iPerf2 has no dialogue that flows could belong to")),
            FlowHello::Native { session, key } => Name::Native(*session, *key),
        };
        let count = test.streams * if test.directions == model::plan::Directions::Both { 2 } else { 1 };
        if test.transport == Transport::Udp {
            self.open_udp_listener(local)?;
        }
        let peer = peer.ip().to_canonical();
        let expected = ExpectedFlows { name, transport: test.transport, taken: Vec::new(), local, peer };
        let is_nameless = expected.is_nameless();
        let confused = |other: &ExpectedFlows| is_nameless && other.is_nameless() && other.peer == peer;
        let mut sessions = self.sessions.lock_when_free(TURN_LIMIT, confused);
        Ok(sessions.enter(expected, count, waker.clone()))
    }

    /// Does a session wait for TCP flows of this cookie?
    pub(crate) fn awaits_cookie(&self, cookie: &str) -> bool {
        self.sessions.lock().find(|waiting| waiting.expected.has_cookie(cookie)).is_some()
    }

    /// Hands an iPerf3 data connection to its session; a socket that no session waits for is dropped.
    pub(crate) fn deliver_iperf3(&self, cookie: &str, socket: Tcp, sequence: u64) {
        let mut sessions = self.sessions.lock();
        let is_it = |waiting: &Pending| {
            waiting.expected.has_cookie(cookie)
                && waiting.expected.transport == Transport::Tcp
                && waiting.has_room()
        };
        if let Some(waiting) = sessions.find(is_it) {
            let socket = FlowSocket::Tcp(Arc::new(socket));
            waiting.deliver(Arrival { sequence, stream: None, socket, greeting: None });
        }
    }

    /// Hands a native data connection to its session, and returns the answer to the client.
    pub(crate) fn deliver_native(&self, hello: &flow::FlowHello, socket: Tcp, sequence: u64) -> FlowAnswer {
        let mut sessions = self.sessions.lock();
        let Some(waiting) = sessions.find(|waiting| waiting.expected.has_number(hello.session)) else {
            return FlowAnswer::UnknownSession;
        };
        if let Err(refusal) = judge(waiting, hello, Transport::Tcp) {
            return refusal;
        }
        use std::io::Write;
        // Answered under the lock, so that nothing else can be sent on the flow before.
        if (&*socket).write_all(&[FlowAnswer::Welcome.byte()]).is_ok() {
            waiting.expected.taken.push(hello.stream);
            let (stream, socket) = (Some(hello.stream), FlowSocket::Tcp(Arc::new(socket)));
            waiting.deliver(Arrival { sequence, stream, socket, greeting: None });
        }
        FlowAnswer::Welcome
    }

    /// No more udp_listeners, and those open close.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Receives UDP openings at one local address. One listener for each address that control connections came to,
    /// so that every answer leaves from the address the client knows.
    fn open_udp_listener(self: &Arc<Self>, local: SocketAddr) -> Result<()> {
        let local = plain(local);
        let mut udp_listeners = self.udp_listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if udp_listeners.contains(&local) {
            return Ok(());
        }
        let socket = udp_bind(local, &UdpOptions { reuse_address: true, ..UdpOptions::default() })?;
        socket.set_nonblocking(true)?;
        let arrivals = self.clone();
        std::thread::Builder::new()
            .name("udp openings".into())
            .spawn(move || arrivals.take_openings(&socket))?;
        udp_listeners.insert(local);
        Ok(())
    }

    fn take_openings(&self, socket: &UdpSocket) {
        let mut buffer = [0; 2048];
        while !self.closed.load(Ordering::Relaxed) {
            if wait(&mut [Interest::readable(socket)], Some(mono_now() + LISTEN_STEP)).is_err() {
                return;
            }
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                self.take_opening(socket, &buffer[..length], from);
            }
        }
    }

    fn take_opening(&self, listener: &UdpSocket, datagram: &[u8], from: SocketAddr) {
        if iperf3::is_udp_hello(datagram) {
            self.open_iperf3(from);
            return;
        }
        match self.gate.input(from, datagram, mono_now()) {
            GateAnswer::Challenge(hello, challenge) => {
                if !self.open_native(&hello, from, true) {
                    listener.send_to(&challenge, from).ok();
                }
            }
            GateAnswer::Open(hello) => {
                self.open_native(&hello, from, false);
            }
            GateAnswer::Ignore => {}
        }
    }

    fn open_iperf3(&self, from: SocketAddr) {
        let mut sessions = self.sessions.lock();
        let peer = from.ip().to_canonical();
        let is_it = |waiting: &Pending| {
            waiting.expected.is_nameless() && waiting.expected.peer == peer && waiting.has_room()
        };
        let Some(waiting) = sessions.find(is_it) else { return };
        let Ok(socket) = connected(waiting.expected.local, from) else { return };
        if socket.send(&iperf3::UDP_REPLY).is_ok() {
            let (sequence, socket) = (self.next_sequence(), FlowSocket::Udp(Arc::new(socket)));
            waiting.deliver(Arrival { sequence, stream: None, socket, greeting: Some(Greeting::Iperf3) });
        }
    }

    /// Opens a flow of a session that waits for it; returns whether it did. `from_peer`: only from the address of the control connection,
    /// which TCP has proved: a challenge would take another round trip.
    fn open_native(&self, hello: &flow::FlowHello, from: SocketAddr, from_peer: bool) -> bool {
        let mut sessions = self.sessions.lock();
        let is_it = |waiting: &Pending| {
            waiting.expected.has_number(hello.session)
                && (!from_peer || waiting.expected.peer == from.ip().to_canonical())
        };
        let Some(waiting) = sessions.find(is_it) else { return false };
        let Ok(key) = judge(waiting, hello, Transport::Udp) else { return false };
        let Ok(socket) = connected(waiting.expected.local, from) else { return false };
        let is_open = socket.send(&udp::acknowledge(hello, &key)).is_ok();
        if is_open {
            waiting.expected.taken.push(hello.stream);
            let (sequence, socket) = (self.next_sequence(), FlowSocket::Udp(Arc::new(socket)));
            let greeting = Some(Greeting::Native(*hello, key));
            waiting.deliver(Arrival { sequence, stream: Some(hello.stream), socket, greeting });
        }
        is_open
    }

    fn next_sequence(&self) -> u64 {
        self.sequence.fetch_add(1, Ordering::Relaxed)
    }
}

impl ExpectedFlows {
    /// Are its flows known by nothing but their address?
    fn is_nameless(&self) -> bool {
        matches!(self.name, Name::Iperf3(_)) && self.transport == Transport::Udp
    }

    fn has_cookie(&self, cookie: &str) -> bool {
        matches!(&self.name, Name::Iperf3(own) if own == cookie)
    }

    fn has_number(&self, session: SessionId) -> bool {
        matches!(&self.name, Name::Native(own, _) if *own == session)
    }
}

/// The key by which a native flow has proved that it belongs to this session, or why it does not.
fn judge(waiting: &Pending, hello: &flow::FlowHello, transport: Transport) -> Result<FlowKey, FlowAnswer> {
    match &waiting.expected.name {
        Name::Native(_, key) if waiting.expected.transport == transport && hello.proves(transport, key) => {
            let is_free = hello.stream < waiting.most() && !waiting.expected.taken.contains(&hello.stream);
            if is_free { Ok(*key) } else { Err(FlowAnswer::NoSuchStream) }
        }
        _ => Err(FlowAnswer::NotProved),
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

const LISTEN_STEP: Nanos = Nanos::from_millis(250);
/// Longest wait for another iPerf3 client of the same address to open its UDP streams.
const TURN_LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::TestSpec;
    use wire::native::udp::{UdpOpen, UdpStep};

    const SESSION: SessionId = SessionId::new([3; 16]);
    const KEY: FlowKey = FlowKey::new([4; 32]);

    /// The next step of a client whose HELLO without a cookie was answered.
    fn answer_to(from: &str, key: &FlowKey) -> UdpStep {
        let arrivals = Arrivals::new([1; 32]);
        let local = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hello = FlowHello::Native { session: SESSION, key: KEY };
        let plan = FlowPlan { test: TestSpec::new(Transport::Udp), hello, senders_wait_for_stop: false };
        let waker = Arc::new(Waker::new().unwrap());
        let _slot = arrivals.wait_for(&plan, local, "127.0.0.1:9".parse().unwrap(), &waker).unwrap();
        let client = UdpSocket::bind((from, 0)).unwrap();
        let mut open = UdpOpen::new(SESSION, 0, key, mono_now());
        let UdpStep::Send(first) = open.step(mono_now()) else { panic!("no HELLO") };
        client.send_to(&first, local).unwrap();
        client.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        let mut buffer = [0; 64];
        let (length, _) = client.recv_from(&mut buffer).unwrap();
        open.input(&buffer[..length], mono_now());
        arrivals.close();
        open.step(mono_now())
    }

    #[test]
    fn an_address_that_tcp_has_proved_gets_no_challenge() {
        assert_eq!(answer_to("127.0.0.1", &KEY), UdpStep::Open);
        assert!(matches!(answer_to("127.0.0.2", &KEY), UdpStep::Send(_)), "challenged");
        assert!(matches!(answer_to("127.0.0.1", &FlowKey::new([5; 32])), UdpStep::Send(_)), "challenged");
    }
}
