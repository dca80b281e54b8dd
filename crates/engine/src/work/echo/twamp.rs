//! TWAMP's server: one thread talks with a client, one for each of its tests answers the packets.

use super::server::{STAMP_ERROR, datagrams, wall_clock};
use crate::error::{Context, Result, refused};
use crate::host;
use crate::session::budget::{self, Budget, Held, Limits, client_of};
use crate::session::link::Link;
use crate::session::listener::{Accepted, LEFT, Service};
use crate::session::pump::{Pump, Step};
use linux::clock::{mono_now, wall_now};
use linux::options;
use linux::poll::wait;
use linux::sockaddr::plain;
use linux::socket::{UdpOptions, udp_bind};
use model::latency::WaitMode;
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use wire::echo::{Arrival, Reflect, Stray};
use wire::stamp::{Format, Reflector, Timestamp};
use wire::twamp::{Accept, Server, TestRequest, TwampCommand};

/// The server, which all connections share.
pub(crate) struct Tests {
    connections: Arc<Budget>,
    /// Tests now: each has a socket and a thread.
    running: Arc<Budget>,
    begun: Timestamp,
    stop: Arc<AtomicBool>,
}

/// One client.
struct Talk<'a> {
    server: &'a Tests,
    peer: IpAddr,
    /// The address that it came to.
    here: SocketAddr,
    machine: Server,
    pump: Pump,
    tests: Vec<Test>,
}

/// A test that was accepted.
struct Test {
    /// Until it begins.
    socket: Option<UdpSocket>,
    dscp: u8,
    stop: Arc<AtomicBool>,
    /// When the last packet came, or the test was requested.
    heard: Arc<AtomicU64>,
    /// No packets are answered from then on.
    until: Option<MonoTime>,
    thread: Option<JoinHandle<()>>,
    _held: Held,
}

impl Tests {
    /// Ends when `stop` is raised.
    pub(crate) fn new(stop: Arc<AtomicBool>) -> Tests {
        let begun = Timestamp::new(Format::Ntp, wall_now());
        let running = Budget::new(Limits::quarters(MOST_TESTS, false));
        Tests { connections: Budget::new(budget::connections()), running, begun, stop }
    }
}

impl Service for Tests {
    fn connections(&self) -> &Arc<Budget> {
        &self.connections
    }

    fn serve(&self, accepted: Accepted) -> Result<()> {
        let Accepted { socket, peer, held, .. } = accepted;
        let here = plain(socket.local_addr()?);
        let link = Link::new(socket, Vec::new(), None).context("set up the control connection")?;
        let machine = Server::new(host::entropy()?, self.begun, mono_now());
        let peer = plain(peer).ip();
        let mut talk = Talk { server: self, peer, here, machine, pump: Pump::new(link), tests: Vec::new() };
        let outcome = talk.converse(&held);
        talk.answer_tail();
        outcome
    }
}

impl Talk<'_> {
    fn converse(&mut self, held: &Held) -> Result<()> {
        loop {
            // Before the client hears of it: its first packet may come at once.
            while let Some(command) = self.machine.take_command() {
                self.carry_out(command)?;
            }
            let until = match self.pump.advance(&mut self.machine)? {
                Step::Over => return Ok(()),
                Step::Wait(until) => until,
                // Its orders are its own.
                Step::Work(_) | Step::Event(_) => continue,
            };
            if self.is_over(held)? {
                return Ok(());
            }
            let mut interests: Vec<_> = self.pump.interest().into_iter().collect();
            let look = mono_now() + LOOK_STEP;
            wait(&mut interests, Some(until.map_or(look, |until| until.min(look))))?;
            drop(interests);
            self.pump.hear(&mut self.machine)?;
        }
    }

    /// The server stops, this client is to make room for another, or its packets have ceased long ago.
    fn is_over(&mut self, held: &Held) -> Result<bool> {
        let now = mono_now();
        self.forget(now);
        if self.server.stop.load(Ordering::Acquire) {
            return Ok(true);
        }
        // A client that has only requested tests may still have to leave.
        if self.tests.iter().any(Test::has_begun) {
            held.touch(now, false);
        } else if held.must_leave() {
            return Err(refused(LEFT));
        }
        let before = self.tests.len();
        self.tests.retain(|test| !test.is_silent(now));
        if self.tests.is_empty() && before > 0 {
            return Err(refused(
                "its TWAMP tests were not begun for 30 s, or had no packet for 15 minutes, ended",
            ));
        }
        Ok(false)
    }

    fn carry_out(&mut self, order: TwampCommand) -> Result<()> {
        match order {
            TwampCommand::Open(asked) => {
                let outcome = self.open(asked);
                self.machine.opened(mono_now(), outcome)?;
            }
            TwampCommand::Begin => {
                for test in &mut self.tests {
                    test.begin(self.peer)?;
                }
            }
            TwampCommand::End(tail) => {
                let until = mono_now() + tail;
                self.tests.iter_mut().for_each(|test| test.until = Some(until));
                self.forget(mono_now());
            }
        }
        Ok(())
    }

    /// Ends the tests whose time is over.
    fn forget(&mut self, now: MonoTime) {
        self.tests.retain(|test| test.until.is_none_or(|until| now < until));
    }

    /// The port of a new test, which is the requested one where it is free.
    fn open(&mut self, test: TestRequest) -> Result<u16, Accept> {
        let held = self.server.running.take(self.peer, 1, client_of(self.peer, false));
        let held = held.map_err(|_| Accept::NOT_NOW)?;
        let bind = |port| {
            let mut here = self.here;
            here.set_port(port);
            udp_bind(here, &UdpOptions::default())
        };
        // A port below 1024 is a service's: a client must not take its place while it is away.
        let wished = if test.port < LOWEST_PORT { 0 } else { test.port };
        let socket = bind(wished).or_else(|_| bind(0)).map_err(|_| Accept::NOT_NOW)?;
        let port = socket.local_addr().map_err(|_| Accept::INTERNAL)?.port();
        // RFC 5357 section 4.2.1: so the client sees how many hops there are.
        options::set_hops(&socket, u8::MAX).map_err(|_| Accept::INTERNAL)?;
        self.tests.push(Test {
            socket: Some(socket),
            dscp: test.dscp,
            stop: Arc::default(),
            heard: Arc::new(AtomicU64::new(mono_now().0)),
            until: None,
            thread: None,
            _held: held,
        });
        Ok(port)
    }

    /// After the client has gone: answers packets still in flight.
    fn answer_tail(&mut self) {
        let until = self.tests.iter().filter_map(|test| test.until).max();
        while until.is_some_and(|until| mono_now() < until) && !self.server.stop.load(Ordering::Acquire) {
            std::thread::sleep(LOOK_STEP.to_duration());
        }
    }
}

impl Test {
    fn has_begun(&self) -> bool {
        self.socket.is_none()
    }

    /// The test did not begin for long, or has had no packet for long.
    fn is_silent(&self, now: MonoTime) -> bool {
        let most = if self.has_begun() { SILENCE } else { BEGINS_WITHIN };
        now.saturating_since(MonoTime(self.heard.load(Ordering::Acquire))) > most
    }

    /// Answers packets from now on, in a thread of its own; what came before is not answered.
    fn begin(&mut self, peer: IpAddr) -> Result<()> {
        let Some(socket) = self.socket.take() else { return Ok(()) };
        socket.set_nonblocking(true)?;
        for _ in 0..MOST_EARLY {
            if socket.recv(&mut [0]).is_err() {
                break;
            }
        }
        self.heard.store(mono_now().0, Ordering::Release);
        let reflector = Reflector::twamp(wall_clock(), STAMP_ERROR, self.dscp);
        let answers = OfOne { reflector, peer, heard: self.heard.clone() };
        let keep = |answers: &mut OfOne| answers.reflector.set_clock(wall_clock());
        let stop = self.stop.clone();
        let work = move || drop(datagrams(&socket, answers, WaitMode::Hybrid, &stop, keep));
        let thread = std::thread::Builder::new().name("TWAMP".into()).stack_size(512 << 10);
        self.thread = Some(thread.spawn(work).context("start a TWAMP test")?);
        Ok(())
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Answers the host of the control connection alone, which has thereby shown that it is there.
struct OfOne {
    reflector: Reflector,
    peer: IpAddr,
    heard: Arc<AtomicU64>,
}

impl Reflect for OfOne {
    fn reflect(&mut self, arrival: Arrival, now: MonoTime, buf: &mut [u8], len: usize) -> Option<usize> {
        if plain(arrival.from).ip() != self.peer {
            return None;
        }
        self.heard.store(arrival.received.0, Ordering::Release);
        self.reflector.reflect(arrival, now, buf, len)
    }

    fn stamps(&self) -> bool {
        self.reflector.stamps()
    }

    fn class(&self) -> u8 {
        self.reflector.class()
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        self.reflector.frame(head)
    }
}

/// Tests of all clients at a time; a quarter of them for one address.
const MOST_TESTS: u32 = 256;
/// Packets from before the start that are thrown away: more have no room.
const MOST_EARLY: u32 = 10_000;
const LOWEST_PORT: u16 = 1024;
/// Time between two looks at what is not polled.
const LOOK_STEP: Nanos = Nanos::from_millis(100);
/// A requested test holds a place: it is to begin soon.
const BEGINS_WITHIN: Nanos = Nanos::from_secs(30);
/// REFWAIT of RFC 5357 section 4.2: a test without packets for so long is over.
const SILENCE: Nanos = Nanos::from_secs(900);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_not_begun_or_used_is_over() {
        let budget = Budget::new(Limits::quarters(MOST_TESTS, false));
        let peer = IpAddr::from([192, 0, 2, 1]);
        let mut test = Test {
            socket: Some(UdpSocket::bind("127.0.0.1:0").expect("a port")),
            dscp: 0,
            stop: Arc::default(),
            heard: Arc::new(AtomicU64::new(1)),
            until: None,
            thread: None,
            _held: budget.take(peer, 1, client_of(peer, false)).unwrap_or_else(|_| panic!("a place")),
        };
        let since = MonoTime(1);
        assert!(
            !test.is_silent(since + Nanos::from_secs(29)) && test.is_silent(since + Nanos::from_secs(31))
        );
        test.socket = None;
        assert!(
            !test.is_silent(since + Nanos::from_secs(899)) && test.is_silent(since + Nanos::from_secs(901))
        );
    }
}
