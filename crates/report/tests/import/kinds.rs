//! One case for each kind of output and container that was once read wrongly or not at all, made with the structure of what tools,
//! editors and collectors of logs write.

use super::{all, fixture, found, near, only, warned};
use model::finding::Status;
use model::run::Run;
use model::summary::DirectionSummary;
use model::units::Nanos;
use pathmeter_report::import::{Imported, Known, Tool, read};
use serde_json::{Value, json};

fn output() -> String {
    fixture("cases/iperf3-bytes.txt")
}

fn up(imported: &Imported) -> &DirectionSummary {
    imported.run.summary.up.as_ref().expect("a direction")
}

/// The output of a test of another rate.
fn slower() -> String {
    let halves = [
        ("964 Mbits", "482 Mbits"),
        ("917 Mbits", "458 Mbits"),
        (" 100 MB", "50.0 MB"),
        ("99.5 MB", "49.8 MB"),
    ];
    halves.iter().fold(output(), |text, (whole, half)| text.replace(whole, half))
}

#[track_caller]
fn is_read(what: &str, text: &str) {
    let (imported, bare) = (only(text), only(&output()));
    let figures = |run: &Run| (run.summary.up.clone(), run.summary.outcome.clone());
    assert_eq!(figures(&imported.run), figures(&bare.run), "{what}");
}

/// The lines of the output, each put into another.
fn each(line: impl Fn(usize, &str) -> String) -> String {
    output().lines().enumerate().map(|(number, text)| line(number, text) + "\n").collect()
}

#[test]
fn names_before_lines_that_are_words_or_numbers_alone() {
    is_read("`parallel --tag`", &each(|_, line| format!("alpha\t{line}")));
    is_read("two arguments", &each(|_, line| format!("alpha beta\t{line}")));
    is_read(
        "labels of Loki",
        &each(|n, line| format!("2026-11-25T10:00:{n:02}Z {{app=\"a\", pod=\"b-1\"}} {line}")),
    );
    is_read("`logger -t iperf3`", &each(|n, line| format!("Nov 25 10:00:{n:02} host iperf3: {line}")));
    is_read("numbers of lines", &each(|n, line| format!("{n} {line}")));
}

/// The outputs of two sources, line by line.
#[test]
fn sources_with_names_of_every_form_are_apart() {
    let (one, two) = (output(), slower());
    let bare: Vec<u64> = [&one, &two].map(|text| up(&only(text)).goodput.0).to_vec();
    for (first, second) in [
        ("alpha\t", "beta\t"),
        ("10.0.0.1\t", "10.0.0.2\t"),
        ("1\t", "2\t"),
        ("0: ", "1: "),
        ("[1] ", "[2] "),
        ("h1 | ", "h2 | "),
        ("10:00:01 {pod=\"a-1\"} ", "10:00:01 {pod=\"a-2\"} "),
        ("10:00:01 10.0.0.1 INFO ", "10:00:01 10.0.0.2 INFO "),
    ] {
        let lines = one.lines().zip(two.lines());
        let text: String = lines.map(|(one, two)| format!("{first}{one}\n{second}{two}\n")).collect();
        let found: Vec<u64> = all(&text).iter().map(|one| up(one).goodput.0).collect();
        assert_eq!(found, bare, "{first:?}");
    }
}

#[test]
fn marks_that_close_behind_a_line() {
    is_read("a box of double lines", &each(|_, line| format!("║ {line:<95} ║")));
    is_read("a box of ASCII", &each(|_, line| format!("| {line:<95} |")));
    is_read("a frame without blanks", &each(|_, line| format!("│{line}│")));
    is_read("XML", &each(|n, line| format!("<line n=\"{n}\">{line}</line>")));
    is_read("lists of JSON", &each(|n, line| format!("[{n}.5, \"o\", \"{line}\\r\\n\"]")));
    is_read(
        "fields of CSV behind it",
        &each(|n, line| format!("\"2026-11-25 10:00:{n:02}\",\"{line}\",\"17956008{n:02}\",\"b_{n}\"")),
    );
    is_read(
        "keys of logfmt behind it",
        &each(|n, line| format!("level=info msg=\"{line}\" ts=2026-11-25T10:00:{n:02}Z")),
    );
    is_read(
        "`journalctl -o export`",
        &each(|n, line| format!("__CURSOR=s=a;i={n}\nMESSAGE={line}\n_PID=4711\n")),
    );
    is_read("paragraphs of HTML", &each(|_, line| format!("<p>{line}</p>")));
    is_read("items of HTML", &each(|_, line| format!("<li>{line}</li>")));
    is_read("breaks of XHTML", &each(|_, line| format!("{}<br/>", line.replace(' ', "&nbsp;"))));
    is_read("references for ends of lines", &format!("<msg>{}</msg>", output().replace('\n', "&#10;")));
}

#[test]
fn blanks_dashes_and_marks_of_editors_and_terminals() {
    is_read("thin blanks", &each(|_, line| line.replace(' ', "\u{2009}")));
    is_read("wide blanks", &each(|_, line| line.replace("  ", "\u{3000}")));
    is_read("dashes", &each(|_, line| line.replace(".00-", ".00–").replace("- -", "– –")));
    is_read("marks without width", &each(|_, line| format!("\u{200b}{line}")));
    is_read("commands of a terminal", &each(|n, line| format!("\u{1b}_bk;t=17956008{n:02}123\u{7}{line}")));
}

#[test]
fn collectors_of_logs() {
    let lines = || output().lines().map(str::to_owned).collect::<Vec<_>>();
    let objects = |object: &dyn Fn(usize, &str) -> Value| -> Vec<Value> {
        lines().iter().enumerate().map(|(n, line)| object(n, line)).collect()
    };
    let values: Vec<Value> = lines()
        .iter()
        .enumerate()
        .map(|(n, line)| json!([format!("{}", 1_795_600_800_000_000_000 + n), line]))
        .collect();
    let backward: Vec<Value> = values.iter().rev().cloned().collect();
    let log = |object: &dyn Fn(usize, &str) -> Value| -> String {
        objects(object).iter().map(|object| format!("{object}\n")).collect()
    };
    for (what, text) in [
        ("Loki", json!({"data": {"result": [{"stream": {"app": "a"}, "values": values}]}}).to_string()),
        ("Loki, newest first", json!({"data": {"result": [{"stream": {}, "values": backward}]}}).to_string()),
        (
            "Elasticsearch",
            json!({"hits": {"hits": objects(&|_, line| json!({"_source": {"message": line}}))}}).to_string(),
        ),
        (
            "Google Cloud",
            json!(objects(&|_, line| json!({"textPayload": line, "insertId": "x"}))).to_string(),
        ),
        (
            "CloudWatch",
            json!({"events": objects(&|n, line| json!({"timestamp": n, "message": line}))}).to_string(),
        ),
        ("Splunk", log(&|_, line| json!({"preview": false, "result": {"_raw": line}}))),
        ("OpenTelemetry", log(&|_, line| json!({"Body": line, "SeverityText": "INFO"}))),
    ] {
        is_read(what, &text);
    }
}

/// Docker keeps each line of `--json-stream` in a string.
#[test]
fn lines_of_json_in_a_log_of_json_are_one_run() {
    let document: Value = serde_json::from_str(&fixture("iperf3-3.21-tcp.json")).expect("JSON");
    let line = |event: &str, data: &Value| {
        json!({"log": json!({"event": event, "data": data}).to_string() + "\n", "stream": "stdout"})
            .to_string()
            + "\n"
    };
    let mut text = line("start", &document["start"]);
    document["intervals"]
        .as_array()
        .expect("intervals")
        .iter()
        .for_each(|data| text += &line("interval", data));
    text += &line("end", &document["end"]);
    assert_eq!(only(&text).run.summary.up, only(&document.to_string()).run.summary.up);
}

#[test]
fn documents_in_fields_and_strings() {
    let document: Value = serde_json::from_str(&fixture("cases/mss-1460.json")).expect("JSON");
    let pretty = serde_json::to_string_pretty(&document).expect("JSON");
    let doubled = |text: &str| text.replace('"', "\"\"");
    for (what, text) in [
        ("a field of CSV", format!("host,out\na,\"{}\"\n", doubled(&document.to_string()))),
        ("a field of CSV of many lines", format!("host,out\na,\"{}\"\nb,\n", doubled(&pretty))),
        ("a string of logfmt", format!("level=info msg={}\n", json!(document.to_string()))),
    ] {
        let imported = only(&text);
        assert_eq!(
            (imported.tool, imported.run.summary.up),
            (Tool::Iperf3, only(&pretty).run.summary.up),
            "{what}"
        );
    }
    is_read("a line with escaped ends", &format!("1\ta\t{}\n", output().replace('\n', "\\n")));
}

/// `jq` keeps a part of a document.
#[test]
fn sums_stand_for_streams_that_are_left_out() {
    let document: Value = serde_json::from_str(&fixture("cases/mss-1460.json")).expect("JSON");
    let sums = json!({
        "start": document["start"],
        "intervals": [],
        "end": {"sum_sent": document["end"]["sum_sent"], "sum_received": document["end"]["sum_received"]},
    });
    let (of_sums, whole) = (only(&sums.to_string()), only(&document.to_string()));
    assert_eq!(
        (up(&of_sums).goodput, up(&of_sums).retransmits),
        (up(&whole).goodput, up(&whole).retransmits)
    );
    let mut udp: Value = serde_json::from_str(&fixture("cases/udp-rate-not-reported.json")).expect("JSON");
    udp["end"]["streams"] = json!([]);
    assert_eq!(up(&only(&udp.to_string())).loss.expect("loss").path, 300);
}

/// The end that counts until the last message of the other one counts for longer: a rate is that of the receiver's own time.
#[test]
fn the_rate_of_a_reverse_test_is_the_printed_one() {
    let text = "Connecting to host 192.0.2.1, port 5201\nReverse mode, remote host 192.0.2.1 is sending\n\
        [  5] local 192.0.2.7 port 40000 connected to 192.0.2.1 port 5201\n\
        [ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec                  \n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bitrate         Retr\n\
        [  5]   0.00-1.04   sec   115 MBytes   928 Mbits/sec   33             sender\n\
        [  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec                  receiver\n\niperf Done.\n";
    let down = only(text).run.summary.down.expect("down");
    near(down.goodput.0 as f64, 940e6, 0.004);
    assert_eq!((down.elapsed, down.retransmits), (Nanos::from_secs(1), Some(33)));
}

/// `-i 0` of 3.1: the summary is the only row, and has the amount of the sender.
#[test]
fn a_summary_without_intervals() {
    let text = "Connecting to host 192.0.2.1, port 5201\n\
        [  4] local 192.0.2.7 port 51234 connected to 192.0.2.1 port 5201\n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n\
        [  4]   0.00-10.00  sec  11.9 MBytes  10.0 Mbits/sec  0.041 ms  12/1526 (0.79%)  \n\
        [  4] Sent 1526 datagrams\n\niperf Done.\n";
    let imported = only(text);
    let figures = up(&imported);
    assert_eq!((figures.sent.datagrams, figures.received.datagrams), (1526, 1514));
    assert_eq!(figures.received.bytes.0, 1514 * 8192);
    assert!(!warned(&imported, "no-summary") && figures.loss.expect("loss").path == 12);
}

/// Rows whose amounts no size of datagrams fits.
#[test]
fn datagrams_of_no_known_size_arrive_all_the_same() {
    let text = "Connecting to host 192.0.2.1, port 5201\n\
        [  4] local 192.0.2.7 port 51234 connected to 192.0.2.1 port 5201\n\
        [ ID] Interval           Transfer     Bandwidth       Total Datagrams\n\
        [  4]   0.00-1.00   sec   116 KBytes   950 Kbits/sec  14  \n\
        [  4]   1.00-2.00   sec   128 KBytes  1.05 Mbits/sec  16  \n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams\n\
        [  4]   0.00-2.00   sec   244 KBytes   999 Kbits/sec  0.134 ms  3/30 (10%)  \n\
        [  4] Sent 30 datagrams\n\niperf Done.\n";
    let imported = only(text);
    near(up(&imported).goodput.0 as f64, 0.9 * 999e3, 0.01);
    assert_eq!(imported.run.verdict.status, Status::Degraded, "{}", imported.run.verdict.text);
}

#[test]
fn sctp_is_no_tcp_in_text_either() {
    let starting = "Starting Test: protocol: SCTP, 1 streams, 65536 byte blocks, omitting 0 seconds, 1 second test, tos 0\n";
    let text = output().replacen("[ ID]", &format!("{starting}[ ID]"), 1);
    let imported = only(&text);
    assert!(warned(&imported, "other-protocol") && up(&imported).retransmits.is_none());
}

#[test]
fn iperf2_in_both_directions_as_csv() {
    let row = |ends: &str, id: u32, bytes: u64| {
        format!("20261125100010,{ends},{id},0.0-10.0,{bytes},{}\n", bytes * 8 / 10)
    };
    let forth = row("192.0.2.7,41000,192.0.2.1,5001", 4, 1_176_502_272);
    for id in [5, 4] {
        let text = forth.clone() + &row("192.0.2.7,5001,192.0.2.1,37000", id, 588_251_136);
        let summary = only(&text).run.summary;
        near(summary.up.expect("up").goodput.0 as f64, 941.2e6, 0.001);
        near(summary.down.expect("down").goodput.0 as f64, 470.6e6, 0.001);
    }
}

#[test]
fn reasons_behind_rows_of_iperf2() {
    let rule = "------------------------------------------------------------\n";
    let head = |protocol: &str| {
        format!(
            "{rule}Client connecting to 192.0.2.1, {protocol} port 5001\n{rule}[  3] local 192.0.2.7 port 41000 connected with 192.0.2.1 port 5001\n"
        )
    };
    let broken = only(&format!(
        "{}write1 failed: Broken pipe\n[  3]  0.0- 4.1 sec   458 MBytes   937 Mbits/sec\n",
        head("TCP")
    ));
    assert!(broken.run.verdict.text.contains("write1 failed: Broken pipe"), "{}", broken.run.verdict.text);
    let rows = "[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n[  3] Sent 893 datagrams\n";
    let refused = only(&format!("{}read failed: Connection refused\n{rows}", head("UDP")));
    assert_eq!(refused.run.verdict.status, Status::Void);
    assert!(refused.run.verdict.text.contains("Connection refused"), "{}", refused.run.verdict.text);
    let silent = only(&format!("{}{rows}[  3] WARNING: ack of last datagram failed.\n", head("UDP")));
    assert!(warned(&silent, "no-report"));
}

/// Figures that were not selected contradict none.
#[test]
fn percentiles_of_netperf_without_extremes() {
    let text = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.1 () port 0 AF_INET : demo : first burst 0\n\
        THROUGHPUT=23412.31\nTHROUGHPUT_UNITS=Trans/s\nP50_LATENCY=40\nP90_LATENCY=55\nP99_LATENCY=71\nMEAN_LATENCY=42.61\n";
    let imported = only(text);
    let rtt = imported.run.summary.rtt.expect("round trips");
    assert_eq!((rtt.mean.0, rtt.p50.0, rtt.p99.0), (42_610, 40_000, 71_000));
    assert!(rtt.median().is_some() && rtt.longest().is_none());
    assert!(!warned(&imported, "contradictory-times"));
    let wrong = only(&text.replace("P90_LATENCY=55", "P90_LATENCY=95"));
    assert!(warned(&wrong, "contradictory-times"));
}

#[test]
fn pings_of_android_and_of_routers() {
    let toybox = "Ping example.org (192.0.2.9): 56(84) bytes.\n64 bytes from 192.0.2.9: icmp_seq=1 ttl=64 time=10 ms\n\
        64 bytes from 192.0.2.9: icmp_seq=2 ttl=64 time=12 ms\n\n--- 192.0.2.9 ping statistics ---\n\
        3 packets transmitted, 2 received, 33% packet loss\nround-trip min/avg/max = 10/11/12 ms\n";
    let huawei = "  PING 192.0.2.9: 56  data bytes, press CTRL_C to break\n\
        \u{20}   Reply from 192.0.2.9: bytes=56 Sequence=1 ttl=255 time=10 ms\n    Request time out\n\
        \u{20}   Reply from 192.0.2.9: bytes=56 Sequence=3 ttl=255 time=12 ms\n\n  --- 192.0.2.9 ping statistics ---\n\
        \u{20}   3 packet(s) transmitted\n    2 packet(s) received\n    33.33% packet loss\n    round-trip min/avg/max = 10/11/12 ms\n";
    for (text, host) in [(toybox, "example.org"), (huawei, "192.0.2.9")] {
        let imported = only(text);
        let egress = &imported.run.summary.egress_paths[0];
        assert_eq!((egress.counted.sent, egress.counted.received, egress.host.as_str()), (3, 2, host));
        assert_eq!(egress.rtt.expect("round trips").mean, Nanos::from_millis(11));
    }
}

/// Windows refuses a packet that is too large in a sentence of its language, and counts it as lost.
#[test]
fn packets_that_windows_refuses_are_too_large() {
    for (heading, sentence, counts) in [
        (
            "Pinging 192.0.2.9 with 1473 bytes of data:",
            "Packet needs to be fragmented but DF set.",
            "Packets: Sent = 2, Received = 0, Lost = 2 (100% loss),",
        ),
        (
            "Ping wird ausgeführt für 192.0.2.9 mit 1473 Bytes Daten:",
            "Paket müsste fragmentiert werden, DF-Flag ist jedoch gesetzt.",
            "Pakete: Gesendet = 2, Empfangen = 0, Verloren = 2\n    (100% Verlust),",
        ),
    ] {
        let imported = only(&format!("{heading}\n{sentence}\n{sentence}\n\nx 192.0.2.9:\n    {counts}\n"));
        let notes = &imported.run.summary.warnings;
        assert!(
            notes.iter().any(|note| note.id == "too-large" && note.text.contains("1501 bytes")),
            "{notes:?}"
        );
        assert!(!found(&imported, "path-loss"));
    }
}

#[test]
fn windows_in_greek_has_two_colons() {
    let text = "Εκτέλεση Ping στο 192.0.2.9 με 32 byte δεδομένων:\nΑπάντηση από: 192.0.2.9: byte=32 χρόνος=13ms TTL=57\n\
        Εξαντλήθηκε το χρονικό όριο της αίτησης.\n\nΣτατιστικά στοιχεία Ping για 192.0.2.9:\n    \
        Πακέτα: Απεσταλμένα = 2, Ληφθέντα = 1, Απολεσθέντα = 1\n    (απώλεια 50%),\n";
    let counted = only(text).run.summary.egress_paths[0].counted;
    assert_eq!((counted.sent, counted.received), (2, 1));
}

#[test]
fn formats_that_are_not_read_have_their_names() {
    for (text, words) in [
        (
            "<?xml version=\"1.0\"?>\n<MTR SRC=\"h\" DST=\"192.0.2.1\">\n",
            "mtr; the nearest that is read is that of ping",
        ),
        ("h 0 10.0.0.1\np 0 412 33000\nh 1 192.0.2.1\n", "mtr"),
        ("x 0 33000\nh 0 10.0.0.1\n", "mtr"),
        ("Thread  Time(s) Throughput(KB/s) Avg B / Compl\n======  =======\n", "ntttcp; the nearest"),
        ("Summary of rrul test run from 2026-11-25 10:00:00\n", "flent"),
        ("rc_bw:\n    bw  =  11.6 GB/sec\n", "qperf's tests of RDMA, SCTP or SDP; the nearest"),
        ("sdp_lat:\n    latency  =  7.5 us\n", "qperf's tests of RDMA, SCTP or SDP; the nearest"),
        ("RemotePort       : 5201\nTcpTestSucceeded : True\n", "Test-NetConnection"),
        ("Probing 192.0.2.1:80/tcp - Port is open - time=1.021ms\n", "a ping over TCP"),
        ("seq=0 rtt=412µs rd=100µs sd=312µs ipdv=n/a\n", "irtt"),
        ("\t cubic rto:204 rtt:0.412/0.02 mss:1448 cwnd:10\n", "ss"),
    ] {
        let error = read("file", text, Known::default()).expect_err("it is not read").to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// A server's output of a test at a rate in Mbit/s.
fn served(number: u32, rate: u32) -> String {
    let row = |span: &str| {
        format!(
            "[  5]   {span}   sec  {:4} MBytes   {rate} Mbits/sec                  ",
            rate * 1_000_000 / 8 / 1_048_576
        )
    };
    format!(
        "-----------------------------------------------------------\nServer listening on 5201 (test #{number})\n\
        -----------------------------------------------------------\nAccepted connection from 192.0.2.7, port 4000{number}\n\
        [  5] local 192.0.2.21 port 5201 connected to 192.0.2.7 port 4100{number}\n[ ID] Interval           Transfer     Bitrate\n\
        {}\n- - - - - - - - - - - - - - - - - - - - - - - - -\n[ ID] Interval           Transfer     Bitrate\n{}receiver\n",
        row("0.00-1.00"),
        row("0.00-1.00"),
    )
}

/// An attempt that failed is a result of its own, whatever stands before and behind it in the log.
#[test]
fn failed_attempts_in_the_log_of_a_server() {
    let (first, second) = (served(1, 500), served(3, 700));
    let accepted = "-----------------------------------------------------------\nServer listening on 5201 (test #2)\n\
        -----------------------------------------------------------\nAccepted connection from 192.0.2.8, port 39000\n";
    let reset = "iperf3: error - unable to receive cookie at server: Connection reset by peer\n";
    let refused = "iperf3: error - unable to connect to server: Connection refused\n";
    for (what, between, reason) in [
        ("of a client that went away", format!("{accepted}{reset}"), "Connection reset"),
        ("of a client that ran here", refused.to_owned(), "Connection refused"),
    ] {
        let all = all(&format!("{first}{between}{second}"));
        assert_eq!(all.len(), 3, "{what}: {all:#?}");
        near(up(&all[0]).goodput.0 as f64, 500e6, 0.01);
        assert!(all[1].run.verdict.text.contains(reason), "{what}: {}", all[1].run.verdict.text);
        near(up(&all[2]).goodput.0 as f64, 700e6, 0.01);
    }
    let all = all(&format!("{refused}{second}"));
    assert_eq!((all.len(), all[0].run.verdict.status), (2, Status::Void));
}

/// iPerf2 prints why it could not connect before any heading: the output behind is of the next attempt.
#[test]
fn an_attempt_of_iperf2_behind_one_that_failed() {
    let rule = "------------------------------------------------------------\n";
    let good = format!(
        "{rule}Client connecting to 192.0.2.1, TCP port 5001\n{rule}[  3] local 192.0.2.7 port 41000 connected with 192.0.2.1 port 5001\n\
        [  3]  0.0-10.0 sec   112 MBytes  94.1 Mbits/sec\n"
    );
    let all = all(&format!("connect failed: Connection timed out\n{good}"));
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all[0].run.verdict.text.contains("timed out") && all[1].line == 2, "{}", all[0].run.verdict.text);
    near(up(&all[1]).goodput.0 as f64, 94.1e6, 0.01);
}

#[test]
fn heads_of_programs_in_javascript() {
    is_read(
        "objects with bare keys",
        &each(|n, line| format!("{{time:\"2026-11-25T10:00:{n:02}Z\", msg:\"{line}\"}}")),
    );
    is_read(
        "the same of other marks",
        &each(|n, line| format!("{{ ts: {n}, level: 'info', msg: '{line}' }}")),
    );
    is_read("the time since the line before", &each(|n, line| format!("+{}ms {line}", n * 7 + 3)));
    is_read("the same in seconds", &each(|n, line| format!("+{n}.{n:03}s {line}")));
}

#[test]
fn pings_of_ios() {
    let ping = |size: u32, marks: &str, result: &str| {
        only(&format!(
            "R1#ping 192.0.2.9\nType escape sequence to abort.\nSending 5, {size}-byte ICMP Echos to 192.0.2.9, timeout is 2 seconds:\n\
            {marks}\nSuccess rate is {result}\nR1#\n"
        ))
    };
    let some = ping(100, ".!!!!", "80 percent (4/5), round-trip min/avg/max = 1/2/4 ms");
    let egress = &some.run.summary.egress_paths[0];
    assert_eq!((egress.counted.sent, egress.counted.received, egress.host.as_str()), (5, 4, "192.0.2.9"));
    assert_eq!(egress.rtt.expect("round trips").mean, Nanos::from_millis(2));
    assert!(found(&some, "path-loss"));
    for (marks, words) in [("U.U.U", "unreachable (U)"), ("M.M.M", "must not be fragmented (M)")] {
        let none = ping(1500, marks, "0 percent (0/5)");
        assert_eq!(none.run.verdict.status, Status::Void);
        let reason = format!("{:?}", none.run.summary.outcome);
        assert!(reason.contains(words), "{reason}");
    }
}

/// On SIGQUIT ping prints what it has counted so far, and goes on.
#[test]
fn counts_between_replies_end_no_ping() {
    let reply = |n: u32| format!("64 bytes from 192.0.2.9: icmp_seq={n} ttl=57 time={n}0.0 ms\n");
    let text = format!(
        "PING 192.0.2.9 (192.0.2.9) 56(84) bytes of data.\n{}{}2/2 packets, 0% loss, min/avg/ewma/max = 10.000/15.000/11.250/20.000 ms\n{}",
        reply(1),
        reply(2),
        reply(3)
    );
    let imported = only(&text);
    let egress = &imported.run.summary.egress_paths[0];
    assert_eq!((egress.counted.sent, egress.counted.received), (3, 3));
    assert_eq!(egress.rtt.expect("round trips").max, Nanos::from_millis(30));
}

/// 3.7 prints some keys of `--bidir` twice: the last one counts, as in most readers of JSON.
#[test]
fn keys_that_stand_twice() {
    let document = fixture("cases/mss-1460.json");
    let twice = document.replacen("\"end\"", "\"end\": {\"sum_sent\": {}},\n\"end\"", 1);
    assert_ne!(twice, document);
    assert_eq!(only(&twice).run.summary, only(&document).run.summary);
}

/// Rows behind the failed attempt of another client are those of the test that goes on.
#[test]
fn failed_attempts_between_the_rows_of_a_test() {
    let refused = "iperf3: error - unable to connect to server: Connection refused";
    let rule = "------------------------------------------------------------";
    let refused2 = format!(
        "{rule}\nClient connecting to 192.0.2.9, TCP port 5001\n{rule}\ntcp connect failed: Connection refused"
    );
    let row = |start: u32, end: &str| {
        format!("[  5] {start:3}.00-{end:5}  sec  11.9 MBytes   100 Mbits/sec                  ")
    };
    let row2 = |start: f64, end: f64, sum: &str| {
        format!("[  3] {start:4.1}-{end:4.1} sec  {sum} MBytes   100 Mbits/sec")
    };
    let rows = [row(0, "1.00"), row(1, "2.00"), row(2, "3.00")].join("\n");
    let summary = format!(
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n[ ID] Interval           Transfer     Bitrate\n{}",
        row(0, "3.00").replace("11.9", "35.8").trim_end()
    );
    let server = format!(
        "-----------------------------------------------------------\nServer listening on 5201 (test #1)\n\
        -----------------------------------------------------------\nAccepted connection from 192.0.2.7, port 40000\n\
        [  5] local 192.0.2.21 port 5201 connected to 192.0.2.7 port 41000\n[ ID] Interval           Transfer     Bitrate\n\
        {rows}\n{summary}                  receiver\n"
    );
    let client = format!(
        "Connecting to host 192.0.2.21, port 5201\n[  5] local 192.0.2.7 port 41000 connected to 192.0.2.21 port 5201\n\
        [ ID] Interval           Transfer     Bitrate\n{rows}\n{summary}                  sender\n\
        {}                  receiver\n\niperf Done.\n",
        row(0, "3.00").replace("11.9", "35.8").trim_end()
    );
    let iperf2 = format!(
        "{rule}\nClient connecting to 192.0.2.21, TCP port 5001\n{rule}\n\
        [  3] local 192.0.2.7 port 41000 connected with 192.0.2.21 port 5001\n{}\n{}\n{}\n{}\n",
        row2(0.0, 1.0, "11.9"),
        row2(1.0, 2.0, "11.9"),
        row2(2.0, 3.0, "11.9"),
        row2(0.0, 3.0, "35.8")
    );
    for (name, text, attempt, places) in [
        ("server", &server, refused, 4..10),
        ("client", &client, refused, 4..10),
        ("iPerf2", &iperf2, refused2.as_str(), 5..7),
    ] {
        let alone = only(text);
        for place in places {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.insert(place, attempt);
            let both = all(&lines.join("\n"));
            assert_eq!(both.len(), 2, "{name}, line {place}: {both:#?}");
            let (failed, whole): (Vec<_>, Vec<_>) =
                both.iter().partition(|one| one.run.verdict.status == Status::Void);
            assert_eq!((failed.len(), whole.len()), (1, 1), "{name}, line {place}");
            // A rule stands above the heading of iPerf2.
            assert_eq!(failed[0].line, place + 1 + usize::from(name == "iPerf2"), "{name}");
            assert_eq!(whole[0].run.summary, alone.run.summary, "{name}, line {place}");
        }
    }
}
