//! Servers, keys and names that do not fit a mesh: each is refused by name, with advice.

use super::super::support::{Ended, Running, Scratch, free_port, run, start};
use super::{Mesh, mesh, mesh_with, refused, until};
use fleet::FleetError;
use fleet::broker::nats::Nats;
use fleet::broker::{Broker, Log};
use model::units::Nanos;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

/// The commands of a coordinator and of an agent with these options, run to their ends.
fn all(scratch: &Scratch, options: &[&str]) -> [Ended; 4] {
    let (spool, results) = (scratch.file("spool-refused", None), scratch.file("refused.jsonl", None));
    let port = free_port().to_string();
    let agent = ["agent", "run", "--name", "ams", "--port", &port, "--spool", &spool];
    [&["mesh", "doctor"][..], &["mesh", "show"], &["mesh", "run", "--results", &results], &agent]
        .map(|args| run(&[args, options].concat()))
}

/// A server of NATS 2.9.10 (Debian 12), as far as a client that connects finds out.
#[test]
fn an_older_server_is_refused_by_its_version() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let info =
                r#"INFO {"server_id":"N","version":"2.9.10","proto":1,"max_payload":1048576,"headers":true}"#;
            let _ = stream.write_all(format!("{info}\r\n").as_bytes());
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    if line.trim() == "PING" && stream.write_all(b"PONG\r\n").is_err() {
                        return;
                    }
                }
            });
        }
    });
    for ended in all(&Scratch::new("mesh-old"), &["--coordinator", &url]) {
        let version = format!("the NATS server {url} is version 2.9.10; a mesh needs 2.11");
        refused(ended, 3, &[&version, "https://nats.io/download"]);
    }
}

#[test]
fn keys_of_another_mesh_are_refused() {
    let scratch = Scratch::new("mesh-other");
    let Some((mesh, _hub)) = mesh("keys_of_another_mesh_are_refused", &scratch, &["ams"]) else { return };
    let other = scratch.file("other", None);
    run(&["mesh", "init", &other, "--agent", "ams", "--server", "localhost"]).code(0);
    let ca = format!("{}/ca.pem", mesh.folder);
    for user in ["coordinator", "ams"] {
        let key = format!("{other}/keys/{user}.seed");
        for ended in all(&scratch, &["--coordinator", &mesh.url, "--ca", &ca, "--key", &key]) {
            refused(ended, 3, &["refuses this key", "--key FILE"]);
        }
        // The one file of a host of the other mesh has the other authority, too.
        let join = format!("{other}/agents/{user}.agent");
        for ended in all(&scratch, &["--coordinator", &mesh.url, "--join", &join]) {
            refused(ended, 3, &["is not trusted", "--ca FILE"]);
        }
    }
}

#[test]
fn a_server_without_jetstream_is_named() {
    let scratch = Scratch::new("mesh-plain");
    let test = "a_server_without_jetstream_is_named";
    let without = |text: String| {
        let (before, rest) = text.split_once("jetstream {").unwrap();
        let (_, after) = rest.split_once('}').unwrap();
        before.to_owned() + after
    };
    let Some((mesh, _hub)) = mesh_with(test, &scratch, &["ams", "fra"], without) else { return };
    let named = format!("the NATS server {} has no JetStream", mesh.url);
    for args in [&["mesh", "doctor"][..], &["mesh", "show"], &["mesh", "run"]] {
        refused(mesh.run(args), 3, &[&named, "jetstream {"]);
    }
    // An agent waits for it, and reports for what.
    let agent = mesh.agent("ams", &format!("{}/mesh.token", mesh.folder));
    agent.wait_for(&named);
}

/// Appends jobs that no agent takes, until the server accepts no more.
fn fill(broker: &Nats) {
    let data = vec![b'x'; 100_000];
    for number in 0..100 {
        match broker.append(Log::Jobs, "none", &format!("filler-{number}"), &data) {
            Ok(_) => {}
            Err(error) => return assert!(matches!(error, FleetError::Full { .. }), "{error}"),
        }
    }
    panic!("10 MB have found room in 2 MB");
}

fn make_room(broker: &Nats) {
    let mut filler = broker.consume(Log::Jobs, "none", Some("none"), Nanos::from_secs(20)).unwrap();
    while let Some(delivery) = filler.next(Nanos::from_secs(1)).unwrap() {
        broker.done(&delivery).unwrap();
    }
}

#[test]
fn a_server_whose_storage_is_full_is_named_and_waited_for() {
    let scratch = Scratch::new("mesh-full");
    let test = "a_server_whose_storage_is_full_is_named_and_waited_for";
    let small = |text: String| text.replace("jetstream {\n", "jetstream {\n    max_file_store: 2MB\n");
    let Some((mesh, _hub)) = mesh_with(test, &scratch, &["ams", "fra"], small) else { return };
    mesh.run(&["mesh", "doctor"]).code(0);
    let token = format!("{}/mesh.token", mesh.folder);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let broker = mesh.broker();
    fill(&broker);
    let full = format!("the storage of the NATS server {} is full", mesh.url);
    refused(mesh.run(&["mesh", "doctor"]), 2, &[&full, "max_file_store"]);
    let results = scratch.file("night.jsonl", None);
    let night = ["mesh", "run", "--test", "latency", "-t", "200ms", "--results", &results, "--json"];
    let coordinator = mesh.start(&night);
    coordinator.wait_for(&full);
    make_room(&broker);
    let report = coordinator.end().code(0).json();
    assert_eq!(report["cells"][0]["state"], "done", "{report}");
}

/// A mesh that is left at work: its name and its file of results.
fn begin(mesh: &Mesh, name: &str, file: &str, time: &str) -> Running {
    let args = ["mesh", "run", "--test", "latency", "-t", time, "--name", name, "--results", file, "--json"];
    mesh.start(&args)
}

/// Two meshes over one server are kept apart by their names; one name is refused at once.
#[test]
fn two_meshes_on_one_server_are_kept_apart() {
    let scratch = Scratch::new("mesh-two-names");
    let test = "two_meshes_on_one_server_are_kept_apart";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let [night, noon, other] =
        ["night", "noon", "other"].map(|name| scratch.file(&format!("{name}.jsonl"), None));
    let first = begin(&mesh, "night", &night, "4s");
    until("the first has begun", || mesh.spooled("ams", "begun") > 0);
    let second = begin(&mesh, "noon", &noon, "200ms");
    refused(begin(&mesh, "night", &other, "200ms").end(), 2, &["`night` was measured before as"]);
    let reports = [first.end().code(0).json(), second.end().code(0).json()];
    let run_of = |report: &serde_json::Value| report["cells"][0]["run"].as_str().unwrap().to_owned();
    let runs = [run_of(&reports[0]), run_of(&reports[1])];
    assert_ne!(runs[0], runs[1]);
    for (own, file) in [(0, &night), (1, &noon)] {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(&runs[own]) && !text.contains(&runs[1 - own]), "{text}");
        let shown = start(&["mesh", "show", "--results", file, "--json"]).end().code(0).json();
        assert_eq!(run_of(&shown), runs[own]);
    }
    let left = std::fs::read_to_string(&other).unwrap_or_default();
    assert!(!left.contains("\"outcome\""), "{left}");
}
