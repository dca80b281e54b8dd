//! A port of this host and one of another, which `pathmeter serve` has, with a bridge between them and control beside it.

use super::offers::Offers;
use super::*;
use crate::error::Result;
use crate::error::tests::printed;
use crate::host::interrupt::Interrupt;
use crate::server::Confined;
use crate::server::dialogues::{self, Config};
use crate::work::dut::fixture::{self, Between, Fixture, again, open};
use crate::work::dut::local::LocalPort;
use crate::work::observer::{Observer, SessionEvent, Watcher};
use linux::capture::Capture;
use linux::socket::{TcpOptions, tcp_listen};
use model::plan::ProtocolName;
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;
use wire::{Policy, ProtocolError};

/// The far host with its server.
struct Far {
    fixture: Fixture,
    interrupt: Interrupt,
    server: Option<JoinHandle<()>>,
    log: Log,
}

/// The server's notes on each session.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Observer for Log {
    fn session(&self, _client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        Box::new(self.clone())
    }

    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

impl Watcher for Log {
    fn event(&mut self, event: SessionEvent<'_>) {
        let SessionEvent::Framed(observed) = event else { return };
        self.note(&format!("{}: {} sent, {} counted", observed.interface, observed.sent, observed.counted));
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        self.note(&format!("ended: {outcome:?}"));
    }
}

impl Far {
    /// `None` after saying why not, as a fixture is.
    fn new(anywhere: bool) -> Option<Far> {
        let fixture = Fixture::new(Between::Bridge)?;
        fixture.take_live_frames();
        open(&fixture.hosts[0]).unwrap().add_veth("ctl", "ctl", &fixture.hosts[1]).unwrap();
        for (host, number) in fixture.hosts.iter().zip([1, 2]) {
            let mut network = open(host).unwrap();
            network.set_up("ctl").unwrap();
            network.add_address("ctl", [192, 168, 99, number].into(), 24).unwrap();
        }
        let (interrupt, log) = (Interrupt::default(), Log::default());
        let (host, raised, observer) = (again(&fixture.hosts[1]), interrupt.clone(), log.clone());
        let (up, is_up) = sync_channel(1);
        let serve = move || {
            host.enter().unwrap();
            let offers = Offers::new(&["eth0".parse().unwrap()], anywhere).unwrap();
            let address = SocketAddr::from(([192, 168, 99, 2], native::PORT));
            let listener = tcp_listen(address, &TcpOptions::default(), 8).unwrap();
            up.send(()).unwrap();
            dialogues::run(config(listener, offers, observer), Confined::with_all_rights(), &raised).unwrap();
        };
        let server = Some(std::thread::spawn(serve));
        is_up.recv().expect("the server starts");
        Some(Far { fixture, interrupt, server, log })
    }

    fn near(&self) -> LocalPort {
        LocalPort::open(again(&self.fixture.hosts[0]), "eth0", &self.fixture.options(0)).unwrap()
    }

    fn options(&self) -> RemoteOptions {
        RemoteOptions { fallback: self.fixture.options(1).fallback, ..RemoteOptions::default() }
    }

    fn open(&self, port: &str, options: &RemoteOptions) -> Result<RemotePort> {
        let spec: PortSpec = port.parse().unwrap();
        self.fixture.hosts[0].run(|| RemotePort::open(&spec, options)).unwrap()
    }

    fn port(&self) -> RemotePort {
        self.open(FAR, &self.options()).unwrap()
    }

    fn refused(&self, port: &str, options: &RemoteOptions) -> (Kind, String) {
        let error = self.open(port, options).expect_err("it is refused");
        (error.kind(), printed(&error))
    }

    /// Opens the port once its earlier user has gone.
    fn port_when_free(&self) -> RemotePort {
        for _ in 0..200 {
            match self.open(FAR, &self.options()) {
                Ok(port) => return port,
                Err(error) => assert!(error.to_string().contains("eth0@"), "{error:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it is never free again: {:?}", self.log.0.lock().unwrap());
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.interrupt.raise();
        if let Some(server) = self.server.take() {
            server.join().ok();
        }
    }
}

fn config(listener: std::net::TcpListener, offers: Offers, log: Log) -> Config {
    Config {
        native: vec![listener],
        iperf3: Vec::new(),
        token: None,
        tls: None,
        policy: Policy::default(),
        open_policy: Policy::default(),
        max_tests: 4,
        tests: None,
        local: LocalOptions::default(),
        offers: Arc::new(offers),
        verifier: None,
        observer: Arc::new(log),
    }
}

/// Frames from one port to the other over IPv4, by the next hop.
fn frames(from: &mut dyn Port, to: &dyn Port, tag: u32) -> FrameSpec {
    FrameSpec { tag, ..fixture::frames(from, to, true, 128) }
}

/// 5000 frames per second.
fn burst(frames: u64) -> Burst {
    Burst { frames, interval_ps: 200_000_000, then: None, time: Nanos::from_secs(600) }
}

fn trial(from: &mut dyn Port, to: &mut dyn Port, tag: u32) -> (Sent, Counted) {
    let (spec, burst) = (frames(from, to, tag), burst(5000));
    to.count(SinkKind::Xdp, &spec, burst.frames, Watch::Times).unwrap();
    from.send(SourceKind::LiveFrames, &spec, &burst).unwrap();
    let sent = from.sent().unwrap();
    std::thread::sleep(Duration::from_millis(200));
    (sent, to.counted().unwrap())
}

/// Such bursts last for minutes.
const LONG: u64 = 1_000_000;
const FAR: &str = "eth0@192.168.99.2";

#[test]
fn every_frame_is_counted_in_both_directions() {
    let Some(far) = Far::new(false) else { return };
    let (mut near, mut port) = (far.near(), far.port());
    assert!(!port.is_here());
    let facts = port.facts();
    assert_eq!((facts.name.as_str(), facts.mtu, facts.driver.as_deref()), (FAR, 1500, Some("veth")));
    assert!(port.notes()[0].starts_with("eth0 was given 198.18.0.3/24"), "{:?}", port.notes());

    let (sent, counted) = trial(&mut near, &mut port, 1);
    assert_eq!((sent.frames, counted.arrived.distinct(), counted.last_missing), (5000, 5000, None));
    assert_eq!((counted.arrived.bytes, counted.arrived.duplicates), (5000 * 124, 0));
    assert!(counted.arrived.delays.is_none(), "two hosts have two clocks");
    let (shorter, longer) = counted.arrived.variation.as_ref().expect("differences need no common clock");
    // Between frames on one CPU: a sender that is moved to another has a few less.
    assert!((4000..5000).contains(&(shorter.count() + longer.count())), "{shorter:?} {longer:?}");
    let silence = counted.arrived.silence.expect("there is a longest time between frames");
    assert!(silence.time() >= Nanos::from_micros(200) && silence.first < counted.at, "{silence:?}");

    let (sent, counted) = trial(&mut port, &mut near, 2);
    assert_eq!((sent.frames, counted.arrived.distinct(), counted.last_missing), (5000, 5000, None));
    drop(port);
    drop(far.port_when_free());
    let log = far.log.0.lock().unwrap();
    assert_eq!(log[..2], ["eth0: 5000 sent, 5000 counted", "ended: Ok(())"], "{log:?}");
}

#[test]
fn a_client_that_is_gone_sends_no_more_and_the_next_is_served() {
    let Some(far) = Far::new(false) else { return };
    let (mut near, mut port) = (far.near(), far.port());
    let spec = frames(&mut port, &near, 3);
    drop(port);
    let wish =
        FramesWish { interface: "eth0".into(), fallback: far.options().fallback, ..FramesWish::default() };
    let target = Target { host: "far".into(), address: ([192, 168, 99, 2], native::PORT).into() };
    let options = far.options();
    far.port_when_free();
    // Without a thread that would say goodbye.
    let gone = far.fixture.hosts[0].run(|| Conversation::open(&target, wish, &options)).unwrap();
    let mut gone = gone.unwrap();
    gone.wait_for_port().unwrap();
    near.count(SinkKind::Xdp, &spec, LONG, Watch::Counts).unwrap();
    let (questions, asked) = channel();
    let (answer, reply) = sync_channel(1);
    let send = FramesAsk::Send {
        source: SourceKind::LiveFrames,
        spec: spec.clone(),
        burst: convert::limited(&burst(LONG)),
    };
    questions.send(Question { ask: send, answer }).unwrap();
    let begun = loop {
        gone.step(&asked).unwrap();
        if let Ok(reply) = reply.try_recv() {
            break reply.unwrap();
        }
    };
    assert_eq!(begun, FramesReply::Begun {});
    std::thread::sleep(Duration::from_millis(300));
    drop(gone);

    let mut next = far.port_when_free();
    let counted = near.counted().unwrap();
    assert!((1..LONG).contains(&counted.arrived.frames), "{}", counted.arrived.frames);
    near.count(SinkKind::Xdp, &spec, LONG, Watch::Counts).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(near.counted().unwrap().arrived.frames, 0, "nothing is sent any more");
    let (sent, counted) = trial(&mut near, &mut next, 4);
    assert_eq!((sent.frames, counted.arrived.distinct()), (5000, 5000));
    let log = far.log.0.lock().unwrap();
    assert!(log.iter().any(|line| line.contains("during a session of frames")), "{log:?}");
}

#[test]
fn a_stop_is_heard_far_away() {
    let Some(far) = Far::new(false) else { return };
    let options = far.options();
    let (near, mut port) = (far.near(), far.open(FAR, &options).unwrap());
    let spec = frames(&mut port, &near, 5);
    port.send(SourceKind::LiveFrames, &spec, &burst(LONG)).unwrap();
    let again = port.send(SourceKind::LiveFrames, &spec, &burst(LONG)).unwrap_err();
    assert!(printed(&again).contains("sending already"), "{again:?}");
    let stop = options.stop.clone();
    let raise = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stop.raise();
    });
    let sent = port.sent().expect("what was sent until then is reported");
    assert!((1..LONG).contains(&sent.frames), "{sent:?}");
    raise.join().unwrap();
}

#[test]
fn what_is_not_offered_or_taken_is_refused_with_a_remedy() {
    let Some(far) = Far::new(false) else { return };
    let (kind, reply) = far.refused("eth9@192.168.99.2", &far.options());
    assert_eq!(kind, Kind::Unreachable);
    assert!(
        reply.contains("does not offer eth9, but eth0") && reply.contains("--frames-port eth9"),
        "{reply}"
    );
    let first = far.port();
    let (kind, reply) = far.refused(FAR, &far.options());
    assert!(kind == Kind::Unreachable && reply.contains("busy"), "{reply}");
    drop(first);
    drop(far.open(FAR, &far.options()).expect("it is free as soon as the other has gone"));
    let public = Addressing { addresses: vec![([8, 8, 4, 4].into(), 24)], gateways: Vec::new() };
    let (_, reply) = far.refused(FAR, &RemoteOptions { addressing: public, ..far.options() });
    assert!(reply.contains("8.8.4.4") && reply.contains("--frames-anywhere"), "{reply}");
    for (address, prefix, why) in [
        ([198, 18, 0, 1], 1, "as short as"),
        ([10, 0, 0, 1], 24, "not an address for benchmarks"),
        ([169, 254, 169, 254], 32, "not an address for benchmarks"),
    ] {
        let wish = Addressing { addresses: vec![(address.into(), prefix)], gateways: Vec::new() };
        let (_, reply) = far.refused(FAR, &RemoteOptions { addressing: wish, ..far.options() });
        assert!(reply.contains(why), "{address:?}/{prefix}: {reply}");
    }
    let (kind, reply) = far.refused("eth0@192.168.99.2:5999", &far.options());
    assert!(kind == Kind::Unreachable && reply.contains("refused the connection"), "{reply}");
}

#[test]
fn frames_go_where_they_may_and_say_from_whom_they_are() {
    let Some(far) = Far::new(false) else { return };
    let (near, mut port) = (far.near(), far.port());
    let spec = FrameSpec { source_mac: [2, 0xba, 0xd, 0, 0, 1], ..frames(&mut port, &near, 6) };
    let tagged = FrameSpec { vlan: Some(7), ..spec.clone() };
    let reply = printed(&port.send(SourceKind::LiveFrames, &tagged, &burst(5)).unwrap_err());
    assert!(reply.contains("VLAN 7") && reply.contains("--frames-vlan 7"), "{reply}");
    let public = FrameSpec { destination: [9, 9, 9, 9].into(), ..spec.clone() };
    let error = port.send(SourceKind::LiveFrames, &public, &burst(5)).unwrap_err();
    let reply = printed(&error);
    assert!(reply.contains("9.9.9.9") && reply.contains("--frames-anywhere"), "{reply}");
    assert!(port.next_hop([9, 9, 9, 9].into()).is_err());
    let forged = FrameSpec { source: [192, 0, 2, 9].into(), ..spec.clone() };
    let reply = printed(&port.send(SourceKind::LiveFrames, &forged, &burst(5)).unwrap_err());
    assert!(reply.contains("frames from 192.0.2.9") && reply.contains("--frames-network"), "{reply}");
    assert!(port.sent().is_err() && port.counted().is_err(), "nothing was begun");
    let small = FrameSpec { sizes: vec![Bytes(63)], ..spec.clone() };
    assert!(port.count(SinkKind::Xdp, &small, 5, Watch::Counts).unwrap_err().to_string().contains("eth0@"));

    let capture = Capture { interface: "eth0".into(), peer: spec.source, snap: 200, memory: Bytes(1 << 20) };
    let mut captor = far.fixture.hosts[0].run(|| capture.start()).unwrap().unwrap();
    port.send(SourceKind::LiveFrames, &spec, &burst(5)).unwrap();
    assert_eq!(port.sent().unwrap().frames, 5);
    let (mut sources, deadline) = (Vec::new(), mono_now() + Nanos::from_secs(10));
    while sources.len() < 5 && mono_now() < deadline {
        let wait: MonoTime = mono_now() + Nanos::from_millis(100);
        let mut take = |frame: &linux::capture::Frame<'_>| {
            // This host answers that the port is closed.
            if frame.bytes[..6] == near.mac() {
                sources.push(frame.bytes[6..12].to_vec());
            }
        };
        captor.frames(wait, &mut take).unwrap();
    }
    assert_eq!(sources, vec![port.mac().to_vec(); 5]);
}

#[test]
fn a_server_that_is_shut_down_reports_it() {
    let Some(far) = Far::new(true) else { return };
    let mut port = far.port();
    assert!(port.next_hop([9, 9, 9, 9].into()).unwrap_err().to_string().contains("no route"));
    far.interrupt.raise();
    let mut reply = String::new();
    for _ in 0..100 {
        if let Err(error) = port.counted() {
            reply = printed(&error);
        }
        if !reply.contains("nothing is being counted") {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(reply.contains("interrupted"), "{reply}");
    assert!(printed(&port.sent().unwrap_err()).contains("is over"), "and stays so");
}
