//! Every mode, our client against the real server, the real client against ours, and ours against ours.

use crate::figures::{Mode, agree};
use crate::process::{Tool, free_port, their_minor};
use crate::workers::for_each;
use serde_json::Value;

/// Options of a client, one mode a row.
const MODES: &[&str] = &[
    "",
    "-R",
    "--bidir",
    "-P 3",
    "-P 2 -R",
    "-P 2 --bidir",
    "-b 20M",
    "-b 20M -R",
    "-b 20M --bidir",
    "-b 20M/10",
    "-b 20M -O 1",
    "-b 20M -O 1 -R",
    "-b 20M -O 1 --bidir -P 2",
    "-n 3000K",
    "-n 3000K -R",
    "-n 3000K -P 2",
    "-n 2000K -O 1 -b 20M",
    "-k 40 -b 20M",
    "-k 40 -P 2 -R",
    "-k 40",
    "-k 40 -R",
    "-b 20M -l 4096",
    "-b 20M -M 1000",
    "-b 20M -M 1000 -R",
    "-b 20M -w 128K",
    "-b 20M -C reno",
    "-b 20M -C reno -R",
    "-b 20M -S 0x20",
    "-b 20M --dscp ef",
    "-b 20M -N",
    "-b 20M -Z",
    "-Z -n 3000K",
    "-b 20M --fq-rate 50M",
    "-b 20M --repeating-payload",
    "-b 20M -i 0.5",
    "-b 20M -i 0",
    "-b 20M -4",
    "-b 20M -A 0,1",
    "-b 20M --connect-timeout 3000",
    "-b 20M --rcv-timeout 5000 -R",
    "-b 20M --snd-timeout 5000",
    "-u",
    "-u -R",
    "-u --bidir",
    "-u -b 10M",
    "-u -b 10M -R -P 3",
    "-u -b 10M -P 3",
    "-u -b 10M -P 2 --bidir",
    "-u -b 10M -O 1",
    "-u -b 10M -O 1 -R",
    "-u -b 10M -l 100",
    "-u -b 10M -l 1472 -R",
    "-u -b 10M/20",
    "-u -b 0 -l 1400",
    "-u -b 0 -l 1400 -R",
    "-u -b 10M -n 500K",
    "-u -b 10M -n 500K -R",
    "-u -b 10M -n 500K -O 1",
    "-u -b 10M -k 50",
    "-u -b 10M --udp-counters-64bit",
    "-u -b 10M --udp-counters-64bit -R",
    "-u -b 10M --udp-counters-64bit --bidir",
    "-u -b 10M -l 1000 --dont-fragment",
    "-u -b 10M -S 0x20",
    "-u -b 10M -w 256K",
    "-u -b 10M --repeating-payload -i 0.2",
];

/// Options that came with 3.19 and 3.21.
const NEW_MODES: &[&str] = &[
    "-b 20M --skip-rx-copy",
    "-b 20M --skip-rx-copy -R",
    "-u -b 10M -l 1400 --gsro",
    "-u -b 10M -l 1400 --gsro -R",
    "-u -b 10M -l 1400 --gsro --bidir -P 2",
    "-u -b 0 -l 1400 --gsro",
    "-u -b 0 -l 1400 --gsro --udp-counters-64bit -R",
    "-u -b 10M --gsro -O 1",
];

#[test]
fn options_of_newer_versions() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let mut pairs = vec![(Tool::Ours, Tool::Ours)];
    if their_minor() >= 21 {
        pairs.extend([(Tool::Ours, Tool::Theirs), (Tool::Theirs, Tool::Ours)]);
    }
    for (client, server) in pairs {
        for_each(NEW_MODES, |options| run(Mode { options }, client, server));
    }
}

/// The real client ends this one with its omitted time.
const OURS: &str = "-n 2000K -O 1 -b 20M -R";

#[test]
fn our_client_and_the_real_server() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for_each(MODES, |options| run(Mode { options }, Tool::Ours, Tool::Theirs));
    run(Mode { options: OURS }, Tool::Ours, Tool::Theirs);
}

#[test]
fn the_real_client_and_our_server() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    for_each(MODES, |options| run(Mode { options }, Tool::Theirs, Tool::Ours));
}

#[test]
fn our_client_and_our_server() {
    for_each(MODES, |options| {
        let mode = Mode { options };
        let (client, server) = run(mode, Tool::Ours, Tool::Ours);
        if !mode.omits() {
            nothing_is_lost_between(mode, &client, &server);
        }
    });
    run(Mode { options: OURS }, Tool::Ours, Tool::Ours);
}

/// Beyond what iPerf3 promises: both ends agree to the byte, and every datagram is accounted for.
fn nothing_is_lost_between(mode: Mode, client: &Value, server: &Value) {
    let suffixes: &[&str] = if mode.is_bidirectional() { &["", "_bidir_reverse"] } else { &[""] };
    for suffix in suffixes {
        let down = mode.is_reverse() || !suffix.is_empty();
        let (sender, receiver) = if down { (server, client) } else { (client, server) };
        let figure = |document: &Value, sum: &str, key: &str| {
            crate::figures::number(document, &format!("end.sum_{sum}{suffix}.{key}"))
        };
        if mode.is_udp() && down && mode.value("-b") == Some("0") {
            // The client gives its figures before it knows how much was sent: of a lost tail it does not know.
            continue;
        }
        let key = if mode.is_udp() { "packets" } else { "bytes" };
        let (sent, received) = (figure(sender, "sent", key), figure(receiver, "received", key));
        if mode.is_udp() && down {
            // The client gives its results first: it cannot know of datagrams lost after the last that came.
            assert!(received <= sent, "{key}{suffix}: {received} of {sent}");
        } else {
            assert_eq!(sent, received, "{key}{suffix}");
        }
    }
}

fn run(mode: Mode, client: Tool, server_tool: Tool) -> (Value, Value) {
    let play = || {
        let port = free_port();
        let serving = server_tool.serve(port, "-1 -J");
        let length = if mode.has("-n") || mode.has("-k") { "" } else { "-t 1" };
        let client =
            client.run(&format!("-c 127.0.0.1 -p {port} -J {length} {}", mode.options)).good().json();
        (client, serving.wait().good().json())
    };
    // Neighbours may take both CPUs for the one second that is counted behind what is omitted.
    let empty = |(client, _): &(Value, Value)| client["end"]["sum_sent"]["bytes"] == 0;
    let mut runs = (0..3).map(|_| play());
    let (client, server) = match mode.omits() {
        true => runs.find(|run| !empty(run)).expect("one of three runs sends in its counted second"),
        false => play(),
    };
    agree(mode, &client, &server, serves_exactly(server_tool));
    (client, server)
}

/// From 3.16 on the real server prints its end while its threads still send: it then reports more to the client.
fn serves_exactly(server: Tool) -> bool {
    server == Tool::Ours || their_minor() < 16
}
