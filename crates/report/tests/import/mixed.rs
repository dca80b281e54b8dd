//! Two clients that wrote into one file at once.

use super::warned;
use model::finding::Status;
use pathmeter_report::import::{Known, read};

/// Both outputs of iPerf2, line by line, with these numbers of streams.
fn two(first: u32, second: u32) -> String {
    let mut text = String::new();
    let ends = [(first, 2, 40_001), (second, 3, 40_002)];
    for (_, host, _) in ends {
        text += &format!(
            "{0}\nClient connecting to 10.0.0.{host}, TCP port 5001\nTCP window size: 16.0 KByte (default)\n{0}\n",
            "-".repeat(60)
        );
    }
    for (id, host, port) in ends {
        text += &format!("[{id:3}] local 10.0.0.1 port {port} connected with 10.0.0.{host} port 5001\n");
    }
    text += "[ ID] Interval       Transfer     Bandwidth\n[ ID] Interval       Transfer     Bandwidth\n";
    for span in ["0.0000-1.0000", "1.0000-2.0000"] {
        text += &format!("[{first:3}] {span} sec  1.16 GBytes  10.0 Gbits/sec\n");
        text += &format!("[{second:3}] {span} sec   596 MBytes  5.00 Gbits/sec\n");
    }
    text += &format!("[{first:3}] 0.0000-2.0000 sec  2.33 GBytes  10.0 Gbits/sec\n");
    text + &format!("[{second:3}] 0.0000-2.0000 sec  1.16 GBytes  5.00 Gbits/sec\n")
}

#[test]
fn streams_of_other_numbers_are_distinguished() {
    let all = read("file", &two(1, 2), Known::default()).expect("two outputs");
    let goodput =
        |one: &pathmeter_report::import::Imported| one.run.summary.up.as_ref().expect("it went up").goodput.0;
    let rates: Vec<u64> = all.iter().map(|one| (goodput(one) + 50_000_000) / 100_000_000).collect();
    assert_eq!(rates, [100, 50]);
    let hosts = all.iter().map(|one| one.run.throughput().expect("a plan").target.address.ip().to_string());
    assert_eq!(hosts.collect::<Vec<_>>(), ["10.0.0.2", "10.0.0.3"]);
}

/// No figure is better than one that is of neither.
#[test]
fn streams_of_the_same_number_are_refused() {
    let all = read("file", &two(1, 1), Known::default()).expect("it is an output");
    assert_eq!(all.len(), 1);
    assert!(warned(&all[0], "mixed-outputs"));
    assert!(
        all[0].run.summary.up.is_none() && all[0].run.verdict.status == Status::Void,
        "{:#?}",
        all[0].run.verdict
    );
    let iperf3 = "\
Connecting to host 10.0.0.2, port 5201
Connecting to host 10.0.0.3, port 5201
[  5] local 10.0.0.1 port 40001 connected to 10.0.0.2 port 5201
[  5] local 10.0.0.1 port 40002 connected to 10.0.0.3 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.02 GBytes  8.79 Gbits/sec    0   1.37 MBytes       
[  5]   0.00-1.00   sec  1.05 GBytes  9.05 Gbits/sec    0   1.37 MBytes       
";
    let all = read("file", iperf3, Known::default()).expect("it is an output");
    assert!(all.len() == 1 && warned(&all[0], "mixed-outputs") && all[0].run.summary.up.is_none());
}
