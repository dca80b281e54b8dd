//! iPerf2's text.

use super::{fixture, near, only, warned};
use model::event::Outcome;
use model::plan::{Directions, Transport};
use model::units::{BitRate, Nanos};
use pathmeter_report::import::{Known, Tool, read};

#[test]
fn ten_streams_of_25_gigabits() {
    let link = Known { link: Some(BitRate(25_000_000_000)), mss: None };
    let all = read("x", &fixture("iperf2-tcp-p10-first-interval.txt"), link).unwrap();
    let up = all[0].run.summary.up.as_ref().unwrap();
    assert_eq!((up.mss, up.streams.len(), up.wire.frame), (Some(1448), 10, Some(1518)));
    near(up.goodput.0 as f64, 22.4e9, 0.003);
    near(up.wire.line_rate_share.unwrap(), 0.953, 0.004);
    near(up.wire.packets_per_second.unwrap().0 as f64, 1.94e6, 0.004);
    assert_eq!(all[0].run.throughput().unwrap().target.address.to_string(), "192.168.0.1:5001");

    // The file holds the last rows alone: its segments are known from the other.
    let last = only(&fixture("iperf2-tcp-p10-final.txt"));
    let up = last.run.summary.up.as_ref().unwrap();
    assert_eq!((last.tool, up.streams.len(), up.retransmits), (Tool::Iperf2, 10, None));
    near(up.goodput.0 as f64, 22.5e9, 0.003);
    assert!(warned(&last, "connect-times") && !warned(&last, "given-mss"));

    let known = Known { mss: Some(1448), ..link };
    let last = read("x", &fixture("iperf2-tcp-p10-final.txt"), known).unwrap().remove(0);
    let up = last.run.summary.up.as_ref().unwrap();
    assert!(warned(&last, "given-mss") && up.receiver_unknown);
    assert_eq!(up.wire.packets_per_second.unwrap().to_string(), "1.94 Mpps");
    assert_eq!(format!("{:.1}", up.wire.line_rate_share.unwrap() * 100.0), "95.6");
    assert_eq!(up.goodput.to_string(), "22.5 Gbit/s");
    // Figures of an output are not overruled.
    let known = Known { mss: Some(536), ..known };
    let first = read("x", &fixture("iperf2-tcp-p10-first-interval.txt"), known).unwrap().remove(0);
    assert_eq!(first.run.summary.up.as_ref().unwrap().mss, Some(1448));
}

/// `iperf -c 127.0.0.1 -u -b 20M -t 1 -i 0.5` of 2.1.8, client.
const CLIENT: &str = "\
------------------------------------------------------------
Client connecting to 127.0.0.1, UDP port 5001
Sending 1470 byte datagrams, IPG target: 560.76 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1 port 42317 connected with 127.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec
[  1] 0.5000-1.0000 sec  1.25 MBytes  21.0 Mbits/sec
[  1] 0.0000-1.0010 sec  2.51 MBytes  21.0 Mbits/sec
[  1] Sent 1788 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-1.0010 sec  2.51 MBytes  21.0 Mbits/sec   0.000 ms 7/1787 (0.39%)
";
/// The same of the server, enhanced.
const SERVER: &str = "\
------------------------------------------------------------
Server listening on UDP port 5001 with pid 10143
Read buffer size: 1.44 KByte (Dist bin width= 183 Byte)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1%lo port 5001 connected with 127.0.0.1 port 39185 (sock=3) (peer 2.1.8) on 2026-11-21 07:21:56 (UTC)
[ ID] Interval            Transfer     Bandwidth        Jitter   Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP  NetPwr
[  1] 0.0000-0.5000 sec  1.25 MBytes  21.0 Mbits/sec   0.002 ms 0/893 (0%) 0.005/0.001/0.066/0.003 ms 1790 pps 893/0(0) pkts 568777
[  1] 0.5000-1.0000 sec  1.25 MBytes  21.0 Mbits/sec   0.001 ms 0/892 (0%) 0.004/0.001/0.018/0.002 ms 1783 pps 892/0(0) pkts 653422
[  1] 0.0000-1.0010 sec  2.51 MBytes  21.0 Mbits/sec   0.001 ms 0/1787 (0%) 0.004/0.001/0.066/0.002 ms 1785 pps 1787/0(0) pkts 607907
";

#[test]
fn datagrams_at_both_ends() {
    let client = only(CLIENT);
    let up = client.run.summary.up.as_ref().unwrap();
    assert_eq!((up.transport, up.mss, up.sent.datagrams), (Transport::Udp, Some(1470), 1787));
    assert_eq!((up.received.datagrams, up.loss.unwrap().path), (1780, 7));
    assert_eq!((client.run.intervals.len(), up.sent.bytes.0), (2, 1787 * 1470));

    let server = only(SERVER);
    let up = server.run.summary.up.as_ref().unwrap();
    assert_eq!((up.received.datagrams, up.sent.datagrams, up.mss), (1787, 1787, Some(1470)));
    assert!(warned(&server, "sender-unknown"));
    assert_eq!(server.run.started.unwrap().to_string(), "2026-11-21T07:21:56.000Z");
    assert_eq!(up.jitter.unwrap().rfc3550, Nanos::from_micros(1));
}

#[test]
fn a_server_has_many_clients_and_a_log_many_tests() {
    let client = |port: u16| {
        SERVER.lines().skip(5).map(|line| line.replace("39185", &port.to_string()) + "\n").collect::<String>()
    };
    let log =
        format!("{SERVER}{}$ iperf -c …\n{CLIENT}{}", client(51_111), CLIENT.replace("7/1787", "0/1787"));
    let all = read("log", &log, Known::default()).unwrap();
    assert_eq!(all.iter().map(|one| one.line).collect::<Vec<_>>(), [2, 11, 18, 32]);
    let lost: Vec<u64> =
        all.iter().map(|one| one.run.summary.up.as_ref().unwrap().loss.unwrap().path).collect();
    assert_eq!(lost, [0, 0, 7, 0]);
}

#[test]
fn enhanced_rows_report_retransmits() {
    let text = "\
Client connecting to 127.0.0.1, TCP port 5001 with pid 9153 (1 flows)
[  1] local 127.0.0.1%lo port 49580 connected with 127.0.0.1 port 5001 (sock=3) (icwnd/mss/irtt=319/32741/19) (ct=0.10 ms) on 2026-11-21 07:21:47 (UTC)
[ ID] Interval            Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.0000-0.5000 sec  1.45 GBytes  25.0 Gbits/sec  11917/0          3     1278K/88(40) us  35499661
[  1] 0.5000-1.0000 sec  1.22 GBytes  20.9 Gbits/sec  9976/0          4      895K/16(0) us  163446784
[  1] 0.0000-1.0048 sec  2.67 GBytes  22.8 Gbits/sec  21894/0          7      895K/571(1110) us  5001615
";
    let imported = only(text);
    let up = imported.run.summary.up.as_ref().unwrap();
    assert_eq!(
        (up.retransmits, up.mss, up.loaded_rtt),
        (Some(7), Some(32_741), Some(Nanos::from_micros(571)))
    );
    let first = imported.run.intervals[0].streams[0].tcp.as_ref().unwrap();
    assert_eq!((first.retransmits, first.cwnd.0, first.rtt), (3, 1278 * 1024, Nanos::from_micros(88)));
    let newer = text.replace("1278K/88(40)", "64K(45)/1278K(883)/88(40)");
    assert_eq!(only(&newer).run.intervals[0].streams[0].tcp.as_ref().unwrap().cwnd.0, 1278 * 1024);
}

#[test]
fn both_directions_and_back() {
    let duplex = "\
Client connecting to 127.0.0.1, TCP port 5001
[  1] local 127.0.0.1 port 41268 connected with 127.0.0.1 port 5001 (full-duplex) (icwnd/mss/irtt=319/32741/65)
[ ID] Interval       Transfer     Bandwidth
[ *1] 0.0000-1.0015 sec  1018 MBytes  8.52 Gbits/sec
[  1] 0.0000-1.0001 sec  1.81 GBytes  15.6 Gbits/sec
[SUM] 0.0000-1.0001 sec  2.81 GBytes  24.1 Gbits/sec
";
    let imported = only(duplex);
    assert_eq!(imported.run.throughput().unwrap().test.directions, Directions::Both);
    near(imported.run.summary.down.as_ref().unwrap().goodput.0 as f64, 8.52e9, 0.002);
    near(imported.run.summary.up.as_ref().unwrap().goodput.0 as f64, 15.6e9, 0.003);
    let reverse = duplex
        .replace("(full-duplex)", "(reverse)")
        .lines()
        .filter(|line| !line.starts_with("[  1] 0.0"))
        .collect::<Vec<_>>()
        .join("\n");
    let imported = only(&reverse);
    assert_eq!((imported.run.summary.up.is_none(), imported.run.summary.down.is_some()), (true, true));
}

#[test]
fn old_forms_cut_forms_and_failures() {
    // 2.0.5: two decimals or one, a blank behind the dash, ids from 3 on.
    let old = "\
Client connecting to 10.0.0.1, UDP port 5001
Sending 1470 byte datagrams
[  3] local 10.0.0.2 port 50000 connected with 10.0.0.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0- 1.0 sec   129 KBytes  1.06 Mbits/sec
[  3]  1.0- 2.0 sec   128 KBytes  1.05 Mbits/sec
[  3]  0.0- 2.0 sec   258 KBytes  1.05 Mbits/sec
[  3] Sent 180 datagrams
[  3] Server Report:
[  3]  0.0- 2.0 sec   250 KBytes  1.02 Mbits/sec   0.012 ms    6/  180 (3.3%)
";
    let imported = only(old);
    let up = imported.run.summary.up.as_ref().unwrap();
    assert_eq!((up.sent.datagrams, up.loss.unwrap().path, up.received.datagrams), (180, 6, 174));
    let cut: String = old.lines().take(6).map(|line| format!("{line}\n")).collect();
    let imported = only(&cut);
    assert_eq!(imported.run.summary.outcome, Some(Outcome::Interrupted));
    assert!(warned(&imported, "no-summary"));
    let failed = "Client connecting to 10.0.0.1, TCP port 5001\ntcp connect failed: Connection refused\n";
    assert!(only(failed).run.verdict.text.contains("Connection refused"));
    for end in 0..SERVER.len() {
        let _ = read("cut", &SERVER[..end], Known::default());
    }
}

/// Of 2.1.8 as it printed them: client and server of one UDP test, and two TCP streams.
const CSV: &str = "\
20261121072201,127.0.0.1,41949,127.0.0.1,5001,1,0.0-0.5,1312710,21003360,0.000,0,893,0.000,0
20261121072202,127.0.0.1,41949,127.0.0.1,5001,1,0.5-1.0,1311240,20979840,0.000,0,892,0.000,0
20261121072202,127.0.0.1,41949,127.0.0.1,5001,1,0.0-1.0,2626890,20993161,-nan,0,-1,-0.000,0
20261121072201,127.0.0.1,41949,127.0.0.1,5001,1,0.0-0.5,1312710,21003360,0.001,0,893,0.000,0
20261121072202,127.0.0.1,41949,127.0.0.1,5001,1,0.5-1.0,1308300,20979840,0.001,2,892,0.000,0
20261121072202,127.0.0.1,41949,127.0.0.1,5001,1,0.0-1.0,2623950,20993916,0.001,2,1787,0.000,0
19700101000000,127.0.0.1,49586,127.0.0.1,5001,1,0.0-1.0,1515716668,12116803259
19700101000000,127.0.0.1,49598,127.0.0.1,5001,2,0.0-1.0,2077229116,16617832928
";

#[test]
fn csv_with_its_faults() {
    let all = read("log", CSV, Known::default()).unwrap();
    let up: Vec<_> = all.iter().map(|one| one.run.summary.up.as_ref().unwrap()).collect();
    assert_eq!(all.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 4, 7]);
    assert_eq!((up[0].mss, up[0].sent.datagrams, up[0].receiver_unknown), (Some(1470), 1787, true));
    assert_eq!((up[1].received.datagrams, up[1].loss.unwrap().path, up[1].sent.datagrams), (1785, 2, 1787));
    assert_eq!((up[2].streams.len(), up[2].received.bytes.0), (2, 1_515_716_668 + 2_077_229_116));
    assert!(warned(&all[2], "no-date") && all[2].run.started.is_none() && !warned(&all[0], "no-date"));
    let plan = all[1].run.throughput().unwrap();
    assert_eq!(plan.target.address.to_string(), "127.0.0.1:5001");
    assert_eq!(all[1].run.intervals.len(), 2);
    for end in 0..CSV.len() {
        let _ = read("cut", &CSV[..end], Known::default());
    }
}

/// `iperf -c 127.0.0.1 --bounceback -t 2 -i 1` of 2.1.8.
const BOUNCEBACK: &str = "\
------------------------------------------------------------
Client connecting to 127.0.0.1, TCP port 5001 with pid 12702 (1 flows)
Write buffer size:  100 Byte
Bursting:  100 Byte writes 10 times every 1.00 second(s)
Bounce-back test (size= 100 Byte) (server hold req=0 usecs & tcp_quickack)
TOS set to 0x0 and nodelay (Nagle off)
TCP window size: 16.0 KByte (default)
------------------------------------------------------------
[  1] local 127.0.0.1%lo port 36508 connected with 127.0.0.1 port 5001 (bb w/quickack len/hold=100/0) (sock=3) (icwnd/mss/irtt=319/32741/35) (ct=0.22 ms) on 2026-11-21 08:25:09 (UTC)
[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS
[  1] 0.0000-1.0000 sec  1.95 KBytes  16.0 Kbits/sec    10=0.055/0.015/0.402/0.122 ms    0  576K/16 us    18215 rps
[  1] 1.0000-2.0000 sec  1.95 KBytes  16.0 Kbits/sec    10=0.025/0.014/0.106/0.029 ms    0  576K/12 us    40161 rps
[  1] 0.0000-2.0016 sec  3.91 KBytes  16.0 Kbits/sec    20=0.040/0.014/0.402/0.088 ms    0  576K/178 us    25063 rps
[  1] 0.0000-2.0016 sec BB8(f)-PDF: bin(w=100us):cnt(20)=1:18,2:1,5:1 (5.00/95.00/99.7%=1/5/5,Outliers=0,obl/obu=0/0)
";

#[test]
fn bounceback_is_latency() {
    let imported = only(BOUNCEBACK);
    let (egress, rtt) = (&imported.run.summary.egress_paths[0], imported.run.summary.rtt.unwrap());
    assert_eq!((imported.tool, rtt.count, imported.run.kind.as_str()), (Tool::Iperf2, 20, "latency"));
    assert_eq!([rtt.min, rtt.mean, rtt.max, rtt.stddev], [14_000, 40_000, 402_000, 88_000].map(Nanos));
    // To the width of a bin, 100 µs, and within the extremes.
    assert_eq!([rtt.p50, rtt.p90, rtt.p99], [100_000, 100_000, 402_000].map(Nanos));
    assert_eq!(egress.ends.remote.to_string(), "127.0.0.1:5001");
    assert!(imported.run.summary.up.is_none() && !warned(&imported, "extremes-alone"));
    let cut: String = BOUNCEBACK.lines().take(11).map(|line| format!("{line}\n")).collect();
    let imported = only(&cut);
    assert_eq!(imported.run.summary.rtt.unwrap().p50, Nanos::from_micros(55));
    assert!(warned(&imported, "extremes-alone"));
    // The tool leaves the extremes of a single round trip at zero.
    let single = only(&cut.replace("10=0.055/0.015/0.402/0.122", "1=2.272/0.000/0.000/0.000"));
    let rtt = single.run.summary.rtt.unwrap();
    assert_eq!([rtt.min, rtt.p50, rtt.max], [Nanos::from_micros(2_272); 3]);
    for end in 0..BOUNCEBACK.len() {
        let _ = read("cut", &BOUNCEBACK[..end], Known::default());
    }
}
