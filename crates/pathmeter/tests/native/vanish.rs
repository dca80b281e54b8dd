//! Ends that vanish in the middle of a test: the other ends by itself, shows what it measured, and is good for the next.

use super::fake::{Fake, fake};
use super::relay::{Delivery, carry_connections, carry_datagrams};
use super::support::{Server, start};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_server_that_is_killed_during_a_test() {
    for args in [&["-P", "2"][..], &["-R"], &["-u", "-b", "20M"], &["-u", "-b", "20M", "-R"]] {
        let server = Server::start(&[]);
        let host = server.host();
        let all = [&["throughput", &host, "-t", "100s", "-i", "300ms", "--format", "ndjson"], args].concat();
        let client = start(&all);
        client.wait_for_output("\"sample\"");
        server.process.signal("KILL");
        let ended = client.end().code(3).prints(&host);
        let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["summary"]["outcome"]["outcome"], "failed", "{args:?}");
        let local = &last["summary"]["local"]["streams"][0];
        assert!(local["total_bytes"].as_u64().unwrap() > 0, "{args:?}: what was measured is shown");
        assert_ne!(last["summary"]["local"], Value::Null);
    }
}

#[test]
fn a_server_that_is_frozen_during_a_test() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["throughput", &host, "-t", "100s", "-i", "100ms", "-R"]);
    client.wait_for("bit/s");
    server.process.signal("STOP");
    let ended = client.end();
    server.process.signal("CONT");
    let ended = ended.code(3).prints("it has vanished");
    assert!(ended.stdout.contains("Details: -v"), "{}", ended.stdout);
}

#[test]
fn a_server_that_is_killed_during_measure() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["measure", &host, "--json"]);
    client.wait_for("3/5");
    server.process.signal("KILL");
    let ended = client.end().code(3).prints(&host);
    let run = ended.json();
    assert!(run["summary"]["rtt_ns"]["count"].as_u64().unwrap() > 0, "the probes are not lost: {run:#}");
    assert!(!run["tests"].as_array().unwrap().is_empty(), "the first test is not lost");
}

/// Earlier and further measurements are not lost.
#[test]
fn a_server_that_ends_the_probes_is_measured_without_the_rest_of_them() {
    let server = Server::start(&[]);
    let port = server.port;
    let over = Arc::<AtomicBool>::default();
    let (for_tcp, for_udp) = (over.clone(), over.clone());
    let (host, connections) = fake(move |fake| {
        end_the_probes(fake, port)?;
        carry_connections(&fake.door()?, port, &for_tcp);
        Ok(())
    });
    let near = UdpSocket::bind(&host).expect("the port is as free for UDP");
    near.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let datagrams = std::thread::spawn(move || carry_datagrams(&near, port, |_| Delivery::Once, &for_udp));
    let ended = start(&["measure", &host, "--quick", "--json"]).end();
    over.store(true, Ordering::Release);
    connections.join().unwrap().unwrap();
    datagrams.join().unwrap();
    let run = ended.code(0).prints("the time for probes is over: going on with TCP alone").json();
    assert!(run["summary"]["rtt_ns"]["count"].as_u64().unwrap() > 0, "{run:#}");
    assert_eq!(run["tests"].as_array().unwrap().len(), 2, "TCP up and down: {run:#}");
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning["id"] == "probe-failed"), "{warnings:#?}");
}

/// Carries the messages of the client and a server, until the server's report of the path, which is never passed on.
fn end_the_probes(fake: &mut Fake, server: u16) -> io::Result<()> {
    let mut far = TcpStream::connect(("127.0.0.1", server))?;
    let (mut from, mut to) = (fake.control.try_clone()?, far.try_clone()?);
    let up = std::thread::spawn(move || io::copy(&mut from, &mut to));
    let mut greeting = [0; 10];
    far.read_exact(&mut greeting)?;
    fake.control.write_all(&greeting)?;
    loop {
        let mut length = [0; 4];
        far.read_exact(&mut length)?;
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        far.read_exact(&mut text)?;
        let message: Value = serde_json::from_slice(&text)?;
        if message["type"] == "path_seen" {
            break;
        }
        fake.control.write_all(&[&length[..], &text].concat())?;
    }
    fake.send(&json!({"type": "stop", "reason": "the time for probes is over"}))?;
    up.join().expect("it only copies").ok();
    Ok(())
}

#[test]
fn clients_that_vanish_leave_the_server_good_for_the_next() {
    let server = Server::start(&["--max-tests", "2"]);
    let host = server.host();
    for args in [&["-P", "2"][..], &["-R"], &["-u", "-b", "20M"], &["-u", "-b", "20M", "-R"]] {
        let client = start(&[&["throughput", &host, "-t", "100s", "-i", "100ms"], args].concat());
        client.wait_for("bit/s");
        client.signal("KILL");
        assert_eq!(client.end().code, None);
        let run = server.measured(&["-n", "1M"]);
        assert_eq!(run["summary"]["up"]["received"]["bytes"], 1 << 20);
    }
    let text = server.stop().stderr;
    assert_eq!(text.matches("the peer closed the connection during the test").count(), 4, "{text}");
}
