//! Datagrams whose source is another's address. The host at that address receives the server's replies: the socket that sends
//! here plays that host, and answers nothing.

use super::figures::record;
use super::net::SERVER;
use super::support::{Running, pathmeter};
use super::testbed::{Testbed, attacker};
use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use wire::iperf2::{Amount, Numbered, Request, Traffic, put_fin};
use wire::native::udp::{UdpOpen, UdpStep};
use wire::native::{FlowKey, SessionId};
use wire::stamp::Clock;
use wire::{Datagram, Stamp};

/// The first datagram of an iPerf2 client that asks for a day of data.
fn iperf2_asks(traffic: Traffic) -> Vec<u8> {
    let amount = Amount::Time(Nanos::from_secs(86_400));
    let request = Request { traffic, amount, port: 4000, ..Request::new(Transport::Udp) };
    let mut datagram = request.bytes();
    let clock = Clock { mono: MonoTime(0), wall: WallTime(1_700_000_000_000_000_000) };
    Numbered { clock, wide: true }.write(Stamp { sequence: 1, sent: MonoTime(0) }, &mut datagram);
    datagram
}

fn iperf2_ends(length: usize) -> Vec<u8> {
    let mut datagram = vec![0; length];
    put_fin(&mut datagram, 2, WallTime(1_700_000_000_000_000_000));
    datagram
}

fn native_hello() -> Vec<u8> {
    let mut open = UdpOpen::new(SessionId::new([3; 16]), 0, &FlowKey::new([4; 32]), MonoTime(0));
    match open.step(MonoTime(0)) {
        UdpStep::Send(bytes) => bytes.to_vec(),
        other => panic!("the first step is to send: {other:?}"),
    }
}

/// Bytes of IP that the address hears for those that were sent in its name.
fn heard_for_sent(socket: &UdpSocket, port: u16, datagrams: &[Vec<u8>]) -> (usize, usize) {
    socket.set_read_timeout(Some(Duration::from_millis(1200))).unwrap();
    for datagram in datagrams {
        socket.send_to(datagram, (SERVER, port)).unwrap();
        // The pause of a sender: the flow is taken up before its end comes.
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = datagrams.iter().map(|datagram| datagram.len() + HEADERS).sum();
    let (mut heard, mut buffer) = (0, [0; 1 << 16]);
    while let Ok((length, _)) = socket.recv_from(&mut buffer) {
        heard += length + HEADERS;
        assert!(heard < 100 * sent, "a flood: {heard} bytes for {sent}");
    }
    (heard, sent)
}

#[test]
fn no_port_sends_more_than_three_times_what_came() {
    let Some(testbed) = Testbed::new("no_port_sends_more_than_three_times_what_came") else { return };
    let server = testbed.serve(&[]);
    // The native UDP port is there from the first test on.
    testbed.client(&["throughput", SERVER, "-u", "-b", "1M", "-n", "10K", "--json"]).end().code(0);
    let forward = || iperf2_asks(Traffic::Forward);
    let attacks: Vec<(&str, u16, usize, Vec<Vec<u8>>)> = vec![
        ("iPerf2 -R", 5001, 0, vec![iperf2_asks(Traffic::Reverse)]),
        ("iPerf2 --full-duplex", 5001, 0, vec![iperf2_asks(Traffic::FullDuplex)]),
        ("iPerf2 -d", 5001, 0, vec![iperf2_asks(Traffic::Dual)]),
        ("iPerf2 -r", 5001, 0, vec![iperf2_asks(Traffic::Tradeoff), iperf2_ends(1470)]),
        ("iPerf2, short end", 5001, 3, vec![forward(), iperf2_ends(16)]),
        ("iPerf2, many ends", 5001, 3, [vec![forward()], vec![iperf2_ends(60); 20]].concat()),
        ("native", 5210, 1, vec![native_hello(); 5]),
        ("iPerf3", 5201, 0, vec![b"9876".to_vec(), 0x3938_3736_u32.to_le_bytes().to_vec()]),
        ("SockPerf", 11111, 1, vec![vec![0; 14], vec![0; 1400]]),
        ("STAMP, 14 bytes", 862, 2, vec![vec![0; 14]; 5]),
        ("STAMP", 862, 1, vec![vec![0; 44]; 5]),
    ];
    let mut figures = Vec::new();
    testbed.there(|| {
        for (n, (name, port, factor, datagrams)) in (1..).zip(&attacks) {
            let socket = UdpSocket::bind((attacker(n), 4000)).unwrap();
            let (heard, sent) = heard_for_sent(&socket, *port, datagrams);
            assert!(heard <= factor * sent, "{name}: {heard} bytes for {sent}");
            figures.push(format!("{name} {:.2}", heard as f64 / sent as f64));
        }
    });
    record("bytes of IP to a forged source for each byte in its name", &figures.join("; "));
    server.process.wait_for("nothing proves that it is at this address");
    server.stop();
}

#[test]
fn forged_flows_hold_no_place_that_others_need() {
    let Some(testbed) = Testbed::new("forged_flows_hold_no_place_that_others_need") else { return };
    let server = testbed.serve(&[]);
    let first = iperf2_asks(Traffic::Forward);
    let sockets: Vec<UdpSocket> = testbed.there(|| {
        let forge = |n: u8| {
            let socket = UdpSocket::bind((attacker(n % 50 + 1), 0)).unwrap();
            socket.send_to(&first, (SERVER, 5001)).unwrap();
            socket
        };
        (0..200).map(forge).collect()
    });
    server.process.wait_for("turned away: as many tests run as this server allows");
    // A client that was silent for a second makes room.
    std::thread::sleep(Duration::from_millis(1200));
    testbed.all_are_served(&server);
    drop(sockets);
    server.stop();
}

#[test]
fn data_over_udp_is_sent_to_who_has_a_connection_and_to_all_where_that_is_allowed() {
    let name = "data_over_udp_is_sent_to_who_has_a_connection_and_to_all_where_that_is_allowed";
    let Some(testbed) = Testbed::new(name) else { return };
    let server = testbed.serve_only(&["--iperf2"]);
    // Our own client shows that it is there.
    let args = ["throughput", SERVER, "-u", "-b", "2M", "-t", "1s", "--reverse", "--json", "--protocol"];
    let run = testbed.client(&[&args[..], &["iperf2"]].concat()).end().code(0).json();
    assert!(run["summary"]["down"]["received"]["datagrams"].as_u64().unwrap() > 0, "{run}");
    server.stop();
    let server = testbed.serve_only(&["--iperf2", "--iperf2-udp-reverse"]);
    server.process.wait_for("forges an address");
    let heard = testbed.there(|| {
        let socket = UdpSocket::bind((attacker(1), 4000)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.send_to(&iperf2_asks(Traffic::Reverse), (SERVER, 5001)).unwrap();
        let heard = socket.recv(&mut [0; 2000]).unwrap();
        // The victim's host reports a closed port: that ends the flow.
        drop(socket);
        heard
    });
    assert_eq!(heard, 1470);
    server.process.wait_for("the client has closed its port");
    server.stop();
}

/// The connection that proves an address is looked at as long as data is sent.
#[test]
fn data_over_udp_ends_with_the_connection_that_proved_the_address() {
    let name = "data_over_udp_ends_with_the_connection_that_proved_the_address";
    let Some(testbed) = Testbed::new(name) else { return };
    let server = testbed.serve_only(&["--iperf2"]);
    testbed.there(|| {
        let proof = TcpStream::connect((SERVER, 5001)).unwrap();
        let socket = UdpSocket::bind((proof.local_addr().unwrap().ip(), 4000)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket.send_to(&iperf2_asks(Traffic::Reverse), (SERVER, 5001)).unwrap();
        assert_eq!(socket.recv(&mut [0; 2000]).unwrap(), 1470);
        drop(proof);
        // Data for a day was requested, and no error reports that the port is closed.
        let end = Instant::now() + Duration::from_secs(20);
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        while socket.recv(&mut [0; 2000]).is_ok() {
            assert!(Instant::now() < end, "it goes on without a proof");
        }
    });
    server.stop();
}

/// The server of iPerf2's own command line, too.
#[test]
fn pathmeter_iperf_sends_no_udp_on_request() {
    let Some(testbed) = Testbed::new("pathmeter_iperf_sends_no_udp_on_request") else { return };
    for (options, is_served) in
        [(&["iperf", "-s", "-u"][..], false), (&["iperf", "-s", "-u", "--udp-reverse"], true)]
    {
        let server = Running::start(pathmeter(Some(testbed.server()), options));
        let heard = testbed.there(|| {
            let socket = UdpSocket::bind((attacker(1), 4000)).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            // Until it listens no request arrives.
            (0..50).any(|_| {
                socket.send_to(&iperf2_asks(Traffic::Reverse), (SERVER, 5001)).unwrap();
                socket.recv(&mut [0; 2000]).is_ok()
            })
        });
        assert_eq!(heard, is_served, "{options:?}");
        server.wait_for(if is_served { "can have UDP sent there" } else { "--udp-reverse" });
        server.signal("TERM");
        server.end();
    }
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;
