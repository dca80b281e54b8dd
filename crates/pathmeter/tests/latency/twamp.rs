//! TWAMP between our own ends, and either against a far end that is none.

use super::common::{PATIENT, counts, latency, number, only_egress};
use super::support::{Server, free_port};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use wire::stamp::{ReflectorPacket, Timestamp};
use wire::twamp::{Accept, Accepted, Greeting, Request, SetUp, Start, StartAck, Stop};

struct Twamp {
    server: Server,
    port: u16,
}

impl Twamp {
    fn start() -> Twamp {
        let port = free_port();
        let server = Server::start(&[&format!("--twamp={port}")]);
        server.process.wait_for("pathmeter's own protocol");
        Twamp { server, port }
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

#[test]
fn round_trips_are_agreed_on_and_answered() {
    let twamp = Twamp::start();
    for size in ["44", "45", "1472"] {
        let args = [&["--protocol", "twamp", "-n", "50", "-m", size, "--dscp", "ef", "--json"][..], &PATIENT];
        let run = latency(&twamp.host(), &args.concat()).code(0).json();
        let names = ["sent", "received", "lost", "strays", "duplicates"];
        assert_eq!(counts(only_egress(&run), names), [50, 50, 0, 0, 0], "{size}");
        assert!(only_egress(&run)["one_way"].is_object(), "the reflector reports its clock");
        assert!(number(&run["summary"]["rtt_ns"], "count") > 0);
        let remote = only_egress(&run)["remote"].as_str().unwrap_or_default();
        assert!(
            !remote.ends_with(&format!(":{}", twamp.port)),
            "packets go to a port of their own: {remote}"
        );
    }
    twamp.server.stop();
}

#[test]
fn a_server_answers_the_client_alone_and_while_its_test_runs() {
    let twamp = Twamp::start();
    let mut control = TcpStream::connect(("127.0.0.1", twamp.port)).unwrap();
    let mut say = |message: &[u8], length: usize| {
        control.write_all(message).unwrap();
        let mut answer = vec![0; length];
        control.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        control.read_exact(&mut answer).unwrap();
        answer
    };
    assert_eq!(Greeting::read(&say(&[], Greeting::LEN)).modes, 1);
    assert_eq!(Start::read(&say(&SetUp { mode: 1 }.write(), Start::LEN)).accept, Accept::OK);
    let own = bound(Ipv4Addr::LOCALHOST);
    let request = Request {
        sender: None,
        sender_port: own.local_addr().unwrap().port(),
        receiver: None,
        receiver_port: 0,
        padding: 0,
        start: Timestamp(0),
        timeout: model::units::Nanos::ZERO,
        type_p: 0,
    };
    let accepted = Accepted::read(&say(&request.write(), Accepted::LEN));
    assert_eq!(accepted.accept, Accept::OK);
    let packet = |number: u8| [&[0, 0, 0, number][..], &[1; 10]].concat();
    let far = ("127.0.0.1", accepted.port);
    own.send_to(&packet(9), far).unwrap();
    let start = [&[2][..], &[0; 31]].concat();
    assert_eq!(StartAck::read(&say(&start, StartAck::LEN)).accept, Accept::OK);
    // Another host's packet, and ours behind it: only ours is answered, as the first of the test.
    bound(Ipv4Addr::new(127, 0, 0, 2)).send_to(&packet(8), far).unwrap();
    own.send_to(&packet(7), far).unwrap();
    let mut reply = [0; 100];
    let length = own.recv(&mut reply).unwrap();
    let reported = ReflectorPacket::read(wire::stamp::Mode::Open, &reply[..length]);
    assert_eq!((length, reported.own.sequence, reported.sender_sequence), (41, 0, 7));
    // After the end there is no answer: the next reply is of the next test.
    say(&Stop { accept: Accept::OK, sessions: 1 }.write(), 0);
    let next = Accepted::read(&say(&request.write(), Accepted::LEN));
    assert_eq!(StartAck::read(&say(&start, StartAck::LEN)).accept, Accept::OK);
    own.send_to(&packet(6), far).unwrap();
    own.send_to(&packet(5), ("127.0.0.1", next.port)).unwrap();
    let (_, from) = own.recv_from(&mut reply).unwrap();
    assert_eq!((from.port(), reply[3], reply[27]), (next.port, 0, 5));
    twamp.server.stop();
}

#[test]
fn a_far_end_that_is_no_twamp_server_is_reported() {
    let args = ["--protocol", "twamp", "-n", "3"];
    let port = free_port();
    let absent = latency(&format!("127.0.0.1:{port}"), &args).code(3);
    absent.prints("nothing listens on TCP port").prints("pathmeter serve --twamp");
    // One that closes, and one that speaks only with keys.
    for (greeting, message) in
        [(vec![], "before its TWAMP greeting"), (Greeting { modes: 6 }.write().to_vec(), "modes 0x6")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let far = std::thread::spawn(move || listener.accept().unwrap().0.write_all(&greeting).unwrap());
        let ended = latency(&host, &args).code(3);
        far.join().unwrap();
        ended.prints(message).prints("--protocol stamp");
    }
}

#[test]
fn what_twamp_has_not_is_refused() {
    for (args, message) in [
        (&["--tcp"][..], "drop --tcp"),
        (&["-m", "43"], "from 44"),
        (&["--mode", "throughput"], "ping-pong or under-load"),
        (&["--reply-every", "5", "--mode", "under-load"], "drop --reply-every"),
        (&["--key-file", "/dev/null"], "--protocol stamp"),
        (&["--loaded"], "--protocol native"),
    ] {
        latency("127.0.0.1", &[&["--protocol", "twamp"], args].concat()).code(2).prints(message);
    }
}

fn bound(address: Ipv4Addr) -> UdpSocket {
    let socket = UdpSocket::bind((address, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    socket
}
