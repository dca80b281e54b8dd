//! Our server, the real client.

use super::process::{
    free_port, has_iperf, number_before, our_server, start_their_client, their_client, wait_until,
};

/// Runs the real client against a server of ours; returns its output and the lines of the server on it.
fn served(options: &str, lines: usize) -> (super::process::ToolOutput, Vec<String>) {
    let port = free_port();
    let server = our_server(port, "");
    let output = their_client(port, options);
    let output = output.good();
    let log = || -> Vec<String> {
        server.output_so_far().lines().filter(|line| line.contains("(iperf2)")).map(str::to_owned).collect()
    };
    wait_until(&format!("{lines} lines of the server of {options}"), || log().len() >= lines);
    let lines = log();
    let stopped = server.stop();
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
    (output, lines)
}

#[test]
fn tcp_bytes_are_the_same_at_both_ends() {
    if !has_iperf() {
        return;
    }
    for options in
        ["-n 10M", "-t 1 -P 3", "-t 1 -X", "-t 1 -b 20M", "-t 1 --trip-times", "-n 3M -l 1000 -N -S 0x10"]
    {
        let (output, log) = served(&format!("-y C {options}"), 1);
        assert_eq!(output.bytes(), number_before(&log[0], " bytes)"), "{options}: {output:#?} {log:?}");
        assert_eq!(log.len(), 1, "streams of one client are one test: {log:?}");
    }
}

#[test]
fn tcp_back_to_the_client() {
    if !has_iperf() {
        return;
    }
    for options in ["-R -n 10M", "-R -t 1", "-R -t 1 -P 2", "-R -t 1 --trip-times", "-R -t 1 -b 20M"] {
        let (output, log) = served(&format!("-y C {options}"), 1);
        assert_eq!(output.bytes(), number_before(&log[0], " bytes)"), "{options}: {output:#?} {log:?}");
    }
}

#[test]
fn tcp_both_directions() {
    if !has_iperf() {
        return;
    }
    let (port, other) = (free_port(), free_port());
    for (options, lines) in [
        ("-t 1 --full-duplex".to_owned(), 1),
        (format!("-t 1 -d -L {port}"), 1),
        (format!("-t 1 -r -L {other}"), 2),
    ] {
        let (output, log) = served(&format!("-y C {options}"), lines);
        let log = log.join(" ");
        let (up, down) = log.split_once("down ").unwrap_or_else(|| panic!("in both directions: {log}"));
        let mut ours = [number_before(up, " bytes)"), number_before(down, " bytes)")];
        let mut theirs: Vec<u64> = output.rows().iter().map(|row| row.bytes).collect();
        ours.sort_unstable();
        theirs.sort_unstable();
        // With --full-duplex the client adds a row of both.
        let both = ours[0] + ours[1];
        theirs.retain(|bytes| *bytes != both);
        assert_eq!(theirs, ours, "{options}: {output:#?} {log}");
    }
}

#[test]
fn udp_datagrams_are_the_same_at_both_ends() {
    if !has_iperf() {
        return;
    }
    let modes = ["-t 1 -b 5M", "-t 1 -b 5M --trip-times", "-t 1 --isochronous=50:2M,0", "-t 1 -b 2M -P 2"];
    for options in modes {
        let (output, log) = served(&format!("-u {options}"), 1);
        let (mut flows, mut lost, mut all) = (0, 0, 0);
        let rows = output.stdout.lines().filter(|line| line.contains("%)") && !line.contains("SUM"));
        for (missed, total) in rows.map(counts_of) {
            (flows, lost, all) = (flows + 1, lost + missed, all + total);
        }
        assert!(flows > 0, "the client has our report: {options}: {output:#?}");
        let (came, missed) = (number_before(&log[0], " datagrams, "), number_before(&log[0], " lost)"));
        assert_eq!(missed, lost, "{options}: {output:#?} {log:?}");
        // The end of each flow is one of those that the client shows.
        assert_eq!(came + missed + flows, all, "{options}: {output:#?} {log:?}");
    }
}

/// `0/449` in a row of a report.
fn counts_of(row: &str) -> (u64, u64) {
    let counts = row.split_whitespace().filter_map(|word| word.split_once('/'));
    let mut counts = counts.filter_map(|(lost, all)| lost.parse().ok().zip(all.parse().ok()));
    counts.next().unwrap_or_else(|| panic!("no counts: {row}"))
}

#[test]
fn udp_back_to_the_client() {
    if !has_iperf() {
        return;
    }
    let (port, other) = (free_port(), free_port());
    for (options, lines) in [
        ("-R -t 1 -b 5M".to_owned(), 1),
        ("--full-duplex -t 1 -b 5M".to_owned(), 1),
        (format!("-d -t 1 -b 5M -L {port}"), 1),
        (format!("-r -t 1 -b 5M -L {other}"), 2),
    ] {
        let (output, log) = served(&format!("-y C -u {options}"), lines);
        let log = log.join(" ");
        let (_, down) = log.split_once("down ").unwrap_or_else(|| panic!("a return direction: {log}"));
        let sent = number_before(down, " datagrams sent");
        let observed = output.rows().iter().filter_map(|row| row.datagrams).any(|(_, all)| {
            // The end is one of those that the client counts.
            all == sent || all == sent + 1
        });
        assert!(observed, "{options}: {sent} sent: {output:#?} {log}");
    }
}

#[test]
fn data_without_a_header_and_round_trips() {
    if !has_iperf() {
        return;
    }
    let (output, log) = served("-y C -n 2M -C", 1);
    assert_eq!(output.bytes(), number_before(&log[0], " bytes)"));
    let port = free_port();
    let server = our_server(port, "");
    let output = their_client(port, "--bounceback -t 1 -e");
    assert!(output.stdout.contains(" rps"), "{output:#?}");
    drop(server);
}

#[test]
fn many_clients_at_once() {
    if !has_iperf() {
        return;
    }
    let port = free_port();
    let server = our_server(port, "");
    let clients: Vec<_> = (0..6)
        .map(|n| start_their_client(port, if n % 2 == 0 { "-n 4M -y C" } else { "-u -b 2M -t 1 -y C" }))
        .collect();
    for client in clients {
        let output = client.wait();
        assert!(output.code == Some(0) && !output.rows().is_empty(), "{output:#?}");
    }
    wait_until("six lines", || server.output_so_far().matches("(iperf2)").count() == 6);
    assert_eq!(server.output_so_far().matches("4194304 bytes").count(), 3, "{}", server.output_so_far());
}

#[test]
fn limits_hold_and_one_off_ends() {
    if !has_iperf() {
        return;
    }
    let port = free_port();
    let server = our_server(port, "--one-off --max-time 1s");
    let output = their_client(port, "-R -t 20 -y C");
    assert_eq!(output.code, Some(0), "{output:#?}");
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(output.bytes(), number_before(&ended.stderr, " bytes)"), "{output:#?} {ended:#?}");
}
