//! netperf's text. The outputs are written after the formats that its manual and published logs show: it is not free
//! enough for the machines these tests run on.

use super::{near, only, warned};
use model::plan::{Directions, Transport};
use model::units::{BitRate, Nanos};
use report::import::{Known, Tool, read};

const TCP: &str = "\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET : demo
Recv   Send    Send                          
Socket Socket  Message  Elapsed              
Size   Size    Size     Time     Throughput  
bytes  bytes   bytes    secs.    10^6bits/sec  

 87380  16384  16384    10.00     941.28   
";

const UDP: &str = "\
UDP UNIDIRECTIONAL SEND TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to far.example (10.10.10.3) port 0 AF_INET
Socket  Message  Elapsed      Messages                
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1472   10.00      850000      0    1000.96
212992           10.00      845000            995.07

";

const RR: &str = "\
MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to ::1 (::1) port 0 AF_INET6 : first burst 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate         
bytes  Bytes  bytes    bytes   secs.    per sec   

16384  131072 128      1       10.00     2000.00   
16384  131072 
";

#[test]
fn tcp_both_ways_and_units() {
    let one = only(TCP);
    let up = one.run.summary.up.as_ref().unwrap();
    assert_eq!((one.tool, up.goodput, up.receiver_unknown), (Tool::Netperf, BitRate(941_280_000), true));
    assert_eq!(one.run.plan.as_ref().unwrap().target.address.to_string(), "10.0.0.2:0");
    let known = Known { link: Some(BitRate(1_000_000_000)), mss: Some(1448) };
    let run = &read("x", TCP, known).unwrap()[0].run;
    near(run.summary.up.as_ref().unwrap().wire.line_rate_share.unwrap(), 0.99978, 1e-4);

    let maerts =
        TCP.replace("STREAM", "MAERTS").replace("10^6bits/sec", "MBytes  /sec").replace("941.28", "112.00");
    let run = only(&maerts).run;
    assert_eq!(run.plan.as_ref().unwrap().test.directions, Directions::Down);
    assert_eq!(run.summary.down.as_ref().unwrap().goodput, BitRate(112 * 1_048_576 * 8));
    assert!(run.summary.up.is_none());
    // With -c and -C there are the CPUs too.
    let busy = TCP.replace("941.28   ", "941.28   3.01  4.20  1.0  1.4");
    assert_eq!(only(&busy).run.summary.up.as_ref().unwrap().goodput, BitRate(941_280_000));
}

#[test]
fn datagrams_at_both_ends() {
    let one = only(UDP);
    let up = one.run.summary.up.as_ref().unwrap();
    assert_eq!((up.sent.datagrams, up.received.datagrams, up.loss.unwrap().path), (850_000, 845_000, 5000));
    assert_eq!((up.mss, up.wire.frame), (Some(1472), Some(1518)));
    near(up.goodput.0 as f64, 995.07e6, 1e-6);
    let large = only(&UDP.replace("   1472 ", "  65507 ")).run;
    assert!(large.summary.warnings.iter().any(|warning| warning.id == "assumed-mtu"));
    assert_eq!(large.summary.up.as_ref().unwrap().wire.frames_per_packet, Some(45));
}

#[test]
fn transactions_are_round_trips() {
    let one = only(RR);
    let way = &one.run.summary.ways[0];
    assert_eq!(
        (way.rtt.unwrap().mean, way.rtt.unwrap().count, way.host.as_str()),
        (Nanos(500_000), 20_000, "::1")
    );
    assert!(warned(&one, "mean-alone") && !warned(&one, "connects-too"));
    let burst = only(&RR.replace("first burst 0", "first burst 3"));
    assert_eq!(burst.run.summary.rtt.unwrap().mean, Nanos(2_000_000));
    let connects = only(&RR.replace("REQUEST/RESPONSE", "Connect/Request/Response"));
    assert!(warned(&connects, "connects-too"));
}

#[test]
fn many_in_one_and_cut_ones() {
    let log = format!("$ netperf\n{TCP}{UDP}\n{RR}{}", super::qperf::PLAIN);
    let all = read("log", &log, Known::default()).unwrap();
    let tools: Vec<Tool> = all.iter().map(|one| one.tool).collect();
    assert_eq!(tools[..3], [Tool::Netperf; 3]);
    assert_eq!(tools[3..], [Tool::Qperf; 4]);
    assert_eq!(all[1].run.plan.as_ref().unwrap().test.transport, Transport::Udp);
    for end in 0..log.len() {
        if let Some(cut) = log.get(..end) {
            let _ = read("cut", cut, Known::default());
        }
    }
    for odd in ["0 0 0 0 0 0", "-1 -1 -1 -1 -1 -1", "99999999999 99999999999 9 99999999999 9 9999999999"] {
        for test in [TCP, UDP, RR] {
            let head = test.split("\n\n").next().unwrap();
            let _ = read("odd", &format!("{head}\n\n{odd}\n{odd}\n"), Known::default());
        }
    }
}
