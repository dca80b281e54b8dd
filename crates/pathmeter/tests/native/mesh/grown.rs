//! A mesh that grows and shrinks while it runs, by one file and one command for each host, and names that are used once.

use super::super::support::{Scratch, free_port, run, skip, start};
use super::{mesh, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// The answer of a page of metrics; empty while it does not listen.
fn read(address: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(address) else { return String::new() };
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Debian's `promtool` finds nothing wrong with what a page answered.
fn lint(test: &str, answer: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    assert!(!head.to_ascii_lowercase().contains("chunked"), "{head}");
    let mut check = Command::new("promtool");
    let check =
        check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut check) = check.spawn() else {
        return skip(test, "prometheus is not installed (Debian: prometheus)");
    };
    check.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let ended = check.wait_with_output().unwrap();
    let faults = String::from_utf8_lossy(&ended.stdout) + String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && faults.trim().is_empty(), "{faults}\n{body}");
}

#[test]
fn a_running_mesh_grows_and_shrinks() {
    let scratch = Scratch::new("mesh-grown");
    let test = "a_running_mesh_grows_and_shrinks";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let folder = mesh.folder.clone();
    let twice = run(&["mesh", "init", &folder, "--agent", "lon"]).code(2);
    assert!(twice.stderr.contains("of the agents ams, fra"), "{}", twice.stderr);
    assert!(twice.stderr.contains("mesh agent add"), "{}", twice.stderr);

    let added = run(&["mesh", "agent", "add", &folder, "lon"]).code(0);
    assert!(
        added.stdout.contains("takes it now") && added.stdout.contains("--join lon.agent"),
        "{}",
        added.stdout
    );
    let join = format!("{folder}/agents/lon.agent");
    let spool = scratch.file("spool-lon", None);
    let (port, metrics) = (free_port().to_string(), format!("127.0.0.1:{}", free_port()));
    let agent =
        start(&["agent", "run", "--join", &join, "--port", &port, "--spool", &spool, "--metrics", &metrics]);
    agent.wait_for("agent lon of");
    mesh.wait_for(1);
    until("the metrics show it", || {
        let text = read(&metrics);
        text.contains("pathmeter_agent_connected{agent=\"lon\"} 1")
            && text.contains("pathmeter_agent_has_name{agent=\"lon\"} 1")
    });
    // A real Prometheus finds nothing wrong with them.
    lint(test, &read(&metrics));
    agent.signal("TERM");
    agent.end();

    // A new key: the old one is refused at once, the others go on.
    let old = scratch.file("old.agent", Some(""));
    std::fs::copy(&join, &old).unwrap();
    run(&["mesh", "agent", "renew", &folder, "lon"]).code(0);
    let with = |file: &str| {
        start(&["agent", "run", "--join", file, "--port", &free_port().to_string(), "--spool", &spool])
    };
    let refused = with(&old).end();
    assert!(refused.code == Some(3) && refused.stderr.contains("refuses this key"), "{}", refused.stderr);
    let agent = with(&join);
    agent.wait_for("agent lon of");
    agent.signal("TERM");
    agent.end();

    std::fs::copy(&join, &old).unwrap();
    run(&["mesh", "agent", "remove", &folder, "lon"]).code(0);
    let refused = with(&old).end();
    assert!(refused.code == Some(3) && refused.stderr.contains("refuses this key"), "{}", refused.stderr);
    assert_eq!(run(&["mesh", "agent", "list", &folder]).code(0).stdout, "ams\nfra\n");
    let unknown = run(&["mesh", "agent", "remove", &folder, "amz"]).code(2);
    assert!(unknown.stderr.contains("no agent is called `amz`"), "{}", unknown.stderr);
}

#[test]
fn a_name_is_used_once_and_attempts_are_counted() {
    let scratch = Scratch::new("mesh-names");
    let test = "a_name_is_used_once_and_attempts_are_counted";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let other = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    let mut agents = vec![mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let night = |results: &str, more: &[&str]| {
        let results = scratch.file(results, None);
        let args = ["mesh", "run", "--test", "latency", "-t", "100ms", "--json", "--results", &results];
        mesh.run(&[&args[..], more].concat())
    };
    // The default name is of the file alone: one that was removed is measured anew.
    night("a.jsonl", &[]).code(0);
    std::fs::remove_file(scratch.file("a.jsonl", None)).unwrap();
    night("a.jsonl", &[]).code(0);
    night("b.jsonl", &["--name", "night"]).code(0);
    night("b.jsonl", &["--name", "night"]).code(0);
    let refused = night("c.jsonl", &["--name", "night"]).code(2);
    assert!(
        refused.stderr.contains("`night` was measured before as ") && refused.stderr.contains("b.jsonl"),
        "{}",
        refused.stderr
    );
    night("c.jsonl", &["--name", "night", "--again"]).code(0);

    // A path that failed stays so, until it is measured again as another attempt.
    drop(agents.pop());
    agents.push(mesh.agent("fra", &other));
    mesh.wait_for(2);
    night("d.jsonl", &[]).code(3);
    night("d.jsonl", &[]).code(3);
    drop(agents.pop());
    agents.push(mesh.agent("fra", &token));
    mesh.wait_for(2);
    night("d.jsonl", &["--again", "void"]).code(3);
    let report = night("d.jsonl", &["--again", "failed,void"]).code(0).json();
    assert_eq!(
        (&report["cells"][0]["state"], report["cells"][0]["attempt"].as_u64()),
        (&"done".into(), Some(2)),
        "{report}"
    );
    let list = run(&["mesh", "show", "--results", &scratch.file("d.jsonl", None), "--runs", "--json"]).json();
    let rows: Vec<(&str, u64)> = list["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["state"].as_str().unwrap(), row["attempt"].as_u64().unwrap()))
        .collect();
    assert_eq!(rows, [("failed", 1), ("done", 2)]);
}

/// A lease is shown with its holder, and freed with a reason that stays.
#[test]
fn a_lease_is_shown_and_freed() {
    let scratch = Scratch::new("mesh-free");
    let Some((mesh, _hub)) = mesh("a_lease_is_shown_and_freed", &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &token)];
    mesh.wait_for(2);
    let results = scratch.file("long.jsonl", None);
    let long = ["mesh", "run", "--test", "latency", "-t", "100s", "--json", "--results", &results];
    let coordinator = mesh.start(&long);
    until("the run has its lease", || mesh.spooled("ams", "begun") > 0);
    let shown = mesh.run(&["mesh", "show", "--json"]).code(0).json();
    let leases = shown["leases"].as_array().unwrap();
    let held = leases.iter().find(|one| one["holder"] == "latency ams -> fra by ams").expect("its lease");
    let lease = held["lease"].as_str().unwrap();
    assert!(held["what"].as_str().unwrap().contains(" of ") && held["since"].is_u64(), "{held}");
    let unknown = mesh.run(&["mesh", "free", "nic.none", "--reason", "x"]);
    assert!(
        unknown.code == Some(3) && unknown.stderr.contains("this lease has no holder"),
        "{}",
        unknown.stderr
    );
    mesh.run(&["mesh", "free", lease, "--reason", "the host is moved"]).code(0);
    let report = coordinator.end().code(4).json();
    let cell = &report["cells"][0];
    assert_eq!(
        (&cell["state"], &cell["reason"]),
        (&"void".into(), &"lease freed: the host is moved".into()),
        "{report}"
    );
    let shown = mesh.run(&["mesh", "show", "--json"]).code(0).json();
    assert_eq!(shown["freed"][0]["reason"], "the host is moved", "{shown}");
}
