//! Many clients on one port, and those that must not disturb the others.

use crate::figures::number;
use crate::process::{Running, Scratch, Tool, free_port, wait_until};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

const CLIENTS: [&str; 8] = ["", "-R", "-u", "-u -R", "--bidir", "-u --bidir", "-P 4", "-u -P 4"];

/// All at once, where the real server has one at a time; each counts its own bytes.
#[test]
fn many_clients_at_once() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let mut serving = Tool::Ours.serve(port, "");
    let clients =
        CLIENTS.map(|mode| Tool::Theirs.start(&format!("-c 127.0.0.1 -p {port} -J -t 2 -b 5M {mode}")));
    for (mode, client) in CLIENTS.iter().zip(clients) {
        let document = client.wait().good().json();
        assert!(number(&document, "end.sum_received.bytes") > 0.0, "{mode}: {document}");
    }
    assert!(serving.runs());
    let output = serving.stop().good();
    tests_are_whole(&output.stdout, CLIENTS.len());
}

/// No line of one test between those of another.
fn tests_are_whole(text: &str, tests: usize) {
    let mut blocks =
        text.split("-----------------------------------------------------------\nServer listening");
    assert_eq!(blocks.next(), Some(""), "{text}");
    let reported: Vec<&str> = blocks.filter(|block| block.contains("Accepted")).collect();
    assert_eq!(reported.len(), tests, "{text}");
    for block in reported {
        assert_eq!(block.matches("Accepted connection from").count(), 1, "{block}");
        assert_eq!(block.matches("- - - - -\n[ ID]").count(), 1, "{block}");
    }
}

#[test]
fn silent_clients_block_no_other() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Ours.serve(port, "");
    let silent: Vec<TcpStream> = (0..20).map(|_| connect(port)).collect();
    let mut half = connect(port);
    half.write_all(b"half a cookie").expect("the server reads");
    let mut greeted = connect(port);
    greeted.write_all(COOKIE).expect("the server reads");
    let mut state = [0];
    greeted.read_exact(&mut state).expect("the server answers a cookie");
    assert_eq!(state, [9], "PARAM_EXCHANGE");
    let document = Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -J -n 1M")).good().json();
    assert!(number(&document, "end.sum_received.bytes") >= 1_048_576.0);
    drop((silent, half, greeted));
    serving.stop().good();
}

/// Clients that vanish in the middle: killed, so that the connection is not closed in order, and one that only stops to talk.
#[test]
fn clients_that_vanish_leave_the_server_serving() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let mut serving = Tool::Ours.serve(port, "");
    for mode in ["", "-R", "-u", "-u -R", "--bidir -P 2"] {
        let client =
            Tool::Theirs.start(&format!("-c 127.0.0.1 -p {port} -t 30 -b 5M --forceflush -i 0.1 {mode}"));
        let open = || client.open_sockets() >= 2;
        wait_until("the data streams are open", open);
        client.signal("KILL");
        drop(client);
        let document = Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -J -n 100K {mode}")).good().json();
        assert!(number(&document, "end.sum_received.bytes") > 0.0, "after {mode}: {document}");
    }
    assert!(serving.runs());
    serving.stop().good();
}

/// A client stopped in the middle by Ctrl-C prints what was measured, and so does the server.
#[test]
fn a_client_that_is_stopped_reports_the_server() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for (client, server) in PAIRS {
        let running = Stoppable::start(client, server, "client");
        running.client.signal("INT");
        let (client, server) = running.ended();
        assert!(client.contains("sender"), "{client}");
        assert!(client.contains("iperf3: interrupt - the client has terminated"), "{client}");
        assert!(server.contains("receiver"), "{server}");
    }
}

/// A server that is stopped notifies the client, which prints its measurement.
#[test]
fn a_server_that_is_stopped_reports_its_clients() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for (client, server) in PAIRS {
        let running = Stoppable::start(client, server, "server");
        running.server.signal("TERM");
        let (client, server) = running.ended();
        assert!(server.contains("receiver"), "{server}");
        assert!(server.contains("iperf3: interrupt - the server has terminated"), "{server}");
        assert!(client.contains("iperf3: error - the server has terminated"), "{client}");
    }
}

const PAIRS: [(Tool, Tool); 3] =
    [(Tool::Theirs, Tool::Ours), (Tool::Ours, Tool::Theirs), (Tool::Ours, Tool::Ours)];

/// A test of half a minute that has shown some intervals.
struct Stoppable {
    scratch: Scratch,
    client: Running,
    server: Running,
}

impl Stoppable {
    fn start(client: Tool, server: Tool, who: &str) -> Stoppable {
        let (scratch, port) = (Scratch::new(&format!("stop-{who}-{client:?}-{server:?}")), free_port());
        let log = |name| format!("--forceflush --logfile {}", scratch.path(name));
        let server = server.serve(port, &format!("-1 {}", log("server")));
        let client = client.start(&format!("-c 127.0.0.1 -p {port} -t 30 -b 5M -i 0.1 {}", log("client")));
        let running = Stoppable { scratch, client, server };
        let shows = || running.read("client").matches("/sec").count() >= 3;
        wait_until("the client has shown three intervals", shows);
        running
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.scratch.path(name)).unwrap_or_default()
    }

    /// The outputs of the two.
    fn ended(mut self) -> (String, String) {
        wait_until("both have ended", || !self.client.runs() && !self.server.runs());
        (self.read("client"), self.read("server"))
    }
}

/// Bytes of no protocol, before, during and after a test, TCP and UDP.
#[test]
fn garbage_on_the_port_disturbs_no_client() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let port = free_port();
    let mut serving = Tool::Ours.serve(port, "");
    let client = Tool::Theirs.start(&format!("-c 127.0.0.1 -p {port} -J -u -b 5M -t 2"));
    let udp = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..200 {
        let bytes = random.bytes(1 + round * 7);
        // The server may have closed it already, or not have opened UDP.
        let _ = udp.send_to(&bytes, ("127.0.0.1", port));
        let mut tcp = connect(port);
        let _ = if round % 3 == 0 { tcp.write_all(COOKIE) } else { Ok(()) };
        let _ = tcp.write_all(&bytes);
    }
    for hello in [&b"\x39\x38\x37\x36"[..], &b"\x36\x37\x38\x39"[..], &[0; 4][..]] {
        udp.send_to(hello, ("127.0.0.1", port)).expect("loopback");
    }
    let document = client.wait().good().json();
    assert!(number(&document, "end.sum_received.packets") > 0.0, "{document}");
    assert!(serving.runs());
    Tool::Theirs.run(&format!("-c 127.0.0.1 -p {port} -n 100K")).good();
    serving.stop().good();
}

fn connect(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("not zero");
    socket
}

/// xorshift64: the same garbage each time.
struct Random(u64);

impl Random {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut next = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 as u8
        };
        (0..count).map(|_| next()).collect()
    }
}

const COOKIE: &[u8; 37] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";
