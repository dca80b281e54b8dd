//! qperf's text, as 0.4.11 printed it.

use super::{near, only, warned};
use model::finding::Status;
use model::stats::percentile::Standing;
use model::units::{BitRate, Nanos};
use pathmeter_report::import::{Known, Tool, read};

/// `qperf 127.0.0.1 -t 1 tcp_bw tcp_lat udp_bw udp_lat quit`.
pub(crate) const PLAIN: &str = "\
tcp_bw:
    bw  =  2.04 GB/sec
tcp_lat:
    latency  =  9.6 us
udp_bw:
    send_bw  =  1.63 GB/sec
    recv_bw  =   769 MB/sec
udp_lat:
    latency  =  13.4 us
quit:
";
/// The same with `-vv`, the CPUs left out.
const VERBOSE: &str = "\
tcp_bw:
    bw              =  1.96 GB/sec
    msg_rate        =  29.9 K/sec
    msg_size        =    64 KiB (65,536)
    time            =     1 sec
    send_cost       =  1.02 sec/GB
    recv_cpus_used  =   200 % cpus
udp_lat:
    latency        =  14.2 us
    msg_rate       =    70 K/sec
    msg_size       =     1 bytes
    time           =     1 sec
    loc_cpu_time   =  1.99 sec
    loc_recv_msgs  =  35,211 
udp_bw:
    send_bw           =     5.11 GB/sec
    recv_bw           =     2.98 GB/sec
    msg_rate          =     90.9 K/sec
    msg_size          =       32 KiB (32,768)
    time              =        1 sec
    send_bytes        =     5.11 GB
    send_msgs         =  155,947 
    recv_msgs         =   90,872 
";

#[test]
fn plain_tests_with_their_assumptions() {
    let all = read("x", PLAIN, Known::default()).unwrap();
    assert!(all.len() == 4 && all.iter().all(|one| one.tool == Tool::Qperf));
    assert_eq!(all[0].run.summary.up.as_ref().unwrap().goodput, BitRate(16_320_000_000));
    assert!(warned(&all[0], "assumed-time"));
    let rtt = all[1].run.summary.rtt.unwrap();
    assert_eq!((rtt.mean, rtt.median(), rtt.longest()), (Nanos::from_nanos(19_200), None, None));
    assert_eq!(all[1].run.summary.egress_paths[0].standing(99.0), Standing::NotGiven);
    assert!(warned(&all[1], "halved") && warned(&all[1], "mean-alone"));
    let up = all[2].run.summary.up.as_ref().unwrap();
    near(up.goodput.0 as f64, 769e6 * 8.0, 1e-6);
    near(up.loss.unwrap().share, 1.0 - 769.0 / 1630.0, 1e-3);
    assert!(warned(&all[2], "assumed-size"));
}

#[test]
fn verbose_tests_report_more() {
    let all = read("x", VERBOSE, Known::default()).unwrap();
    assert!(!warned(&all[0], "assumed-time"));
    let up = all[0].run.summary.up.as_ref().unwrap();
    assert_eq!((up.goodput, up.elapsed), (BitRate(15_680_000_000), Nanos::from_secs(1)));
    let rtt = all[1].run.summary.rtt.unwrap();
    assert_eq!((rtt.mean, rtt.count), (Nanos::from_nanos(28_400), 35_211));
    let udp = all[2].run.summary.up.as_ref().unwrap();
    assert_eq!((udp.sent.datagrams, udp.received.datagrams, udp.mss), (155_947, 90_872, Some(32_768)));
    assert_eq!((udp.loss.unwrap().path, udp.wire.frames_per_packet), (65_075, Some(23)));
    assert!(!warned(&all[2], "assumed-size") && warned(&all[2], "assumed-mtu"));
    let bits = only("tcp_bw:\n    bw  =  15.7 Gb/sec\n");
    assert_eq!(bits.run.summary.up.as_ref().unwrap().goodput, BitRate(15_700_000_000));
    for odd in ["tcp_bw:\n    bw  =  x GB/sec\n", "tcp_lat:\n    latency  =  1 ells\n", "tcp_bw:\n"] {
        assert!(read("odd", odd, Known::default()).is_err(), "{odd}");
    }
}

/// qperf and netperf where no server listens, and iPerf3 with options that exclude one another.
#[test]
fn a_failure_to_begin_is_void_with_its_reason() {
    for (text, reason) in [
        ("tcp_lat:\n127.0.0.2: failed to connect\n", "failed to connect"),
        ("tcp_bw:\nfailed to connect to server: timed out\n", "timed out"),
        ("tcp_bw:\ngetaddrinfo failed: Name or service not known\n", "Name or service not known"),
        (
            "establish control: are you sure there is a netserver listening on 192.0.2.1 at port 12865?\n\
             establish_control could not establish the control connection from 0.0.0.0 port 0 address family AF_UNSPEC to 192.0.2.1 port 12865 address family AF_INET\n",
            "no netserver answers at 192.0.2.1 port 12865",
        ),
        (
            "iperf3: parameter error - only one test end condition (-t, -n, -k) may be specified\n\nUsage: iperf3 [-s|-c host] [options]\n",
            "only one test end condition",
        ),
    ] {
        let all = read("x", text, Known::default()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(all.len(), 1, "{text}");
        let verdict = &all[0].run.verdict;
        assert!(verdict.status == Status::Void && verdict.text.contains(reason), "{verdict:?}");
    }
}
