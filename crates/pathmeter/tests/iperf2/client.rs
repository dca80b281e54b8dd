//! Our client, the real server.

use super::process::{
    ToolOutput, free_port, has_iperf, our_client, our_dialect, our_round_trips, our_server, their_server,
};
use serde_json::Value;

/// Runs our client against a server of theirs; both say their figures.
fn tested(options: &str) -> (Value, ToolOutput) {
    let port = free_port();
    let udp = if options.contains("--udp") { "-u" } else { "" };
    let server = their_server(port, udp);
    let (output, run) = our_client(port, options);
    // With both directions on one UDP socket iPerf2 has no report of the received data: up is not known, which is void.
    let code = if options.contains("--udp --bidir") { 4 } else { 0 };
    assert_eq!(output.code, Some(code), "{options}: {output:#?}, of the server {}", server.output_so_far());
    // The server prints the figures a moment after the flow is over.
    server.wait_for_rows(flows(options));
    let theirs = server.stop();
    assert_eq!(theirs.code, Some(0), "{options}: {theirs:#?}");
    (run, theirs)
}

/// Flows of a test with these options, in both directions counted.
fn flows(options: &str) -> usize {
    let args = || options.split_whitespace();
    let streams =
        args().skip_while(|word| *word != "-P").nth(1).map_or(1, |count| count.parse().expect("a number"));
    let both = args().any(|word| ["--bidir", "-d", "-r"].contains(&word));
    if both { 2 * streams } else { streams }
}

fn streams<'a>(run: &'a Value, side: &str, role: &str) -> Vec<&'a Value> {
    let rows = run["summary"][side]["streams"].as_array();
    rows.into_iter().flatten().filter(|row| row["role"] == role).collect()
}

fn sum(rows: &[&Value], field: &str) -> u64 {
    rows.iter().map(|row| row.pointer(field).and_then(Value::as_u64).expect("a number")).sum()
}

#[test]
fn tcp_bytes_are_the_same_at_both_ends() {
    if !has_iperf() {
        return;
    }
    for options in ["-n 20M", "-t 1", "-t 1 -P 3", "-t 1 -b 20M -M 1000 -w 256K -l 8K --dscp ef", "-n 5M -Z"]
    {
        let (run, server) = tested(options);
        let sent = sum(&streams(&run, "local", "sender"), "/bytes");
        assert_eq!(server.bytes(), sent, "{options}: {server:#?}");
    }
}

#[test]
fn tcp_from_the_server() {
    if !has_iperf() {
        return;
    }
    for options in ["-R -n 20M", "-R -t 1", "-R -t 1 -P 2", "-R -t 1 -b 20M"] {
        let (run, server) = tested(options);
        let received = sum(&streams(&run, "local", "receiver"), "/bytes");
        assert!(received > 0 && received == server.bytes(), "{options}: {received} {server:#?}");
    }
}

#[test]
fn tcp_both_directions_on_one_connection() {
    if !has_iperf() {
        return;
    }
    let (run, server) = tested("--bidir -t 1");
    let sent = sum(&streams(&run, "local", "sender"), "/bytes");
    let received = sum(&streams(&run, "local", "receiver"), "/bytes");
    let rows: Vec<u64> = server.rows().iter().map(|row| row.bytes).collect();
    assert!(rows.contains(&sent) && rows.contains(&received), "{sent} {received} {server:#?}");
}

#[test]
fn udp_datagrams_are_the_same_at_both_ends() {
    if !has_iperf() {
        return;
    }
    for options in ["--udp -t 1 -b 5M", "--udp -n 1M -b 20M -l 1000", "--udp -t 1 -b 5M -P 2"] {
        let (run, server) = tested(options);
        let (ours, theirs) = (streams(&run, "local", "sender"), streams(&run, "peer", "receiver"));
        assert_eq!(ours.len(), theirs.len(), "each flow has its report: {options}: {run:#}");
        let sent = sum(&ours, "/udp/datagrams");
        assert_eq!(sum(&theirs, "/udp/datagrams") + sum(&theirs, "/udp/lost"), sent, "{options}");
        let output: Vec<(u64, u64)> = server.rows().iter().filter_map(|row| row.datagrams).collect();
        let lost: u64 = output.iter().map(|(lost, _)| lost).sum();
        assert_eq!(sum(&theirs, "/udp/lost"), lost, "{options}: {server:#?}");
    }
}

#[test]
fn udp_from_the_server_and_both_directions() {
    if !has_iperf() {
        return;
    }
    for options in ["--udp -R -t 1 -b 5M", "--udp --bidir -t 1 -b 5M"] {
        let (run, server) = tested(options);
        let rows = streams(&run, "local", "receiver");
        let (came, lost) = (sum(&rows, "/udp/datagrams"), sum(&rows, "/udp/lost"));
        let bytes = sum(&rows, "/bytes");
        assert!(came > 0 && bytes == came * 1470, "{options}: {run:#}");
        let sent = |row: &super::process::CsvRow| row.bytes / 1470;
        // The server counts its end among what it has sent.
        let matches = server.rows().iter().any(|row| (came + lost..=came + lost + 1).contains(&sent(row)));
        assert!(matches, "{options}: {came} came, {lost} lost: {server:#?}");
    }
}

/// Options of iPerf2's own command line alone.
#[test]
fn connections_back_and_records() {
    if !has_iperf() {
        return;
    }
    let (dual, tradeoff) = (free_port(), free_port());
    for options in [
        format!("-t 1 -d -L {dual}"),
        format!("-t 1 -r -L {tradeoff}"),
        "-t 1 --trip-times".to_owned(),
        "-t 1 --trip-times -R".to_owned(),
        "-t 1 --isochronous=50:2M,0".to_owned(),
        "-t 1 -X".to_owned(),
    ] {
        let port = free_port();
        let server = their_server(port, "");
        let output = our_dialect(port, &format!("-y C {options}"));
        assert_eq!(output.code, Some(0), "{options}: {output:#?}");
        server.wait_for_rows(flows(&options));
        let theirs = server.stop();
        let amounts = |output: &ToolOutput| {
            let mut bytes: Vec<u64> = output.rows().iter().map(|row| row.bytes).collect();
            bytes.sort_unstable();
            bytes
        };
        assert!(!amounts(&output).is_empty(), "{options}: {output:#?}");
        assert_eq!(amounts(&output), amounts(&theirs), "{options}: {output:#?} {theirs:#?}");
    }
}

#[test]
fn round_trips() {
    let run_of = |port: u16, options: &str| {
        let (output, run) = our_round_trips(port, options);
        assert_eq!(output.code, Some(0), "{options}: {output:#?}");
        let count = run["summary"]["rtt"]["count"].as_u64().or(run["summary"]["rtt_ns"]["count"].as_u64());
        assert!(count > Some(10), "{options}: {run:#}");
    };
    let port = free_port();
    let server = our_server(port, "");
    run_of(port, "-t 1s");
    run_of(port, "-t 1s -m 1400 --mode under-load --rate 200");
    drop(server);
    for (options, names) in [("-m 20", "--size"), ("--mode throughput", "every message")] {
        let (output, _) = our_round_trips(port, options);
        assert!(output.code == Some(2) && output.stderr.contains(names), "{options}: {output:#?}");
    }
    if has_iperf() {
        let port = free_port();
        let server = their_server(port, "");
        run_of(port, "-t 1s");
        drop(server);
    }
}

#[test]
fn an_absent_server_and_options_without_a_meaning() {
    let port = free_port();
    let (output, _) = our_client(port, "-t 1");
    assert_eq!(output.code, Some(3), "{output:#?}");
    assert!(
        output.stderr.contains("refused the connection") && output.stderr.contains("iperf -s"),
        "{output:#?}"
    );
    let (output, _) = our_client(port, "--udp -t 3 -b 1M");
    assert_eq!(output.code, Some(3), "{output:#?}");
    assert!(output.stderr.contains("no UDP server is at its port"), "{output:#?}");
    for (options, names) in [
        ("-O 1", "--omit"),
        ("-t 1ms", "--time 1"),
        ("-R -n 4G", "--bytes"),
        ("--udp -l 40", "--length"),
        ("-R -Z", "--zero-copy"),
    ] {
        let (output, _) = our_client(port, options);
        assert_eq!(output.code, Some(2), "{options}: {output:#?}");
        assert!(output.stderr.contains(names) && output.stderr.contains("iperf2"), "{options}: {output:#?}");
    }
}

#[test]
fn ours_with_ours() {
    let port = free_port();
    let server = our_server(port, "");
    for options in
        ["-n 20M", "-R -n 20M", "-P 4 -t 1", "--bidir -t 1", "--udp -b 20M -t 1", "--udp -R -t 1 -b 20M"]
    {
        let (output, run) = our_client(port, options);
        assert_eq!(output.code, Some(0), "{options}: {output:#?}");
        let rows = run["summary"]["local"]["streams"].as_array().expect("rows");
        assert!(rows.iter().all(|row| row["bytes"].as_u64() > Some(0)), "{options}: {run:#}");
    }
    let log = server.stop().stderr;
    assert_eq!(log.matches("20971520 bytes").count(), 2, "{log}");
}
