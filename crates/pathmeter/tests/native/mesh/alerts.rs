//! Alerts of a mesh: they are delivered also after the program that was to send them was killed.

use super::super::support::{Scratch, run};
use super::mesh;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

/// Takes one request of HTTP; its body.
fn taken(listener: &TcpListener) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn an_alert_that_a_killed_coordinator_did_not_deliver_is_delivered_by_the_next() {
    let scratch = Scratch::new("mesh-alerts");
    let test = "an_alert_that_a_killed_coordinator_did_not_deliver_is_delivered_by_the_next";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    // One does not let the other in.
    let wrong_token = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    let _agents = [mesh.agent("ams", &token), mesh.agent("fra", &wrong_token)];
    mesh.wait_for(2);
    let address = TcpListener::bind("127.0.0.1:0").and_then(|one| one.local_addr()).unwrap();
    let (hook, store) = (format!("http://{address}/hook"), scratch.file("runs.db", None));
    let metrics = scratch.file("alerts.prom", None);
    let night = |results: &str| {
        let results = scratch.file(results, None);
        let args = ["mesh", "run", "--test", "latency", "-t", "100ms", "--save", "--json"];
        let more = ["--results", &results, "--store", &store, "--alert-webhook", &hook];
        let more = [&args[..], &more, &["--alert-metrics", &metrics]].concat();
        more.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let start = |results: &str| {
        let args = night(results);
        mesh.start(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    // No server listens at the address; the coordinator is killed while it tries again.
    let first = start("monday.jsonl");
    first.wait_for("ALERT ams -> fra");
    first.signal("KILL");
    first.end();
    let listener = TcpListener::bind(address).unwrap();
    let second = start("tuesday.jsonl");
    let reported = taken(&listener);
    let expected = ("unreachable", "ams -> fra");
    assert_eq!(
        (reported["alert"].as_str().unwrap(), reported["target"].as_str().unwrap()),
        expected,
        "{reported}"
    );
    assert!(!second.end().code(3).stderr.contains("ALERT"), "it was reported on Monday");
    // A delivered alert is not delivered again.
    start("wednesday.jsonl").end().code(3);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "once");
    // A monitor of the coordinator knows when it was last at work.
    let text = std::fs::read_to_string(&metrics).unwrap();
    let beat = text
        .lines()
        .find_map(|line| line.strip_prefix("pathmeter_alert_round_timestamp_seconds{of=\"mesh\"} "));
    assert!(beat.unwrap().parse::<f64>().unwrap() > 1.7e9, "{text}");
    let unreachable = "alert=\"unreachable\"} 1";
    assert!(text.contains(unreachable), "{text}");
}

/// Pairs that start together are measured again before an alert is sent, and each change is reported once.
#[test]
fn pairs_that_start_together_are_reported_once() {
    let scratch = Scratch::new("mesh-alerts-together");
    let test = "pairs_that_start_together_are_reported_once";
    let Some((mesh, _hub)) = mesh(test, &scratch, &["ams", "fra"]) else { return };
    let token = format!("{}/mesh.token", mesh.folder);
    let wrong_token = scratch.file("another.token", Some("another token of more than sixteen bytes"));
    let (store, reported) = (scratch.file("runs.db", None), scratch.file("reported", None));
    let hook = format!("echo \"$PATHMETER_ALERT $PATHMETER_TARGET\" >> {reported}");
    let night = || {
        let args = ["mesh", "run", "--together", "--pair", "ams:fra", "-t", "200ms", "--json"];
        mesh.run(&[&args[..], &["--save", "--store", &store, "--alert", &hook]].concat())
    };
    let kept = || {
        let args = ["history", "--target", "together ams:fra", "--store", &store, "--json"];
        run(&args).code(0).json().as_array().unwrap().len()
    };
    let _ams = mesh.agent("ams", &token);
    {
        let _fra = mesh.agent("fra", &wrong_token);
        mesh.wait_for(2);
        night().code(4).prints("ALERT together ams:fra");
        assert_eq!(kept(), 2, "it was measured again before it was reported");
        assert!(!night().code(4).stderr.contains("ALERT"), "it is known");
        assert_eq!(kept(), 3, "what is known is not measured again");
    }
    let _fra = mesh.agent("fra", &token);
    night().prints("ALERT together ams:fra");
    let lines = std::fs::read_to_string(&reported).unwrap();
    assert_eq!(lines, "unreachable together ams:fra\nreachable together ams:fra\n");
}
