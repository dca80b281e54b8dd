//! Ctrl-C and SIGTERM at any moment, at either end: what was measured is shown, and everything ends in order.

use super::fake::fake;
use super::support::{Server, start};
use linux::socket::TcpOptions;
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;

#[test]
fn ctrl_c_during_a_test_shows_what_was_measured() {
    let server = Server::start(&[]);
    let host = server.host();
    let modes: [&[&str]; 5] =
        [&["-P", "2"], &["-R"], &["--bidir"], &["-u", "-b", "20M"], &["-u", "-b", "20M", "-R"]];
    for (argv, signal) in modes.into_iter().zip(["INT", "TERM", "INT", "TERM", "INT"]) {
        let client = start(&[&["throughput", &host, "-t", "100s", "-i", "100ms"], argv].concat());
        client.wait_for("bit/s");
        client.signal(signal);
        let ended = client.end().code(0);
        for part in ["bit/s", "interrupted", "Details: -v"] {
            assert!(ended.stdout.contains(part), "{argv:?}: {part}\n{}\n{}", ended.stdout, ended.stderr);
        }
    }
    assert_eq!(server.stop().stderr.matches("the peer ended the test: interrupted").count(), 5);
}

#[test]
fn the_document_of_an_interrupted_test_has_both_ends() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["throughput", &host, "-t", "100s", "--bidir", "--format", "ndjson", "-i", "100ms"]);
    client.wait_for_output("\"sample\"");
    client.signal("INT");
    let ended = client.end().code(0);
    let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["summary"]["outcome"]["outcome"], "interrupted");
    for direction in ["up", "down"] {
        assert_eq!(last["summary"][direction]["receiver_unknown"], false, "{direction}: {last:#}");
        assert!(last["summary"][direction]["received"]["bytes"].as_u64().unwrap() > 0);
    }
    for (mine, theirs) in rows(&last, "local").iter().zip(rows(&last, "peer")) {
        assert_eq!(mine["total_bytes"], theirs["total_bytes"], "both ends agree to the byte");
    }
}

#[test]
fn ctrl_c_before_anything_was_measured() {
    // Waits for a greeting that does not come.
    for (command, signal) in [("throughput", "INT"), ("measure", "TERM")] {
        let (come, has_come) = mpsc::channel();
        let (host, thread) = fake(move |fake| {
            come.send(()).ok();
            fake.until_closed();
            Ok(())
        });
        let client = start(&[command, &host]);
        has_come.recv().expect("the client connects, or the script ends");
        client.signal(signal);
        client.end().code(4).prints("stopped before anything was measured");
        thread.join().unwrap().unwrap();
    }
    // Waits for its data flow to be welcomed.
    let (come, has_come) = mpsc::channel();
    let (host, thread) = fake(move |fake| {
        fake.let_in()?;
        come.send(()).ok();
        fake.until_closed();
        Ok(())
    });
    let client = start(&["throughput", &host, "--connect-timeout", "2s"]);
    has_come.recv().expect("the client is let in, or the script ends");
    client.signal("INT");
    client.end().code(4).prints("stopped before anything was measured");
    thread.join().unwrap().unwrap();
}

#[test]
fn ctrl_c_while_connecting_ends_at_once() {
    let (listener, _held) = full_listener();
    let address = listener.local_addr().expect("it listens");
    let host = address.to_string();
    for argv in [&["throughput"][..], &["measure"], &["mtu", "--protocol", "native"], &["latency"]] {
        // Without an end at once it would be another error, after a minute.
        let client = start(&[argv, &[&host, "--connect-timeout", "60s"]].concat());
        wait_for_attempt(address.port());
        client.signal("INT");
        client.end().code(4).prints("stopped before anything was measured");
    }
}

/// A listener that takes no more connections, and those that fill its queue: further attempts hang.
fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = linux::socket::tcp_listen(any, &TcpOptions::default(), 1).expect("loopback");
    let address = listener.local_addr().expect("it listens");
    let short = std::time::Duration::from_millis(300);
    let held = std::iter::from_fn(|| TcpStream::connect_timeout(&address, short).ok()).take(8).collect();
    (listener, held)
}

/// Waits until an attempt to connect to the port is in progress.
fn wait_for_attempt(port: u16) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let wanted = format!(":{port:04X} 02 ");
    while !std::fs::read_to_string("/proc/net/tcp").expect("the table of connections").contains(&wanted) {
        assert!(std::time::Instant::now() < deadline, "no client connects to port {port}");
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_during_measure_shows_the_parts_that_are_done() {
    let server = Server::start(&[]);
    let host = server.host();
    for (moment, part) in [("1/5", "Details: -v"), ("2/5", "idle"), ("3/5", "TCP"), ("4/5", "TCP")] {
        let client = start(&["measure", &host]);
        client.wait_for(moment);
        // A moment later the part has begun.
        std::thread::sleep(std::time::Duration::from_millis(150));
        client.signal("INT");
        let ended = client.end();
        assert!(matches!(ended.code, Some(0 | 4)), "{moment}: {ended:?}");
        let is_reported =
            ended.stdout.contains("interrupted") || ended.stderr.contains("stopped before anything");
        assert!(is_reported, "{moment}: it states that it was cut\n{}\n{}", ended.stdout, ended.stderr);
        assert!(
            ended.stdout.contains(part) || moment == "1/5",
            "{moment}: {part}\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
    }
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    // A server that never stops the test: without the second signal the client would wait for it.
    let (come, has_come) = mpsc::channel();
    let (host, _thread) = fake(move |fake| {
        let _flows = fake.begin(1)?;
        fake.receive("stop")?;
        come.send(()).ok();
        fake.until_closed();
        Ok(())
    });
    let client = start(&["throughput", &host, "-t", "100s", "-i", "100ms"]);
    client.wait_for("Time");
    client.signal("INT");
    has_come.recv().expect("the client asks for the end, or the script ends");
    // A signal that comes with the first one is no second one.
    std::thread::sleep(std::time::Duration::from_millis(400));
    client.signal("INT");
    client.end().code(130);
}

/// Signals as timeout(1) and a process group send them.
#[test]
fn signals_that_come_together_are_one() {
    let server = Server::start(&[]);
    let client = start(&["throughput", &server.host(), "-t", "100s", "-i", "100ms"]);
    client.wait_for("bit/s");
    let both = format!("kill -INT {0}; kill -TERM {0}", client.pid());
    assert!(std::process::Command::new("sh").args(["-c", &both]).status().unwrap().success());
    let ended = client.end().code(0);
    assert!(ended.stdout.contains("interrupted") && ended.stdout.contains("Details: -v"), "{ended:?}");
}

#[test]
fn a_server_that_is_stopped_gives_its_clients_their_results() {
    for argv in [&["-P", "2"][..], &["-R"], &["-u", "-b", "20M", "--bidir"]] {
        let server = Server::start(&[]);
        let host = server.host();
        let all = [&["throughput", &host, "-t", "100s", "-i", "100ms", "--format", "ndjson"], argv].concat();
        let client = start(&all);
        client.wait_for_output("\"sample\"");
        server.stop();
        let ended = client.end().prints("the peer ended the test").code(3);
        let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["summary"]["outcome"]["outcome"], "peer_stopped", "{argv:?}");
        assert!(!last["summary"]["peer"].is_null(), "{argv:?}: its results have come");
    }
}

#[test]
fn a_server_with_silent_clients_stops_too() {
    let server = Server::start(&[]);
    let _silent: Vec<_> =
        (0..20).map(|_| std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    server.process.signal("INT");
    server.process.end().code(0);
}

fn rows(run: &Value, end: &str) -> Vec<Value> {
    run["summary"][end]["streams"].as_array().unwrap().clone()
}

#[test]
fn watched_hops_end_with_a_summary_of_the_last_probes() {
    let server = Server::start(&[]);
    let port = server.host().rsplit(':').next().unwrap().to_owned();
    let argv = ["hops", "127.0.0.1", "--server-port", &port, "--watch", "-c", "5", "-i", "10ms"];
    let client = start(&[&argv[..], &["--no-mtu", "--format", "ndjson"]].concat());
    // The second comes long after the fifth round.
    client.wait_for_output("\"hops_sample\"");
    client.wait_for_output("\"at_ns\":1");
    client.signal("INT");
    let ended = client.end().code(0);
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sample = lines.iter().rev().find(|line| line["event"] == "hops_sample").unwrap();
    assert_eq!(sample["hops"][0]["address"], "127.0.0.1", "{sample:#}");
    let last = lines.last().unwrap();
    assert_eq!(last["summary"]["outcome"]["outcome"], "completed", "it was to be stopped");
    for found in [&last["summary"]["hops"], &last["summary"]["hops"]["back"]] {
        let sent = found["hops"][0]["sent"].as_u64().unwrap();
        assert!((4..=5).contains(&sent), "{found:#}");
    }
}
