//! A far end, or the path to it, that is gone in mid-test: what was measured is printed, with the reason, and the exit code is
//! that of `docs/exit-codes.md`, whatever the command and the protocol.

use super::figures::record;
use super::net::{SERVER, ip};
use super::support::{Ended, Running};
use super::testbed::Testbed;
use std::time::{Duration, Instant};

/// Commands that run long enough to be cut, and the code each ends with.
const CLIENTS: [(&[&str], i32); 29] = [
    (&["throughput", SERVER, "-t", "9"], 3),
    (&["throughput", SERVER, "-R", "-t", "9"], 3),
    (&["throughput", SERVER, "-u", "-b", "2M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf3", "-b", "2M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf3", "-R", "-b", "2M", "-t", "9"], 3),
    // Fast enough to fill the receive buffer of a server that hangs, which acknowledges all that its kernel has room for.
    (&["throughput", SERVER, "--protocol", "iperf2", "-b", "100M", "-t", "9"], 3),
    // Slow enough for the kernel of a server that hangs to take all of it: the connection stays open.
    (&["throughput", SERVER, "--protocol", "iperf2", "-b", "2M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf2", "-u", "-b", "2M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf2", "-R", "-b", "20M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf2", "--bidir", "-b", "20M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf2", "-u", "-R", "-b", "2M", "-t", "9"], 3),
    (&["throughput", SERVER, "--protocol", "iperf2", "-u", "--bidir", "-b", "2M", "-t", "9"], 3),
    (&["latency", SERVER, "-t", "9"], 3),
    (&["latency", SERVER, "--protocol", "stamp", "--mode", "under-load", "--rate", "200", "-t", "9"], 3),
    (&["latency", SERVER, "--protocol", "sockperf", "--tcp", "-t", "9"], 3),
    (&["transfer", "http://10.77.0.2:8080/bytes/100G", "-n", "1", "--timeout", "10s"], 3),
    (&["iperf3", "-c", SERVER, "-b", "2M", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-b", "100M", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-u", "-b", "2M", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-R", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-R", "-n", "100G"], 1),
    (&["iperf", "-c", SERVER, "--full-duplex", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-d", "-b", "2M", "-t", "9"], 1),
    (&["iperf", "-c", SERVER, "-r", "-b", "2M", "-t", "2"], 1),
    // In the first half, so that no connection comes back.
    (&["iperf", "-c", SERVER, "-r", "-t", "12"], 1),
    (&["iperf", "-u", "-c", SERVER, "-d", "-b", "2M", "-t", "9"], 1),
    (&["iperf", "-u", "-c", SERVER, "-r", "-b", "2M", "-t", "2"], 1),
    (&["iperf", "-u", "-c", SERVER, "-R", "-b", "2M", "-t", "9"], 1),
    (&["sockperf", "pp", "-i", SERVER, "-t", "9"], 8),
];

/// Starts all of them, and has the event come in mid-test.
fn cut(testbed: &Testbed, row: &str, event: impl FnOnce()) -> Vec<Ended> {
    let running: Vec<Running> = CLIENTS.iter().map(|(args, _)| testbed.client(args)).collect();
    std::thread::sleep(Duration::from_secs(3));
    event();
    let begin = Instant::now();
    let ended = running.into_iter().map(Running::end).collect();
    let figure = format!("{} clients, the last after {:.0} s", CLIENTS.len(), begin.elapsed().as_secs_f64());
    record(row, &figure);
    ended
}

#[track_caller]
fn agree(ended: &[Ended]) {
    let mut wrong = Vec::new();
    for ((args, code), ended) in CLIENTS.iter().zip(ended) {
        let text = ended.stdout.len() + ended.stderr.len() > 0;
        if ended.code != Some(*code) || !text {
            wrong.push(format!("{args:?}: {:?}, not {code}\n{}\n{}", ended.code, ended.stdout, ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_path_that_is_cut_ends_every_command_with_its_code() {
    let Some(testbed) = Testbed::new("a_path_that_is_cut") else { return };
    let server = testbed.serve(&[]);
    agree(&cut(&testbed, "all clients end once the path is cut", || {
        ip(&["-n", testbed.server(), "link", "set", "eth0", "down"])
    }));
    server.stop();
}

#[test]
fn a_server_that_hangs_ends_every_command_with_its_code() {
    let Some(testbed) = Testbed::new("a_server_that_hangs") else { return };
    let server = testbed.serve(&[]);
    agree(&cut(&testbed, "all clients end once the server hangs", || server.process.signal("STOP")));
    server.process.signal("KILL");
}

#[test]
fn a_server_that_is_killed_ends_every_command_with_its_code() {
    let Some(testbed) = Testbed::new("a_server_that_is_killed") else { return };
    let server = testbed.serve(&[]);
    agree(&cut(&testbed, "all clients end once the server is killed", || server.process.signal("KILL")));
}
