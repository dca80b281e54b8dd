//! Clients that are silent, garble, flood or pretend to be others: no other client is disturbed, nothing is amplified, and the
//! server ends in order.

use super::support::Server;
use model::plan::Transport;
use model::time::MonoTime;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;
use wire::native::udp::{UdpOpen, UdpStep};
use wire::native::{FlowKey, SessionId, flow};

#[test]
fn garbage_on_the_tcp_port() {
    let server = Server::start(&[]);
    let mut random = Random(1);
    let begins: [&[u8]; 6] =
        [b"", b"PMTRCTRL\x01\x01", b"PMTRFLOW\x01", b"PMTR", &[0x16, 3, 1, 2, 0], b"GET / HTTP/1.1\r\n\r\n"];
    for round in 0..60 {
        let mut stream = connect(&server);
        let length = random.below(3000);
        // The server may close before all of it is sent.
        stream.write_all(&[begins[round % begins.len()], &random.bytes(length)].concat()).ok();
        if round % 3 == 0 {
            stream.shutdown(Shutdown::Write).ok();
            stream.read_to_end(&mut Vec::new()).ok();
        }
    }
    assert_good(server);
}

#[test]
fn lengths_and_messages_that_cannot_be() {
    let server = Server::start(&[]);
    let deep = format!("{}1{}", "[".repeat(50_000), "]".repeat(50_000));
    let host = serde_json::to_string(&model::host::Host::default()).unwrap();
    let spec = |fields: &str| {
        format!(
            r#"{{"type":"test","kind":"throughput","host":{host},"spec":{{"transport":"udp",{fields}}}}}"#
        )
    };
    let tests = [
        "{}".to_owned(),
        deep,
        r#"{"type":"test","kind":"throughput"}"#.to_owned(),
        r#"{"type":"results","result":{}}"#.to_owned(),
        r#"{"type":"start"}"#.to_owned(),
        spec(r#""length":1200,"streams":4294967295"#),
        spec(r#""length":1200,"streams":-1"#),
        spec(r#""length":1"#),
        spec(r#""length":1200,"end":{"time":0}"#),
        spec(r#""length":1200,"end":{"bytes":18446744073709551615}"#),
        spec(r#""length":1200,"bitrate":0"#),
        spec(r#""length":1200,"congestion":"../../../etc/passwd""#),
    ];
    for test in &tests {
        let answer = answer_to(&server, test);
        assert!(!answer.contains("\"accept\""), "{test:.100}: {answer}");
    }
    let answer = answer_to(&server, &spec(r#""length":1200,"bitrate":1000000"#));
    assert!(answer.contains("\"accept\""), "the others failed for what is wrong with them: {answer}");
    for length in [u32::MAX, 1 << 20, (1 << 16) + 1] {
        let mut stream = connect(&server);
        stream.write_all(&[b"PMTRCTRL\x01\x01".as_slice(), &length.to_be_bytes()].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.contains("\"protocol\"") && answer.contains(&length.to_string()), "{answer}");
    }
    assert_good(server);
}

#[test]
fn flows_without_a_session_are_refused() {
    let server = Server::start(&[]);
    let (session, key) = (SessionId::new([1; 16]), FlowKey::new([2; 32]));
    let mut stream = connect(&server);
    stream.write_all(&flow::FlowHello::new(session, Transport::Tcp, 0, &key).bytes()).unwrap();
    let mut answer = [9];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(flow::FlowAnswer::read(answer[0]), Some(flow::FlowAnswer::UnknownSession));
    assert_good(server);
}

#[test]
fn two_hundred_silent_connections_delay_no_client() {
    // Fewer tests at once than silent clients: those that ask for nothing take no place.
    let server = Server::start(&["--max-tests", "3"]);
    let silent: Vec<TcpStream> = (0..200)
        .map(|index| {
            let mut stream = connect(&server);
            let begin: &[u8] = match index % 4 {
                0 => b"",
                1 => b"PMTR",
                2 => b"PMTRCTRL\x01\x01",
                _ => &[0x16],
            };
            stream.write_all(begin).unwrap();
            stream
        })
        .collect();
    for args in
        [&["-n", "2M", "-P", "4"][..], &["-n", "2M", "-R"], &["-u", "-b", "10M", "-t", "300ms", "--bidir"]]
    {
        let run = server.measured(args);
        assert_ne!(run["verdict"]["status"], "void", "{args:?}: {}", run["verdict"]);
    }
    drop(silent);
    assert_good(server);
}

#[test]
fn an_address_with_too_many_silent_connections_keeps_out_itself_alone() {
    let server = Server::start(&[]);
    let silent: Vec<TcpStream> = (0..300).map(|_| connect(&server)).collect();
    server.process.wait_for("too many silent connections of this address");
    let run = server.measured(&["-n", "1M", "--bind", "127.0.0.2"]);
    assert_eq!(run["summary"]["up"]["received"]["bytes"], 1 << 20);
    drop(silent);
    assert_ends_well(server);
}

#[test]
fn garbage_on_the_udp_port() {
    let server = Server::start(&[]);
    open_udp_port(&server);
    let socket = udp(&server);
    let mut random = Random(7);
    for round in 0..2000 {
        let length = random.below(if round % 10 == 0 { 9000 } else { 100 });
        let begin: &[u8] = if round % 2 == 0 { b"" } else { b"PMTRUDP\x01\x01" };
        socket.send(&[begin, &random.bytes(length)].concat()).ok();
        if round % 100 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let run = server.measured(&["-u", "-b", "10M", "-t", "1s", "-l", "1000"]);
    let lost = run["summary"]["up"]["loss"]["share"].as_f64().unwrap();
    assert!(lost < 0.5, "the flow of a test is not the port of other hosts: {lost}");
    assert_good(server);
}

#[test]
fn an_unauthenticated_host_gets_nothing_amplified() {
    let server = Server::start(&[]);
    open_udp_port(&server);
    let socket = udp(&server);
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (mut sent, mut answered) = (0, 0);
    let count = |socket: &UdpSocket| {
        let mut buffer = [0; 65536];
        let mut bytes = 0;
        while let Ok(length) = socket.recv(&mut buffer) {
            bytes += length;
        }
        bytes
    };
    // The sender behaves like one that forges another's address: it never receives the cookies.
    for stream in 0..200_u32 {
        let hello = hello(stream);
        sent += hello.len();
        socket.send(&hello).unwrap();
        if stream % 20 == 19 {
            answered += count(&socket);
        }
    }
    assert!(answered > 0, "an honest client would be answered");
    assert!(answered <= sent, "{answered} bytes answered for {sent}");
    // Shorter ones, ones of other protocols, and echoes of the answer itself get nothing at all.
    let own = hello(0);
    for cut in [1, 8, 20, own.len() - 1] {
        socket.send(&own[..cut]).unwrap();
    }
    for other in [
        &b"9876"[..],
        &[0; 48],
        b"\x17\x00\x03\x2a\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x00\x01\x00\x00stats\r\n",
    ] {
        socket.send(other).unwrap();
    }
    socket.send(&[b"PMTRUDP\x02".as_slice(), &[0; 60]].concat()).unwrap();
    assert_eq!(count(&socket), 0);
    assert_good(server);
}

/// The server's answer to a hello and this message.
fn answer_to(server: &Server, message: &str) -> String {
    let framed =
        |text: &str| [&u32::try_from(text.len()).expect("short").to_be_bytes(), text.as_bytes()].concat();
    let mut stream = connect(server);
    let hello = r#"{"type":"hello","software":"x"}"#;
    stream.write_all(&[b"PMTRCTRL\x01\x01".as_slice(), &framed(hello), &framed(message)].concat()).ok();
    stream.shutdown(Shutdown::Write).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

/// The server still serves, has not stumbled, and ends in order.
fn assert_good(server: Server) {
    let run = server.measured(&["-n", "1M"]);
    assert_eq!(run["summary"]["up"]["received"]["bytes"], 1 << 20);
    assert_ends_well(server);
}

/// The server has not stumbled, and ends in order.
fn assert_ends_well(server: Server) {
    let text = server.stop().stderr;
    assert!(!text.contains("internal error") && !text.contains("panicked"), "{text}");
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The UDP port is opened by the first test that needs it, and stays.
fn open_udp_port(server: &Server) {
    server.measured(&["-u", "-b", "5M", "-n", "100K"]);
}

fn udp(server: &Server) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port)).unwrap();
    socket
}

/// The first datagram of a flow, without a cookie.
fn hello(stream: u32) -> Vec<u8> {
    let mut open = UdpOpen::new(SessionId::new([3; 16]), stream, &FlowKey::new([4; 32]), MonoTime(0));
    match open.step(MonoTime(0)) {
        UdpStep::Send(bytes) => bytes.to_vec(),
        other => panic!("the first step is to send: {other:?}"),
    }
}

/// Numbers that look random and are the same each time (xorshift64, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[3]).collect()
    }
}
