//! Peers and paths in trouble: a loss costs a timeout, never the test; silence is an error; a stray packet is harmless.

use crate::process::{Scratch, Tool, free_port, wait_until_read};
use crate::relay::{Delivery, Relay};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

/// A case in which the real tool hangs after one lost datagram and reports that nothing was lost.
#[test]
fn losses_do_not_stall_ping_pong() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "");
    let relay = Relay::to(port, |number| if number == 150 { Delivery::Lose } else { Delivery::Pass });
    let output = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {} -t 3 --mps=200", relay.port)).good();
    assert_eq!(output.number("# dropped messages = "), 1.0, "{output:#?}");
    assert!(output.stdout.contains("\x1b[0;31m# dropped messages = 1;"), "{output:#?}");
    assert!(output.number("SentMessages=") > 200.0, "the test goes on: {output:#?}");
    assert_eq!(output.number("SentMessages=") - output.number("ReceivedMessages="), 1.0, "{output:#?}");
}

#[test]
fn lost_doubled_and_disordered_replies_are_counted_apart() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Theirs.serve(port, "");
    let delivery = |number| match number {
        120 | 130 => Delivery::Lose,
        110 | 140 | 150 => Delivery::Double,
        160 => Delivery::Swap,
        _ => Delivery::Pass,
    };
    let relay = Relay::to(port, delivery);
    let options = "-t 2 --mps=100 --reply-every=1 -m 60";
    let output = Tool::Ours.run(&format!("ul -i 127.0.0.1 -p {} {options}", relay.port)).good();
    drop(serving);
    let reported = ["# dropped messages = ", "# duplicated messages = ", "# out-of-order messages = "];
    assert_eq!(reported.map(|args| output.number(args)), [2.0, 3.0, 1.0], "{output:#?}");
}

/// Both programs stop with the same sentence and number.
#[test]
fn a_reply_that_differs_from_its_request_ends_the_test() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for client in [Tool::Ours, Tool::Theirs] {
        let port = free_port();
        let _serving = Tool::Theirs.serve(port, "");
        let relay = Relay::to(port, |number| if number == 50 { Delivery::Alter } else { Delivery::Pass });
        let options = format!("pp -i 127.0.0.1 -p {} -t 5 --mps=100 -m 200", relay.port);
        let output = client.run(&format!("{options} --data-integrity"));
        assert_eq!(output.code, Some(2), "{output:#?}");
        assert!(
            format!("{}{}", output.stdout, output.stderr).contains("ERROR: data integrity test failed"),
            "{output:#?}"
        );
        assert!(!output.stdout.contains("Summary:"), "{output:#?}");
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "");
    let relay = Relay::to(port, |number| if number == 1 { Delivery::Alter } else { Delivery::Pass });
    let first = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {} --data-integrity -m 15", relay.port));
    assert_eq!(first.code, Some(2), "{first:#?}");
}

/// The rest of a burst is received; the test goes on after a second.
#[test]
fn losses_in_a_burst_do_not_stall_ping_pong() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "");
    let delivery = |number| match number {
        122 | 124 => Delivery::Lose,
        126 => Delivery::Double,
        _ => Delivery::Pass,
    };
    let relay = Relay::to(port, delivery);
    let output = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {} -t 3 --mps=200 -b 4", relay.port)).good();
    let reported = ["# dropped messages = ", "# duplicated messages = "];
    assert_eq!(reported.map(|args| output.number(args)), [2.0, 1.0], "{output:#?}");
    assert!(output.number("SentMessages=") > 200.0, "the test goes on: {output:#?}");
}

#[test]
fn silence_is_an_error_and_no_zero() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = socket.local_addr().expect("bound").port();
    let output = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {port} -t 1"));
    assert_eq!(output.code, Some(8), "{output:#?}");
    assert!(
        output.stdout.contains("No messages were received from the server. Is the server down?"),
        "{output:#?}"
    );
    assert!(!output.stdout.contains("Summary:"), "{output:#?}");
    assert!(output.stderr.starts_with("sockperf: ERROR: "), "{output:#?}");
    let refused = Tool::Ours.run(&format!("pp --tcp -i 127.0.0.1 -p {port} -t 1"));
    assert_eq!(refused.code, Some(7), "{refused:#?}");
    assert!(refused.stderr.contains("refused the connection"), "{refused:#?}");
}

/// One of these sent to the real server spoils its replies to everybody.
#[test]
fn stray_datagrams_harm_no_client() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Ours.serve(port, "");
    let foreign = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let mut client = Tool::Theirs.start(&format!("pp -i 127.0.0.1 -p {port} -t 1 --mps=500"));
    let ping = |len: u32, size: usize| {
        let mut bytes = vec![0; size];
        bytes[7] = 1;
        bytes[9] = 3;
        bytes[10..14].copy_from_slice(&len.to_be_bytes());
        bytes
    };
    let junk = [
        vec![1; 5],
        Vec::new(),
        ping(13, 14),
        ping(0, 14),
        ping(2000, 14),
        ping(u32::MAX, 14),
        ping(20, 60),
        vec![0xff; 60],
    ];
    while client.runs() {
        for bytes in &junk {
            foreign.send_to(bytes, ("127.0.0.1", port)).expect("loopback takes it");
        }
        // Each of them every so often, and no flood.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let output = client.wait().good();
    let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
    assert!(sent > 100.0 && sent - received <= 1.0, "{output:#?}");
    drop(serving);
}

#[test]
fn connections_that_speak_nonsense_are_closed_alone() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Ours.serve(port, "--tcp");
    let client = Tool::Theirs.start(&format!("pp --tcp -i 127.0.0.1 -p {port} -t 1 --mps=500"));
    let mut foreign = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    foreign.set_read_timeout(Some(std::time::Duration::from_secs(30))).expect("not zero");
    foreign.write_all(&[0xff; 100]).expect("loopback takes it");
    // Closed: with a reset when it had not read all.
    let end = foreign.read(&mut [0; 10]);
    assert!(matches!(end, Ok(0)) || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    let output = client.wait().good();
    assert!(output.number("SentMessages=") - output.number("ReceivedMessages=") <= 1.0, "{output:#?}");
    let served = serving.stop().good();
    assert!(served.stderr.contains("closed"), "{served:#?}");
}

/// A server that goes away in the middle.
#[test]
fn what_was_measured_is_shown_before_the_error() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client comes");
        let mut message = [0; 14];
        for _ in 0..150 {
            socket.read_exact(&mut message).expect("a ping");
            message[9] &= !1;
            socket.write_all(&message).expect("a client that listens");
        }
    });
    let output = Tool::Ours.run(&format!("pp --tcp -i 127.0.0.1 -p {port} -t 30 --mps=100"));
    server.join().expect("the server ends");
    assert_eq!(output.code, Some(7), "{output:#?}");
    assert!(output.stdout.contains("Summary: Latency is "), "{output:#?}");
    assert!(output.stderr.contains("closed the connection"), "{output:#?}");
}

#[test]
fn gaps_in_the_numbers_are_reported() {
    let port = free_port();
    let serving = Tool::Ours.serve(port, "-g --dont-reply");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    for number in [1_u8, 2, 6, 4, 7] {
        let message = [0, 0, 0, 0, 0, 0, 0, number, 0, 3, 0, 0, 0, 14];
        socket.send_to(&message, ("127.0.0.1", port)).expect("loopback takes it");
    }
    wait_until_read("", port);
    let served = serving.stop().good();
    let client = socket.local_addr().expect("bound");
    assert!(served.stdout.contains(&format!("Starting new session: [{client}]")), "{served:#?}");
    assert!(served.stdout.contains("Total Dropped/OOO: 3           GAP:(3)     [3 - 5]\n"), "{served:#?}");
    assert!(served.stdout.contains("Total 5 messages received and handled\n"), "{served:#?}");
    assert!(served.stdout.contains("Summary: Total Dropped/OOO: 3\n"), "{served:#?}");
    socket.set_nonblocking(true).expect("a socket");
    assert!(socket.recv(&mut [0; 20]).is_err(), "--dont-reply");
}

#[test]
fn files_that_are_wrong_or_not_there() {
    let scratch = Scratch::new("files");
    let wrong = scratch.write("wrong", "0.5, 14\n0.4, 14\n");
    let feed = scratch.write("feed", "nonsense\n");
    let empty = scratch.write("empty", "# nothing\n");
    for (options, code, sentence) in [
        (format!("pb --data-file {wrong}"), 2, "line 2"),
        ("pb --data-file /no/such/file".into(), 4, "Can't open file: /no/such/file"),
        (format!("pp -f {feed}"), 2, "invalid input in line 1"),
        (format!("sr -f {empty}"), 1, "the feed file is empty"),
        ("sr -f /no/such/file".into(), 4, "Can't open file: /no/such/file"),
        ("pp --full-log /no/such/dir/log".into(), 1, "Can't open file /no/such/dir/log for writing"),
        ("pp -i no-such-host.invalid".into(), 1, "no-such-host.invalid"),
        ("pp --mc-tx-if 2".into(), 1, "'--mc-tx-if' takes the IPv4 address"),
        ("pp --srv-num 2".into(), 1, "one server answers"),
        ("pp -b 5 --data-integrity".into(), 1, "--data-integrity conflicts with -b option"),
        ("sr -i 192.0.2.1".into(), 7, "Can`t bind socket, IP to bind: 192.0.2.1:11111"),
    ] {
        let output = Tool::Ours.run(&options);
        assert_eq!(output.code, Some(code), "{options}: {output:#?}");
        assert!(output.stderr.contains(sentence), "{options}: {output:#?}");
    }
}
