//! Every mode over both transports, our client with their server, theirs with ours, and ours with ours.

use crate::process::{Scratch, Tool, ToolOutput, drops, free_port, wait_for, wait_until_read};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::Command;
use std::time::Duration;

const PAIRS: [(Tool, Tool); 3] =
    [(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours), (Tool::Ours, Tool::Ours)];

/// The same in all three pairs, at the same time.
fn in_pairs(test: impl Fn(Tool, Tool, &str) + Sync) {
    std::thread::scope(|scope| {
        for (client, server) in PAIRS {
            let test = &test;
            scope.spawn(move || ["", "--tcp"].iter().for_each(|transport| test(client, server, transport)));
        }
    });
}

#[test]
fn ping_pong() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    in_pairs(|client, server, transport| {
        let port = free_port();
        let serving = server.serve(port, transport);
        let output =
            client.run(&format!("pp -i 127.0.0.1 -p {port} {transport} -m 100 -t 1 --mps=500")).good();
        let served = serving.stop().good();
        let who = format!("{client:?} with {server:?} {transport}: {output:#?} {served:#?}");
        let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
        assert!(sent > 0.0 && sent - received <= 1.0, "{who}");
        assert_eq!(served.number("Total "), sent, "{who}");
        let valid = output.stdout.split("[Valid Duration]").nth(1).unwrap_or_else(|| panic!("{who}"));
        assert!(valid.contains("Summary: Latency is ") && valid.contains("# dropped messages = 0;"), "{who}");
    });
}

#[test]
fn under_load() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    in_pairs(|client, server, transport| {
        let port = free_port();
        let serving = server.serve(port, transport);
        let options = "-m 64 -t 1 --mps=1000 --reply-every=10 --full-rtt";
        let output = client.run(&format!("ul -i 127.0.0.1 -p {port} {transport} {options}")).good();
        let served = serving.stop().good();
        let who = format!("{client:?} with {server:?} {transport}: {output:#?} {served:#?}");
        let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
        assert!(sent > 100.0 && ((sent / 10.0).floor() - received).abs() <= 2.0, "{who}");
        assert_eq!(served.number("Total "), sent, "{who}");
        let valid = output.stdout.split("[Valid Duration]").nth(1).unwrap_or_else(|| panic!("{who}"));
        assert!(valid.contains("avg-rtt=") && valid.contains("Summary: Round trip is "), "{who}");
    });
}

#[test]
fn throughput() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    in_pairs(|client, server, transport| {
        let port = free_port();
        let serving = server.serve(port, transport);
        let output =
            client.run(&format!("tp -i 127.0.0.1 -p {port} {transport} -m 1400 -t 1 --mps=2000")).good();
        let sent = output.number("Total of ");
        wait_until_read(transport, port);
        let dropped = drops(port) as f64;
        let served = serving.stop().good();
        let who = format!("{client:?} with {server:?} {transport}: {output:#?} {served:#?}");
        let arrived = served.number("Total ");
        // A server that had no CPU for a while has a full queue, which the kernel counts.
        assert!(arrived > 0.0 && (sent - arrived - dropped).abs() <= 2.0, "{dropped} dropped: {who}");
        assert!(
            output.stdout.contains("Summary: BandWidth is ")
                && output.stdout.contains("using msg-size=1400, mps=2000"),
            "{who}"
        );
    });
}

#[test]
fn playback() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("playback");
    let lines: String = (1..=60).map(|n| format!("{}, {}\n", f64::from(n) / 100.0, 14 + n * 20)).collect();
    let file = scratch.write("play.csv", format!("# time, size\n{lines}"));
    in_pairs(|client, server, transport| {
        let port = free_port();
        let serving = server.serve(port, transport);
        let output = client
            .run(&format!("pb -i 127.0.0.1 -p {port} {transport} --data-file {file} --reply-every=3"))
            .good();
        let served = serving.stop().good();
        let who = format!("{client:?} with {server:?} {transport}: {output:#?} {served:#?}");
        assert_eq!(
            (output.number("SentMessages="), output.number("ReceivedMessages=")),
            (60.0, 20.0),
            "{who}"
        );
        assert_eq!((served.number("Total "), output.number("mTotal ")), (60.0, 20.0), "{who}");
    });
}

#[test]
fn a_number_of_observations() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let serving = Tool::Theirs.serve(port, "");
    let output = Tool::Ours.run(&format!("pp -i 127.0.0.1 -p {port} -n 300")).good();
    drop(serving);
    assert!(
        output.stdout.contains("Warm up packets=8000; SentMessages=9300; ReceivedMessages=9300"),
        "{output:#?}"
    );
    assert!(output.stdout.contains("\x1b[2;35mTotal 300 observations\x1b[0m;"), "{output:#?}");
    assert!(output.stdout.contains("Test end (reached packet number)"), "{output:#?}");
}

#[test]
fn bursts_and_sizes_that_change() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for server in [Tool::Theirs, Tool::Ours] {
        let port = free_port();
        let serving = server.serve(port, "--tcp");
        let options = "-b 4 -m 100 -r 50 --mps=1000 --reply-every=5 -t 1";
        let output = Tool::Ours.run(&format!("ul --tcp -i 127.0.0.1 -p {port} {options}")).good();
        let served = serving.stop().good();
        let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
        assert!(sent > 500.0 && served.number("Total ") == sent, "{server:?}: {output:#?} {served:#?}");
        assert!(((sent / 5.0).floor() - received).abs() <= 1.0, "{server:?}: {output:#?}");
        assert!(
            output.stdout.contains("Summary: Latency of burst of 4 messages is "),
            "{server:?}: {output:#?}"
        );
    }
}

#[test]
fn ping_pong_of_bursts() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    in_pairs(|client, server, transport| {
        let port = free_port();
        let serving = server.serve(port, transport);
        let options = "-b 4 -m 100 --mps=2000";
        let output = client.run(&format!("pp -i 127.0.0.1 -p {port} {transport} {options}")).good();
        let served = serving.stop().good();
        let who = format!("{client:?} with {server:?} {transport}: {output:#?} {served:#?}");
        let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
        assert!(sent > 100.0 && sent - received <= 4.0, "{who}");
        assert!(client == Tool::Theirs || (sent, sent % 4.0) == (received, 0.0), "{who}");
        assert_eq!(served.number("Total "), sent, "{who}");
        assert!(output.stdout.contains("Summary: Latency of burst of 4 messages is "), "{who}");
        assert!(output.stdout.contains("# dropped messages = 0;"), "{who}");
    });
}

/// One burst is more than a second's share of the rate: it goes whole.
#[test]
fn a_burst_is_due_together() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "");
    for (mode, argv) in [("pp", "SentMessages="), ("ul", "SentMessages="), ("tp", "Total of ")] {
        let options = format!("{mode} -i 127.0.0.1 -p {port} -b 700 --mps=350 -t 1");
        let output = Tool::Ours.run(&options);
        // A server that has no CPU meanwhile has no room for all of them, and their replies are missed.
        assert!(matches!(output.code, Some(0 | 8)), "{output:#?}");
        assert_eq!(output.number(argv), 700.0, "{mode}");
    }
}

#[test]
fn sizes_change_from_burst_to_burst() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for mode in ["pp -b 3", "ul -b 3 --reply-every=1", "tp -b 3"] {
        let (output, sizes, _) = echoed(&format!("{mode} -m 100 -r 50 --mps=900"));
        assert!(sizes.iter().all(|size| (50..=150).contains(size)), "{mode}: {sizes:?}");
        let (below, above) = (sizes.iter().any(|size| *size < 70), sizes.iter().any(|size| *size > 130));
        assert!(below && above, "{mode}: {sizes:?}");
        assert!(
            sizes.chunks_exact(3).all(|burst| burst.iter().all(|size| *size == burst[0])),
            "{mode}: {sizes:?} {output:#?}"
        );
    }
}

#[test]
fn whole_replies_are_compared() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for transport in ["", "--tcp"] {
        let port = free_port();
        let serving = Tool::Theirs.serve(port, transport);
        let options = format!("-i 127.0.0.1 -p {port} {transport} -m 3000 -r 2900 --mps=500");
        let output = Tool::Ours.run(&format!("pp {options} --data-integrity")).good();
        let served = serving.stop().good();
        let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
        assert!(sent > 50.0 && (sent, sent) == (received, served.number("Total ")), "{output:#?}");
    }
}

#[test]
fn a_port_and_an_address_of_ones_own() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let own = free_port();
    let (_, _, from) = echoed(&format!("pp --client_port {own} --client_ip 127.0.0.3 --mps=200"));
    assert_eq!(from, Some(([127, 0, 0, 3], own).into()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = listener.local_addr().expect("bound").port();
    let accepted = std::thread::spawn(move || listener.accept().expect("a client comes").1);
    let output = Tool::Ours.run(&format!("pp --tcp --client_port {own} -i 127.0.0.1 -p {port}"));
    assert_eq!(accepted.join().expect("it accepts"), ([127, 0, 0, 1], own).into(), "{output:#?}");
    // Again and again, whatever the connection before has left.
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "--tcp");
    for _ in 0..2 {
        let options = format!("--client_port {own} -i 127.0.0.1 -p {port} --mps=200");
        assert!(Tool::Ours.run(&format!("pp --tcp {options}")).good().number("ReceivedMessages=") > 50.0);
    }
}

/// Options of the client's socket in the kernel.
#[test]
fn sockets_are_set_up_as_asked() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let port = free_port();
    let _serving = Tool::Theirs.serve(port, "--tcp");
    let options = "--buffer-size 100000 --rate-limit 1000000 --tcp-avoid-nodelay --mps=20";
    let running = Tool::Ours.start(&format!("pp --tcp -i 127.0.0.1 -p {port} -t 20 {options}"));
    let filter = format!("dport = :{port}");
    let reported = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let shown = Command::new("ss").args(["-tminH", &filter]).output().expect("ss(8), of iproute2");
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        text.contains("/8000000bps").then_some(text)
    });
    running.stop().good();
    let reported = reported.expect("a connection paced at 8 Mbit/s");
    assert!(reported.contains("rb200000,") && reported.contains("tb200000,"), "{reported}");
}

/// The loopback interface carries groups when it is named.
#[test]
fn a_group_on_an_interface() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    const GROUP: &str = "239.77.66.55";
    let interface = "--mc-rx-if 127.0.0.1 --mc-tx-if 127.0.0.1";
    for server in [Tool::Theirs, Tool::Ours] {
        let port = free_port();
        let serving = server.start(&format!("sr -i {GROUP} -p {port} {interface}"));
        wait_for("", port);
        for client in [Tool::Ours, Tool::Theirs] {
            let options = format!("{interface} --mc-loopback-enable --mps=300 -b 2 -m 60");
            let output = client.run(&format!("pp -i {GROUP} -p {port} {options}")).good();
            let (sent, received) = (output.number("SentMessages="), output.number("ReceivedMessages="));
            assert!(sent > 50.0 && sent - received <= 2.0, "{client:?} with {server:?}: {output:#?}");
        }
        serving.stop().good();
    }
}

/// Runs our client with a server that writes down the size of each message, which is in its header too; returns the client's
/// output, the sizes, and their source.
fn echoed(options: &str) -> (ToolOutput, Vec<usize>, Option<SocketAddr>) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let port = socket.local_addr().expect("bound").port();
    let running = Tool::Ours.start(&format!("{options} -i 127.0.0.1 -p {port}"));
    let (mut sizes, mut client) = (Vec::new(), None);
    let mut buf = [0; 65_536];
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("not zero");
    while let Ok((size, from)) = socket.recv_from(&mut buf) {
        socket.set_read_timeout(Some(Duration::from_secs(1))).expect("not zero");
        assert_eq!(buf[10..14], (size as u32).to_be_bytes());
        sizes.push(size);
        client = Some(from);
        if buf[9] & 2 != 0 {
            buf[9] &= !1;
            socket.send_to(&buf[..size], from).expect("loopback takes it");
        }
    }
    (running.wait().good(), sizes, client)
}

/// Above 65507 bytes a server takes only messages up to its configured size.
#[test]
fn messages_larger_than_a_datagram() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for (client, server) in PAIRS {
        let port = free_port();
        let _serving = server.serve(port, "--tcp -m 200000");
        let output = client.run(&format!("pp --tcp -i 127.0.0.1 -p {port} -m 200000 --mps=200")).good();
        // They cross; how many in that time is the host's.
        assert!(output.number("ReceivedMessages=") > 0.0, "{client:?} with {server:?}: {output:#?}");
    }
    let port = free_port();
    let _serving = Tool::Ours.serve(port, "--tcp");
    let output = Tool::Ours.run(&format!("pp --tcp -i 127.0.0.1 -p {port} -m 200000 --mps=200"));
    assert_eq!(output.code, Some(8), "{output:#?}");
}

#[test]
fn sockets_of_a_feed_file() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("feed");
    let (udp, tcp) = (free_port(), free_port());
    let file = scratch.write("feed", format!("# both\nU:127.0.0.1:{udp}\nT:127.0.0.1:{tcp}\n"));
    let serving = Tool::Ours.start(&format!("sr -f {file} -F p"));
    wait_for("", udp);
    wait_for("--tcp", tcp);
    let run =
        |transport: &str, port| Tool::Theirs.run(&format!("pp {transport} -i 127.0.0.1 -p {port} --mps=100"));
    assert!(run("", udp).good().number("ReceivedMessages=") > 20.0);
    assert!(run("--tcp", tcp).good().number("ReceivedMessages=") > 20.0);
    let served = serving.stop().good();
    assert!(
        served.stdout.contains(&format!("[ 1] IP = 127.0.0.1       PORT = {tcp} # TCP\n")),
        "{served:#?}"
    );
    assert!(served.stdout.contains("using poll() to block on socket(s)"), "{served:#?}");
}

/// A server without an address to listen on has clients by IPv4 and by IPv6.
#[test]
fn any_address() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    for transport in ["", "--tcp"] {
        let port = free_port();
        let serving = Tool::Ours.start(&format!("sr -p {port} {transport}"));
        wait_for(transport, port);
        let run = |tool: Tool, host: &str| {
            tool.run(&format!("pp {transport} -i {host} -p {port} --mps=200")).good()
        };
        for output in [run(Tool::Theirs, "127.0.0.1"), run(Tool::Ours, "127.0.0.1"), run(Tool::Ours, "::1")] {
            assert!(output.number("ReceivedMessages=") > 50.0, "{output:#?}");
        }
        let served = serving.stop().good();
        assert!(served.stdout.contains(&format!("IP = ::              PORT = {port} ")), "{served:#?}");
    }
}

/// Messages take turns over the sockets of a feed file, and count together.
#[test]
fn a_client_of_several_sockets() {
    if skip::lacks(&["sockperf"]) {
        return;
    }
    let scratch = Scratch::new("several");
    let ports = [free_port(), free_port()];
    let [serving, other] = ports.map(|port| Tool::Theirs.serve(port, "--tcp"));
    let file = scratch.write("feed", format!("T:127.0.0.1:{}\nT:127.0.0.1:{}\n", ports[0], ports[1]));
    for mode in ["pp --mps=400", "ul --mps=400 --reply-every=4", "pp -b 3 -r 20 --mps=400", "pp -n 101"] {
        let output = Tool::Ours.run(&format!("{mode} -f {file} -m 50")).good();
        assert!(
            output.stdout.contains(&format!("[ 1] IP = 127.0.0.1       PORT = {} # TCP\n", ports[1])),
            "{output:#?}"
        );
        assert!(
            output.number("mTotal ") > 20.0 && output.number("# dropped messages = ") == 0.0,
            "{output:#?}"
        );
    }
    let served = [serving, other].map(|server| server.stop().good().number("Total "));
    assert!(served[0] > 100.0 && (served[0] - served[1]).abs() <= 2.0, "{served:?}");
}
