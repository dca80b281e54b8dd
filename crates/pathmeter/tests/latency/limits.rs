//! Limits of a server: a latency session beyond one is refused with the option that sets it, one within it is not.

use super::common::{counts, latency, measured, only_egress};
use super::support::{Running, Server, pathmeter};

#[test]
fn longer_tests_than_allowed_are_refused_and_shorter_ones_not() {
    let server = Server::start(&["--max-time", "1s"]);
    let host = server.host();
    for transport in ["--udp", "--tcp"] {
        let ended = latency(&host, &["-t", "5s", transport]).code(3);
        ended.prints("5.00 s").prints("1.00 s").prints("--max-time").prints("--time");
        latency(&host, &["-t", "300ms", transport]).code(0);
        // A number of messages may take any time: they have as long as the server allows.
        let run = measured(&host, &["-n", "100", transport]);
        assert_eq!(counts(only_egress(&run), ["sent", "received"]), [100; 2]);
    }
    server.stop().prints("refused the client");
}

#[test]
fn faster_tests_than_allowed_are_refused_and_slower_ones_not() {
    // 64 bytes: 1000 messages/s.
    let server = Server::start(&["--max-rate", "512K"]);
    let host = server.host();
    for args in [&["-n", "20", "--rate", "1001"][..], &["--mode", "under-load", "-n", "20"]] {
        latency(&host, args).code(3).prints("--max-rate").prints("--rate 1000");
    }
    // Messages that wait for one another have no rate: the limit is theirs.
    for args in [&["-n", "20"][..], &["-n", "20", "--rate", "1000"]] {
        let run = measured(&host, args);
        assert_eq!(run["work"]["latency"]["rate_pps"], 1000, "{args:?}");
        assert_eq!(counts(only_egress(&run), ["sent", "received"]), [20; 2], "{args:?}");
    }
    server.stop().prints("refused the client");
}

#[test]
fn a_busy_server_reports_it() {
    let server = Server::start(&["--max-tests", "1"]);
    let host = server.host();
    let args = ["latency", &host, "-t", "100s", "-i", "100ms", "--rate", "100", "--format", "ndjson"];
    let first = Running::start(pathmeter(None, &args));
    first.wait_for_output("\"latency_sample\"");
    latency(&host, &["-n", "20"]).code(3).prints("busy");
    first.signal("INT");
    let ended = first.end();
    let last = ended.stdout.lines().last().unwrap();
    let run: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!(run["summary"]["outcome"]["outcome"], "interrupted", "{run:#}");
    let [sent, received, late, far] = counts(only_egress(&run), ["sent", "received", "late", "far_received"]);
    assert!(sent > 0 && received + late + 5 >= sent && far == sent, "{:#}", only_egress(&run)["counted"]);
    // Its place is free again, soon after it has left.
    let run = measured(&host, &["-n", "20"]);
    assert_eq!(counts(only_egress(&run), ["sent", "received"]), [20; 2]);
    server.stop();
}
