//! Far ends that answer nonsense, lie, fall silent or go away in the middle: a clear error, code 3, and never a zero.

use super::common::{PATIENT, counts, latency, message, number, only_egress};
use super::fake::fake;
use super::support::{Running, Server, pathmeter};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use wire::sockperf::{CLIENT, Header, PONG};

#[test]
fn nonsense_beside_good_replies_is_counted_and_passed_over() {
    let host = udp(|ping| {
        let sequence = Header::read(ping).unwrap().sequence;
        let good = message(sequence, PONG, 64, 64);
        vec![
            Vec::new(),
            vec![1; 5],
            good[..13].to_vec(),
            message(sequence, PONG, 65, 64),
            message(sequence, PONG, 20, 64),
            message(sequence, PONG, 0, 64),
            message(sequence, PONG, u32::MAX, 64),
            message(sequence + 1000, PONG, 64, 64),
            message(u64::MAX, PONG, 64, 64),
            message(0, PONG, 64, 64),
            message(sequence, CLIENT | PONG, 64, 64),
            good.clone(),
            good,
        ]
    });
    let args = [&["--protocol", "sockperf", "-n", "30", "--no-wire-times", "--json"][..], &PATIENT].concat();
    let run = latency(&host, &args).code(0).json();
    let [sent, received, lost, strays, duplicates] =
        counts(only_egress(&run), ["sent", "received", "lost", "strays", "duplicates"]);
    assert_eq!((sent, received, lost), (30, 30, 0), "{:#}", only_egress(&run)["counted"]);
    // The replies behind the last one are not read any more.
    assert_eq!((strays, duplicates), (30 * 11, 29), "{:#}", only_egress(&run)["counted"]);
}

#[test]
fn nonsense_alone_is_no_reply() {
    let lies: [Answer; 4] = [
        |_| vec![vec![1; 5]],
        |ping| vec![message(Header::read(ping).unwrap().sequence + 1, PONG, 64, 64)],
        |ping| vec![ping.to_vec()],
        |ping| vec![message(Header::read(ping).unwrap().sequence, PONG, 1000, 64)],
    ];
    for lie in lies {
        let host = udp(lie);
        let args = ["--protocol", "sockperf", "-n", "3", "--timeout", "400ms", "--json"];
        let ended = latency(&host, &args).code(3).prints("no reply").prints("messages came that were none");
        assert_nothing(&ended.json());
    }
}

#[test]
fn silence_is_an_error_and_no_zero() {
    let quiet = UdpSocket::bind("127.0.0.1:0").unwrap();
    let host = quiet.local_addr().unwrap().to_string();
    for protocol in ["sockperf", "stamp"] {
        let args = ["--protocol", protocol, "-n", "3", "--timeout", "300ms", "--json"];
        let ended = latency(&host, &args).code(3).prints("no reply").prints(&host);
        assert_nothing(&ended.json());
        let ended = latency(&host, &["--protocol", protocol, "-t", "700ms", "--timeout", "300ms"]).code(3);
        assert!(!ended.stdout.contains(" 0 ns"), "{}", ended.stdout);
    }
    drop(quiet);
    let ended = latency(&host, &["--protocol", "sockperf", "-n", "3", "--json"]).code(3);
    ended.prints("nothing listens on UDP port");
    // The server accepts, and sends nothing.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = mute.local_addr().unwrap().to_string();
    let args = ["--protocol", "sockperf", "--tcp", "-n", "3", "--timeout", "300ms", "--json"];
    assert_nothing(&latency(&host, &args).code(3).prints("no reply").json());
    latency(&host, &["-n", "3"]).code(3).prints("pathmeter serve");
}

#[test]
fn garbage_over_tcp_ends_the_path() {
    let answers: [fn() -> Vec<u8>; 4] = [
        || vec![0xff; 200],
        || b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        || message(1, PONG, 13, 14),
        || message(1, PONG, u32::MAX, 64),
    ];
    for answer in answers {
        let host = tcp(move |mut stream| {
            stream.read_exact(&mut [0; 64])?;
            stream.write_all(&answer())?;
            stream.read_to_end(&mut Vec::new()).map(drop)
        });
        let args = ["--protocol", "sockperf", "--tcp", "-n", "50", "--no-wire-times", "--json"];
        let ended = latency(&host, &args).code(3).prints("not its protocol").prints(&host);
        assert_nothing(&ended.json());
    }
}

#[test]
fn a_server_that_stops_half_way_leaves_what_was_measured() {
    for half in [0, 7, 40] {
        let host = tcp(move |mut stream| {
            for _ in 0..20 {
                let reply = pong(&mut stream)?;
                stream.write_all(&reply)?;
            }
            let last = pong(&mut stream)?;
            stream.write_all(&last[..half])
        });
        let args = ["--protocol", "sockperf", "--tcp", "-n", "50", "--no-wire-times", "--json"];
        let ended = latency(&host, &[&args[..], &PATIENT].concat()).code(3).prints("closed").prints(&host);
        let run = ended.json();
        assert_eq!(counts(only_egress(&run), ["sent", "received", "lost"]), [21, 20, 1], "{half}");
        assert!(number(&only_egress(&run)["rtt_ns"], "count") > 0, "{half}");
        assert_eq!(run["summary"]["outcome"]["outcome"], "failed");
        assert!(run["verdict"]["text"].as_str().unwrap().contains("closed"), "{}", run["verdict"]);
    }
}

#[test]
fn a_native_server_that_is_killed_leaves_what_was_measured() {
    for args in [&["--udp"][..], &["--tcp"], &["--mode", "under-load", "--rate", "1k"]] {
        let server = Server::start(&[]);
        let host = server.host();
        let all = [&["latency", &host, "-t", "100s", "-i", "100ms", "--format", "ndjson"], args].concat();
        let client = Running::start(pathmeter(None, &all));
        client.wait_for_output("\"latency_sample\"");
        server.process.signal("KILL");
        let ended = client.end().code(3).prints(&host);
        let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["summary"]["outcome"]["outcome"], "failed", "{args:?}");
        let egress = only_egress(&last);
        assert!(number(&egress["rtt_ns"], "count") > 0, "{args:?}: what was measured is shown");
        let [asked, received, lost] = counts(egress, ["asked", "received", "lost"]);
        assert_eq!(asked, received + lost, "{args:?}");
    }
}

#[test]
fn a_path_that_ends_beside_another_is_reported_and_the_other_is_measured() {
    for args in [&["--udp"][..], &["--tcp"], &["--mode", "under-load", "--rate", "200"]] {
        let (gone, stays) = (Server::start(&[]), Server::start(&[]));
        let hosts = [gone.host(), stays.host()];
        let all = ["latency", &hosts[0], &hosts[1], "-t", "3s", "-i", "100ms", "--format", "ndjson"];
        let client = Running::start(pathmeter(None, &[&all[..], args].concat()));
        client.wait_for_output("\"latency_sample\"");
        gone.process.signal("KILL");
        let ended = client.end().code(0);
        let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        let warnings = last["summary"]["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|w| w["id"] == "way-ended"), "{args:?}: {warnings:?}");
        let egress_paths = last["summary"]["ways"].as_array().unwrap();
        let [first, second] = [0, 1].map(|index| counts(&egress_paths[index], ["sent", "received"]));
        assert!(first[1] > 0 && first[0] < second[0], "{args:?}: {first:?} {second:?}");
        assert!(second[1] > 0, "{args:?}: {second:?}");
    }
}

#[test]
fn messages_larger_than_the_far_end_takes() {
    let host = tcp(|mut stream| stream.read_exact(&mut [0; 14]));
    let args = ["--protocol", "sockperf", "--tcp", "-m", "1000000", "-n", "20", "--no-wire-times", "--json"];
    let ended = latency(&host, &args).code(3).prints("the connection").prints("sockperf sr").prints("-m");
    assert_nothing(&ended.json());
}

#[test]
fn counts_that_cannot_be_are_not_reported() {
    for (received, mode) in [(1_u64 << 52, "ping-pong"), (5000, "under-load"), (1 << 40, "throughput")] {
        let (host, script) = fake(move |fake| {
            fake.let_in()?;
            let flow = fake.take_flow()?;
            let echo = std::thread::spawn(move || echo(flow));
            fake.send(&json!({"type": "ready"}))?;
            fake.receive("start")?;
            fake.send(&json!({"type": "started"}))?;
            let observed = json!({
                "type": "latency_seen", "client": "192.0.2.7:9", "wait": "block", "received": received,
                "duplicates": 1_u64 << 52, "reordered": 1_u64 << 52, "elapsed_ns": 1_u64 << 52,
            });
            // Nothing is claimed before the messages are sent.
            let none = json!({
                "type": "latency_seen", "client": "192.0.2.7:9", "wait": "block", "received": 0,
                "duplicates": 0, "reordered": 0, "elapsed_ns": 0,
            });
            for answer in 0.. {
                if fake.receive("latency_report").is_err() {
                    break;
                }
                fake.send(if answer < 2 { &none } else { &observed })?;
            }
            drop(echo.join());
            Ok(())
        });
        let args = ["--tcp", "-n", "40", "--mode", mode, "--no-wire-times", "--json"];
        let ended = latency(&host, &[&args[..], &PATIENT].concat());
        let run = ended.json();
        let egress = only_egress(&run);
        for name in ["far_received", "lost_up", "lost_down"] {
            assert_eq!(egress["counted"][name], Value::Null, "{mode}: {:#}", egress["counted"]);
        }
        assert_eq!(
            (number(&egress["counted"], "sent"), &egress["received_pps"]),
            (40, &Value::Null),
            "{mode}"
        );
        assert_eq!(egress["ends"]["seen_as"], "192.0.2.7:9");
        let warnings = run["summary"]["warnings"].as_array().unwrap();
        assert!(warnings.iter().any(|w| w["id"] == "far-counts-impossible"), "{mode}: {warnings:?}");
        assert_eq!(ended.code, Some(if mode == "throughput" { 4 } else { 0 }), "{mode}");
        script.join().unwrap().unwrap();
    }
}

#[test]
fn an_answer_that_is_none_ends_the_session() {
    let answers = [
        json!({"type": "latency_seen"}),
        json!({"type": "probe_seen", "id": 1, "received": 1}),
        json!({"type": "latency_seen", "client": "unknown", "wait": "block", "received": -1}),
    ];
    for answer in answers {
        let reported = answer.clone();
        let (host, script) = fake(move |fake| {
            fake.let_in()?;
            let _flow = fake.take_flow()?;
            fake.send(&json!({"type": "ready"}))?;
            fake.receive("start")?;
            fake.send(&json!({"type": "started"}))?;
            fake.receive("latency_report")?;
            fake.send(&reported)?;
            fake.until_closed();
            Ok(())
        });
        let ended = latency(&host, &["--tcp", "-n", "10"]).code(3);
        assert!(!ended.stderr.contains("internal error"), "{answer}: {}", ended.stderr);
        script.join().unwrap().unwrap();
    }
}

/// The replies of a server to a datagram.
type Answer = fn(&[u8]) -> Vec<Vec<u8>>;

/// The run has no figure that could be taken for one.
#[track_caller]
fn assert_nothing(run: &Value) {
    assert_eq!(run["verdict"]["status"], "void", "{run:#}");
    let egress = only_egress(run);
    for name in ["rtt_ns", "mad_ns", "iqr_ns", "histogram", "one_way"] {
        assert_eq!(egress[name], Value::Null, "{name}");
    }
    assert_eq!(counts(egress, ["received"]), [0]);
}

/// TCP loses nothing, however late the host that has both ends lets it come.
#[test]
fn the_last_reply_is_late_and_not_lost() {
    let host = tcp(|mut stream| {
        for _ in 0..20 {
            let reply = pong(&mut stream)?;
            stream.write_all(&reply)?;
        }
        let last = pong(&mut stream)?;
        std::thread::sleep(Duration::from_millis(300));
        stream.write_all(&last)?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    });
    let args = ["--protocol", "sockperf", "--tcp", "-n", "21", "--no-wire-times", "--json"];
    let run = latency(&host, &args).code(0).json();
    let [sent, received, late, lost] = counts(only_egress(&run), ["sent", "received", "late", "lost"]);
    assert_eq!((sent, received + late, lost), (21, 21, 0), "{:#}", only_egress(&run)["counted"]);
}

/// A server that sends these to every sender. It lives as long as the tests.
fn udp(answer: Answer) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let host = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut buf = vec![0; 1 << 16];
        while let Ok((length, from)) = socket.recv_from(&mut buf) {
            for reply in answer(&buf[..length]) {
                socket.send_to(&reply, from).ok();
            }
        }
    });
    host
}

/// A server that does this with its one connection, and then closes it.
fn tcp(serve: impl FnOnce(TcpStream) -> std::io::Result<()> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        serve(stream)
    });
    host
}

/// The reply to the next message of 64 bytes.
fn pong(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut ping = vec![0; 64];
    stream.read_exact(&mut ping)?;
    ping[9] &= !1;
    Ok(ping)
}

fn echo(mut flow: TcpStream) {
    while let Ok(reply) = pong(&mut flow) {
        if reply[9] & 2 != 0 {
            flow.write_all(&reply).ok();
        }
    }
}
