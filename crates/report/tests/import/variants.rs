//! More outputs of the kinds that public reports have: other versions, units, languages and systems, errors, and containers. The
//! expectation of each was written down before it was read.

use super::{all, fixture, found, near, only, warned};
use model::finding::Status;
use model::latency::Counted;
use pathmeter_report::import::{Imported, Known, Tool, read};
use serde_json::{Value, json};

fn case(name: &str) -> String {
    fixture(&format!("cases/{name}"))
}

/// The figures of a direction: bits per second, retransmits, and losses.
#[derive(Debug, PartialEq)]
struct Expected {
    up: Option<f64>,
    down: Option<f64>,
    retransmits: Option<u64>,
    lost: Option<u64>,
}

const NONE: Expected = Expected { up: None, down: None, retransmits: None, lost: None };

#[track_caller]
fn check(name: &str, imported: &Imported, expected: &Expected) {
    let summary = &imported.run.summary;
    for (found, rate) in [(&summary.up, expected.up), (&summary.down, expected.down)] {
        assert_eq!(found.is_some(), rate.is_some(), "{name}: directions");
        if let (Some(found), Some(rate)) = (found, rate) {
            near(found.goodput.0 as f64, rate, 0.006);
        }
    }
    let figures = summary.up.as_ref().or(summary.down.as_ref()).expect("a direction");
    let lost = figures.loss.as_ref().map(|loss| loss.path);
    assert_eq!((figures.retransmits, lost), (expected.retransmits, expected.lost), "{name}");
}

#[test]
fn units_versions_and_directions_of_iperf() {
    let mega = 8.0 * 1_048_576.0;
    for (name, expected) in [
        ("iperf3-megabytes.txt", Expected { up: Some(110.0 * mega), retransmits: Some(5), ..NONE }),
        (
            "iperf3-bidir-p2.txt",
            Expected { up: Some(921e6), down: Some(510e6), retransmits: Some(5), ..NONE },
        ),
        ("iperf3-bytes.txt", Expected { up: Some(917e6), retransmits: Some(0), ..NONE }),
        ("iperf3-interrupted-p2.txt", Expected { up: Some(755e6), retransmits: Some(3), ..NONE }),
        ("iperf3-udp-reverse-lossy.txt", Expected { down: Some(839e6), lost: Some(20_000), ..NONE }),
        ("iperf2-2.0-udp.txt", Expected { up: Some(10.4e6), lost: Some(89), ..NONE }),
        ("iperf2-2.0-tradeoff.txt", Expected { up: Some(938e6), down: Some(469e6), ..NONE }),
        ("iperf2-1.7-windows.txt", Expected { up: Some(94.6e6), ..NONE }),
        ("iperf2-kilobytes.txt", Expected { up: Some(11_250.0 * 8192.0), ..NONE }),
        ("iperf2-2.1-e.txt", Expected { up: Some(932e6), retransmits: Some(3), ..NONE }),
        ("iperf3-3.0-beta.txt", Expected { up: Some(482e6), retransmits: Some(7), ..NONE }),
        ("iperf3-server-p2.txt", Expected { up: Some(645e6), ..NONE }),
        ("netperf-2.4-megabytes.txt", Expected { up: Some(112.1 * mega), ..NONE }),
    ] {
        check(name, &only(&case(name)), &expected);
    }
    assert!(only(&case("iperf3-interrupted-p2.txt")).run.verdict.text.contains("interrupted"));
    assert!(!only(&case("iperf3-bytes.txt")).run.verdict.text.contains("interrupted"));
    let sent = only(&case("iperf2-2.0-udp.txt")).run.summary.up.expect("up").sent.datagrams;
    assert_eq!(sent, 8917, "the last of those sent ends the test");
}

#[test]
fn a_server_s_log_of_three_clients() {
    let clients = all(&case("iperf3-server-three-clients.txt"));
    let rates: Vec<u64> =
        clients.iter().map(|one| one.run.summary.up.as_ref().expect("up").goodput.0 / 1_000_000).collect();
    assert_eq!(rates, [822, 411, 206]);
    let lines: Vec<bool> = clients.iter().map(|one| warned(one, "error-after-end")).collect();
    assert_eq!(lines, [false, true, false], "the error stands behind the second");
}

#[test]
fn two_clients_of_a_server_at_once_are_two_runs() {
    let clients = all(&case("iperf2-server-two-at-once.txt"));
    let lost: Vec<u64> =
        clients.iter().map(|one| one.run.summary.up.as_ref().expect("up").loss.expect("loss").path).collect();
    assert_eq!(lost, [89, 0]);
    near(clients[0].run.summary.up.as_ref().expect("up").goodput.0 as f64, 10.4e6, 0.006);
    assert!(clients[0].line < clients[1].line, "each begins at its connection");
}

#[test]
fn datagrams_sent_are_those_printed_without_a_report_too() {
    let figures = only(&case("iperf2-udp-no-report.txt")).run.summary.up.expect("up");
    assert_eq!((figures.sent.datagrams, figures.receiver_unknown), (8918, true));
}

#[test]
fn an_error_before_a_test_is_none_of_that_test() {
    let good = case("iperf3-bytes.txt");
    for error in [
        "unable to connect to server: Connection refused",
        "the server is busy running a test. try again later",
    ] {
        let error = format!("iperf3: error - {error}\n");
        for text in
            [format!("{error}{good}"), format!("{error}{error}{good}"), format!("{good}{error}{good}")]
        {
            let runs = all(&text);
            let void = runs.iter().filter(|one| one.run.verdict.status == Status::Void).count();
            assert_eq!(
                (void, runs.len() - void),
                (text.matches("error - ").count(), text.matches("iperf Done").count()),
                "{text}"
            );
            assert!(!runs.iter().any(|one| warned(one, "error-after-end")), "{text}");
        }
    }
}

fn counted(imported: &Imported) -> Counted {
    imported.run.summary.egress_paths[0].counted
}

#[test]
fn pings_of_systems_and_languages() {
    // File, sent, received, duplicates, mean in ns.
    for (name, sent, received, duplicates, mean) in [
        ("ping-macos.txt", 5, 3, 0, 13_230_000),
        ("ping-busybox-duplicate.txt", 2, 2, 1, 91_000),
        ("ping-windows-de.txt", 4, 2, 0, 6_250_000),
        ("ping-zh.txt", 3, 2, 0, 12_800_000),
        ("ping-openbsd.txt", 2, 2, 0, 62_345_000),
        ("ping-windows-ja.txt", 4, 3, 0, 14_000_000),
        ("ping-windows-pt.txt", 4, 3, 0, 14_000_000),
        ("ping-pl.txt", 3, 2, 0, 11_400_000),
        ("ping-freebsd-unreachable.txt", 3, 2, 0, 12_845_000),
    ] {
        let imported = only(&case(name));
        let counted = counted(&imported);
        assert_eq!(
            (counted.sent, counted.received, counted.duplicates),
            (sent, received, duplicates),
            "{name}"
        );
        let rtt = imported.run.summary.rtt.expect("round trips");
        assert_eq!((rtt.mean.0, rtt.count), (mean, received), "{name}");
        assert!(["192.0.2.9", "example.org"].contains(&imported.run.target().as_str()), "{name}");
    }
    assert!(
        !warned(&only(&case("ping-windows-de.txt")), "no-summary"),
        "its counts stand in a line of their own"
    );
}

#[test]
fn counts_of_a_ping_that_contradict_each_other_are_void() {
    let text = case("ping-openbsd.txt");
    for (printed, wrong) in [
        ("2 packets transmitted, 2 packets received", "2 packets transmitted, 3 packets received"),
        ("2 packets transmitted, 2 packets received", "2 packets transmitted, 1 packets received"),
    ] {
        let imported = only(&text.replace(printed, wrong));
        assert_eq!(imported.run.verdict.status, Status::Void, "{wrong}");
        assert!(found(&imported, "contradictory-figures"), "{wrong}");
    }
}

#[test]
fn sockperf_s_dropped_messages_are_of_those_that_wanted_a_reply() {
    let counted = counted(&only(&case("sockperf-dropped.txt")));
    assert_eq!((counted.sent, counted.asked, counted.received, counted.lost), (45_500, 455, 450, 5));
}

/// Nothing was measured, and the reason stands in the output.
#[test]
fn reasons_of_every_tool() {
    for (tool, text, host, reason) in REASONS.iter().copied() {
        let imported = only(text);
        let verdict = &imported.run.verdict;
        assert_eq!((imported.tool, verdict.status), (tool, Status::Void), "{text}");
        assert!(verdict.text.contains(reason) && !verdict.text.contains("::"), "{text}: {}", verdict.text);
        assert!(host.is_empty() || imported.run.target() == host, "{text}: {}", imported.run.target());
        let inner = only(&json!({"cmd": "x", "rc": 1, "stderr": text}).to_string());
        assert_eq!(inner.run.verdict.text, verdict.text, "as a string of JSON");
    }
}

/// The tool, its output, the host where it is named, and the reason.
const REASONS: &[(Tool, &str, &str, &str)] = &[
    (Tool::Iperf2, "nosuch.invalid: Unknown host\n", "nosuch.invalid", "name of the host is not known"),
    (
        Tool::Iperf2,
        "user@host:~$ iperf -c nosuch.invalid\nnosuch.invalid: Unknown host\n",
        "nosuch.invalid",
        "not known",
    ),
    (
        Tool::Iperf2,
        "ERROR: failed to find an ip address for host 'nosuch.invalid'\n",
        "nosuch.invalid",
        "not known",
    ),
    (Tool::Iperf2, "error: Name or service not known\n", "", "name of the host is not known"),
    (Tool::Iperf2, "bind failed: Address already in use\n", "", "unable to bind: Address already in use"),
    (
        Tool::Iperf2,
        "tcp connect failed: Connection timed out\n",
        "",
        "unable to connect: Connection timed out",
    ),
    (Tool::Iperf2, JOINED, "192.0.2.1", "unable to connect: Connection refused"),
    (Tool::Iperf3, "iperf3: error - unable to connect to server: No route to host\n", "", "No route to host"),
    (
        Tool::Iperf3,
        "iperf3: error - the server is busy running a test. try again later\n",
        "",
        "the server is busy",
    ),
    (
        Tool::Iperf3,
        "iperf3: unrecognized option '--bandwith'\n\nUsage: iperf3 [-s|-c host]\n",
        "",
        "--bandwith",
    ),
    (
        Tool::Sockperf,
        "sockperf: '-i' Invalid address: nosuch.invalid\n",
        "",
        "Invalid address: nosuch.invalid",
    ),
    (
        Tool::Sockperf,
        "sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n",
        "",
        "Connection refused",
    ),
    (Tool::Qperf, "tcp_bw:\n192.0.2.1: failed to connect\n", "", "failed to connect"),
    (Tool::Netperf, NETPERF, "192.0.2.1", "connect_data_socket failed: Connection timed out"),
    (
        Tool::Netperf,
        "establish_control: control socket connect failed: Connection refused\n\
             Are you sure there is a netserver running on 192.0.2.1 at port 12865?\n",
        "192.0.2.1",
        "no netserver answers at 192.0.2.1 port 12865",
    ),
    (
        Tool::Ping,
        "ping: nosuch.invalid: Der Name oder der Dienst ist nicht bekannt\n",
        "",
        "Der Name oder der Dienst ist nicht bekannt",
    ),
    (Tool::Ping, "ping: connect: Le réseau n'est pas accessible\n", "", "Le réseau n'est pas accessible"),
    (Tool::Ping, "ping: socket: Operation not permitted\n", "", "Operation not permitted"),
    (Tool::Ping, "ping: permission denied (are you root?)\n", "", "permission denied"),
    (
        Tool::Ping,
        "Ping-Anforderung konnte Host \"nosuch.invalid\" nicht finden. Überprüfen Sie den Namen, und versuchen Sie es erneut.\n",
        "",
        "nosuch.invalid",
    ),
];
const NETPERF: &str = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET : demo\n\
         send_omni: connect_data_socket failed: Connection timed out\n";
const JOINED: &str = "------------------------------------------------------------\nClient connecting to 192.0.2.1, TCP port 1\n\
         TCP window size: 16.0 KByte (default)tcp connect failed: Connection refused\n\n\
         ------------------------------------------------------------\n[  1] local 0.0.0.0 port 0 connected with 192.0.2.1 port 1\n";

#[test]
fn attempts_that_follow_each_other_are_apart() {
    let unknown = "nosuch.invalid: Unknown host\n";
    let good = case("iperf2-kilobytes.txt");
    let refused = "tcp connect failed: Connection refused\n";
    let statuses = |text: &str| all(text).iter().map(|one| one.run.verdict.status).collect::<Vec<_>>();
    assert_eq!(statuses(&unknown.repeat(2)), [Status::Void, Status::Void]);
    assert_eq!(statuses(&format!("{unknown}{good}")), [Status::Void, Status::Ok]);
    assert_eq!(statuses(&format!("{good}{unknown}{good}")), [Status::Ok, Status::Void, Status::Ok]);
    assert_eq!(statuses(&format!("{good}{refused}")), [Status::Ok, Status::Void]);
    let verbose = "ping: sock4.fd: 3 (socktype: SOCK_RAW), sock6.fd: 4 (socktype: SOCK_RAW), hints.ai_family: AF_UNSPEC\n\nai->ai_family: AF_INET, ai->ai_canonname: '192.0.2.9'\n";
    assert_eq!(statuses(&format!("{verbose}{}", case("ping-openbsd.txt"))).len(), 1, "remarks of `ping -v`");
    let warned = "ping: Warning: source address might be selected on device other than: eth0\n";
    assert_eq!(statuses(&format!("{warned}{}", case("ping-openbsd.txt"))).len(), 1);
}

#[test]
fn what_no_output_is_names_the_remedy() {
    for (text, words) in [
        ("bash: iperf3: command not found\n", "does not find the tool"),
        (
            "'iperf3' is not recognized as an internal or external command,\noperable program or batch file.\n",
            "",
        ),
        ("HPING 192.0.2.1 (eth0 192.0.2.1): S set, 40 headers + 0 data bytes\n", "hping"),
        (
            "Start: 2026-11-25T10:00:00+0000\nHOST: a    Loss%   Snt   Last   Avg  Best  Wrst StDev\n  1.|-- 192.0.2.1  0.0%    10    0.4   0.5   0.3   0.9   0.1\n",
            "mtr",
        ),
        (
            "{\n\t\"start\":\t{\n\t\t\"connected\":\t[],\n\t\t\"version\":\t\"iperf 3.12\",\n",
            "iPerf3 that is cut off",
        ),
    ] {
        let error = read("file", text, Known::default()).expect_err("nothing was measured").to_string();
        assert!(error.contains(words), "{error}");
    }
}

fn document(name: &str) -> Value {
    serde_json::from_str(&case(name)).expect("JSON")
}

/// Multiplies figures under these keys, wherever they stand in the summary of an end.
fn multiplied(value: &mut Value, keys: &[&str], factor: f64) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value.as_f64().filter(|_| keys.contains(&key.as_str())) {
                    Some(figure) => *value = json!(figure * factor),
                    None => multiplied(value, keys, factor),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| multiplied(value, keys, factor)),
        _ => {}
    }
}

/// Amount, rate, time and intervals of a document agree, or none of them is used.
#[test]
fn documents_that_contradict_themselves_are_void() {
    let plain = document("mss-1460.json");
    assert_eq!(only(&plain.to_string()).run.verdict.status, Status::Ok);
    for (what, keys, factor) in [
        ("a rate of other bytes", &["bits_per_second"][..], 4.0),
        ("no time", &["end", "seconds"][..], 0.0),
        ("more than the intervals", &["bytes", "bits_per_second"][..], 3.0),
    ] {
        let mut wrong = plain.clone();
        let end = if keys.contains(&"end") { &mut wrong["end"]["streams"] } else { &mut wrong["end"] };
        multiplied(end, keys, factor);
        let imported = only(&wrong.to_string());
        assert_eq!(imported.run.verdict.status, Status::Void, "{what}: {}", imported.run.verdict.text);
        assert!(found(&imported, "contradictory-figures"), "{what}");
    }
}

#[test]
fn datagrams_out_of_order_are_not_fewer_than_none() {
    let mut document = document("udp-rate-not-reported.json");
    document["end"]["streams"][0]["udp"]["out_of_order"] = json!(-3);
    let imported = only(&document.to_string());
    assert_eq!(imported.run.summary.up.as_ref().expect("up").reordered, None);
    assert!(warned(&imported, "impossible-figure"));
}

/// JSON inside what other programs print.
#[test]
fn documents_of_other_programs_hold_outputs() {
    let document = document("mss-1460.json");
    let lines: Vec<String> = case("iperf3-bytes.txt").lines().map(str::to_owned).collect();
    for (what, text) in [
        (
            "Ansible",
            format!(
                "ok: [host-a] => {}\n",
                json!({"changed": false, "res": {"stdout": document.to_string()}})
            ),
        ),
        (
            "Ansible, lines",
            format!(
                "ok: [host-a] => {{\n    \"stdout_lines\": {}\n}}\n",
                serde_json::to_string_pretty(&lines).expect("JSON")
            ),
        ),
        ("a string of jq", format!("{}\n", json!(lines.join("\n")))),
        (
            "CloudWatch",
            lines
                .iter()
                .map(|line| {
                    json!({"@timestamp": "2026-11-25T10:00:00Z", "@message": line}).to_string() + "\n"
                })
                .collect(),
        ),
        (
            "Google Cloud",
            lines
                .iter()
                .map(|line| json!({"insertId": "x", "textPayload": line}).to_string() + "\n")
                .collect(),
        ),
        ("a log line behind it", format!("{document}\n2026-11-25 10:00:01 INFO done\n")),
        ("a mark of the byte order", format!("\u{feff}{document}\n")),
        ("an assignment", format!("results = {document};\n")),
        (
            "colours",
            serde_json::to_string_pretty(&document)
                .expect("JSON")
                .lines()
                .map(|line| format!("\u{1b}[32m{line}\u{1b}[0m\r\n"))
                .collect(),
        ),
        (
            "names of files",
            serde_json::to_string_pretty(&document)
                .expect("JSON")
                .lines()
                .map(|line| format!("out/run-1.json:{line}\n"))
                .collect(),
        ),
    ] {
        let imported = only(&text);
        assert_eq!((imported.tool, imported.run.verdict.status), (Tool::Iperf3, Status::Ok), "{what}");
    }
}
