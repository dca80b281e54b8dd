//! A mesh on this host: a real NATS server with the files that `mesh init` writes, two agents, and the matrix of their tests.

mod alerts;
mod certificates;
mod clocks;
mod confined;
mod documented;
mod faults;
mod foreign;
mod granted;
mod grown;
mod refused;
#[cfg(feature = "web")]
mod scraped;
mod secrets;
mod stopped;

use super::support::{Ended, Running, Scratch, free_port, run, skip, start};
use fleet::broker::nats::{Authority, Nats, NatsOptions, Reactor};
use fleet::setup::{COORDINATOR, seed};
use serde_json::Value;
use std::process::Command;
use std::time::{Duration, Instant};

/// The server of a mesh, which ends with its handle: it ends the program that it started.
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
    fn args(&self, args: &[&str], user: &str) -> Vec<String> {
        let (ca, key) = (format!("{}/ca.pem", self.folder), format!("{}/keys/{user}.seed", self.folder));
        let ours = ["--coordinator", &self.url, "--ca", &ca, "--key", &key];
        args.iter().chain(&ours).map(|word| (*word).to_owned()).collect()
    }

    fn run(&self, args: &[&str]) -> Ended {
        let args = self.args(args, "coordinator");
        run(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A coordinator that is left at work.
    fn start(&self, args: &[&str]) -> Running {
        let args = self.args(args, "coordinator");
        start(&args.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A connection to the server with the coordinator's key.
    fn broker(&self) -> Nats {
        let read = |file: &str| std::path::PathBuf::from(format!("{}/{file}", self.folder));
        let key = read("keys/coordinator.seed");
        let options = NatsOptions {
            server: self.url.clone(),
            name: COORDINATOR.to_owned(),
            seed: Some(seed(&key, &std::fs::read(&key).unwrap()).unwrap()),
            authority: Some(Authority::read(&read("ca.pem")).unwrap()),
            ..NatsOptions::default()
        };
        Nats::connect(&Reactor::start().unwrap(), &options).unwrap()
    }

    /// How often an agent's spool has this word: `begun`, `finished`.
    fn spooled(&self, agent: &str, word: &str) -> usize {
        spooled(&format!("{}/spool", self.folder), agent, word)
    }

    /// How many agents are there.
    fn agents(&self) -> usize {
        self.run(&["mesh", "show", "--json"]).code(0).json()["agents"].as_array().map_or(0, Vec::len)
    }

    /// Until so many agents are there.
    fn wait_for(&self, agents: usize) {
        while self.agents() < agents {}
    }

    fn agent(&self, name: &str, token: &str) -> Running {
        self.agent_with(name, token, &[])
    }

    fn agent_with(&self, name: &str, token: &str, more: &[&str]) -> Running {
        let (port, spool) = (free_port().to_string(), format!("{}/spool", self.folder));
        let args =
            ["agent", "run", "--name", name, "--port", &port, "--spool", &spool, "--token-file", token];
        let args = self.args(&[&args, more].concat(), name);
        let agent = start(&args.iter().map(String::as_str).collect::<Vec<_>>());
        agent.wait_for(&format!("agent {name} of"));
        agent
    }
}

/// How many lines of an agent's spool in this folder are of this kind.
fn spooled(folder: &str, agent: &str, word: &str) -> usize {
    let text = std::fs::read_to_string(format!("{folder}/{agent}.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(&format!("{{\"{word}\""))).count()
}

/// The command ended with this code, and its standard error names each of these.
#[track_caller]
fn refused(ended: Ended, code: i32, parts: &[&str]) {
    let Ended { stdout, stderr, .. } = ended.code(code);
    for part in parts {
        assert!(stderr.contains(part), "not named: {part}\n{stdout}\n{stderr}");
    }
}

/// Looks again and again, and not for ever.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < end, "not within two minutes: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A mesh of these agents, none of which is started; absent without a server.
fn mesh(test: &str, scratch: &Scratch, agents: &[&str]) -> Option<(Mesh, Hub)> {
    let (mesh, hub) = mesh_with(test, scratch, agents, |text| text)?;
    mesh.run(&["mesh", "doctor"]).code(0);
    Some((mesh, hub))
}

/// The same with a changed configuration of the server, in which no stream is made.
fn mesh_with(
    test: &str,
    scratch: &Scratch,
    agents: &[&str],
    change: impl Fn(String) -> String,
) -> Option<(Mesh, Hub)> {
    let program = std::env::var_os("PATHMETER_NATS_SERVER").unwrap_or_else(|| "nats-server".into());
    if Command::new(program).arg("--version").output().is_err() {
        skip(test, "no nats-server");
        return None;
    }
    let (folder, port) = (scratch.file("mesh", None), free_port());
    let listen = format!("127.0.0.1:{port}");
    let mut init = vec!["mesh", "init", &folder, "--listen", &listen, "--server", "localhost"];
    init.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
    run(&init).code(0);
    let configuration = format!("{folder}/server.conf");
    let text = std::fs::read_to_string(&configuration).unwrap();
    std::fs::write(&configuration, change(text)).unwrap();
    let up = start(&["mesh", "up", &folder]);
    up.wait_for("Server is ready");
    let mesh = Mesh { url: format!("tls://localhost:{port}"), folder };
    Some((mesh, Hub(Some(up))))
}

#[test]
fn two_agents_measure_each_other_and_nothing_twice() {
    let scratch = Scratch::new("mesh");
    let test = "two_agents_measure_each_other_and_nothing_twice";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let folder = mesh.folder.clone();
    // An agent's key is no coordinator's.
    let args = mesh.args(&["mesh", "doctor"], "ams");
    assert_ne!(run(&args.iter().map(String::as_str).collect::<Vec<_>>()).code, Some(0));

    let token = format!("{folder}/mesh.token");
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
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

    // A client without the token of the mesh is not served.
    let wrong_token = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    drop(_agents);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &wrong_token)];
    let refused = scratch.file("refused.jsonl", None);
    let ended = mesh.run(&["mesh", "run", "-t", "200ms", "--results", &refused]);
    assert!(ended.stdout.contains("token") && !ended.stdout.contains("bit/s"), "{}", ended.stdout);
}

/// Two pairs over one start: connected before it, measured from real events, summed over the time in which both ran.
#[test]
fn pairs_that_start_together_are_one_measurement() {
    let scratch = Scratch::new("together");
    let test = "pairs_that_start_together_are_one_measurement";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    // One agent does not listen: it opens the connections of both.
    let _agents = [mesh.agent("ams", &token), mesh.agent_with("fra", &token, &["--no-listen"])];
    mesh.wait_for(2);
    let pairs = ["mesh", "run", "--together", "--pair", "ams:fra", "--pair", "fra:ams", "-t", "1s"];
    let ended = mesh.run(&[&pairs[..], &["--json"]].concat());
    let run = ended.json();
    let sum = &run["summary"]["pairs"];
    let start = &sum["common_start"];
    assert_eq!((sum["asked"].as_u64(), run["tests"].as_array().unwrap().len()), (Some(2), 2), "{sum}");
    for (member, ends) in start["members"].as_array().unwrap().iter().zip([("ams", "fra"), ("fra", "ams")]) {
        assert_eq!((member["from"].as_str(), member["to"].as_str()), (Some(ends.0), Some(ends.1)));
        assert!(member["agent"] == "fra" && member["lease_token"].as_u64() > Some(0), "{member}");
        assert!(member["run"].is_string() && member["clock_error_ns"].as_u64() > Some(0), "{member}");
    }
    // No test begins before the given start.
    for test in run["tests"].as_array().unwrap() {
        assert!(test["started"].as_u64().unwrap() >= start["at"].as_u64().unwrap(), "{start}");
    }
    assert!(start["skew_ns"].is_u64() && sum["together"]["overlap_ns"].as_u64() > Some(0), "{sum}");
    assert!(sum["together"]["clocked"] == true, "{sum}");
    for direction in ["up", "down"] {
        assert!(sum["together"][direction]["goodput_bps"].as_u64() > Some(0), "{sum}");
    }
    let enough = start["overlap_share"].as_f64().unwrap() >= 0.9;
    assert_eq!(ended.code, Some(if enough { 0 } else { 4 }), "{start}");
    assert_eq!(start["void"].is_null(), enough);

    together_in_a_plan(&mesh, &scratch);
    let unknown = mesh.run(&["mesh", "run", "--together", "--pair", "ams:fro"]).code(2);
    assert!(unknown.stderr.contains("no agent is called `fro`"), "{}", unknown.stderr);
    // A pair without a result makes the sum void, and is named.
    let wrong_token = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    drop(_agents);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &wrong_token)];
    let ended = mesh.run(&["mesh", "run", "--together", "--pair", "ams:fra", "-t", "200ms"]).code(4);
    assert!(ended.stdout.contains("VOID") && ended.stdout.contains("token"), "{}", ended.stdout);
}

/// The same as a row of a plan, and kept as a run of a store.
fn together_in_a_plan(mesh: &Mesh, scratch: &Scratch) {
    let text = "title = \"Sum\"\nrepetitions = 1\n[paths.one]\nagent = \"fra\"\nto-agent = \"ams\"\n[paths.other]\nagent = \"fra\"\n\
                to-agent = \"ams\"\n[[tests]]\ntest = \"throughput\"\nstart = \"together\"\ntime = \"1s\"\n";
    let (plan, each) = (scratch.file("sum.toml", Some(text)), scratch.file("each", None));
    let report = mesh.run(&["plan", "run", &plan, "--json", "--each", &each]).json();
    let row = &report["rows"][0];
    assert_eq!(
        (&row["path"], &row["runs"][0]["agent"]),
        (&"one + other".into(), &"fra + fra".into()),
        "{row}"
    );
    assert!(row["runs"][0]["lease_token"].as_u64() > Some(0), "{row}");
    let file = std::fs::read_dir(&each).unwrap().next().unwrap().unwrap().path();
    let run: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let sum = &run["summary"]["pairs"];
    assert_eq!(run["tests"].as_array().unwrap().len(), 2, "{sum}");
    let members = sum["common_start"]["members"].as_array().unwrap();
    assert!(members.iter().all(|one| one["from"] == "fra" && one["to"] == "ams"), "{sum}");
    assert!(sum["together"]["up"]["goodput_bps"].as_u64() > Some(0), "{sum}");

    let store = scratch.file("runs.db", None);
    let night = ["mesh", "run", "--together", "--pair", "fra:ams", "--pair", "fra:ams", "-t", "300ms"];
    let run = mesh.run(&[&night[..], &["--save", "--store", &store, "--json"]].concat()).json();
    let args =
        ["history", "--target", "together fra:ams, fra:ams", "--label", "mesh", "--store", &store, "--json"];
    let kept = super::support::run(&args).code(0).json();
    assert_eq!((kept.as_array().unwrap().len(), &kept[0]["id"]), (1, &run["id"]), "{kept}");
}

/// From agent to agent, from an agent to a server of iPerf3, and from this host.
fn plan_over_agents(iperf3: &str, native: &str) -> String {
    format!(
        "title = \"Agents\"\nrepetitions = 2\n[paths.fra-ams]\nagent = \"fra\"\nto-agent = \"ams\"\n\
         [paths.foreign]\nagent = \"ams\"\nto = \"127.0.0.1:{iperf3}\"\n[paths.here]\nto = \"127.0.0.1:{native}\"\n\
         [[tests]]\ntest = \"throughput\"\npaths = [\"foreign\"]\nprotocol = \"iperf3\"\nbytes = \"10MB\"\n\
         [[tests]]\ntest = \"latency\"\npaths = [\"fra-ams\", \"here\"]\nsize = [64, 1400]\ncount = 200\n\
         expect = \"rtt.p50<10s\"\n"
    )
}

/// Without a server, and with agents that are not there or cannot be reached.
fn faulty_paths_are_named(mesh: &Mesh, scratch: &Scratch, plan: &str, right: &str) {
    let alone = run(&["plan", "run", plan, "--json", "--runs", "1"]);
    assert!(alone.stdout.contains("needs a fleet"), "{}", alone.stdout);
    for (from, to, message) in [
        (
            "to-agent = \"ams\"",
            "to-agent = \"amz\"",
            "agents.toml:5:12: no agent is called `amz`: did you mean `ams`?",
        ),
        ("agent = \"ams\"", "agent = \"lon\"", "agents.toml:5:"),
        ("to-agent = \"ams\"", "to-agent = \"fra\"", "agents.toml:5:12: `fra` to itself is not a path"),
        (
            "agent = \"fra\"\nto-agent = \"ams\"",
            "agent = \"ams\"\nto-agent = \"fra\"",
            "agents.toml:5:12: the agent `fra` does not listen",
        ),
    ] {
        let faulty = scratch.file("agents.toml", Some(&right.replacen(from, to, 1)));
        for command in ["check", "run"] {
            let ended = mesh.run(&["plan", command, &faulty]).code(2);
            assert!(ended.stderr.contains(message), "{}", ended.stderr);
        }
    }
}

/// Paths from agent to agent and from an agent to a host by a foreign protocol, in one plan beside a path of this host.
#[test]
fn a_plan_over_agents() {
    let scratch = Scratch::new("plan-agents");
    let test = "a_plan_over_agents";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let rules = scratch.file("rules.toml", Some("[agent]\nhosts = [\"127.0.0.0/8\"]\n"));
    let allowed = ["--config", rules.as_str()];
    let _agents = [
        mesh.agent_with("ams", &token, &allowed),
        mesh.agent_with("fra", &token, &["--no-listen", "--config", &rules]),
    ];
    mesh.wait_for(2);
    let (iperf3, native) = (free_port().to_string(), free_port().to_string());
    let foreign = start(&["serve", "--bind", "127.0.0.1", "-p", &native, &format!("--iperf3={iperf3}")]);
    foreign.wait_for(&iperf3);
    let right = plan_over_agents(&iperf3, &native);
    let plan = scratch.file("agents.toml", Some(&right));
    let report = mesh.run(&["plan", "run", &plan, "--json"]).code(0).json();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5, "{report}");
    let mut tokens = Vec::new();
    for row in rows {
        assert!(row["reason"].is_null(), "{row}");
        for run in row["runs"].as_array().unwrap() {
            let agent = match row["path"].as_str().unwrap() {
                "foreign" => Some("ams"),
                "fra-ams" => Some("fra"),
                _ => None,
            };
            assert_eq!(run["agent"].as_str(), agent, "{run}");
            assert_eq!(run["lease_token"].is_u64(), agent.is_some(), "{run}");
            tokens.extend(run["lease_token"].as_u64());
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 6, "each run has a token of its own");

    faulty_paths_are_named(&mesh, &scratch, &plan, &right);
    // An expectation over agents that is broken.
    let broken = scratch.file("broken.toml", Some(&right.replace("rtt.p50<10s", "rtt.p50<1ns")));
    mesh.run(&["plan", "run", &broken, "--runs", "1"]).code(1);
}

/// From an agent to a host that speaks other tools' protocols, and by both IP versions between agents.
#[test]
fn foreign_protocols_and_both_ip_versions_over_agents() {
    let scratch = Scratch::new("mesh-foreign");
    let test = "foreign_protocols_and_both_ip_versions_over_agents";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let rules = scratch.file("rules.toml", Some("[agent]\nhosts = [\"127.0.0.1\"]\n"));
    let both = ["--address", "127.0.0.1", "--address", "::1", "--config", &rules];
    let _agents = [mesh.agent_with("ams", &token, &both), mesh.agent_with("fra", &token, &both)];
    mesh.wait_for(2);
    let protocols = ["iperf2", "sockperf", "stamp", "twamp"];
    let ports = protocols.map(|_| free_port());
    let native = free_port().to_string();
    let mut args: Vec<String> = ["serve", "--bind", "127.0.0.1", "-p", &native].map(str::to_owned).to_vec();
    args.extend(protocols.iter().zip(ports).map(|(protocol, port)| format!("--{protocol}={port}")));
    let server = start(&args.iter().map(String::as_str).collect::<Vec<_>>());
    server.wait_for("listening on");
    let mut plan =
        "title = \"Foreign\"\nrepetitions = 1\n[paths.far]\nagent = \"ams\"\nto = \"127.0.0.1\"\n".to_owned();
    for (protocol, port) in protocols.iter().zip(ports) {
        let kind = if *protocol == "iperf2" { "throughput" } else { "latency" };
        plan += &format!(
            "[[tests]]\nname = \"{protocol}\"\ntest = \"{kind}\"\nprotocol = \"{protocol}\"\nport = {port}\ntime = \"500ms\"\n"
        );
    }
    let file = scratch.file("foreign.toml", Some(&plan));
    let report = mesh.run(&["plan", "run", &file, "--json"]).json();
    for row in report["rows"].as_array().unwrap() {
        let run = &row["runs"][0];
        assert!(row["reason"].is_null() && run["agent"] == "ams", "{row}");
        assert!(!run["figures"].as_array().unwrap().is_empty(), "{row}");
    }

    let results = scratch.file("both.jsonl", None);
    let night =
        ["mesh", "run", "--ip", "both", "--test", "latency", "-t", "100ms", "--results", &results, "--json"];
    let report = mesh.run(&night).code(0).json();
    let cells: Vec<(u64, &str, &str)> = report["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| {
            let text = |key: &str| cell[key].as_str().unwrap();
            (cell["family"].as_u64().unwrap(), text("target"), text("state"))
        })
        .collect();
    assert_eq!(cells, [(4, "ams -> fra IPv4", "done"), (6, "ams -> fra IPv6", "done")]);
}

/// Every time of a schedule has its rows: what was measured, what a dead coordinator left, and when none was at work.
#[test]
fn a_schedule_has_a_row_for_every_time() {
    let scratch = Scratch::new("schedule");
    let test = "a_schedule_has_a_row_for_every_time";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let start_with = |results: &str, schedule: &str| {
        let args =
            ["mesh", "run", "--schedule", schedule, "--splay", "0s", "--test", "latency", "-t", "100ms"];
        let args = mesh.args(&[&args[..], &["--results", results]].concat(), "coordinator");
        start(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let rows_of = |results: &str, state: &str, least: usize| {
        for _ in 0..600 {
            let list = run(&["mesh", "show", "--results", results, "--runs", "--json"]).code(0).json();
            let rows: Vec<serde_json::Value> = list["runs"].as_array().unwrap().clone();
            let rows: Vec<serde_json::Value> = rows.into_iter().filter(|row| row["state"] == state).collect();
            if rows.len() >= least {
                return rows;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("not {least} runs are {state}");
    };
    let results = scratch.file("series.jsonl", Some(""));
    let series = start_with(&results, "@every 1s");
    let done = rows_of(&results, "done", 2);
    assert!(
        done.iter().all(|row| row["title"] == "latency ams -> fra" && row["lease_token"].is_u64()),
        "{done:?}"
    );
    assert_ne!(done[0]["run"], done[1]["run"]);
    series.signal("INT");
    series.end();

    // A coordinator died 90 minutes ago, in the middle of a mesh.
    let half = 1_800_000_000_000_u128;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let begun = format!("{{\"begins\":{{\"due\":{}}}}}\n", (now / half - 3) * half);
    let results = scratch.file("old.jsonl", Some(&begun));
    let series = start_with(&results, "@every 30m");
    let missed = rows_of(&results, "missed", 3);
    let reasons: Vec<&str> = missed.iter().map(|row| row["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons[0], "the coordinator stopped before it ended", "{missed:?}");
    assert!(reasons[1..].iter().all(|why| *why == "no coordinator was at work then"), "{missed:?}");
    series.signal("INT");
    series.end();

    let faulty = mesh.run(&["mesh", "run", "--schedule", "0 3 * * *", "--zone", "Mars/Olympus"]).code(2);
    assert!(faulty.stderr.contains("Mars/Olympus"), "{}", faulty.stderr);
    let shown =
        mesh.run(&["mesh", "run", "--schedule", "0 3 * * *", "--zone", "Europe/Berlin", "--dry-run"]).code(0);
    assert!(shown.stdout.contains("next at "), "{}", shown.stdout);
    // One server cannot keep three copies, and reports it.
    let copies = mesh.run(&["mesh", "run", "--replicas", "3", "--dry-run"]).code(3);
    assert!(copies.stderr.contains("replicas"), "{}", copies.stderr);
    let link = mesh.run(&["mesh", "run", "--link", "backbone=0,ams:fra", "--dry-run"]).code(2);
    assert!(link.stderr.contains("capacity"), "{}", link.stderr);
}
