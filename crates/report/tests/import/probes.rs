//! fping, hping3, Nping, PsPing, PowerShell and RouterOS: what they print is what is imported. The texts are those of the tools that
//! Debian has, run here, and of public reports, with other hosts.

use super::{all, found, near, only, warned};
use model::event::Outcome;
use model::finding::Status;
use model::latency::EgressResult;
use model::units::Nanos;
use pathmeter_report::import::{Imported, Tool};

/// The expected figures of an output: the host, probes that were sent and answered, and the shortest, the mean and the longest time in
/// milliseconds.
struct Expected {
    tool: Tool,
    host: &'static str,
    counts: (u64, u64),
    times: Option<[f64; 3]>,
}

fn egress(imported: &Imported) -> &EgressResult {
    let [egress] = imported.run.summary.egress_paths.as_slice() else { panic!("{imported:#?}") };
    egress
}

#[track_caller]
fn is_read(what: &str, text: &str, expected: &Expected) -> Imported {
    let imported = only(text);
    holds(what, &imported, expected);
    imported
}

#[track_caller]
fn holds(what: &str, imported: &Imported, expected: &Expected) {
    let egress = egress(imported);
    let counts = (egress.counted.sent, egress.counted.received);
    assert_eq!((imported.tool, egress.host.as_str()), (expected.tool, expected.host), "{what}");
    assert_eq!(counts, expected.counts, "{what}");
    match (expected.times, egress.rtt) {
        (Some([min, mean, max]), Some(rtt)) => {
            for (found, expected) in [(rtt.min, min), (rtt.mean, mean), (rtt.max, max)] {
                near(found.0 as f64 / 1e6, expected, 0.01);
            }
        }
        (None, None) => {}
        (expected, found) => panic!("{what}: {expected:?}, {found:?}"),
    }
    assert_eq!(expected.counts.1 == 0, imported.run.verdict.status == Status::Void, "{what}");
}

/// A title, a text, and what is read of it: the tool, the host, probes sent and answered, and the times in milliseconds.
type Output = (&'static str, &'static str, Tool, &'static str, (u64, u64), Option<[f64; 3]>);

#[test]
fn outputs_of_one_host() {
    for (what, text, tool, host, counts, times) in OUTPUTS.iter().copied() {
        is_read(what, text, &Expected { tool, host, counts, times });
        let headed: String = text
            .lines()
            .map(|line| format!("2026-11-29T10:00:00.123Z {line}").trim_end().to_owned() + "\n")
            .collect();
        // A row of PowerShell alone is like those of other tables.
        if text.lines().count() > 2 && !text.starts_with('[') && tool != Tool::PowerShell {
            is_read(&format!("{what}, with heads"), &headed, &Expected { tool, host, counts, times });
        }
        let twice = all(&format!("{text}\n{text}"));
        assert_eq!(twice.len(), 2, "{what}, twice: {twice:#?}");
    }
}

const OUTPUTS: &[Output] = &[
    (
        "fping -c, whose summary stands behind the rows",
        "192.0.2.60 : [0], 64 bytes, 11.2 ms (11.2 avg, 0% loss)\n192.0.2.60 : [1], timed out (11.2 avg, 50% loss)\n\
             192.0.2.60 : [2], 64 bytes, 13.2 ms (12.2 avg, 33% loss)\n\n192.0.2.60 : xmt/rcv/%loss = 3/2/33%, min/avg/max = 11.2/12.2/13.2\n",
        Tool::Fping,
        "192.0.2.60",
        (3, 2),
        Some([11.2, 12.2, 13.2]),
    ),
    (
        "fping -C, whose list stands behind the rows",
        "192.0.2.60 : [0], 64 bytes, 11.2 ms (11.2 avg, 0% loss)\n192.0.2.60 : [1], timed out (11.2 avg, 50% loss)\n\
             192.0.2.60 : [2], 64 bytes, 13.2 ms (12.2 avg, 33% loss)\n\n192.0.2.60 : 11.2 - 13.2\n",
        Tool::Fping,
        "192.0.2.60",
        (3, 2),
        Some([11.2, 12.2, 13.2]),
    ),
    (
        "fping -C, whose list stands before the rows",
        "192.0.2.60 : 11.2 13.2 -\n192.0.2.60 : [0], 64 bytes, 11.2 ms (11.2 avg, 0% loss)\n\
             192.0.2.60 : [1], 64 bytes, 13.2 ms (12.2 avg, 0% loss)\n",
        Tool::Fping,
        "192.0.2.60",
        (3, 2),
        Some([11.2, 12.2, 13.2]),
    ),
    (
        "fping -c -q",
        "192.0.2.60 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 0.02/0.03/0.04\n",
        Tool::Fping,
        "192.0.2.60",
        (2, 2),
        Some([0.02, 0.03, 0.04]),
    ),
    (
        "fping -Q of one interval, and of the whole behind it",
        "[10:00:00]\n192.0.2.60 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 1.03/1.20/1.30\n\
             192.0.2.60 : xmt/rcv/%loss = 4/3/25%, min/avg/max = 1.01/1.20/1.30\n",
        Tool::Fping,
        "192.0.2.60",
        (4, 3),
        Some([1.01, 1.2, 1.3]),
    ),
    (
        "fping -c -q of nothing",
        "10.9.9.9  : xmt/rcv/%loss = 3/0/100%\n",
        Tool::Fping,
        "10.9.9.9",
        (3, 0),
        None,
    ),
    ("fping -C", "192.0.2.1 : 0.69 - 0.05\n", Tool::Fping, "192.0.2.1", (3, 2), Some([0.05, 0.37, 0.69])),
    (
        "fping -e",
        "localhost (127.0.0.1) is alive (0.037 ms)\n",
        Tool::Fping,
        "localhost",
        (1, 1),
        Some([0.037; 3]),
    ),
    ("fping", "192.0.2.9 is unreachable\n", Tool::Fping, "192.0.2.9", (1, 0), None),
    (
        "fping -Q, whose last summary is of the whole",
        "[15:48:33]\n127.0.0.1 : xmt/rcv/%loss = 10/10/0%, min/avg/max = 0.050/0.055/0.065\n[15:48:34]\n\
             127.0.0.1 : xmt/rcv/%loss = 10/9/10%, min/avg/max = 0.043/0.052/0.064\n\
             127.0.0.1 : xmt/rcv/%loss = 20/19/5%, min/avg/max = 0.043/0.054/0.065\n",
        Tool::Fping,
        "127.0.0.1",
        (20, 19),
        Some([0.043, 0.054, 0.065]),
    ),
    (
        "fping -D -o",
        "[1795967311.98445] 127.0.0.1 : [0], 64 bytes, 0.055 ms (0.055 avg, 0% loss)\n\
             [1795967312.08460] 127.0.0.1 : [1], 64 bytes, 0.065 ms (0.060 avg, 0% loss)\n\
             127.0.0.1 : xmt/rcv/%loss = 2/2/0%, outage(ms) = 0, min/avg/max = 0.055/0.060/0.065\n",
        Tool::Fping,
        "127.0.0.1",
        (2, 2),
        Some([0.055, 0.060, 0.065]),
    ),
    (
        "hping3 in a terminal",
        "HPING www.example.net (eth0 192.0.2.8): S set, 40 headers + 0 data bytes\n\
             len=46 ip=192.0.2.8 ttl=51 id=47908 sport=80 flags=SA seq=0 win=8192 rtt=9.3 ms\n\
             len=46 ip=192.0.2.8 ttl=51 id=6788  sport=80 flags=SA seq=2 win=8192 rtt=10.9 ms\n\n\
             --- www.example.net hping statistic ---\n3 packets tramitted, 2 packets received, 34% packet loss\n\
             round-trip min/avg/max = 9.3/10.1/10.9 ms\n",
        Tool::Hping,
        "www.example.net",
        (3, 2),
        Some([9.3, 10.1, 10.9]),
    ),
    (
        "hping3 into a file, whose statistics stand first",
        "\n--- 127.0.0.1 hping statistic ---\n2 packets transmitted, 2 packets received, 0% packet loss\n\
             round-trip min/avg/max = 0.6/0.8/1.0 ms\nHPING 127.0.0.1 (lo 127.0.0.1): icmp mode set, 28 headers + 0 data bytes\n\
             len=28 ip=127.0.0.1 ttl=64 id=43439 icmp_seq=0 rtt=1.0 ms\nlen=28 ip=127.0.0.1 ttl=64 id=43453 icmp_seq=1 rtt=0.6 ms\n",
        Tool::Hping,
        "127.0.0.1",
        (2, 2),
        Some([0.6, 0.8, 1.0]),
    ),
    (
        "hping3 --flood, which shows no reply",
        "HPING 192.0.2.8 (eth0 192.0.2.8): S set, 40 headers + 0 data bytes\nhping in flood mode, no replies will be shown\n\
             --- 192.0.2.8 hping statistic ---\n2281304 packets transmitted, 0 packets received, 100% packet loss\n\
             round-trip min/avg/max = 0.0/0.0/0.0 ms\n",
        Tool::Hping,
        "192.0.2.8",
        (2_281_304, 0),
        None,
    ),
    (
        "nping --icmp",
        "Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-29 15:48 UTC\n\
             SENT (0.0154s) ICMP [192.0.2.1 > 192.0.2.9 Echo request (type=8/code=0) id=36248 seq=1] IP [ttl=64 id=29759 iplen=28 ]\n\
             RCVD (0.0157s) ICMP [192.0.2.9 > 192.0.2.1 Echo reply (type=0/code=0) id=36248 seq=1] IP [ttl=64 id=43543 iplen=28 ]\n\
             SENT (1.0157s) ICMP [192.0.2.1 > 192.0.2.9 Echo request (type=8/code=0) id=36248 seq=2] IP [ttl=64 id=29759 iplen=28 ]\n \n\
             Max rtt: 0.085ms | Min rtt: 0.085ms | Avg rtt: 0.085ms\nRaw packets sent: 2 (56B) | Rcvd: 1 (28B) | Lost: 1 (50.00%)\n\
             Nping done: 1 IP address pinged in 2.02 seconds\n",
        Tool::Nping,
        "192.0.2.9",
        (2, 1),
        Some([0.085; 3]),
    ),
    (
        "nping --tcp-connect to a closed port",
        "Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-29 15:48 UTC\n\
             SENT (0.0060s) Starting TCP Handshake > 192.0.2.9:9\n\
             RCVD (0.0061s) Possible TCP RST received from 192.0.2.9:9 --> Connection refused\n \n\
             Max rtt: N/A | Min rtt: N/A | Avg rtt: N/A\nTCP connection attempts: 1 | Successful connections: 0 | Failed: 1 (100.00%)\n\
             Nping done: 1 IP address pinged in 0.11 seconds\n",
        Tool::Nping,
        "192.0.2.9",
        (1, 0),
        None,
    ),
    (
        "psping to a port",
        "PsPing v2.10 - PsPing - ping, latency, bandwidth measurement utility\nCopyright (C) 2012-2016 Mark Russinovich\n\
             Sysinternals - www.sysinternals.com\n\nTCP connect to 192.0.2.7:443:\n5 iterations (warmup 1) ping test:\n\
             Connecting to 192.0.2.7:443 (warmup): from 192.0.2.1:60649: 2.00ms\n\
             Connecting to 192.0.2.7:443: from 192.0.2.1:60650: 3.83ms\n\
             Connecting to 192.0.2.7:443: This operation returned because the timeout period expired.\n\
             Connecting to 192.0.2.7:443: from 192.0.2.1:60653: 2.13ms\n\nTCP connect statistics for 192.0.2.7:443:\n\
             \x20 Sent = 3, Received = 2, Lost = 1 (33% loss),\n  Minimum = 2.13ms, Maximum = 3.83ms, Average = 2.98ms\n",
        Tool::Psping,
        "192.0.2.7",
        (3, 2),
        Some([2.13, 2.98, 3.83]),
    ),
    (
        "psping, ICMP",
        "PsPing v2.10 - PsPing - ping, latency, bandwidth measurement utility\nCopyright (C) 2012-2016 Mark Russinovich\n\
             Sysinternals - www.sysinternals.com\n\nPinging 192.0.2.7 with 32 bytes of data:\n3 iterations (warmup 1) ping test:\n\
             Reply from 192.0.2.7: 9.99ms (warmup)\nReply from 192.0.2.7: 1.50ms\nReply from 192.0.2.7: 2.50ms\n\n\
             Ping statistics for 192.0.2.7:\n  Sent = 2, Received = 2, Lost = 0 (0% loss),\n\
             \x20 Minimum = 1.50ms, Maximum = 2.50ms, Average = 2.00ms\n",
        Tool::Psping,
        "192.0.2.7",
        (2, 2),
        Some([1.5, 2.0, 2.5]),
    ),
    (
        "Test-Connection of version 5",
        "Source        Destination     IPV4Address      IPV6Address                              Bytes    Time(ms)\n\
             ------        -----------     -----------      -----------                              -----    --------\n\
             DESKTOP-1F... www.example.net 192.0.2.120                                               32       82\n\
             DESKTOP-1F... www.example.net 192.0.2.120                                               32       62\n",
        Tool::PowerShell,
        "www.example.net",
        (2, 2),
        Some([62.0, 72.0, 82.0]),
    ),
    (
        "Test-Connection of version 7",
        "   Destination: 192.0.2.9\n\nPing Source  Address    Latency BufferSize Status\n   1 h       192.0.2.9       13         32 Success\n",
        Tool::PowerShell,
        "192.0.2.9",
        (1, 1),
        Some([13.0; 3]),
    ),
    (
        "the same with a probe that timed out",
        "Ping Source           Address                   Latency BufferSize Status\n\
             \x20                                                  (ms)        (B)\n\
             ---- ------           -------                   ------- ---------- ------\n\
             \x20  1 ADMIN1           192.0.2.44                    24         32 Success\n\
             \x20  2 ADMIN1           *                               *          * TimedOut\n\
             \x20  3 ADMIN1           192.0.2.44                    28         32 Success\n",
        Tool::PowerShell,
        "192.0.2.44",
        (3, 2),
        Some([24.0, 26.0, 28.0]),
    ),
    (
        "Test-NetConnection without a port",
        "ComputerName           : 192.0.2.53\nRemoteAddress          : 192.0.2.53\nInterfaceAlias         : Wi-Fi\n\
             SourceAddress          : 192.0.2.252\nPingSucceeded          : True\nPingReplyDetails (RTT) : 20 ms\n",
        Tool::PowerShell,
        "192.0.2.53",
        (1, 1),
        Some([20.0; 3]),
    ),
    (
        "ping of RouterOS",
        "[admin@CE5] > ping 192.0.2.4\n  SEQ HOST                                     SIZE TTL TIME       STATUS\n\
             \x20   0 192.0.2.4                                  56  64 5ms896us\n\
             \x20   1 192.0.2.4                                                     timeout\n\
             \x20   2 192.0.2.4                                  56  64 14ms518us\n\
             \x20   sent=3 received=2 packet-loss=33% min-rtt=5ms896us avg-rtt=10ms207us max-rtt=14ms518us\n\n",
        Tool::RouterOs,
        "192.0.2.4",
        (3, 2),
        Some([5.896, 10.207, 14.518]),
    ),
    (
        "the end of one",
        "    0 192.0.2.1   56  57 10ms\n    sent=2 received=1 packet-loss=50% min-rtt=10ms\n",
        Tool::RouterOs,
        "192.0.2.1",
        (2, 1),
        Some([10.0; 3]),
    ),
    (
        "one of many probes, with a summary after every twentieth, of which the rows are cut off",
        "    sent=20 received=20 packet-loss=0% min-rtt=55ms avg-rtt=67ms max-rtt=157ms\n  SEQ HOST  SIZE TTL TIME  STATUS\n\
             \x20   sent=40 received=39 packet-loss=2% min-rtt=50ms avg-rtt=66ms max-rtt=157ms\n",
        Tool::RouterOs,
        "the far end",
        (40, 39),
        Some([50.0, 66.0, 157.0]),
    ),
];

#[test]
fn outputs_of_several_hosts() {
    let fping = "192.0.2.1 : [0], 64 bytes, 1.00 ms (1.00 avg, 0% loss)\n192.0.2.2 : [0], 64 bytes, 2.00 ms (2.00 avg, 0% loss)\n\
        192.0.2.1 : [1], 64 bytes, 3.00 ms (2.00 avg, 0% loss)\n192.0.2.2 : [1], timed out (2.00 avg, 50% loss)\n\n\
        192.0.2.1 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 1.00/2.00/3.00\n192.0.2.2 : xmt/rcv/%loss = 2/1/50%, min/avg/max = 2.00/2.00/2.00\n";
    let nping = "Starting Nping 0.7.93 ( https://nmap.org/nping ) at 2026-11-29 15:48 UTC\nStatistics for host 192.0.2.1:\n\
        \x20|  Probes Sent: 2 | Rcvd: 2 | Lost: 0  (0.00%)\n |_ Max rtt: 3.000ms | Min rtt: 1.000ms | Avg rtt: 2.000ms\n\
        Statistics for host 192.0.2.2:\n |  Probes Sent: 2 | Rcvd: 1 | Lost: 1  (50.00%)\n\
        \x20|_ Max rtt: 2.000ms | Min rtt: 2.000ms | Avg rtt: 2.000ms\n\
        Raw packets sent: 4 (112B) | Rcvd: 3 (84B) | Lost: 1 (25.00%)\nNping done: 2 IP addresses pinged in 1.34 seconds\n";
    for (tool, text) in [(Tool::Fping, fping), (Tool::Nping, nping)] {
        let all = all(text);
        assert_eq!(all.len(), 2, "{all:#?}");
        holds(
            "first",
            &all[0],
            &Expected { tool, host: "192.0.2.1", counts: (2, 2), times: Some([1.0, 2.0, 3.0]) },
        );
        holds(
            "second",
            &all[1],
            &Expected { tool, host: "192.0.2.2", counts: (2, 1), times: Some([2.0; 3]) },
        );
    }
}

/// Why nothing came is a reason, and a contradiction is none of the figures' fault.
#[test]
fn reasons_of_probes() {
    let reason = |text: &str| format!("{:?}", only(text).run.summary.outcome);
    for (text, words) in [
        (
            "ICMP Host Unreachable from 10.0.0.1 for ICMP Echo sent to 10.0.0.9\n10.0.0.9 is unreachable\n",
            "Host Unreachable from 10.0.0.1",
        ),
        (
            "10.9.9.9: error while sending ping: Network is unreachable\n10.9.9.9 is unreachable\n",
            "Network is unreachable",
        ),
        (
            "    0 10.0.0.254  84  64 1ms  host unreachable\n    sent=1 received=0 packet-loss=100%\n",
            "10.0.0.254 reports \\\"host unreachable\\\"",
        ),
        (
            "WARNING: TCP connect to (192.0.2.51 : 53) failed\n\n\nComputerName     : server1\nRemoteAddress    : 192.0.2.51\n\
             RemotePort       : 53\nInterfaceAlias   : Ethernet 2\nSourceAddress    : 192.0.2.60\nPingSucceeded    : False\n\
             PingReplyDetails (RTT) : 0 ms\nTcpTestSucceeded : False\n",
            "TCP connection to port 53 failed",
        ),
    ] {
        let reason = reason(text);
        assert!(reason.contains(words), "{reason}");
    }
    let router = "HPING 192.0.2.8 (eth0 192.0.2.8): S set, 40 headers + 0 data bytes\n\
        ICMP Host Unreachable from ip=10.0.0.1 name=UNKNOWN\nICMP Host Unreachable from ip=10.0.0.1 name=UNKNOWN\n\
        --- 192.0.2.8 hping statistic ---\n2 packets transmitted, 2 packets received, 0% packet loss\nround-trip min/avg/max = 1.0/1.0/1.0 ms\n";
    let imported = only(router);
    assert_eq!((egress(&imported).counted.received, imported.run.verdict.status), (0, Status::Void));
    let more = only("192.0.2.60 : xmt/rcv/%return = 2/5/250%, min/avg/max = 0.02/0.03/0.04\n");
    assert!(warned(&more, "contradictory-output"));
    let silent: String = (0..12)
        .map(|n| match n {
            3..=9 => format!("    {n} 192.0.2.4                                          timeout\n"),
            _ => format!("    {n} 192.0.2.4                             56  64 5ms896us\n"),
        })
        .collect();
    let imported = only(&format!("  SEQ HOST      SIZE TTL TIME  STATUS\n{silent}"));
    assert!(found(&imported, "outage"), "{:?}", imported.run.findings);
}

#[test]
fn bandwidth_test_of_routeros() {
    let both = only(
        "[admin@MikroTik] /tool> bandwidth-test 192.0.2.32 duration=15s direction=both protocol=udp user=admin\n\
                \x20               status: done testing\n              duration: 15s\n            tx-current: 272.8Mbps\n\
         \x20 tx-10-second-average: 200.3Mbps\n      tx-total-average: 139.5Mbps\n            rx-current: 169.6Mbps\n\
         \x20 rx-10-second-average: 164.8Mbps\n      rx-total-average: 117.0Mbps\n          lost-packets: 373\n           random-data: no\n\
         \x20            direction: both\n               tx-size: 1000\n               rx-size: 1000\n[admin@MikroTik] /tool>\n",
    );
    assert_eq!((both.tool, both.run.target().as_str()), (Tool::RouterOs, "192.0.2.32"));
    near(both.run.summary.down.as_ref().expect("down").received.bytes.0 as f64, 117e6 * 15.0 / 8.0, 0.001);
    near(both.run.summary.up.as_ref().expect("up").sent.bytes.0 as f64, 139.5e6 * 15.0 / 8.0, 0.001);
    assert!(warned(&both, "loss-of-both"));
    let down = only(
        "                status: running\n              duration: 6m53s\n            rx-current: 97.8Mbps\n\
         \x20 rx-10-second-average: 97.5Mbps\n      rx-total-average: 97.4Mbps\n          lost-packets: 878\n           random-data: no\n\
         \x20            direction: receive\n               rx-size: 1500\n      connection-count: 20\n        local-cpu-load: 11%\n       remote-cpu-load: 8%\n",
    );
    let summary = down.run.summary.down.as_ref().expect("down");
    near(summary.goodput.0 as f64, 97.4e6, 0.001);
    assert_eq!(summary.loss.map(|loss| loss.path), Some(878));
    assert_eq!(summary.elapsed, Nanos::from_secs(413));
    assert_eq!(down.run.summary.outcome, Some(Outcome::Interrupted));
    let failed = only("[admin@MikroTik] > /tool bandwidth-test 192.0.2.32\n  status: can not connect\n").run;
    assert_eq!(failed.verdict.status, Status::Void);
}

/// With any times and losses the rows, the summary and the list of times of fping are the same.
#[test]
fn rows_summaries_and_lists_of_fping_agree() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..200 {
        let host = format!("10.{}.{}.{}", random(256), random(256), random(256));
        let times: Vec<Option<u64>> =
            (0..=random(20)).map(|_| (random(4) > 0).then(|| 1 + random(90_000))).collect();
        let answered: Vec<u64> = times.iter().copied().flatten().collect();
        let shown = |micros: u64| format!("{}.{:03}", micros / 1000, micros % 1000);
        let rows: String = (0..)
            .zip(&times)
            .map(|(n, time)| match time {
                Some(time) => format!("{host} : [{n}], 64 bytes, {} ms (1.00 avg, 0% loss)\n", shown(*time)),
                None => format!("{host} : [{n}], timed out (1.00 avg, 50% loss)\n"),
            })
            .collect();
        let extremes = answered.iter().min().zip(answered.iter().max()).map(|(min, max)| {
            let mean = answered.iter().sum::<u64>() / answered.len() as u64;
            format!(", min/avg/max = {}/{}/{}", shown(*min), shown(mean), shown(*max))
        });
        let (sent, received) = (times.len() as u64, answered.len() as u64);
        let loss = 100 * (sent - received) / sent;
        let summary =
            format!("{host} : xmt/rcv/%loss = {sent}/{received}/{loss}%{}\n", extremes.unwrap_or_default());
        let list: Vec<String> = times.iter().map(|time| time.map_or("-".into(), shown)).collect();
        let list = format!("{host} : {}\n", list.join(" "));
        for text in [rows.clone(), format!("{rows}\n{summary}"), summary, list] {
            let imported = only(&text);
            let egress = egress(&imported);
            assert_eq!(
                (egress.counted.sent, egress.counted.received, &egress.host),
                (sent, received, &host),
                "{text}"
            );
            let micros = |time: Nanos| time.0 / 1000;
            let found = egress.rtt.map(|rtt| [micros(rtt.min), micros(rtt.max)]);
            let expected = answered.iter().min().zip(answered.iter().max()).map(|(min, max)| [*min, *max]);
            assert_eq!(found, expected, "{text}");
        }
    }
}
