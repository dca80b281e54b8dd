//! One suite, two back ends: this process, and a real NATS server.

mod cluster;
mod full;
mod loops;
mod scale;
mod server;
mod suite;

use model::units::Nanos;
use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::local::Local;
use pathmeter_fleet::broker::nats::{Nats, NatsOptions, Reactor};
use pathmeter_fleet::broker::{Appended, Broker, Bucket, Expected, Log};
use server::Server;
use skip::skip;
use std::io::Write;
use std::net::TcpListener;
use std::thread;
use suite::{CASES, World};

struct InProcess(Local);

impl World for InProcess {
    fn coordinator(&self) -> Box<dyn Broker> {
        Box::new(self.0.clone())
    }

    fn ams(&self) -> Box<dyn Broker> {
        let own = ["agent.ams", "job.ams", "outcome.ams", "pm.cmd.ams", "pm.sink"];
        let permitted = move |operation: &str, subject: &str| {
            let is_shared = ["lease.", "_inbox.", "pm.go."].iter().any(|prefix| subject.starts_with(prefix));
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
    while found.as_ref().is_err_and(FleetError::is_transient) {
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
    let strangers = setup.write(other.path()).expect("files");
    let refused = world.0.connect_with("ams", &strangers.coordinator).expect_err("a stranger's key");
    assert!(matches!(refused, FleetError::KeyRefused { .. }), "{refused}");
    let authority = world.0.files.authority.take();
    world.0.files.authority = strangers.authority;
    let untrusted = world.0.connect("ams").expect_err("a stranger's authority");
    assert!(untrusted.to_string().contains("certificate"), "{untrusted}");
    world.0.files.authority = authority;
    let lost = world.0.connect("ams").expect("a connection");
    world.0.stop();
    let error = lost.get(Bucket::Leases, "x").expect_err("nobody there");
    assert!(error.is_transient(), "{error}");
    let down = world.0.connect("ams").expect_err("nobody there");
    assert!(matches!(down, FleetError::Unreachable { .. }), "{down}");
}

/// What a server of 2.9.10 (Debian 12) reports when a client connects.
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
