//! The kind of a text that is not a recognised output, and the nearest one that is.

/// In a few words, as the end of "it looks like …".
pub(super) fn like(text: &str) -> String {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if trimmed.is_empty() {
        return "an empty file".into();
    }
    let printable =
        text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{1b}')).count();
    let binary =
        text.contains('\u{fffd}') && printable * 10 < text.chars().count() * 9 || text.contains('\0');
    if binary {
        return "binary data, not text; captures of packets are not read here".into();
    }
    if let Some(tool) = TOOLS.iter().find(|tool| (tool.is)(trimmed)) {
        return match tool.nearest {
            "" => tool.name.into(),
            nearest => format!("{}; the nearest that is read is {nearest}", tool.name),
        };
    }
    let first = trimmed.lines().next().unwrap_or_default();
    let is_json = || serde_json::from_str::<serde_json::Value>(trimmed).is_ok();
    match first {
        json if json.starts_with(['{', '[']) && is_json() => "JSON of another program".into(),
        json if json.starts_with("{\"") && json.ends_with('}') => "lines of JSON of another program".into(),
        json if json.starts_with('{') && text.contains("\"iperf 3.") => {
            "JSON of iPerf3 that is cut off before its first interval, or broken".into()
        }
        json if json.starts_with('{') => "JSON that is cut off or broken".into(),
        xml if xml.starts_with("<?xml") || xml.starts_with('<') => "XML or HTML".into(),
        script if script.starts_with("#!") => "a script".into(),
        usage if usage.to_ascii_lowercase().starts_with("usage:") => "a tool's usage message".into(),
        csv if csv.matches(',').count() >= 3 => "CSV of another program".into(),
        _ => format!(
            "text that begins with \"{}\"",
            first.chars().take(LONGEST).collect::<String>().escape_debug()
        ),
    }
}

/// A tool whose output is known and not read.
struct Unread {
    name: &'static str,
    /// Empty: there is none.
    nearest: &'static str,
    is: fn(&str) -> bool,
}

const fn unread(name: &'static str, nearest: &'static str, is: fn(&str) -> bool) -> Unread {
    Unread { name, nearest, is }
}

/// The more exact the mark, the earlier.
static TOOLS: &[Unread] = &[
    unread("JSON of fping", PING, |text| text.contains("{\"resp\":") && text.contains("\"rtt\"")),
    unread("the output of PowerShell's Test-NetConnection or Test-Connection", PING, |text| {
        text.contains("TcpTestSucceeded") || text.contains("PingSucceeded") || has_table_of_powershell(text)
    }),
    unread("the output of fping", PING, fping),
    unread("a shell that does not find the tool; install it, or give its whole path", "", not_found),
    unread("the output of mtr", PING, |text| {
        text.contains("Loss%") && text.contains("Wrst")
            || text.contains("\"mtr\":")
            || text.contains("<MTR ")
            || is_raw_mtr(text)
    }),
    unread("the output of traceroute or tracepath", "", |text| {
        text.starts_with("traceroute to") || text.starts_with("Tracing route to") || text.contains("pmtu ")
    }),
    unread("the output of tcpdump", "", |text| text.contains(" > ") && text.contains(": Flags [")),
    unread("the output of nuttcp", IPERF, |text| {
        text.contains("%TX") && text.contains("%RX") && text.contains("Mbps")
    }),
    unread("the output of nping or hping", PING, |text| {
        text.starts_with("Starting Nping") || text.starts_with("HPING ")
    }),
    unread("ping of a router (IOS)", PING, |text| {
        text.contains("Success rate is ") && text.contains(" percent (")
    }),
    unread("ping of MikroTik's RouterOS", PING, |text| {
        text.contains("packet-loss=") && text.contains("sent=")
    }),
    unread("the output of a ping over TCP (tcping, paping, psping)", PING, |text| {
        ["Probing ", "paping v", "PsPing v", "TCPing "].iter().any(|start| text.starts_with(start))
            || text.contains("/tcp - Port is ")
    }),
    unread("the output of irtt", PING, |text| {
        text.contains("\"irtt\"") || text.contains("rtt=") && text.contains(" ipdv=")
    }),
    unread("the output of arping", PING, |text| text.starts_with("ARPING ")),
    unread("JSON of Ookla's speedtest", IPERF, |text| {
        text.contains("\"bandwidth\":") && text.contains("\"isp\"")
    }),
    unread("the output of a speed test", IPERF, |text| {
        text.contains("Retrieving speedtest.net") || text.contains("Speedtest by Ookla")
    }),
    unread("the output of perftest (ib_write_bw and others)", "that of qperf", |text| {
        text.contains("#bytes") && text.contains("#iterations")
    }),
    unread("the output of ntttcp", IPERF, |text| {
        text.to_ascii_lowercase().contains("ntttcp") || text.contains("Throughput(KB/s) Avg B / Compl")
    }),
    unread("the output of ethr", IPERF, |text| text.starts_with("Ethr: ")),
    unread("data of flent", "that of netperf", |text| {
        text.contains("\"SERIES_META\"")
            || text.starts_with("Summary of ") && text.contains(" test run from ")
    }),
    unread(
        "the output of qperf's tests of RDMA, SCTP or SDP",
        "that of its tests `tcp_bw`, `udp_bw`, `tcp_lat` and `udp_lat`",
        |text| {
            let is_test = |line: &str| RDMA.iter().any(|test| line.strip_suffix(':') == Some(test));
            text.lines().any(|line| is_test(line.trim_end()))
        },
    ),
    unread("the output of uperf", IPERF, |text| text.contains(" running profile:") && text.contains("Txn")),
    unread("the output of owping or twping", PING, |text| {
        text.contains("--- owping statistics") || text.contains("--- twping statistics")
    }),
    unread("the output of wrk, ab, hey or oha", "", |text| {
        text.contains("Requests/sec") || text.contains("This is ApacheBench")
    }),
    unread("the progress of curl or wget", "", |text| {
        text.contains("% Xferd") || text.starts_with("--") && text.contains("--  http")
    }),
    unread("the output of tshark", "", |text| {
        text.contains(" → ") && (text.contains(" TCP ") || text.contains(" UDP "))
    }),
    unread("counters of sar", "", |text| text.contains("IFACE") && text.contains("rxpck/s")),
    unread("the settings of an interface (ethtool)", "", |text| text.starts_with("Settings for ")),
    unread("counters of a traffic generator (TRex, pktgen)", IPERF, |text| {
        text.contains("Per port stats") || text.starts_with("Result: OK: ") && text.contains("pps ")
    }),
    unread("the state of sockets (`ss`)", IPERF, |text| text.contains(" cwnd:") && text.contains(" rtt:")),
    unread("netperf's figures without their heading (`-P 0`); run it without that option", "", |text| {
        text.lines().all(|line| line.split_whitespace().all(|word| word.parse::<f64>().is_ok()))
    }),
];

/// `bash: iperf3: command not found`, `sh: 1: iperf3: not found`, and the same of Windows.
fn not_found(text: &str) -> bool {
    let last = text.lines().next_back().unwrap_or_default();
    let is_shell = ["iperf", "ping", "sockperf", "netperf", "qperf"].iter().any(|tool| last.contains(tool));
    is_shell
        && (last.ends_with("not found")
            || last.contains("is not recognized as")
            || last.contains("No such file or directory"))
}

/// `host : xmt/rcv/%loss = …`, `host : 0.69 0.05 -`, `host : [0], 64 bytes, 0.690 ms (…)`, `host is alive (0.040 ms)`.
fn fping(text: &str) -> bool {
    let is_state = |line: &str| {
        line.ends_with(" is alive")
            || line.ends_with(" is unreachable")
            || line.contains(" is alive (") && line.ends_with(" ms)")
            || line.starts_with("ICMP ") && line.contains(" for ICMP Echo sent to ")
    };
    let is_row = |line: &str| {
        let Some((_, rest)) = line.split_once(" : ") else { return false };
        rest.starts_with("xmt/rcv/%loss")
            || rest.starts_with('[') && rest.contains(" bytes, ")
            || rest.split_whitespace().all(|word| word == "-" || word.parse::<f64>().is_ok())
    };
    let first = text.lines().next().unwrap_or_default();
    first.starts_with("fping: ") || is_state(first) || text.lines().any(is_row)
}

/// The columns of Test-Connection, in its versions 5 and 7.
fn has_table_of_powershell(text: &str) -> bool {
    let has_all = |words: &[&str], line: &str| words.iter().all(|word| line.contains(word));
    text.lines().any(|line| {
        has_all(&["Source", "Destination", "Time(ms)"], line)
            || has_all(&["Ping", "Latency", "BufferSize"], line)
    })
}

/// `h 0 10.0.0.1`, `p 0 412 33000`: hosts and replies.
fn is_raw_mtr(text: &str) -> bool {
    let is_row = |line: &str| {
        let mut tokens = line.split_whitespace();
        let kind = tokens.next().is_some_and(|kind| ["h", "p", "x", "d"].contains(&kind));
        kind && tokens.next().is_some_and(|hop| hop.parse::<u8>().is_ok())
    };
    text.starts_with("x 0 ") || text.starts_with("h 0 ") && text.lines().take(4).all(is_row)
}

/// Tests of qperf that need an adapter for RDMA, or other protocols.
const RDMA: [&str; 12] = [
    "rc_bw", "rc_lat", "uc_bw", "uc_lat", "ud_bw", "ud_lat", "rds_bw", "rds_lat", "sctp_bw", "sctp_lat",
    "sdp_bw", "sdp_lat",
];
const PING: &str = "that of ping (iputils, BusyBox, BSD, Windows)";
const IPERF: &str = "that of iPerf3 or iPerf2";
const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_words() {
        for (text, words) in [
            ("", "an empty file"),
            (" \n\n", "an empty file"),
            ("{\"a\": 1}", "JSON of another program"),
            ("{\"a\": ", "JSON that is cut off or broken"),
            ("<html>", "XML or HTML"),
            ("#!/bin/sh\necho", "a script"),
            ("a\0b", "binary data, not text; captures of packets are not read here"),
            ("a,b,c,d\n1,2,3,4", "CSV of another program"),
            ("Dear Sir,\n", "text that begins with \"Dear Sir,\""),
        ] {
            assert_eq!(like(text), words);
        }
        for (text, name) in [
            ("192.0.2.1 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 0.02/0.03/0.04", "fping"),
            ("192.0.2.1 : 0.69 - 0.05", "fping"),
            ("127.0.0.1 is alive (0.040 ms)", "fping"),
            ("localhost (127.0.0.1) is alive (0.037 ms)", "fping"),
            ("[14:37:10]\n127.0.0.1 : xmt/rcv/%loss = 5/5/0%, min/avg/max = 0.042/0.047/0.057", "fping"),
            ("[1795876628.32977] 127.0.0.1 : [0], 64 bytes, 0.035 ms (0.035 avg, 0% loss)", "fping"),
            (
                "ICMP Host Unreachable from 10.0.0.1 for ICMP Echo sent to 10.0.0.9\n10.0.0.9 is unreachable",
                "fping",
            ),
            ("fping: invalid option -- 'J'\nsee 'fping -h' for usage information", "fping"),
            ("{\"resp\": {\"host\": \"192.0.2.1\", \"rtt\": 1.2}}\n{\"timeout\": {}}", "fping"),
            ("Start: x\nHOST: a Loss% Snt Last Avg Best Wrst StDev", "mtr"),
            (
                "Sending 5, 100-byte ICMP Echos to 192.0.2.1:\n!!.!!\nSuccess rate is 80 percent (4/5)",
                "router",
            ),
        ] {
            let found = like(text);
            assert!(
                found.contains(name) && found.contains("nearest that is read is that of ping"),
                "{found}"
            );
        }
    }
}
