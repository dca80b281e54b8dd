//! STAMP between our own ends: open and with keys, sizes, and senders that are short, old or have the wrong key.

use super::common::{Foreign, PATIENT, counts, latency, number, only_egress};
use super::support::Scratch;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

#[test]
fn open_and_keyed_senders_are_answered() {
    let scratch = Scratch::new("stamp-keys");
    let key = scratch.file("key", Some("0123456789abcdef\n"));
    for (server, client, sizes) in [
        (&[][..], &[][..], ["44", "48", "1472"]),
        (&["--stamp-key-file", &key], &["--key-file", &key], ["112", "116", "1472"]),
        (&["--stamp-stateless"], &[], ["44", "100", "1000"]),
    ] {
        let foreign = Foreign::start(server);
        for size in sizes {
            let args = [&["--protocol", "stamp", "-n", "50", "-m", size, "--json"][..], client, &PATIENT];
            let run = latency(&foreign.stamp_host(), &args.concat()).code(0).json();
            let names = ["sent", "received", "lost", "strays", "duplicates"];
            assert_eq!(counts(only_egress(&run), names), [50, 50, 0, 0, 0], "{server:?} {size}");
            assert!(only_egress(&run)["one_way"].is_object(), "the reflector reports its clock");
            assert!(number(&run["summary"]["rtt_ns"], "count") > 0);
        }
        foreign.server.stop();
    }
}

#[test]
fn a_wrong_key_is_named() {
    let scratch = Scratch::new("stamp-wrong");
    let key = scratch.file("key", Some("0123456789abcdef\n"));
    let wrong = scratch.file("wrong", Some("fedcba9876543210\n"));
    let short = scratch.file("short", Some("too short\n"));
    let keyed = Foreign::start(&["--stamp-key-file", &key]);
    let open = Foreign::start(&[]);
    let base = ["--protocol", "stamp", "-n", "3", "--timeout", "300ms"];
    for (server, client) in
        [(&keyed, &["--key-file", &wrong][..]), (&keyed, &[]), (&open, &["--key-file", &key])]
    {
        let ended = latency(&server.stamp_host(), &[&base[..], client].concat()).code(3);
        let ended = ended.prints("no reply").prints("key").prints("--key-file");
        assert!(!(ended.stdout + &ended.stderr).contains("0123456789"), "the key itself is never shown");
    }
    latency("127.0.0.1:9", &[&base[..], &["--key-file", &short]].concat()).code(2).prints(&short);
    // The right one is answered as if nothing had been.
    let args = [&base[..4], &["--key-file", &key], &PATIENT].concat();
    latency(&keyed.stamp_host(), &args).code(0);
    let text = keyed.server.stop().stderr;
    assert!(!text.contains("0123456789"), "{text}");
    open.server.stop();
}

#[test]
fn twamp_light_senders_are_answered_and_scraps_are_not() {
    let foreign = Foreign::start(&[]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", foreign.stamp)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let request = |sequence: u32, length: usize| {
        let mut bytes = vec![0; length.max(14)];
        bytes[..4].copy_from_slice(&sequence.to_be_bytes());
        bytes[4..12].copy_from_slice(&0xe8d4_a510_8000_0000_u64.to_be_bytes());
        bytes[12..14].copy_from_slice(&[0x80, 1]);
        bytes.truncate(length);
        bytes
    };
    let mut reply = [0; 2048];
    for (sequence, length) in (0..).zip([14, 41, 44, 100]) {
        for scrap in [0, 1, 4, 13] {
            socket.send(&request(99, scrap)).unwrap();
        }
        socket.send(&request(sequence, length)).unwrap();
        let got = socket.recv(&mut reply).unwrap();
        assert_eq!(got, length.max(44), "the reply has the request's length, or that of the base packet");
        assert_eq!(reply[24..28], sequence.to_be_bytes(), "Session-Sender Sequence Number");
        assert_eq!(reply[28..36], request(sequence, 14)[4..12], "Session-Sender Timestamp");
    }
    socket.set_nonblocking(true).unwrap();
    let more = socket.recv(&mut reply).map_err(|e| e.kind());
    assert_eq!(more, Err(ErrorKind::WouldBlock), "what is shorter than any sender's packet has no answer");
    foreign.server.stop();
}
