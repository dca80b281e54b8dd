//! One suite, two back ends: this process, and a real NATS server.

mod cluster;
mod full;
mod loops;
mod scale;
mod server;
mod suite;

use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::nats::{Nats, NatsOptions, Reactor};
use pathmeter_fleet::broker::{Appended, Broker, Bucket, Expected, Log};
use server::Server;
use skip::skip;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use suite::{CASES, World};
use world::broker::Local;

struct InProcess(Local);

impl World for InProcess {
    fn coordinator(&self) -> Box<dyn Broker> {
        Box::new(self.0.clone())
    }

    fn ams(&self) -> Box<dyn Broker> {
        let own = ["agent.ams", "job.ams", "lease.name.ams", "outcome.ams", "pm.cmd.ams", "pm.sink"];
        let permitted = move |operation: &str, subject: &str| {
            let shared = ["lease.on.ams.", "lease.beat.ams.", "_inbox.", "pm.go."];
            let is_shared = shared.iter().any(|prefix| subject.starts_with(prefix))
                || (operation == "read" && subject.starts_with("lease."));
            // An agent consumes its jobs and does not append any.
            (is_shared || own.contains(&subject)) && (operation, subject) != ("append to", "job.ams")
        };
        Box::new(self.0.permitted(permitted))
    }
}

struct OnServer(Server);

impl World for OnServer {
    fn coordinator(&self) -> Box<dyn Broker> {
        Box::new(self.0.connect("coordinator").expect("a connection"))
    }

    fn ams(&self) -> Box<dyn Broker> {
        Box::new(self.0.connect("ams").expect("a connection"))
    }
}

fn in_process() -> InProcess {
    InProcess(Local::default())
}

fn on_server(names: &[&str]) -> Option<OnServer> {
    if let Err(why) = server::program() {
        skip(why);
        return None;
    }
    let server = Server::start(&["ams", "fra"], names);
    server.connect("coordinator").expect("a connection").make_streams(1).expect("streams");
    Some(OnServer(server))
}

#[test]
fn the_local_back_end_conforms() {
    for case in CASES {
        case(&in_process());
    }
}

/// The same server for all: what one case leaves behind must not disturb the next but in the logs, which each case empties.
#[test]
fn the_nats_back_end_conforms() {
    for case in CASES {
        let Some(world) = on_server(&[]) else { return };
        case(&world);
    }
}

#[test]
fn what_was_stored_outlives_a_crash_of_the_server() {
    let Some(mut world) = on_server(&["localhost"]) else { return };
    let broker = world.0.connect("coordinator").expect("a connection over TLS");
    let revision = broker.put(Bucket::Plans, "p", b"plan", Expected::Absent, None).expect("stored");
    for number in 0..50 {
        broker.append(Log::Outcomes, "ams", &format!("run-{number}"), b"result").expect("stored");
    }
    world.0.crash();
    let mut found = broker.get(Bucket::Plans, "p");
    let begin = Instant::now();
    while found.as_ref().is_err_and(FleetError::is_transient) && begin.elapsed().as_secs() < 60 {
        found = broker.get(Bucket::Plans, "p");
    }
    assert_eq!(found.expect("read").expect("an entry").revision, revision);
    let again = broker.append(Log::Outcomes, "ams", "run-7", b"result").expect("stored");
    assert_eq!(again, Appended::Duplicate, "ids are remembered, too");
    let mut sink = broker.consume(Log::Outcomes, "sink", None, Nanos::from_secs(20)).expect("outcomes");
    for _ in 0..50 {
        let delivery = sink.next(Nanos::from_secs(5)).expect("asked").expect("a message");
        broker.done(&delivery).expect("confirmed");
    }
    assert_eq!(sink.next(Nanos::ZERO).expect("asked"), None);
}

#[test]
fn keys_and_servers_that_do_not_fit_are_refused_with_a_reason() {
    let Some(mut world) = on_server(&["localhost"]) else { return };
    let other = tempfile::tempdir().expect("a folder");
    let setup = pathmeter_fleet::setup::MeshSetup {
        agents: vec!["ams".into()],
        listen: "127.0.0.1:-1".into(),
        websocket: None,
        names: vec!["localhost".into()],
    };
    let foreign = setup.write(other.path()).expect("files");
    let refused = world.0.connect_with("ams", &foreign.coordinator).expect_err("a foreign key");
    assert!(matches!(refused, FleetError::KeyRefused { .. }), "{refused}");
    let authority = world.0.files.authority.take();
    world.0.files.authority = foreign.authority;
    let untrusted = world.0.connect("ams").expect_err("a foreign authority");
    assert!(matches!(untrusted, FleetError::Certificate { .. }), "{untrusted}");
    assert!(untrusted.advice().contains("--ca FILE"), "{}", untrusted.advice());
    world.0.files.authority = Some(foreign.coordinator.clone());
    let no_certificate = world.0.connect("ams").expect_err("a key in its place");
    assert!(matches!(no_certificate, FleetError::Unusable { .. }), "{no_certificate}");
    world.0.files.authority = authority;
    // To the coordinator's key come no answers as an agent, nor to an agent's as the coordinator.
    let keys = [world.0.files.coordinator.clone(), world.0.files.agents[0].1.clone()];
    for (name, key) in ["ams", "coordinator"].into_iter().zip(&keys) {
        let broker = world.0.connect_with(name, key).expect("a connection");
        let refused = broker.get(Bucket::Agents, "ams").expect_err("somebody else's key");
        assert!(matches!(refused, FleetError::NotPermitted { .. }), "{name}: {refused}");
        assert!(refused.advice().contains("--key keys/NAME.seed"), "{}", refused.advice());
    }
    let lost = world.0.connect("ams").expect("a connection");
    world.0.stop();
    let error = lost.get(Bucket::Leases, "x").expect_err("no server there");
    assert!(error.is_transient(), "{error}");
    let down = world.0.connect("ams").expect_err("no server there");
    assert!(matches!(down, FleetError::Unreachable { .. }), "{down}");
}

/// A relay between a client and a server that from some time on passes nothing on, and closes nothing.
struct Relay {
    port: u16,
    is_silent: Arc<AtomicBool>,
}

impl Relay {
    fn to(server: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let is_silent = Arc::new(AtomicBool::new(false));
        let silent = Arc::clone(&is_silent);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { return };
                let back = (far.try_clone().expect("a handle"), client.try_clone().expect("a handle"));
                for (from, to) in [(client, far), back] {
                    let silent = Arc::clone(&silent);
                    thread::spawn(move || pass(from, to, &silent));
                }
            }
        });
        Relay { port, is_silent }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_silent.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

/// Its answers are lost, and its connection stays: the client library itself would wait for ever for some of them.
#[test]
fn every_call_ends_when_the_server_falls_silent() {
    let Some(world) = on_server(&[]) else { return };
    let relay = Relay::to(world.0.port);
    let reactor = Reactor::start().expect("a thread");
    let options = NatsOptions {
        server: format!("nats://127.0.0.1:{}", relay.port),
        name: "coordinator".into(),
        seed: Some(
            std::fs::read(&world.0.files.coordinator)
                .map(|bytes| {
                    pathmeter_fleet::setup::seed(&world.0.files.coordinator, &bytes).expect("a seed")
                })
                .expect("a key"),
        ),
        timeout: Nanos::from_millis(300),
        ..NatsOptions::default()
    };
    let broker = Nats::connect(&reactor, &options).expect("a connection");
    let mut outcomes = broker.consume(Log::Outcomes, "sink", None, Nanos::from_secs(20)).expect("outcomes");
    assert_eq!(outcomes.next(Nanos::ZERO).expect("asked"), None);
    relay.is_silent.store(true, Ordering::SeqCst);
    let (sender, ended) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let ends = vec![
            outcomes.next(Nanos::ZERO).map(drop),
            outcomes.next(Nanos::from_millis(10)).map(drop),
            broker.get(Bucket::Plans, "p").map(drop),
            broker.put(Bucket::Plans, "p", b"", Expected::Anything, None).map(drop),
            broker.append(Log::Jobs, "ams", "1", b"").map(drop),
            broker.keys(Bucket::Plans).map(drop),
            broker.make_streams(1),
        ];
        // A message without a reply has no answer that could be missing.
        let _ = broker.publish("pm.go.x", b"");
        let _ = broker.subscribe("pm.go.x").map(drop);
        let _ = sender.send(ends);
    });
    let ends = ended.recv_timeout(Duration::from_secs(60)).expect("every call ends");
    // A read with a time limit that receives nothing is no error.
    for (number, end) in ends.iter().enumerate() {
        assert!(number == 1 || end.as_ref().is_err_and(FleetError::is_transient), "{number}: {end:?}");
    }
}

/// The greeting of a server of 2.9.10 (Debian 12) when a client connects.
#[test]
fn an_old_server_is_refused_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let info =
                r#"INFO {"server_id":"N","version":"2.9.10","proto":1,"max_payload":1048576,"headers":true}"#;
            let _ = stream.write_all(format!("{info}\r\nPONG\r\n").as_bytes());
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    let server = format!("nats://127.0.0.1:{port}");
    let options = NatsOptions { server: server.clone(), name: "ams".into(), ..NatsOptions::default() };
    let reactor = Reactor::start().expect("a thread");
    let error = Nats::connect(&reactor, &options).expect_err("it is too old");
    assert_eq!(
        error.to_string(),
        format!("the NATS server {server} is version 2.9.10; a mesh needs 2.11 or later")
    );
    let wrong = NatsOptions { server: "http://x".into(), ..options };
    assert!(
        Nats::connect(&reactor, &wrong).expect_err("no such scheme").to_string().contains("nats://HOST:4222")
    );
}
