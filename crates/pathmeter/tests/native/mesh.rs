//! A mesh on this host: a real NATS server with the files that `mesh init` writes, two agents, and the matrix of their tests.

mod faults;

use super::support::{Ended, Running, Scratch, free_port, run, skip, start};
use serde_json::Value;
use std::process::Command;

/// The server of a mesh, asked to end with its handle: it ends the program that it started.
struct Hub(Option<Running>);

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.signal("TERM");
            running.end();
        }
    }
}

/// A coordinator's command.
struct Mesh {
    folder: String,
    url: String,
}

impl Mesh {
    /// With the key of this user of the server.
    fn words(&self, words: &[&str], user: &str) -> Vec<String> {
        let (ca, key) = (format!("{}/ca.pem", self.folder), format!("{}/keys/{user}.seed", self.folder));
        let ours = ["--coordinator", &self.url, "--ca", &ca, "--key", &key];
        words.iter().chain(&ours).map(|word| (*word).to_owned()).collect()
    }

    fn run(&self, words: &[&str]) -> Ended {
        let words = self.words(words, "coordinator");
        run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn agent(&self, name: &str, token: &str) -> Running {
        let (port, spool) = (free_port().to_string(), format!("{}/spool", self.folder));
        let words =
            ["agent", "run", "--name", name, "--port", &port, "--spool", &spool, "--token-file", token];
        let words = self.words(&words, name);
        let agent = start(&words.iter().map(String::as_str).collect::<Vec<_>>());
        agent.wait_for(&format!("agent {name} of"));
        agent
    }
}

#[test]
fn two_agents_measure_each_other_and_nothing_twice() {
    let program = std::env::var_os("PATHMETER_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    if Command::new(program).arg("--version").output().is_err() {
        return skip("two_agents_measure_each_other_and_nothing_twice", "no nats-server");
    }
    let scratch = Scratch::new("mesh");
    let (folder, port) = (scratch.file("mesh", None), free_port());
    let listen = format!("127.0.0.1:{port}");
    let init = [
        "mesh",
        "init",
        &folder,
        "--agent",
        "ams",
        "--agent",
        "fra",
        "--listen",
        &listen,
        "--server",
        "localhost",
    ];
    run(&init).code(0);
    let up = start(&["mesh", "up", &folder]);
    up.wait_for("Server is ready");
    let _hub = Hub(Some(up));
    let mesh = Mesh { url: format!("tls://localhost:{port}"), folder: folder.clone() };
    mesh.run(&["mesh", "doctor"]).code(0);
    // An agent's key is no coordinator's.
    let words = mesh.words(&["mesh", "doctor"], "ams");
    assert_ne!(run(&words.iter().map(String::as_str).collect::<Vec<_>>()).code, Some(0));

    let token = format!("{folder}/mesh.token");
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    while mesh.run(&["mesh", "show"]).code(0).stdout.lines().count() < 3 {}
    let results = scratch.file("night.jsonl", None);
    let store = scratch.file("runs.db", None);
    let night = ["mesh", "run", "-t", "200ms", "--results", &results, "--save", "--store", &store, "--json"];
    let report = mesh.run(&night).code(0).json();
    for (cell, path) in report["cells"].as_array().unwrap().iter().zip(["ams -> fra", "fra -> ams"]) {
        assert!(
            cell["state"] == "done" && cell["target"] == path && cell["figure"]["value"].as_f64() > Some(0.0),
            "{cell}"
        );
        // Each cell is a run of the store, with the history of its path.
        let kept = run(&["history", "--target", path, "--label", "mesh", "--store", &store, "--json"])
            .code(0)
            .json();
        assert_eq!((kept.as_array().unwrap().len(), &kept[0]["id"]), (1, &cell["run"]), "{kept}");
    }
    // The same run again has nothing left to do, and keeps nothing twice.
    let written = std::fs::read_to_string(&results).unwrap();
    assert_eq!(mesh.run(&night).code(0).json(), report);
    assert_eq!(std::fs::read_to_string(&results).unwrap(), written);
    let saved = run(&["mesh", "show", "--saved", "mesh", "--store", &store, "--json"]).code(0).json();
    let runs = |report: &Value| -> Vec<Value> {
        report["cells"].as_array().unwrap().iter().map(|cell| cell["run"].clone()).collect()
    };
    assert_eq!(runs(&saved), runs(&report));
    assert_eq!(run(&["history", "--store", &store, "--json"]).code(0).json().as_array().unwrap().len(), 2);

    // Packet sizes are measured in both directions at once, and shown again from the file.
    let sizes = scratch.file("sizes.jsonl", None);
    let report = mesh.run(&["mesh", "run", "--test", "mtu", "--results", &sizes, "--json"]).code(0).json();
    let states: Vec<&Value> = report["cells"].as_array().unwrap().iter().map(|cell| &cell["state"]).collect();
    assert_eq!(states, ["done", "done"], "{report}");
    let shown = run(&["mesh", "show", "--results", &sizes, "--json"]).code(0).json();
    assert_eq!(runs(&shown), runs(&report));

    // Whoever does not know the token of the mesh is not served.
    let stranger = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    drop(_agents);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &stranger)];
    let refused = scratch.file("refused.jsonl", None);
    let ended = mesh.run(&["mesh", "run", "-t", "200ms", "--results", &refused]);
    assert!(ended.stdout.contains("token") && !ended.stdout.contains("bit/s"), "{}", ended.stdout);
}
