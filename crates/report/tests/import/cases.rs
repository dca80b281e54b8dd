//! Outputs of the kinds that public reports have, each with what is right of it, and the same with other digits, hosts, orders of
//! keys and lines, encodings and heads.

use super::{all, fixture, found, near, only, warned};
use model::finding::Status;
use model::latency::Counted;
use model::plan::Transport;
use model::summary::DirectionSummary;
use model::units::Nanos;
use pathmeter_report::import::{Imported, Known, Tool, read, texts};

fn case(name: &str) -> String {
    fixture(&format!("cases/{name}"))
}

fn up(imported: &Imported) -> &DirectionSummary {
    imported.run.summary.up.as_ref().expect("a direction")
}

fn down(imported: &Imported) -> &DirectionSummary {
    imported.run.summary.down.as_ref().expect("a direction")
}

fn counted(imported: &Imported) -> Counted {
    imported.run.summary.egress_paths[0].counted
}

#[track_caller]
fn goodput(imported: &Imported, expected: f64) {
    near(up(imported).goodput.0 as f64, expected, 0.006);
}

#[test]
fn a_test_is_as_long_as_it_claims() {
    let imported = only(&case("longer-than-60s.txt"));
    goodput(&imported, 399e6);
    assert_eq!((imported.run.verdict.status, up(&imported).retransmits), (Status::Ok, Some(9)));
    let hours = case("longer-than-60s.txt").replace("75.00", "86400.00").replace("75.04", "86400.04");
    assert_ne!(only(&hours.replace("3.49 GBytes", "3.93 TBytes")).run.verdict.status, Status::Void);
}

#[test]
fn what_is_void_states_why() {
    for (name, status, words) in [
        ("udp-nothing-arrived.json", Status::Void, "Nothing arrived"),
        ("tcp-nothing-arrived.txt", Status::Void, "Nothing arrived up"),
        ("udp-server-nothing-arrived.txt", Status::Void, "what was sent is not known"),
        ("udp-31-server-nothing-arrived.txt", Status::Void, "Nothing arrived"),
        ("udp-interrupted-stderr-first.txt", Status::Ok, "what arrived is not known"),
        ("server-output-differs.json", Status::Void, "75"),
        ("sum-over-intervals.txt", Status::Void, "8.1"),
        ("sockperf-no-valid.txt", Status::Void, "No valid observations found"),
        ("ping-unreachable.txt", Status::Void, "192.0.2.1 reports \"Destination Host Unreachable\""),
        ("ping-filtered.txt", Status::Void, "198.51.100.7 reports \"Packet filtered\""),
    ] {
        let imported = only(&case(name));
        let text = imported.run.verdict.text.clone();
        assert_eq!(imported.run.verdict.status, status, "{name}: {text}");
        assert!(text.contains(words), "{name}: {text}");
        assert!(!text.contains("did not get to it") && !text.contains(":0"), "{name}: {text}");
    }
}

#[test]
fn nothing_arrived_is_all_lost() {
    for (name, sent) in [("udp-nothing-arrived.json", 1200), ("udp-31-server-nothing-arrived.txt", 0)] {
        let imported = only(&case(name));
        let figures = up(&imported);
        assert_eq!(figures.received.bytes.0, 0, "{name}");
        assert!(
            sent == 0 || figures.sent.datagrams == sent && figures.loss.expect("loss").share == 1.0,
            "{name}"
        );
        near(figures.sent.bytes.0 as f64, if sent > 0 { 1_680_000.0 } else { 512.0 * 1024.0 }, 0.01);
    }
    let server = only(&case("udp-server-nothing-arrived.txt"));
    assert_eq!((up(&server).sent.datagrams, up(&server).received.datagrams), (0, 0));
}

#[test]
fn an_interrupted_client_knows_what_it_sent() {
    let imported = only(&case("udp-interrupted-stderr-first.txt"));
    assert!(up(&imported).receiver_unknown && up(&imported).loss.is_none());
    assert_eq!(up(&imported).sent.datagrams, 1000);
    // Standard error in a file of its own: the last line is missing and the time is not whole.
    let silent: String =
        case("udp-interrupted-stderr-first.txt").lines().skip(1).map(|line| format!("{line}\n")).collect();
    let silent = silent.replace("0.00-2.00", "0.00-2.37");
    assert!(up(&only(&silent)).receiver_unknown);
}

#[test]
fn what_cannot_be_is_left_out() {
    for (name, words) in [
        ("udp-negative-loss.json", "-40 lost of 1000 datagrams cannot be"),
        ("jitter-longer-than-test.txt", "jitter of 3141592.653589 s cannot be"),
        ("udp-31-ten-sent-one-received.txt", "jitter of 31.0005 s cannot be"),
    ] {
        let imported = only(&case(name));
        let notes = &imported.run.summary.warnings;
        assert!(notes.iter().any(|note| note.text.contains(words)), "{name}: {notes:?}");
    }
    assert_eq!(up(&only(&case("udp-negative-loss.json"))).loss, None);
    assert_eq!(up(&only(&case("jitter-longer-than-test.txt"))).jitter, None);
    let wrapped = case("mss-1460.json").replace("\"retransmits\": 6", "\"retransmits\": 4294967290");
    assert_eq!(up(&only(&wrapped)).retransmits, None);
    assert!(warned(&only(&wrapped), "impossible-figure"));
    let above = case("udp-rate-not-reported.json").replace("\"lost_packets\": 300", "\"lost_packets\": 6300");
    assert_eq!(up(&only(&above)).loss, None);
}

#[test]
fn ten_were_sent_and_one_was_received() {
    let imported = only(&case("udp-31-ten-sent-one-received.txt"));
    let figures = up(&imported);
    assert_eq!((figures.sent.datagrams, figures.received.datagrams), (10, 1));
    assert_eq!((figures.loss, figures.jitter), (None, None));
}

#[test]
fn old_summaries_have_the_amount_of_the_sender() {
    let imported = only(&case("udp-31-verbose-reverse.txt"));
    let figures = down(&imported);
    near(figures.goodput.0 as f64, 8.96e6, 0.01);
    assert_eq!((figures.sent.datagrams, figures.received.datagrams), (3000, 2400));
    assert_ne!(imported.run.verdict.status, Status::Void);
}

#[test]
fn keys_that_are_absent_are_not_known() {
    assert_eq!(up(&only(&case("tcp-no-retransmits.json"))).retransmits, None);
    assert_eq!(up(&only(&case("mss-1460.json"))).retransmits, Some(6));
    let found = only(&case("udp-rate-not-reported.json"));
    assert!(
        found
            .run
            .findings
            .iter()
            .any(|finding| finding.id == "path-loss" && !finding.title.contains("as fast as")),
        "{:?}",
        found.run.findings
    );
    assert_eq!(found.run.verdict.status, Status::Degraded);
    let sctp = case("mss-1460.json").replace("\"TCP\"", "\"SCTP\"");
    let sctp = only(&sctp);
    assert!(warned(&sctp, "other-protocol") && up(&sctp).mss.is_none() && up(&sctp).retransmits.is_none());
}

#[test]
fn order_and_duplicates() {
    assert_eq!(up(&only(&case("out-of-order.txt"))).reordered, Some(12));
    let duplicates = only(&case("duplicates-server.txt"));
    assert_eq!((up(&duplicates).reordered, up(&duplicates).mss), (Some(20), None));
    assert!(!found(&duplicates, "udp-fragmented") && !warned(&duplicates, "assumed-mtu"));
}

#[test]
fn one_log_of_servers_and_clients() {
    let stopped = all(&case("idle-server-stopped.txt"));
    assert_eq!(stopped.len(), 1);
    goodput(&stopped[0], 419e6);
    let client = only(&case("idle-server-then-client.txt"));
    goodput(&client, 415e6);
    let three = case("idle-server-stopped.txt")
        .replace("iperf3: interrupt", "Accepted connection from 192.0.2.8, port 1\niperf3: interrupt");
    assert_eq!(all(&three).len(), 1);
    let refused = case("docker-compose.txt")
        + "client-1  | iperf3: error - unable to connect to server: Connection refused\n";
    let refused = all(&refused);
    assert_eq!(refused.len(), 2);
    assert_eq!((refused[0].run.verdict.status, refused[1].run.verdict.status), (Status::Ok, Status::Void));
}

#[test]
fn standstills_are_outages() {
    let imported = only(&case("tcp-stalled.txt"));
    goodput(&imported, 13.5e6);
    assert!(found(&imported, "outage") && warned(&imported, "standstills"));
    let note = imported.run.summary.warnings.iter().find(|note| note.id == "standstills").expect("a note");
    assert!(note.text.contains("6.00 s of 8.00 s") && note.text.contains("one segment"), "{}", note.text);
}

#[test]
fn heads_of_lines_are_no_part_of_them() {
    for name in ["docker-compose.txt", "mail-quoted.txt", "timestamps-option.txt"] {
        let imported = only(&case(name));
        goodput(&imported, 415e6);
        assert_eq!((imported.tool, up(&imported).retransmits), (Tool::Iperf3, Some(6)), "{name}");
        assert_eq!(imported.run.throughput().expect("a plan").target.host, "198.51.100.9", "{name}");
    }
    let started = only(&case("timestamps-option.txt")).run.started.expect("a date");
    assert_eq!(started.to_string(), "2026-03-03T09:15:02.000Z");
    let plain: String = case("docker-compose.txt")
        .lines()
        .map(|line| line.strip_prefix("client-1  | ").unwrap_or_default().to_owned() + "\n")
        .collect();
    let wanted = only(&plain).run.summary;
    for head in HEADS {
        let headed: String = plain
            .lines()
            .enumerate()
            .map(|(second, line)| head.replace("SS", &format!("{:02}", second + 10)) + line + "\n")
            .collect();
        let imported = all(&headed);
        assert_eq!(imported.len(), 1, "{head}");
        assert_eq!(imported[0].run.summary.up, wanted.up, "{head}");
    }
}

/// What stands before the lines of logs; SS is a second.
const HEADS: [&str; 16] = [
    "2026-11-25T10:00:SS.123456789Z stdout F ",
    "2026-11-25T10:00:SS.1234567Z ",
    "Nov 25 10:00:SS host iperf3[4711]: ",
    "Nov 25 10:00:SS ",
    "[pod/iperf3-client-x7f2k/iperf3] ",
    "16:19:SS:760| ",
    "> ",
    ">> ",
    "> > ",
    "    ",
    "\t",
    "web-12  | ",
    "\u{1b}[36mclient-1  |\u{1b}[0m ",
    "[2026-11-25 10:00:SS] ",
    "test\tRun iperf3\t2026-11-25T10:00:SS.1234567Z ",
    "17952450SS.123456 ",
];

#[test]
fn two_sources_in_one_log_are_distinguished() {
    let first = case("docker-compose.txt");
    let two = first
        .replace("client-1", "client-2")
        .replace("420 Mbits", "840 Mbits")
        .replace("415 Mbits", "830 Mbits")
        .replace("50.1 MB", "100 MB")
        .replace("  100 MB", "  200 MB")
        .replace("99.0 MB", "198 MB");
    let mixed: String = first.lines().zip(two.lines()).map(|(one, two)| format!("{one}\n{two}\n")).collect();
    let imported = all(&mixed);
    assert_eq!(imported.len(), 2);
    goodput(&imported[0], 415e6);
    goodput(&imported[1], 830e6);
}

#[test]
fn json_in_lists_strings_and_other_documents() {
    let list = all(&case("json-array-one-line.json"));
    assert_eq!(list.len(), 2);
    let rates: Vec<u64> = list.iter().map(|one| up(one).goodput.0 / 1_000_000).collect();
    assert_eq!(rates, [419, 839]);
    assert_ne!(list[0].run.id, list[1].run.id);
    let document: serde_json::Value = serde_json::from_str(&case("mss-1460.json")).expect("JSON");
    let text = serde_json::to_string(&document).expect("JSON");
    let inner = |value: serde_json::Value| serde_json::to_string(&value).expect("JSON");
    let plain: String = case("idle-server-then-client.txt");
    let lines: Vec<&str> = plain.lines().collect();
    for (what, outer) in [
        ("an object", inner(serde_json::json!({"results": [{"host": "a", "output": document}]}))),
        ("a string", inner(serde_json::json!({"stdout": text}))),
        ("text in a string", inner(serde_json::json!({"plays": [{"stdout": plain, "stdout_lines": lines}]}))),
        ("twice", format!("{text}\n{text}\n")),
        ("behind words", format!("INFO result: {text}\n")),
        (
            "a log of JSON",
            lines
                .iter()
                .map(|line| inner(serde_json::json!({"log": format!("{line}\n"), "stream": "stdout"})) + "\n")
                .collect(),
        ),
    ] {
        let imported = all(&outer);
        assert_eq!(imported.len(), 1, "{what}");
        near(up(&imported[0]).goodput.0 as f64, 417e6, 0.02);
        assert_eq!(warned(&imported[0], "same-output"), what == "twice", "{what}");
    }
}

#[test]
fn encodings_of_files() {
    let path = format!("{}/tests/import/outputs/cases/utf16-powershell.json", env!("CARGO_MANIFEST_DIR"));
    let mut texts = texts(std::fs::read(path).expect("a file")).expect("a text");
    goodput(&only(&texts.remove(0).1), 419.8e6);
}

#[test]
fn iperf2_indented_and_rounded() {
    let imported = only(&case("iperf2-indented.txt"));
    assert_eq!(
        (up(&imported).retransmits, up(&imported).loaded_rtt),
        (Some(42), Some(Nanos::from_millis(12)))
    );
    assert_eq!(imported.run.throughput().expect("a plan").target.host, "198.51.100.9");
    let rounded = only(&case("iperf2-rounded-time.txt"));
    near(up(&rounded).goodput.0 as f64, 51.2e6, 0.0005);
}

#[test]
fn iperf2_csv_of_a_client_has_the_server_s_row() {
    let imported = only(&case("iperf2-udp-client.csv"));
    let figures = up(&imported);
    assert_eq!(
        (figures.transport, figures.sent.datagrams, figures.received.datagrams),
        (Transport::Udp, 500, 490)
    );
    assert_eq!((figures.loss.expect("loss").path, figures.reordered), (10, Some(2)));
    let two = case("iperf2-udp-client.csv") + &case("iperf2-udp-client.csv").replace("41000", "41001");
    assert_eq!(all(&two).len(), 2);
    // 2.1.9 with `-e`, and 2.2 with a field for each end of the time.
    let old = "+0000:20230701101500.1,192.0.2.7,41000,198.51.100.9,5001,1,0.0-5.0,735000000,1176000000,5608,0,12,319,80,20\n";
    let new = "+0000:20230701101500.1,192.0.2.7,41000,198.51.100.9,5001,1,0.0,5.0,735000000,1176000000,5608,0,12,319,10,80,20\n";
    for text in [old, new] {
        let imported = only(text);
        assert_eq!(
            (up(&imported).retransmits, up(&imported).loaded_rtt),
            (Some(12), Some(Nanos::from_micros(80))),
            "{text}"
        );
        assert_eq!(imported.run.started.expect("a date").to_string(), "2023-07-01T10:14:55.000Z");
    }
}

#[test]
fn a_refused_connection_of_iperf2() {
    let text = "------------------------------------------------------------\nClient connecting to 127.0.0.1, TCP port 6009\n\
        TCP window size: 16.0 KByte (default)\n------------------------------------------------------------\n\
        [  1] local 0.0.0.0 port 0 connected with 127.0.0.1 port 6009\ntcp connect failed: Connection refused\n";
    let first: String = "tcp connect failed: Connection refused\n".to_owned()
        + &text.replace("tcp connect failed: Connection refused\n", "");
    for text in [text, &first] {
        let imported = only(text);
        assert_eq!(imported.run.verdict.text, "Nothing was measured: unable to connect: Connection refused.");
    }
    assert_eq!(all(&text.repeat(2)).len(), 2);
}

#[test]
fn line_rate_of_what_was_pasted() {
    let link = Known { link: Some(model::units::BitRate(25_000_000_000)), mss: None };
    let plain: String = fixture("iperf2-tcp-p10-final.txt");
    let range = read("x", &plain, link).expect("an output").remove(0);
    let note = range.run.summary.warnings.iter().find(|note| note.id == "line-rate-range").expect("a note");
    assert!(
        note.text.contains("95.6 %") && note.text.contains("90.9 %") && note.text.contains("--mss"),
        "{}",
        note.text
    );
    let pasted = format!("user@host:~$ iperf -c 10.0.0.2 -M 1460 -P 10\n{plain}");
    let known = read("x", &pasted, link).expect("an output").remove(0);
    assert_eq!((up(&known).mss, up(&known).wire.frame), (Some(1448), Some(1518)));
    assert_eq!(format!("{:.1}", up(&known).wire.line_rate_share.expect("a share") * 100.0), "95.6");
    let none = only(&case("mss-1460.json"));
    assert_eq!((up(&none).mss, up(&none).wire.frame), (Some(1460), Some(1518)));
}

#[test]
fn halves_and_bandwidths_of_sockperf() {
    let old = only(&case("sockperf-3.5-pp.txt"));
    let rtt = old.run.summary.rtt.expect("round trips");
    assert_eq!(
        (rtt.mean, rtt.p50, warned(&old, "halved")),
        (Nanos::from_nanos(96_624), Nanos::from_nanos(93_740), true)
    );
    let mega = only(&case("sockperf-tp-mega.txt"));
    assert_eq!(up(&mega).sent.datagrams, 8_123_456);
    near(up(&mega).sent.bytes.0 as f64 * 8.0 / 10.0, 9.566e9, 0.001);
    assert_ne!(mega.run.verdict.status, Status::Void);
    let giga =
        case("sockperf-tp-mega.txt").replace("1140.378 MBps (9123.026 Mbps)", "1.140 GBps (9.123 Gbps)");
    near(up(&only(&giga)).sent.bytes.0 as f64 * 8.0 / 10.0, 9.566e9, 0.001);
    let eaten = fixture("sockperf-tcp-350-nat-gateway.txt").replace("<MAX>", "").replace("<MIN>", "");
    assert_eq!(
        only(&eaten).run.summary.rtt,
        only(&fixture("sockperf-tcp-350-nat-gateway.txt")).run.summary.rtt
    );
}

#[test]
fn netperf_s_selectors_are_read_by_name() {
    for (name, mean, p99) in [
        ("netperf-rr-omni-6cols.txt", 42_610, 71_000),
        ("netperf-keyval.txt", 42_610, 71_000),
        ("netperf-omni-rr.csv", 452_406, 610_000),
    ] {
        let rtt = only(&case(name)).run.summary.rtt.expect("round trips");
        assert_eq!((rtt.mean.0, rtt.p99.0), (mean, p99), "{name}");
    }
}

#[test]
fn pings_of_many_systems() {
    for (name, received, lost, median) in [
        ("ping-icmp_req.txt", 5, 0, 40.4),
        ("ping-windows-en.txt", 4, 1, 11.0),
        ("ping6-bsd.txt", 3, 0, 1.145),
        ("ping-prefixed.txt", 11, 0, 9.88),
        ("ping-outage-OD.txt", 85, 35, 11.9),
    ] {
        let imported = only(&case(name));
        assert_eq!((counted(&imported).received, counted(&imported).lost), (received, lost), "{name}");
        near(imported.run.summary.rtt.expect("round trips").p50.0 as f64 / 1e6, median, 0.03);
    }
    let exact = only(&case("ping-icmp_req.txt")).run.summary.rtt.expect("round trips");
    assert_eq!(
        (exact.mean, exact.max, exact.min),
        (Nanos::from_micros(74_720), Nanos::from_micros(212_400), Nanos::from_micros(39_630))
    );
    let outage = only(&case("ping-outage-OD.txt"));
    assert!(found(&outage, "outage"), "{:?}", outage.run.findings);
    assert_eq!(
        (outage.run.started.expect("a date").0 / 1_000_000_000, outage.run.target().as_str()),
        (1_795_245_000, "192.0.2.45")
    );
}

#[test]
fn pings_in_other_languages() {
    let german = "PING 1.1.1.1 (1.1.1.1) 56(84) Bytes an Daten.\n64 Bytes von 1.1.1.1: icmp_seq=1 ttl=57 Zeit=10,4 ms\n\
        64 Bytes von 1.1.1.1: icmp_seq=3 ttl=57 Zeit=12,4 ms\n\n--- 1.1.1.1 Ping-Statistiken ---\n\
        3 Pakete übertragen, 2 empfangen, 33,3333% Paketverlust, Zeit 2005ms\nrtt min/avg/max/mdev = 10,400/11,400/12,400/1,000 ms\n";
    let french = "Envoi d'une requête 'Ping'  1.1.1.1 avec 32 octets de données :\nRéponse de 1.1.1.1 : octets=32 temps=12 ms TTL=57\n\
        Délai d'attente de la demande dépassé.\nRéponse de 1.1.1.1 : octets=32 temps=14 ms TTL=57\n\n\
        Statistiques Ping pour 1.1.1.1:\n    Paquets : envoyés = 3, reçus = 2, perdus = 1 (perte 33%),\n\
        Durée approximative des boucles en millisecondes :\n    Minimum = 12ms, Maximum = 14ms, Moyenne = 13ms\n";
    for text in [german, french] {
        let imported = only(text);
        assert_eq!((counted(&imported).sent, counted(&imported).received), (3, 2), "{text}");
        assert_eq!(imported.run.target(), "1.1.1.1", "{text}");
    }
}

#[test]
fn what_is_against_a_ping_is_reported() {
    let heading = "PING 192.0.2.48 (192.0.2.48) 56(84) bytes of data.\n";
    let summary = "\n--- 192.0.2.48 ping statistics ---\n3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 2003ms\n";
    for (line, advice) in [
        ("From 10.0.0.1 icmp_seq=1 Time to live exceeded", "circle"),
        ("ping: sendmsg: Operation not permitted", "own firewall"),
        ("From 10.0.0.1 icmp_seq=1 Destination Net Unreachable", "no route"),
        ("From 10.0.0.1 icmp_seq=1 Packet filtered", "firewall on the router"),
    ] {
        let imported = only(&format!("{heading}{line}\n{summary}"));
        let finding =
            imported.run.findings.iter().find(|finding| finding.id == "no-reply").expect("a finding");
        assert!(finding.advice.contains(advice), "{line}: {}", finding.advice);
    }
    for line in ["ping: nosuch.invalid: Name or service not known", "ping: connect: Network is unreachable"] {
        assert_eq!(only(line).run.verdict.status, Status::Void, "{line}");
    }
}

#[test]
fn ends_of_logs_and_numbers_that_come_round() {
    let reply = |sequence: u64| {
        format!("64 bytes from 192.0.2.1: icmp_seq={sequence} ttl=57 time=10.{} ms\n", sequence % 10)
    };
    let text: String = (65_530..65_536).chain(0..6).map(reply).collect();
    let imported = only(&text);
    assert_eq!((counted(&imported).sent, counted(&imported).received), (12, 12));
    let warped = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=10.1 ms\n\
        Warning: time of day goes back (-123us), taking countermeasures\n64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=0.000 ms\n";
    let imported = only(warped);
    assert_eq!((counted(&imported).received, imported.run.summary.rtt.expect("round trips").count), (2, 1));
    assert!(warned(&imported, "untimed-replies"));
}

#[test]
fn what_is_not_read_is_named() {
    for (text, words) in [
        (case("fping.ndjson"), "fping"),
        ("HPING 192.0.2.1 (eth0 192.0.2.1): icmp mode set, 28 headers + 0 data bytes\n".into(), "hping"),
    ] {
        let error = read("file", &text, Known::default()).expect_err("it is not read");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn tcp_that_was_swallowed_or_lost_much() {
    let plain = case("idle-server-then-client.txt");
    let swallowed = plain
        .replace("100 MBytes   420 Mbits", "4.20 GBytes   18.0 Gbits")
        .replace("99.0 MBytes   415 Mbits", "4.77 MBytes   20.0 Mbits")
        .replace("50.1 MBytes   420 Mbits", "2.10 GBytes   18.0 Gbits");
    let imported = only(&swallowed);
    assert!(found(&imported, "contradictory-figures"), "{:?}", imported.run.findings);
    let lossy = plain
        .replace("100 MBytes   420 Mbits/sec    6 ", "5.00 MBytes  21.0 Mbits/sec  3000 ")
        .replace("99.0 MBytes   415", "4.90 MBytes  20.6")
        .replace("50.1 MBytes   420 Mbits/sec    3", "2.50 MBytes  21.0 Mbits/sec 1500");
    let imported = only(&lossy);
    assert_eq!(up(&imported).retransmits, Some(3000));
    assert!(found(&imported, "path-loss"), "{:?}", imported.run.findings);
}

#[test]
fn a_document_brings_how_a_store_had_it() {
    let run = only(&case("mss-1460.json")).run;
    let mut document = serde_json::to_value(&run).expect("JSON");
    let row = serde_json::json!({"id": "a1", "kind": "throughput", "target": "far.example", "label": "before", "origin": "imported", "started": "2026-11-25T10:00:00.000Z"});
    document["stored"] = row.clone();
    let text = document.to_string();
    let found = crate::items(&text);
    assert_eq!((found.len(), found[0].line), (1, 1));
    assert_eq!(serde_json::to_value(&found[0].stored).expect("JSON"), row);
    assert_eq!(only(&text).run.summary.up, run.summary.up);
}

#[test]
fn a_row_that_is_cut_off_counts_for_nothing() {
    let imported = only(&case("cut-in-a-row.txt"));
    let figures = up(&imported);
    assert_eq!((figures.elapsed, figures.retransmits), (Nanos::from_secs(1), Some(0)));
    near(figures.received.bytes.0 as f64, 112.0 * 1_048_576.0, 0.006);
    let broken = only(&case("broken-lines.txt"));
    assert_eq!(up(&broken).retransmits, Some(4), "the terminal broke the lines before the counts");
    goodput(&broken, 926e6);
}

#[test]
fn pings_of_windows_in_other_letters() {
    for (name, lost, least, longest) in [
        ("ping-windows-ru.txt", 1, 9, 10),
        ("ping-windows-es.txt", 1, 13, 15),
        ("ping-windows-zh.txt", 1, 35, 36),
    ] {
        let imported = only(&case(name));
        let counted = counted(&imported);
        assert_eq!((counted.sent, counted.received, counted.lost), (4, 3, lost), "{name}");
        let rtt = imported.run.summary.rtt.expect("round trips");
        assert_eq!((rtt.min, rtt.max), (Nanos::from_millis(least), Nanos::from_millis(longest)), "{name}");
    }
    let imported = only(&case("ping-fr.txt"));
    assert_eq!((counted(&imported).sent, counted(&imported).lost), (4, 1));
}

#[test]
fn terminals_and_quotations() {
    goodput(&only(&case("windows-terminal.txt")), 94.3e6);
    assert_eq!(up(&only(&case("windows-terminal.txt"))).retransmits, None);
    goodput(&only(&case("quoted-nbsp.txt")), 926e6);
}
