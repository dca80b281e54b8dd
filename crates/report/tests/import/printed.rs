//! Outputs with figures drawn at random, as SockPerf, qperf, netperf and iPerf2 print them: those are the figures that are imported.

use super::near;
use super::properties::{Random, amount, dressed, one_way, only, rate};
use model::plan::Transport;
use model::summary::DirectionSummary;

/// Nanoseconds printed in microseconds with three places, as SockPerf does.
fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

#[test]
fn sockperf_in_its_versions() {
    let mut random = Random(0x51ab_77e1_0d0c_3a95);
    for round in 0..200 {
        let (version, average, factor) =
            [("3.5-0.git", "avg-lat=", 2), ("3.7-no.git", "avg-latency=", 2), ("3.10-no.git", "avg-rtt=", 1)]
                [random.within(0, 2) as usize];
        let (host, sent) = (random.address(), random.within(2_000, 900_000));
        let received = sent - random.within(0, 5);
        let dropped = random.within(0, sent - received);
        let min = random.within(3_000, 900_000_000);
        let steps: Vec<u64> = (0..9)
            .scan(min, |last, _| {
                *last += random.within(0, min / 8);
                Some(*last)
            })
            .collect();
        let names = ["25.000", "50.000", "75.000", "90.000", "99.000", "99.900", "99.990", "99.999"];
        let percentiles: String = (0..names.len())
            .rev()
            .map(|at| format!("sockperf: ---> percentile {} = {}\n", names[at], micros(steps[at])))
            .collect();
        let word = if factor == 1 { "Round trip" } else { "Latency" };
        let text = format!(
            "sockperf: == version #{version} == \nsockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n\n\
             [ 0] IP = {host}       PORT = 11111 # UDP\nsockperf: Warmup stage (sending a few dummy messages)...\n\
             sockperf: Starting test...\nsockperf: Test end (interrupted by timer)\nsockperf: Test ended\n\
             sockperf: [Total Run] RunTime=5.100 sec; Warm up time=400 msec; SentMessages={}; ReceivedMessages={}\n\
             sockperf: ========= Printing statistics for Server No: 0\n\
             sockperf: [Valid Duration] RunTime=4.500 sec; SentMessages={sent}; ReceivedMessages={received}\n\
             sockperf: ====> {average}{} (std-dev=1.000)\n\
             sockperf: # dropped messages = {dropped}; # duplicated messages = 0; # out-of-order messages = 0\n\
             sockperf: Summary: {word} is {} usec\nsockperf: Total {received} observations; each percentile contains 1.00 observations\n\
             sockperf: ---> <MAX> observation = {}\n{percentiles}sockperf: ---> <MIN> observation = {}\n",
            sent + 900,
            received + 900,
            micros(steps[2]),
            micros(steps[2]),
            micros(steps[8]),
            micros(min)
        );
        let imported = only(&dressed(&text, &mut random));
        let rtt = imported.run.summary.rtt.unwrap_or_else(|| panic!("{text}"));
        let found = [rtt.min, rtt.p50, rtt.mean, rtt.p90, rtt.p99, rtt.max].map(|time| time.0);
        let printed = [min, steps[1], steps[2], steps[3], steps[4], steps[8]].map(|time| time * factor);
        assert_eq!(found, printed, "{round}: {text}");
        let counted = imported.run.summary.egress_paths[0].counted;
        assert_eq!((counted.sent, counted.received, counted.lost), (sent, received, dropped), "{text}");
        assert_eq!(imported.run.target(), host, "{text}");
    }
}

/// A quantity with a prefix by powers of 1000 and three digits, as qperf prints it.
fn prefixed(value: f64, unit: &str) -> String {
    let (mut value, mut at) = (value, 0);
    while value >= 1000.0 {
        value /= 1000.0;
        at += 1;
    }
    let digits = [2, 1, 0][usize::from(value >= 10.0) + usize::from(value >= 100.0)];
    format!("{value:.digits$} {}{unit}", ["", "K", "M", "G", "T"][at])
}

#[test]
fn qperf_in_its_tests() {
    let mut random = Random(0x0f0f_1234_9999_0001);
    for _ in 0..200 {
        let bits = random.magnitude(1e6, 9e10);
        let lost = random.within(0, 40) as f64 / 100.0;
        let (sent, received) = (bits / 8.0, bits / 8.0 * (1.0 - lost));
        let tcp = format!("tcp_bw:\n    bw  =  {}\n", prefixed(sent, "B/sec"));
        let udp = format!(
            "udp_bw:\n    send_bw  =  {}\n    recv_bw  =  {}\n",
            prefixed(sent, "B/sec"),
            prefixed(received, "B/sec")
        );
        near(one_way(&only(&dressed(&tcp, &mut random)), false).goodput.0 as f64, bits, 0.006);
        let imported = only(&dressed(&udp, &mut random));
        near(one_way(&imported, false).goodput.0 as f64, bits * (1.0 - lost), 0.006);
        let micros = random.within(101, 999_999) as f64 / 10.0;
        for name in ["tcp_lat", "udp_lat"] {
            let text = format!("{name}:\n    latency  =  {micros} us\n");
            let run = only(&dressed(&text, &mut random)).run;
            let path = &run.summary.egress_paths[0];
            near(path.rtt.expect("a mean").mean.0 as f64, micros * 2000.0, 1e-6);
        }
    }
}

#[test]
fn netperf_in_its_tests() {
    let mut random = Random(0xabcd_ef01_2345_6789);
    for _ in 0..200 {
        let (host, seconds) = (random.address(), random.within(1, 600));
        let ends = format!("TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {host} () port 0 AF_INET : demo");
        let mbits = random.magnitude(0.5, 90_000.0);
        for (test, down) in [("TCP STREAM", false), ("TCP MAERTS", true), ("TCP SENDFILE", false)] {
            let text = format!(
                "MIGRATED {test} {ends}\nRecv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n\
                 bytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    {seconds}.00     {mbits:.2}\n"
            );
            let imported = only(&dressed(&text, &mut random));
            let figures = one_way(&imported, down);
            near(figures.goodput.0 as f64, mbits * 1e6, 0.02);
            near(figures.elapsed.as_secs_f64(), seconds as f64, 1e-9);
            assert_eq!(imported.run.target(), host, "{text}");
        }
        let size = random.within(64, 1472);
        let sent = random.within(1_000, 9_000_000);
        let received = sent - random.within(0, sent - 1);
        let rate = |count: u64| (count * size * 8) as f64 / seconds as f64 / 1e6;
        let text = format!(
            "MIGRATED UDP STREAM {ends}\nSocket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   Throughput\n\
             bytes   bytes    secs            #      #   10^6bits/sec\n\n212992  {size}  {seconds}.00  {sent}  0  {:.2}\n212992  {seconds}.00  {received}  {:.2}\n",
            rate(sent),
            rate(received)
        );
        let imported = only(&dressed(&text, &mut random));
        let figures = one_way(&imported, false);
        let loss = figures.loss.expect("loss").path;
        assert_eq!(
            (figures.sent.datagrams, figures.received.datagrams, loss),
            (sent, received, sent - received),
            "{text}"
        );
        let transactions = random.magnitude(20.0, 90_000.0);
        let text = format!(
            "MIGRATED TCP REQUEST/RESPONSE {ends} : first burst 0\nLocal /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n\
             Send   Recv   Size     Size    Time     Rate\nbytes  Bytes  bytes    bytes   secs.    per sec\n\n\
             16384  131072 1        1       {seconds}.00     {transactions:.2}\n16384  131072\n"
        );
        let run = only(&dressed(&text, &mut random)).run;
        near(run.summary.egress_paths[0].rtt.expect("a mean").mean.0 as f64, 1e9 / transactions, 0.001);
    }
}

#[test]
fn iperf2_over_tcp_in_text_and_csv() {
    let mut random = Random(0x1357_9bdf_0246_8ace);
    for _ in 0..200 {
        let (host, seconds) = (random.address(), random.within(1, 9_000));
        let bits = random.magnitude(2e4, 9e10);
        let bytes = (bits * seconds as f64 / 8.0).round();
        let reverse = random.within(0, 1) == 1;
        let mark = if reverse { "*" } else { " " };
        let text = format!(
            "------------------------------------------------------------\nClient connecting to {host}, TCP port 5001\n\
             TCP window size: 16.0 KByte (default)\n------------------------------------------------------------\n\
             [  1] local 192.0.2.7 port 36118 connected with {host} port 5001{}\n[ ID] Interval       Transfer     Bandwidth\n\
             [ {mark}1] 0.0000-{seconds}.0000 sec  {}  {}\n",
            if reverse { " (reverse)" } else { "" },
            amount(bytes),
            rate(bits)
        );
        let check = |figures: &DirectionSummary, share: f64, text: &str| {
            near(figures.received.bytes.0 as f64, bytes, share);
            near(figures.goodput.0 as f64, bits, share);
            near(figures.elapsed.as_secs_f64(), seconds as f64, share);
            assert_eq!(figures.transport, Transport::Tcp, "{text}");
        };
        let imported = only(&dressed(&text, &mut random));
        check(one_way(&imported, reverse), 0.006, &text);
        assert_eq!(imported.run.target(), host, "{text}");
        let csv = format!("20230701101500,192.0.2.7,41000,{host},5001,3,0.0-{seconds}.0,{bytes},{bits:.0}\n");
        check(one_way(&only(&dressed(&csv, &mut random)), false), 1e-4, &csv);
    }
}
