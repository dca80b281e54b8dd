//! Answers of our server to clients that violate the protocol.

use crate::process::{Tool, free_port};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Parameters, and the error code that refuses them.
const REFUSED: &[(&str, i32)] = &[
    (r#"{"tcp":true,"len":0,"parallel":1,"time":1}"#, 7),
    (r#"{"tcp":true,"len":1000,"parallel":500,"time":1}"#, 6),
    (r#"{"udp":true,"len":8,"parallel":1,"time":1}"#, 20),
    (r#"{"tcp":true,"len":1000,"parallel":1,"time":1000000}"#, 5),
    (r#"{"tcp":true,"len":1000,"parallel":1,"time":1,"omit":10000}"#, 12),
    (r#"{"tcp":true,"len":1000,"parallel":1,"time":1,"reverse":true,"bidirectional":true}"#, 25),
    (r#"{"tcp":"yes","len":1000}"#, 114),
    ("[]", 114),
    ("{", 114),
    ("\u{0}\u{0}", 114),
];

#[test]
fn parameters_that_cannot_be_are_refused_with_iperf3s_codes() {
    let port = free_port();
    let serving = Tool::Ours.serve(port, "");
    for (json, code) in REFUSED {
        let mut client = greeted(port);
        let length = u32::try_from(json.len()).expect("short").to_be_bytes();
        client.write_all(&length).and_then(|()| client.write_all(json.as_bytes())).expect("the server reads");
        assert_eq!(error(&mut client), Some(*code), "{json}");
    }
    serving.stop().good();
}

#[test]
fn impossible_lengths_are_refused_before_their_bytes_come() {
    let port = free_port();
    let serving = Tool::Ours.serve(port, "");
    // The first byte of the last two reads as a state of the other role.
    let lengths = [
        ([0x7f, 0xff, 0xff, 0xff], 114),
        ([0; 4], 114),
        ([0, 0x20, 0, 0], 114),
        ([0xff; 4], 110),
        ([0xfe; 4], 110),
    ];
    for (length, code) in lengths {
        let mut client = greeted(port);
        client.write_all(&length).expect("the server reads");
        assert_eq!(error(&mut client), Some(code), "{length:?}");
    }
    serving.stop().good();
}

/// After the parameters anything may come; the session ends, the server does not.
#[test]
fn a_session_may_break_at_any_state() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let mut serving = Tool::Ours.serve(port, "");
    let params = r#"{"tcp":true,"omit":0,"time":1,"parallel":1,"len":1000}"#;
    for rest in [&[4][..], &[12], &[16], &[99], &[0xff, 0xff], &[]] {
        let mut client = greeted(port);
        let length = u32::try_from(params.len()).expect("short").to_be_bytes();
        client
            .write_all(&length)
            .and_then(|()| client.write_all(params.as_bytes()))
            .expect("the server reads");
        let mut state = [0];
        client.read_exact(&mut state).expect("the server answers");
        assert_eq!(state, [10], "CREATE_STREAMS");
        client.write_all(rest).expect("the server reads");
    }
    assert!(serving.runs());
    Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -n 100K")).good();
    let output = serving.stop().good();
    assert!(!output.stderr.contains("panic"), "{output:#?}");
}

fn greeted(port: u16) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("not zero");
    socket.write_all(&cookie()).expect("the server reads");
    let mut state = [0];
    socket.read_exact(&mut state).expect("the server answers");
    assert_eq!(state, [9], "PARAM_EXCHANGE");
    socket
}

/// A session's name, used once: the second connection of a name is a data stream.
fn cookie() -> [u8; 37] {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut cookie = *b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
    cookie[0] = b'a' + (number % 26) as u8;
    cookie[1] = b'a' + (number / 26) as u8;
    cookie
}

/// The code of SERVER_ERROR; `None` when something else came, or nothing.
fn error(client: &mut TcpStream) -> Option<i32> {
    let mut answer = [0; 9];
    client.read_exact(&mut answer).ok()?;
    (answer[0] == 0xfe).then(|| i32::from_be_bytes([answer[1], answer[2], answer[3], answer[4]]))
}
