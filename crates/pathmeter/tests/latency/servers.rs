//! `pathmeter serve --sockperf` under attack: a message that no SockPerf client sends has no answer, and delays no other's.

use super::common::{Foreign, PATIENT, counts, latency, message, only_egress};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;
use wire::sockperf::{CLIENT, PONG, WARM_UP};

const PING: u16 = CLIENT | PONG;

/// The name of a case, the bytes to send, and the answer.
type MessageCase = (&'static str, Vec<u8>, Option<Vec<u8>>);

#[test]
fn each_datagram_is_a_message_by_itself() {
    let foreign = Foreign::start(&[]);
    let (foreign_client, honest) = (udp(foreign.sockperf), udp(foreign.sockperf));
    let two = [message(1, PING, 14, 14), message(2, PING, 14, 14)].concat();
    let rows: [MessageCase; 14] = [
        ("a message", message(7, PING, 14, 14), Some(message(7, PONG, 14, 14))),
        ("a large message", message(7, PING, 65_507, 65_507), Some(message(7, PONG, 65_507, 65_507))),
        ("two in one", two, Some(message(1, PONG, 14, 14))),
        ("longer than it claims", message(7, PING, 20, 60), Some(message(7, PONG, 20, 20))),
        ("shorter than it claims", message(7, PING, 2000, 60), None),
        ("5 bytes", vec![1; 5], None),
        ("13 bytes", message(7, PING, 13, 13), None),
        ("it claims 13", message(7, PING, 13, 14), None),
        ("it claims 0", message(7, PING, 0, 14), None),
        ("it claims more than can be", message(7, PING, u32::MAX, 65_507), None),
        ("nothing", Vec::new(), None),
        ("of a server", message(7, PONG, 14, 14), None),
        ("a warm-up", message(0, PING | WARM_UP, 14, 14), None),
        ("one way", message(7, CLIENT, 14, 14), None),
    ];
    for (sequence, (name, sent, wanted)) in (100..).zip(rows) {
        for _ in 0..3 {
            foreign_client.send(&sent).unwrap();
        }
        // The next client gets its own answer, at once and whole.
        honest.send(&message(sequence, PING, 64, 64)).unwrap();
        assert_eq!(receive(&honest), message(sequence, PONG, 64, 64), "{name}");
        // Earlier answers come first.
        for _ in 0..if wanted.is_some() { 3 } else { 0 } {
            assert_eq!(Some(receive(&foreign_client)), wanted, "{name}");
        }
        foreign_client.set_nonblocking(true).unwrap();
        let more = foreign_client.recv(&mut [0; 65_536]).map_err(|e| e.kind());
        assert_eq!(more, Err(ErrorKind::WouldBlock), "{name}: no answer too many");
        foreign_client.set_nonblocking(false).unwrap();
    }
    assert_ends_well(foreign);
}

#[test]
fn a_flood_of_nonsense_loses_nobodys_replies() {
    let foreign = Foreign::start(&[]);
    let foreign_client = udp(foreign.sockperf);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let junk = [vec![1; 5], message(1, PING, 13, 14), message(1, PING, 2000, 60), vec![0xff; 60]];
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Acquire) {
                for bytes in &junk {
                    foreign_client.send(bytes).ok();
                }
                std::thread::sleep(Duration::from_micros(500));
            }
        });
        let args = [&["--protocol", "sockperf", "-n", "500", "--json"][..], &PATIENT].concat();
        let ended = latency(&foreign.sockperf_host(), &args);
        stop.store(true, std::sync::atomic::Ordering::Release);
        ended.code(0).json()
    });
    let names = ["sent", "received", "lost", "strays", "duplicates"];
    assert_eq!(counts(only_egress(&run), names), [500, 500, 0, 0, 0], "{:#}", only_egress(&run)["counted"]);
    assert_ends_well(foreign);
}

#[test]
fn streams_are_cut_into_messages_wherever_they_break() {
    let foreign = Foreign::start(&[]);
    let mut halves = tcp(foreign.sockperf);
    let mut other = tcp(foreign.sockperf);
    let ping = message(1, PING, 30, 30);
    for at in 1..ping.len() {
        halves.write_all(&ping[..at]).unwrap();
        // Half a message of one client keeps no other waiting.
        other.write_all(&ping).unwrap();
        assert_eq!(read(&mut other, 30), message(1, PONG, 30, 30));
        halves.write_all(&ping[at..]).unwrap();
        assert_eq!(read(&mut halves, 30), message(1, PONG, 30, 30), "cut at {at}");
    }
    let many: Vec<u8> =
        (1..=50).flat_map(|n| message(n, if n % 5 == 0 { PING } else { CLIENT }, 14, 14)).collect();
    other.write_all(&many).unwrap();
    let replies: Vec<u8> = (1..=10).flat_map(|n| message(n * 5, PONG, 14, 14)).collect();
    assert_eq!(read(&mut other, 140), replies);
    let largest = message(9, PING, 1_048_575, 1_048_575);
    other.write_all(&largest).unwrap();
    assert_eq!(read(&mut other, largest.len())[..14], message(9, PONG, 1_048_575, 14));
    for (announced, size) in [(13, 14), (0, 14), (1_048_576, 64), (u32::MAX, 64)] {
        let mut liar = tcp(foreign.sockperf);
        liar.write_all(&message(1, PING, announced, size)).unwrap();
        let end = liar.read(&mut [0; 16]);
        let closed =
            matches!(&end, Ok(0)) || end.as_ref().is_err_and(|e| e.kind() == ErrorKind::ConnectionReset);
        assert!(closed, "{announced}: {end:?}");
    }
    assert_ends_well(foreign);
}

#[test]
fn two_hundred_idle_connections_delay_no_client() {
    let foreign = Foreign::start(&[]);
    let idle: Vec<TcpStream> = (0..200)
        .map(|n| {
            let mut stream = tcp(foreign.sockperf);
            stream.write_all(&message(1, PING, 64, 64)[..n % 20]).unwrap();
            stream
        })
        .collect();
    for transport in ["--tcp", "--udp"] {
        let args = ["--protocol", "sockperf", "-n", "100", transport, "--json"];
        let run = latency(&foreign.sockperf_host(), &[&args[..], &PATIENT].concat()).code(0).json();
        assert_eq!(counts(only_egress(&run), ["sent", "received"]), [100; 2], "{transport}");
        assert_eq!(
            only_egress(&run)["counted"]["far_received"],
            Value::Null,
            "SockPerf's server reports no counts"
        );
    }
    drop(idle);
    assert_ends_well(foreign);
}

/// The server has not stumbled, and ends in order.
fn assert_ends_well(foreign: Foreign) {
    let announced = foreign.server.stop().stderr;
    assert!(!announced.contains("internal error") && !announced.contains("panicked"), "{announced}");
    assert!(!announced.contains("server ended"), "{announced}");
}

fn udp(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}

#[track_caller]
fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buf = vec![0; 65_536];
    let length = socket.recv(&mut buf).unwrap();
    buf.truncate(length);
    buf
}

fn tcp(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

#[track_caller]
fn read(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}
